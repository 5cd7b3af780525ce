#![allow(clippy::unwrap_used)]

use super::*;
use crate::{
    random::Random,
    trace::{Reader, packet::flag::ACK, samples},
};

/// What came out of segments: messages with their wholeness, and the counts at the end.
struct Outcome {
    messages: Vec<(Vec<u8>, bool)>,
    counts: Counts,
    waiting_octets: usize,
}

/// Segments of one connection: whether the client sends it, sequence number, flags, data.
type Sent<'s> = (bool, u32, u8, &'s [u8]);

fn run(segments: &[Sent<'_>]) -> Outcome {
    run_cut(segments.iter().map(|segment| (*segment, 0)))
}

fn run_cut<'s>(segments: impl Iterator<Item = (Sent<'s>, usize)>) -> Outcome {
    let (client, server) = ("192.0.2.9:4096".parse().unwrap(), "192.0.2.1:53".parse().unwrap());
    let mut streams = Streams::default();
    let mut messages = Vec::new();
    let take: Take<'_> = &mut |message| messages.push((message.octets.to_vec(), message.is_whole));
    for ((by_client, sequence, flags, data), cut) in segments {
        let (from, to) = if by_client { (client, server) } else { (server, client) };
        streams.segment(0, from, to, &Segment { sequence, flags, data, cut }, take);
    }
    streams.end(take);
    Outcome { messages, counts: streams.counts, waiting_octets: streams.waiting_octets }
}

/// A message of this length with its length before it; `mark` tells it from others.
fn framed(mark: u8, length: u16) -> Vec<u8> {
    let header = [mark, mark, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let mut framed = length.to_be_bytes().to_vec();
    framed.extend_from_slice(&header);
    framed.resize(usize::from(length) + 2, mark);
    framed
}

#[track_caller]
fn check(outcome: &Outcome, expected: &[&[u8]]) {
    let whole: Vec<&[u8]> = outcome.messages.iter().map(|message| &message.0[..]).collect();
    let expected: Vec<&[u8]> = expected.iter().map(|framed| &framed[2..]).collect();
    assert!(whole == expected, "{} messages: {:?}", whole.len(), outcome.counts);
    assert_eq!(outcome.waiting_octets, 0);
}

#[test]
fn one_session() {
    let (query, one, two) = (framed(1, 30), framed(2, 300), framed(3, 40));
    let both = [&one[..], &two].concat();
    let outcome = run(&[
        (true, 99, flag::SYN, b""),
        (false, 999, flag::SYN | ACK, b""),
        (true, 100, ACK, b""),
        (true, 100, ACK, &query),
        (false, 1000, ACK, &both[..100]),
        (false, 1100, ACK, &both[100..]),
        (true, 132, flag::FIN | ACK, b""),
        (false, 1344, flag::FIN | ACK, b""),
        (true, 133, ACK, b""),
    ]);
    check(&outcome, &[&query, &one, &two]);
    let expected = Counts { packets: 9, sessions: 1, ..Counts::default() };
    assert_eq!(outcome.counts, expected);
}

/// Any cut, any order, anything twice and overlapping: the same messages.
#[test]
fn any_order_with_overlap() {
    let messages: Vec<Vec<u8>> = (0..20).map(|mark| framed(mark, 12 + u16::from(mark) * 37)).collect();
    let stream = messages.concat();
    let expected: Vec<&[u8]> = messages.iter().map(|message| &message[..]).collect();
    let mut random = Random::new(3);
    for round in 0..300 {
        // The sequence numbers pass through zero.
        let first = 0u32.wrapping_sub(random.index(stream.len()) as u32);
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < stream.len() {
            let end = (at + 1 + random.index(200)).min(stream.len());
            let begin = at.saturating_sub(random.index(30));
            pieces.push((true, first.wrapping_add(begin as u32), ACK, &stream[begin..end]));
            if random.chance(0.1) {
                pieces.push((true, first.wrapping_add(begin as u32), ACK, &stream[begin..end]));
            }
            at = end;
        }
        if round % 3 > 0 {
            random.shuffle(&mut pieces);
        }
        pieces.insert(0, (true, first.wrapping_sub(1), flag::SYN, b""));
        let outcome = run(&pieces);
        check(&outcome, &expected);
        assert_eq!((outcome.counts.not_analysed, outcome.counts.never_closed), (0, 1));
    }
}

#[test]
fn length_on_its_own() {
    let query = framed(1, 30);
    let octets: Vec<Sent<'_>> = (0..32).map(|at| (true, 100 + at as u32, ACK, &query[at..=at])).collect();
    check(&run(&[&[(true, 99, flag::SYN, &b""[..])], &octets[..]].concat()), &[&query]);
    let joined = run(&[(true, 7, ACK, &query[..2]), (true, 9, ACK, &query[2..])]);
    check(&joined, &[&query]);
}

#[test]
fn joined_in_the_middle() {
    let (one, two, three) = (framed(1, 30), framed(2, 300), framed(3, 50));
    // The rest of a message, then whole ones; no SYN was seen.
    let outcome = run(&[(true, 500, ACK, &[0xff; 20]), (true, 520, ACK, &one), (false, 9, ACK, &two)]);
    check(&outcome, &[&one, &two]);
    assert_eq!((outcome.counts.not_analysed, outcome.counts.sessions), (1, 1));
    // An acknowledgement tells the place.
    let outcome = run(&[(true, 500, ACK, b""), (true, 532, ACK, &three), (true, 500, ACK, &one)]);
    check(&outcome, &[&one, &three]);
}

#[test]
fn octets_that_never_come() {
    let (one, two, three) = (framed(1, 300), framed(2, 300), framed(3, 50));
    let outcome = run(&[
        (true, 99, flag::SYN, b""),
        (true, 100, ACK, &one[..200]),
        // 102 octets are missing.
        (true, 402, ACK, &two),
        (true, 704, ACK, &three),
    ]);
    check(&outcome, &[&two, &three]);
    assert_eq!((outcome.counts.not_analysed, outcome.counts.never_closed), (1, 1));
    // Beyond the gap the rest of a message first.
    let outcome = run(&[
        (true, 99, flag::SYN, b""),
        (true, 200, ACK, &two[200..]),
        (true, 302, flag::FIN | ACK, &three),
    ]);
    check(&outcome, &[&three]);
    assert_eq!((outcome.counts.not_analysed, outcome.counts.never_closed), (1, 0));
}

#[test]
fn gaps_are_bounded() {
    let framed: Vec<Vec<u8>> = (0..200).map(|_| framed(1, 40_000)).collect();
    let mut segments: Vec<Sent<'_>> = vec![(true, 0, flag::SYN, b"")];
    let mut sequence = 1000;
    for message in &framed {
        for part in message.chunks(1400) {
            segments.push((true, sequence, ACK, part));
            sequence += part.len() as u32;
        }
    }
    let expected: Vec<&[u8]> = framed.iter().map(|message| &message[..]).collect();
    check(&run(&segments), &expected);
    let mut streams = Streams::default();
    let client = "192.0.2.9:4096".parse().unwrap();
    for &(_, sequence, flags, data) in &segments {
        streams.segment(0, client, client, &Segment { sequence, flags, data, cut: 0 }, &mut |_| {});
        assert!(streams.waiting_octets < EARLY_OCTETS_MAX + (1 << 18));
    }
}

#[test]
fn sessions_of_the_same_ports() {
    let (one, two) = (framed(1, 30), framed(2, 40));
    let outcome = run(&[
        (true, 99, flag::SYN, b""),
        (true, 99, flag::SYN, b""),
        (true, 100, ACK, &one),
        (true, 132, flag::RST, b"some note"),
        (true, 70_000, flag::SYN, b""),
        (true, 70_001, ACK, &two),
        (true, 70_001, ACK, &two),
    ]);
    check(&outcome, &[&one, &two]);
    let expected = Counts { packets: 7, sessions: 2, never_closed: 1, retransmitted: 1, not_analysed: 0 };
    assert_eq!(outcome.counts, expected);
    // Data in the SYN (RFC 7413).
    check(&run(&[(true, 99, flag::SYN, &one), (true, 132, ACK, &two)]), &[&one, &two]);
    // Another session whose SYN was lost.
    let far = 100u32.wrapping_add(1 << 31);
    let outcome = run(&[(true, 99, flag::SYN, b""), (true, 100, ACK, &one[..20]), (true, far, ACK, &two)]);
    check(&outcome, &[&two]);
}

#[test]
fn cut_by_the_capture() {
    let (one, two) = (framed(1, 300), framed(2, 40));
    let segments: [Sent<'_>; 3] =
        [(true, 99, flag::SYN, b""), (true, 100, ACK, &one[..60]), (true, 402, ACK, &two)];
    let outcome = run_cut(segments.into_iter().zip([0, 242, 0]));
    assert_eq!(outcome.messages, [(one[2..60].to_vec(), false), (two[2..].to_vec(), true)]);
    assert_eq!(outcome.counts.not_analysed, 0);
}

#[test]
fn sessions_are_bounded() {
    let mut reader = Reader::new(&[53]);
    let server = "192.0.2.1:53".parse().unwrap();
    let half = &framed(1, 60_000)[..1400];
    for number in 0..200_000u32 {
        let client = SocketAddr::new([10, (number >> 16) as u8, (number >> 8) as u8, number as u8].into(), 9);
        let segment = Segment { sequence: 5, flags: ACK, data: half, cut: 0 };
        reader.streams.segment(number.into(), client, server, &segment, &mut |_| {});
        assert!(reader.streams.sessions.len() <= SESSIONS_MAX);
        assert!(reader.streams.waiting_octets <= WAITING_OCTETS_MAX);
    }
    reader.end(&mut |_| {});
    let Counts { sessions, never_closed, not_analysed, .. } = reader.streams.counts;
    assert_eq!((sessions, never_closed, not_analysed), (200_000, 200_000, 200_000));
}

#[test]
fn segments_in_packets() {
    let query = framed(1, 30);
    let frame = samples::tcp(4096, 53, 7, ACK, &query);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), samples::pcap(101, &[(0, frame)])).unwrap();
    let mut reader = Reader::new(&[53]);
    let mut found = Vec::new();
    reader.read(file.path(), &mut |message| found.push(message.octets.to_vec())).unwrap();
    assert_eq!(found, [&query[2..]]);
}

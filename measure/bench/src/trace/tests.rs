//! Whole captures: queries of them, their tally, and any damage.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::{
    message::Parts,
    packet::flag::{ACK, FIN, SYN},
    queries::QueryFile,
    report::Report,
    tally::Tally,
    *,
};
use crate::{error::CaptureProblem, random::Random};

fn packet(line: &str) -> Vec<u8> {
    let mut packet = Vec::new();
    Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut packet);
    packet
}

/// The same message as a response with these flags.
fn response(line: &str, flags: [u8; 2]) -> Vec<u8> {
    let mut packet = packet(line);
    packet[2..4].copy_from_slice(&flags);
    packet
}

fn scratch(octets: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), octets).unwrap();
    file
}

fn queries_of(octets: &[u8]) -> Result<(Vec<String>, QueriesSeen), Error> {
    let mut lines = Vec::new();
    let seen = each_query(scratch(octets).path(), |query| lines.push(query.to_string()))?;
    Ok((lines, seen))
}

/// Raw IP frames with these payloads to port 53, a millisecond apart.
fn capture(payloads: &[&[u8]], version: u8) -> Vec<u8> {
    let frame = |(number, payload): (usize, &&[u8])| {
        (number as u64 * 1_000_000, samples::udp(version, 4096, 53, payload))
    };
    samples::pcap(101, &payloads.iter().enumerate().map(frame).collect::<Vec<_>>())
}

/// A trace with a bit of everything.
fn rich() -> Vec<u8> {
    let second = capture::SECOND;
    let start = 1_163_570_400 * second;
    let framed = |message: &[u8]| [&(message.len() as u16).to_be_bytes(), message].concat();
    let query = packet("www.example. AAAA do rd");
    let answer = response("www.example. AAAA do rd", [0x85, 0x80]);
    let long = samples::udp(6, 53, 4096, &response("big.example. TXT", [0x80, 3]))[40..].to_vec();
    let mut chaos = packet("version.bind. TXT");
    let class = chaos.len() - 1;
    chaos[class] = 3;
    let frames = [
        (0, samples::udp(4, 4096, 53, &query)),
        (1, samples::udp(4, 53, 4096, &answer)),
        (1, samples::udp(6, 4096, 53, &packet("big.example. TXT"))),
        (2, samples::ipv6_fragment(17, 5, 24, false, &long[24..])),
        (2, samples::ipv6_fragment(17, 5, 0, true, &long[..24])),
        (2, samples::tcp(4096, 53, 9, SYN, b"")),
        (3, samples::tcp(4096, 53, 10, ACK, &framed(&packet(". NS")))),
        (3, samples::tcp(4096, 53, 29, ACK | FIN, &framed(&packet("a. A")))),
        (4, samples::udp(4, 4096, 53, &chaos)),
        (4, samples::udp(4, 4096, 53, &response("zone. SOA", [5 << 3, 0]))),
        (5, samples::udp(4, 4096, 53, b"junk")),
        (9, samples::udp(4, 4096, 99, b"not of the DNS")),
    ];
    let frames: Vec<_> = frames.into_iter().map(|(at, frame)| (start + at * second, frame)).collect();
    samples::pcapng(&[101], 6, &frames)
}

fn report(octets: &[u8], rebuild: bool, queries: Option<&Path>) -> (Report, Tally) {
    let mut reader = Reader::new(&[DNS_PORT]);
    let (mut tally, mut faults) = (Tally::default(), Vec::new());
    let mut output = queries.map(|path| QueryFile::create(path, rebuild).unwrap());
    let mut take = |message: &Message<'_>| {
        let parts = Parts::read(message);
        tally.add(message, parts.as_ref());
        if let (Some(parts), Some(output)) = (&parts, &mut output) {
            output.add(parts);
        }
    };
    if let Err(error) = reader.read(scratch(octets).path(), &mut take) {
        faults.push(error.to_string());
    }
    reader.end(&mut take);
    if let Some(output) = output {
        output.end().unwrap();
    }
    (Report::new(&reader, &tally, rebuild, faults), tally)
}

#[test]
fn queries_of_a_capture() {
    let lines = ["Www.example. A", ". NS do=4096 rd", "x. TYPE999 edns=512 cd"];
    let packets = lines.map(packet);
    let mut update = packets[0].clone();
    update[2] |= 5 << 3;
    let payloads = [&packets[0][..], &packets[1], &packets[2], &update, b"junk"];
    for version in [4, 6] {
        let (found, seen) = queries_of(&capture(&payloads, version)).unwrap();
        assert_eq!(found, lines);
        assert_eq!(seen, QueriesSeen { packets: 5, datagrams: 5, queries: 3, other: 2 });
    }
}

#[test]
fn damaged_captures() {
    let good = capture(&[&packet("a. A")], 4);
    for length in 0..good.len() {
        let result = queries_of(&good[..length]);
        let whole_blocks = length == 24;
        assert_eq!(result.is_ok(), whole_blocks, "{length}: {result:?}");
    }
    assert!(matches!(queries_of(b"no capture at all, just text"), Err(Error::Capture { .. })));
    let mut link = good.clone();
    link[20] = 201;
    assert!(matches!(queries_of(&link), Err(Error::Capture { problem: CaptureProblem::UnknownLink, .. })));
}

#[test]
fn the_reference_stands_beside_it() {
    let (report, _) = report(&rich(), false, None);
    let text = reference::Beside(&report).to_string();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        line.split_whitespace().rev().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("requests a second"), ["0.7", "2401.2"], "{text}");
    assert_eq!(row("with RD"), ["16.7%", "99.9%"], "{text}");
    assert_eq!(row("AAAA"), ["16.7%", "8.2%"], "{text}");
    assert_eq!(row("NXDOMAIN"), ["16.7%", "38.5%"], "{text}");
    assert_eq!(row("failed"), ["16.7%", "38.8%"], "{text}");
}

const TEXT: &str = "\
Start: Wed, 15 Nov 2006 06:00:00 +0000, duration: 9.00 seconds.
6 requests (16.7% failed)
Avg rate (requests/second) = 0.7, 95%ile burst = 2, Max burst = 2
1 recursive queries (0.0% failed); 1 authoritative replies
2 replies, 0 of them truncated
3 TCP packets in 1 sessions (0 never closed), 0 not analyzed (0.0% of total packets)

By type of query in default class:
           1/ 16.7%  A
           1/ 16.7%  NS
           1/ 16.7%  SOA
           1/ 16.7%  TXT                        1 failed (100.0%)
           1/ 16.7%  AAAA
           1/ 16.7%  TXT CH

Class CH:
           1/ 16.7%

Return codes (percentages are of total query count):
           1  16.7%  NOERROR
           1  16.7%  NXDOMAIN

Operation codes (likewise):
           5  83.3%  QUERY
           1  16.7%  UPDATE

12 packets, of which 7 UDP datagrams and 3 TCP packets of the DNS
1 messages are too short for a header and not counted
2 packets are fragments
1 packets were put together from fragments
";

#[test]
fn text_and_json() {
    let (report, _) = report(&rich(), false, None);
    let text = report.to_string();
    assert!(text == TEXT, "{text}");
    let json = report.json();
    assert_eq!((&json["requests"], &json["responses"]), (&6.into(), &2.into()));
    assert_eq!(json["types"]["TXT"], serde_json::json!({ "count": 2, "failed": 1 }));
    assert_eq!(json["types_by_class"]["CH"]["TXT"]["count"], 1);
    assert_eq!(json["rcodes"], serde_json::json!({ "NOERROR": 1, "NXDOMAIN": 1 }));
    assert_eq!(json["opcodes"]["UPDATE"], 1);
}

#[test]
fn queries_and_rebuilt_ones() {
    let file = scratch(b"");
    report(&rich(), false, Some(file.path()));
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(text, "www.example. AAAA do rd\nbig.example. TXT\n. NS\na. A\n");
    let (forced, _) = report(&rich(), true, Some(file.path()));
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(text, "www.example. AAAA do rd\nbig.example. TXT\n");
    assert!(forced.is_rebuilt && forced.requests.count == 2 && forced.requests.failed == 1);
    let answers = [response("a. A", [0x80, 0]), response("b. MX rd", [0x81, 5])];
    let replies = capture(&[&answers[0], &answers[1]], 4);
    let (found, _) = report(&replies, false, Some(file.path()));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "a. A\nb. MX rd\n");
    assert!(found.is_rebuilt && found.to_string().contains("2 requests (50.0% failed), rebuilt"));
    // A request that comes late: replies stand for nothing any more.
    let mixed = capture(&[&answers[0], &packet("c. NS")], 4);
    let (found, _) = report(&mixed, false, Some(file.path()));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "c. NS\n");
    assert!(!found.is_rebuilt);
}

/// Truncations, `step` octets apart, and damaged copies: an end each time, without a panic.
fn damage(step: usize, copies: usize) {
    let good = rich();
    let run = |octets: &[u8]| {
        let (report, _) = report(octets, false, None);
        let text = report.to_string();
        // Where a word begins: the name of the file, which a fault has, is made of any letters.
        let is_no_number =
            text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word.starts_with("NaN"));
        assert!(!is_no_number && report.json().is_object());
    };
    for length in (0..good.len()).step_by(step) {
        run(&good[..length]);
    }
    let mut random = Random::new(11);
    for _ in 0..copies {
        let mut damaged = good.clone();
        for _ in 0..=random.index(4) {
            let at = random.index(damaged.len());
            match random.index(3) {
                0 => damaged[at] ^= 1 << random.index(8),
                1 => damaged[at] = random.next_u64() as u8,
                _ => damaged[at] = [0, 0xff, 0x7f, 0x80][random.index(4)],
            }
        }
        damaged.truncate(damaged.len() - random.index(3) * random.index(100));
        run(&damaged);
    }
}

#[test]
fn any_damage() {
    damage(11, 100);
}

mod long {
    #[test]
    #[ignore = "long: make test-long"]
    fn any_damage() {
        super::damage(1, 3000);
    }
}

#[test]
fn quarter_of_the_oldest() {
    assert!(oldest_quarter::<u8>(std::iter::empty()).is_empty());
    assert_eq!(oldest_quarter([(5, 'a')].into_iter()), ['a']);
    let mut found = oldest_quarter((0..100).map(|time| (99 - time, time)));
    found.sort_unstable();
    assert_eq!(found, (75..100).collect::<Vec<u64>>());
}

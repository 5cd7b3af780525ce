//! Messages as they were seen on networks (`tests/data/packets.bin.zst`, source in the README there): whatever their senders meant, as responses to
//! what they seem to answer.

use std::collections::BTreeMap;
use std::io::Read;

use super::*;
use crate::response::fuzz::check_kind;
use wire::header::{HEADER_OCTETS, u16_at};
use wire::{Places, question};

/// The messages of the corpus: two octets of length before each.
fn corpus() -> Vec<Vec<u8>> {
    let packed: &[u8] = include_bytes!("../../../../../tests/data/packets.bin.zst");
    let mut octets = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_end(&mut octets).unwrap();
    let (mut rest, mut messages) = (octets.as_slice(), Vec::new());
    while let [high, low, tail @ ..] = rest {
        let (message, next) = tail.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        messages.push(message.to_vec());
        rest = next;
    }
    messages
}

/// Reads a message as the answer of a server of each zone that its question may be in, and of a forwarder; what each was.
fn read_all(octets: &[u8], used: &mut (Reader, Reply), counts: &mut BTreeMap<String, usize>) {
    let Ok(question) = question::Question::read(octets, &mut Places::new()) else { return };
    let qname = Name::from_wire(&octets[HEADER_OCTETS..question.end - 4]).unwrap();
    let full = qname.to_lowercase();
    let mut zone = Some(&*full);
    while let Some(apex) = zone {
        zone = apex.parent();
        for source in [Source::Authority, Source::Forwarder] {
            let asked = Asked {
                zone: apex,
                qname,
                qtype: question.qtype,
                full: &full,
                id: u16_at(octets, 0),
                source,
                has_edns: true,
                cookie: None,
                is_case_random: true,
                is_stream: false,
                not_servers: NEVER_SERVERS,
            };
            let read = used.0.read(&asked, octets, &mut used.1);
            check_scrubbed(&asked, octets, &used.1);
            let kind = match read {
                Err(mismatch) => format!("{mismatch:?}"),
                Ok(()) => {
                    check_kind(&asked, &used.1);
                    format!("{:?}", used.1.kind)
                }
            };
            if apex.is_root() {
                *counts.entry(format!("{source:?} {kind}")).or_default() += 1;
            }
        }
    }
}

/// The kinds of all, as servers of the root and as forwarders: numbers that change ask for a look at what changed them. Those that are malformed
/// beyond the question were cut off by the capture, but for three that are damaged; queries are malformed as responses.
#[test]
fn messages_of_networks() {
    let (mut used, mut counts) = ((Reader::new(3), Reply::new()), BTreeMap::new());
    corpus().iter().for_each(|octets| read_all(octets, &mut used, &mut counts));
    let counts: Vec<_> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let expected = [
        "Authority Alias 180",
        "Authority Answer 213",
        "Authority BadVersion 1",
        "Authority Failed 500",
        "Authority Lame(Empty) 16",
        "Authority Lame(Itself) 2",
        "Authority Lame(Malformed) 15",
        "Authority Lame(Other) 1",
        "Authority Malformed 1627",
        "Authority NameError 145",
        "Authority NoData 584",
        "Authority NoEdns 168",
        "Authority Question 49",
        "Authority Referral 515",
        "Authority Truncated 35",
        "Forwarder Alias 180",
        "Forwarder Answer 241",
        "Forwarder BadVersion 1",
        "Forwarder Failed 500",
        "Forwarder Lame(Malformed) 15",
        "Forwarder Lame(Other) 1",
        "Forwarder Lame(Sideways) 489",
        "Forwarder Malformed 1627",
        "Forwarder NameError 148",
        "Forwarder NoData 597",
        "Forwarder NoEdns 168",
        "Forwarder Question 49",
        "Forwarder Truncated 35",
    ];
    assert_eq!(counts, expected);
}

/// What the fuzzer begins with is read, too.
#[test]
fn seeds() {
    for entry in std::fs::read_dir("../../fuzz/seeds/resolve-response").unwrap() {
        crate::response::fuzz::check_response(&std::fs::read(entry.unwrap().path()).unwrap());
    }
}

mod long {
    use super::*;
    use wire::fuzz::{CHANGE_OCTETS, change};

    /// Messages of networks and seeds, changed in a few places each, as responses to what they seem to answer: what the fuzz target does, without its sense
    /// of what is new. A seed repeats its run.
    #[test]
    #[ignore]
    fn changed_messages() {
        const RUNS: u32 = 300_000;
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut messages = corpus();
        for entry in std::fs::read_dir("../../fuzz/seeds/resolve-response").unwrap() {
            let seed = std::fs::read(entry.unwrap().path()).unwrap();
            // As often as all others together.
            messages.extend((0..400).map(|_| seed[3..].to_vec()));
        }
        for run in 0..RUNS {
            let [choice, labels, hidden, changes, ..] = random().to_le_bytes();
            let mut octets = messages[random() as usize % messages.len()].clone();
            octets.truncate(4096);
            for _ in 0..changes % 4 {
                let mut how = [0; CHANGE_OCTETS];
                how.copy_from_slice(&random().to_le_bytes()[..CHANGE_OCTETS]);
                change(&mut octets, &how);
            }
            if let Some(flags) = octets.get_mut(2) {
                *flags = *flags & 0x07 | 0x80;
            }
            if let Some(code) = octets.get_mut(3) {
                *code &= if run % 2 == 0 { 0xf3 } else { 0xff };
            }
            let data = [&[choice, labels % 5, hidden % 8 / 5][..], &octets].concat();
            crate::response::fuzz::check_response(&data);
        }
    }
}

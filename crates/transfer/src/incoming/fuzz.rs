//! What must hold of any octets as the response to a question: for the fuzz target, and for a test of its seeds.
//!
//! ```text
//! octet 0: what is asked | messages: octet: how it is made, length u16, octets
//! how: bit 0 as it is | else header and, with bit 1, question before it, with bits 2 to 7 as the number of records
//! ```

use super::{Incoming, Kind, Limits, Memory, Outcome, Question, Sink, Spool, Step, Times};
use crate::serial::is_newer;
use wire::header::{AA, QR};
use wire::iana::class;
use wire::{Name, NameBuf};

const ID: u16 = 0x1234;
/// The serial that is held.
const OURS: u32 = 5;
const APEX: &[u8] = b"\x07example\0";

/// Takes a response made as `data` says.
pub fn check_stream(data: &[u8]) {
    let Some((&choice, mut rest)) = data.split_first() else { return };
    let kind = [Kind::Soa, Kind::Ixfr, Kind::Axfr][usize::from(choice % 3)];
    let is_udp = kind == Kind::Soa || choice & 0x40 != 0;
    let ours = (kind != Kind::Axfr || choice & 0x80 != 0).then_some(OURS);
    let zone: NameBuf = Name::trusted(APEX).to_owned();
    let question = Question { zone: zone.clone(), kind, ours, id: ID, has_edns: true, is_udp };
    let limits = Limits { difference_octets: 1 << 16, ..Limits::default() };
    let mut incoming = Incoming::new(question, None, limits, 0);
    let mut sink = Counted { spool: Spool::new(&zone, 0, Memory::new(1 << 24)), records: 0 };
    let (mut is_over, mut octets) = (false, 0);
    while let Some((&[how, high, low], after)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (body, after) = after.split_at(length.min(after.len()));
        rest = after;
        let message = message(how, body, kind);
        octets += message.len();
        match incoming.message(&message, Times::default(), &mut sink) {
            Ok(Step::More) => assert!(!is_over, "goes on after its end"),
            Ok(Step::Done(done)) => {
                assert!(!is_over, "ends twice");
                is_over = true;
                let serial = done.soa.map(|soa| soa.serial);
                match done.outcome {
                    Outcome::Current => assert_eq!(serial, ours),
                    Outcome::Behind => assert!(!is_newer(serial.expect("a serial"), OURS)),
                    Outcome::Newer => assert!(is_udp),
                    Outcome::Whole => assert!(sink.records > 0),
                    Outcome::Changes(changes) => {
                        let last = changes.iter().fold(OURS, |before, change| {
                            assert_eq!(
                                (change.zone().to_lowercase(), change.serial_before()),
                                (zone.clone(), before)
                            );
                            assert!(is_newer(change.serial_after(), before));
                            change.serial_after()
                        });
                        assert_eq!(Some(last), serial);
                    }
                }
            }
            Err(stop) => {
                is_over = true;
                assert!(!stop.to_string().is_empty());
            }
        }
    }
    // Each record takes eleven octets of a message at least; the first is kept and given with the second.
    assert!(sink.records <= octets / 11 + 1);
    if let Ok(contents) = sink.spool.finish(1 << 24) {
        assert!(contents.record_count() <= sink.records);
    }
}

fn message(how: u8, body: &[u8], kind: Kind) -> Vec<u8> {
    if how & 1 != 0 {
        return body.to_vec();
    }
    let mut message = Vec::with_capacity(32 + body.len());
    message.extend(ID.to_be_bytes());
    message.extend((QR | AA).to_be_bytes());
    message.extend([0, how >> 1 & 1, 0, how >> 2, 0, 0, 0, 0]);
    if how & 2 != 0 {
        message.extend(APEX);
        message.extend(kind.qtype().to_be_bytes());
        message.extend(class::IN.to_be_bytes());
    }
    message.extend(body);
    message
}

/// A sink that looks at what it gets.
struct Counted {
    spool: Spool<Memory>,
    records: usize,
}

impl Sink for Counted {
    fn record(
        &mut self,
        owner: &Name,
        same_owner: bool,
        rtype: u16,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), super::Fault> {
        assert!(owner.is_at_or_below(Name::trusted(APEX)) && zonefile::rdata::check(rtype, rdata).is_ok());
        self.records += 1;
        self.spool.record(owner, same_owner, rtype, ttl, rdata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/transfer");
        let mut count = 0;
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            check_stream(&std::fs::read(file.path()).unwrap_or_default());
            count += 1;
        }
        assert!(count > 5, "{count} seeds in {folder}");
    }
}

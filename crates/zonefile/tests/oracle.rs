//! The same records as the `domain` crate reads, from real zones.
#![allow(clippy::unwrap_used)]

use domain::base::iana::Class;
use domain::base::name::ToName;
use domain::base::rdata::ComposeRecordData;
use domain::zonefile::inplace::{Entry, Zonefile};
use wire::NameBuf;
use zonefile::{NoIncludes, Options, Record, Scanner, Source, print};

/// Owner, TTL, type and RDATA of each record, printed so that a difference can be read.
fn ours(text: &str, origin: &str, scanner: Scanner) -> Vec<String> {
    let mut options = Options::new(&NameBuf::from_text(origin).unwrap());
    options.scanner = scanner;
    let mut lines = Vec::new();
    let mut owner_before = Vec::new();
    let mut collect = |record: &Record<'_>| {
        assert_eq!(record.same_owner, record.owner.octets() == owner_before, "{:?}", record.position);
        owner_before = record.owner.octets().to_vec();
        lines.push(printed(record.owner.octets(), record.ttl, record.rtype, record.rdata));
        Ok(())
    };
    let source = Source { name: "zone".to_owned(), input: Box::new(text.as_bytes()) };
    let summary = zonefile::read(source, &options, &mut NoIncludes, &mut collect).unwrap();
    assert_eq!(summary.octets, text.len() as u64 + !text.ends_with('\n') as u64);
    assert_eq!(summary.records, lines.len() as u64);
    lines
}

fn theirs(text: &str, origin: &str) -> Vec<String> {
    let mut zonefile = Zonefile::with_capacity(text.len());
    zonefile.set_default_class(Class::IN);
    zonefile.set_origin(domain::base::Name::bytes_from_str(origin).unwrap());
    zonefile.extend_from_slice(text.as_bytes());
    let mut lines = Vec::new();
    while let Some(entry) = zonefile.next_entry().unwrap() {
        let Entry::Record(record) = entry else { panic!("no includes here") };
        let mut rdata = Vec::new();
        record.data().compose_rdata(&mut rdata).unwrap();
        let owner = record.owner().to_vec();
        lines.push(printed(owner.as_slice(), record.ttl().as_secs(), record.rtype().to_int(), &rdata));
    }
    lines
}

fn printed(owner: &[u8], ttl: u32, rtype: u16, rdata: &[u8]) -> String {
    let hex: String = rdata.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("{} {ttl} {rtype} {hex}", owner.escape_ascii())
}

#[track_caller]
fn check(text: &str, origin: &str, records: usize) {
    let expected = theirs(text, origin);
    assert_eq!(expected.len(), records);
    for scanner in [Scanner::Best, Scanner::Scalar] {
        let found = ours(text, origin, scanner);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), expected.len());
    }
}

fn root() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone")).unwrap()
}

#[test]
fn signed_root_zone() {
    check(&root(), ".", 24_877);
}

/// The start of each section of the .gov zone as its registry published it on 2026-08-22 (CC0-1.0).
#[test]
fn gov_zone() {
    let text = include_str!("corpus/gov.zone");
    check(text, "gov.", text.lines().filter(|line| !line.is_empty() && !line.starts_with(';')).count());
}

/// What `print` writes reads back to the same records, through the general way as well.
#[test]
fn printed_root_zone() {
    let text = root();
    let expected = ours(&text, ".", Scanner::Best);
    let mut printed = Vec::new();
    let mut print_line = |record: &Record<'_>| {
        print::line(record.owner, record.ttl, record.rtype, record.rdata, &mut printed);
        Ok(())
    };
    let options = Options::new(&NameBuf::root());
    let source = Source { name: "zone".to_owned(), input: Box::new(text.as_bytes()) };
    zonefile::read(source, &options, &mut NoIncludes, &mut print_line).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    assert!(ours(&printed, ".", Scanner::Best) == expected);
    let commented: String = printed.lines().map(|line| format!("{line} ; comment\r\n")).collect();
    assert!(ours(&commented, ".", Scanner::Best) == expected);
    let enclosed: String = printed
        .lines()
        .map(|line| {
            let (start, rdata) = line.split_at(line.find(" IN ").unwrap() + 4);
            format!("{start}( {} )\n", rdata.replace(' ', "\n\t"))
        })
        .collect();
    assert!(ours(&enclosed, ".", Scanner::Best) == expected);
}

//! What holds of all octets.

use proptest::prelude::*;

use super::*;
use crate::response::fuzz::check_kind;

const NAMES: &[&str] = &[
    ".",
    "test.",
    "example.",
    "a.example.",
    "b.example.",
    "x.a.example.",
    "y.x.a.example.",
    "ns.a.example.",
    "ns.test.",
    "*.example.",
    "X.A.Example.",
];
const RDATAS: &[&str] = &[
    "A 192.0.2.1",
    "A 127.0.0.1",
    "AAAA 2001:db8::1",
    "NS ns.a.example.",
    "NS ns.test.",
    "NS a.example.",
    "CNAME b.example.",
    "CNAME x.a.example.",
    "CNAME www.test.",
    "CNAME example.",
    "DNAME b.example.",
    "DNAME test.",
    "DNAME a.example.",
    "SOA . . 1 2 3 4 5",
    "DS 1 8 99 00",
    "TXT x",
    "NSEC b.example. A",
    "MX 1 a.example.",
    "RRSIG A 8 2 300 20300101000000 20200101000000 1 example. AAAA",
    "RRSIG NSEC 8 2 300 20300101000000 20200101000000 1 example. AAAA",
    "RRSIG CNAME 8 2 300 20300101000000 20200101000000 1 example. AAAA",
];

fn records() -> impl Strategy<Value = String> {
    let line = (0..NAMES.len(), 0..RDATAS.len())
        .prop_map(|(name, rdata)| format!("{} 60 {}\n", NAMES[name], RDATAS[rdata]));
    let section = || proptest::collection::vec(line.clone(), 0..8).prop_map(|lines| lines.concat());
    (section(), section(), section()).prop_map(|(one, two, three)| format!("{one}---\n{two}---\n{three}"))
}

fn question() -> impl Strategy<Value = Question> {
    let types = ["A", "AAAA", "NS", "CNAME", "DNAME", "SOA", "DS", "ANY", "RRSIG", "TXT"];
    let zones = [(".", 0), ("example.", 2), ("a.example.", 5), ("x.a.example.", 5)];
    (0..zones.len(), 0..NAMES.len(), 0..types.len(), any::<bool>()).prop_filter_map(
        "a name of the zone",
        move |(zone, at, rtype, is_forwarder)| {
            let (zone, _) = zones[zone];
            let of = if is_forwarder {
                |asked: &mut Asked<'_>| asked.source = Source::Forwarder
            } else {
                |_: &mut Asked<'_>| ()
            };
            name(NAMES[at])
                .is_at_or_below(&name(zone))
                .then(|| Question::with(&format!("{zone} {} {}", NAMES[at], types[rtype]), of))
        },
    )
}

const WORDS: [&str; 6] = ["AA NOERROR", "NOERROR", "AA NXDOMAIN", "NXDOMAIN", "AA YXDOMAIN", "RA NOERROR"];

/// Reads a response with one reader that was used before, and with a new one: both say the same.
fn check_read(asked: &Asked<'_>, octets: &[u8], used: &mut (Reader, Reply)) {
    let (reader, reply) = used;
    let again = reader.read(asked, octets, reply);
    let new = read(asked, octets);
    assert_eq!(again, new.as_ref().map(|_| ()).map_err(|error| *error));
    if let Ok(new) = new {
        assert_eq!(&new, reply);
        check_kind(asked, &new);
    }
}

proptest! {
    /// Any records in any place.
    #[test]
    fn any_records(question in question(), words in 0..WORDS.len(), records in records()) {
        let asked = question.asked();
        let mut used = (Reader::new(2), Reply::new());
        let octets = message(&asked, WORDS[words], &records);
        check_read(&asked, &octets, &mut used);
        check_read(&asked, &octets, &mut used);
    }

    /// Any octets, of messages that were sound and of none.
    #[test]
    fn any_octets(question in question(), words in 0..WORDS.len(), records in records(), changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
        let asked = question.asked();
        let mut used = (Reader::new(2), Reply::new());
        let octets = message(&asked, WORDS[words], &records);
        check_read(&asked, &octets, &mut used);
        let mut changed = octets.clone();
        for (at, octet) in changes {
            let at = usize::from(at) % changed.len();
            changed[at] = octet;
            let mut reply = Reply::new();
            // Changes may make it too dear to be read a second time, so only what the reader itself says is looked at.
            let _ = used.0.read(&asked, &changed, &mut reply);
            for list in [&reply.answer, &reply.authority, &reply.referral, &reply.glue] {
                prop_assert!(list.list().iter().all(|set| set.owner.is_at_or_below(asked.zone)));
            }
        }
    }
}

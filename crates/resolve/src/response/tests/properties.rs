//! What holds of all octets.

use proptest::prelude::*;

use super::*;

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

/// What holds between a kind and what comes with it.
fn check_kind(asked: &Asked<'_>, reply: &Reply) {
    let [answer, authority, referral, glue] =
        [&reply.answer, &reply.authority, &reply.referral, &reply.glue].map(|list| list.list());
    let text = print(reply);
    match reply.kind {
        Kind::Answer => {
            assert!(answer.iter().any(|set| set.rtype == asked.qtype || asked.qtype == rtype::ANY), "{text}")
        }
        Kind::Alias => {
            assert!(answer.iter().any(|set| set.rtype == rtype::CNAME) && referral.is_empty(), "{text}")
        }
        Kind::NoData | Kind::NameError => {
            assert!(
                reply.name().is_at_or_below(asked.zone) && referral.is_empty() && glue.is_empty(),
                "{text}"
            );
            let soa = authority.iter().find(|set| set.rtype == rtype::SOA);
            assert!(soa.is_none_or(|soa| reply.name().is_at_or_below(soa.owner)), "{text}");
        }
        Kind::Referral => {
            let cut = reply.name();
            assert!(answer.is_empty() && asked.qname.is_at_or_below(cut), "{text}");
            assert!(cut.is_at_or_below(asked.zone) && !cut.eq_ignore_case(asked.zone), "{text}");
            assert!(referral.iter().next().is_some_and(|set| set.rtype == rtype::NS), "{text}");
            assert!(referral.iter().all(|set| set.owner.eq_ignore_case(cut)), "{text}");
        }
        Kind::TooLong => assert!(answer.iter().any(|set| set.rtype == rtype::DNAME), "{text}"),
        _ => assert!(
            answer.is_empty() && authority.is_empty() && referral.is_empty() && glue.is_empty(),
            "{text}"
        ),
    }
    for set in glue {
        let is_named = |rdata: &[u8]| rdata.eq_ignore_ascii_case(set.owner.octets());
        assert!(
            referral.iter().any(|servers| servers.rtype == rtype::NS && servers.rdatas.iter().any(is_named)),
            "{text}"
        );
    }
    // Each alias leads to the next owner, and the last one to the name.
    let mut at = asked.qname.to_lowercase();
    for set in answer {
        assert!(
            matches!(set.rtype, rtype::DNAME | rtype::RRSIG | rtype::NSEC)
                || set.owner.eq_ignore_case(&at)
                || reply.kind == Kind::Answer,
            "{text}"
        );
        if set.rtype == rtype::CNAME && !matches!(asked.qtype, rtype::CNAME | rtype::ANY) {
            at = Name::from_wire(set.rdatas.iter().next().unwrap()).unwrap().to_lowercase();
        }
    }
    if !matches!(reply.kind, Kind::Referral | Kind::Lame(_) | Kind::Failed | Kind::Exists)
        && !matches!(asked.qtype, rtype::CNAME | rtype::ANY)
    {
        assert_eq!(at, reply.name().to_owned(), "{text}");
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

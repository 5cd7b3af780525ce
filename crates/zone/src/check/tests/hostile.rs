//! Zones nobody would write: whatever is in them, the checks come to an end and say so.
use super::*;
use proptest::prelude::*;

/// Types whose RDATA some check reads.
const TYPES: [u16; 22] = [
    rtype::A,
    rtype::NS,
    rtype::CNAME,
    rtype::SOA,
    rtype::PTR,
    rtype::MX,
    rtype::TXT,
    rtype::RP,
    rtype::AFSDB,
    rtype::AAAA,
    rtype::SRV,
    rtype::DNAME,
    rtype::DS,
    rtype::RRSIG,
    rtype::NSEC,
    rtype::DNSKEY,
    rtype::NSEC3,
    rtype::NSEC3PARAM,
    rtype::CDS,
    rtype::CDNSKEY,
    rtype::ZONEMD,
    rtype::SPF,
];

/// Octets that often look like the start of a signature, a key or a hash.
fn rdata() -> impl Strategy<Value = Vec<u8>> {
    let start = prop::sample::select(vec![
        &b""[..],
        b"\x01a\0",
        b"\0\0\x01*\0",
        b"\x01\0\0\0\0\x14",
        b"\x01\x01\x03\x0f",
        b"\0\x02\x0f\x01\0\0\0\x3c",
        b"\0\0\0\x01\x01\x01",
        b"\0\x01\x0d\x02",
        b"\xc0\0",
        b"\x06v=spf1",
    ]);
    (start, prop::collection::vec(any::<u8>(), 0..60)).prop_map(|(start, rest)| [start, &rest].concat())
}

fn owner() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "example.",
        "example.",
        "example.",
        "a.example.",
        "*.example.",
        "b.a.example.",
        "c.b.a.example.",
        "A.example.",
        "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.",
        "1p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.",
    ])
}

proptest! {
    #[test]
    fn any_octets(
        records in prop::collection::vec((owner(), prop::sample::select(TYPES.to_vec()), any::<u32>(), rdata()), 0..60),
        now in any::<u64>(),
        threads in 1..3usize,
    ) {
        let mut builder = ContentsBuilder::new(&NameBuf::from_text("example.").unwrap());
        for (owner, rtype, ttl, rdata) in &records {
            let owner = NameBuf::from_text(owner).unwrap();
            builder.push(&owner, false, *rtype, *ttl, rdata, SourcePosition::default()).unwrap();
        }
        let options = Options { now: Some(now), threads, findings_per_check_max: 1_000, ..Options::default() };
        findings(&builder.finish(), &options);
    }
}

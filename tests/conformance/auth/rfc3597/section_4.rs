//! Compression: only within the RDATA of the types of RFC 1035.

use zonda_tests::message::Query;
use zonda_tests::name::Name;
use zonda_tests::rtype;

use crate::kit::{corners, udp};

#[test]
fn names_in_newer_types_are_not_compressed() {
    // The parser takes RDATA of these types as it is: a pointer would stand there instead of the name.
    let cases = [
        ("srv.types.test.", rtype::SRV, 6, "host.types.test."),
        ("dname.corners.test.", rtype::DNAME, 0, "target.corners.test."),
        ("svcb.types.test.", rtype::SVCB, 2, "host.types.test."),
        ("rp.types.test.", 17, 0, "host.types.test."),
        ("kx.types.test.", 36, 2, "host.types.test."),
        ("afsdb.types.test.", 18, 2, "host.types.test."),
    ];
    for (owner, qtype, at, target) in cases {
        let response = udp(corners(), &Query::new(owner, qtype));
        let record = response.answer.first().unwrap_or_else(|| panic!("{owner}: {response:#?}"));
        let target = Name::parse(target);
        let found = record.rdata[at..].get(..target.wire().len()).unwrap_or_default();
        assert!(found.eq_ignore_ascii_case(target.wire()), "{owner}: {:02x?}", record.rdata);
    }
}

//! Transport: 512 octets over UDP without EDNS, all of it over TCP.

use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;

use crate::kit::{corners, rcode, tcp, udp};

#[test]
fn without_edns_512_octets_are_the_limit() {
    for name in
        ["t451", "t452", "t453", "t454", "t455", "t456", "t457", "t458", "t459", "t460", "a29", "a30", "a31"]
    {
        for qtype in [rtype::TXT, rtype::A] {
            let query = Query::new(&format!("{name}.big.test."), qtype);
            let response = udp(corners(), &query);
            assert!(response.octets <= 512, "{name}: {} octets", response.octets);
            let whole = tcp(corners(), &query);
            let fits = whole.octets <= 512;
            assert!(
                fits || response.has(flag::TC),
                "{name}: {} octets are not 512 and TC is clear",
                whole.octets
            );
            assert!(!fits || response.answer.len() == whole.answer.len(), "{name} fits and is not there");
        }
    }
}

#[test]
fn over_tcp_answers_are_whole() {
    for (name, octets) in [("t5000", 5000), ("t9000", 9000), ("t30000", 30000), ("t60000", 60000)] {
        let response = tcp(corners(), &Query::new(&format!("{name}.big.test."), rtype::TXT));
        assert_eq!(response.rcode(), rcode::NOERROR);
        assert!(!response.has(flag::TC) && response.octets > octets, "{name}: {} octets", response.octets);
    }
}

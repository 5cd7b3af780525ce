//! TC: what is cut is cut at the border of an RRset.

use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;

use crate::kit::{corners, tcp, udp};

#[test]
fn an_rrset_is_there_whole_or_not_at_all() {
    for (name, qtype) in [("a77", rtype::A), ("a200", rtype::A), ("mx40", rtype::MX), ("t1177", rtype::TXT)] {
        let name = format!("{name}.big.test.");
        let whole = tcp(corners(), &Query::new(&name, qtype)).answer.len();
        for octets in (512..=1232).step_by(16) {
            let response = udp(corners(), &Query::new(&name, qtype).edns(octets));
            assert!(response.octets <= usize::from(octets), "{name}: {} of {octets} octets", response.octets);
            match response.has(flag::TC) {
                true => assert!(response.answer.is_empty(), "{name} at {octets} octets: part of an RRset"),
                false => {
                    assert_eq!(response.answer.len(), whole, "{name} at {octets} octets: part without TC")
                }
            }
        }
    }
}

#[test]
fn additional_data_is_left_out_without_tc() {
    let query = Query::new("mx10.big.test.", rtype::MX);
    let (whole, cut) = (tcp(corners(), &query), udp(corners(), &query));
    assert!(whole.octets > 512, "the case needs more than fits");
    assert!(!cut.has(flag::TC), "{cut:#?}");
    assert_eq!(cut.answer.len(), whole.answer.len());
    assert!(cut.additional.len() < whole.additional.len());
}

#[test]
fn additional_rrsets_are_not_split() {
    for octets in (512..=1232).step_by(8) {
        let response = udp(corners(), &Query::new("www.corners.test.", rtype::MX).edns(octets).dnssec());
        assert!(!response.has(flag::TC));
        let response = udp(corners(), &Query::new("_sip._udp.nsec.test.", rtype::SRV).edns(octets).dnssec());
        for record in response.additional.iter().filter(|record| record.rtype != rtype::RRSIG) {
            let signed = response.additional.iter().any(|other| {
                other.covered() == Some(record.rtype) && other.owner.lower() == record.owner.lower()
            });
            assert!(signed, "{record:?} without its signature at {octets} octets");
        }
    }
}

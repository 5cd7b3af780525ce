//! ANY.

use zonda_tests::message::Query;
use zonda_tests::rtype;

use crate::kit::{corners, rcode, types, udp};

#[test]
fn any_over_udp_is_answered_with_one_rrset() {
    for (name, dnssec) in [("corners.test.", false), ("nsec.test.", true), ("www.corners.test.", false)] {
        let mut query = Query::new(name, rtype::ANY).edns(1232);
        if dnssec {
            query = query.dnssec();
        }
        let response = udp(corners(), &query);
        assert_eq!(response.rcode(), rcode::NOERROR);
        let found: Vec<String> =
            types(&response.answer).into_iter().filter(|name| !name.starts_with("RRSIG")).collect();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
    }
}

#[test]
fn any_of_a_name_that_does_not_exist_is_denied() {
    let response = udp(corners(), &Query::new("absent.ent.corners.test.", rtype::ANY));
    assert_eq!(response.rcode(), rcode::NXDOMAIN);
}

#[test]
fn any_of_an_empty_non_terminal_is_no_data() {
    let response = udp(corners(), &Query::new("ent.corners.test.", rtype::ANY));
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty());
}

#[test]
fn any_below_a_cut_is_a_referral() {
    let response = udp(corners(), &Query::new("x.cut.corners.test.", rtype::ANY));
    assert!(response.answer.is_empty());
    assert_eq!(types(&response.authority), ["NS".to_owned()].into());
}

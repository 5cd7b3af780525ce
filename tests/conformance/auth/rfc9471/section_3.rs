//! Glue is not optional in referrals.

use zonda_tests::message::{Query, flag};
use zonda_tests::rtype;
use zonda_tests::server::Kind;

use crate::kit::{corners, tcp, udp};

/// Number of addresses in the additional section.
fn addresses(response: &zonda_tests::response::Response) -> usize {
    response.additional.iter().filter(|record| matches!(record.rtype, rtype::A | rtype::AAAA)).count()
}

#[test]
fn s3_1_in_domain_glue_that_does_not_fit_sets_tc() {
    if matches!(Kind::under_test(), Kind::Named | Kind::Nsd) {
        return; // These versions are older than the RFC and leave glue out silently.
    }
    for name in ["cut13", "cut30"] {
        let query = Query::new(&format!("www.{name}.big.test."), rtype::A);
        let whole = tcp(corners(), &query);
        assert!(whole.octets > 512, "the case needs more than fits");
        let cut = udp(corners(), &query);
        assert!(cut.has(flag::TC), "{} of {} addresses and no TC", addresses(&cut), addresses(&whole));
    }
}

#[test]
fn s3_1_all_glue_is_there_where_it_fits() {
    let query = Query::new("www.cut6.big.test.", rtype::A).edns(1232);
    let response = udp(corners(), &query);
    assert!(!response.has(flag::TC));
    assert_eq!(addresses(&response), 12);
}

#[test]
fn s3_2_sibling_glue_may_be_left_out() {
    let response = udp(corners(), &Query::new("www.sibling.corners.test.", rtype::A).edns(512).dnssec());
    assert!(!response.has(flag::TC), "{response:#?}");
}

//! DNAME in a signed zone.

use zonda_tests::message::Query;
use zonda_tests::rtype;

use crate::kit::{corners, owners, tcp, words};

#[test]
fn dname_is_signed_and_the_synthesised_cname_is_not() {
    let response = tcp(corners(), &Query::new("x.dname.nsec.test.", rtype::A).dnssec());
    let covered: Vec<_> = response
        .answer
        .iter()
        .filter_map(|record| Some((record.owner.to_string(), record.covered()?)))
        .collect();
    assert!(covered.contains(&("dname.nsec.test.".to_owned(), rtype::DNAME)), "{covered:?}");
    assert!(covered.contains(&("x.target.nsec.test.".to_owned(), rtype::A)), "{covered:?}");
    assert!(!covered.iter().any(|(_, covered)| *covered == rtype::CNAME), "{covered:?}");
    assert_eq!(owners(&response.answer, rtype::CNAME), words("x.dname.nsec.test."));
}

#[test]
fn the_dname_comes_before_what_was_made_from_it() {
    let response = tcp(corners(), &Query::new("x.dname2.corners.test.", rtype::A));
    let order: Vec<u16> = response.answer.iter().map(|record| record.rtype).collect();
    assert_eq!(order, [rtype::DNAME, rtype::CNAME, rtype::DNAME, rtype::CNAME, rtype::A]);
}

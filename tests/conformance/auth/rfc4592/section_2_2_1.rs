//! The example zone and what the section says about each name.

use zonda_tests::message::{Query, flag};
use zonda_tests::response::Response;
use zonda_tests::rtype;

use crate::kit::{assert_records, rcode, rfc4592, udp};

fn ask(name: &str, qtype: u16) -> Response {
    udp(rfc4592(), &Query::new(name, qtype))
}

#[test]
fn responses_that_are_synthesised() {
    let response = ask("host3.example.", rtype::MX);
    assert_records(&response.answer, "host3.example. 3600 IN MX 10 host1.example.");
    let response = ask("host3.example.", rtype::A);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty());
    let response = ask("foo.bar.example.", rtype::TXT);
    assert_records(&response.answer, "foo.bar.example. 3600 IN TXT \"this is a wildcard\"");
}

#[test]
fn responses_that_are_not_synthesised() {
    // host1 exists; so does sub.*; so do the names above the SRV records.
    let response = ask("host1.example.", rtype::MX);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty());
    let response = ask("sub.*.example.", rtype::MX);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty());
    let response = ask("_telnet._tcp.host1.example.", rtype::SRV);
    assert_eq!(response.rcode(), rcode::NXDOMAIN);
    let response = ask("ghost.*.example.", rtype::MX);
    assert_eq!(response.rcode(), rcode::NXDOMAIN);
    let response = ask("_tcp.host2.example.", rtype::TXT);
    assert_eq!(response.rcode(), rcode::NOERROR);
    assert!(response.answer.is_empty());
}

#[test]
fn a_delegation_is_no_place_for_a_wildcard() {
    let response = ask("host.subdel.example.", rtype::A);
    assert!(!response.has(flag::AA) && response.answer.is_empty());
    assert_records(
        &response.authority,
        "subdel.example. 3600 IN NS ns.example.com.\nsubdel.example. 3600 IN NS ns.example.net.",
    );
}

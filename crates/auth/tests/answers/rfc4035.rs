//! RFC 4035 B: the example responses from a zone with NSEC, and what section 3.1 asks for beyond them.

use crate::kit::{How, Kit, assert_lines, assert_signed, rcode};
use wire::iana::rtype;

const ZONE: &str = include_str!("../../../../tests/data/zones/rfc4035.signed.zone");
const CORNERS: &str = include_str!("../../../../tests/data/zones/nsec.test.zone");

fn kit() -> Kit {
    Kit::new(&[("example", ZONE), ("nsec.test", CORNERS)])
}

/// Asks with DO; compares RCODE, types of the three sections, and the owners of NSEC records.
#[track_caller]
fn check(kit: &Kit, question: &str, rcode: u16, types: [&str; 3], proofs: &str) {
    let response = kit.ask(question, How::TcpDnssec);
    assert_eq!(response.rcode, rcode, "{question}");
    for (section, expected) in types.into_iter().enumerate() {
        assert_eq!(response.types(section), expected, "{question}, section {section}");
    }
    let owners: Vec<String> = response.sections[1]
        .iter()
        .filter(|record| record.rtype == rtype::NSEC)
        .map(|record| record.owner.to_string())
        .collect();
    assert_eq!(owners.join(" "), proofs, "{question}");
    assert_signed(&response, 0, &[rtype::CNAME]);
    assert_signed(&response, 1, &[rtype::NS]);
}

const SOA: &str = "SOA RRSIG(SOA)";
const SOA_NSEC: &str = "SOA RRSIG(SOA) NSEC RRSIG(NSEC)";
const SOA_NSEC_NSEC: &str = "SOA RRSIG(SOA) NSEC RRSIG(NSEC) NSEC RRSIG(NSEC)";

#[test]
fn appendix_b() {
    let kit = kit();
    let addresses = "A RRSIG(A) AAAA RRSIG(AAAA)";
    check(&kit, "x.w.example MX", rcode::NOERROR, ["MX RRSIG(MX)", "", addresses], "");
    check(&kit, "ml.example A", rcode::NXDOMAIN, ["", SOA_NSEC_NSEC, ""], "example. b.example.");
    check(&kit, "ns1.example MX", rcode::NOERROR, ["", SOA_NSEC, ""], "ns1.example.");
    check(&kit, "mc.a.example MX", rcode::NOERROR, ["", "NS NS DS RRSIG(DS)", "A A"], "");
    check(&kit, "mc.b.example MX", rcode::NOERROR, ["", "NS NS NSEC RRSIG(NSEC)", "A A"], "b.example.");
    let expansion = ["MX RRSIG(MX)", "NSEC RRSIG(NSEC)", addresses];
    check(&kit, "a.z.w.example MX", rcode::NOERROR, expansion, "x.y.w.example.");
    let proofs = "x.y.w.example. *.w.example.";
    check(&kit, "a.z.w.example AAAA", rcode::NOERROR, ["", SOA_NSEC_NSEC, ""], proofs);
    check(&kit, "example DS", rcode::NOERROR, ["", SOA_NSEC, ""], "example.");
}

#[test]
fn beyond_the_examples() {
    let kit = kit();
    // DS at a cut: from this side of it, with authority.
    check(&kit, "a.example DS", rcode::NOERROR, ["DS RRSIG(DS)", "", ""], "");
    check(&kit, "b.example DS", rcode::NOERROR, ["", SOA_NSEC, ""], "b.example.");
    // An empty non-terminal has no record; the one before proves it.
    check(&kit, "ent.nsec.test A", rcode::NOERROR, ["", SOA_NSEC, ""], "dname2.nsec.test.");
    check(&kit, "www.nsec.test NSEC", rcode::NOERROR, ["NSEC RRSIG(NSEC)", "", ""], "");
    check(&kit, "www.nsec.test RRSIG", rcode::NOERROR, ["RRSIG(A)", "", ""], "");
    check(&kit, "www.nsec.test ANY", rcode::NOERROR, ["A A RRSIG(A)", "", ""], "");
    let alias = kit.ask("q.walias.nsec.test A", How::TcpDnssec);
    assert_eq!(alias.types(0), "CNAME RRSIG(CNAME) A A RRSIG(A)");
    assert_eq!(alias.types(1), "NSEC RRSIG(NSEC)", "the wildcard on the way is proved");
}

/// Addresses of name servers that are data of the zone, not glue, have their signatures in referrals (3.1.1).
#[test]
fn addresses_in_referrals() {
    let response = kit().ask("x.sibling.nsec.test A", How::TcpDnssec);
    assert_eq!(response.types(1), "NS NS NS NSEC RRSIG(NSEC)");
    let of = |owner: &str| {
        let mut response = response.clone();
        response.sections[2].retain(|record| record.owner.to_string() == owner);
        response.types(2)
    };
    assert_eq!(of("ns1.nsec.test."), "A RRSIG(A) AAAA RRSIG(AAAA)");
    assert!(!of("ns1.cut.nsec.test.").is_empty() && !of("ns1.cut.nsec.test.").contains("RRSIG"));
}

#[test]
fn without_do_no_proofs() {
    let kit = kit();
    for question in ["ml.example A", "mc.b.example MX", "a.z.w.example MX", "a.z.w.example AAAA"] {
        for how in [How::Plain, How::Edns(1232)] {
            let response = kit.ask(question, how);
            let types = [0, 1, 2].map(|section| response.types(section)).concat();
            assert!(!types.contains("RRSIG") && !types.contains("NSEC"), "{question}: {types}");
        }
    }
}

#[test]
fn negative_ttl_is_that_of_the_whole_proof_of_the_soa() {
    let kit = kit();
    let response = kit.ask("absent.absent.nsec.test A", How::TcpDnssec);
    let [soa, signature, ..] = &response.sections[1][..] else { panic!("{response:#?}") };
    assert_eq!((soa.ttl, signature.ttl), (300, 300), "RFC 2308 5");
    assert_lines(&response, 0, "", "");
}

#[test]
fn proofs_that_do_not_fit_truncate() {
    let kit = kit();
    let name: wire::NameBuf = "ml.example".parse().unwrap_or_else(|_| unreachable!());
    let query = auth::inspect::query(0, &name, rtype::A, Some((512, true)));
    let response = kit.raw(&query, auth::Transport::Udp).unwrap_or_default();
    assert_eq!(response.flags & wire::header::TC != 0, response.types(1) != SOA_NSEC_NSEC);
    assert!(response.types(1).starts_with(SOA) && response.rcode == rcode::NXDOMAIN);
}

/// An alias that leads back to a zone finds its records at another place of the message: each still goes there once.
#[test]
fn a_proof_comes_once() {
    let root = ". 9 SOA ns. h. 1 2 3 4 5\n. 9 RRSIG SOA 13 0 9 20380101000000 20260101000000 1 . AAAA\n\
        . 9 NS ns.\n. 9 NSEC ns. SOA NS NSEC\nns. 9 A 192.0.2.1\n\
        ns. 9 NSEC *.w. A NSEC\n*.w. 9 CNAME y.w.\n*.w. 9 NSEC zz. CNAME NSEC\n\
        zz. 9 A 192.0.2.1\nzz. 9 NSEC . A NSEC\n";
    let response = Kit::new(&[(".", root)]).ask("q.w A", How::Dnssec);
    assert_eq!(response.lines(1), ["*.w. 9 IN NSEC zz. CNAME NSEC"]);
}

/// What is left of a signed zone without its signatures proves nothing, whether absence was proved with NSEC or NSEC3.
#[test]
fn no_proofs_without_signatures() {
    let without = |text: &str| -> String {
        text.lines().filter(|line| !line.contains("IN RRSIG")).map(|line| format!("{line}\n")).collect()
    };
    let nsec3 = include_str!("../../../../tests/data/zones/nsec3.test.zone");
    let kit = Kit::new(&[("nsec.test", &without(CORNERS)), ("nsec3.test", &without(nsec3))]);
    for zone in ["nsec.test", "nsec3.test"] {
        let types = |name: &str, section| kit.ask(&format!("{name}.{zone} A"), How::TcpDnssec).types(section);
        assert_eq!(types("absent.absent", 1), "SOA", "{zone}: a name error");
        assert_eq!(types("mx", 1), "SOA", "{zone}: no data");
        assert_eq!(types("x.wild", 1), "", "{zone}: a wildcard");
        assert_eq!(types("x.cut", 1), "NS NS", "{zone}: a referral");
        assert_eq!(types("www", 0), "A A", "{zone}");
    }
    assert_eq!(kit.ask("www.nsec.test NSEC", How::TcpDnssec).types(0), "NSEC");
}

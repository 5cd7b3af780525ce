//! RFC 4592: the example of section 2.2.1 and its questions, and wildcards at odd places.

use crate::kit::{How, Kit, assert_lines, assert_signed, rcode};

const ZONE: &str = include_str!("../../../../tests/data/zones/rfc4592.zone");
const SOA: &str = "example. 3600 IN SOA ns.example.com. hostmaster.example.com. 1 3600 300 3600000 3600";

fn check(question: &str, rcode: u16, answer: &str) {
    let kit = Kit::new(&[("example", ZONE)]);
    let authority = if answer.is_empty() { SOA } else { "" };
    kit.check(question, How::Plain, rcode, true, answer, authority);
}

#[test]
fn synthesised() {
    check("host3.example MX", rcode::NOERROR, "host3.example. 3600 IN MX 10 host1.example.");
    check("host3.example A", rcode::NOERROR, "");
    check("foo.bar.example TXT", rcode::NOERROR, "foo.bar.example. 3600 IN TXT \"this is a wildcard\"");
}

#[test]
fn not_synthesised() {
    check("host1.example MX", rcode::NOERROR, "");
    check("sub.*.example MX", rcode::NOERROR, "");
    check("_telnet._tcp.host1.example SRV", rcode::NXDOMAIN, "");
    check("ghost.*.example MX", rcode::NXDOMAIN, "");
    check("*.example TXT", rcode::NOERROR, "*.example. 3600 IN TXT \"this is a wildcard\"");
}

#[test]
fn at_odd_places() {
    let text =
        format!("{ZONE}*.c CNAME host1\n*.d DNAME d2\n*.e TXT \"\"\nx.*.f TXT \"\"\n\\000.*.e TXT \"nul\"\n");
    let kit = Kit::new(&[("example", &text)]);
    let alias = "q.c.example. 3600 IN CNAME host1.example.\nhost1.example. 3600 IN A 192.0.2.1";
    kit.check("q.c.example A", How::Plain, rcode::NOERROR, true, alias, "");
    // Below a wildcard that owns a DNAME, the asterisk is a name like any other.
    let redirected = "*.d.example. 3600 IN DNAME d2.example.
        q.*.d.example. 3600 IN CNAME q.d2.example.
        q.d2.example. 3600 IN MX 10 host1.example.";
    kit.check("q.*.d.example MX", How::Plain, rcode::NOERROR, true, redirected, "");
    // A wildcard that is an empty non-terminal answers NODATA.
    kit.check("q.f.example TXT", How::Plain, rcode::NOERROR, true, "", SOA);
    let nul = "\\000.*.e.example. 3600 IN TXT \"nul\"";
    kit.check("\\000.*.e.example TXT", How::Plain, rcode::NOERROR, true, nul, "");
    kit.check("x.*.e.example TXT", How::Plain, rcode::NXDOMAIN, true, "", SOA);
}

/// Hosts that a wildcard stands in for, with it as the owner's data, each once (2.1.1: the target is what is looked up).
#[test]
fn in_additional_data() {
    let text = format!(
        "{ZONE}*.w AAAA 2001:db8::1\nm MX 1 q.w\nm MX 2 Q.W\nm MX 3 r.w\nm MX 4 sub.host1\n\
         *.h HTTPS 1 .\n*.h A 192.0.2.9\ncut NS q.w\nd DNAME w\nn MX 1 q.d\nn MX 2 q.cut\n"
    );
    let kit = Kit::new(&[("example", &text)]);
    let check = |question: &str, expected: &str| {
        for how in [How::Edns(1232), How::Tcp] {
            assert_lines(&kit.ask(question, how), 2, expected, question);
        }
    };
    let first = "q.w.example. 3600 IN AAAA 2001:db8::1";
    check("m.example MX", &format!("{first}\nr.w.example. 3600 IN AAAA 2001:db8::1"));
    check("x.cut.example A", first);
    // The owner itself, behind the wildcard that answered.
    check("x.h.example HTTPS", "x.h.example. 3600 IN A 192.0.2.9");
    // A DNAME and a zone cut above the target say where else to ask.
    check("n.example MX", "");
}

/// The wildcard's signatures belong to its addresses; a proof that the target does not exist is in no additional section.
#[test]
fn in_additional_data_with_signatures() {
    let kit = Kit::new(&[("nsec.test", include_str!("../../../../tests/data/zones/nsec.test.zone"))]);
    let response = kit.ask("mx.nsec.test MX", How::Dnssec);
    assert!(response.lines(2).contains(&"any.wild.nsec.test. 3600 IN A 192.0.2.20".to_owned()));
    assert_signed(&response, 2, &[]);
    assert!(!response.types(2).contains("NSEC"), "{response:#?}");
}

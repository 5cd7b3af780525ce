//! RFC 6672: DNAME redirects what is below it, with a CNAME for those who do not know it.

use crate::kit::{How, Kit, rcode};

const ZONE: &str = "
$TTL 3600
@        SOA   ns host 1 7200 3600 1209600 300
@        NS    ns
ns       A     192.0.2.1
old  700 DNAME new
old      TXT   \"the owner itself\"
www.new  A     192.0.2.2
twice    DNAME old
loop     DNAME x.loop
out      DNAME elsewhere.
peer     DNAME other.
root     DNAME .
alias    CNAME www.old
again    CNAME a.again2
again2   DNAME again3
a.again3 CNAME b.again2
b.again3 A     192.0.2.3
first    DNAME x.second
second   DNAME y.first
here     DNAME there
c.there  DNAME q.r.here
w.q.r.there A  192.0.2.4
to       DNAME fro
fro      DNAME to
";
const OTHER: &str = "@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\nwww 60 A 192.0.2.9\n@ 60 DNAME example.\n";
const SOA: &str = "example. 300 IN SOA ns.example. host.example. 1 7200 3600 1209600 300";

fn kit() -> Kit {
    Kit::new(&[("example", ZONE), ("other", OTHER)])
}

#[test]
fn redirection() {
    let kit = kit();
    let check = |question: &str, rcode, answer: &str, authority: &str| {
        kit.check(question, How::Tcp, rcode, true, answer, authority);
    };
    let old = "old.example. 700 IN DNAME new.example.
        WWW.old.example. 700 IN CNAME WWW.new.example.";
    check("WWW.old.example A", rcode::NOERROR, &format!("{old}\nWWW.new.example. 3600 IN A 192.0.2.2"), "");
    check("WWW.old.example CNAME", rcode::NOERROR, old, "");
    check("old.example TXT", rcode::NOERROR, "old.example. 3600 IN TXT \"the owner itself\"", "");
    check("old.example DNAME", rcode::NOERROR, "old.example. 700 IN DNAME new.example.", "");
    check("old.example A", rcode::NOERROR, "", SOA);
    let miss = "old.example. 700 IN DNAME new.example.\nx.old.example. 700 IN CNAME x.new.example.";
    check("x.old.example A", rcode::NXDOMAIN, miss, SOA);
    let twice = "twice.example. 3600 IN DNAME old.example.
        www.twice.example. 3600 IN CNAME www.old.example.
        old.example. 700 IN DNAME new.example.
        www.old.example. 700 IN CNAME www.new.example.
        www.new.example. 3600 IN A 192.0.2.2";
    check("www.twice.example A", rcode::NOERROR, twice, "");
    let out = "out.example. 3600 IN DNAME elsewhere.\nw.out.example. 3600 IN CNAME w.elsewhere.";
    check("w.out.example A", rcode::NOERROR, out, "");
    let root = "root.example. 3600 IN DNAME .\nw.root.example. 3600 IN CNAME w.";
    check("w.root.example A", rcode::NOERROR, root, "");
    // The apex of the other zone has a DNAME too, so its `www` is occluded and leads back.
    let peer = "peer.example. 3600 IN DNAME other.
        ns.peer.example. 3600 IN CNAME ns.other.
        other. 60 IN DNAME example.
        ns.other. 60 IN CNAME ns.example.
        ns.example. 3600 IN A 192.0.2.1";
    check("ns.peer.example A", rcode::NOERROR, peer, "");
}

#[test]
fn the_same_dname_is_told_once() {
    let kit = kit();
    let again = "again.example. 3600 IN CNAME a.again2.example.
        again2.example. 3600 IN DNAME again3.example.
        a.again2.example. 3600 IN CNAME a.again3.example.
        a.again3.example. 3600 IN CNAME b.again2.example.
        b.again2.example. 3600 IN CNAME b.again3.example.
        b.again3.example. 3600 IN A 192.0.2.3";
    kit.check("again.example A", How::Tcp, rcode::NOERROR, true, again, "");
}

/// A DNAME that leads below itself, by itself or by way of another, is followed once: nobody gets a long answer for a short query.
#[test]
fn growing_names_end() {
    let kit = kit();
    let label = "l".repeat(60);
    for name in ["a.loop.example".into(), format!("{label}.{label}.{label}.loop.example")] {
        let response = kit.ask(&format!("{name} A"), How::Plain);
        assert_eq!((response.rcode, response.types(0)), (rcode::NOERROR, "DNAME CNAME".into()));
        let rest = name.strip_suffix(".loop.example").unwrap_or_default();
        let target = format!("{name}. 3600 IN CNAME {rest}.x.loop.example.");
        assert_eq!(response.lines(0)[1], target);
        let query = 12 + 2 + name.len() + 4;
        assert!(response.octets < 3 * query, "{name}: {} octets for {query}", response.octets);
    }
    assert_eq!(kit.ask("a.first.example A", How::Plain).types(0), "DNAME CNAME DNAME CNAME");
    // No room for one more label.
    let label = "l".repeat(63);
    let long = format!("{label}.{label}.{label}.{}.loop.example A", "m".repeat(48));
    let response = kit.ask(&long, How::Tcp);
    assert_eq!((response.rcode, response.types(0)), (rcode::YXDOMAIN, "DNAME".into()));
}

/// Longer names than before are no loop where another DNAME made them so, and all are followed.
#[test]
fn names_that_grow_and_arrive() {
    let kit = kit();
    let response = kit.ask("w.c.here.example A", How::Plain);
    let types = "DNAME CNAME DNAME CNAME CNAME A";
    assert_eq!((response.types(0), response.rcode), (types.into(), rcode::NOERROR), "{response:#?}");
}

/// Names along a chain end in what is written of them: a name that was asked for is a pointer, and so is the end of one.
#[test]
fn chains_are_compressed() {
    let kit = kit();
    let label = "l".repeat(60);
    let name = format!("{label}.{label}.{label}.to.example");
    let response = kit.ask(&format!("{name} A"), How::Tcp);
    assert_eq!(response.types(0), "DNAME CNAME DNAME CNAME");
    // Question, and once more with another end, beside two DNAME records and what else they take; the third is a pointer.
    let expected = 12
        + (2 + name.len() + 4)
        + 2 * (2 + 10 + "fro.example".len() + 2)
        + (2 + 10 + 3 * 61 + 2)
        + (2 + 10 + 2);
    assert!(response.octets <= expected, "{} octets of {expected}", response.octets);
}

/// What stands below a DNAME by mistake is not told as the address of a server: its name means another (2.4).
#[test]
fn no_addresses_from_below() {
    let text =
        "@ 9 SOA ns.d h 1 2 3 4 5\n@ 9 NS ns.d\nd 9 DNAME elsewhere.\nns.d 9 A 192.0.2.66\nsub 9 NS ns.d\n";
    let kit = Kit::new(&[("dn", text)]);
    for question in ["dn NS", "x.sub.dn A"] {
        assert_eq!(kit.ask(question, How::Plain).types(2), "", "{question}");
    }
}

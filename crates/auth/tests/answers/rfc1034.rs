//! RFC 1034 4.3.2 step by step, on a zone with every corner that has no RFC of its own.

use crate::kit;
use crate::kit::{How, Kit, assert_lines, rcode};
use wire::header::TC;

const ZONE: &str = "
$TTL 3600
@       SOA  ns1 host 1 7200 3600 1209600 300
@       NS   ns1
@       NS   ns.sub
@       MX   10 mail
@       MX   20 mail
@       MX   30 mail.other.
ns1     A    192.0.2.1
ns1     AAAA 2001:db8::1
mail    A    192.0.2.2
www     A    192.0.2.3
www     A    192.0.2.4
www     TXT  \"text\"
leaf.ent TXT \"below\"
alias   CNAME www
alias2  CNAME alias
loop1   CNAME loop2
loop2   CNAME loop1
out     CNAME www.elsewhere.
miss    CNAME nothing
into    CNAME www.sub
across  CNAME www.other.
sub     NS   ns.sub
sub     NS   ns.peer
sub     NS   ns.elsewhere.
sub     NS   ns1
ns.sub  A    192.0.2.10
ns.sub  A    192.0.2.11
peer    NS   ns.peer
ns.peer AAAA 2001:db8::9
_sip._tcp SRV 0 0 5060 mail
svc     HTTPS 1 www alpn=h2
svcalias HTTPS 0 svc
naptr   NAPTR 1 1 \"A\" \"\" \"\" mail
naptrs  NAPTR 1 1 \"S\" \"\" \"\" _sip._tcp
";

const OTHER: &str = "
$TTL 60
@    SOA ns host 1 2 3 4 30
@    NS  ns
ns   A   198.51.100.1
www  A   198.51.100.2
back CNAME www.example.
";

const SOA: &str = "example. 300 IN SOA ns1.example. host.example. 1 7200 3600 1209600 300";

fn kit() -> Kit {
    Kit::new(&[("example", ZONE), ("other", OTHER)])
}

#[test]
fn positive() {
    let kit = kit();
    for how in [How::Plain, How::Edns(1232), How::Dnssec, How::Tcp] {
        kit.check(
            "WWW.Example A",
            how,
            rcode::NOERROR,
            true,
            "WWW.Example. 3600 IN A 192.0.2.3\nWWW.Example. 3600 IN A 192.0.2.4",
            "",
        );
    }
    let response = kit.check(
        "example MX",
        How::Plain,
        rcode::NOERROR,
        true,
        "example. 3600 IN MX 10 mail.example.
         example. 3600 IN MX 20 mail.example.
         example. 3600 IN MX 30 mail.other.",
        "",
    );
    assert_lines(&response, 2, "mail.example. 3600 IN A 192.0.2.2", "MX");
}

#[test]
fn negative() {
    let kit = kit();
    kit.check("www.example AAAA", How::Plain, rcode::NOERROR, true, "", SOA);
    kit.check("ent.example A", How::Plain, rcode::NOERROR, true, "", SOA);
    kit.check("a.b.www.example A", How::Dnssec, rcode::NXDOMAIN, true, "", SOA);
    kit.check("x.ent.example A", How::Plain, rcode::NXDOMAIN, true, "", SOA);
    kit.check("elsewhere A", How::Plain, rcode::REFUSED, false, "", "");
    kit.check(". NS", How::Plain, rcode::REFUSED, false, "", "");
}

#[test]
fn referral() {
    let kit = kit();
    let servers = "sub.example. 3600 IN NS ns.elsewhere.
        sub.example. 3600 IN NS ns.peer.example.
        sub.example. 3600 IN NS ns.sub.example.
        sub.example. 3600 IN NS ns1.example.";
    for question in ["sub.example NS", "a.b.sub.example A", "ns.sub.example A", "x.sub.example DS"] {
        let response = kit.ask(question, How::Plain);
        let mut lines = response.lines(1);
        lines.sort();
        let expected: Vec<&str> = servers.lines().map(str::trim).collect();
        assert_eq!(lines, expected, "{question}");
        assert_eq!((response.rcode, response.flags & kit::AA), (rcode::NOERROR, 0));
        let mut glue = response.lines(2);
        assert!(glue[0].starts_with("ns.sub.example. 3600 IN A"), "in-domain glue comes first");
        glue.sort();
        assert_eq!(
            glue,
            [
                "ns.peer.example. 3600 IN AAAA 2001:db8::9",
                "ns.sub.example. 3600 IN A 192.0.2.10",
                "ns.sub.example. 3600 IN A 192.0.2.11",
                "ns1.example. 3600 IN A 192.0.2.1",
                "ns1.example. 3600 IN AAAA 2001:db8::1",
            ]
        );
    }
    kit.check("sub.example DS", How::Plain, rcode::NOERROR, true, "", SOA);
}

#[test]
fn aliases() {
    let kit = kit();
    let chain = "alias2.example. 3600 IN CNAME alias.example.\nalias.example. 3600 IN CNAME www.example.";
    let whole = format!("{chain}\nwww.example. 3600 IN TXT \"text\"");
    kit.check("alias2.example TXT", How::Plain, rcode::NOERROR, true, &whole, "");
    kit.check("alias2.example MX", How::Plain, rcode::NOERROR, true, chain, SOA);
    let first = chain.lines().next().unwrap_or_default();
    kit.check("alias2.example CNAME", How::Plain, rcode::NOERROR, true, first, "");
    kit.check(
        "loop1.example A",
        How::Plain,
        rcode::NOERROR,
        true,
        "loop1.example. 3600 IN CNAME loop2.example.\nloop2.example. 3600 IN CNAME loop1.example.",
        "",
    );
    kit.check(
        "out.example A",
        How::Plain,
        rcode::NOERROR,
        true,
        "out.example. 3600 IN CNAME www.elsewhere.",
        "",
    );
    let miss = "miss.example. 3600 IN CNAME nothing.example.";
    kit.check("miss.example A", How::Plain, rcode::NXDOMAIN, true, miss, SOA);
    let into = kit.ask("into.example A", How::Plain);
    assert_eq!(into.types(1), "NS NS NS NS");
    assert_eq!(into.flags & kit::AA, kit::AA, "AA tells of the first name");
    kit.check(
        "across.example A",
        How::Plain,
        rcode::NOERROR,
        true,
        "across.example. 3600 IN CNAME www.other.\nwww.other. 60 IN A 198.51.100.2",
        "",
    );
    kit.check("back.other MX", How::Plain, rcode::NOERROR, true, "back.other. 60 IN CNAME www.example.", SOA);
}

#[test]
fn additional() {
    let kit = kit();
    let check = |question: &str, expected: &str| {
        assert_lines(&kit.ask(question, How::Plain), 2, expected, question);
    };
    check("_sip._tcp.example SRV", "mail.example. 3600 IN A 192.0.2.2");
    check("naptr.example NAPTR", "mail.example. 3600 IN A 192.0.2.2");
    check("naptrs.example NAPTR", "_sip._tcp.example. 3600 IN SRV 0 0 5060 mail.example.");
    check("svc.example HTTPS", "www.example. 3600 IN A 192.0.2.3\nwww.example. 3600 IN A 192.0.2.4");
    check("svcalias.example HTTPS", "svc.example. 3600 IN HTTPS 1 www.example. alpn=\"h2\"");
    let response = kit.ask("example NS", How::Plain);
    assert_eq!(response.types(2), "A A A AAAA");
    let minimal = Kit { server: auth::Server { style: auth::Style::MINIMAL, ..kit.server.clone() }, ..kit };
    assert_eq!(minimal.ask("example MX", How::Plain).types(2), "");
    assert_eq!(minimal.ask("sub.example NS", How::Plain).types(2).split(' ').count(), 5, "glue stays");
}

#[test]
fn any() {
    let mut kit = kit();
    assert_eq!(kit.ask("www.example ANY", How::Plain).types(0), "A A");
    assert_eq!(kit.ask("www.example ANY", How::Tcp).types(0), "A A");
    kit.server.full_any_over_tcp = true;
    assert_eq!(kit.ask("www.example ANY", How::Plain).types(0), "A A");
    assert_eq!(kit.ask("www.example ANY", How::Tcp).types(0), "A A TXT");
    assert_eq!(kit.ask("alias.example ANY", How::Tcp).types(0), "CNAME");
    kit.check("ent.example ANY", How::Plain, rcode::NOERROR, true, "", SOA);
    kit.check("www.example RRSIG", How::Dnssec, rcode::NOERROR, true, "", SOA);
}

#[test]
fn truncation_leaves_whole_rrsets() {
    let text: String = (0..60).map(|n| format!("many A 192.0.2.{n}\nto CNAME many\n")).collect();
    let kit = Kit::new(&[("example", &format!("{ZONE}{text}"))]);
    let response = kit.ask("many.example A", How::Plain);
    assert_eq!((response.flags & TC, response.types(0)), (TC, String::new()));
    assert!(response.octets <= 512);
    let response = kit.ask("to.example A", How::Plain);
    assert_eq!((response.flags & TC, response.types(0)), (TC, "CNAME".into()));
    let response = kit.ask("to.example A", How::Edns(1232));
    assert_eq!((response.flags & TC, response.sections[0].len()), (0, 61));
    let response = kit.ask("to.example A", How::Edns(1));
    assert_eq!(response.flags & TC, TC);
}

/// All glue of servers in the domain goes along where there is room, however much it is (RFC 9471 3.1).
#[test]
fn much_glue_over_tcp() {
    let mut text = "@ 9 SOA ns h 1 2 3 4 5\n@ 9 NS elsewhere.\none 9 NS ns.one\n".to_owned();
    for number in 0..300 {
        text += &format!("ns.one 9 A 192.0.{}.{}\n", 2 + number / 250, number % 250);
        text += &format!("many 9 NS ns{number}.many\nns{number}.many 9 A 192.0.2.1\n");
    }
    let kit = Kit::new(&[("glue", &text)]);
    for (question, servers) in [("x.one.glue A", 1), ("x.many.glue A", 300)] {
        let response = kit.ask(question, How::Tcp);
        assert_eq!((response.sections[1].len(), response.sections[2].len()), (servers, 300), "{question}");
        assert_eq!(response.flags & 0x0200, 0);
    }
}

/// What can stand beside a CNAME is asked of the alias itself (RFC 4035 2.5, RFC 3007 2).
#[test]
fn keys_and_proofs_are_not_followed() {
    let text = "@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\nns 60 KEY 256 3 13 BAUG\n\
        a 60 CNAME ns\nk 60 CNAME ns\nk 60 KEY 256 3 13 AQID\n*.w 60 CNAME ns\nd 60 DNAME @\n";
    let kit = Kit::new(&[("beside", text)]);
    for question in
        ["a.beside KEY", "a.beside NSEC", "a.beside SIG", "a.beside NXT", "a.beside RRSIG", "x.w.beside NSEC"]
    {
        let response = kit.ask(question, How::Plain);
        assert_eq!((response.types(0), response.types(1)), (String::new(), "SOA".into()), "{question}");
    }
    assert_eq!(kit.ask("k.beside KEY", How::Plain).types(0), "KEY");
    // On from a name that a DNAME leads from, as nothing else can stand at that.
    assert_eq!(kit.ask("ns.d.beside KEY", How::Plain).types(0), "DNAME CNAME KEY");
    assert_eq!(kit.ask("a.d.beside KEY", How::Plain).types(0), "DNAME CNAME");
}

/// Every referral of the root zone, without EDNS: TC tells that an address of a server inside the delegated domain is missing,
/// which a client could not ask for elsewhere (RFC 9471 3.1). Addresses of other servers are left out without TC (RFC 9471
/// 3.2, RFC 2181 9). What is left out would not have fitted.
#[test]
fn referrals_of_the_root_are_truncated_for_glue_in_the_domain_alone() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone"))
        .expect("the project has it");
    let kit = Kit::new(&[(".", &text)]);
    let mut cuts: Vec<&str> = text
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(3) == Some(&"NS") && fields[0] != ".")
        .map(|fields| fields[0])
        .collect();
    cuts.dedup();
    assert!(cuts.len() > 1000, "{}", cuts.len());
    let (mut truncated, mut left_out) = (Vec::new(), 0);
    for cut in cuts {
        let question = format!("x.{cut} A");
        let (udp, tcp) = (kit.ask(&question, How::Plain), kit.ask(&question, How::Tcp));
        assert_eq!(udp.lines(1), tcp.lines(1), "{cut}: the NS records are all there");
        let cut_name: wire::NameBuf = cut.parse().expect("a name of the zone");
        let missing: Vec<_> =
            tcp.sections[2].iter().filter(|record| !udp.lines(2).contains(&record.to_string())).collect();
        let is_needed = missing.iter().any(|record| record.owner.is_at_or_below(&cut_name));
        assert_eq!(udp.flags & TC != 0, is_needed, "{cut}: {missing:?}");
        left_out += usize::from(!missing.is_empty() && !is_needed);
        for record in missing {
            // A pointer, type, class, TTL and length stand before the address.
            assert!(udp.octets + 12 + record.rdata.len() > 512, "{cut}: {record} had room");
        }
        if is_needed {
            truncated.push(cut);
        }
    }
    // The servers of `com.` are below `net.`.
    let is_cut = ["arpa.", "net.", "com."].map(|cut| truncated.contains(&cut));
    assert_eq!(is_cut, [true, true, false], "{truncated:?}");
    assert!(left_out > 0);
}

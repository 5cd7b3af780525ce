//! One row of `docs/design/responses.md` after the other.

use super::*;

const SIGNED: &str = "NSEC 8 2 300 20300101000000 20200101000000 1 example. AAAA";

#[test]
fn answers() {
    check(
        "example. www.example. A",
        "AA NOERROR",
        "www.example. 300 A 192.0.2.1\nwww.example. 200 A 192.0.2.2\nwww.example. 250 RRSIG A 8 2 300 20300101000000 20200101000000 1 example. AAAA",
        "Answer www.example.
         an www.example. 200 A 192.0.2.1
         an www.example. 200 A 192.0.2.2
         an + 1 signatures",
    );
    // Signatures before their records, records twice, sets that take turns.
    check(
        "example. www.example. ANY",
        "AA NOERROR",
        "www.example. 1 RRSIG TXT 8 2 300 20300101000000 20200101000000 1 example. AAAA
         www.example. 9 A 192.0.2.1\nwww.example. 7 TXT a\nwww.example. 8 A 192.0.2.2\nwww.example. 7 TXT b\nwww.example. 9 A 192.0.2.1
         www.example. 1 RRSIG AAAA 8 2 300 20300101000000 20200101000000 1 example. AAAA",
        "Answer www.example.
         an www.example. 1 TXT \"a\"
         an www.example. 1 TXT \"b\"
         an + 1 signatures
         an www.example. 8 A 192.0.2.1
         an www.example. 8 A 192.0.2.2",
    );
    // Not authoritative, with RA: an answer of less rank.
    check(
        "example. www.example. A",
        "RA NOERROR",
        "www.example. 5 A 192.0.2.1",
        "Answer www.example.\nan www.example. 5 A 192.0.2.1",
    );
    // NXDOMAIN beside data of the name.
    check(
        "example. www.example. A",
        "AA NXDOMAIN",
        "www.example. 5 A 192.0.2.1",
        "Answer www.example.\nan www.example. 5 A 192.0.2.1",
    );
}

#[test]
fn signatures_asked_for() {
    check(
        "example. www.example. RRSIG",
        "AA NOERROR",
        "www.example. 5 RRSIG A 8 2 300 20300101000000 20200101000000 1 example. AAAA",
        "Answer www.example.
         an www.example. 5 RRSIG A 8 2 300 20300101000000 20200101000000 1 example. AAAA",
    );
}

#[test]
fn aliases() {
    // In any order, through the zone.
    check(
        "example. a.example. A",
        "AA NOERROR",
        "c.example. 30 A 192.0.2.1\nb.example. 20 CNAME C.example.\na.example. 10 CNAME b.example.",
        "Answer c.example.
         an a.example. 10 CNAME b.example.
         an b.example. 20 CNAME c.example.
         an c.example. 30 A 192.0.2.1",
    );
    // Out of the zone: what comes from there is not of this server to say.
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 10 CNAME www.test.\nwww.test. 30 A 192.0.2.1",
        "Alias www.test.\nan a.example. 10 CNAME www.test.",
    );
    // CNAME itself.
    check(
        "example. a.example. CNAME",
        "AA NOERROR",
        "a.example. 10 CNAME b.example.\nb.example. 1 A 192.0.2.1",
        "Answer a.example.\nan a.example. 10 CNAME b.example.",
    );
    // Beside other data the data asked for count, and others do not.
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 10 CNAME b.example.\na.example. 1 A 192.0.2.1",
        "Answer a.example.\nan a.example. 1 A 192.0.2.1",
    );
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 10 CNAME b.example.\na.example. 1 TXT x",
        "Alias b.example.\nan a.example. 10 CNAME b.example.",
    );
    // At an apex, beside SOA and NS.
    check(
        "example. example. A",
        "AA NOERROR",
        "example. 10 CNAME b.test.",
        "Alias b.test.\nan example. 10 CNAME b.test.",
    );
    // Several: the first.
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 10 CNAME b.test.\na.example. 10 CNAME c.test.",
        "Alias b.test.\nan a.example. 10 CNAME b.test.",
    );
    // A target of the zone that nothing is said of, or that is delegated: asked for anew.
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 10 CNAME b.example.",
        "Alias b.example.\nan a.example. 10 CNAME b.example.",
    );
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 10 CNAME b.c.example.\n---\nc.example. 5 NS ns.c.example.\n---\nns.c.example. 5 A 192.0.2.9",
        "Alias b.c.example.\nan a.example. 10 CNAME b.c.example.",
    );
}

#[test]
fn aliases_that_lead_nowhere() {
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 1 CNAME b.example.\nb.example. 1 CNAME a.example.",
        "Alias a.example.\nan a.example. 1 CNAME b.example.\nan b.example. 1 CNAME a.example.",
    );
    check(
        "example. a.example. A",
        "AA NOERROR",
        "a.example. 1 CNAME a.example.",
        "Alias a.example.\nan a.example. 1 CNAME a.example.",
    );
    let chain: String = (0..30).map(|n| format!("n{n}.example. 1 CNAME n{}.example.\n", n + 1)).collect();
    let question = Question::new("example. n0.example. A");
    let asked = question.asked();
    let reply = read(&asked, &message(&asked, "AA NOERROR", &chain)).unwrap();
    assert_eq!((reply.kind, reply.answer.list().iter().count()), (Kind::Alias, limits::ALIASES_MAX));
    assert_eq!(reply.name().to_string(), format!("n{}.example.", limits::ALIASES_MAX));
}

#[test]
fn redirections() {
    // The CNAME that came is made anew, whatever it says.
    check(
        "example. x.a.example. A",
        "AA NOERROR",
        "a.example. 60 DNAME b.example.\nx.a.example. 0 CNAME evil.example.\nx.b.example. 7 A 192.0.2.1\nevil.example. 7 A 192.0.2.66",
        "Answer x.b.example.
         an a.example. 60 DNAME b.example.
         an x.a.example. 60 CNAME x.b.example.
         an x.b.example. 7 A 192.0.2.1",
    );
    check(
        "example. x.a.example. A",
        "AA NOERROR",
        "a.example. 60 DNAME test.\na.example. 60 DNAME test2.",
        "Alias x.test.\nan a.example. 60 DNAME test.\nan x.a.example. 60 CNAME x.test.",
    );
    check(
        "example. x.a.example. CNAME",
        "AA NOERROR",
        "a.example. 60 DNAME test.",
        "Answer x.a.example.\nan a.example. 60 DNAME test.\nan x.a.example. 60 CNAME x.test.",
    );
    // Its owner itself is not redirected; above the zone there is none.
    check(
        "example. a.example. DNAME",
        "AA NOERROR",
        "a.example. 60 DNAME test.",
        "Answer a.example.\nan a.example. 60 DNAME test.",
    );
    check(
        "a.example. x.a.example. A",
        "NOERROR",
        "example. 60 DNAME test.\nx.a.example. 0 CNAME x.a.test.",
        "Alias x.a.test.\nan x.a.example. 0 CNAME x.a.test.",
    );
    // Twice through the same, and round and round.
    check(
        "example. x.a.example. A",
        "AA NOERROR",
        "a.example. 60 DNAME b.example.\nb.example. 60 DNAME a.example.",
        "Alias x.a.example.
         an a.example. 60 DNAME b.example.
         an x.a.example. 60 CNAME x.b.example.
         an b.example. 60 DNAME a.example.
         an x.b.example. 60 CNAME x.a.example.",
    );
}

#[test]
fn redirections_that_are_too_long() {
    let long = format!("{0}.{0}.{0}.example.", "l".repeat(63));
    let question = Question::new(&format!("example. {}.a.example. A", "q".repeat(60)));
    check_asked(
        &question,
        "AA YXDOMAIN",
        &format!("a.example. 60 DNAME {long}"),
        &format!("TooLong {}.a.example.\nan a.example. 60 DNAME {long}", "q".repeat(60)),
    );
    check("example. x.a.example. A", "AA YXDOMAIN", "a.example. 60 DNAME b.example.", "Failed .");
}

const SOA: &str = "example. 3600 SOA ns.example. host.example. 1 2 3 4 900";

#[test]
fn denials() {
    check(
        "example. a.example. A",
        "AA NOERROR",
        &format!("---\n{SOA}"),
        "NoData a.example.\nau example. 900 SOA ns.example. host.example. 1 2 3 4 900",
    );
    check(
        "example. a.example. A",
        "AA NXDOMAIN",
        &format!("---\n{SOA}"),
        "NameError a.example.\nau example. 900 SOA ns.example. host.example. 1 2 3 4 900",
    );
    // The TTL of SOA where that is less; a minimum of more than 31 bits is none.
    check(
        "example. a.example. A",
        "AA NOERROR",
        "---\nexample. 30 SOA . . 1 2 3 4 900",
        "NoData a.example.\nau example. 30 SOA . . 1 2 3 4 900",
    );
    check(
        "example. a.example. A",
        "AA NOERROR",
        "---\nexample. 30 SOA . . 1 2 3 4 2147483648",
        "NoData a.example.\nau example. 0 SOA . . 1 2 3 4 2147483648",
    );
    // Without AA, with SOA.
    check(
        "example. a.example. A",
        "NXDOMAIN",
        &format!("---\n{SOA}"),
        "NameError a.example.\nau example. 900 SOA ns.example. host.example. 1 2 3 4 900",
    );
    // Without SOA, with AA; NS of the zone beside.
    check("example. a.example. A", "AA NOERROR", "---", "NoData a.example.");
    check("example. a.example. A", "AA NXDOMAIN", "---", "NameError a.example.");
    check("example. a.example. A", "AA NOERROR", "---\nexample. 5 NS ns.example.", "NoData a.example.");
    // Of a zone below that the server has too, and of none that the name is in.
    check(
        "example. x.a.example. A",
        "AA NXDOMAIN",
        "---\na.example. 5 SOA . . 1 2 3 4 5",
        "NameError x.a.example.\nau a.example. 5 SOA . . 1 2 3 4 5",
    );
    check(
        "example. x.a.example. A",
        "AA NOERROR",
        "---\nb.example. 5 SOA . . 1 2 3 4 5\n. 5 SOA . . 1 2 3 4 5",
        "NoData x.a.example.",
    );
    // A name with SOA exists.
    check(
        "example. example. A",
        "AA NXDOMAIN",
        "---\nexample. 5 SOA . . 1 2 3 4 5",
        "NoData example.\nau example. 5 SOA . . 1 2 3 4 5",
    );
    // Data of other types at the name, from servers that know one type only.
    check("example. a.example. AAAA", "AA NOERROR", "a.example. 5 A 192.0.2.1", "NoData a.example.");
}

#[test]
fn proofs() {
    let nsec = "a.example. 900 NSEC d.example. A RRSIG NSEC\na.example. 900 RRSIG";
    check(
        "example. b.example. A",
        "AA NXDOMAIN",
        &format!("---\n{SOA}\n{nsec} {SIGNED}\nx.example. 9 NSEC y.example. A"),
        "NameError b.example.
         au example. 900 SOA ns.example. host.example. 1 2 3 4 900
         au a.example. 900 NSEC d.example. A RRSIG NSEC
         au + 1 signatures",
    );
    // Beside an answer made from a wildcard.
    check(
        "example. b.example. A",
        "AA NOERROR",
        &format!(
            "b.example. 5 A 192.0.2.1\nb.example. 5 RRSIG A 8 1 5 20300101000000 20200101000000 1 example. AAAA\n---\nexample. 5 NS ns.example.\n{nsec} {SIGNED}"
        ),
        "Answer b.example.
         an b.example. 5 A 192.0.2.1
         an + 1 signatures
         au a.example. 900 NSEC d.example. A RRSIG NSEC
         au + 1 signatures",
    );
}

#[test]
fn denials_after_aliases() {
    let alias = "a.example. 10 CNAME b.example.\n";
    check(
        "example. a.example. A",
        "AA NXDOMAIN",
        &format!("{alias}---\n{SOA}"),
        "NameError b.example.\nan a.example. 10 CNAME b.example.\nau example. 900 SOA ns.example. host.example. 1 2 3 4 900",
    );
    check(
        "example. a.example. A",
        "AA NOERROR",
        &format!("{alias}---\n{SOA}"),
        "NoData b.example.\nan a.example. 10 CNAME b.example.\nau example. 900 SOA ns.example. host.example. 1 2 3 4 900",
    );
    // Of a target out of the zone neither code nor SOA counts.
    check(
        "example. a.example. A",
        "AA NXDOMAIN",
        &format!("a.example. 10 CNAME b.test.\n---\n{SOA}"),
        "Alias b.test.\nan a.example. 10 CNAME b.test.",
    );
}

#[test]
fn referrals() {
    check(
        "example. www.a.example. A",
        "NOERROR",
        "---\na.example. 60 NS ns.a.example.\na.example. 60 NS ns.test.\na.example. 50 NS ns.b.example.
         ---\nns.a.example. 9 A 192.0.2.1\nns.a.example. 9 AAAA 2001:db8::1\nns.test. 9 A 192.0.2.2\nns.b.example. 9 A 192.0.2.3\nwww.a.example. 9 A 192.0.2.66",
        "Referral a.example.
         re a.example. 50 NS ns.a.example.
         re a.example. 50 NS ns.test.
         re a.example. 50 NS ns.b.example.
         gl ns.a.example. 9 A 192.0.2.1
         gl ns.a.example. 9 AAAA 2001:db8::1
         gl ns.b.example. 9 A 192.0.2.3",
    );
    // With AA, as some say; DS beside.
    check(
        "example. www.a.example. A",
        "AA NOERROR",
        "---\na.example. 60 NS ns.test.\na.example. 60 DS 1 8 99 00\nb.example. 60 DS 2 8 99 00\nb.example. 60 NS ns.b.example.",
        "Referral a.example.\nre a.example. 60 NS ns.test.\nre a.example. 60 DS 1 8 99 00",
    );
    // Of several the nearest to the zone.
    check(
        "example. w.b.a.example. A",
        "NOERROR",
        "---\nb.a.example. 60 NS ns.test.\na.example. 60 NS ns2.test.",
        "Referral a.example.\nre a.example. 60 NS ns2.test.",
    );
    // DS denied.
    check(
        "example. www.a.example. A",
        "NOERROR",
        &format!(
            "---\na.example. 60 NS ns.test.\na.example. 900 NSEC d.example. NS RRSIG NSEC\na.example. 900 RRSIG {SIGNED}"
        ),
        "Referral a.example.\nau a.example. 900 NSEC d.example. NS RRSIG NSEC\nau + 1 signatures\nre a.example. 60 NS ns.test.",
    );
    // NS and DS of the cut itself.
    check(
        "example. a.example. NS",
        "NOERROR",
        "---\na.example. 60 NS ns.test.",
        "Referral a.example.\nre a.example. 60 NS ns.test.",
    );
    check(
        "example. a.example. DS",
        "NOERROR",
        "---\na.example. 60 NS ns.test.\na.example. 60 DS 1 8 99 00",
        "Answer a.example.\nan a.example. 60 DS 1 8 99 00",
    );
    check("example. a.example. DS", "NOERROR", "---\na.example. 60 NS ns.test.", "NoData a.example.");
    check(
        "example. b.a.example. DS",
        "NOERROR",
        "---\na.example. 60 NS ns.test.",
        "Referral a.example.\nre a.example. 60 NS ns.test.",
    );
    // What a parent knows of names below its delegations is no answer.
    check(
        "example. ns.a.example. A",
        "NOERROR",
        "ns.a.example. 9 A 192.0.2.1\n---\na.example. 60 NS ns.a.example.\n---\nns.a.example. 9 A 192.0.2.1",
        "Referral a.example.\nre a.example. 60 NS ns.a.example.\ngl ns.a.example. 9 A 192.0.2.1",
    );
}

/// DS is the parent's own, so that a delegation beside it changes nothing.
#[test]
fn ds_without_authority() {
    check(
        "example. a.example. DS",
        "NOERROR",
        "a.example. 60 DS 1 8 99 00\n---\na.example. 60 NS ns.test.",
        "Answer a.example.\nan a.example. 60 DS 1 8 99 00",
    );
}

#[test]
fn priming() {
    check(
        ". . NS",
        "AA NOERROR",
        ". 60 NS a.root-servers.net.\n---\n---\na.root-servers.net. 50 A 198.41.0.4\nb.root-servers.net. 50 A 198.41.0.5",
        "Answer .
         an . 60 NS a.root-servers.net.
         re . 60 NS a.root-servers.net.
         gl a.root-servers.net. 50 A 198.41.0.4",
    );
    check(
        "example. example. NS",
        "AA NOERROR",
        "example. 60 NS ns.example.\n---\n---\nns.example. 50 A 192.0.2.1",
        "Answer example.\nan example. 60 NS ns.example.",
    );
}

#[test]
fn lame() {
    let www = "a.example. www.a.example. A";
    check(www, "NOERROR", "---", "Lame(Empty) .");
    check(www, "RA NXDOMAIN", "---", "Lame(Empty) .");
    check(
        www,
        "NOERROR",
        "---\n. 5 NS a.root-servers.net.\n---\na.root-servers.net. 5 A 198.41.0.4",
        "Lame(Upward) .",
    );
    check(www, "NOERROR", "---\nexample. 5 NS ns.example.\n---\nns.example. 5 A 192.0.2.1", "Lame(Upward) .");
    check(www, "NOERROR", "---\na.example. 5 NS ns.a.example.", "Lame(Itself) .");
    let crowd: String =
        (0..=limits::SERVERS_SOUND).map(|n| format!("www.a.example. 5 NS n{n}.test.\n")).collect();
    check(www, "NOERROR", &format!("---\n{crowd}"), "Lame(Crowd) .");
    check(www, "NOERROR", "---\nb.example. 5 NS ns.b.example.", "Lame(Sideways) .");
    check(www, "NOERROR", "---\nb.a.example. 5 NS ns.b.example.", "Lame(Sideways) .");
    check(www, "NOERROR", "b.a.example. 5 A 192.0.2.1", "Lame(Other) .");
    check(www, "AA NOERROR", "www.test. 5 A 192.0.2.1", "Lame(Other) .");
    check(www, "NOERROR", "www.a.example. 5 TXT x", "Lame(Other) .");
    check("example. a.example. DS", "AA NOERROR", "---\na.example. 5 SOA . . 1 2 3 4 5", "Lame(Child) .");
    check(". . DS", "AA NOERROR", "---\n. 5 SOA . . 1 2 3 4 5", "NoData .\nau . 5 SOA . . 1 2 3 4 5");
}

#[test]
fn failures() {
    let www = "example. www.example. A";
    for words in ["SERVFAIL", "AA SERVFAIL", "REFUSED", "RA REFUSED", "NOTAUTH", "YXRRSET"] {
        check(www, words, "www.example. 5 A 192.0.2.1", "Failed .");
    }
    for words in ["FORMERR", "NOTIMP"] {
        check(www, words, "", "NoEdns .");
        check_asked(&Question::with(www, |asked| asked.has_edns = false), words, "", "Failed .");
    }
    check(www, "TC NOERROR", "www.example. 5 A 192.0.2.1", "Truncated .");
    check_asked(
        &Question::with(www, |asked| asked.is_stream = true),
        "TC NOERROR",
        "www.example. 5 A 192.0.2.1",
        "Lame(Malformed) .",
    );
}

#[test]
fn forwarders() {
    let of = |text| Question::with(text, |asked| asked.source = Source::Forwarder);
    let www = "example. www.example. A";
    check_asked(
        &of(www),
        "RA NOERROR",
        "www.example. 5 A 192.0.2.1",
        "Answer www.example.\nan www.example. 5 A 192.0.2.1",
    );
    // Aliases out of the forwarded name are asked for anew.
    check_asked(
        &of(www),
        "RA NOERROR",
        "www.example. 5 CNAME www.test.\nwww.test. 5 A 192.0.2.1",
        "Alias www.test.\nan www.example. 5 CNAME www.test.",
    );
    check_asked(
        &of(". www.example. A"),
        "RA NOERROR",
        "www.example. 5 CNAME www.test.\nwww.test. 5 A 192.0.2.1",
        "Answer www.test.\nan www.example. 5 CNAME www.test.\nan www.test. 5 A 192.0.2.1",
    );
    check_asked(
        &of(www),
        "RA NXDOMAIN",
        &format!("---\n{SOA}"),
        "NameError www.example.\nau example. 900 SOA ns.example. host.example. 1 2 3 4 900",
    );
    check_asked(&of(www), "RA NXDOMAIN", "---", "NameError www.example.");
    check_asked(&of(www), "RA NOERROR", "---", "NoData www.example.");
    // What they know of a denial of DS from a referral: its proof, and no SOA.
    check_asked(
        &of("example. a.example. DS"),
        "RA NOERROR",
        &format!("---\na.example. 900 NSEC d.example. NS RRSIG NSEC\na.example. 900 RRSIG {SIGNED}"),
        "NoData a.example.\nau a.example. 900 NSEC d.example. NS RRSIG NSEC\nau + 1 signatures",
    );
    // They do not refer.
    check_asked(&of(www), "NOERROR", "---\nwww.example. 5 NS ns.test.", "Lame(Sideways) .");
    check_asked(
        &of(". . NS"),
        "RA NOERROR",
        ". 60 NS a.root-servers.net.\n---\n---\na.root-servers.net. 50 A 198.41.0.4",
        "Answer .\nan . 60 NS a.root-servers.net.",
    );
    // Data of names that are delegated: forwarders are not asked for what they are authoritative for.
    check_asked(
        &of(www),
        "RA NOERROR",
        "www.example. 5 A 192.0.2.1\n---\nwww.example. 5 NS ns.test.",
        "Answer www.example.\nan www.example. 5 A 192.0.2.1",
    );
}

/// What an ancestor has of its own never takes the place of the name that is to be found out.
#[test]
fn minimised() {
    let b = "example. b.example. A for a.b.example.";
    check(b, "AA NOERROR", "b.example. 5 A 192.0.2.1", "Exists b.example.\nan b.example. 5 A 192.0.2.1");
    check(
        b,
        "AA NOERROR",
        "b.example. 5 CNAME www.test.",
        "Exists b.example.\nan b.example. 5 CNAME www.test.",
    );
    check(
        b,
        "AA NXDOMAIN",
        &format!("b.example. 5 CNAME c.example.\n---\n{SOA}"),
        "Exists b.example.\nan b.example. 5 CNAME c.example.",
    );
    check(
        b,
        "AA NOERROR",
        "example. 5 DNAME test.",
        "Exists b.example.\nan example. 5 DNAME test.\nan b.example. 5 CNAME b.test.",
    );
    check(b, "AA NOERROR", "b.example. 5 DNAME test.", "NoData b.example.");
    check(b, "AA NOERROR", "---", "NoData b.example.");
    check(b, "NOERROR", "---\nb.example. 5 NS ns.test.", "Referral b.example.\nre b.example. 5 NS ns.test.");
    check(
        b,
        "NOERROR",
        "b.example. 5 A 192.0.2.1\n---\nb.example. 5 NS ns.test.",
        "Referral b.example.\nre b.example. 5 NS ns.test.",
    );
    check(
        b,
        "AA NXDOMAIN",
        &format!("---\n{SOA}"),
        "NameError b.example.\nau example. 900 SOA ns.example. host.example. 1 2 3 4 900",
    );
}

#[test]
fn made_and_second_hand() {
    let question = Question::new("example. x.a.example. A");
    let asked = question.asked();
    let records = "a.example. 60 DNAME b.example.\nx.b.example. 5 CNAME c.example.\nc.example. 5 A 192.0.2.1";
    let reply = read(&asked, &message(&asked, "AA RA NOERROR", records)).unwrap();
    assert_eq!((0..70).filter(|number| reply.is_made(*number)).collect::<Vec<_>>(), [1]);
    assert!(!reply.is_second_hand(&asked));
    let is_second_hand = |question: &Question, words: &str| {
        let asked = question.asked();
        read(&asked, &message(&asked, words, records)).unwrap().is_second_hand(&asked)
    };
    assert!(is_second_hand(&question, "RA NOERROR") && !is_second_hand(&question, "NOERROR"));
    assert!(!is_second_hand(&question, "RA REFUSED"));
    let forwarded = Question::with("example. x.a.example. A", |asked| asked.source = Source::Forwarder);
    assert!(!is_second_hand(&forwarded, "RA NOERROR"));
}

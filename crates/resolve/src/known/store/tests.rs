//! What is kept of which reply.

use cache::Copied;
use wire::NameBuf;
use wire::iana::rtype;

use super::*;
use crate::response::tests::{Question, message, name, read};

const NOW: Moment = Moment(1_000_000);

/// What the cache says of a name, as text: kind, rank, security, TTL, labels of the zone, records / signatures / sets beside.
fn kept(cache: &Cache, name: &NameBuf, subject: Subject) -> String {
    let mut copied = Copied::new();
    match cache.get(&Key { name, subject }, &mut copied) {
        None => "nothing".into(),
        Some(entry) => format!(
            "{:?} {:?} {:?} {} {} {}/{}/{}",
            entry.kind,
            entry.rank,
            entry.security,
            entry.ttl,
            entry.zone_labels,
            entry.rdatas.count(),
            entry.signatures.count(),
            entry.beside.iter().count()
        ),
    }
}

/// Reads and keeps a response, and says what the cache has then: `name subject` and what is expected of each.
#[track_caller]
fn check(question: &str, words: &str, records: &str, security: Security, expected: &[(&str, Subject, &str)]) {
    let cache = Cache::new();
    check_verdict(&cache, &Question::new(question), words, records, &Verdict::of(security), expected);
}

#[track_caller]
fn check_verdict(
    cache: &Cache,
    question: &Question,
    words: &str,
    records: &str,
    verdict: &Verdict<'_>,
    expected: &[(&str, Subject, &str)],
) {
    let asked = question.asked();
    let reply = read(&asked, &message(&asked, words, records)).unwrap();
    let times = Times { asked: NOW, now: NOW };
    store(&reply, &asked, verdict, &times, cache);
    for (owner, subject, text) in expected {
        assert_eq!(&kept(cache, &name(owner), *subject), text, "{owner} {subject:?}");
    }
}

const A: Subject = Subject::Rrset(rtype::A);
const AAAA: Subject = Subject::Rrset(rtype::AAAA);
const CNAME: Subject = Subject::Rrset(rtype::CNAME);
const DNAME: Subject = Subject::Rrset(rtype::DNAME);
const DS: Subject = Subject::Rrset(rtype::DS);
const NS: Subject = Subject::Rrset(rtype::NS);
const EXISTENCE: Subject = Subject::Existence;
const CUT: Subject = Subject::Cut;
use Security::{Bogus, Insecure, Secure, Unchecked};

const SOA: &str = "---\nexample. 3600 SOA ns.example. host.example. 1 2 3 4 900";
const RRSIG: &str = "8 2 300 20300101000000 20200101000000 1 example. AAAA";

#[test]
fn answers() {
    let alias = "Www.example. 60 CNAME b.Example.\nB.example. 50 A 192.0.2.1\nb.example. 50 A 192.0.2.2";
    let (cname, a) = ("Data Authoritative Insecure 60 1 1/0/0", "Data Authoritative Insecure 50 1 2/0/0");
    check(
        "example. www.example. A",
        "AA NOERROR",
        alias,
        Insecure,
        &[("www.example.", CNAME, cname), ("b.example.", A, a), ("example.", CUT, "nothing")],
    );
    check(
        "example. www.example. A",
        "RA NOERROR",
        alias,
        Secure,
        &[("b.example.", A, "Data Answer Secure 50 1 2/0/0")],
    );
    check(
        "example. www.example. A",
        "AA NOERROR",
        "www.example. 0 A 192.0.2.1",
        Insecure,
        &[("www.example.", A, "nothing")],
    );
    // What is made is not kept, what it was made from is.
    let records = "a.example. 60 DNAME b.example.\nx.b.example. 50 A 192.0.2.1";
    check(
        "example. x.a.example. A",
        "AA NOERROR",
        records,
        Secure,
        &[
            ("a.example.", DNAME, "Data Authoritative Secure 60 1 1/0/0"),
            ("x.a.example.", CNAME, "nothing"),
            ("x.b.example.", A, "Data Authoritative Secure 50 1 1/0/0"),
        ],
    );
    // Neither ANY nor RRSIG alone.
    check(
        "example. b.example. ANY",
        "AA NOERROR",
        "b.example. 50 A 192.0.2.1",
        Secure,
        &[("b.example.", A, "nothing")],
    );
    let signature = format!("b.example. 50 RRSIG A {RRSIG}");
    check(
        "example. b.example. RRSIG",
        "AA NOERROR",
        &signature,
        Secure,
        &[("b.example.", Subject::Rrset(rtype::RRSIG), "nothing")],
    );
    // Of an ancestor that was asked for: true of it.
    check(
        "example. b.example. A for a.b.example.",
        "AA NOERROR",
        "b.example. 50 A 192.0.2.1",
        Secure,
        &[("b.example.", A, "Data Authoritative Secure 50 1 1/0/0")],
    );
}

#[test]
fn made_from_wildcards() {
    let proof = format!("---\na.example. 40 NSEC d.example. A\na.example. 40 RRSIG NSEC {RRSIG}");
    let records = |labels: u8| {
        format!(
            "b.example. 50 A 192.0.2.1\nb.example. 50 RRSIG A 8 {labels} 300 20300101000000 20200101000000 1 example. AAAA\n{proof}"
        )
    };
    check(
        "example. b.example. A",
        "AA NOERROR",
        &records(1),
        Secure,
        &[
            ("b.example.", A, "Data Authoritative Secure 50 1 1/1/1"),
            ("*.example.", A, "Data Authoritative Secure 50 1 1/1/0"),
        ],
    );
    check(
        "example. b.example. A",
        "AA NOERROR",
        &records(2),
        Secure,
        &[("b.example.", A, "Data Authoritative Secure 50 1 1/1/0")],
    );
    // An alias that came with the denial of its target: its SOA is not the alias's, the proof is.
    check(
        "example. b.example. AAAA",
        "AA NOERROR",
        &(records(1).replace(" A 192.0.2.1", " CNAME c.example.").replace("RRSIG A", "RRSIG CNAME")
            + "\nexample. 3600 SOA ns.example. host.example. 1 2 3 4 900"),
        Secure,
        &[
            ("b.example.", CNAME, "Data Authoritative Secure 50 1 1/1/1"),
            ("c.example.", AAAA, "NoData Authority Secure 900 1 0/0/2"),
        ],
    );
    let of_wildcard = records(1).replace("b.example", "*.example");
    check(
        "example. *.example. A",
        "AA NOERROR",
        &of_wildcard,
        Secure,
        &[("*.example.", A, "Data Authoritative Secure 50 1 1/1/0")],
    );
}

#[test]
fn denials() {
    let b = "example. b.example. AAAA";
    check(
        b,
        "AA NOERROR",
        SOA,
        Secure,
        &[("b.example.", AAAA, "NoData Authority Secure 900 1 0/0/1"), ("b.example.", EXISTENCE, "nothing")],
    );
    check(b, "AA NOERROR", "---", Insecure, &[("b.example.", AAAA, "NoData Authority Insecure 5 1 0/0/0")]);
    check(b, "NOERROR", SOA, Insecure, &[("b.example.", AAAA, "NoData Answer Insecure 900 1 0/0/1")]);
    // As briefly as its proof says, where there is no SOA.
    let proof = format!("---\nb.example. 90 NSEC d.example. NS\nb.example. 80 RRSIG NSEC {RRSIG}");
    let forwarded = Question::with("example. b.example. DS", |asked| asked.source = Source::Forwarder);
    let expected = ("b.example.", DS, "NoData Answer Insecure 80 1 0/0/1");
    check_verdict(&Cache::new(), &forwarded, "RA NOERROR", &proof, &Verdict::of(Insecure), &[expected]);
    // Labels of the zone that denies.
    check(
        "example. x.b.example. AAAA",
        "AA NOERROR",
        "---\nb.example. 9 SOA . . 1 2 3 4 5",
        Insecure,
        &[("x.b.example.", AAAA, "NoData Authority Insecure 5 2 0/0/1")],
    );
    // A proved name error counts for the name, others for the type, unless it is A.
    check(
        b,
        "AA NXDOMAIN",
        SOA,
        Secure,
        &[
            ("b.example.", EXISTENCE, "NameError Authority Secure 900 1 0/0/1"),
            ("b.example.", AAAA, "nothing"),
        ],
    );
    check(
        b,
        "AA NXDOMAIN",
        SOA,
        Insecure,
        &[
            ("b.example.", EXISTENCE, "nothing"),
            ("b.example.", AAAA, "NameError Authority Insecure 900 1 0/0/1"),
        ],
    );
    check(
        "example. b.example. A",
        "AA NXDOMAIN",
        SOA,
        Insecure,
        &[("b.example.", EXISTENCE, "NameError Authority Insecure 900 1 0/0/1")],
    );
    check(
        "example. b.example. A",
        "AA NXDOMAIN",
        "---",
        Insecure,
        &[("b.example.", EXISTENCE, "nothing"), ("b.example.", A, "NameError Authority Insecure 5 1 0/0/0")],
    );
    // Of an ancestor, where other names may be below.
    let minimised = "example. b.example. A for a.b.example.";
    check(
        minimised,
        "AA NXDOMAIN",
        SOA,
        Insecure,
        &[("b.example.", EXISTENCE, "nothing"), ("b.example.", A, "nothing")],
    );
    check(
        minimised,
        "AA NXDOMAIN",
        SOA,
        Secure,
        &[("b.example.", EXISTENCE, "NameError Authority Secure 900 1 0/0/1")],
    );
    check(
        minimised,
        "AA NOERROR",
        SOA,
        Insecure,
        &[("b.example.", A, "NoData Authority Insecure 900 1 0/0/1")],
    );
    // After an alias: the target's.
    let records = format!("b.example. 60 CNAME c.example.\n{SOA}");
    check(
        "example. b.example. A",
        "AA NXDOMAIN",
        &records,
        Insecure,
        &[
            ("b.example.", CNAME, "Data Authoritative Insecure 60 1 1/0/0"),
            ("c.example.", EXISTENCE, "NameError Authority Insecure 900 1 0/0/1"),
            ("b.example.", EXISTENCE, "nothing"),
        ],
    );
}

#[test]
fn what_is_not_validated_is_apart() {
    let unchecked = Subject::Unchecked(rtype::A);
    for (security, ttl) in [(Unchecked, 30), (Bogus, 30)] {
        check(
            "example. b.example. A",
            "AA NOERROR",
            "b.example. 30 A 192.0.2.1",
            security,
            &[
                ("b.example.", A, "nothing"),
                ("b.example.", unchecked, &format!("Data Authoritative {security:?} {ttl} 1 1/0/0")),
            ],
        );
        check(
            "example. b.example. A",
            "AA NXDOMAIN",
            "---\nexample. 30 SOA . . 1 2 3 4 900",
            security,
            &[
                ("b.example.", EXISTENCE, "nothing"),
                ("b.example.", unchecked, &format!("NameError Authority {security:?} {ttl} 1 0/0/1")),
            ],
        );
    }
    // Each RRset by its own verdict, no longer than its signatures last.
    let cache = Cache::new();
    let answer =
        [Finding { ttl_max: 7, ..Finding::of(Secure) }, Finding { ede: Some(6), ..Finding::of(Bogus) }];
    let verdict = Verdict { whole: Finding::of(Bogus), answer: &answer };
    let records = "a.example. 60 CNAME b.example.\nb.example. 900 A 192.0.2.1";
    check_verdict(
        &cache,
        &Question::new("example. a.example. A"),
        "AA NOERROR",
        records,
        &verdict,
        &[
            ("a.example.", CNAME, "Data Authoritative Secure 7 1 1/0/0"),
            ("b.example.", A, "nothing"),
            ("b.example.", unchecked, "Data Authoritative Bogus 60 1 1/0/0"),
        ],
    );
}

#[test]
fn referrals() {
    let www = "example. www.a.example. A";
    let records = "---\na.example. 600 NS ns.a.example.\na.example. 600 NS ns.b.example.\na.example. 500 DS 1 8 99 00\n---\nns.a.example. 300 A 192.0.2.1\nns.b.example. 200 A 192.0.2.2";
    // As long as its own addresses last.
    check(
        www,
        "NOERROR",
        records,
        Secure,
        &[
            ("a.example.", CUT, "Cut Referral Secure 300 1 2/0/2"),
            ("a.example.", DS, "Data Authority Secure 500 1 1/0/0"),
            ("a.example.", NS, "nothing"),
            ("ns.a.example.", A, "nothing"),
        ],
    );
    // Denied: until it is there.
    let denied = format!(
        "---\na.example. 600 NS ns.test.\na.example. 90 NSEC b.example. NS\na.example. 80 RRSIG NSEC {RRSIG}"
    );
    let cache = Cache::new();
    let verdict = Verdict::of(Insecure);
    check_verdict(
        &cache,
        &Question::new(www),
        "NOERROR",
        &denied,
        &verdict,
        &[
            ("a.example.", DS, "NoData Referral Insecure 80 1 0/0/1"),
            ("a.example.", CUT, "Cut Referral Insecure 600 1 1/0/0"),
        ],
    );
    check_verdict(
        &cache,
        &Question::new(www),
        "NOERROR",
        records,
        &Verdict::of(Secure),
        &[("a.example.", DS, "Data Authority Secure 500 1 1/0/0")],
    );
    // Nothing said of DS: nothing kept.
    check(www, "NOERROR", "---\na.example. 600 NS ns.test.", Insecure, &[("a.example.", DS, "nothing")]);
}

#[test]
fn priming() {
    let records = ". 60 NS a.root-servers.net.\n---\n---\na.root-servers.net. 50 A 198.41.0.4";
    check(
        ". . NS",
        "AA NOERROR",
        records,
        Secure,
        &[(".", CUT, "Cut Referral Secure 50 0 1/0/1"), (".", NS, "Data Authoritative Secure 60 0 1/0/0")],
    );
}

/// Proofs that would fill the cache.
#[test]
fn too_much_beside() {
    let proofs: String = (0..30).map(|n| format!("n{n}.example. 40 NSEC d.example. A\nn{n}.example. 40 RRSIG NSEC 8 2 300 20300101000000 20200101000000 1 example. {}\n", "A".repeat(400))).collect();
    check(
        "example. b.example. AAAA",
        "AA NOERROR",
        &format!("{SOA}\n{proofs}"),
        Secure,
        &[("b.example.", AAAA, "nothing")],
    );
}

/// An unproved denial by one type never takes away what the name has of others.
#[test]
fn denials_beside_data() {
    let cache = Cache::new();
    let verdict = Verdict::of(Insecure);
    let aaaa = Question::new("example. b.example. AAAA");
    let data = ("b.example.", AAAA, "Data Authoritative Insecure 60 1 1/0/0");
    check_verdict(&cache, &aaaa, "AA NOERROR", "b.example. 60 AAAA 2001:db8::1", &verdict, &[data]);
    let a = Question::new("example. b.example. A");
    let denied = "NameError Authority Insecure 900 1 0/0/1";
    check_verdict(
        &cache,
        &a,
        "AA NXDOMAIN",
        SOA,
        &verdict,
        &[data, ("b.example.", A, denied), ("b.example.", EXISTENCE, "nothing")],
    );
    // One that is proved does.
    let denied = "NameError Authority Secure 900 1 0/0/1";
    check_verdict(
        &cache,
        &a,
        "AA NXDOMAIN",
        SOA,
        &Verdict::of(Secure),
        &[("b.example.", EXISTENCE, denied), ("b.example.", AAAA, "nothing")],
    );
}

#[test]
fn second_hand() {
    let records = "b.example. 900 A 192.0.2.1";
    check(
        "example. b.example. A",
        "RA NOERROR",
        records,
        Insecure,
        &[("b.example.", A, "Data Answer Insecure 60 1 1/0/0")],
    );
    check(
        "example. b.example. A",
        "NOERROR",
        records,
        Insecure,
        &[("b.example.", A, "Data Answer Insecure 900 1 1/0/0")],
    );
    check(
        "example. b.example. AAAA",
        "RA NOERROR",
        SOA,
        Insecure,
        &[("b.example.", AAAA, "NoData Answer Insecure 60 1 0/0/1")],
    );
    let cache = Cache::new();
    let forwarded = Question::with("example. b.example. A", |asked| asked.source = Source::Forwarder);
    check_verdict(
        &cache,
        &forwarded,
        "RA NOERROR",
        records,
        &Verdict::of(Secure),
        &[("b.example.", A, "Data Answer Secure 900 1 1/0/0")],
    );
}

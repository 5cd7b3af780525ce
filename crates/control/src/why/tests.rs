use super::*;
use auth::inspect;

const PARENT: &str = "@ 300 SOA ns host 7 2 3 4 60\n@ 300 NS ns\nns 60 A 192.0.2.1\nwww 60 A 192.0.2.2\nwww 60 AAAA 2001:db8::1\nwww 60 TXT a\n\
    alias 60 CNAME www\nfar 60 CNAME www.other.\nloop 60 CNAME pool\npool 60 CNAME loop\naway 60 CNAME x.elsewhere.\n\
    old 60 DNAME new\nx.new 60 A 192.0.2.3\n*.wild 60 A 192.0.2.4\n*.wild 60 MX 1 mail.wild\nlong 60 DNAME \
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\
    a.b.c 60 A 192.0.2.5\nd 60 DNAME a.d\ndeep 60 CNAME none.child\nds 60 CNAME w.other.\nsub 60 CNAME none.other.\ncut 60 NS ns.cut\nns.cut 60 A 192.0.2.6\nsafe 60 NS ns.cut\nsafe 60 DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000\n\
    child 60 NS ns.child\nns.child 60 A 192.0.2.7\nbig 60 TXT \"";

fn catalog() -> zone::Catalog {
    let big = "y".repeat(250);
    let many: String = (0..9).map(|number| format!("big 60 TXT \"{number}{big}\"\n")).collect();
    let parent = format!("{PARENT}{big}\"\n{many}");
    let child = "@ 300 SOA ns host 9 2 3 4 60\n@ 300 NS ns\nns 60 A 192.0.2.7\nw 60 A 192.0.2.8\n";
    let other = "@ 300 SOA ns host 1 2 3 4 60\n@ 300 NS ns.elsewhere.\nwww 60 A 192.0.2.9\n";
    inspect::catalog(&[("x.", &parent), ("child.x.", child), ("other.", other)]).unwrap()
}

/// As most ask: over UDP, without DO.
fn question(name: &str, of: u16) -> Question {
    Question { name: name.parse().unwrap(), rtype: of, is_tcp: false, dnssec_ok: false, from: None }
}

fn ask(name: &str, of: u16, may_see: impl Fn(&Name) -> bool) -> Why {
    let question = question(name, of);
    catalog().reader().with(|view| why(view, Server::default(), &question, may_see, &|_| Vec::new()))
}

/// Words of all steps but those of the question, and the code.
fn told(name: &str, of: u16) -> Vec<String> {
    let why = ask(name, of, |_| true);
    let steps = why.steps.into_iter().filter(|step| step.about != "question");
    let code = why.response.map_or_else(|| "none".to_owned(), |response| response.status);
    steps.map(|step| format!("{}: {}", step.about, step.words)).chain([code]).collect()
}

#[test]
fn the_way_in_words() {
    let x = "zone: the nearest zone is x., serial 7";
    assert_eq!(
        told("WWW.x.", rtype::AAAA),
        [x, "walk: www.x. is there: A, TXT, AAAA", "end: AAAA: 1 record, TTL 60", "NOERROR"]
    );
    assert_eq!(
        told("www.x.", rtype::MX),
        [x, "walk: www.x. is there: A, TXT, AAAA", "end: no MX: no data", "NOERROR"]
    );
    let none = "walk: a.none.x. is not there; its closest encloser is x., the next closer name none.x.";
    assert_eq!(
        told("a.none.x.", rtype::A),
        [x, none, "walk: there is no *.x.", "end: no such name: NXDOMAIN", "NXDOMAIN"]
    );
    assert_eq!(
        told("b.c.x.", rtype::A)[1..3],
        [
            "walk: b.c.x. is there and has nothing: names below it have (an empty non-terminal)",
            "end: no A: no data"
        ]
    );
    assert_eq!(
        told("m.wild.x.", rtype::MX)[1..4],
        [
            "walk: m.wild.x. is not there; its closest encloser is wild.x.",
            "walk: from *.wild.x., which has A, MX",
            "end: MX: 1 record, TTL 60"
        ]
    );
    assert_eq!(
        told("a.cut.x.", rtype::A)[1..],
        [
            "walk: cut.x. is a zone cut: 1 name server, no DS: not signed",
            "end: a referral: the servers of the zone below know",
            "NOERROR"
        ]
    );
    assert_eq!(told("safe.x.", rtype::DS)[2], "end: DS: 1 record, TTL 60");
    assert_eq!(told("child.x.", rtype::DS)[0], "zone: DS of child.x. is for the zone above to say");
    assert_eq!(
        told("nowhere.", rtype::A),
        ["zone: no zone here is at or above nowhere.: REFUSED", "REFUSED"]
    );
}

#[test]
fn aliases_are_followed() {
    let after = |name: &str| told(name, rtype::A)[2..].join(" | ");
    let x = "zone: the nearest zone is x., serial 7";
    assert_eq!(
        after("alias.x."),
        format!(
            "alias: CNAME to www.x. | {x} | walk: www.x. is there: A, TXT, AAAA | end: A: 1 record, TTL 60 | NOERROR"
        )
    );
    assert!(after("far.x.").contains("the nearest zone is other., serial 1"));
    assert!(after("loop.x.").contains("loop.x. was there before: the chain ends"));
    assert!(after("away.x.").contains("no zone here is at or above x.elsewhere.: the chain ends"));
    assert!(
        told("x.old.x.", rtype::A)
            .contains(&"alias: DNAME of old.x. to new.x.: x.old.x. becomes x.new.x.".to_owned())
    );
    let long = format!("{}.long.x.", "b".repeat(63));
    assert!(
        told(&long, rtype::A).last().is_some_and(|code| code == "YXDOMAIN"),
        "{:?}",
        told(&long, rtype::A)
    );
    assert!(told("big.x.", rtype::TXT).iter().any(|step| step.starts_with("room: ")));
}

/// However a name and a type are chosen, what is said fits the response.
#[test]
fn what_is_said_fits_what_is_sent() {
    let names = [
        ".",
        "x.",
        "www.x.",
        "alias.x.",
        "far.x.",
        "loop.x.",
        "pool.x.",
        "away.x.",
        "old.x.",
        "x.old.x.",
        "y.old.x.",
        "new.x.",
        "x.new.x.",
        "wild.x.",
        "*.wild.x.",
        "a.wild.x.",
        "a.b.wild.x.",
        "a.b.c.x.",
        "c.x.",
        "cut.x.",
        "a.cut.x.",
        "ns.cut.x.",
        "safe.x.",
        "a.safe.x.",
        "child.x.",
        "w.child.x.",
        "none.child.x.",
        "d.x.",
        "b.d.x.",
        "a.a.d.x.",
        "deep.x.",
        "ds.x.",
        "sub.x.",
        "long.x.",
        "a.long.x.",
        "other.",
        "www.other.",
        "none.",
        "big.x.",
    ];
    let types = [
        rtype::A,
        rtype::AAAA,
        rtype::NS,
        rtype::SOA,
        rtype::CNAME,
        rtype::DNAME,
        rtype::DS,
        rtype::MX,
        rtype::TXT,
        rtype::ANY,
        rtype::RRSIG,
        rtype::NSEC,
        65_280,
    ];
    let catalog = catalog();
    let mut reader = catalog.reader();
    for (name, of) in names.iter().flat_map(|name| types.iter().map(move |of| (*name, *of))) {
        for (is_tcp, dnssec_ok) in [(false, false), (true, true)] {
            let question = Question { name: name.parse().unwrap(), rtype: of, is_tcp, dnssec_ok, from: None };
            let why = reader.with(|view| why(view, Server::default(), &question, |_| true, &|_| Vec::new()));
            assert!(why.steps.iter().all(|step| step.about != "fault"), "{name} {of}: {why:#?}");
            assert!(why.response.is_some(), "{name} {of}: {why:#?}");
        }
    }
    // It can fail.
    let question = question("www.x.", rtype::A);
    let mut responder = Responder::new();
    let octets = reader.with(|view| respond(&mut responder, view, &Server::default(), &question).0);
    let mut printed = Printed::of(&octets).unwrap();
    let fits = |end: End, printed: &Printed| end.fits(printed, &question);
    assert!(fits(End::Answer, &printed));
    assert!(
        [End::NoData, End::NameError, End::Referral, End::NotOurs].iter().all(|end| !fits(*end, &printed))
    );
    printed.rcode = rcode::NXDOMAIN;
    assert!(!fits(End::Answer, &printed));
}

/// Whoever may not see a zone learns nothing of it, nor whether it is there.
#[test]
fn zones_of_others_end_it() {
    let x = |zone: &Name| zone.to_string() == "x.";
    let other = |name: &str| {
        let why = ask(name, rtype::A, x);
        assert!(why.response.is_none());
        why.steps[2..].to_vec()
    };
    assert_eq!(other("www.other."), other("www.nowhere."));
    // Nor by where an alias leads: to a zone of others, or to none.
    let ends = |name: &str, of: u16| {
        let why = ask(name, of, x);
        assert!(why.response.is_none(), "{name}: {why:?}");
        why.steps[3..]
            .iter()
            .map(|step| step.words.replace("w.other.", "T").replace("x.elsewhere.", "T"))
            .collect::<Vec<_>>()
    };
    assert_eq!(ends("ds.x.", rtype::DS)[1..], ends("away.x.", rtype::DS)[1..]);
    assert_eq!(ends("ds.x.", rtype::A)[1..], ends("away.x.", rtype::A)[1..]);
    // DS is asked above, whether there is a zone below or not.
    let above = ask("child.x.", rtype::DS, x);
    assert!(
        above.response.is_some() && !above.steps.iter().any(|step| step.words.contains("zone above to say"))
    );
    assert_eq!(other("www.other."), [step("scope", OUTSIDE.to_owned())]);
    // As far as the zone that may be seen goes, and no further.
    let far = other("far.x.");
    assert_eq!(far.last(), Some(&step("scope", OUTSIDE.to_owned())));
    assert!(far.iter().any(|step| step.words == "CNAME to www.other."));
    assert!(!far.iter().any(|step| step.words.contains("serial 1")));
    assert!(ask("www.x.", rtype::A, x).response.is_some());
}

/// Where answers end at the border of a zone, and where DNAME records lead to longer and longer names.
#[test]
fn chains_end_where_answers_do() {
    let style = Style::WITHIN_ZONE;
    let within = |name: &str| {
        let question = question(name, rtype::A);
        let server = Server { style, ..Server::default() };
        catalog().reader().with(|view| why(view, server, &question, |_| true, &|_| Vec::new()))
    };
    for name in ["deep.x.", "far.x."] {
        let why = within(name);
        assert!(
            why.is_well() && why.steps.last().is_some_and(|step| step.words.contains("aliases-across-zones")),
            "{why:#?}"
        );
    }
    let grown = told("b.d.x.", rtype::A);
    assert!(grown.len() < 8 && !grown.iter().any(|step| step.starts_with("fault")), "{grown:#?}");
    // A client that asks over UDP has no room for the whole chain.
    let names: String = (0..14)
        .map(|number| format!("{}{number} 60 CNAME {}{}\n", "c".repeat(60), "c".repeat(60), number + 1))
        .collect();
    let text = format!("@ 300 SOA ns host 7 2 3 4 60\n@ 300 NS ns\n{names}");
    let catalog = inspect::catalog(&[("x.", &text)]).unwrap();
    let name = format!("{}0.x.", "c".repeat(60));
    let question = question(&name, rtype::A);
    let server = Server { udp_payload_octets: 512, ..Server::default() };
    let why = catalog.reader().with(|view| why(view, server, &question, |_| true, &|_| Vec::new()));
    assert!(why.is_well() && why.steps.iter().any(|step| step.about == "room"), "{why:#?}");
}

#[test]
fn signatures_and_proofs() {
    let rrsig = |expires: u32, began: u32| {
        let mut rdata = vec![0, 1, 13, 2, 0, 0, 0, 60];
        rdata.extend_from_slice(&expires.to_be_bytes());
        rdata.extend_from_slice(&began.to_be_bytes());
        rdata.extend_from_slice(&[0x12, 0x67, 1, b'x', 0, 1, 2, 3]);
        rdata
    };
    let words = |expires, began| {
        let record = [&b"\x01a\x01x\x00"[..], &[0, 46, 0, 1, 0, 0, 0, 60]].concat();
        let rdata = rrsig(expires, began);
        let length = (rdata.len() as u16).to_be_bytes();
        let octets = [&[0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0][..], &record, &length, &rdata].concat();
        let printed = Printed::of(&octets).unwrap();
        let words = catalog().reader().with(|view| printed.signatures(view, 1_000_000)[0].words.clone());
        assert!(words.ends_with("; over records that are not there"), "{words}");
        words
    };
    let key = "RRSIG of a.x. A by key 4711 (algorithm 13) of x.: ";
    assert!(words(1_000_060, 999_000).starts_with(&format!("{key}good for another ")));
    assert!(words(999_990, 999_000).starts_with(&format!("{key}expired ")));
    assert!(words(1_000_060, 1_000_010).starts_with(&format!("{key}not good for another ")));
    assert_eq!(Printed::of(&[0; 5]), None);
}

/// Whether a client may ask is said of each zone that the answer is from, and changes nothing else.
#[test]
fn who_is_let_in() {
    use auth::access::{List, ListSource, Prefix, Rule};
    let network = ListSource {
        prefixes: vec![(Prefix::new("10.0.0.0".parse().unwrap(), 8).unwrap(), false)],
        ..ListSource::default()
    };
    let proved = ListSource { must_be_proved: true, ..ListSource::default() };
    let access = |lists: Vec<ListSource>, numbers: &[u16]| {
        let lists = lists.iter().map(|list| List::new(list).unwrap()).collect();
        let rules = [Rule::Lists(numbers.into()), Rule::Nobody, Rule::Nobody, Rule::Nobody, Rule::Nobody];
        Access::new(lists, rules, Vec::new()).unwrap()
    };
    let said = |access: Access, name: &str, from: Option<&str>, is_tcp: bool| {
        let from = from.map(|from| from.parse().unwrap());
        let question =
            Question { name: name.parse().unwrap(), rtype: rtype::A, is_tcp, dnssec_ok: false, from };
        let server = Server { access, ..Server::default() };
        let why = catalog().reader().with(|view| why(view, server, &question, |_| true, &|_| Vec::new()));
        let steps = why.steps.iter().filter(|step| step.about == "access");
        (steps.map(|step| step.words.clone()).collect::<Vec<_>>(), why.response.unwrap().status)
    };
    let inside = || access(vec![network.clone()], &[0]);
    let of = |name: &str, from| said(inside(), name, Some(from), false);
    let line = |zone: &str, client: &str| format!("zone {zone}, by `query` in [access]: {client}");
    let well = |lines: &[String]| (lines.to_vec(), "NOERROR".to_owned());
    assert_eq!(of("www.x.", "10.1.1.1"), well(&[line("x.", "10.1.1.1 is let in")]));
    let out = "192.0.2.1 is not let in: REFUSED (extended error 18)";
    // A mapped address is as good as the address.
    assert_eq!(of("far.x.", "192.0.2.1"), well(&[line("x.", out), line("other.", out)]));
    assert_eq!(of("www.x.", "::ffff:10.1.1.1").0, [line("x.", "::ffff:10.1.1.1 is let in")]);
    assert_eq!(said(inside(), "www.x.", None, false), well(&[]));
    let proving = || access(vec![proved.clone()], &[0]);
    let (words, _) = said(proving(), "www.x.", Some("10.1.1.1"), false);
    assert!(words[0].ends_with("BADCOOKIE where it sends a cookie"), "{words:?}");
    assert_eq!(said(proving(), "www.x.", Some("10.1.1.1"), true).0, [line("x.", "10.1.1.1 is let in")]);
    let (words, code) = of("www.nowhere.", "192.0.2.1");
    assert_eq!((words, &*code), (vec![format!("no zone, by `query` in [access]: {out}")], "REFUSED"));
}

/// Signatures of the root zone are of its keys; over what somebody has changed they are wrong.
#[test]
fn signatures_are_verified() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone")).unwrap();
    let said = |text: &str, name: &str, of: u16| {
        let catalog = inspect::catalog(&[(".", text)]).unwrap();
        let question =
            Question { name: name.parse().unwrap(), rtype: of, is_tcp: true, dnssec_ok: true, from: None };
        let none = |_: &Name| Vec::new();
        let why = catalog.reader().with(|view| why(view, Server::default(), &question, |_| true, &none));
        let steps = why.steps.into_iter().filter(|step| step.about == "signature");
        steps.map(|step| step.words).collect::<Vec<_>>()
    };
    let well = said(&text, "none.of.that.", rtype::A);
    assert!(well.len() > 2 && well.iter().all(|words| words.ends_with("; verified")), "{well:#?}");
    let keys = said(&text, ".", rtype::DNSKEY);
    assert!(
        keys.iter().any(|words| words.contains("DNSKEY")) && keys[0].ends_with("; verified"),
        "{keys:#?}"
    );
    let soa = text.lines().find(|line| line.contains("\tSOA\t") || line.contains(" SOA ")).unwrap();
    let serial = soa.split_whitespace().find(|word| word.len() == 10 && word.starts_with("20")).unwrap();
    let changed = text.replace(soa, &soa.replace(serial, "2020010100"));
    let wrong = said(&changed, ".", rtype::SOA);
    assert!(wrong[0].ends_with("; wrong: validators say bogus"), "{wrong:#?}");
}

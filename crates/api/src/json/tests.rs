//! What bodies are read as, and why not.

use super::*;
use crate::frame::{Ask, Asked, Asking, Kind, RRSETS_MAX, Set, SetsBuf, What, Who, ZONES_MAX};
use crate::tag::{Condition, Tag};
use wire::iana::rtype;

pub(super) const OCTETS_MAX: usize = 1 << 20;

/// RRsets as lines: owner, type, what, TTL, contents.
pub(super) fn lines(sets: &SetsBuf) -> Vec<String> {
    let line = |set: Set<'_>| {
        let mut text = Vec::new();
        crate::path::id::put_name(set.owner, &mut text);
        text.extend_from_slice(format!(" {} {:?} {}", rtype::Text(set.rtype), set.what, set.ttl).as_bytes());
        for rdata in set.rdatas.iter() {
            text.extend_from_slice(b" | ");
            content::print(set.rtype, rdata, &mut text);
        }
        String::from_utf8(text).unwrap()
    };
    sets.sets().iter().map(line).collect()
}

pub(super) fn patched(body: &str) -> Vec<String> {
    lines(&read::patch(body.as_bytes(), OCTETS_MAX).unwrap_or_else(|refusal| panic!("{body}: {refusal:?}")))
}

/// Status and all words of what a PATCH is refused with.
fn refused(body: impl AsRef<[u8]>) -> (u16, String) {
    let refusal = read::patch(body.as_ref(), OCTETS_MAX).unwrap_err();
    (refusal.status, [vec![refusal.words], refusal.faults].concat().join("; "))
}

/// A PATCH of one RRset with these fields.
fn one(fields: &str) -> String {
    format!("{{\"rrsets\": [{{{fields}}}]}}")
}

const A: &str = r#""name": "www.example.", "type": "A", "ttl": 60, "changetype": "REPLACE", "records": [{"content": "192.0.2.1"}]"#;

#[test]
fn what_is_done() {
    let records = r#""records": [{"content": "192.0.2.1"}, {"content": "192.0.2.2", "disabled": false}]"#;
    let set = |rest: &str| patched(&one(&format!("\"name\": \"WWW.example.\", \"type\": \"a\", {rest}")));
    for (rest, expected) in [
        (format!("\"ttl\": 0, \"changetype\": \"REPLACE\", {records}"), "Replace 0 | 192.0.2.1 | 192.0.2.2"),
        (
            format!("\"ttl\": 2147483647, \"changetype\": \"extend\", {records}"),
            "Extend 2147483647 | 192.0.2.1 | 192.0.2.2",
        ),
        (format!("\"changetype\": \"PRUNE\", {records}"), "Prune 0 | 192.0.2.1 | 192.0.2.2"),
        (format!("\"changetype\": \"DELETE\", \"ttl\": 5, {records}"), "Delete 0"),
        ("\"changetype\": \"DELETE\"".into(), "Delete 0"),
        (
            "\"changetype\": \"DELETE\", \"records\": null, \"ttl\": null, \"comments\": null".into(),
            "Delete 0",
        ),
        ("\"changetype\": \"REPLACE\", \"records\": []".into(), "Delete 0"),
        // What would be deleted need not be a content.
        (r#""changetype": "DELETE", "records": [{"content": "?"}]"#.into(), "Delete 0"),
    ] {
        assert_eq!(set(&rest), [format!("WWW.example. A {expected}")], "{rest}");
    }
    // Fields may come in any order, with escapes, and repeats are one record; letters do not count.
    let body = r#"{"rrsets":[{"records":[{"content":"\u0061.b."},{"content":"A.b.","set-ptr":false}],"ttl":1,"type":"NS","name":"\u0078.example.","changetype":"REPLACE"}]}"#;
    assert_eq!(patched(body), ["x.example. NS Replace 1 | a.b."]);
    assert_eq!(patched(&one(&A.replace("\"A\"", "\"TYPE1\""))), ["www.example. A Replace 60 | 192.0.2.1"]);
    assert!(patched("{\"rrsets\": []}").is_empty());
}

#[test]
fn what_is_no_json() {
    let deep =
        |count: usize| format!("{{\"rrsets\": [], \"x\": {}{}}}", "[".repeat(count), "]".repeat(count));
    for body in [
        String::new(),
        "{".into(),
        "{} {}".into(),
        "nothing".into(),
        one(&A.replace("60", "NaN")),
        one(&A.replace("60", "1e400")),
        one(&A.replace("60", "060")),
        one(&A.replace("192.0.2.1", "\\ud800")),
        one(&A.replace("192.0.2.1", "\\ud800\\u0041")),
        one(&A.replace("192.0.2.1", "\n")),
        one(&A.replace("192.0.2.1", "\0")),
        format!("{}x", one(A)),
        deep(8),
    ] {
        assert_eq!(refused(&body).0, 400, "{body}");
    }
    assert_eq!(refused(b"\xff").0, 400);
    assert_eq!(refused(b"{\"rrsets\": [{\"name\": \"\xff\"}]}").0, 400);
    assert_eq!(refused([b' '; 1 << 16]).0, 400);
    assert!(patched(&deep(7)).is_empty());
    assert!(patched("{\"rrsets\": [], \"x\": \"[[[[[[[[[[[\\\"[[[[\"}").is_empty());
}

#[test]
fn what_is_of_no_type() {
    for (body, words) in [
        ("[]".to_owned(), "the body is not of its type"),
        ("7".into(), "the body is not of its type"),
        ("{}".into(), "expected `rrsets`"),
        ("{\"rrsets\": null}".into(), "expected `rrsets`"),
        ("{\"rrsets\": {}}".into(), "rrsets is not of its type"),
        ("{\"rrsets\": [7]}".into(), "rrsets[0] is not of its type"),
        (one(&A.replace("60", "60.0")), "rrsets[0].ttl is not of its type"),
        (one(&A.replace("60", "\"60\"")), "rrsets[0].ttl is not of its type"),
        (one(&A.replace("60", "-1")), "rrsets[0].ttl is not of its type"),
        (one(&A.replace("60", "18446744073709551616")), "rrsets[0].ttl is not of its type"),
        (one(&A.replace("60", "4294967296")), "rrsets[0].ttl is not of its type"),
        (one(&A.replace("\"A\"", "1")), "rrsets[0].type is not of its type"),
        (one(&A.replace("\"192.0.2.1\"", "7")), "rrsets[0].content is not of its type"),
        (
            one(&A.replace("[{\"content\": \"192.0.2.1\"}]", "[\"192.0.2.1\"]")),
            "rrsets[0].records is not of its type",
        ),
        (one(&format!("{A}, \"ttl\": 60")), "rrsets[0]: `ttl` is given twice"),
        (one(&A.replace("}]", ", \"content\": \"1\"}]")), "rrsets[0]: `content` is given twice"),
        (one(&format!("{A}, \"records\": null")), "rrsets[0]: `records` is given twice"),
        ("{\"rrsets\": [], \"rrsets\": []}".into(), "`rrsets` is given twice"),
    ] {
        assert_eq!(refused(&body), (422, words.to_owned()), "{body}");
    }
}

#[test]
fn what_is_wrong_with_rrsets() {
    let form = "www.example. A: expected an IPv4 address";
    for (body, fault) in [
        (
            one(&A.replace("192.0.2.1", "secret\\n")),
            "www.example. A: expected a content without control characters",
        ),
        (one(&A.replace("192.0.2.1", "secret")), form),
        (
            one(&A.replace("\"www.example.\"", "\"www.example\"")),
            "rrsets[0]: expected `name`: an absolute name, with a dot at its end",
        ),
        (
            one(&A.replace("\"www.example.\"", "\"\"")),
            "rrsets[0]: expected `name`: an absolute name, with a dot at its end",
        ),
        (
            one(&A.replace("\"www.example.\"", "\"ü.example.\"")),
            "rrsets[0]: expected `name`: an absolute name, with a dot at its end",
        ),
        (
            one(&A.replace("\"www.example.\"", "\"a b.\"")),
            "rrsets[0]: expected `name`: an absolute name, with a dot at its end",
        ),
        (
            one(&A.replace("\"A\"", "\"ANY\"")),
            "rrsets[0]: expected a type of zone data, this one exists in messages only",
        ),
        (one(&A.replace("\"ttl\": 60, ", "")), "www.example. A: expected `ttl`: a number up to 2147483647"),
        (one(&A.replace("60", "2147483648")), "www.example. A: expected `ttl`: a number up to 2147483647"),
        (
            one(&A.replace("REPLACE", "MOVE")),
            "www.example. A: expected `changetype`: REPLACE, DELETE, EXTEND or PRUNE",
        ),
        (
            one(&A.replace(", \"changetype\": \"REPLACE\"", "")),
            "www.example. A: expected `changetype`: REPLACE, DELETE, EXTEND or PRUNE",
        ),
        (
            one(&A.replace("[{\"content\": \"192.0.2.1\"}]", "null")),
            "www.example. A: expected `records`: one at least",
        ),
        (one(&A.replace("\"content\"", "\"text\"")), "www.example. A: expected `content`"),
        (
            one(&A.replace("}]", ", \"disabled\": true}]")),
            "www.example. A: records that are `disabled` are not kept here",
        ),
        (
            one(&A.replace("}]", ", \"set-ptr\": true}]")),
            "www.example. A: `set-ptr` is not known here: change the zone of the address",
        ),
        (
            one(&format!("{A}, \"comments\": [{{\"content\": \"x\"}}]")),
            "www.example. A: `comments` are not kept here",
        ),
        (
            format!("{{\"rrsets\": [{{{A}}}, {{{}}}]}}", A.replace("www", "WWW")),
            "WWW.example. A: given twice",
        ),
    ] {
        assert_eq!(refused(&body), (422, format!("some RRsets are none; {fault}")), "{body}");
    }
    let (status, words) = refused(one(&A.replace("\"A\"", "\"ALIAS\"")));
    assert!(status == 422 && words.contains("rrsets[0]: expected `type`"), "{words}");
    // All are looked at, and some told.
    let many: Vec<String> = (0..50)
        .map(|at| format!("{{{}}}", A.replace("www", &format!("h{at}")).replace("192", "x")))
        .collect();
    let refusal =
        read::patch(format!("{{\"rrsets\": [{}]}}", many.join(",")).as_bytes(), OCTETS_MAX).unwrap_err();
    assert_eq!(
        (refusal.faults.len(), &*refusal.faults[19]),
        (FAULTS_MAX, "h19.example. A: expected an IPv4 address")
    );
}

#[test]
fn bounds_of_bodies() {
    // A content of thirty octets that has 8 KiB on the wire.
    let ports = one(&A.replace("\"A\"", "\"WKS\"").replace("192.0.2.1", "192.0.2.1 6 65535"));
    assert_eq!(read::patch(ports.as_bytes(), 8_000).unwrap_err().status, 413);
    assert!(read::patch(ports.as_bytes(), 9_000).is_ok());
    // Also those that are none count.
    let nones = |count| format!("{{\"rrsets\":[{}]}}", vec!["{}"; count].join(","));
    assert_eq!(refused(nones(RRSETS_MAX)).0, 422);
    assert_eq!(refused(nones(RRSETS_MAX + 1)).0, 413);
    let records = format!("{{\"rrsets\":[{{\"records\":[{}]}}]}}", vec!["{}"; 65_536].join(","));
    assert_eq!(refused(records).0, 413);
    let zones = |count: usize| {
        let zone = |at| format!("{{\"name\":\"z{at}.\",\"rrsets\":[]}}");
        format!("{{\"zones\":[{}]}}", (0..count).map(zone).collect::<Vec<_>>().join(","))
    };
    assert!(read::changes(zones(ZONES_MAX).as_bytes(), OCTETS_MAX).is_ok());
    assert_eq!(read::changes(zones(ZONES_MAX + 1).as_bytes(), OCTETS_MAX).unwrap_err().status, 413);
}

/// A zone of so many sets, from a text.
fn post(sets: usize, rest: &str, octets_max: usize) -> Result<read::Made, Refusal> {
    let text = "a 1 A 192.0.2.1\\nb 1 A 192.0.2.1\\n".repeat(sets / 2);
    read::post(format!("{{\"name\":\"x.\",\"zone\":\"{text}\"{rest}}}").as_bytes(), octets_max)
}

#[test]
fn bounds_of_zones_that_are_made() {
    assert_eq!(post(RRSETS_MAX + 2, "", OCTETS_MAX << 2).unwrap_err().status, 413);
    // Name servers are a set too, and have octets.
    let ns = ", \"nameservers\": [\"ns.\"]";
    assert_eq!(post(RRSETS_MAX, ns, OCTETS_MAX << 2).unwrap_err().status, 413);
    assert_eq!((post(2, "", 40).is_ok(), post(2, ns, 40).unwrap_err().status), (true, 413));
    // A TTL that is none is zero, as in zone files.
    let made = read::post(br#"{"name": "x.", "zone": "@ 2147483648 A 192.0.2.1"}"#, OCTETS_MAX).unwrap();
    assert_eq!(lines(&made.sets), ["x. A Extend 0 | 192.0.2.1"]);
}

mod long {
    use super::*;

    /// What is made of a body is an ask that the other side reads.
    #[test]
    #[ignore = "long: make test-long"]
    fn sets_of_a_text() {
        let made = post(RRSETS_MAX, "", OCTETS_MAX << 2).unwrap();
        assert_eq!(made.sets.count(), RRSETS_MAX);
        let (fields, sets) = (made.fields.fields(), made.sets.sets());
        let asked = Asked::Make { zone: &made.zone, repeat: None, fields, sets };
        assert!(
            Asking::of(1, &Ask { who: Who::Key(b"key"), address: [127, 0, 0, 1].into(), asked }).is_some()
        );
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn sets_of_a_body() {
        let sets = |count: usize| {
            let set = |at| format!("{{\"name\":\"h{at}.\",\"type\":\"A\",\"changetype\":\"DELETE\"}}");
            format!("{{\"rrsets\":[{}]}}", (0..count).map(set).collect::<Vec<_>>().join(","))
        };
        let octets_max = 64 << 20;
        assert_eq!(read::patch(sets(RRSETS_MAX).as_bytes(), octets_max).unwrap().count(), RRSETS_MAX);
        assert_eq!(read::patch(sets(RRSETS_MAX + 1).as_bytes(), octets_max).unwrap_err().status, 413);
    }
}

/// What is done without a look at it would be done otherwise than was meant.
#[test]
fn what_is_no_part_of_a_body() {
    for (field, words) in [
        ("\"dry-run\": true", "`dry-run` is a parameter of the query here"),
        ("\"if-match\": \"*\"", "`if-match` is a header here"),
    ] {
        let body = format!("{{\"rrsets\": [], {field}}}");
        assert_eq!(refused(&body), (422, words.to_owned()));
        let of_zone = format!("{{\"name\": \"x.\", {field}}}");
        assert_eq!(read::post(of_zone.as_bytes(), OCTETS_MAX).unwrap_err().words, words);
        assert_eq!(read::put(of_zone.as_bytes()).unwrap_err().words, words);
    }
}

#[test]
fn zones_that_are_made() {
    let post = |body: &str| read::post(body.as_bytes(), OCTETS_MAX);
    let made = post(r#"{"name": "Example.", "kind": "primary", "nameservers": ["ns1.example.", "NS1.example."], "serial": 0,
        "soa_edit_api": "", "account": "acme", "masters": [], "dnssec": false, "id": "", "unknown": {"a": [1.5]}}"#)
    .unwrap();
    assert_eq!(made.zone.to_string(), "example.");
    assert_eq!(lines(&made.sets), ["example. NS Replace 3600 | ns1.example."]);
    let fields = made.fields.fields();
    assert_eq!((fields.kind, fields.soa_edit_api, fields.serial), (Some(Kind::Master), Some(""), None));
    assert_eq!((fields.account, fields.soa_edit, fields.api_rectify), (Some("acme"), None, None));
    let text = r#""$TTL 60\n@ SOA ns host 7 1 2 3 4\n@ NS ns\n@ NS ns.other.\nns A 192.0.2.1\n@ NS ns3\n""#;
    let made = post(&format!("{{\"name\": \"x.\", \"zone\": {text}, \"serial\": 9, \"api_rectify\": true}}"))
        .unwrap();
    assert_eq!(
        lines(&made.sets),
        [
            "x. SOA Extend 60 | ns.x. host.x. 7 1 2 3 4",
            "x. NS Extend 60 | ns.x. | ns.other.",
            "ns.x. A Extend 60 | 192.0.2.1",
            "x. NS Extend 60 | ns3.x."
        ]
    );
    assert_eq!((made.fields.serial, made.fields.api_rectify), (Some(9), Some(true)));
    for (rest, words) in [
        ("\"kind\": \"Slave\"", "`kind`: secondary zones are set by [[zone]] of the settings"),
        ("\"kind\": \"Producer\"", "`kind`: catalogs are set by `catalog` of the template"),
        ("\"kind\": \"x\"", "`kind`: expected Native or Master"),
        ("\"masters\": [\"192.0.2.1\"]", "`masters`: set by [[zone]] of the settings"),
        ("\"dnssec\": true", "`dnssec`: nothing is signed here"),
        ("\"nsec3param\": \"1 0 0 -\"", "`nsec3param`: nothing is signed here"),
        ("\"catalog\": \"c.\"", "`catalog`: set by `catalog` of the template"),
        ("\"nameservers\": [\"ns\"]", "`nameservers`: expected absolute names, with a dot at their end"),
        ("\"zone\": \"$GENERATE 1-9 h$ A 192.0.2.$\"", "`zone`: expected no $GENERATE"),
        ("\"zone\": \"x\\n$generate 1-9 h$ A 192.0.2.$\"", "`zone`: expected no $GENERATE"),
        ("\"zone\": \"@ 1 A 192.0.2\\n$INCLUDE /etc/passwd\"", "`zone` is no zone file"),
        (
            &*format!("\"zone\": \"@ 1 A 192.0.2.1\", \"rrsets\": [{{{A}}}]"),
            "`zone`: expected no `rrsets` beside it",
        ),
        ("\"name\": \"y\"", "`name` is given twice"),
    ] {
        let refusal = post(&format!("{{\"name\": \"x.\", {rest}}}")).unwrap_err();
        assert_eq!((refusal.status, &*refusal.words), (422, words), "{rest}");
    }
    let servers = |count: usize| {
        let names: Vec<_> = (0..count).map(|at| format!("\"ns{at}.\"")).collect();
        format!("{{\"name\": \"x.\", \"nameservers\": [{}]}}", names.join(","))
    };
    assert!(post(&servers(64)).is_ok());
    assert_eq!(post(&servers(65)).unwrap_err().words, "`nameservers`: too many");
    let long = format!("{{\"name\": \"x.\", \"account\": \"{}\"}}", "a".repeat(41));
    assert!(post(&long).unwrap_err().words.contains("`account`"));
    for none in ["{}", "{\"name\": null}", "{\"name\": \"x\"}", "{\"name\": \"\"}"] {
        assert_eq!(post(none).unwrap_err().status, 422, "{none}");
    }
    let ns = r#"{"name": "x.", "nameservers": ["ns.x."], "rrsets": [{"name": "X.", "type": "NS", "ttl": 1, "records": [{"content": "ns."}]}]}"#;
    assert!(post(ns).unwrap_err().words.contains("beside"));
    let delete = r#"{"name": "x.", "rrsets": [{"name": "X.", "type": "NS", "changetype": "DELETE"}]}"#;
    assert_eq!(
        post(delete).unwrap_err().faults,
        ["X. NS: expected no `changetype` but REPLACE: the zone is made"]
    );
    let faults = post("{\"name\": \"x.\", \"zone\": \"@ 1 A secret\\n\"}").unwrap_err().faults;
    assert_eq!(faults, ["zone:1:7: expected an IPv4 address"]);
}

#[test]
fn fields_that_become_others() {
    let put = |body: &str| read::put(body.as_bytes());
    let fields =
        put(r#"{"name": "", "kind": "", "soa_edit_api": "EPOCH", "account": "", "id": "", "url": ""}"#)
            .unwrap();
    assert_eq!(
        (fields.kind, fields.soa_edit_api.as_deref(), fields.account.as_deref()),
        (None, Some("EPOCH"), Some(""))
    );
    assert_eq!(put("{}"), Ok(read::FieldsBuf::default()));
    // `null` is not given.
    let none = r#"{"rrsets": null, "nameservers": null, "zone": null, "kind": null}"#;
    assert_eq!(put(none), Ok(read::FieldsBuf::default()));
    for (body, words) in [
        ("{\"rrsets\": []}", "expected fields of the zone alone: RRsets are changed by PATCH"),
        (
            "{\"rrsets\": [{\"name\": \"a.\", \"records\": [{\"content\": \"x\"}]}]}",
            "expected fields of the zone alone: RRsets are changed by PATCH",
        ),
        ("{\"nameservers\": []}", "expected fields of the zone alone: RRsets are changed by PATCH"),
        ("{\"kind\": \"Consumer\"}", "`kind`: catalogs are set by [[catalog]] of the settings"),
        (
            "{\"presigned\": true}",
            "`presigned`: nothing is signed here: signed zones come by transfer or UPDATE",
        ),
        ("{\"api_rectify\": 1}", "api_rectify is not of its type"),
    ] {
        assert_eq!(put(body).unwrap_err().words, words, "{body}");
    }
}

#[test]
fn several_zones() {
    let tag = Tag { serial: 7, mark: 1 };
    let body = format!(
        r#"{{"dry-run": true, "zones": [{{"rrsets": [{{{A}}}], "if-match": "\"7-0000000000000001\"", "name": "Example."}}, {{"name": "b.", "rrsets": []}}]}}"#
    );
    let changes = read::changes(body.as_bytes(), OCTETS_MAX).unwrap();
    let zones: Vec<_> = changes.zones.zones().iter().collect();
    assert!(changes.is_dry && zones.len() == 2 && zones[0].name.to_string() == "example.");
    assert!(zones[0].condition.holds(tag) && !zones[0].condition.holds(Tag::default()));
    assert_eq!((zones[1].condition, zones[0].sets.iter().count()), (Condition::None, 1));
    for (body, words) in [
        (
            body.replace("\"ttl\"", "\"life\": 1, \"ttl\""),
            "zones[0].rrsets[0]: a field that is not known here",
        ),
        (
            body.replace("\"content\"", "\"kind\": 1, \"content\""),
            "zones[0].rrsets[0]: a field that is not known here",
        ),
        (body.replace("{\"dry-run\"", "{\"x\": 1, \"dry-run\""), "a field that is not known here"),
        (body.replace("\"b.\"", "\"EXAMPLE.\""), "zones[1]: the zone is given twice"),
        (
            body.replace("\"b.\"", "\"b\""),
            "zones[1]: expected `name`: an absolute name, with a dot at its end",
        ),
        (body.replace(", \"rrsets\": []", ""), "zones[1]: expected `rrsets`"),
        (body.replace("true", "1"), "dry-run is not of its type"),
        ("{\"zones\": []}".into(), "expected `zones`: one at least"),
        ("{}".into(), "expected `zones`: one at least"),
    ] {
        let refusal = read::changes(body.as_bytes(), OCTETS_MAX).unwrap_err();
        assert_eq!((refusal.status, &*refusal.words), (422, words), "{body}");
    }
    let refusal = read::changes(body.replace("192.0.2.1", "x").as_bytes(), OCTETS_MAX).unwrap_err();
    assert_eq!(refusal.faults, ["www.example. A: expected an IPv4 address"]);
    assert!(read::explain(body.as_bytes(), OCTETS_MAX).is_err());
    assert!(read::explain(body.replace("\"dry-run\": true, ", "").as_bytes(), OCTETS_MAX).is_ok());
}

/// Words of bodies, in any order.
const WORDS: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "7",
    "-1",
    "1.5",
    "1e400",
    "\"\"",
    "\"rrsets\"",
    "\"name\"",
    "\"type\"",
    "\"ttl\"",
    "\"changetype\"",
    "\"records\"",
    "\"content\"",
    "\"disabled\"",
    "\"comments\"",
    "\"zones\"",
    "\"if-match\"",
    "\"dry-run\"",
    "\"nameservers\"",
    "\"zone\"",
    "\"kind\"",
    "\"example.\"",
    "\"A\"",
    "\"REPLACE\"",
    "\"DELETE\"",
    "\"192.0.2.1\"",
    "\"\\ud800\"",
    "\"@ 1 A 192.0.2.1\"",
    "{\"rrsets\":[{\"name\":\"a.\",\"type\":\"TXT\",",
];

proptest::proptest! {
    #[test]
    fn any_words(words in proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..60)) {
        crate::fuzz::fuzz_api(&[&[2], words.concat().as_bytes()].concat());
    }

    #[test]
    fn any_content(content in "[ -~üß\t]{0,40}", rtype in 1u16..66) {
        crate::fuzz::fuzz_api(&[&[5], &rtype.to_be_bytes()[..], content.as_bytes()].concat());
    }

    /// What is told of octets that have the form of their type is read as these octets.
    #[test]
    fn any_rdata(rdata in proptest::collection::vec(proptest::num::u8::ANY, 0..40), rtype in 1u16..300) {
        let mut sets = SetsBuf::default();
        sets.begin(wire::Name::root(), rtype, What::Replace, 1);
        sets.record(&rdata);
        sets.end();
        let mut octets = vec![3];
        let piece = crate::frame::Piece::Sets(sets.sets());
        proptest::prop_assert!(crate::frame::Answer::Piece(piece).write(1, &mut octets));
        crate::fuzz::fuzz_api(&octets);
    }
}

//! What is told, read as JSON.

use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::tests::{OCTETS_MAX, lines};
use super::{read, write};
use crate::frame::{
    Cursor, Detail, Number, Outcome, Row, RowKind, Rule, SetsBuf, Standing, Stands, Verdict, Version, What,
};
use crate::path::Empty;
use crate::tag::Tag;

/// What `print` appends, as JSON.
pub(super) fn printed(print: impl FnOnce(&mut Vec<u8>)) -> serde_json::Value {
    let mut out = Vec::new();
    print(&mut out);
    serde_json::from_slice(&out).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)))
}

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

pub(super) fn row(name: &wire::Name) -> Row<'_> {
    Row {
        name,
        serial: 2_026_112_901,
        notified: 7,
        kind: RowKind::Master,
        stands: Stands::Stale,
        is_signed: false,
        api_rectify: false,
        account: "ac\"me",
        soa_edit_api: "DEFAULT",
        soa_edit: "",
        tag: None,
    }
}

#[test]
fn zones_as_they_are_told() {
    let zone = name("Example_.com.");
    let mut sets = SetsBuf::default();
    sets.begin(&name("a\"b.Example_.com."), rtype::TXT, What::Replace, 60);
    assert!(sets.record(b"\x05q\"\\\xc3\xbc"));
    // What had no room in one piece of the answer.
    sets.begin(&name("a\"b.Example_.com."), rtype::TXT, What::Extend, 60);
    assert!(sets.record(b"\x01b") && sets.record(b"\x01c"));
    sets.begin(&name("x.Example_.com."), 4_000, What::Replace, 5);
    assert!(sets.record(&[0xab]));
    sets.end();
    // In pieces it is the same as in one.
    let mut whole = Vec::new();
    let mut zone_body = write::Zone::begin(&row(&zone), true, &mut whole);
    for set in sets.sets().iter() {
        let mut piece = Vec::new();
        zone_body.set(&set, &mut piece);
        whole.extend_from_slice(&piece);
    }
    let mut piece = Vec::new();
    zone_body.end(&mut piece);
    whole.extend_from_slice(&piece);
    let json: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(json["id"], "example=5F.com.");
    assert_eq!(json["name"], "example_.com.");
    assert_eq!(json["url"], "/api/v1/servers/localhost/zones/example=5F.com.");
    assert_eq!((&json["kind"], &json["account"]), (&"Master".into(), &"ac\"me".into()));
    assert_eq!(json["serial"], 2_026_112_901u32);
    assert_eq!((&json["notified_serial"], &json["dnssec"]), (&7.into(), &false.into()));
    let rrsets = json["rrsets"].as_array().unwrap();
    assert_eq!(rrsets.len(), 2);
    assert_eq!(rrsets[0]["name"], "a\"b.Example_.com.");
    assert_eq!(rrsets[0]["records"].as_array().unwrap().len(), 3);
    assert_eq!(rrsets[0]["records"][0]["content"], "\"q\\\"\\\\\\195\\188\"");
    assert_eq!((&rrsets[1]["type"], &rrsets[1]["ttl"]), (&"TYPE4000".into(), &5.into()));
    assert_eq!(rrsets[1]["records"][0]["content"], "\\# 1 ab");
    // What is told is what may be sent.
    let mut body = json.clone();
    for rrset in body["rrsets"].as_array_mut().unwrap() {
        rrset["changetype"] = "REPLACE".into();
    }
    let again = lines(&read::patch(body.to_string().as_bytes(), OCTETS_MAX).unwrap());
    assert_eq!(again[1], "x.Example_.com. TYPE4000 Replace 5 | \\# 1 ab");
    let without = printed(|out| write::Zone::begin(&row(&zone), false, out).end(out));
    let page = |next: Option<&str>| {
        printed(|out| {
            let mut zone = write::Zone::begin_page(&row(&zone), out);
            next.into_iter().for_each(|next| zone.goes_on(&name(next)));
            zone.end(out);
        })
    };
    assert_eq!(
        (&page(None)["rrsets"], &page(None)["next"]),
        (&serde_json::json!([]), &serde_json::Value::Null)
    );
    assert_eq!(page(Some("b.a."))["next"], "b.a.");
    assert!(
        without.get("rrsets").is_none()
            && without.get("next").is_none()
            && without["soa_edit_api"] == "DEFAULT"
    );
    let empty = printed(|out| write::Zone::begin(&row(wire::Name::root()), true, out).end(out));
    assert_eq!(
        (&empty["id"], &empty["name"], &empty["rrsets"]),
        (&"=2E".into(), &".".into(), &serde_json::json!([]))
    );
}

#[test]
fn lists_as_they_are_told() {
    let (a, b) = (name("a."), name("b."));
    assert_eq!(printed(|out| write::Rows::default().end(out)), serde_json::json!([]));
    let rows = printed(|out| {
        let mut rows = write::Rows::default();
        rows.row(&row(&a), out);
        rows.row(&row(&b), out);
        rows.end(out);
    });
    assert_eq!((rows[0]["id"].as_str(), rows[1]["id"].as_str()), (Some("a."), Some("b.")));
    let page = printed(|out| {
        let mut rows = write::Rows::page(out);
        rows.row(&row(&a), out);
        rows.end_page(Some(Cursor { start: 0xab, slot: 31 }), out);
    });
    assert_eq!((&page["zones"][0]["name"], &page["next"]), (&"a.".into(), &"1f-00000000000000ab".into()));
    // How a zone stands is told there alone.
    assert_eq!((&page["zones"][0]["state"], rows[0].get("state")), (&"stale".into(), None));
    assert_eq!(
        printed(|out| write::Rows::page(out).end_page(None, out)),
        serde_json::json!({"zones": [], "next": null})
    );
    let mut sets = SetsBuf::default();
    sets.begin(&a, rtype::A, What::Replace, 9);
    assert!(sets.record(&[192, 0, 2, 1]) && sets.record(&[192, 0, 2, 2]));
    sets.end();
    let found = printed(|out| {
        let mut found = write::Found::default();
        found.zone(&row(&a), out);
        found.records(&Detail { zone: &a, set: sets.sets().iter().next().unwrap() }, out);
        found.end(out);
    });
    assert_eq!(found.as_array().unwrap().len(), 3);
    assert_eq!(
        (&found[0], &found[2]),
        (
            &serde_json::json!({"object_type": "zone", "name": "a.", "zone": "a.", "zone_id": "a."}),
            &serde_json::json!({"object_type": "record", "name": "a.", "type": "A", "content": "192.0.2.2", "ttl": 9,
                "disabled": false, "zone": "a.", "zone_id": "a."})
        )
    );
    let number = |name, label, value| Number { name, label, value };
    let numbers = printed(|out| {
        let mut numbers = write::Numbers::default();
        let all = [
            number("uptime", "", 7),
            number("by-type", "A", 1),
            number("by-type", "NS", 2),
            number("x", "y", 3),
        ];
        all.iter().for_each(|each| numbers.number(each, out));
        numbers.end(out);
    });
    assert_eq!(
        numbers,
        serde_json::json!([
            {"name": "uptime", "type": "StatisticItem", "value": "7"},
            {"name": "by-type", "type": "MapStatisticItem", "value": [{"name": "A", "value": "1"}, {"name": "NS", "value": "2"}]},
            {"name": "x", "type": "MapStatisticItem", "value": [{"name": "y", "value": "3"}]}
        ])
    );
    let keys = printed(|out| {
        let mut keys = write::Keys::default();
        keys.key(&a, out);
        keys.end(out);
    });
    assert_eq!(keys, serde_json::json!([{"type": "TSIGKey", "id": "a.", "name": "a."}]));
    let history = printed(|out| {
        let mut history = write::History::default();
        history.version(&Version { before: 1, after: 2, seconds: 3, octets: 4 }, out);
        history.end(out);
    });
    assert_eq!(history, serde_json::json!([{"old-serial": 1, "new-serial": 2, "time": 3, "octets": 4}]));
    for list in [Empty::List, Empty::Views, Empty::Networks] {
        printed(|out| write::empty(list, out));
    }
}

fn undone<'a>(zone: &'a Name, status: u16, words: &'a str, faults: &'a [String]) -> write::Undone<'a> {
    write::Undone { zone, status, words, faults }
}

#[test]
fn outcomes_as_they_are_told() {
    let (a, b) = (name("a."), name("b."));
    let outcome =
        |zone, is_done, words| Outcome { zone, is_done, status: 200, before: 1, after: 2, tag: None, words };
    let mut sets = SetsBuf::default();
    for what in [What::Extend, What::Extend, What::Prune] {
        sets.begin(&a, rtype::A, what, 9);
        assert!(sets.record(&[192, 0, 2, 1]));
    }
    sets.end();
    // Sent piece by piece.
    let (mut whole, mut out) = (Vec::new(), Vec::new());
    let mut outcomes = write::Outcomes::default();
    let send = |out: &mut Vec<u8>, whole: &mut Vec<u8>| whole.append(out);
    outcomes.outcome(&Outcome { tag: Some(Tag { serial: 2, mark: 3 }), ..outcome(&a, true, "") }, &mut out);
    send(&mut out, &mut whole);
    for set in sets.sets().iter() {
        outcomes.set(&set, &mut out);
        send(&mut out, &mut whole);
    }
    outcomes.outcome(&outcome(&b, false, "no"), &mut out);
    send(&mut out, &mut whole);
    outcomes.end(&mut out);
    send(&mut out, &mut whole);
    let json: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    let [first, second] = &json["zones"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!((&first["tag"], &first["new-serial"]), (&"\"2-0000000000000003\"".into(), &2.into()));
    let changes: Vec<_> =
        first["rrsets"].as_array().unwrap().iter().map(|set| set["changetype"].clone()).collect();
    assert_eq!(changes, ["EXTEND", "EXTEND", "PRUNE"]);
    assert_eq!((&second["error"], second.get("rrsets")), (&"no".into(), None));
    assert_eq!(printed(|out| write::Outcomes::default().end(out)), serde_json::json!({"zones": []}));
    assert_eq!(
        printed(|out| write::error("a \"b\"", &["c".into()], out)),
        serde_json::json!({"error": "a \"b\"", "errors": ["c"]})
    );
    assert_eq!(printed(|out| write::error("a", &[], out)), serde_json::json!({"error": "a"}));
    // Of several zones: which is why, and which is not.
    let why = ["w.b. A: no".to_owned()];
    let zones = [undone(&a, 424, "", &[]), undone(&b, 422, "", &why), undone(&b, 404, "no", &[])];
    assert_eq!(
        printed(|out| write::undone("some", &why, zones, out)),
        serde_json::json!({"error": "some", "errors": ["w.b. A: no"], "zones": [
            {"name": "a.", "done": false, "status": 424},
            {"name": "b.", "done": false, "status": 422, "errors": ["w.b. A: no"]},
            {"name": "b.", "done": false, "status": 404, "error": "no"}
        ]})
    );
}

#[test]
fn rules_as_they_are_told() {
    let (a, b) = (name("A.x."), name("b."));
    let mut sets = SetsBuf::default();
    for rtype in [rtype::A, rtype::TXT] {
        sets.begin(&a, rtype, What::Delete, 0);
    }
    sets.end();
    let rule = |is_of_zone, rule, verdict, words| Rule {
        zone: 0,
        set: 0,
        is_granted: false,
        is_of_zone,
        rule,
        verdict,
        words,
    };
    // Sent piece by piece.
    let (mut whole, mut out, mut explained) = (Vec::new(), Vec::new(), write::Explained::default());
    let mut all: Vec<_> = sets.sets().iter().collect();
    explained.zone(&Standing { zone: &a, status: 200, words: "" }, &mut out);
    whole.append(&mut out);
    explained.set(&all.remove(0), false, &mut out);
    whole.append(&mut out);
    let rules = [
        rule(false, 1, Verdict::OtherNames, "deny label \"x\""),
        rule(false, 2, Verdict::Grants, "grant zonesub"),
        rule(true, 0, Verdict::Denies, ""),
    ];
    for rule in rules {
        explained.rule(&rule, &mut out);
        whole.append(&mut out);
    }
    explained.set(&all.remove(0), true, &mut out);
    explained.rule(&rule(true, 1, Verdict::OtherTypes, "grant api:acme zonesub A"), &mut out);
    whole.append(&mut out);
    explained.zone(&Standing { zone: &b, status: 409, words: "frozen" }, &mut out);
    whole.append(&mut out);
    explained.end(&mut out);
    whole.append(&mut out);
    let json: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    let told = |by, number, rule, verdict| serde_json::json!({"by": by, "number": number, "rule": rule, "verdict": verdict});
    assert_eq!(
        json,
        serde_json::json!({"zones": [
            {"name": "A.x.", "status": 200, "rrsets": [
                {"name": "A.x.", "type": "A", "granted": false, "rules": [
                    told("key", 1, "deny label \"x\"", "other-names"),
                    told("key", 2, "grant zonesub", "grants"),
                    told("zone", 0, "", "denies"),
                ]},
                {"name": "A.x.", "type": "TXT", "granted": true, "rules": [
                    told("zone", 1, "grant api:acme zonesub A", "other-types"),
                ]},
            ]},
            {"name": "b.", "status": 409, "error": "frozen", "rrsets": []},
        ]})
    );
    assert_eq!(printed(|out| write::Explained::default().end(out)), serde_json::json!({"zones": []}));
}

/// However many records a zone has: in memory is what one piece of the answer became.
#[test]
fn large_zones_are_told_in_pieces() {
    let zone = name("example.");
    let (mut out, mut octets, mut largest) = (Vec::new(), 0, 0);
    let mut body = write::Zone::begin(&row(&zone), true, &mut out);
    for number in 0..20_000u32 {
        let mut sets = SetsBuf::default();
        sets.begin(&zone, rtype::A, if number == 0 { What::Replace } else { What::Extend }, 60);
        assert!(sets.record(&number.to_be_bytes()));
        sets.end();
        sets.sets().iter().for_each(|set| body.set(&set, &mut out));
        (octets, largest) = (octets + out.len(), largest.max(out.len()));
        out.clear();
    }
    body.end(&mut out);
    assert!(octets > 800_000 && largest < 1_024 && out == b"]}]}", "{octets} {largest}");
}

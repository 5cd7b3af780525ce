//! Versions of a zone, as they are kept for IXFR: told to who may read it, and still there after a kill; and what leads back to one of them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use zonda_tests::patience::await_that;

use super::client::{Reply, rrset};
use super::{Bed, Fixture, SERVER, replace};

impl Fixture<'_> {
    fn history(&self, zone: &str, key: &str) -> (u16, Value) {
        let path = format!("/api/zonda/v1/zones/{zone}/history");
        let reply = self.ask("GET", &path, key, "", "").expect("a reply");
        (reply.status, reply.json())
    }

    /// Serials before and after, the newest version first.
    fn versions(&self, zone: &str) -> Vec<(u64, u64)> {
        let (status, told) = self.history(zone, &self.bed.acme);
        assert_eq!(status, 200, "{told}");
        let serial = |version: &Value, name: &str| version[name].as_u64().expect("a serial");
        let pair = |version: &Value| (serial(version, "old-serial"), serial(version, "new-serial"));
        told.as_array().expect("a list").iter().map(pair).collect()
    }

    fn undo(&self, zone: &str, serial: u64, key: &str) -> Reply {
        let path = format!("/api/zonda/v1/zones/{zone}/history/{serial}/undo");
        self.ask("GET", &path, key, "", "").expect("a reply")
    }

    /// All RRsets of a zone but its SOA record, whose serial goes on.
    fn rrsets(&self, zone: &str) -> Vec<Value> {
        let told = self.get(&format!("/zones/{zone}"), &self.bed.acme).json();
        let all = told["rrsets"].as_array().expect("RRsets");
        all.iter().filter(|set| set["type"] != "SOA").cloned().map(in_order).collect()
    }
}

/// An RRset with its records in order, which servers do not keep.
fn in_order(mut set: Value) -> Value {
    let records = set["records"].as_array_mut().expect("records");
    records.sort_by_key(ToString::to_string);
    set
}

#[test]
fn versions_are_told() {
    let bed = Bed::new();
    let fixture = bed.start();
    assert_eq!(fixture.history("a.test.", &bed.acme), (200, json!([])));
    for number in 1..=3 {
        let set = replace(&format!("n{number}.a.test."), "192.0.2.1");
        // What it is known by if it comes again is no version.
        let headers = format!("Idempotency-Key: {number}\r\n");
        assert_eq!(fixture.patch("a.test.", &bed.acme, &headers, &[set]).status, 204);
        // At once, as for IXFR.
        let newest = fixture.versions("A.test");
        assert_eq!((newest.len(), newest[0]), (number, (number as u64, number as u64 + 1)));
    }
    let (_, told) = fixture.history("a.test.", &bed.reader);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let newest = &told[0];
    assert!(newest["octets"].as_u64().is_some_and(|octets| octets > 20), "{told}");
    assert!(newest["time"].as_u64().is_some_and(|time| time <= now && time + 60 > now), "{told}");
    assert_eq!(fixture.versions("b.test."), []);
    // Who may not read, or not see.
    assert_eq!(fixture.history("a.test.", &bed.observer).0, 403);
    assert_eq!(
        ["static.test.", "none.test.", "other."].map(|zone| fixture.history(zone, &bed.acme).0),
        [404; 3]
    );
    assert_eq!(fixture.history("none.test.", &bed.reader).0, 404);
    let expected = [(3, 4), (2, 3), (1, 2)];
    let fixture = fixture.kill_and_start_again();
    await_that("the history", || fixture.versions("a.test.") == expected);
}

/// What was told of a version, sent as it is, makes the zone that version again, under a serial of its own.
#[test]
fn what_leads_back_is_a_patch() {
    let bed = Bed::new();
    let fixture = bed.start();
    let acme = &*bed.acme;
    let patch = |fixture: &Fixture<'_>, sets: &[Value]| {
        let reply = fixture.patch("a.test.", acme, "", sets);
        assert_eq!(reply.status, 204, "{reply:?}");
    };
    let pair = &["192.0.2.1", "192.0.2.2"];
    patch(&fixture, &[rrset("n.a.test.", "A", "REPLACE", 60, pair), replace("gone.a.test.", "192.0.2.3")]);
    patch(&fixture, &[rrset("t.a.test.", "TXT", "REPLACE", 30, &["\"a b\"", "\"\\\"\\195\""])]);
    let (before, serial) = (fixture.rrsets("a.test."), u64::from(fixture.serial("a.test.")));
    // A record, a TTL, a type, a name; and what comes and goes again.
    patch(
        &fixture,
        &[rrset("n.a.test.", "A", "EXTEND", 60, &["192.0.2.9"]), rrset("t.a.test.", "TXT", "DELETE", 0, &[])],
    );
    patch(
        &fixture,
        &[rrset("n.a.test.", "A", "REPLACE", 5, &["192.0.2.2"]), replace("new.a.test.", "192.0.2.4")],
    );
    patch(&fixture, &[rrset("gone.a.test.", "A", "DELETE", 0, &[]), replace("passing.a.test.", "192.0.2.5")]);
    patch(&fixture, &[rrset("passing.a.test.", "A", "DELETE", 0, &[])]);
    let soa = "ns.a.test. host.a.test. 1 7200 3600 1209600 61";
    patch(&fixture, &[rrset("a.test.", "SOA", "REPLACE", 61, &[soa])]);
    let fixture = fixture.kill_and_start_again();
    let now = u64::from(fixture.serial("a.test."));
    assert_eq!(fixture.undo("a.test.", now, acme).json(), json!({"rrsets": []}));
    let told = fixture.undo("A.test", serial, acme);
    assert_eq!(told.status, 200, "{told:?}");
    let all = told.json();
    let names: Vec<&str> =
        all["rrsets"].as_array().expect("RRsets").iter().filter_map(|set| set["name"].as_str()).collect();
    assert_eq!(names, ["a.test.", "gone.a.test.", "n.a.test.", "new.a.test.", "t.a.test."]);
    // It is for the version that was seen, and no other.
    let tag = told.header("etag").expect("a tag").to_owned();
    let send = |fixture: &Fixture<'_>, tag: &str, body: &str| {
        let (path, tag) = (format!("{SERVER}/zones/a.test."), format!("If-Match: {tag}\r\n"));
        fixture.ask("PATCH", &path, acme, &tag, body).expect("a reply").status
    };
    patch(&fixture, &[replace("late.a.test.", "192.0.2.6")]);
    assert_eq!(send(&fixture, &tag, &told.text), 412);
    let told = fixture.undo("a.test.", serial, acme);
    assert_eq!(send(&fixture, told.header("etag").expect("a tag"), &told.text), 204);
    assert_eq!((fixture.rrsets("a.test."), u64::from(fixture.serial("a.test."))), (before, now + 2));
    assert_eq!(fixture.undo("a.test.", serial, acme).json(), json!({"rrsets": []}));
    // Back and forth: to undo that is to undo the last version.
    assert!(
        fixture.undo("a.test.", now + 1, acme).json()["rrsets"].as_array().is_some_and(|all| all.len() == 6)
    );
    assert_eq!(fixture.undo("a.test.", 77, acme).status, 404);
    assert_eq!(
        [fixture.undo("a.test.", serial, &bed.observer).status, fixture.undo("other.", 1, acme).status],
        [403, 404]
    );
}

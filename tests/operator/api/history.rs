//! Versions of a zone, as they are kept for IXFR: told to who may read it, and still there after a kill.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use zonda_tests::patience::await_that;

use super::{Bed, Fixture, replace};

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

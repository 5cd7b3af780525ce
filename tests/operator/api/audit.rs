//! The audit: who changed what, and who tried to.

use std::fs;

use serde_json::{Value, json};
use zonda_tests::patience::await_that;
use zonda_tests::server::ctl;

use super::{Bed, SERVER, replace, rrset};

#[test]
fn each_that_would_change_something_has_a_line() {
    let mut bed = Bed::new();
    let file = bed.audited();
    let fixture = bed.start();
    let lines = || -> Vec<Value> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    };
    let acme = &*bed.acme;
    let secret = rrset("t.a.test.", "TXT", "REPLACE", 60, &["\"contents\""]);
    assert_eq!(fixture.patch("a.test.", acme, "", &[replace("x.a.test.", "192.0.2.1"), secret]).status, 204);
    assert_eq!(fixture.patch("a.test.", acme, "", &[replace("fixed.a.test.", "192.0.2.1")]).status, 403);
    assert_eq!(fixture.patch("none.test.", acme, "", &[replace("none.test.", "192.0.2.1")]).status, 404);
    let dry = format!("{SERVER}/zones/a.test.?dry-run=true");
    let body = super::body(&[replace("y.a.test.", "192.0.2.1")]);
    assert_eq!(fixture.ask("PATCH", &dry, acme, "", &body).expect("a reply").status, 200);
    let notify = format!("{SERVER}/zones/a.test./notify");
    assert_eq!(fixture.ask("PUT", &notify, acme, "", "").expect("a reply").status, 200);
    // What is read, and who has no key, has none.
    assert_eq!(fixture.get("/zones/a.test.", acme).status, 200);
    assert_eq!(fixture.patch("a.test.", "wrong", "", &[replace("x.a.test.", "192.0.2.1")]).status, 401);
    await_that("five lines", || lines().len() == 5);
    let told = lines();
    let of = |name: &str| -> Vec<Value> { told.iter().map(|line| line[name].clone()).collect() };
    assert_eq!(of("status"), [204, 403, 404, 200, 200]);
    assert_eq!(of("method"), ["PATCH", "PATCH", "PATCH", "PATCH", "notify"]);
    assert!(told.iter().all(|line| line["key"] == "acme" && line["address"] == "127.0.0.1"), "{told:?}");
    let first = &told[0];
    assert_eq!((&first["zone"], &first["serials"]), (&json!("a.test."), &json!([1, 2])));
    assert_eq!(first["rrsets"], json!(["x.a.test. A REPLACE", "t.a.test. TXT REPLACE"]));
    assert!(told[1]["why"].as_str().is_some_and(|words| words.contains("rule 1 of this key")), "{told:?}");
    assert_eq!(told[3]["dry"], true);
    let text = fs::read_to_string(&file).expect("the audit");
    assert!(!text.contains("contents") && !text.contains(acme) && !text.contains("192.0.2"), "{text}");
    // Refusals of one key have so many lines a minute, and what is done has all of its own.
    for _ in 0..70 {
        assert_eq!(fixture.patch("a.test.", acme, "", &[replace("fixed.a.test.", "192.0.2.1")]).status, 403);
    }
    assert_eq!(fixture.patch("a.test.", acme, "", &[replace("last.a.test.", "192.0.2.1")]).status, 204);
    await_that("the last line", || lines().last().is_some_and(|line| line["status"] == 204));
    assert_eq!(lines().iter().filter(|line| line["status"].as_u64() >= Some(400)).count(), 60);
    // What waits is written at the end.
    assert_eq!(fixture.patch("a.test.", acme, "", &[replace("end.a.test.", "192.0.2.1")]).status, 204);
    assert!(ctl(&fixture.server, &["stop"]).status.success());
    await_that("the end", || !fixture.server.process.is_running());
    let told = lines();
    let [.., end, left_out] = &told[..] else { panic!("{told:?}") };
    assert_eq!(end["rrsets"], json!(["end.a.test. A REPLACE"]));
    // With how many refusals had none.
    assert_eq!(*left_out, json!({"key": "acme", "refusals": 12}));
}

/// A file that cannot be written holds nobody up.
#[test]
fn without_a_place_changes_go_on() {
    let mut bed = Bed::new();
    bed.keys = format!("audit = \"file:/proc/none/audit.jsonl\"\n{}", bed.keys);
    let fixture = bed.start();
    for number in 0..20 {
        let name = format!("x{number}.a.test.");
        assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace(&name, "192.0.2.1")]).status, 204);
    }
    fixture.server.await_log("[api] audit:");
}

/// Zones that are made, set and removed, or were to be.
#[test]
fn so_have_zones_that_come_and_go() {
    let mut bed = Bed::new();
    let file = bed.audited();
    let fixture = bed.start();
    let (zones, zone) = (format!("{SERVER}/zones"), format!("{SERVER}/zones/one.made.test."));
    let made =
        json!({"name": "one.made.test.", "kind": "Native", "nameservers": [], "rrsets": []}).to_string();
    for (method, path, key, body, status) in [
        ("POST", &zones, &bed.maker, &*made, 201),
        ("POST", &zones, &bed.maker, &*made, 409),
        ("PUT", &zone, &bed.maker, "{\"account\": \"ours\"}", 204),
        ("DELETE", &zone, &bed.acme, "", 404),
        ("DELETE", &zone, &bed.maker, "", 204),
    ] {
        let reply = fixture.ask(method, path, key, "", body).expect("a reply");
        assert_eq!(reply.status, status, "{method}: {reply:?}");
    }
    let lines = || fs::read_to_string(&file).unwrap_or_default();
    await_that("five lines", || lines().lines().count() == 5);
    let told: Vec<Value> =
        lines().lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let of = |name: &str| -> Vec<Value> { told.iter().map(|line| line[name].clone()).collect() };
    assert_eq!(of("method"), ["POST", "POST", "PUT", "DELETE", "DELETE"]);
    assert_eq!(of("status"), [201, 409, 204, 404, 204]);
    assert_eq!(of("key"), ["maker", "maker", "maker", "acme", "maker"]);
    assert!(told.iter().all(|line| line["zone"] == "one.made.test."), "{told:?}");
}

//! Several zones in one commit: all of them or none, whoever else changes them, and whenever the server is killed.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use zonda_tests::mutate::Random;
use zonda_tests::patience::{await_some, await_that};
use zonda_tests::server::{ctl, free_address, signal};

use super::client::{Client, Reply};
use super::{Bed, Fixture, new_key, replace, rrset};
use crate::http::client::get;

const CHANGES: &str = "/api/zonda/v1/changes";

/// A zone of a request.
fn zone(name: &str, rrsets: &[Value]) -> Value {
    json!({"name": name, "rrsets": rrsets})
}

/// The same in this version.
fn zone_in(name: &str, tag: &str, rrsets: &[Value]) -> Value {
    json!({"name": name, "if-match": tag, "rrsets": rrsets})
}

fn post(fixture: &Fixture<'_>, key: &str, zones: &[Value]) -> Reply {
    let body = json!({ "zones": zones }).to_string();
    fixture.ask("POST", CHANGES, key, "", &body).expect("a reply")
}

/// One address more in both zones.
fn both(address: &str) -> [Value; 2] {
    [zone("a.test.", &[replace("new.a.test.", address)]), zone("b.test.", &[replace("new.b.test.", address)])]
}

#[test]
fn all_are_changed_at_once() {
    let bed = Bed::new();
    let fixture = bed.start();
    let acme = &*bed.acme;
    let done = post(&fixture, acme, &both("192.0.2.9"));
    let of = |name: &str, before: u32, after: u32| json!({"name": name, "done": true, "status": 204, "old-serial": before, "new-serial": after});
    assert_eq!(
        (done.status, done.json()),
        (200, json!({"zones": [of("a.test.", 1, 2), of("b.test.", 1, 2)]})),
        "{done:?}"
    );
    for zone in ["a.test.", "b.test."] {
        assert_eq!(fixture.addresses(&format!("new.{zone}")), [[192, 0, 2, 9]]);
        let difference = fixture.ixfr(zone, 1);
        assert!(fixture.serial(zone) == 2 && difference.contains("192.0.2.9"), "{difference}");
    }
    // The same once more is none; where one changes, the other stays as it is.
    let again = post(&fixture, acme, &both("192.0.2.9")).json();
    assert_eq!(again, json!({"zones": [of("a.test.", 2, 2), of("b.test.", 2, 2)]}));
    let one = [both("192.0.2.9")[0].clone(), both("192.0.2.10")[1].clone()];
    let one = post(&fixture, acme, &one).json();
    assert_eq!(one, json!({"zones": [of("a.test.", 2, 2), of("b.test.", 2, 3)]}));
    // In versions that were read. One without RRsets is only looked at.
    let tag = |name: &str| {
        let row = fixture.get(&format!("/zones/{name}?rrsets=false"), acme);
        row.header("etag").expect("a tag").to_owned()
    };
    let (a, b) = (tag("a.test."), tag("b.test."));
    let set = [replace("new.a.test.", "192.0.2.11")];
    let done = post(&fixture, acme, &[zone_in("a.test.", &a, &set), zone_in("b.test.", &b, &[])]).json();
    assert_eq!(
        (&done["zones"][0]["tag"], &done["zones"][1]["tag"]),
        (&json!(tag("a.test.")), &json!(b)),
        "{done}"
    );
    assert_ne!(tag("a.test."), a);
    let set = [replace("x.b.test.", "192.0.2.1")];
    let stale = post(&fixture, acme, &[zone("b.test.", &set), zone_in("a.test.", &a, &[])]);
    let words = "the zone is in another version";
    let why = json!({"error": format!("a.test.: {words}"), "zones": [
        {"name": "b.test.", "done": false, "status": 424},
        {"name": "a.test.", "done": false, "status": 412, "error": words}
    ]});
    assert_eq!((stale.status, stale.json()), (412, why));
    // What would be, and nothing is done.
    let dry = json!({"dry-run": true, "zones": both("192.0.2.12")}).to_string();
    let dry = fixture.ask("POST", CHANGES, acme, "", &dry).expect("a reply");
    for (number, name) in ["a.test.", "b.test."].iter().enumerate() {
        let zone = &dry.json()["zones"][number];
        assert_eq!(
            (dry.status, &zone["done"], &zone["tag"]),
            (200, &json!(false), &json!(tag(name))),
            "{dry:?}"
        );
        assert!(zone["rrsets"].to_string().contains("192.0.2.12"), "{dry:?}");
    }
    assert_eq!([fixture.serial("a.test."), fixture.serial("b.test.")], [3, 3]);
    assert_eq!(fixture.addresses("new.a.test."), [[192, 0, 2, 11]]);
    // What was answered is there after the server was killed.
    assert_eq!(post(&fixture, acme, &both("192.0.2.13")).status, 200);
    let fixture = fixture.kill_and_start_again();
    for zone in ["a.test.", "b.test."] {
        assert_eq!(
            (fixture.addresses(&format!("new.{zone}")), fixture.serial(zone)),
            (vec![vec![192, 0, 2, 13]], 4)
        );
    }
}

/// Whatever is wrong with one of them: it is said which, and nothing of the others is done.
#[test]
fn one_that_cannot_be_changed_has_none_changed() {
    let bed = Bed::new();
    let fixture = bed.start();
    let (acme, maker) = (&*bed.acme, &*bed.maker);
    let fine = |name: &str| zone(name, &[replace(&format!("x.{name}"), "192.0.2.1")]);
    let refused = |key: &str, first: &str, wrong: Value, status: u16, words: &str| {
        let name = wrong["name"].clone();
        let reply = post(&fixture, key, &[fine(first), wrong]);
        let told = reply.json();
        let (first, second) = (&told["zones"][0], &told["zones"][1]);
        assert_eq!(
            (reply.status, &first["status"], &second["status"]),
            (status, &json!(424), &json!(status)),
            "{reply:?}"
        );
        assert_eq!((&second["name"], &first["done"], &second["done"]), (&name, &json!(false), &json!(false)));
        assert!(second.to_string().contains(words), "{words}: {reply:?}");
        for zone in ["a.test.", "b.test."] {
            assert!(
                fixture.addresses(&format!("x.{zone}")).is_empty() && fixture.serial(zone) == 1,
                "{reply:?}"
            );
        }
    };
    let alias = rrset("www.b.test.", "CNAME", "REPLACE", 60, &["ns.b.test."]);
    refused(
        acme,
        "a.test.",
        zone("b.test.", &[alias]),
        422,
        "www.b.test. CNAME: a CNAME record and other data",
    );
    let kept = [replace("kept.a.test.", "192.0.2.1")];
    refused(acme, "b.test.", zone("a.test.", &kept), 403, "kept.a.test. A: denied by rule 1 of the zone");
    let fixed = [replace("fixed.a.test.", "192.0.2.1")];
    refused(acme, "b.test.", zone("a.test.", &fixed), 403, "fixed.a.test. A: denied by rule 1 of this key");
    refused(acme, "a.test.", zone("b.test.", &[replace("x.a.test.", "192.0.2.1")]), 422, "outside the zone");
    refused(acme, "a.test.", fine("plain.test."), 422, "update-policy");
    // One that is there and not for this key is as one that is not; so is the other of two of which a key has one.
    for other in ["static.test.", "none.test.", "other."] {
        refused(acme, "a.test.", fine(other), 404, "no such zone");
    }
    refused(maker, "a.test.", fine("b.test."), 404, "no such zone");
    refused(acme, "a.test.", zone_in("b.test.", "\"1-0000000000000001\"", &[]), 412, "another version");
    let operator = |words: &[&str]| assert!(ctl(&fixture.server, words).status.success());
    operator(&["freeze", "a.test."]);
    refused(acme, "b.test.", fine("a.test."), 409, "frozen");
    operator(&["thaw", "a.test."]);
    // Of one alone it is known which.
    let one = post(&fixture, acme, &[zone("a.test.", &kept)]);
    let words = "kept.a.test. A: denied by rule 1 of the zone's update-policy";
    assert_eq!((one.status, &one.json()["zones"][0]["errors"]), (403, &json!([words])), "{one:?}");
    // What is wrong with the request is no zone's fault.
    let status = |key: &str, path: &str, headers: &str, body: &str| {
        let reply = fixture.ask("POST", path, key, headers, body).expect("a reply");
        assert!(reply.json()["zones"].is_null(), "{reply:?}");
        reply.status
    };
    let body = json!({"zones": both("192.0.2.1")}).to_string();
    assert_eq!(status("wrong", CHANGES, "", &body), 401);
    assert_eq!(status(&bed.reader, CHANGES, "", &body), 403);
    assert_eq!(status(acme, CHANGES, "If-Match: *\r\n", &body), 422);
    assert_eq!(status(acme, CHANGES, "Idempotency-Key: a b\r\n", &body), 422);
    assert_eq!(status(acme, &format!("{CHANGES}?dry-run=true"), "", &body), 422);
    for (wrong, expected) in [
        ("{", 400),
        ("{}", 422),
        ("[]", 422),
        ("{\"zones\": []}", 422),
        (&*body.replace("{\"zones\"", "{\"dry_run\": true, \"zones\""), 422),
        (&*body.replace("\"name\":\"b.test.\"", "\"name\":\"A.test.\""), 422),
        (&*body.replace("\"rrsets\"", "\"sets\""), 422),
    ] {
        assert_eq!(status(acme, CHANGES, "", wrong), expected, "{wrong}");
    }
    let sets: Vec<Value> =
        (0..600).map(|number| replace(&format!("n{number}.a.test."), "192.0.2.1")).collect();
    let other: Vec<Value> =
        (0..600).map(|number| replace(&format!("n{number}.b.test."), "192.0.2.1")).collect();
    assert_eq!(post(&fixture, acme, &[zone("a.test.", &sets), zone("b.test.", &other)]).status, 413);
    assert_eq!([fixture.serial("a.test."), fixture.serial("b.test.")], [1, 1]);
}

/// A client that did not hear what came of its request asks again: it is told, and nothing is done twice, by this server or the next.
#[test]
fn the_same_request_again() {
    let bed = Bed::new();
    let fixture = bed.start();
    let acme = &*bed.acme;
    let named = |fixture: &Fixture<'_>, name: &str, zones: &[Value]| {
        let body = json!({ "zones": zones }).to_string();
        fixture.ask("POST", CHANGES, acme, &format!("Idempotency-Key: {name}\r\n"), &body).expect("a reply")
    };
    let patch = |fixture: &Fixture<'_>, name: &str, address: &str| {
        let headers = format!("Idempotency-Key: {name}\r\n");
        fixture.patch("a.test.", acme, &headers, &[rrset("p.a.test.", "A", "EXTEND", 60, &[address])])
    };
    let first = named(&fixture, "one", &both("192.0.2.1"));
    assert_eq!((first.status, fixture.serial("a.test.")), (200, 2), "{first:?}");
    let patched = patch(&fixture, "two", "192.0.2.2");
    assert_eq!((patched.status, patched.serial("x-pdns-new-serial")), (204, 3));
    let again = |fixture: &Fixture<'_>| {
        assert_eq!(named(fixture, "one", &both("192.0.2.1")).json(), first.json());
        let again = patch(fixture, "two", "192.0.2.2");
        let serials = ["x-pdns-old-serial", "x-pdns-new-serial"].map(|name| again.serial(name));
        assert_eq!((again.status, serials), (204, [2, 3]));
        assert_eq!([fixture.serial("a.test."), fixture.serial("b.test.")], [3, 2]);
    };
    again(&fixture);
    // Another request needs another name, whichever it is of.
    let other = named(&fixture, "one", &both("192.0.2.9"));
    assert!(other.status == 422 && other.text.contains("another request"), "{other:?}");
    assert_eq!(patch(&fixture, "one", "192.0.2.9").status, 422);
    again(&fixture);
    let fixture = fixture.kill_and_start_again();
    again(&fixture);
}

/// A line each, with all zones; and one in the numbers.
#[test]
fn they_are_written_down_and_counted() {
    let mut bed = Bed::new();
    let file = bed.audited();
    let http = free_address();
    let fixture = bed.start_with(&format!("\n[http]\nlisten = [\"{http}\"]\n"));
    let number = |outcome: &str| -> Option<u64> {
        let metrics = get(http, "/metrics")?.text;
        let name = format!("zonda_api_asks_total{{outcome=\"{outcome}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&*name)?.parse().ok())
    };
    let [done, denied] = ["done", "denied"].map(|name| await_some(|| "numbers".into(), || number(name)));
    let acme = &*bed.acme;
    assert_eq!(post(&fixture, acme, &both("192.0.2.1")).status, 200);
    let stranger = zone("static.test.", &[replace("x.static.test.", "192.0.2.1")]);
    assert_eq!(post(&fixture, acme, &[both("192.0.2.2")[0].clone(), stranger]).status, 404);
    let lines = || -> Vec<Value> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    };
    await_that("two lines", || lines().len() == 2);
    let told = lines();
    assert!(told.iter().all(|line| line["key"] == "acme" && line["method"] == "changes"), "{told:?}");
    assert_eq!(
        (&told[0]["status"], &told[0]["zones"], &told[0]["rrsets"]),
        (
            &json!(200),
            &json!([{"zone": "a.test.", "serials": [1, 2]}, {"zone": "b.test.", "serials": [1, 2]}]),
            &json!(["new.a.test. A REPLACE", "new.b.test. A REPLACE"])
        )
    );
    assert_eq!(
        (&told[1]["status"], &told[1]["zones"], &told[1]["why"]),
        (
            &json!(404),
            &json!([{"zone": "a.test."}, {"zone": "static.test."}]),
            &json!("static.test.: no such zone")
        )
    );
    await_that("both in the numbers", || number("done") > Some(done) && number("denied") > Some(denied));
}

/// Zones of the test that kills, and how often it does.
const ZONES: usize = 5;
const KILLS: usize = 12;
/// The longest that a server lives there.
const LIFE_MS: usize = 250;

const KEY: &str = "c2VjcmV0IG9mIHRoZSB0ZXN0cw==";

/// Settings of these zones, which a key of the API and one of updates may change; and the key of the API.
fn many(bed: &Bed) -> (String, String) {
    let (hash, secret) = new_key("many");
    let folder = bed.files.path().display();
    let zone = |number: usize| {
        format!(
            "\n[[zone]]\nname = \"z{number}.many.\"\nfile = \"{folder}/zone\"\nallow-update = \"own\"\nupdate-policy = \"many\"\n"
        )
    };
    let zones: String = (0..ZONES).map(zone).collect();
    let more = format!(
        "\n[[key]]\nname = \"own.\"\nalgorithm = \"hmac-sha256\"\nsecret = \"{KEY}\"\n\n[[acl]]\nname = \"own\"\nkeys = [\"own.\"]\n\
         \n[[update-policy]]\nname = \"many\"\nrules = [\"grant own. zonesub ANY\", \"grant api:many zonesub ANY\"]\n\
         \n[[api-key]]\nname = \"many\"\nhash = {hash}\nverbs = \"change\"\nzones = \"*.many.\"\nrules = \"grant zonesub ANY\"\n{zones}"
    );
    (more, secret)
}

/// Has all zones have one number after the other, until nobody answers: the last that was acknowledged, and the last that was asked for.
fn change_until_killed(mut client: Client, key: &str, mut number: u32) -> (u32, u32) {
    loop {
        let next = number + 1;
        let [_, high, middle, low] = next.to_be_bytes();
        let address = format!("10.{high}.{middle}.{low}");
        let zones: Vec<Value> = (0..ZONES)
            .map(|number| {
                zone(&format!("z{number}.many."), &[replace(&format!("www.z{number}.many."), &address)])
            })
            .collect();
        match client.ask("POST", CHANGES, key, "", &json!({ "zones": zones }).to_string()) {
            Some(reply) if reply.status == 200 => number = next,
            Some(reply) => assert_eq!(reply.status, 503, "{reply:?}"),
            None => return (number, next),
        }
    }
}

/// Has `nsupdate` add names to one of the zones beside that, from this number on; the number of the first that was not acknowledged.
fn update_until(port: u16, is_over: &AtomicBool, mut number: u32) -> u32 {
    while !is_over.load(Ordering::Relaxed) {
        let mut command = Command::new("nsupdate");
        command.args(["-t", "1", "-r", "0", "-y", &format!("hmac-sha256:own.:{KEY}")]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the program nsupdate (package bind9-dnsutils)");
        let script = format!(
            "server 127.0.0.1 {port}\nzone z0.many.\nupdate add u{number}.z0.many. 60 A 192.0.2.1\nsend\n"
        );
        child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
        if !child.wait().expect("an end").success() {
            break;
        }
        number += 1;
    }
    number
}

#[test]
fn killed_at_any_moment_all_or_none() {
    let bed = Bed::new();
    let (more, key) = many(&bed);
    let (mut random, mut number, mut updates, mut acknowledged_in_all) = (Random::new(1), 0, 0, 0);
    let mut fixture = bed.start_with(&more);
    for kill in 0..KILLS {
        let (port, pid) = (fixture.server.address.port(), fixture.server.process.pid());
        let client = Client::new(fixture.at).expect("a connection");
        let is_over = AtomicBool::new(false);
        let (key, over) = (&key, &is_over);
        let ((acknowledged, asked), updated) = std::thread::scope(|scope| {
            let changes = scope.spawn(move || change_until_killed(client, key, number));
            let beside = scope.spawn(move || update_until(port, over, updates));
            std::thread::sleep(Duration::from_millis(random.below(LIFE_MS) as u64));
            over.store(true, Ordering::Relaxed);
            signal(pid, "KILL");
            (changes.join().expect("no panic"), beside.join().expect("no panic"))
        });
        let Fixture { mut server, .. } = fixture;
        server.process.wait(Duration::from_secs(10)).expect("an end");
        drop(server);
        fixture = bed.start_with(&more);
        let numbers: Vec<u32> = (0..ZONES)
            .map(|zone| match &fixture.addresses(&format!("www.z{zone}.many."))[..] {
                [address] if address[0] == 10 => u32::from_be_bytes([0, address[1], address[2], address[3]]),
                _ => 0,
            })
            .collect();
        let place = format!("kill {kill}: {acknowledged} to {asked}");
        assert!(numbers.iter().all(|number| *number == numbers[0]), "{place}: {numbers:?}");
        assert!((acknowledged..=asked).contains(&numbers[0]), "{place}: {numbers:?}");
        for update in updates..updated {
            assert_eq!(
                fixture.addresses(&format!("u{update}.z0.many.")).len(),
                1,
                "{place}: update {update}"
            );
        }
        acknowledged_in_all += acknowledged - number;
        // One that was not acknowledged may be there.
        (number, updates) = (numbers[0], updated + 1);
    }
    assert!(
        acknowledged_in_all as usize > 2 * KILLS && updates as usize > KILLS,
        "{acknowledged_in_all} {updates}"
    );
}

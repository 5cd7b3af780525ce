//! Zones that are made and removed over the API: what is answered is so, whenever the server is killed.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use zonda_tests::server::{ctl, free_address, signal};

use super::client::{Client, Reply, rrset};
use super::{Bed, Fixture, SERVER, is_root, replace};
use crate::kit::zonda;

/// How often the server is killed while zones come and go.
const ROUNDS: u64 = 6;

impl Fixture<'_> {
    fn post(&self, key: &str, body: &serde_json::Value) -> Reply {
        self.ask("POST", &format!("{SERVER}/zones"), key, "", &body.to_string()).expect("a reply")
    }

    fn put(&self, zone: &str, key: &str, body: &serde_json::Value) -> Reply {
        self.ask("PUT", &format!("{SERVER}/zones/{zone}"), key, "", &body.to_string()).expect("a reply")
    }

    fn delete(&self, zone: &str, key: &str, headers: &str) -> Reply {
        self.ask("DELETE", &format!("{SERVER}/zones/{zone}"), key, headers, "").expect("a reply")
    }

    /// What a command prints.
    fn said(&self, command: &[&str]) -> String {
        let output = ctl(&self.server, command);
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

/// A zone as a client makes it.
fn zone(name: &str, address: &str) -> serde_json::Value {
    json!({"name": name, "kind": "Native", "nameservers": ["ns1.example."], "rrsets": [replace(&format!("www.{name}"), address)]})
}

#[test]
fn a_zone_s_life() {
    let bed = Bed::new();
    let fixture = bed.start();
    let maker = &*bed.maker;
    let name = "one.made.test.";
    // As Terraform sends it: empty fields, no records.
    let made = fixture.post(
        maker,
        &json!({"id": "", "name": name, "url": "", "kind": "Master", "dnssec": false, "serial": 0, "soa_edit_api": "EPOCH", "account": "ours",
                "nameservers": [], "masters": [], "rrsets": [replace("www.one.made.test.", "192.0.2.1")]}),
    );
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.header("location"), Some("/api/v1/servers/localhost/zones/one.made.test."));
    let told = made.json();
    for (field, value) in [
        ("id", json!(name)),
        ("kind", json!("Master")),
        ("account", json!("ours")),
        ("soa_edit_api", json!("EPOCH")),
        ("url", json!("/api/v1/servers/localhost/zones/one.made.test.")),
    ] {
        assert_eq!(told[field], value, "{told}");
    }
    let types: Vec<_> =
        told["rrsets"].as_array().expect("RRsets").iter().map(|set| set["type"].clone()).collect();
    assert_eq!(types, ["SOA", "NS", "A"], "{told}");
    assert!(made.text.contains("ns1.example."));
    assert_eq!(fixture.addresses("www.one.made.test."), [[192, 0, 2, 1]]);
    assert_eq!(fixture.get("/zones?zone=one.made.test.", maker).json()[0]["kind"], "Master");
    assert_eq!(fixture.get("/zones/one.made.test.", maker).json()["rrsets"], told["rrsets"]);
    // Once; by who may; of names that may be; of contents that can be.
    let refused = |key: &str, body: serde_json::Value, status: u16, words: &str| {
        let reply = fixture.post(key, &body);
        assert!(reply.status == status && reply.text.contains(words), "{status} {words}: {reply:?}");
    };
    refused(maker, zone("ONE.made.test.", "192.0.2.9"), 409, "key maker");
    refused(&bed.acme, zone("two.made.test.", "192.0.2.9"), 403, "may not make");
    refused(maker, zone("made.test.", "192.0.2.9"), 403, "for this key");
    refused(maker, zone("a.test.", "192.0.2.9"), 403, "no zone of this name is made here");
    refused("wrong", zone("two.made.test.", "192.0.2.9"), 401, "key");
    let alias = rrset("www.two.made.test.", "CNAME", "REPLACE", 60, &["x."]);
    let both = json!({"name": "two.made.test.", "kind": "Native", "rrsets": [replace("www.two.made.test.", "192.0.2.9"), alias]});
    refused(maker, both, 422, "CNAME");
    let outside = json!({"name": "two.made.test.", "kind": "Native", "rrsets": [replace("www.other.test.", "192.0.2.9")]});
    refused(maker, outside, 422, "www.other.test. A: ");
    refused(
        maker,
        json!({"name": "two.made.test.", "kind": "Slave", "masters": ["192.0.2.1"]}),
        422,
        "[[zone]]",
    );
    assert_eq!(fixture.get("/zones/two.made.test.", maker).status, 404);
    assert_eq!(fixture.get("/zones", maker).json().as_array().map(Vec::len), Some(2));
    // Records and fields change, and what cannot be kept is not taken.
    assert_eq!(fixture.patch(name, maker, "", &[replace("www.one.made.test.", "192.0.2.2")]).status, 204);
    let set = json!({"name": name, "kind": "Native", "account": "theirs", "soa_edit_api": "", "serial": 7});
    assert_eq!(fixture.put(name, maker, &set).status, 204);
    for (body, words) in [
        (json!({"masters": ["192.0.2.1"]}), "masters"),
        (json!({"dnssec": true}), "signed"),
        (json!({"rrsets": [replace("www.one.made.test.", "192.0.2.3")]}), "PATCH"),
    ] {
        let reply = fixture.put(name, maker, &body);
        assert!(reply.status == 422 && reply.text.contains(words), "{words}: {reply:?}");
    }
    assert_eq!(fixture.put(name, &bed.reader, &set).status, 403);
    let of_settings = fixture.put("a.test.", maker, &set);
    assert!(of_settings.status == 422 && of_settings.text.contains("of the settings"), "{of_settings:?}");
    // Who looks at the server sees whose it is, and takes it away by nothing but its own way.
    assert!(fixture.said(&["zones"]).contains(" API"), "{}", fixture.said(&["zones"]));
    assert!(
        fixture.said(&["zones", name]).contains("made by   key maker"),
        "{}",
        fixture.said(&["zones", name])
    );
    assert!(fixture.said(&["status"]).contains("1 made over the API"), "{}", fixture.said(&["status"]));
    assert!(fixture.said(&["remove-zone", name]).contains("made over the API"));
    for command in ["reconfigure", "reload"] {
        assert!(ctl(&fixture.server, &[command]).status.success(), "{command}");
        assert_eq!(fixture.addresses("www.one.made.test."), [[192, 0, 2, 2]], "{command}");
    }
    let serial = fixture.serial(name);
    let fixture = fixture.kill_and_start_again();
    assert_eq!(
        (fixture.addresses("www.one.made.test."), fixture.serial(name)),
        (vec![vec![192, 0, 2, 2]], serial)
    );
    let kept = fixture.get("/zones/one.made.test.?rrsets=false", maker);
    for (field, value) in [("kind", "Native"), ("account", "theirs"), ("soa_edit_api", "")] {
        assert_eq!(kept.json()[field], value, "{kept:?}");
    }
    // Removed: by who may, of the version that is meant, once.
    assert_eq!(fixture.delete(name, &bed.reader, "").status, 403);
    assert_eq!(fixture.delete("a.test.", maker, "").status, 422);
    assert_eq!(fixture.delete(name, maker, "If-Match: \"1-0000000000000001\"\r\n").status, 412);
    let tag = format!("If-Match: {}\r\n", kept.header("etag").expect("a tag"));
    assert_eq!(fixture.delete(name, maker, &tag).status, 204);
    assert_eq!(fixture.delete(name, maker, "").status, 404);
    assert!(fixture.addresses("www.one.made.test.").is_empty());
    let fixture = fixture.kill_and_start_again();
    assert!(fixture.addresses("www.one.made.test.").is_empty());
    assert_eq!(fixture.get("/zones/one.made.test.", maker).status, 404);
    // Another one of the name is newer than that.
    assert_eq!(fixture.post(maker, &zone(name, "192.0.2.5")).status, 201);
    assert!(fixture.serial(name) > serial, "{} after {serial}", fixture.serial(name));
    assert_eq!(fixture.addresses("www.one.made.test."), [[192, 0, 2, 5]]);
}

/// A start that cannot know which zones were made, or whose rules are gone, is none: it would take them for gone, with all that changed in them.
#[test]
fn a_start_without_their_rules() {
    let bed = Bed::new();
    let fixture = bed.start();
    assert_eq!(fixture.post(&bed.maker, &zone("one.made.test.", "192.0.2.1")).status, 201);
    let changed =
        fixture.patch("one.made.test.", &bed.maker, "", &[replace("www.one.made.test.", "192.0.2.2")]);
    assert_eq!(changed.status, 204);
    let Fixture { mut server, .. } = fixture;
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
    drop(server);
    let folder = bed.files.path().display();
    let user = if is_root() { "user = \"65534\"\ngroup = \"65534\"\n" } else { "" };
    let settings = format!(
        "[control]\nsocket = \"{folder}/control.sock\"\n[server]\n{user}listen = [\"{}\"]\nserve-stored = false\npack-directory = \"{folder}/packs\"\n\
         [[zone]]\nname = \"other.\"\nfile = \"{folder}/zone\"\n",
        free_address()
    );
    let path = bed.files.path().join("without.toml");
    std::fs::write(&path, settings).expect("settings");
    let path = path.to_str().expect("a path");
    zonda(&["serve", "--config", path])
        .assert_fails(1, &["[api] template: expected the one of 1 zone made over the API"]);
    let fixture = bed.start();
    assert_eq!(fixture.addresses("www.one.made.test."), [[192, 0, 2, 2]]);
}

/// What was asked for of a zone last, and whether it was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Last {
    Made(u8),
    Gone,
}

/// Killed at any moment: what was answered is so, and what was not is so or not, but nothing in between.
#[test]
fn killed_at_any_moment() {
    let bed = Bed::new();
    let mut fixture = bed.start();
    // Of each zone what was answered last, and what was asked for after that.
    let mut zones: HashMap<String, (Last, Option<Last>)> = HashMap::new();
    for round in 0..ROUNDS {
        let (pid, at) = (fixture.server.process.pid(), fixture.at);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150 + 70 * round));
            signal(pid, "KILL");
        });
        let mut client = Client::new(at).expect("a connection");
        for step in 0u32.. {
            let name = format!("z{}.made.test.", step % 7);
            let before = zones.get(&name).map_or(Last::Gone, |(last, _)| *last);
            let path = format!("{SERVER}/zones/{name}");
            let address = (step % 200) as u8 + 1;
            let text = format!("192.0.2.{address}");
            let (next, method, path, body, status) = match before {
                Last::Gone => {
                    (Last::Made(address), "POST", format!("{SERVER}/zones"), zone(&name, &text), 201)
                }
                Last::Made(_) if step % 3 == 0 => (Last::Gone, "DELETE", path, serde_json::Value::Null, 204),
                Last::Made(_) => {
                    let set = replace(&format!("www.{name}"), &text);
                    (Last::Made(address), "PATCH", path, json!({ "rrsets": [set] }), 204)
                }
            };
            let body = if body.is_null() { String::new() } else { body.to_string() };
            zones.insert(name.clone(), (before, Some(next)));
            let Some(reply) = client.ask(method, &path, &bed.maker, "", &body) else { break };
            assert_eq!(reply.status, status, "{method} {name}: {reply:?}");
            zones.insert(name, (next, None));
        }
        killer.join().expect("an end");
        fixture = fixture.kill_and_start_again();
        for (name, (before, after)) in &mut zones {
            let found = match fixture.addresses(&format!("www.{name}"))[..] {
                [] => Last::Gone,
                [ref address] => Last::Made(address[3]),
                ref other => panic!("{name}: {other:?}"),
            };
            assert!(
                found == *before || Some(found) == *after,
                "{name}: {found:?} after {before:?}, {after:?}"
            );
            assert_eq!(
                found != Last::Gone,
                fixture.get(&format!("/zones/{name}"), &bed.maker).status == 200,
                "{name}"
            );
            (*before, *after) = (found, None);
        }
    }
    assert!(zones.len() > 3, "{zones:?}");
}

/// A client that did not hear what came of it asks again: nothing is done twice, by this server or the next.
#[test]
fn the_same_request_again() {
    let bed = Bed::new();
    let fixture = bed.start();
    let maker = &*bed.maker;
    let once = |fixture: &Fixture<'_>, method: &str, zone: &str, name: &str, body: &Value| {
        let path = format!("{SERVER}/zones{zone}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        fixture.ask(method, &path, maker, &format!("Idempotency-Key: {name}\r\n"), &body).expect("a reply")
    };
    let new =
        json!({"name": "x.made.test.", "kind": "Native", "account": "a", "nameservers": ["ns.example."]});
    let post = |fixture: &Fixture<'_>| once(fixture, "POST", "", "one", &new);
    let first = post(&fixture);
    assert_eq!(first.status, 201, "{first:?}");
    let again = post(&fixture);
    assert_eq!(
        (again.status, again.json(), again.header("location")),
        (201, first.json(), first.header("location"))
    );
    let put = |fixture: &Fixture<'_>, name: &str, account: &str| {
        once(fixture, "PUT", "/x.made.test.", name, &json!({ "account": account })).status
    };
    assert_eq!([put(&fixture, "two", "b"), put(&fixture, "three", "c"), put(&fixture, "two", "b")], [204; 3]);
    let of = |fixture: &Fixture<'_>| fixture.get("/zones/x.made.test.", maker);
    assert_eq!(of(&fixture).json()["account"], "c");
    let other = once(&fixture, "POST", "", "two", &new);
    assert!(other.status == 422 && other.text.contains("another request"), "{other:?}");
    let delete = |fixture: &Fixture<'_>, name: &str| {
        once(fixture, "DELETE", "/x.made.test.", name, &Value::Null).status
    };
    let gone = |fixture: &Fixture<'_>| {
        assert_eq!([delete(fixture, "four"), put(fixture, "two", "b"), of(fixture).status], [204, 204, 404]);
        let again = post(fixture);
        // What is told of it is what it was when it was made.
        assert_eq!((again.status, &again.json()["account"], of(fixture).status), (201, &json!("a"), 404));
        assert_eq!(delete(fixture, "five"), 404);
    };
    gone(&fixture);
    let fixture = fixture.kill_and_start_again();
    gone(&fixture);
    assert_eq!(once(&fixture, "POST", "", "six", &new).status, 201);
}

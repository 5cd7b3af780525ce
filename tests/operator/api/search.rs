//! What is read beside zones: searches over those that a key may see, and numbers of the server.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonda_tests::patience::{await_some, await_that};

use super::client::{Client, Reply, rrset};
use super::{Bed, Fixture, SERVER, await_child, replace};
use crate::kit::SOUND;

/// Zones of a folder, each with four records.
const MANY: usize = 2_000;

/// What a search may take, and some moments more, as others search at that time.
const SEARCH_WAIT: Duration = Duration::from_secs(10);

impl Fixture<'_> {
    fn search(&self, key: &str, query: &str) -> Reply {
        self.get(&format!("/search-data?{query}"), key)
    }

    /// The same once it was not ended for want of time: on a machine with much else to do the thread has next to none.
    fn search_in_time(&self, key: &str, query: &str) -> Reply {
        let in_time = |reply: &Reply| reply.header("x-zonda-cut") != Some("time");
        await_some(|| self.server.log(), || Some(self.search(key, query)).filter(in_time))
    }

    /// What a search finds, each as its kind, name and content.
    #[track_caller]
    fn found(&self, key: &str, query: &str) -> Vec<String> {
        let reply = self.search_in_time(key, query);
        assert_eq!((reply.status, reply.header("x-zonda-cut")), (200, None), "{reply:?}");
        let found = reply.json();
        let word = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let line = |item: &Value| {
            let [kind, name, content] = ["object_type", "name", "content"].map(|field| word(item, field));
            format!("{kind} {name} {content}").trim_end().to_owned()
        };
        let mut lines: Vec<String> = found.as_array().expect("a list").iter().map(line).collect();
        lines.sort();
        lines
    }
}

#[test]
fn what_a_key_may_see_is_found() {
    let bed = Bed::new();
    let fixture = bed.start();
    let (acme, reader) = (&*bed.acme, &*bed.reader);
    assert_eq!(
        fixture.search(acme, "q=www.a.test").json(),
        json!([{"object_type": "record", "name": "www.a.test.", "type": "A", "content": "192.0.2.2", "ttl": 60,
            "disabled": false, "zone": "a.test.", "zone_id": "a.test."}])
    );
    assert_eq!(
        fixture.search(acme, "q=B.TEST.&object_type=zone").json(),
        json!([{"object_type": "zone", "name": "b.test.", "zone": "b.test.", "zone_id": "b.test."}])
    );
    let zones = |key: &str, query: &str| fixture.found(key, &format!("{query}&object_type=zone"));
    assert_eq!(zones(acme, "q=*"), ["zone a.test.", "zone b.test.", "zone plain.test."]);
    assert_eq!(
        zones(reader, "q=*st*"),
        ["zone a.test.", "zone b.test.", "zone plain.test.", "zone static.test."]
    );
    // One that is no key's is found by none, by its records neither.
    assert_eq!([zones(reader, "q=other*"), fixture.found(reader, "q=*other")], [[""; 0], [""; 0]]);
    // By contents, with wildcards, in any case.
    let of = |owner: &str| format!("record {owner} 192.0.2.2");
    assert_eq!(fixture.found(acme, "q=192.0.2.2"), ["www.a.test.", "www.b.test.", "www.plain.test."].map(of));
    assert_eq!(fixture.found(acme, "q=192.0.2.%3f&object_type=record").len(), 6);
    assert_eq!(
        fixture.found(acme, "q=NS.a.t%3Fst"),
        ["record a.test. ns.a.test.", "record ns.a.test. 192.0.2.1"]
    );
    assert_eq!(fixture.found(acme, "q=*.a.test&max=1").len(), 1);
    assert_eq!(fixture.found(acme, "q=nothing"), [""; 0]);
    assert_eq!(fixture.found(acme, "q=*&object_type=comment"), [""; 0]);
    // What changes is found as it has become.
    let text = rrset("t.a.test.", "TXT", "REPLACE", 60, &["\"a needle; in hay\"", "\"hay\""]);
    assert_eq!(fixture.patch("a.test.", acme, "", &[text, replace("www.a.test.", "192.0.2.7")]).status, 204);
    assert_eq!(fixture.found(acme, "q=*needle*"), ["record t.a.test. \"a needle; in hay\""]);
    assert_eq!(fixture.found(acme, "q=www.a.test"), ["record www.a.test. 192.0.2.7"]);
    let gone = rrset("t.a.test.", "TXT", "DELETE", 0, &[]);
    assert_eq!(fixture.patch("a.test.", acme, "", &[gone]).status, 204);
    assert_eq!(fixture.found(acme, "q=*needle*"), [""; 0]);
    // HEAD says as much and tells nothing.
    let path = format!("{SERVER}/search-data?q=*");
    let head = fixture.ask("HEAD", &path, acme, "", "").expect("a reply");
    assert_eq!((head.status, &*head.text), (200, ""));
}

/// Keys that may not, and what is no search.
#[test]
fn who_may_search_for_what() {
    let bed = Bed::new();
    let fixture = bed.start();
    let child = await_child(&fixture);
    let status = |key: &str, query: &str| fixture.search(key, query).status;
    let observer = &*bed.observer;
    assert_eq!([status("", "q=*"), status("wrong", "q=*"), status(&bed.old, "q=*")], [401; 3]);
    assert_eq!([status(observer, "q=*"), status(observer, "q=*&object_type=comment")], [403; 2]);
    assert_eq!(status(&bed.acme, &format!("q={}", "%3f".repeat(1_024))), 200);
    assert_eq!(status(&bed.acme, &format!("q={}", "*".repeat(1_024))), 200);
    for query in [
        "",
        "q=",
        "x=y",
        &format!("q={}", "a".repeat(1_025)),
        "q=*&max=0",
        "q=*&max=-1",
        "q=*&max=1.5",
        "q=*&max=99999999999999999999",
        "q=*&max=",
        "q=*&object_type=zones",
        "q=*&object_type=",
        "q=*&q=*",
        &format!("q=*{}", "&a=".repeat(20)),
    ] {
        assert_eq!(status(&bed.acme, query), 422, "{query}");
    }
    for query in ["q=%", "q=%2", "q=%zz", "q=%ff", "q=a&%ff=b"] {
        assert_eq!(status(&bed.acme, query), 400, "{query}");
    }
    assert_eq!(status(&bed.acme, &format!("q={}", "a".repeat(20_000))), 431);
    // What means something elsewhere is searched for as it is.
    for query in [
        "q=%00",
        "q=%0d%0aX:%20y",
        "q=%22%5c%22",
        "q=%27%20OR%201=1--",
        "q=%c3%bc",
        "q=%25%5f",
        "q=.",
        "q=..",
    ] {
        assert_eq!(fixture.found(&bed.acme, query), [""; 0], "{query}");
    }
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let path = format!("{SERVER}/search-data?q=*");
        assert_eq!(fixture.ask(method, &path, &bed.acme, "", "").expect("a reply").status, 405);
    }
    assert_eq!(fixture.child(), Some(child));
}

/// Nothing is found in many zones, nor is anybody kept waiting by who searches; of more than may wait some is told, and that it is not all.
#[test]
fn searches_are_bounded() {
    let bed = Bed::new();
    let folder = bed.files.path().join("many");
    fs::create_dir(&folder).expect("a folder");
    for number in 0..MANY {
        fs::copy(bed.files.path().join("zone"), folder.join(format!("z{number}.test.zone"))).expect("a text");
    }
    let mut large = String::from("$TTL 60\n@ SOA ns host 1 3 2 5 5\n@ NS ns\nns A 192.0.2.1\n");
    for number in 0..900 {
        let string = format!("\"{}\" ", "x".repeat(250));
        large += &format!("n{number} TXT {}\n", string.repeat(4));
    }
    fs::write(folder.join("large.test.zone"), large).expect("a text");
    let fixture = bed.start_with(&format!("\n[[zone-directory]]\npath = \"{}\"\n", folder.display()));
    let reader = &*bed.reader;
    await_that("all zones", || fixture.found(reader, "q=z*&object_type=zone&max=5000").len() == 1_000);
    assert_eq!(fixture.found(reader, "q=nothing"), [""; 0]);
    assert_eq!(fixture.found(&bed.acme, "q=z*"), [""; 0]);
    assert_eq!(
        fixture.found(reader, "q=ns.z1777.test"),
        ["record ns.z1777.test. 192.0.2.1", "record z1777.test. ns.z1777.test."]
    );
    let most = fixture.search_in_time(reader, "q=n*.large.test&max=1000");
    assert_eq!((most.status, most.header("x-zonda-cut")), (200, Some("size")));
    let found = most.json().as_array().map_or(0, Vec::len);
    assert!((100..900).contains(&found), "{found}");
    // As many as there may be, of one key and of others; each is answered in its time, and changes meanwhile.
    let began = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..12 {
            let (key, at) = (if number % 2 == 0 { reader } else { &*bed.maker }, fixture.at);
            scope.spawn(move || {
                let path = format!("{SERVER}/search-data?q=*nothing*{number}");
                let mut client = Client::new(at).expect("a connection");
                let reply = client.ask("GET", &path, key, "", "").expect("a reply");
                let is_refused = reply.status == 429 && reply.header("retry-after") == Some("1");
                assert!(is_refused || (reply.status, &*reply.text) == (200, "[]"), "{reply:?}");
            });
        }
        for number in 0..5 {
            let name = format!("x{number}.a.test.");
            assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace(&name, "192.0.2.1")]).status, 204);
        }
    });
    assert!(began.elapsed() < SEARCH_WAIT, "{:?}", began.elapsed());
    // Who goes leaves its place.
    for _ in 0..20 {
        if let Some(mut client) = Client::new(fixture.at) {
            client.begin_get(&format!("{SERVER}/search-data?q=*no*"), reader);
        }
    }
    await_that("a place", || fixture.search(reader, "q=nothing").status == 200);
}

#[test]
fn numbers_by_the_names_of_powerdns() {
    let bed = Bed::new();
    let fixture = bed.start();
    let observer = &*bed.observer;
    let status = |query: &str, key: &str| fixture.get(&format!("/statistics{query}"), key).status;
    assert_eq!(
        [status("", ""), status("", &bed.old), status("", &bed.reader), status("", &bed.acme)],
        [401, 401, 403, 403]
    );
    let numbers = fixture.get("/statistics?includerings=false", observer).json();
    let of = |numbers: &Value, name: &str| -> Value {
        let all = numbers.as_array().expect("a list");
        all.iter().find(|item| item["name"] == name).unwrap_or(&Value::Null).clone()
    };
    for name in
        ["uptime", "udp-queries", "udp6-queries", "tcp-answers", "servfail-packets", "real-memory-usage"]
    {
        let item = of(&numbers, name);
        assert_eq!(item["type"], "StatisticItem", "{name}: {numbers}");
        assert!(item["value"].as_str().is_some_and(|value| value.parse::<u64>().is_ok()), "{item}");
    }
    let queries = || -> u64 {
        let told = fixture.get("/statistics?statistic=udp-queries", observer).json();
        assert_eq!(told.as_array().map(Vec::len), Some(1), "{told}");
        told[0]["value"].as_str().expect("a text").parse().expect("a number")
    };
    let before = queries();
    (0..3).for_each(|_| assert_eq!(fixture.addresses("www.a.test.").len(), 1));
    // Workers show what they count from time to time, and it is told for a second.
    await_that("three queries more", || queries() >= before + 3);
    let count_of = |map: &str, label: &str| -> u64 {
        let told = fixture.get(&format!("/statistics?statistic={map}"), observer).json();
        assert_eq!(told[0]["type"], "MapStatisticItem", "{told}");
        let all = told[0]["value"].as_array().expect("a list");
        let count = all.iter().find(|item| item["name"] == label).and_then(|item| item["value"].as_str());
        count.map_or(0, |count| count.parse().expect("a number"))
    };
    await_that("queries by type", || count_of("response-by-qtype", "A") >= 3);
    await_that("responses by code", || count_of("response-by-rcode", "NOERROR") >= 3);
    for query in [
        "?statistic=none",
        "?statistic=UPTIME",
        "?includerings=2",
        "?statistic=uptime&statistic=uptime",
        &format!("?statistic={}", "x".repeat(300)),
    ] {
        assert_eq!(status(query, observer), 422, "{query}");
    }
    assert_eq!(status("?statistic=%", observer), 400);
    // Their key sees no zone.
    assert_eq!(fixture.get("/zones/a.test.", observer).status, 403);
}

/// Zones by how they stand: one whose text cannot be read any more is served as it was, one that never had a text not at all.
#[test]
fn zones_by_how_they_stand() {
    let bed = Bed::new();
    let folder = bed.files.path();
    let zone = |name: &str, file: &str| {
        format!("\n[[zone]]\nname = \"{name}\"\nfile = \"{}/{file}\"\n", folder.display())
    };
    fs::write(folder.join("old"), SOUND).expect("a text");
    let fixture = bed.start_with(&[zone("old.test.", "old"), zone("none.test.", "none")].concat());
    let of = |state: &str| {
        let page = fixture.beyond(&format!("zones?state={state}"), &bed.reader).json();
        assert_eq!(page["next"], Value::Null, "{page:#}");
        let zones = page["zones"].as_array().expect("a list").clone();
        assert!(zones.iter().all(|zone| zone["state"] == state), "{page:#}");
        let names = zones.iter().map(|zone| zone["name"].as_str().expect("a name").to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let sound = ["a.test.", "b.test.", "plain.test.", "static.test."];
    assert_eq!(of("served"), [&sound[..2], &["old.test."], &sound[2..]].concat());
    assert_eq!([of("stale"), of("absent")], [vec![], vec!["none.test.".to_owned()]]);
    fs::write(folder.join("old"), "@ 60 A\n").expect("a text");
    fixture.told(&["reload"]);
    await_that("a zone that is stale", || of("stale") == ["old.test."]);
    assert_eq!(
        [of("served"), of("absent")],
        [sound.map(str::to_owned).to_vec(), vec!["none.test.".to_owned()]]
    );
    fs::write(folder.join("none"), SOUND).expect("a text");
    fixture.told(&["reload"]);
    await_that("a zone that has come", || of("absent").is_empty());
}

/// RRsets of a zone by pages: each once, and where the next one goes on.
#[test]
fn a_zone_by_pages() {
    let bed = Bed::new();
    let fixture = bed.start();
    let all = fixture.get("/zones/a.test.", &bed.reader).json();
    let mut found = Vec::new();
    let mut after = String::new();
    for _ in 0..20 {
        let page = fixture.beyond(&format!("zones/a.test./rrsets?limit=1{after}"), &bed.reader).json();
        found.extend(page["rrsets"].as_array().expect("a list").clone());
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    let key = |set: &Value| (set["name"].to_string(), set["type"].to_string());
    let mut expected = all["rrsets"].as_array().expect("a list").clone();
    expected.sort_by_key(key);
    found.sort_by_key(key);
    assert_eq!(found, expected);
    assert!(all.get("next").is_none());
}

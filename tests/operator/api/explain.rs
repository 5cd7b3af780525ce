//! Which rules decide what a key may change: of keys and of zones, as PATCH goes by them, and with nothing done.

use serde_json::{Value, json};
use zonda_tests::server::ctl;

use super::client::{Client, Reply, body, rrset};
use super::{Bed, Fixture, SERVER, await_child, new_key, replace};

const EXPLAIN: &str = "/api/zonda/v1/explain";

/// A body that asks about RRsets of one zone.
fn of_zone(name: &str, rrsets: &[Value]) -> Value {
    json!({"zones": [{"name": name, "rrsets": rrsets}]})
}

impl Fixture<'_> {
    fn explain(&self, key: &str, asked: &Value) -> Reply {
        self.ask("POST", EXPLAIN, key, "", &asked.to_string()).expect("a reply")
    }

    /// What is told of one RRset, and whether its zone takes changes.
    fn explained(&self, key: &str, zone: &str, set: &Value) -> (Value, u64) {
        let reply = self.explain(key, &of_zone(zone, std::slice::from_ref(set)));
        assert_eq!(reply.status, 200, "{reply:?}");
        let told = reply.json()["zones"][0].clone();
        (told["rrsets"][0].clone(), told["status"].as_u64().expect("a status"))
    }
}

/// Rules as lines: whose, number, what it says.
fn lines(told: &Value) -> Vec<String> {
    let rules = told["rules"].as_array().expect("rules");
    let word = |rule: &Value, name: &str| rule[name].as_str().expect("a text").to_owned();
    rules
        .iter()
        .map(|rule| format!("{} {} {}", word(rule, "by"), rule["number"], word(rule, "verdict")))
        .collect()
}

#[test]
fn rules_of_key_and_zone() {
    let bed = Bed::new();
    let fixture = bed.start();
    let acme = &*bed.acme;
    let before = (fixture.serial("a.test."), fixture.get("/zones/a.test./export", acme).text);
    let delete = |name: &str, rtype: &str| rrset(name, rtype, "DELETE", 0, &[]);
    for (set, expected) in [
        (
            replace("new.a.test.", "192.0.2.1"),
            &["key 1 other-names", "key 2 grants", "zone 1 other-names", "zone 2 grants"][..],
        ),
        (delete("FIXED.x.a.test.", "TXT"), &["key 1 denies", "zone 1 other-names", "zone 2 grants"]),
        (replace("kept.a.test.", "192.0.2.1"), &["key 1 other-names", "key 2 grants", "zone 1 denies"]),
        (
            rrset("a.test.", "NS", "EXTEND", 60, &["ns2.a.test."]),
            &[
                "key 1 other-names",
                "key 2 other-types",
                "key 3 grants",
                "zone 1 other-names",
                "zone 2 grants",
            ],
        ),
        (
            delete("www.a.test.", "DS"),
            &[
                "key 1 other-names",
                "key 2 other-types",
                "key 3 other-names",
                "key 0 denies",
                "zone 1 other-names",
                "zone 2 grants",
            ],
        ),
    ] {
        let (told, status) = fixture.explained(acme, "A.test.", &set);
        assert_eq!((lines(&told), status), (expected.iter().map(|line| (*line).to_owned()).collect(), 200));
        // PATCH goes by the same rules.
        let path = format!("{SERVER}/zones/a.test.?dry-run=true");
        let dry = fixture.ask("PATCH", &path, acme, "", &body(std::slice::from_ref(&set))).expect("a reply");
        assert_eq!(told["granted"].as_bool(), Some(dry.status == 200), "{dry:?} {told}");
        assert_eq!(dry.status == 403, told["granted"] == false, "{dry:?} {told}");
    }
    let (told, _) = fixture.explained(acme, "a.test.", &delete("kept.a.test.", "TXT"));
    assert_eq!(
        told,
        json!({"name": "kept.a.test.", "type": "TXT", "granted": false, "rules": [
            {"by": "key", "number": 1, "rule": "deny label fixed", "verdict": "other-names"},
            {"by": "key", "number": 2, "rule": "grant zonesub", "verdict": "grants"},
            {"by": "zone", "number": 1, "rule": "deny api:acme name kept.a.test.", "verdict": "denies"},
        ]})
    );
    assert_eq!((fixture.serial("a.test."), fixture.get("/zones/a.test./export", acme).text), before);
}

/// Several zones at once; whether each takes changes is told beside the rules.
#[test]
fn zones_that_take_no_changes() {
    let bed = Bed::new();
    let fixture = bed.start();
    let acme = &*bed.acme;
    let zone = |name: &str| json!({"name": name, "rrsets": [replace(&format!("x.{name}"), "192.0.2.1")]});
    assert!(ctl(&fixture.server, &["freeze", "a.test."]).status.success());
    let asked = json!({"zones": [zone("a.test."), zone("b.test."), zone("plain.test."), {"name": "b.test.", "rrsets": []}]});
    assert_eq!(fixture.explain(acme, &asked).status, 422);
    let asked = json!({"zones": [zone("a.test."), zone("b.test."), zone("plain.test.")]});
    let told = fixture.explain(acme, &asked).json();
    let of =
        |at: usize| (&told["zones"][at]["name"], &told["zones"][at]["status"], &told["zones"][at]["error"]);
    assert_eq!(of(0), (&json!("a.test."), &json!(409), &json!("the zone is frozen by its operator")));
    assert_eq!(of(1), (&json!("b.test."), &json!(200), &Value::Null));
    assert_eq!((of(2).0, of(2).1), (&json!("plain.test."), &json!(422)));
    assert!(of(2).2.as_str().is_some_and(|words| words.contains("update-policy")), "{told}");
    // What rules say does not depend on it.
    let granted = |at: usize| told["zones"][at]["rrsets"][0]["granted"].as_bool();
    assert_eq!([granted(0), granted(1), granted(2)], [Some(true), Some(true), Some(false)]);
    assert!(ctl(&fixture.server, &["thaw", "a.test."]).status.success());
    assert_eq!(fixture.explained(acme, "a.test.", &replace("x.a.test.", "192.0.2.1")).1, 200);
}

#[test]
fn who_may_ask_and_for_what() {
    let bed = Bed::new();
    let fixture = bed.start();
    let (acme, reader) = (&*bed.acme, &*bed.reader);
    let asked = |zone: &str| of_zone(zone, &[replace(&format!("x.{zone}"), "192.0.2.1")]);
    let status = |key: &str, asked: &Value| fixture.explain(key, asked).status;
    // By a verb of its own; and a zone that a key does not see is not there, whatever it may.
    assert_eq!([status(reader, &asked("a.test.")), status("wrong", &asked("a.test."))], [403, 401]);
    let unseen = ["static.test.", "none.test.", "other.", "sub.a.test."];
    assert_eq!(unseen.map(|zone| status(acme, &asked(zone))), [404; 4]);
    assert_eq!(status(reader, &asked("other.")), 404);
    let one = replace("x.a.test.", "192.0.2.1");
    let both = json!({"zones": [{"name": "a.test.", "rrsets": [one]}, {"name": "other.", "rrsets": []}]});
    let unseen = fixture.explain(acme, &both);
    assert_eq!((unseen.status, unseen.json()), (404, json!({"error": "other.: no such zone"})));
    for (wrong, expected) in [
        (json!({}), 422),
        (json!([]), 422),
        (json!({"zones": []}), 422),
        (json!({"zones": [{"rrsets": []}]}), 422),
        (json!({"zones": [{"name": "a.test."}]}), 422),
        (json!({"zones": [{"name": "a.test", "rrsets": []}]}), 422),
        (json!({"zones": [], "dry-run": true}), 422),
        (json!({"zones": [{"name": "a.test.", "rrsets": []}], "as": "reader"}), 422),
        (json!({"zones": [{"name": "a.test.", "rrsets": [], "as": "reader"}]}), 422),
        (of_zone("a.test.", &[one.clone(), one.clone()]), 422),
        (of_zone("a.test.", &[rrset("x.a.test.", "A", "REPLACE", 60, &["x"])]), 422),
        (of_zone("a.test.", &[rrset("x.a.test.", "ANY", "DELETE", 0, &[])]), 422),
    ] {
        assert_eq!(status(acme, &wrong), expected, "{wrong}");
    }
    let outside =
        fixture.explain(acme, &of_zone("a.test.", &[one.clone(), replace("x.b.test.", "192.0.2.1")]));
    assert!(outside.status == 422 && outside.text.contains("x.b.test. A: "), "{outside:?}");
    let many: Vec<Value> = (0..=1024).map(|at| replace(&format!("n{at}.a.test."), "192.0.2.1")).collect();
    assert_eq!(
        [status(acme, &of_zone("a.test.", &many[1..])), status(acme, &of_zone("a.test.", &many))],
        [200, 413]
    );
    let of =
        |method, path: &str, body: &str| fixture.ask(method, path, acme, "", body).expect("a reply").status;
    assert_eq!([of("GET", EXPLAIN, ""), of("POST", EXPLAIN, "{"), of("POST", EXPLAIN, "")], [405, 400, 400]);
    assert_eq!(of("POST", &format!("{EXPLAIN}?dry-run=true"), &asked("a.test.").to_string()), 422);
}

/// However many rules are looked at: each is told, or that they are too many; neither process keeps more than it may, and others are answered.
#[test]
fn many_rules() {
    const RULES: usize = 1_000;
    let bed = Bed::new();
    let (hash, asker) = new_key("asker");
    let folder = bed.files.path().display();
    let rules: Vec<String> =
        (0..RULES).map(|at| format!("\"deny api:asker name n{at}.long.test. A\"")).collect();
    let fixture = bed.start_with(&format!(
        "\n[[api-key]]\nname = \"asker\"\nhash = {hash}\nverbs = \"explain\"\nzones = \"*.test.\"\nrules = \"grant zonesub\"\n\
         \n[[update-policy]]\nname = \"long\"\nrules = [{}]\n\n[[zone]]\nname = \"long.test.\"\nfile = \"{folder}/zone\"\nupdate-policy = \"long\"\n",
        rules.join(", ")
    ));
    let child = await_child(&fixture);
    let sets = |count: usize| -> Vec<Value> {
        (0..count).map(|at| rrset(&format!("x{at}.long.test."), "A", "DELETE", 0, &[])).collect()
    };
    let few = fixture.explain(&asker, &of_zone("long.test.", &sets(20))).json();
    let told = few["zones"][0]["rrsets"].as_array().expect("a list");
    assert_eq!(told.len(), 20);
    // One of the key, all of the zone, and that none of these fits.
    assert!(told.iter().all(|set| set["rules"].as_array().map(Vec::len) == Some(1 + RULES + 1)));
    let last = fixture.explained(&asker, "long.test.", &rrset("n7.long.test.", "A", "DELETE", 0, &[])).0;
    assert_eq!(lines(&last).last().map(String::as_str), Some("zone 8 denies"));
    // One that it could see, and that there is not.
    assert_eq!(fixture.explain(&asker, &of_zone("none.test.", &[])).status, 404);
    let asked = of_zone("long.test.", &sets(1024)).to_string();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = Client::new(fixture.at).expect("a connection");
                let reply = client.ask("POST", EXPLAIN, &asker, "", &asked).expect("a reply");
                assert!([413, 429].contains(&reply.status), "{reply:?}");
            });
        }
        assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace("y.a.test.", "192.0.2.1")]).status, 204);
    });
    assert_eq!(fixture.child(), Some(child), "{}", fixture.server.log());
}

use super::*;
use crate::api::new_api_key;
use crate::settings::Settings;
use api::frame::{SetsBuf, View, ZonesBuf};
use api::tag::Condition;
use std::path::Path;
use std::time::Instant;
use wire::iana::rtype;

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

/// Keys with one, and its secret.
fn keys(more: &str) -> (Keys, String) {
    let (section, secret) = new_api_key("acme").unwrap();
    let kept: Vec<&str> = section
        .lines()
        .filter(|line| line.starts_with("[[") || line.starts_with("name") || line.starts_with("hash"))
        .collect();
    let text = format!("[server]\npack-directory = \"p\"\n{}\nzones = [\"*.x.\"]\n{more}\n", kept.join("\n"));
    (Keys::of(&Settings::parse(Path::new("f"), &text).unwrap(), 1), secret)
}

/// RRsets of these owners and types, with four octets each.
fn sets_of(sets: &[(&str, u16)]) -> SetsBuf {
    let mut buffer = SetsBuf::default();
    for (owner, rtype) in sets {
        buffer.begin(&name(owner), *rtype, What::Replace, 60);
        buffer.record(&[192, 0, 2, 1]);
    }
    buffer.end();
    buffer
}

fn judged(keys: &Keys, ask: &Ask<'_>) -> Result<Task, No> {
    let now = Now { wall: 0, at: Instant::now() };
    let key = whose(keys, &Sessions::default(), ask, now)?;
    judge(keys, &key, ask)
}

fn status(keys: &Keys, key: &str, asked: Asked<'_>) -> u16 {
    let ask = Ask { who: Who::Key(key.as_bytes()), address: [127, 0, 0, 1].into(), asked };
    judged(keys, &ask).map_or_else(|no| no.status, |_| 200)
}

/// Whatever the process says.
#[test]
fn searches_are_bounded() {
    let (reader, secret) = keys("verbs = \"read\"");
    let limit_of = |objects, limit| {
        let asked = Asked::Search { pattern: "*", objects, limit };
        let ask = Ask { who: Who::Key(secret.as_bytes()), address: [127, 0, 0, 1].into(), asked };
        match judged(&reader, &ask).unwrap() {
            Task::Search { limit, .. } => Some(limit),
            _ => None,
        }
    };
    assert_eq!([limit_of(Objects::All, u32::MAX), limit_of(Objects::All, 7)], [Some(FOUND_MAX), Some(7)]);
    assert_eq!([limit_of(Objects::All, 0), limit_of(Objects::Comments, 7)], [None, None]);
}

/// Of which RRset of which zone something is wrong; and however many zones there are, RRsets are few.
#[test]
fn what_is_asked_about_is_bounded() {
    let (asker, secret) = keys("verbs = \"explain\"");
    let no = |zones: &ZonesBuf| {
        let asked = Asked::Explain(zones.zones());
        judged(&asker, &Ask { who: Who::Key(secret.as_bytes()), address: [127, 0, 0, 1].into(), asked }).err()
    };
    let sets = |zone: &str, count: usize, owner: &str| {
        let mut sets = SetsBuf::default();
        (0..count).for_each(|at| sets.begin(&name(&format!("n{at}.{zone}")), rtype::A, What::Delete, 0));
        sets.begin(&name(owner), rtype::A, What::Delete, 0);
        sets.end();
        sets
    };
    let mut zones = ZonesBuf::default();
    zones.push(&name("a.x."), Condition::None, &sets("a.x.", 2, "w.a.x."));
    assert!(no(&zones).is_none());
    zones.push(&name("B.x."), Condition::None, &sets("b.x.", 2, "w.a.x."));
    let wrong = no(&zones).unwrap();
    let at = At { zone: 1, set: Some(2) };
    assert_eq!((wrong.status, wrong.faults.len(), wrong.faults[0].0), (422, 1, at));
    let mut zones = ZonesBuf::default();
    zones.push(&name("a.x."), Condition::None, &sets("a.x.", SETS_MAX / 2, "w.a.x."));
    zones.push(&name("b.x."), Condition::None, &sets("b.x.", SETS_MAX / 2 - 2, "w.b.x."));
    assert!(no(&zones).is_none());
    zones.push(&name("c.x."), Condition::None, &sets("c.x.", 0, "w.c.x."));
    assert_eq!(no(&zones).map(|no| no.status), Some(413));
}

#[test]
fn what_a_key_may_do() {
    let (reader, secret) = keys("verbs = \"read\"");
    let (changer, other) =
        keys("verbs = [\"read\", \"change\"]\nrules = [\"deny label no A\", \"grant subdomain a.x. A\"]");
    let zone = |zone| Asked::Zone { zone, part: Part::All, with_dnssec: false };
    let (in_scope, outside) = (name("A.x."), name("x."));
    assert_eq!(status(&reader, &secret, zone(&in_scope)), 200);
    assert_eq!(status(&reader, &secret, zone(&outside)), 404);
    let history = |zone| Asked::History { zone, undo: None };
    assert_eq!(
        [status(&reader, &secret, history(&in_scope)), status(&reader, &secret, history(&outside))],
        [200, 404]
    );
    assert_eq!(status(&reader, &other, zone(&in_scope)), 401);
    assert_eq!(status(&reader, "", zone(&in_scope)), 401);
    assert_eq!(status(&reader, &secret, Asked::Who), 200);
    let search = |objects, limit, by: (&Keys, &str)| {
        status(by.0, by.1, Asked::Search { pattern: "*", objects, limit })
    };
    assert_eq!(search(Objects::All, u32::MAX, (&reader, &secret)), 200);
    assert_eq!(search(Objects::Comments, 0, (&reader, &other)), 401);
    // Numbers are told by a verb of their own: what others ask for is no customer's.
    let numbers = Asked::Facts(Facts::Numbers);
    let (observer, third) = keys("verbs = \"server\"");
    assert_eq!(
        [
            status(&reader, &secret, numbers),
            status(&observer, &third, numbers),
            search(Objects::Comments, 1, (&observer, &third))
        ],
        [403, 200, 403]
    );
    let names = Asked::Facts(Facts::Keys);
    assert_eq!([status(&reader, &secret, names), status(&observer, &third, names)], [403, 200]);
    // What others ask is told by another one still, and how a zone stands as its contents are.
    let (watcher, fourth) = keys("verbs = \"observe\"");
    let view = |view, (keys, key): (&Keys, &str)| status(keys, key, Asked::View(view));
    for (wanted, statuses) in [
        (View::Now { said: 0 }, [403, 200, 403]),
        (View::Hour, [403, 200, 403]),
        (View::Locks, [403, 200, 403]),
        (View::Journals, [403, 200, 403]),
        (View::Asked, [403, 403, 200]),
        (View::Resolver(None), [403, 403, 200]),
        (View::Resolver(Some(&in_scope)), [403, 403, 200]),
        (View::Zone(&in_scope), [200, 403, 403]),
        // What it may see is looked at name by name.
        (View::Why { name: &outside, rtype: rtype::A, is_tcp: false, dnssec_ok: true }, [200, 403, 403]),
        (View::Zone(&outside), [404, 404, 404]),
    ] {
        let by = [(&reader, &*secret), (&observer, &*third), (&watcher, &*fourth)];
        assert_eq!(by.map(|by| view(wanted, by)), statuses, "{wanted:?}");
    }
    let changes = |zone: &str, sets: &[(&str, u16)]| {
        let mut zones = ZonesBuf::default();
        zones.push(&name(zone), Condition::None, &sets_of(sets));
        zones
    };
    let change = |zones: &ZonesBuf, (keys, key): (&Keys, &str)| {
        status(keys, key, Asked::Change { repeat: None, is_dry: false, zones: zones.zones() })
    };
    let by = (&changer, &*other);
    let fine = changes("a.x.", &[("w.a.x.", rtype::A), ("A.X.", rtype::A)]);
    assert_eq!(change(&fine, by), 200);
    assert_eq!(change(&fine, (&reader, &secret)), 403);
    assert_eq!(change(&changes("a.y.", &[("w.a.y.", rtype::A)]), by), 404);
    assert_eq!(change(&changes("a.x.", &[("no.a.x.", rtype::A)]), by), 403);
    assert_eq!(change(&changes("a.x.", &[("w.a.x.", rtype::NULL)]), by), 403);
    assert_eq!(change(&changes("b.x.", &[("w.b.x.", rtype::A)]), by), 403);
    // Form goes before rules: what no key may have changed is told as such.
    assert_eq!(change(&changes("a.x.", &[("w.b.x.", rtype::A), ("no.a.x.", rtype::A)]), by), 422);
    assert_eq!(change(&changes("a.x.", &[("w.a.x.", rtype::AAAA)]), by), 422);
    assert_eq!(change(&changes("a.x.", &[("w.a.x.", rtype::A), ("W.a.x.", rtype::A)]), by), 422);
    // What would change is contents: who may not read them has it done unseen.
    let (blind, blind_key) = keys("verbs = \"change\"\nrules = [\"grant subdomain a.x. A\"]");
    let run = |is_dry, by: (&Keys, &str)| {
        status(by.0, by.1, Asked::Change { repeat: None, is_dry, zones: fine.zones() })
    };
    assert_eq!(
        [run(false, (&blind, &blind_key)), run(true, (&blind, &blind_key)), run(true, by)],
        [200, 403, 200]
    );
    // Of several zones each is looked at: one that is not for the key, or that it may not change so, and nothing is done.
    let several = |all: &[(&str, &[(&str, u16)])]| {
        let mut zones = ZonesBuf::default();
        for (zone, sets) in all {
            zones.push(&name(zone), Condition::None, &sets_of(sets));
        }
        zones
    };
    let faults = |zones: &ZonesBuf| {
        let asked = Asked::Change { repeat: None, is_dry: false, zones: zones.zones() };
        let ask = Ask { who: Who::Key(other.as_bytes()), address: [127, 0, 0, 1].into(), asked };
        judged(&changer, &ask)
            .map(|task| matches!(task, Task::Change { zones, .. } if zones.len() == 2))
            .map_err(|no| {
                let places: Vec<_> = no.faults.iter().map(|(at, _)| (at.zone, at.set)).collect();
                (no.status, no.words, places)
            })
    };
    let fine: (&str, &[(&str, u16)]) = ("A.x.", &[("w.a.x.", rtype::A)]);
    assert_eq!(faults(&several(&[fine, ("c.x.", &[])])), Ok(true));
    for (zones, status, words, places) in [
        (several(&[fine, ("a.y.", &[])]), 404, "a.y.: no such zone", [(1, None)]),
        (several(&[fine, ("a.x.", &[])]), 422, "a.x.: a zone is there twice", [(1, None)]),
        (
            several(&[fine, ("c.x.", &[("w.c.x.", rtype::A)])]),
            403,
            "some RRsets are not for this key to change",
            [(1, Some(0))],
        ),
        (
            several(&[("c.x.", &[("c.x.", rtype::A), ("w.y.", rtype::A)]), fine]),
            422,
            "some RRsets cannot be so",
            [(0, Some(1))],
        ),
    ] {
        assert_eq!(faults(&zones), Err((status, words.to_owned(), places.to_vec())));
    }
    assert_eq!(change(&ZonesBuf::default(), by), 422);
    let many: Vec<String> = (0..=SETS_MAX).map(|number| format!("n{number}.a.x.")).collect();
    let many: Vec<(&str, u16)> = many.iter().map(|owner| (&**owner, rtype::A)).collect();
    let (first, rest) = many.split_at(SETS_MAX / 2);
    assert_eq!(change(&several(&[("a.x.", first), ("c.x.", rest)]), by), 413);
    // Rules are told by a verb of their own, also where they deny; of zones that are not there for the key none are.
    let (asker, asker_key) = keys("verbs = \"explain\"");
    let explain = |zones: &ZonesBuf, by: (&Keys, &str)| status(by.0, by.1, Asked::Explain(zones.zones()));
    let inquirer = (&asker, &*asker_key);
    let asked = several(&[fine]);
    assert_eq!([explain(&asked, by), explain(&asked, inquirer)], [403, 200]);
    assert_eq!(explain(&changes("a.y.", &[("w.a.y.", rtype::A)]), inquirer), 404);
    assert_eq!(explain(&changes("a.y.", &[("w.a.y.", rtype::A)]), by), 404);
    assert_eq!(explain(&changes("a.x.", &[("w.b.x.", rtype::A)]), inquirer), 422);
    let act = |act, by: (&Keys, &str)| status(by.0, by.1, Asked::Act { zone: &in_scope, act });
    assert_eq!(
        [act(Act::Notify, by), act(Act::Retrieve, by), act(Act::Notify, (&reader, &secret))],
        [200, 403, 403]
    );
}

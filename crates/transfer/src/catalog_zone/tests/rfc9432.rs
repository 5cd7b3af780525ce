//! RFC 9432, section by section.

use super::super::*;
use super::kit::*;

const CATALOG: &str = "catalog.example.";

/// What is wrong with a catalog of these lines, and at which name.
fn fault(lines: &[&str]) -> Option<(Fault, String)> {
    let broken = take(&mut claims(&[CATALOG]), &State::new(CATALOG, 1, lines)).err()?;
    Some((broken.fault, broken.at.to_string()))
}

fn taken(lines: &[&str]) -> Vec<String> {
    take(&mut claims(&[CATALOG]), &State::catalog(CATALOG, 1, lines)).unwrap()
}

#[test]
fn section_4_1_member_zones() {
    assert_eq!(
        taken(&[
            "unique-1.zones PTR example.com.",
            "unique-2.zones PTR Example.NET.",
            "UNIQUE-3.Zones PTR e.org."
        ]),
        [
            "e.org.: added catalog.example. plain",
            "example.com.: added catalog.example. plain",
            "Example.NET.: added catalog.example. plain"
        ]
    );
    let two = ["version TXT 2", "a.zones PTR x.example.", "a.zones PTR y.example."];
    assert_eq!(fault(&two), Some((Fault::Members, "a.zones.catalog.example.".into())));
    let twice = ["version TXT 2", "a.zones PTR x.example.", "b.zones PTR X.Example."];
    assert_eq!(fault(&twice), Some((Fault::Twice, "b.zones.catalog.example.".into())));
    let text = take(&mut claims(&[CATALOG]), &State::new(CATALOG, 1, &twice)).unwrap_err().to_string();
    assert!(
        text.contains("b.zones.catalog.example.") && text.to_lowercase().contains("x.example."),
        "{text}"
    );
}

#[test]
fn section_4_2_what_is_not_known_is_ignored() {
    let ignored = [
        "a.zones PTR x.example.",
        "a.zones TXT other-type",
        "version PTR other.type.",
        "coo.a.zones TXT other-type",
        "group.a.zones PTR other.type.",
        "later.a.zones TXT property",
        "x.y.a.zones PTR deeper.example.",
        "zones PTR no.member.",
        "zones NS cut.example.",
        "other.a.zones NS cut.example.",
        "group.b.zones TXT signed",
        "member.elsewhere PTR no.member.",
    ];
    assert_eq!(taken(&ignored), ["x.example.: added catalog.example. plain"]);
}

#[test]
fn section_4_2_1_version() {
    assert_eq!(fault(&["version TXT 2"]), None);
    assert_eq!(fault(&["VERSION TXT 2"]), None);
    let at = |fault| Some((fault, "version.catalog.example.".to_owned()));
    assert_eq!(fault(&["a.zones PTR x.example."]), at(Fault::NoVersion));
    assert_eq!(fault(&["version TXT 1"]), at(Fault::OtherVersion));
    assert_eq!(fault(&["version TXT 2+2"]), at(Fault::OtherVersion));
    assert_eq!(fault(&["version TXT 2+"]), at(Fault::OtherVersion));
    assert_eq!(fault(&["version TXT 02"]), at(Fault::OtherVersion));
    assert_eq!(fault(&["version TXT 2", "version TXT 1"]), at(Fault::Versions));
    assert_eq!(fault(&["version.zones TXT 2", "a.version TXT 2"]), at(Fault::NoVersion));
}

#[test]
fn section_4_3_1_change_of_ownership() {
    let mut claims = claims(&["old.", "new."]);
    let old = |serial, lines: &[&str]| State::catalog("old.", serial, lines);
    let new = |serial, lines: &[&str]| State::catalog("new.", serial, lines);
    let none: [&str; 0] = [];
    take(&mut claims, &old(1, &["a.zones PTR x.example.", "b.zones PTR y.example."])).unwrap();
    // Not offered: the zone stays where it is.
    assert_eq!(
        take(&mut claims, &new(1, &["a.zones PTR x.example."])).unwrap(),
        ["x.example.: held by old."]
    );
    // Offered: nothing happens until the new catalog has another state that has the zone.
    let offered =
        ["a.zones PTR x.example.", "coo.a.zones PTR NEW.", "b.zones PTR y.example.", "coo.b.zones PTR new."];
    assert_eq!(take(&mut claims, &old(2, &offered)).unwrap(), none);
    assert_eq!(
        take(&mut claims, &new(2, &["a.zones PTR x.example.", "c.zones PTR y.example."])).unwrap(),
        ["x.example.: moved new. plain", "y.example.: moved and reset new. plain"]
    );
    // The old owner removes what is not its any more.
    assert_eq!(take(&mut claims, &old(3, &[])).unwrap(), none);
    assert_eq!(claims.holder(&name("x.example.")).and_then(|n| claims.claim(n)).unwrap().catalog.0, 1);
    // An offer that was taken back moves nothing.
    take(&mut claims, &old(4, &["d.zones PTR z.example.", "coo.d.zones PTR new."])).unwrap();
    take(&mut claims, &old(5, &["d.zones PTR z.example."])).unwrap();
    assert_eq!(
        take(
            &mut claims,
            &new(3, &["a.zones PTR x.example.", "c.zones PTR y.example.", "d.zones PTR z.example."])
        )
        .unwrap(),
        ["z.example.: held by old."]
    );
    let two = ["version TXT 2", "a.zones PTR x.example.", "coo.a.zones PTR x.", "coo.a.zones PTR y."];
    assert_eq!(fault(&two), Some((Fault::Coos, "coo.a.zones.catalog.example.".into())));
    // A catalog that nobody has here, and itself.
    let lines = [
        "a.zones PTR x.example.",
        "coo.a.zones PTR unknown.",
        "b.zones PTR y.example.",
        "coo.b.zones PTR catalog.example.",
    ];
    assert_eq!(taken(&lines).len(), 2);
}

/// The consumer must not act on the offer alone, as the other catalog may have dropped the zone meanwhile.
#[test]
fn section_4_3_1_waits_for_the_new_catalog() {
    let mut claims = claims(&["old.", "new."]);
    take(&mut claims, &State::catalog("old.", 1, &["a.zones PTR x.example."])).unwrap();
    take(&mut claims, &State::catalog("new.", 1, &["a.zones PTR x.example."])).unwrap();
    take(&mut claims, &State::catalog("old.", 2, &["a.zones PTR x.example.", "coo.a.zones PTR new."]))
        .unwrap();
    let holder =
        |claims: &Claims| claims.claim(claims.holder(&name("x.example.")).unwrap()).unwrap().catalog.0;
    assert_eq!(holder(&claims), 0);
    // Gone from the new one: it stays. There again: it moves, though nothing of it differs from what was claimed.
    let mut other = claims.clone();
    assert_eq!(take(&mut other, &State::catalog("new.", 2, &[])).unwrap(), [""; 0]);
    assert_eq!(holder(&other), 0);
    let same = State::catalog("new.", 2, &["a.zones PTR x.example."]);
    assert_eq!(take(&mut claims, &same).unwrap(), ["x.example.: moved new. plain"]);
}

#[test]
fn section_4_3_2_groups() {
    let with = |groups: &[&str]| {
        let lines: Vec<String> = groups.iter().map(|group| format!("group.a.zones TXT {group}")).collect();
        let mut all: Vec<&str> = lines.iter().map(String::as_str).collect();
        all.push("a.zones PTR x.example.");
        taken(&all).concat()
    };
    let (plain, signed) =
        ("x.example.: added catalog.example. plain", "x.example.: added catalog.example. signed");
    assert_eq!(with(&[]), plain);
    assert_eq!(with(&["signed"]), signed);
    assert_eq!(with(&["unknown"]), plain);
    assert_eq!(with(&["a", "signed", "z"]), signed);
    // Of two the one that the settings have first; groups are octets; several strings are no group.
    assert_eq!(with(&["signed", "plain"]), plain);
    assert_eq!(with(&["Signed"]), plain);
    assert_eq!(with(&["sig+ned"]), plain);

    let mut claims = claims(&[CATALOG]);
    let state = |serial, group: &str| {
        State::catalog(CATALOG, serial, &["a.zones PTR x.example.", &format!("group.a.zones TXT {group}")])
    };
    take(&mut claims, &state(1, "plain")).unwrap();
    assert_eq!(
        take(&mut claims, &state(2, "signed")).unwrap(),
        ["x.example.: regrouped catalog.example. signed"]
    );
    assert_eq!(take(&mut claims, &state(3, "signed")).unwrap(), [""; 0]);
    assert_eq!(
        take(&mut claims, &state(4, "unknown")).unwrap(),
        ["x.example.: regrouped catalog.example. plain"]
    );
}

#[test]
fn section_4_4_custom_properties() {
    let lines = [
        "a.zones PTR x.example.",
        "foo.ext.a.zones TXT member",
        "group.ext.a.zones TXT signed",
        "foo.ext TXT global",
        "version.ext TXT 7",
        "a.zones.ext PTR no.member.",
    ];
    assert_eq!(taken(&lines), ["x.example.: added catalog.example. plain"]);
}

#[test]
fn section_5_1_a_broken_catalog_changes_nothing() {
    let mut claims = claims(&[CATALOG]);
    let good = ["a.zones PTR x.example.", "b.zones PTR y.example."];
    take(&mut claims, &State::catalog(CATALOG, 1, &good)).unwrap();
    let before = lines(&claims);
    assert!(take(&mut claims, &State::new(CATALOG, 2, &["c.zones PTR z.example."])).is_err());
    assert_eq!(lines(&claims), before);
    // It goes on when it is mended.
    assert_eq!(
        take(&mut claims, &State::catalog(CATALOG, 3, &["a.zones PTR x.example.", "c.zones PTR z.example."]))
            .unwrap(),
        ["y.example.: removed", "z.example.: added catalog.example. plain"]
    );
}

#[test]
fn section_5_2_name_clash() {
    let mut claims = claims(&["first.", "second."]);
    let state = |apex, serial, lines: &[&str]| State::catalog(apex, serial, lines);
    take(&mut claims, &state("first.", 1, &["a.zones PTR x.example."])).unwrap();
    assert_eq!(
        take(&mut claims, &state("second.", 1, &["b.zones PTR X.example."])).unwrap(),
        ["X.example.: held by first."]
    );
    // Said once, not with each state.
    assert_eq!(take(&mut claims, &state("second.", 2, &["b.zones PTR x.example."])).unwrap(), [""; 0]);
    // What the second does with its claim is not the zone's concern.
    assert_eq!(
        take(&mut claims, &state("second.", 3, &["c.zones PTR x.example."])).unwrap(),
        ["x.example.: held by first."]
    );
    let configured = |zone: &wire::Name| zone.eq_ignore_case(&name("y.example."));
    let difference = compare(&claims, &state("second.", 4, &["d.zones PTR y.example."])).unwrap();
    assert_eq!(carry_out(&mut claims, difference, &configured), ["y.example.: Settings"]);
}

#[test]
fn section_5_3_member_zone_removal() {
    let mut claims = claims(&["first.", "second."]);
    take(&mut claims, &State::catalog("first.", 1, &["a.zones PTR x.example."])).unwrap();
    take(&mut claims, &State::catalog("second.", 1, &["b.zones PTR x.example."])).unwrap();
    // Not the one that it is served from.
    assert_eq!(take(&mut claims, &State::catalog("second.", 2, &[])).unwrap(), [""; 0]);
    assert_eq!(take(&mut claims, &State::catalog("first.", 2, &[])).unwrap(), ["x.example.: removed"]);
    assert!(claims.is_empty());
}

#[test]
fn section_5_4_member_node_name_change() {
    let mut claims = claims(&[CATALOG]);
    take(&mut claims, &State::catalog(CATALOG, 1, &["a.zones PTR x.example."])).unwrap();
    assert_eq!(take(&mut claims, &State::catalog(CATALOG, 2, &["A.zones PTR x.example."])).unwrap(), [""; 0]);
    let lines = ["b.zones PTR x.example.", "group.b.zones TXT signed"];
    assert_eq!(
        take(&mut claims, &State::catalog(CATALOG, 3, &lines)).unwrap(),
        ["x.example.: reset catalog.example. signed"]
    );
    // The label goes to another zone.
    let lines = ["b.zones PTR y.example.", "c.zones PTR x.example."];
    assert_eq!(
        take(&mut claims, &State::catalog(CATALOG, 4, &lines)).unwrap(),
        ["x.example.: reset catalog.example. plain", "y.example.: added catalog.example. plain"]
    );
}

/// Without coo: who did not see the removal first takes the zone up when the first catalog lets go, as another zone.
#[test]
fn section_5_5_migration_without_coo() {
    let mut claims = claims(&["old.", "new."]);
    take(&mut claims, &State::catalog("old.", 1, &["a.zones PTR x.example."])).unwrap();
    take(&mut claims, &State::catalog("new.", 1, &["a.zones PTR x.example."])).unwrap();
    assert_eq!(
        take(&mut claims, &State::catalog("old.", 2, &[])).unwrap(),
        ["x.example.: moved and reset new. plain"]
    );
}

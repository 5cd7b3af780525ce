//! Beyond the RFC: losses that wait, settings that change, what is kept.

use super::super::*;
use super::kit::*;

const CATALOG: &str = "c.";

fn state(serial: u32, members: std::ops::Range<u32>) -> State {
    let lines: Vec<String> =
        members.map(|number| format!("m{number}.zones PTR z{number}.example.")).collect();
    State::catalog(CATALOG, serial, &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn limited(remove_max: RemoveMax) -> Claims {
    let mut claims = Claims::default();
    claims.configure(vec![CatalogSettings { remove_max, ..settings(CATALOG) }]).unwrap();
    claims
}

/// Carries out what may be; returns how many zones were added and lost, how many losses wait.
fn go(claims: &mut Claims, state: &State, is_confirmed: bool, seconds: u64) -> (u32, u32, u32) {
    let difference = compare(claims, state).unwrap();
    let mut plan = Plan::new(claims, difference, &|_| false, is_confirmed, seconds);
    let waiting = if plan.waits() { plan.counts().losses() } else { 0 };
    let steps = steps_of(claims, |claims| plan.next_step(claims));
    let count =
        |is: &dyn Fn(Event) -> bool| steps.iter().filter_map(|step| step.0.event).filter(|e| is(*e)).count();
    (count(&|event| event == Event::Added) as u32, count(&Event::is_loss) as u32, waiting)
}

#[test]
fn mass_removal_waits() {
    let mut claims = limited(RemoveMax::default());
    let catalog = claims.catalog(&name(CATALOG)).unwrap();
    assert_eq!(go(&mut claims, &state(1, 0..50), false, 0), (50, 0, 0));
    assert_eq!(claims.serial(catalog), Some(1));
    // The empty catalog of a script that failed: nothing goes, however often it comes.
    for serial in 2..5 {
        assert_eq!(go(&mut claims, &state(serial, 0..0), false, u64::from(serial)), (0, 0, 50));
        assert_eq!((claims.counts(catalog), claims.serial(catalog)), ((50, 50), None));
    }
    // What is added does not wait for it.
    assert_eq!(go(&mut claims, &state(5, 40..60), false, 9), (10, 0, 40));
    assert_eq!(claims.counts(catalog), (60, 60));
    // Mended: nothing waits, nothing was lost.
    assert_eq!(go(&mut claims, &state(6, 0..60), false, 10), (0, 0, 0));
    assert_eq!(claims.serial(catalog), Some(6));
    // Meant so.
    assert_eq!(go(&mut claims, &state(7, 0..1), false, 11), (0, 0, 59));
    assert_eq!(go(&mut claims, &state(7, 0..1), true, 12), (0, 59, 0));
    assert_eq!((claims.counts(catalog), claims.serial(catalog)), ((1, 1), Some(7)));
}

#[test]
fn losses_of_an_hour_count_together() {
    let mut claims = limited(RemoveMax::default());
    go(&mut claims, &state(1, 0..200), false, 0);
    // In the hour that begins with the first state there was nothing yet: ten may go.
    assert_eq!(go(&mut claims, &state(2, 4..200), false, 100), (0, 4, 0));
    assert_eq!(go(&mut claims, &state(3, 10..200), false, 200), (0, 6, 0));
    assert_eq!(go(&mut claims, &state(4, 11..200), false, 3_599), (0, 0, 1));
    // Then a tenth of what there is.
    assert_eq!(go(&mut claims, &state(5, 29..200), false, 3_600), (0, 19, 0));
    assert_eq!(go(&mut claims, &state(6, 30..200), false, 3_601), (0, 0, 1));
    // What was confirmed does not count.
    assert_eq!(go(&mut claims, &state(7, 50..200), true, 7_200), (0, 21, 0));
    assert_eq!(go(&mut claims, &state(8, 60..200), false, 7_201), (0, 10, 0));
}

#[test]
fn resets_are_losses() {
    let mut claims = limited(RemoveMax::Members(3));
    go(&mut claims, &state(1, 0..20), false, 0);
    let mut other = State::catalog(CATALOG, 2, &[]);
    (0..20).for_each(|number| other.add(&format!("other{number}.zones PTR z{number}.example.")));
    assert_eq!(go(&mut claims, &other, false, 1), (0, 0, 20));
    assert!(claims.iter().all(|(_, claim)| claim.label.starts_with(b"m")));
    assert_eq!(go(&mut claims, &other, true, 2), (0, 20, 0));
    assert!(claims.iter().all(|(_, claim)| claim.label.starts_with(b"other") && claim.holds));
}

#[test]
fn reports_are_short() {
    let mut claims = limited(RemoveMax::default());
    let difference = compare(&claims, &state(1, 0..100)).unwrap();
    let plan = Plan::new(&mut claims, difference, &|_| true, false, 0);
    assert_eq!((plan.counts().added, plan.counts().clashes), (0, 100));
    assert_eq!(plan.counts().clashes_named.len(), 8);
}

fn settle(claims: &mut Claims, configured: &[&str]) -> Vec<String> {
    let configured: Vec<_> = configured.iter().map(|zone| name(zone)).collect();
    let is_configured = |zone: &wire::Name| configured.iter().any(|other| other.eq_ignore_case(zone));
    let mut settle = Settle::new(&is_configured);
    let mut steps = events_once(claims, |claims| settle.next_step(claims));
    steps.sort();
    steps.iter().filter_map(|step| text_of(claims, step)).collect()
}

#[test]
fn settings_win_and_let_go() {
    let mut claims = claims(&["a.", "b."]);
    take(&mut claims, &State::catalog("a.", 1, &["a.zones PTR x.example.", "b.zones PTR y.example."]))
        .unwrap();
    take(&mut claims, &State::catalog("b.", 1, &["a.zones PTR x.example."])).unwrap();
    let nothing: [&str; 0] = [];
    assert_eq!(settle(&mut claims, &[]), nothing);
    assert_eq!(settle(&mut claims, &["X.example."]), ["x.example.: left to the settings Settings"]);
    assert_eq!(settle(&mut claims, &["X.example."]), nothing);
    // Its catalog drops it meanwhile: nothing is to be done. Then the settings do, and the other takes it up.
    assert_eq!(take(&mut claims, &State::catalog("a.", 2, &["b.zones PTR y.example."])).unwrap(), nothing);
    assert_eq!(settle(&mut claims, &[]), ["x.example.: added b. plain"]);
    // A catalog that is not in the settings any more.
    take(&mut claims, &State::catalog("b.", 2, &["a.zones PTR x.example.", "y.zones PTR y.example."]))
        .unwrap();
    claims.configure(vec![settings("b.")]).unwrap();
    assert_eq!(settle(&mut claims, &[]), ["y.example.: moved and reset b. plain"]);
    claims.configure(vec![]).unwrap();
    assert_eq!(
        settle(&mut claims, &["y.example."]),
        ["x.example.: removed", "y.example.: left to the settings"]
    );
    assert!(claims.is_empty());
}

#[test]
fn names_that_may_be_members() {
    let mut claims = claims(&["a.", "b."]);
    let with = |catalog: &str, pattern: &str| {
        let mut members = Allowed::default();
        members.add(&name(pattern));
        CatalogSettings { members, ..settings(catalog) }
    };
    claims.configure(vec![with("a.", "*.example."), settings("b.")]).unwrap();
    let members = ["a.zones PTR x.example.", "b.zones PTR com."];
    assert_eq!(
        take(&mut claims, &State::catalog("a.", 1, &members)).unwrap(),
        ["com.: NotAllowed", "x.example.: added a. plain"]
    );
    claims.configure(vec![with("a.", "com."), settings("b.")]).unwrap();
    take(&mut claims, &State::catalog("b.", 1, &["a.zones PTR x.example."])).unwrap();
    assert_eq!(
        settle(&mut claims, &[]),
        ["com.: added a. plain", "x.example.: moved and reset b. plain NotAllowed"]
    );
    // Without a list no catalog takes over what is above all others.
    claims.configure(vec![CatalogSettings { members: Allowed::default(), ..settings("a.") }]).unwrap();
    assert_eq!(
        settle(&mut claims, &[]),
        ["com.: removed NotAllowed", "x.example.: moved and reset a. plain"]
    );
}

/// Other templates: the same groups mean something else, which a whole comparison finds.
#[test]
fn other_templates() {
    let mut claims = claims(&["a."]);
    let state = State::catalog("a.", 1, &["a.zones PTR x.example.", "group.a.zones TXT gold"]);
    take(&mut claims, &state).unwrap();
    let templates = vec!["plain".into(), "gold".into()];
    claims.configure(vec![CatalogSettings { templates, ..settings("a.") }]).unwrap();
    assert_eq!(claims.serial(CatalogNumber(0)), None);
    assert_eq!(take(&mut claims, &state).unwrap(), ["x.example.: regrouped a. gold"]);
}

#[test]
fn lines_that_say_nothing() {
    let mut claims = claims(&["a."]);
    for line in [
        "",
        "zonda members 1",
        "+",
        "+ a. l",
        "+ a. l z.example. -",
        "+ a. l.l z.example. - -",
        "+ a. . z.example. - -",
        "+ a. l z..example. - -",
        "+ a. l  - -",
        "+ a. l z.example. \\x -",
        "- a. z.example.",
        "- b. z.example.",
        "* a. l z.example. - -",
        &format!("+ a. l z.example. {} -", "t".repeat(5_000)),
    ] {
        assert_eq!(kept::read_line(&mut claims, line), Err(kept::NoLine), "{line}");
    }
    assert!(claims.is_empty());
    // Names whose octets are anything, and templates with blanks.
    let zone = "\\000\\032\\..\\255.example.";
    let line = format!("+ a. l\\032\\.. {zone} with\\sblank\\-\\\\ - holds");
    kept::read_line(&mut claims, &line).unwrap();
    let claim = claims.claim(claims.holder(&name(zone)).unwrap()).unwrap();
    assert_eq!((claim.label, claim.template), (&b"l ."[..], "with blank-\\"));
    assert_eq!(lines(&claims), [format!("{line}\n")]);
}

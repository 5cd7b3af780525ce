//! Random catalogs against a naive model: maps, and the words of the design.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use zone::ZoneView;

use super::super::*;
use super::kit::*;

const CATALOGS: [&str; 3] = ["a.cat.", "b.cat.", "c.cat."];
const LABELS: [&str; 5] = ["l0", "L1", "l2", "l3", "group"];
const ZONES: [&str; 6] = ["v.example.", "W.example.", "x.example.", "\\000.example.", "zones.a.cat.", "com."];
const TEMPLATES: [&str; 2] = ["plain", "signed"];

/// One line that a state gets or loses.
#[derive(Clone, Debug)]
enum Edit {
    Member(usize, usize),
    Group(usize, usize),
    Coo(usize, usize),
    Version(usize),
    Noise(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        // One zone most of all, so that catalogs meet at it.
        6 => (0..LABELS.len(), 0..ZONES.len()).prop_map(|(l, z)| Edit::Member(l, z)),
        6 => (0..2usize).prop_map(|l| Edit::Member(l, 0)),
        4 => (0..LABELS.len(), 0..3usize).prop_map(|(l, g)| Edit::Group(l, g)),
        2 => (0..LABELS.len(), 0..4usize).prop_map(|(l, c)| Edit::Coo(l, c)),
        4 => (0..2usize, 0..3usize).prop_map(|(l, c)| Edit::Coo(l, c)),
        1 => (0..2usize).prop_map(Edit::Version),
        1 => (0..3usize).prop_map(Edit::Noise),
    ]
}

fn line(edit: &Edit) -> String {
    let label = |number: &usize| LABELS[*number];
    match edit {
        Edit::Member(l, z) => format!("{}.zones PTR {}", label(l), ZONES[*z]),
        Edit::Group(l, g) => format!("group.{}.zones TXT {}", label(l), ["signed", "plain", "other"][*g]),
        Edit::Coo(l, c) => {
            format!("coo.{}.zones PTR {}", label(l), ["a.cat.", "b.cat.", "c.cat.", "d.cat."][*c])
        }
        Edit::Version(v) => format!("version TXT {}", ["2", "1"][*v]),
        Edit::Noise(n) => ["x.ext TXT y", "coo.l0.zones TXT y", "x.l1.zones PTR y."][*n].into(),
    }
}

/// A member as the model has it: label, template, catalog that may take it over.
type Member = (String, usize, Option<usize>);

/// A state read by the words of RFC 9432 4; `None`: broken.
fn read(state: &BTreeSet<String>, own: usize) -> Option<BTreeMap<String, Member>> {
    let starting = |start: String| -> Vec<&str> {
        state.iter().filter_map(|line| line.strip_prefix(start.as_str())).collect()
    };
    if starting("version TXT ".into()) != ["2"] {
        return None;
    }
    let mut members = BTreeMap::new();
    for label in LABELS {
        let zones = starting(format!("{label}.zones PTR "));
        let coos = starting(format!("coo.{label}.zones PTR "));
        if zones.len() > 1 || coos.len() > 1 {
            return None;
        }
        let groups = starting(format!("group.{label}.zones TXT "));
        let template = (0..2).find(|t| groups.contains(&TEMPLATES[*t])).unwrap_or(0);
        let coo = coos.first().and_then(|coo| CATALOGS.iter().position(|name| name == coo));
        for zone in zones {
            let member = (label.to_lowercase(), template, coo.filter(|coo| *coo != own));
            if members.insert(zone.to_lowercase(), member).is_some() {
                return None;
            }
        }
    }
    Some(members)
}

#[derive(Clone, Debug, Default)]
struct Model {
    claims: BTreeMap<(usize, String), Member>,
    holders: BTreeMap<String, usize>,
}

impl Model {
    /// What becomes of each zone by a state of a catalog.
    fn take(
        &mut self,
        own: usize,
        state: &BTreeMap<String, Member>,
        configured: &[String],
    ) -> BTreeMap<String, String> {
        let mut events = BTreeMap::new();
        for zone in ZONES.map(str::to_lowercase) {
            let (old, new) = (self.claims.get(&(own, zone.clone())).cloned(), state.get(&zone).cloned());
            match &new {
                Some(member) => self.claims.insert((own, zone.clone()), member.clone()),
                None => self.claims.remove(&(own, zone.clone())),
            };
            let holder = self.holders.get(&zone).copied();
            let event = match (new, holder) {
                (None, Some(holder)) if holder == own => {
                    let next = (0..3).find(|other| self.claims.contains_key(&(*other, zone.clone())));
                    match next {
                        _ if configured.contains(&zone) => (None, "left to the settings".to_owned()),
                        None => (None, "removed".into()),
                        Some(next) => {
                            let (label, _, coo) = old.clone().unwrap();
                            let is_same = coo == Some(next) && self.claims[&(next, zone.clone())].0 == label;
                            (Some(next), if is_same { "moved" } else { "moved and reset" }.into())
                        }
                    }
                }
                (Some(member), Some(holder)) if holder == own => {
                    let old = old.unwrap();
                    match () {
                        () if old.0 != member.0 => (Some(own), "reset".into()),
                        () if old.1 != member.1 => (Some(own), "regrouped".into()),
                        () => continue,
                    }
                }
                (Some(_), _) if configured.contains(&zone) => continue,
                (Some(_), None) => (Some(own), "added".into()),
                (Some(member), Some(holder)) => {
                    let other = &self.claims[&(holder, zone.clone())];
                    match () {
                        () if other.2 != Some(own) => continue,
                        () if other.0 == member.0 => (Some(own), "moved".into()),
                        () => (Some(own), "moved and reset".into()),
                    }
                }
                (None, _) => continue,
            };
            match event.0 {
                Some(holder) => self.holders.insert(zone.clone(), holder),
                None => self.holders.remove(&zone),
            };
            events.insert(zone, event.1);
        }
        events
    }

    /// The claims as the code has them.
    fn check(&self, claims: &Claims) {
        let mut found = BTreeMap::new();
        let mut holders = BTreeMap::new();
        for (_, claim) in claims.iter() {
            let zone = claim.zone.to_lowercase().to_string();
            let template = TEMPLATES.iter().position(|name| *name == claim.template).unwrap();
            let label = String::from_utf8(claim.label.to_vec()).unwrap();
            let catalog = usize::from(claim.catalog.0);
            if claim.holds {
                assert_eq!(holders.insert(zone.clone(), catalog), None, "two hold {zone}");
            }
            found.insert((catalog, zone), (label, template, claim.coo.map(|coo| usize::from(coo.0))));
        }
        assert_eq!((&found, &holders), (&self.claims, &self.holders));
        for catalog in 0..3 {
            let claimed = found.keys().filter(|(other, _)| *other == catalog).count();
            let held = holders.values().filter(|other| **other == catalog).count();
            assert_eq!(claims.counts(CatalogNumber(catalog as u16)), (claimed as u32, held as u32));
        }
    }
}

/// Steps as the model says them.
fn events(steps: &[Sorted]) -> BTreeMap<String, String> {
    let event = |step: &Sorted| Some((step.0.zone.to_lowercase().to_string(), step.0.event?.to_string()));
    steps.iter().filter_map(event).collect()
}

fn run(rounds: &[(usize, Vec<Edit>, bool)], configured: usize, limit: u32, settings_after: (usize, usize)) {
    let mut claims = claims(&CATALOGS);
    let mut model = Model::default();
    let configured: Vec<String> = ZONES
        .iter()
        .enumerate()
        .filter(|(at, _)| configured >> at & 1 == 1)
        .map(|(_, z)| z.to_lowercase())
        .collect();
    let is_configured = |zone: &wire::Name| configured.contains(&zone.to_lowercase().to_string());
    let begin: BTreeSet<String> = ["version TXT 2".to_owned()].into();
    let mut texts = [begin.clone(), begin.clone(), begin];
    let mut states = [0, 1, 2].map(|own| State::catalog(CATALOGS[own], 1, &[]));
    let mut kept = String::new();
    for (serial, (own, edits, is_waiting)) in (2..).zip(rounds) {
        for edit in edits {
            let line = line(edit);
            if !texts[*own].remove(&line) {
                texts[*own].insert(line);
            }
        }
        let all: Vec<&str> = texts[*own].iter().map(String::as_str).collect();
        let state = State::new(CATALOGS[*own], serial, &all);
        let change = states[*own].change(&state);
        let pack = state.pack();
        let view = ZoneView::new(&pack, 0).unwrap();
        states[*own] = state.clone();
        let catalog = CatalogNumber(*own as u16);
        let whole = Difference::of_state(&claims, catalog, &view, serial);
        // The same by the change alone, where that is possible.
        if let Some(changed) = Difference::of_change(&claims, catalog, &change, &view) {
            let mut other = claims.clone();
            match (&whole, changed) {
                // Of several faults another may be found first.
                (Err(_), Err(_)) => {}
                (Ok(_), Ok(changed)) => {
                    let mut plan = Plan::new(&mut other, changed, &is_configured, true, 0);
                    let mut steps = steps_of(&mut other, |claims| plan.next_step(claims));
                    let mut same = claims.clone();
                    let whole = Difference::of_state(&same, catalog, &view, serial).unwrap();
                    let mut plan = Plan::new(&mut same, whole, &is_configured, true, 0);
                    let mut others = steps_of(&mut same, |claims| plan.next_step(claims));
                    steps.sort();
                    others.sort();
                    assert_eq!(events(&steps), events(&others));
                    assert_eq!(lines(&other), lines(&same));
                }
                (whole, changed) => panic!("{whole:?} but by the change {changed:?}"),
            }
        }
        let members = read(&texts[*own], *own);
        assert_eq!(whole.is_ok(), members.is_some(), "{whole:?} {texts:?}");
        let (Ok(difference), Some(members)) = (whole, members) else { continue };
        if *is_waiting {
            wait(&claims, &difference, &state, &is_configured, limit);
        }
        let expected = model.take(*own, &members, &configured);
        let mut plan = Plan::new(&mut claims, difference, &is_configured, true, 0);
        let steps = steps_of(&mut claims, |claims| plan.next_step(claims));
        steps.iter().for_each(|step| kept::write_step(&claims, &step.0, &mut kept));
        assert_eq!(events(&steps), expected);
        assert_eq!(claims.serial(catalog), Some(serial));
        model.check(&claims);
    }
    // What was kept says the same, whichever catalogs are known when it is read.
    let mut again = Claims::default();
    again.configure(CATALOGS.map(settings).to_vec()).unwrap();
    kept.lines().for_each(|line| kept::read_line(&mut again, line).unwrap());
    model.check(&again);
    assert_eq!(lines(&again), lines(&claims));
    assert_eq!(again.offers.len(), claims.offers.len());
    resettle(claims, kept, settings_after.0, settings_after.1);
}

/// Other settings: some catalogs went, other zones are configured. Each zone is held then by somebody who may, if there is anybody, and what was kept says so.
fn resettle(mut claims: Claims, mut kept: String, catalogs: usize, configured: usize) {
    let stays = |at: &usize| catalogs >> at & 1 == 1;
    let is_configured = |zone: &wire::Name| {
        ZONES
            .iter()
            .enumerate()
            .any(|(at, other)| configured >> at & 1 == 1 && name(other).eq_ignore_case(zone))
    };
    claims.configure((0..3).filter(stays).map(|at| settings(CATALOGS[at])).collect()).unwrap();
    let before = claims.clone();
    let mut settle = Settle::new(&is_configured);
    let steps = events_once(&mut claims, |claims| settle.next_step(claims));
    steps.iter().for_each(|step| kept::write_step(&claims, &step.0, &mut kept));
    for zone in ZONES.map(name) {
        let all: Vec<_> = claims.of_zone(&zone).map(|(_, claim)| claim).collect();
        assert!(all.iter().all(|claim| stays(&claim.catalog.0.into())));
        let listed = before.of_zone(&zone).filter(|(_, claim)| stays(&claim.catalog.0.into())).count();
        assert_eq!(all.len(), listed, "no other claims are lost");
        let is_to_be_held = listed > 0 && !is_configured(&zone);
        assert_eq!(all.iter().filter(|claim| claim.holds).count(), usize::from(is_to_be_held), "{zone}");
        // Zones that had and have a holder change it only if that went.
        let catalog =
            |claims: &Claims| claims.holder(&zone).and_then(|number| Some(claims.claim(number)?.catalog));
        let event =
            steps.iter().filter(|step| step.0.zone.eq_ignore_case(&zone)).find_map(|step| step.0.event);
        match (catalog(&before), catalog(&claims)) {
            (Some(old), Some(new)) if old == new => assert_eq!(event, None),
            (Some(old), Some(_)) => {
                assert!(!stays(&old.0.into()));
                assert!(matches!(event, Some(Event::Moved { from, .. }) if from == old), "{event:?}");
            }
            (Some(_), None) if is_configured(&zone) => assert_eq!(event, Some(Event::Yielded)),
            (Some(_), None) => assert_eq!(event, Some(Event::Removed)),
            (None, Some(_)) => assert_eq!(event, Some(Event::Added)),
            (None, None) => assert_eq!(event, None),
        }
    }
    let mut again = Claims::default();
    again.configure(CATALOGS.map(settings).to_vec()).unwrap();
    kept.lines().for_each(|line| kept::read_line(&mut again, line).unwrap());
    assert_eq!(lines(&again), lines(&claims));
}

/// What waits comes out the same once it is confirmed, and loses nothing before.
fn wait(
    claims: &Claims,
    difference: &Difference,
    state: &State,
    is_configured: &dyn Fn(&wire::Name) -> bool,
    limit: u32,
) {
    let again = || compare(claims, state).unwrap();
    let (mut waiting, mut other) = (claims.clone(), claims.clone());
    let mut limited: Vec<CatalogSettings> = CATALOGS.map(settings).to_vec();
    limited.iter_mut().for_each(|one| one.remove_max = RemoveMax::Members(limit));
    waiting.configure(limited).unwrap();
    let mut plan = Plan::new(&mut waiting, again(), is_configured, false, 0);
    let (waits, losses) = (plan.waits(), plan.counts().losses());
    let steps = steps_of(&mut waiting, |claims| plan.next_step(claims));
    let lost = steps.iter().filter(|step| step.0.event.is_some_and(Event::is_loss)).count() as u32;
    assert_eq!((waits, lost), (losses > limit, if losses > limit { 0 } else { losses }));
    assert_eq!(waiting.serial(difference.catalog), (!waits).then_some(state.serial));
    let confirmed = compare(&waiting, state).unwrap();
    let mut plan = Plan::new(&mut waiting, confirmed, is_configured, true, 0);
    steps_of(&mut waiting, |claims| plan.next_step(claims));
    let mut plan = Plan::new(&mut other, again(), is_configured, true, 0);
    steps_of(&mut other, |claims| plan.next_step(claims));
    assert_eq!(lines(&waiting), lines(&other));
}

fn rounds() -> impl Strategy<Value = Vec<(usize, Vec<Edit>, bool)>> {
    prop::collection::vec((0..3usize, prop::collection::vec(edit(), 1..6), any::<bool>()), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn events_make_the_set_of_the_new_state(rounds in rounds(), configured in 0..8usize, limit in 0..3u32, after in (0..8usize, 0..16usize)) {
        run(&rounds, configured, limit, after);
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]
        #[test]
        #[ignore = "a minute of random catalogs"]
        fn events_make_the_set_of_the_new_state(rounds in rounds(), configured in 0..8usize, limit in 0..3u32, after in (0..8usize, 0..16usize)) {
            run(&rounds, configured, limit, after);
        }
    }
}

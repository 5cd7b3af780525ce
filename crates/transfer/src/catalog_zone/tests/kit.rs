//! Catalogs written down as lines, their states as packs, and what became of zones as text.

use std::collections::BTreeSet;

use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::contents::SourcePosition;
use zone::{Change, ContentsBuilder, Pack, PackBuilder, Records, TextStamp, ZoneView};

use super::super::*;

pub fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// A catalog as a set of records.
#[derive(Clone, Debug)]
pub struct State {
    pub apex: NameBuf,
    pub serial: u32,
    pub records: BTreeSet<(Vec<u8>, u16, Vec<u8>)>,
}

fn soa(serial: u32) -> Vec<u8> {
    [&[0, 0][..], &serial.to_be_bytes(), &[0; 16]].concat()
}

/// RDATA of a TXT record of these strings.
pub fn txt(strings: &[&[u8]]) -> Vec<u8> {
    strings.iter().flat_map(|text| [&[text.len() as u8], *text].concat()).collect()
}

impl State {
    /// Lines: name below the apex, type, value.
    pub fn new(apex: &str, serial: u32, lines: &[&str]) -> State {
        let mut state = State { apex: name(apex), serial, records: BTreeSet::new() };
        lines.iter().for_each(|line| state.add(line));
        state
    }

    /// The same with a version.
    pub fn catalog(apex: &str, serial: u32, lines: &[&str]) -> State {
        let mut state = State::new(apex, serial, lines);
        state.add("version TXT 2");
        state
    }

    pub fn add(&mut self, line: &str) {
        let record = self.record(line);
        self.records.insert(record);
    }

    pub fn record(&self, line: &str) -> (Vec<u8>, u16, Vec<u8>) {
        let [owner, rtype, value] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let owner = NameBuf::from_text_at(owner.as_bytes(), Some(&self.apex)).unwrap();
        let (rtype, rdata) = match rtype {
            "PTR" => (rtype::PTR, name(value).octets().to_vec()),
            "TXT" => (rtype::TXT, txt(&value.split('+').map(str::as_bytes).collect::<Vec<_>>())),
            "A" => (rtype::A, vec![192, 0, 2, 1]),
            "NS" => (rtype::NS, name(value).octets().to_vec()),
            other => panic!("{other}"),
        };
        (owner.octets().to_vec(), rtype, rdata)
    }

    pub fn pack(&self) -> Pack {
        let mut builder = ContentsBuilder::new(&self.apex);
        let mut push = |owner: &[u8], rtype, rdata: &[u8]| {
            let owner = Name::from_wire(owner).unwrap();
            builder.push(owner, false, rtype, 0, rdata, SourcePosition::default()).unwrap();
        };
        push(self.apex.octets(), rtype::SOA, &soa(self.serial));
        push(self.apex.octets(), rtype::NS, b"\x07invalid\0");
        self.records.iter().for_each(|(owner, rtype, rdata)| push(owner, *rtype, rdata));
        pack_of(builder)
    }

    /// What leads from `self` to `next`.
    pub fn change(&self, next: &State) -> Change {
        let records = |one: &State, other: &State| {
            let mut records = Records::default();
            records.push(&one.apex, rtype::SOA, 0, &soa(one.serial));
            for (owner, rtype, rdata) in one.records.difference(&other.records) {
                records.push(Name::from_wire(owner).unwrap(), *rtype, 0, rdata);
            }
            records
        };
        Change::new(records(self, next), records(next, self)).unwrap()
    }
}

pub fn pack_of(builder: ContentsBuilder) -> Pack {
    let mut packs = PackBuilder::new(1);
    packs.add_zone(&builder.finish(), TextStamp::default()).unwrap();
    Pack::open(packs.finish().unwrap()).unwrap()
}

/// Settings of a catalog with two templates that takes whatever comes.
pub fn settings(zone: &str) -> CatalogSettings {
    let mut members = Allowed::default();
    members.add(&name("*."));
    CatalogSettings {
        zone: name(zone),
        templates: vec!["plain".into(), "signed".into()],
        members,
        remove_max: RemoveMax::Any,
    }
}

pub fn claims(catalogs: &[&str]) -> Claims {
    let mut claims = Claims::default();
    claims.configure(catalogs.iter().map(|zone| settings(zone)).collect()).unwrap();
    claims
}

/// Compares a state as a whole.
pub fn compare(claims: &Claims, state: &State) -> Result<Difference, Broken> {
    let pack = state.pack();
    let view = ZoneView::new(&pack, 0).unwrap();
    Difference::of_state(claims, claims.catalog(&state.apex).unwrap(), &view, state.serial)
}

/// Carries a state out, and says what became of zones, sorted.
pub fn take(claims: &mut Claims, state: &State) -> Result<Vec<String>, Broken> {
    let difference = compare(claims, state)?;
    Ok(carry_out(claims, difference, &|_| false))
}

pub fn carry_out(
    claims: &mut Claims,
    difference: Difference,
    is_configured: &dyn Fn(&Name) -> bool,
) -> Vec<String> {
    let mut plan = Plan::new(claims, difference, is_configured, false, 0);
    let mut steps = steps_of(claims, |claims| plan.next_step(claims));
    steps.sort();
    steps.iter().filter_map(|step| text_of(claims, step)).collect()
}

/// All steps of a plan, of which each is about another zone.
pub fn steps_of(claims: &mut Claims, next: impl FnMut(&mut Claims) -> Option<Step>) -> Vec<Sorted> {
    let steps = events_once(claims, next);
    let zones: BTreeSet<String> = steps.iter().map(zone_of).collect();
    assert_eq!(zones.len(), steps.len(), "a zone in two steps");
    steps
}

/// All steps, of which each that has an event is about another zone.
pub fn events_once(claims: &mut Claims, mut next: impl FnMut(&mut Claims) -> Option<Step>) -> Vec<Sorted> {
    let steps: Vec<Sorted> = std::iter::from_fn(|| next(claims)).map(Sorted).collect();
    let events = || steps.iter().filter(|step| step.0.event.is_some());
    assert_eq!(
        events().map(zone_of).collect::<BTreeSet<_>>().len(),
        events().count(),
        "two events of a zone"
    );
    steps
}

fn zone_of(step: &Sorted) -> String {
    step.0.zone.to_lowercase().to_string()
}

/// A step among others, in the order of zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorted(pub Step);

impl Ord for Sorted {
    fn cmp(&self, other: &Sorted) -> std::cmp::Ordering {
        zone_of(self).cmp(&zone_of(other))
    }
}

impl PartialOrd for Sorted {
    fn partial_cmp(&self, other: &Sorted) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// `zone: event [by catalog template] [clash]`; nothing for steps that only change claims.
pub fn text_of(claims: &Claims, Sorted(step): &Sorted) -> Option<String> {
    if step.event.is_none() && step.clash.is_none() {
        return None;
    }
    let mut text = format!("{}:", step.zone);
    if let Some(event) = step.event {
        text += &format!(" {event}");
    }
    if let Some(claim) = step.claim.and_then(|number| claims.claim(number)).filter(|claim| claim.holds) {
        text += &format!(" {} {}", claims.catalog_name(claim.catalog), claim.template);
    }
    match step.clash {
        Some(Clash::Catalog(other)) => text += &format!(" held by {}", claims.catalog_name(other)),
        Some(clash) => text += &format!(" {clash:?}"),
        None => {}
    }
    Some(text)
}

/// All claims as sorted lines.
pub fn lines(claims: &Claims) -> Vec<String> {
    let mut lines: Vec<String> = claims
        .iter()
        .map(|(number, _)| {
            let mut line = String::new();
            kept::write_claim(claims, number, &mut line);
            line
        })
        .collect();
    lines.sort();
    lines
}

//! Zones as lines: all in canonical order, or one with all that is known of it.

use std::io;

use wire::{Name, NameBuf};
use zone::catalog::{CatalogView, SlotNumber, View};
use zone::lookup::Denial;

use crate::command::{ByCommand, Reply, ZoneLine, ZoneState};
use crate::controller::{Controller, Zones};
use crate::expiry;
use crate::findings;
use crate::order::Order;

/// Zones that are looked up at a time, so that a slow client holds no lock.
const ZONES_AT_A_TIME: usize = 1000;

/// Lists zones, if `state` is given those of which that is so; says whether all of these are well.
pub(super) fn all_zones(
    controller: &Controller,
    state: Option<ZoneState>,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<bool> {
    let mut are_well = true;
    let (order, mut listed) = (Order::default(), Vec::new());
    let order = list(controller, order, &mut listed).sorted();
    for some in order.chunks(ZONES_AT_A_TIME) {
        let lines: Vec<ZoneLine> = {
            let zones = controller.zones.read();
            controller.catalog.reader().with(|view| {
                let line = |&number: &usize| match &listed[number] {
                    Listed::Slot(slot) => zones.line(view, *slot),
                    Listed::Hidden(name) => zones.hidden_line(name),
                    Listed::Removed(name) => Some(removed_line(name)),
                };
                some.iter().filter_map(line).collect()
            })
        };
        for mut line in lines.into_iter().filter(|line| state.is_none_or(|state| line.is(state))) {
            controller.note_maker(&mut line);
            are_well &= !line.is_wrong();
            reply(Reply::Zone(line.into()))?;
        }
    }
    Ok(are_well)
}

/// A zone of the list.
enum Listed {
    Slot(SlotNumber),
    /// One that the catalog does not show.
    Hidden(NameBuf),
    /// One of the settings that a command removed.
    Removed(NameBuf),
}

/// The names of all zones, and where each is.
fn list(controller: &Controller, mut order: Order, listed: &mut Vec<Listed>) -> Order {
    for name in controller.zones.read().hidden() {
        order.push(name);
        listed.push(Listed::Hidden(name.to_owned()));
    }
    for name in controller.zones.read().removed() {
        order.push(name);
        listed.push(Listed::Removed(name.to_owned()));
    }
    let mut slots = Vec::new();
    controller.for_each_slot(|slot, _| slots.push(slot));
    for some in slots.chunks(ZONES_AT_A_TIME) {
        let zones = controller.zones.read();
        controller.catalog.reader().with(|view| {
            for &slot in some {
                if let Some(name) = zones.name(view, slot) {
                    order.push(name);
                    listed.push(Listed::Slot(slot));
                }
            }
        });
    }
    order
}

impl Controller {
    /// Notes by whom a zone was made, if that was over the API.
    pub(super) fn note_maker(&self, line: &mut ZoneLine) {
        let made = NameBuf::from_text(&line.zone).ok().and_then(|name| self.made.of(&name));
        line.made_by = made.map(|made| made.by.into());
    }
}

impl Zones {
    pub(super) fn line_named(&self, controller: &Controller, name: &Name) -> Option<ZoneLine> {
        controller.catalog.reader().with(|view| match self.slot(view, name) {
            Some(slot) => {
                let mut line = self.line(view, slot)?;
                line.findings = self.findings.of(slot).to_vec();
                if let Some(all) =
                    findings::summary(line.errors, line.warnings).filter(|_| line.findings.is_empty())
                {
                    line.findings = vec![format!("{all}; `zonda ctl reload --force {name}` shows them")];
                }
                line.changes = self.changes(view, slot).map(Box::new);
                line.transfers = controller.transfers.of(name);
                line.notices = controller.telling.of(name);
                Some(line)
            }
            None if self.by_command(name) == Some(ByCommand::Removed) => Some(removed_line(name)),
            None => self.hidden_line(name),
        })
    }

    fn line(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<ZoneLine> {
        let zone = match view.view_of(slot) {
            Some(View::Zone(zone)) => Some(zone),
            _ => None,
        };
        let problem = self.problem_of(view, slot);
        let state = match (&zone, problem) {
            (Some(_), None) => "served",
            (Some(_), Some(_)) => "stale",
            (None, _) => "absent",
        };
        let signed = zone.and_then(|zone| match zone.denial() {
            Denial::None => None,
            Denial::Nsec => Some("NSEC"),
            Denial::Nsec3 => Some("NSEC3"),
        });
        let name = self.name(view, slot)?;
        let row = zone.map(|zone| zone.row()).unwrap_or_default();
        let now = expiry::now();
        let remaining = expiry::remaining(row.first_expiry, now);
        let source = self.source(slot, name).map(|source| source.to_string());
        Some(ZoneLine {
            zone: name.to_string(),
            state: state.into(),
            serial: zone.map(|zone| zone.row().serial),
            records: row.record_count,
            names: row.node_count,
            signed: signed.map(str::to_owned),
            // Served as it was stored; the lists were not read yet.
            source: source.unwrap_or_else(|| "pack-directory".into()),
            by_command: self.by_command(name),
            problems: problem.unwrap_or_default().to_vec(),
            expires: remaining.map(|remaining| expiry::time(now, remaining)),
            expired: remaining.is_some_and(|remaining| remaining < 0),
            errors: row.errors,
            warnings: row.warnings,
            findings: Vec::new(),
            transfers: None,
            notices: Vec::new(),
            member_of: self.member_of(slot).map(ToString::to_string),
            made_by: None,
            of_store: self.incoming(slot).map(|store| store.to_string()),
            store: Vec::new(),
            changes: None,
            frozen: self.is_frozen(name),
            fault: self.fault(name).map(Into::into),
            secondary: None,
            transfers_in: None,
        })
    }

    fn hidden_line(&self, name: &Name) -> Option<ZoneLine> {
        let (source, problem) = self.hidden_zone(name)?;
        Some(ZoneLine {
            zone: name.to_string(),
            state: "absent".into(),
            source,
            by_command: self.by_command(name),
            problems: problem.unwrap_or_default().to_vec(),
            ..ZoneLine::default()
        })
    }
}

/// A zone of the settings that a command removed.
fn removed_line(name: &Name) -> ZoneLine {
    ZoneLine {
        zone: name.to_string(),
        state: "removed".into(),
        by_command: Some(ByCommand::Removed),
        ..ZoneLine::default()
    }
}

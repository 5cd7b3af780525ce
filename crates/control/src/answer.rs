//! Requests of the control socket to replies.

use std::cmp::Reverse;
use std::path::Path;
use std::time::Instant;
use std::{io, iter};

use auth::Asked;
use net::WorkerCounters;
use wire::iana::{rcode, rtype};
use wire::{Name, NameBuf};
use zone::catalog::{CatalogView, SlotNumber, View};
use zone::lookup::Denial;

mod explain;
mod texts;

use crate::command::{
    ByCommand, CatalogLine, ChangeLine, Count, Expiry, LogLevel, Reply, Request, Stats, Status, ZoneLine,
    ZoneState,
};
use crate::controller::{Change, Controller, Zones};
use crate::expiry;
use crate::findings;
use crate::handler::Shown;
use crate::limited;
use crate::locks;
use crate::log;
use crate::memory::memory;
use crate::order::Order;
use crate::packs::PackFolder;
use crate::reload;
use crate::secondaries::Command;
use crate::serve::addresses;
use crate::system::memory_octets;
use crate::text::{Seconds, count, grouped, octets};
use crate::wanted::{Listing, zone_name};

/// Carries out a request; says whether all went well. Fails if the replies cannot be given.
pub(crate) fn answer(
    request: &Request,
    controller: &Controller,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<bool> {
    let named = |text: &String| zone_name(text);
    let started = Instant::now();
    let change = match request {
        Request::Status => {
            let status = status(controller);
            let is_well = status.problems.is_empty();
            return reply(Reply::Status(status)).map(|()| is_well);
        }
        Request::Stats => return reply(Reply::Stats(stats(controller))).map(|()| true),
        Request::Locks { on, clear } => {
            return reply(Reply::Locks(locks::command(controller, *on, *clear))).map(|()| true);
        }
        Request::RateLimit => return reply(Reply::RateLimit(limited::current(controller))).map(|()| true),
        Request::LogLevel { level } => {
            let set = level.as_deref().map_or_else(|| Ok(log::level()), log::change_level);
            return match set {
                Ok(was) => reply(Reply::LogLevel(LogLevel { level: log::level(), was })).map(|()| true),
                Err(message) => reply(Reply::Error { message }).map(|()| false),
            };
        }
        // Seen to by whoever speaks with the client.
        Request::Stop | Request::Upgrade { .. } => return Ok(true),
        Request::Zones { zone: None, state } => return all_zones(controller, *state, reply),
        Request::Zones { zone: Some(name), .. } => named(name).and_then(|name| {
            let line = controller.zones.read().line_named(controller, &name);
            // Without the lock, as another thread says it.
            let stands =
                controller.is_secondary(&name).then(|| controller.secondaries.words(&name)).flatten();
            let (secondary, transfers_in) = stands.map(|(words, lines)| (words, Box::new(lines))).unzip();
            let line = line.map(|line| ZoneLine { secondary, transfers_in, ..line });
            line.map(|line| Answer::Zone(Box::new(line))).ok_or_else(|| format!("there is no zone {name}"))
        }),
        Request::Catalogs { catalog } => return catalogs(controller, catalog.as_ref(), reply),
        Request::ConfirmCatalog { catalog } => {
            let done = named(catalog).and_then(|name| controller.catalogs.confirm(&name));
            return match done {
                Ok(text) => reply(Reply::Confirmed { text }).map(|()| true),
                Err(message) => reply(Reply::Error { message }).map(|()| false),
            };
        }
        Request::Reload { zone: None, zones, force } if zones.is_empty() => {
            Ok(Answer::Change(reload::reload_all(controller, *force).into()))
        }
        Request::Reload { zone, zones, force } => {
            let names: Result<Vec<NameBuf>, String> = zone.iter().chain(zones).map(named).collect();
            names.map(|names| Answer::Change(reload::reload_zones(controller, &names, *force).into()))
        }
        Request::Reconfigure => Ok(Answer::Change(reload::reconfigure(controller).into())),
        Request::Refresh { zone } | Request::Retransfer { zone } => {
            let command = match request {
                Request::Refresh { .. } => Command::Refresh,
                _ => Command::Retransfer,
            };
            let done = named(zone).and_then(|name| controller.secondaries.command(&name, command));
            return match done {
                Ok(()) => Ok(true),
                Err(message) => reply(Reply::Error { message }).map(|()| false),
            };
        }
        Request::Sync { zones, all, force } => {
            let names: Result<Vec<NameBuf>, String> = zones.iter().map(named).collect();
            return match names {
                Ok(names) => texts::sync(controller, &names, (*all, *force), reply),
                Err(message) => reply(Reply::Error { message }).map(|()| false),
            };
        }
        Request::Freeze { zone, force } => {
            return match named(zone).and_then(|name| texts::freeze(controller, &name, *force)) {
                Ok(line) => reply(Reply::Text(line)).map(|()| true),
                Err(message) => reply(Reply::Error { message }).map(|()| false),
            };
        }
        Request::Thaw { zone, accept_loss: true } => {
            let done = named(zone).and_then(|name| controller.accept_loss(&name));
            return match done {
                Ok(()) => Ok(true),
                Err(message) => reply(Reply::Error { message }).map(|()| false),
            };
        }
        Request::Thaw { zone, .. } => named(zone).and_then(|name| {
            controller.thaw(&mut controller.change(), &name).map(|change| Answer::Change(change.into()))
        }),
        Request::ExplainUpdate { .. } => {
            return match explain::update(controller, request) {
                Ok(explained) => {
                    let is_granted = explained.granted;
                    reply(Reply::Explained(explained)).map(|()| is_granted)
                }
                Err(message) => reply(Reply::Error { message }).map(|()| false),
            };
        }
        Request::AddZone { zone, file, catalog, groups } => {
            let listing = |catalog: NameBuf| Listing {
                catalog: catalog.to_lowercase(),
                groups: groups.clone().into(),
                coo: None,
            };
            let listing = catalog.as_ref().map(named).transpose().map(|catalog| catalog.map(listing));
            let add = |name, listing| {
                Answer::Change(reload::add_zone(controller, name, Path::new(file), listing).into())
            };
            listing.and_then(|listing| named(zone).map(|name| add(name, listing)))
        }
        Request::RemoveZone { zone } => {
            named(zone).map(|name| Answer::Change(reload::remove_zone(controller, &name).into()))
        }
    };
    match change {
        Ok(Answer::Zone(line)) => {
            let is_well = !line.is_wrong();
            reply(Reply::Zone(line)).map(|()| is_well)
        }
        Ok(Answer::Change(change)) => {
            let ok = change.errors.is_empty();
            reply(Reply::Change(change_line(*change, started)))?;
            Ok(ok)
        }
        Err(message) => reply(Reply::Error { message }).map(|()| false),
    }
}

/// Shows catalogs; says whether all of these are well.
fn catalogs(
    controller: &Controller,
    only: Option<&String>,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<bool> {
    let only = match only.map(|text| zone_name(text)).transpose() {
        Ok(only) => only,
        Err(message) => return reply(Reply::Error { message }).map(|()| false),
    };
    let lines = controller.catalog_lines(only.as_deref());
    if let Some(name) = only.filter(|_| lines.is_empty()) {
        let message = format!("there is no catalog {name} in the settings");
        return reply(Reply::Error { message }).map(|()| false);
    }
    let are_well = !lines.iter().any(CatalogLine::is_wrong);
    lines.into_iter().try_for_each(|line| reply(Reply::Catalog(line)))?;
    Ok(are_well)
}

enum Answer {
    Zone(Box<ZoneLine>),
    Change(Box<Change>),
}

fn change_line(change: Change, started: Instant) -> ChangeLine {
    ChangeLine {
        summary: reload::summary(&change),
        loaded: change.loaded,
        unchanged: change.unchanged,
        added: change.added,
        removed: change.removed,
        failed: change.failed.iter().map(ToString::to_string).collect(),
        errors: change.errors,
        warnings: change.warnings,
        milliseconds: started.elapsed().as_secs_f64() * 1e3,
    }
}

/// Zones that are looked up at a time, so that a slow client holds no lock.
const ZONES_AT_A_TIME: usize = 1000;

/// Lists zones, if `state` is given those of which that is so; says whether all of these are well.
fn all_zones(
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
        for line in lines.into_iter().filter(|line| state.is_none_or(|state| line.is(state))) {
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

impl Zones {
    fn line_named(&self, controller: &Controller, name: &Name) -> Option<ZoneLine> {
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

/// The status as a line of the log.
pub(crate) fn status_line(controller: &Controller) -> String {
    let status = status(controller);
    let mut zones = format!("{} loaded", count(status.zones_loaded, "zone"));
    for (number, what) in [(status.zones_absent, "absent"), (status.zones_stale, "stale")] {
        if number > 0 {
            zones += &format!(", {} {what}", grouped(number as u64));
        }
    }
    let queries = controller.shown.read().iter().map(|shown| shown.tally.queries()).sum();
    format!(
        "status: up {}, {zones}, {}, memory {}, queries {}",
        Seconds(status.uptime_seconds),
        count(status.records as usize, "record"),
        status.memory_octets.map_or_else(|| "unknown".into(), octets),
        grouped(queries),
    )
}

fn status(controller: &Controller) -> Status {
    let mut status = Status {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        uptime_seconds: uptime_seconds(controller),
        memory_octets: memory_octets(),
        settings: controller.settings_file(),
        ..Status::default()
    };
    if let Some(running) = &*controller.running.lock() {
        status.listen = addresses(running.listeners());
        status.workers = running.counters().len();
    }
    {
        let zones = controller.zones.read();
        status.zones_loaded = zones.loaded();
        status.zones_absent = zones.count() - zones.loaded();
        status.zones_broken = zones.broken();
        status.zones_stale = controller.catalog.reader().with(|view| zones.stale(view));
        (status.packs, status.pack_octets) = zones.packs();
    }
    let now = expiry::now();
    let mut next: Option<(i64, NameBuf)> = None;
    controller.for_each_slot(|_, view| {
        let View::Zone(zone) = view else { return };
        let row = zone.row();
        status.records += row.record_count;
        status.zones_with_errors += usize::from(row.errors > 0);
        status.zones_with_warnings += usize::from(row.errors == 0 && row.warnings > 0);
        match expiry::remaining(row.first_expiry, now) {
            Some(..0) => status.zones_expired += 1,
            Some(remaining) if next.as_ref().is_none_or(|(first, _)| remaining < *first) => {
                next = Some((remaining, zone.apex().to_owned()));
            }
            _ => {}
        }
    });
    status.next_expiry = next
        .map(|(remaining, zone)| Expiry { zone: zone.to_string(), expires: expiry::time(now, remaining) });
    status.problems = problems(&status, controller);
    status
}

/// What is wrong, as lines. What was found in zones that are served is not: who has many customers' zones is never without.
fn problems(status: &Status, controller: &Controller) -> Vec<String> {
    let zones = [
        (status.zones_absent, "absent", "without data: queries for them get SERVFAIL"),
        (status.zones_stale, "stale", "served from older data"),
        (status.zones_expired, "expired", "with signatures that have expired"),
    ];
    let line = |(number, state, what): (usize, &str, &str)| {
        (number > 0).then(|| format!("{} {what}; `zonda ctl zones --state {state}`", count(number, "zone")))
    };
    let packs = controller.folder().filter(|folder| !folder.is_held()).and_then(PackFolder::problem);
    zones.into_iter().filter_map(line).chain(packs).chain(controller.catalog_problems()).collect()
}

fn uptime_seconds(controller: &Controller) -> u64 {
    controller.started.elapsed().map_or(0, |uptime| uptime.as_secs())
}

fn stats(controller: &Controller) -> Stats {
    let (answers, limited, types) = {
        let shown = controller.shown.read();
        let answers = shown.iter().map(|shown| shown.counts.read()).reduce(|a, b| a.sum(b));
        let limited = shown.iter().map(|shown| shown.told.counts.read()).reduce(|a, b| a.sum(b));
        (answers.unwrap_or_default(), limited.unwrap_or_default(), types(&shown))
    };
    let workers = controller.running.lock().as_ref().map(|running| running.counters()).unwrap_or_default();
    let transport = workers.into_iter().reduce(|a, b| a.sum(b)).unwrap_or_default();
    let counted = |(name, help, count): (&str, &str, u64)| Count {
        name: name.replace('_', "-"),
        count,
        help: help.into(),
    };
    let queries = types.iter().map(|(_, count)| count).sum();
    let all = counted(("queries", "Messages received.", queries));
    let by_type = types.into_iter().map(|(name, count)| counted((&name, "", count)));
    let rcodes = answers.rcodes.iter().enumerate().filter(|(_, responses)| **responses > 0);
    Stats {
        uptime_seconds: uptime_seconds(controller),
        answers: iter::once(all).chain(answers.each().map(counted)).collect(),
        types: by_type.collect(),
        queries: paths(&transport).map(counted).to_vec(),
        rcodes: rcodes.map(|(code, responses)| counted((&rcode_name(code), "", *responses))).collect(),
        limited: limited.each().map(counted).collect(),
        transport: transport.each().map(counted).collect(),
        zones: pins(controller)
            .map(counted)
            .into_iter()
            .chain(controller.transfers.counts())
            .chain(controller.telling.counts())
            .chain(controller.historian.counts())
            .chain(controller.verifier.counts())
            .chain(controller.forwarder.counts())
            .collect(),
        memory: memory(controller),
    }
}

/// How often each type was asked for that was asked for, those that were most often first.
fn types(shown: &[Shown]) -> Vec<(String, u64)> {
    let mut types: Vec<(Asked, u64)> = Vec::new();
    for shown in shown {
        types.resize(types.len().max(shown.tally.each().count()), (Asked::Others, 0));
        for (sum, (asked, count)) in types.iter_mut().zip(shown.tally.each()) {
            *sum = (asked, sum.1 + count);
        }
    }
    types.retain(|(_, count)| *count > 0);
    types.sort_by_key(|(asked, count)| (Reverse(*count), *asked));
    let name = |asked| match asked {
        Asked::Type(qtype) => rtype::Text(qtype).to_string(),
        Asked::Others => "others".into(),
        Asked::Nothing => "none".into(),
    };
    types.into_iter().map(|(asked, count)| (name(asked), count)).collect()
}

/// Queries by how they came.
fn paths(counts: &WorkerCounters) -> [(&'static str, &'static str, u64); 4] {
    let (udp6, tcp6) = (counts.udp_ipv6_queries, counts.tcp_ipv6_queries);
    // Readers may see a batch partly added.
    let (udp4, tcp4) = (counts.udp_queries.saturating_sub(udp6), counts.tcp_queries.saturating_sub(tcp6));
    [("udp_ipv4", "", udp4), ("udp_ipv6", "", udp6), ("tcp_ipv4", "", tcp4), ("tcp_ipv6", "", tcp6)]
}

/// Zones that are held in one state for what takes long.
fn pins(controller: &Controller) -> [(&'static str, &'static str, u64); 4] {
    let pins = controller.catalog.pins();
    [
        (
            "pinned_now",
            "Zones held in one state for what takes long, such as a transfer, now.",
            pins.now as u64,
        ),
        ("pinned_most", "The most zones held so at one time.", pins.most as u64),
        ("pinned", "Times that a zone was held so.", pins.made),
        ("pins_refused", "Times that it could not be, as a bound was reached.", pins.refused),
    ]
}

fn rcode_name(code: usize) -> String {
    match rcode::mnemonic(code as u16) {
        Some(mnemonic) => mnemonic.into(),
        None => format!("RCODE{code}"),
    }
}

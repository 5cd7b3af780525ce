//! Requests of the control socket to replies.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Instant;

use wire::iana::rcode;
use zone::pack::ZoneRow;

use crate::command::{ChangeLine, Count, Reply, Request, Stats, Status, ZoneLine};
use crate::controller::{Change, Controller, Entry, Zone, position};
use crate::locks;
use crate::reload;
use crate::serve::addresses;
use crate::system::memory_octets;
use crate::wanted::zone_name;

/// Carries out a request; says whether all went well. Fails if the replies cannot be given.
pub(crate) fn answer(
    request: &Request,
    controller: &Controller,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<bool> {
    let named = |text: &String| zone_name(text);
    let started = Instant::now();
    let change = match request {
        Request::Status => return reply(Reply::Status(status(controller))).map(|()| true),
        Request::Stats => return reply(Reply::Stats(stats(controller))).map(|()| true),
        Request::Locks { on, clear } => {
            return reply(Reply::Locks(locks::command(controller, *on, *clear))).map(|()| true);
        }
        Request::Stop => return Ok(true),
        Request::Zones { zone: None } => return all_zones(controller, reply).map(|()| true),
        Request::Zones { zone: Some(name) } => named(name).and_then(|name| {
            let zones = controller.zones.read();
            let at = position(&zones, &name).ok_or_else(|| format!("there is no zone {name}"))?;
            Ok(Answer::Zone(zone_line(&zones[at])))
        }),
        Request::Reload { zone: None } => Ok(Answer::Change(reload::reload_all(controller))),
        Request::Reload { zone: Some(name) } => {
            named(name).map(|name| Answer::Change(reload::reload_zone(controller, &name)))
        }
        Request::Reconfigure => Ok(Answer::Change(reload::reconfigure(controller))),
        Request::AddZone { zone, file } => {
            named(zone).map(|name| Answer::Change(reload::add_zone(controller, name, Path::new(file))))
        }
        Request::RemoveZone { zone } => {
            named(zone).map(|name| Answer::Change(reload::remove_zone(controller, &name)))
        }
    };
    match change {
        Ok(Answer::Zone(line)) => reply(Reply::Zone(line)).map(|()| true),
        Ok(Answer::Change(change)) => {
            let ok = change.errors.is_empty();
            reply(Reply::Change(change_line(change, started)))?;
            Ok(ok)
        }
        Err(message) => reply(Reply::Error { message }).map(|()| false),
    }
}

enum Answer {
    Zone(ZoneLine),
    Change(Change),
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

/// Zones copied out of the list at a time, so that a slow client holds no lock.
const ZONES_AT_A_TIME: usize = 1000;

fn all_zones(controller: &Controller, reply: &mut dyn FnMut(Reply) -> io::Result<()>) -> io::Result<()> {
    let mut at = 0;
    loop {
        let lines: Vec<ZoneLine> = {
            let zones = controller.zones.read();
            zones.iter().skip(at).take(ZONES_AT_A_TIME).map(zone_line).collect()
        };
        if lines.is_empty() {
            return Ok(());
        }
        at += lines.len();
        for line in lines {
            reply(Reply::Zone(line))?;
        }
    }
}

fn zone_line(zone: &Zone) -> ZoneLine {
    let row = match &zone.entry {
        Entry::Loaded { pack, number } => Some(pack.zone_row(*number)),
        Entry::Absent(_) => None,
    };
    let state = match (&row, zone.problem()) {
        (Some(_), None) => "served",
        (Some(_), Some(_)) => "stale",
        (None, _) => "absent",
    };
    let signed = row.and_then(|row| match row.bits {
        bits if bits & ZoneRow::NSEC3 != 0 => Some("NSEC3"),
        bits if bits & ZoneRow::NSEC != 0 => Some("NSEC"),
        _ => None,
    });
    ZoneLine {
        zone: zone.apex().to_string(),
        state: state.into(),
        serial: row.map(|row| row.serial),
        records: row.map_or(0, |row| row.record_count),
        names: row.map_or(0, |row| row.node_count),
        signed: signed.map(str::to_owned),
        source: zone.source.to_string(),
        problems: zone.problem().unwrap_or_default().to_vec(),
    }
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
    let mut packs = HashSet::new();
    for zone in controller.zones.read().iter() {
        status.zones_broken += usize::from(zone.problem().is_some());
        match &zone.entry {
            Entry::Loaded { pack, number } => {
                status.zones_loaded += 1;
                status.records += pack.zone_row(*number).record_count;
                if packs.insert(pack.seed()) {
                    status.pack_octets += pack.octets().len() as u64;
                }
            }
            Entry::Absent(_) => status.zones_absent += 1,
        }
    }
    status.packs = packs.len();
    status
}

fn uptime_seconds(controller: &Controller) -> u64 {
    controller.started.elapsed().map_or(0, |uptime| uptime.as_secs())
}

fn stats(controller: &Controller) -> Stats {
    let answers = controller.counts.read().iter().map(|counts| counts.read()).reduce(|a, b| a.sum(b));
    let answers = answers.unwrap_or_default();
    let workers = controller.running.lock().as_ref().map(|running| running.counters()).unwrap_or_default();
    let transport = workers.into_iter().reduce(|a, b| a.sum(b)).unwrap_or_default();
    let count = |(name, help, count): (&str, &str, u64)| Count {
        name: name.replace('_', "-"),
        count,
        help: help.into(),
    };
    let rcodes = answers.rcodes.iter().enumerate().filter(|(_, responses)| **responses > 0);
    Stats {
        uptime_seconds: uptime_seconds(controller),
        answers: answers.each().map(count).collect(),
        rcodes: rcodes.map(|(code, responses)| count((&rcode_name(code), "", *responses))).collect(),
        transport: transport.each().map(count).collect(),
    }
}

fn rcode_name(code: usize) -> String {
    match rcode::mnemonic(code as u16) {
        Some(mnemonic) => mnemonic.into(),
        None => format!("RCODE{code}"),
    }
}

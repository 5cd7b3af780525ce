//! How the server is.
//!
//! The cost is the same with a million zones: their numbers are words that whoever changes a state has stored, and what only their rows say is what the last look at all of them has
//! seen.

use crate::command::{Expiry, LogNumbers, Reloaded, Status};
use crate::controller::Controller;
use crate::log;
use crate::packs::PackFolder;
use crate::recursion::Recursion;
use crate::serve::addresses;
use crate::system::memory_octets;
use crate::text::{Seconds, count, grouped, octets};

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

pub(super) fn status(controller: &Controller) -> Status {
    Status { memory_octets: memory_octets(), ..brief_status(controller) }
}

/// The same without its memory, for which the system walks over all of that.
pub(crate) fn brief_status(controller: &Controller) -> Status {
    let mut status = Status {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        uptime_seconds: uptime_seconds(controller),
        settings: controller.settings_file(),
        ..Status::default()
    };
    if let Some(running) = &*controller.running.lock() {
        status.listen = addresses(running.listeners());
        status.workers = running.counters().len();
    }
    let zones = controller.zones.numbers();
    status.zones_loaded = zones.served as usize;
    status.zones_absent = zones.absent as usize;
    status.zones_broken = zones.broken as usize;
    status.zones_stale = zones.stale as usize;
    (status.packs, status.pack_octets) = (zones.packs as usize, zones.pack_octets);
    status.zones_made = controller.made.count();
    if let Some(looked) = controller.looks.lately() {
        status.records = looked.records;
        status.zones_with_errors = looked.with_errors as usize;
        status.zones_with_warnings = looked.with_warnings as usize;
        status.zones_expired = looked.expired as usize;
        let next = looked.next_zone.zip(looked.next);
        status.next_expiry = next.map(|(zone, expires)| Expiry { zone: zone.to_string(), expires });
        status.looked_at = Some(looked.at);
    }
    status.reload = controller.reloaded.lock().clone();
    let ([errors, warnings], last_at) = log::lately::counts();
    status.log = LogNumbers { errors, warnings, last_at };
    status.api_keys_revoked = controller.api.revoked().0;
    status.resolver = controller.recursion.as_deref().map(Recursion::status);
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
    let outage = status.resolver.as_ref().filter(|resolver| resolver.is_network_out).map(|_| {
        String::from("no name server answers the resolver, nor those of the root: is there a network, and does a firewall let port 53 out?")
    });
    zones
        .into_iter()
        .filter_map(line)
        .chain(packs)
        .chain(controller.catalog_problems())
        .chain(controller.store_problems())
        .chain(controller.dynamic.log_problem())
        .chain(controller.made.problems())
        .chain(controller.api.problem())
        .chain(controller.api.revoked().1)
        .chain(outage)
        .chain(status.reload.as_ref().and_then(Reloaded::problem))
        .collect()
}

pub(super) fn uptime_seconds(controller: &Controller) -> u64 {
    controller.started.elapsed().map_or(0, |uptime| uptime.as_secs())
}

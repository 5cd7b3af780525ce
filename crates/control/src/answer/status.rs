//! How the server is.

use wire::NameBuf;
use zone::catalog::View;

use crate::command::{Expiry, Status};
use crate::controller::Controller;
use crate::expiry;
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
    status.zones_made = controller.made.count();
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
        .chain(controller.made.problems())
        .chain(controller.api.problem())
        .chain(outage)
        .collect()
}

pub(super) fn uptime_seconds(controller: &Controller) -> u64 {
    controller.started.elapsed().map_or(0, |uptime| uptime.as_secs())
}

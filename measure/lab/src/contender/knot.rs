//! Knot DNS: as many UDP workers, one TCP worker, no journal where nothing changes, checks of the zone off. Where zones
//! change, several background workers, which wait for the disk.

use std::fmt::Write;

use super::{ANSWERS_A_SECOND, Job, KEY_ALGORITHM, KEY_NAME, KEY_SECRET, Role, SLIP, Setup};

/// Threads that apply changes and transfer, where zones change: the most that Knot starts by itself.
const BACKGROUND_WORKERS: usize = 10;

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        r#"server:
    rundir: "{folder}"
    listen: "{}@{}"
    udp-workers: {}
    tcp-workers: 1
    background-workers: {}
log:
  - target: stderr
    any: error
database:
    storage: "{folder}/db"
{}{}template:
  - id: default
    storage: "{folder}"
    zonefile-sync: -1
    semantic-checks: off
{}{}{}"#,
        job.address.ip(),
        job.address.port(),
        job.workers,
        if matches!(job.role, Role::Static | Role::Reloaded) { 1 } else { BACKGROUND_WORKERS },
        access(job.role),
        limits(job),
        zone(job.role),
        if job.bounds.limits_answers { "    global-module: [mod-cookies/lab, mod-rrl/lab]\n" } else { "" },
        job.bounds
            .history_octets
            .map_or_else(String::new, |octets| format!("    journal-max-usage: {octets}\n"))
    );
    let mut zones = "zone:\n".to_owned();
    for (apex, path) in &job.zones.list {
        let _ = match job.role {
            Role::Secondary { .. } => writeln!(zones, "  - domain: \"{apex}\""),
            _ => writeln!(zones, "  - domain: \"{apex}\"\n    file: \"{}\"", path.display()),
        };
    }
    let command = Setup::words(&["knotd", "-c", &format!("{folder}/knot.conf")]);
    let reload = Setup::words(&["knotc", "-c", &format!("{folder}/knot.conf"), "zone-reload"]);
    // Of the folder of its databases it makes the last part only once it needs it, and then does not find it.
    let before = vec![Setup::words(&["mkdir", "-p", &format!("{folder}/db")])];
    Setup { file: "knot.conf", head, zones, before, command, reload, ..Setup::default() }
}

/// How often a network gets answers of a kind; the module before it knows clients with a good cookie, which are not limited.
fn limits(job: &Job<'_>) -> String {
    if !job.bounds.limits_answers {
        return String::new();
    }
    format!(
        "mod-cookies:\n  - id: lab\nmod-rrl:\n  - id: lab\n    rate-limit: {ANSWERS_A_SECOND}\n    slip: {SLIP}\n"
    )
}

/// Who may do what.
fn access(role: Role) -> String {
    match role {
        Role::Static | Role::Reloaded | Role::Api | Role::Resolver { .. } => String::new(),
        Role::Primary => "acl:\n  - id: lab\n    action: transfer\n".to_owned(),
        Role::Dynamic { is_signed: false } => {
            "acl:\n  - id: lab\n    action: [transfer, update]\n".to_owned()
        }
        Role::Dynamic { is_signed: true } => format!(
            "key:\n  - id: {KEY_NAME}\n    algorithm: {KEY_ALGORITHM}\n    secret: {KEY_SECRET}\nacl:\n  - id: lab\n    \
             action: update\n    key: {KEY_NAME}\n  - id: out\n    action: transfer\n"
        ),
        Role::Secondary { primary, .. } => format!(
            "remote:\n  - id: primary\n    address: {}@{}\nacl:\n  - id: lab\n    address: {}\n    action: notify\n  - id: out\n    action: transfer\n",
            primary.ip(),
            primary.port(),
            primary.ip()
        ),
    }
}

/// Where a zone comes from and where it is kept.
fn zone(role: Role) -> &'static str {
    match role {
        Role::Static | Role::Reloaded | Role::Api | Role::Resolver { .. } => {
            "    zonefile-load: whole\n    journal-content: none\n"
        }
        Role::Primary => "    zonefile-load: whole\n    journal-content: none\n    acl: lab\n",
        Role::Dynamic { is_signed: false } => {
            "    zonefile-load: whole\n    journal-content: changes\n    acl: lab\n"
        }
        Role::Dynamic { is_signed: true } => {
            "    zonefile-load: whole\n    journal-content: changes\n    acl: [lab, out]\n"
        }
        Role::Secondary { keeps: true, .. } => {
            "    zonefile-load: none\n    journal-content: all\n    master: primary\n    acl: [lab, out]\n"
        }
        Role::Secondary { keeps: false, .. } => {
            "    zonefile-load: none\n    journal-content: none\n    master: primary\n    acl: [lab, out]\n"
        }
    }
}

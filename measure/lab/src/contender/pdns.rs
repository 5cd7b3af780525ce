//! PowerDNS with its BIND backend and all of its caches, as its performance chapter advises: packets, queries, the list of
//! zones, their metadata and keys. A thread a worker asks the backend itself, without a queue between them.
//!
//! The backend knows from a database alone which zones are signed already: its own tool makes one for those.

use std::fmt::Write;

use super::{Job, Role, Setup, named};
use crate::data::Signatures;

/// How long all stays in its caches: longer than any run.
const CACHE_SECONDS: u32 = 86_400;
/// The same of a secondary: what is asked for while a new version comes in may be kept from the old one, however long that is.
const CACHE_SECONDS_SECONDARY: u32 = 1;
/// What makes the database, of the same package.
const TOOL: &str = "pdnsutil";

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let seconds = match job.role {
        Role::Secondary { .. } => CACHE_SECONDS_SECONDARY,
        _ => CACHE_SECONDS,
    };
    // Of the seven this one keeps whole answers; of what they are made from the others keep parts.
    let packets = if job.bounds.answers_anew { 0 } else { seconds };
    let caches: String = [
        "query-cache-ttl",
        "negquery-cache-ttl",
        "zone-cache-refresh-interval",
        "zone-metadata-cache-ttl",
        "domain-metadata-cache-ttl",
        "dnssec-key-cache-ttl",
    ]
    .map(|cache| format!("{cache}={seconds}\n"))
    .concat();
    let caches = format!("cache-ttl={packets}\n{caches}");
    let mut head = format!(
        "launch=bind
bind-config={folder}/zones.conf
local-address={}
local-port={}
receiver-threads={}
distributor-threads=1
reuseport={}
consistent-backends=yes
{caches}any-to-tcp=no
socket-dir={folder}
daemon=no
guardian=no
disable-syslog=yes
loglevel=4
log-dns-queries=no
version-string=anonymous
security-poll-suffix=
{}",
        job.address.ip(),
        job.address.port(),
        job.workers,
        if job.workers > 1 { "yes" } else { "no" },
        options(job.role)
    );
    let settings = format!("--config-dir={folder}");
    let mut before = Vec::new();
    if job.zones.signatures != Signatures::None {
        let database = format!("{folder}/dnssec.db");
        head += &format!("bind-dnssec-db={database}\n");
        let mut tool = |words: &[&str]| before.push(Setup::words(&[&[TOOL, &settings], words].concat()));
        tool(&["create-bind-db", &database]);
        for (apex, _) in &job.zones.list {
            if job.zones.signatures == Signatures::Nsec3 {
                tool(&["set-nsec3", apex, "1 0 0 -"]);
            }
            tool(&["set-presigned", apex]);
        }
    }
    Setup {
        file: "pdns.conf",
        head,
        // Of a zone that is `native` nobody is told; `primary` is a word of its later versions only.
        files: vec![("zones.conf", zones(job))],
        before,
        command: Setup::words(&["pdns_server", &settings]),
        ..Setup::default()
    }
}

/// What a role asks for of the server.
fn options(role: Role) -> &'static str {
    match role {
        Role::Static | Role::Resolver { .. } => "",
        Role::Dynamic { .. } | Role::Primary => "allow-axfr-ips=0.0.0.0/0\n",
        Role::Secondary { .. } => "allow-axfr-ips=0.0.0.0/0\nsecondary=yes\nxfr-cycle-interval=1\n",
    }
}

/// The zones in BIND's words.
fn zones(job: &Job<'_>) -> String {
    let Role::Secondary { primary, .. } = job.role else { return named::zones(job, "native") };
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let (bare, file) = (named::bare(apex), path.display());
        let _ =
            writeln!(zones, "zone \"{bare}\" {{ type slave; file \"{file}\"; masters {{ {primary}; }}; }};");
    }
    zones
}

//! PowerDNS with its BIND backend and both of its caches, as its performance chapter advises.

use super::{Job, Setup, named};

/// How long answers stay in its caches: longer than any run.
const CACHE_SECONDS: u32 = 86_400;

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        "launch=bind
bind-config={folder}/zones.conf
local-address={}
local-port={}
receiver-threads={}
distributor-threads=1
reuseport={}
cache-ttl={CACHE_SECONDS}
query-cache-ttl={CACHE_SECONDS}
negquery-cache-ttl={CACHE_SECONDS}
socket-dir={folder}
daemon=no
guardian=no
disable-syslog=yes
loglevel=0
log-dns-queries=no
version-string=anonymous
security-poll-suffix=
",
        job.address.ip(),
        job.address.port(),
        job.workers,
        if job.workers > 1 { "yes" } else { "no" }
    );
    let command = Setup::words(&["pdns_server", &format!("--config-dir={folder}")]);
    Setup {
        file: "pdns.conf",
        head,
        zones: String::new(),
        files: vec![("zones.conf", named::zones(job))],
        command,
    }
}

//! The recursor of PowerDNS: a thread with a socket of its own for each worker, packet cache on, as by default. From version 5 on its
//! settings are YAML; before, lines.

use std::sync::OnceLock;

use super::{HINTS, Job, Resolving, Setup, resolving::STALE_SECONDS};
use crate::process;

/// It counts entries, not octets: about so many each with all that belongs to one.
const ENTRY_OCTETS: u64 = 256;
/// It serves what has expired in steps of so many seconds.
const EXTENSION_SECONDS: u64 = 30;

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let (address, threads) = (job.address, job.workers);
    let Resolving { cache_octets, waiting, serves_stale, .. } = job.bounds.resolving;
    let entries = cache_octets / ENTRY_OCTETS;
    let extensions = if serves_stale { STALE_SECONDS / EXTENSION_SECONDS } else { 0 };
    let stale = format!("  serve_stale_extensions: {extensions}\n");
    let dnssec = dnssec(job);
    let (file, head) = match has_yaml() {
        true => (
            "recursor.yml",
            format!(
                r#"incoming:
  listen: ["{address}"]
  allow_from: ["0.0.0.0/0"]
  reuseport: true
  pdns_distributes_queries: false
outgoing:
  dont_query: []
dnssec:
{dnssec}recordcache:
  max_entries: {entries}
{stale}recursor:
  threads: {threads}
  max_mthreads: {waiting}
  hint_file: "{folder}/{HINTS}"
  socket_dir: "{folder}"
  security_poll_suffix: ""
  daemon: false
logging:
  loglevel: 3
  quiet: true
  disable_syslog: true
  statistics_interval: 0
"#
            ),
        ),
        false => (
            "recursor.conf",
            format!(
                "local-address={address}\nallow-from=0.0.0.0/0\nreuseport=yes\npdns-distributes-queries=no\ndont-query=\n\
                 dnssec=off\nthreads={threads}\nmax-mthreads={waiting}\nmax-cache-entries={entries}\nserve-stale-extensions={extensions}\nhint-file={folder}/{HINTS}\nsocket-dir={folder}\n\
                 security-poll-suffix=\ndaemon=no\nloglevel=3\nquiet=yes\ndisable-syslog=yes\nstatistics-interval=0\n"
            ),
        ),
    };
    let command = Setup::words(&["pdns_recursor", &format!("--config-dir={folder}")]);
    Setup { file, head, command, ..Setup::default() }
}

/// Validation, in YAML; that of versions before stays off.
fn dnssec(job: &Job<'_>) -> String {
    let Some(anchor) = &job.zones.anchor else { return "  validation: \"off\"\n".to_owned() };
    let records = anchor.lines().filter_map(|line| line.split_once(" DS "));
    let records: Vec<String> = records.map(|(_, data)| format!("\"{}\"", data.trim())).collect();
    format!(
        "  validation: validate\n  trustanchors:\n  - name: \".\"\n    dsrecords: [{}]\n",
        records.join(", ")
    )
}

/// Whether this one reads YAML; one that does not tell its version is taken for a new one.
fn has_yaml() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let version = process::first_line(&["pdns_recursor", "--version"]).unwrap_or_default();
        let number =
            version.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        let major = number.and_then(|number| number.split('.').next()?.parse::<u32>().ok());
        major.is_none_or(|major| major >= 5)
    })
}

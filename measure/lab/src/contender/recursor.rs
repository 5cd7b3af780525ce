//! The recursor of PowerDNS: a thread with a socket of its own for each worker, packet cache on, as by default. From version 5 on its
//! settings are YAML; before, lines.

use std::sync::OnceLock;

use super::{HINTS, Job, Resolving, Setup, resolving::STALE_SECONDS};
use crate::process;

/// Name of the file with keys of versions that read lines.
const LUA: &str = "anchor.lua";

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
    let words = job.role.anchor().map(|anchor| anchor.words());
    let anchor = match &words {
        None => "  validation: \"off\"\n".to_owned(),
        Some(words) => {
            format!("  validation: validate\n  trustanchors:\n  - name: .\n    dsrecords: [\"{words}\"]\n")
        }
    };
    // Before, keys are added in Lua.
    let (dnssec, lua, files) = match &words {
        None => ("off", String::new(), Vec::new()),
        Some(words) => {
            let lua = format!("lua-config-file={folder}/{LUA}\n");
            ("validate", lua, vec![(LUA, format!("clearTA('.')\naddTA('.', \"{words}\")\n"))])
        }
    };
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
{anchor}recordcache:
  max_entries: {entries}
  serve_stale_extensions: {extensions}
recursor:
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
                 dnssec={dnssec}\n{lua}threads={threads}\nmax-mthreads={waiting}\nmax-cache-entries={entries}\nserve-stale-extensions={extensions}\nhint-file={folder}/{HINTS}\nsocket-dir={folder}\n\
                 security-poll-suffix=\ndaemon=no\nloglevel=3\nquiet=yes\ndisable-syslog=yes\nstatistics-interval=0\n"
            ),
        ),
    };
    let command = Setup::words(&["pdns_recursor", &format!("--config-dir={folder}")]);
    let files = if has_yaml() { Vec::new() } else { files };
    Setup { file, head, files, command, ..Setup::default() }
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

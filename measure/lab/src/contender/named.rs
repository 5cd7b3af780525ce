//! BIND 9: as many threads as workers, no recursion; `rrset-order none` and minimal responses as its performance notes
//! advise.

use std::fmt::Write;

use super::{Job, Setup};

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        r#"options {{
  directory "{folder}";
  pid-file "{folder}/named.pid";
  session-keyfile "{folder}/session.key";
  lock-file none;
  listen-on port {} {{ {}; }};
  listen-on-v6 {{ none; }};
  recursion no;
  minimal-responses yes;
  rrset-order {{ order none; }};
  notify no;
  dnssec-validation no;
  querylog no;
  empty-zones-enable no;
  check-integrity no;
  statistics-file "{folder}/stats";
}};
controls {{ }};
logging {{ category default {{ null; }}; category unmatched {{ null; }}; }};
"#,
        job.address.port(),
        job.address.ip()
    );
    let command = ["named", "-f", "-n", &job.workers.to_string(), "-c", &format!("{folder}/named.conf")];
    Setup {
        file: "named.conf",
        head,
        zones: zones(job, "primary"),
        command: Setup::words(&command),
        ..Setup::default()
    }
}

/// The zones in BIND's words, which PowerDNS reads too, if of another `kind`.
pub fn zones(job: &Job<'_>, kind: &str) -> String {
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let bare = Some(apex.trim_end_matches('.')).filter(|bare| !bare.is_empty()).unwrap_or(".");
        let _ = writeln!(zones, "zone \"{bare}\" {{ type {kind}; file \"{}\"; }};", path.display());
    }
    zones
}

//! Knot DNS: as many UDP workers, one TCP worker, no journal, checks of the zone off.

use std::fmt::Write;

use super::{Job, Setup};

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        r#"server:
    rundir: "{folder}"
    listen: "{}@{}"
    udp-workers: {}
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: error
database:
    storage: "{folder}/db"
template:
  - id: default
    storage: "{folder}"
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
    semantic-checks: off
"#,
        job.address.ip(),
        job.address.port(),
        job.workers
    );
    let mut zones = "zone:\n".to_owned();
    for (apex, path) in &job.zones.list {
        let _ = writeln!(zones, "  - domain: \"{apex}\"\n    file: \"{}\"", path.display());
    }
    let command = Setup::words(&["knotd", "-c", &format!("{folder}/knot.conf")]);
    Setup { file: "knot.conf", head, zones, command, ..Setup::default() }
}

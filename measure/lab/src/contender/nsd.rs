//! NSD: a server process for each worker, each with a socket of its own; response rate limit off.

use std::fmt::Write;

use super::{Job, Setup};

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        r#"server:
  server-count: {}
  reuseport: {}
  ip-address: {}@{}
  zonesdir: "{folder}"
  username: ""
  chroot: ""
  database: ""
  pidfile: "{folder}/nsd.pid"
  xfrdfile: "{folder}/xfrd.state"
  xfrdir: "{folder}"
  zonelistfile: "{folder}/zone.list"
  logfile: "{folder}/nsd.log"
  verbosity: 0
  minimal-responses: yes
  refuse-any: no
  round-robin: no
  rrl-ratelimit: 0
  rrl-whitelist-ratelimit: 0
  receive-buffer-size: {}
  send-buffer-size: 1048576
remote-control:
  control-enable: no
"#,
        job.workers,
        if job.workers > 1 { "yes" } else { "no" },
        job.address.ip(),
        job.address.port(),
        job.receive_octets
    );
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let _ = writeln!(zones, "zone:\n  name: \"{apex}\"\n  zonefile: \"{}\"", path.display());
    }
    let command = Setup::words(&["nsd", "-d", "-c", &format!("{folder}/nsd.conf")]);
    Setup { file: "nsd.conf", head, zones, command, ..Setup::default() }
}

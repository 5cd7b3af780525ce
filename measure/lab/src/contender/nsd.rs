//! NSD: a server process for each worker, each with a socket of its own; response rate limit off. What comes in is served at
//! once; with many zones once a second, as by default, as each time costs it a reload of all.

use std::fmt::Write;

use super::{ANSWERS_A_SECOND, Job, Role, SLIP, Setup};

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
{}  receive-buffer-size: {}
  send-buffer-size: 1048576
{}remote-control:
  {}
"#,
        job.workers,
        if job.workers > 1 { "yes" } else { "no" },
        job.address.ip(),
        job.address.port(),
        limits(job),
        job.receive_octets,
        options(job),
        control(job)
    );
    let (mut zones, role) = (String::new(), zone(job.role));
    for (apex, path) in &job.zones.list {
        let _ = writeln!(zones, "zone:\n  name: \"{apex}\"\n  zonefile: \"{}\"", path.display());
        zones.push_str(&role);
    }
    let command = Setup::words(&["nsd", "-d", "-c", &format!("{folder}/nsd.conf")]);
    let reload = Setup::words(&["nsd-control", "-c", &format!("{folder}/nsd.conf"), "reload"]);
    Setup { file: "nsd.conf", head, zones, command, reload, ..Setup::default() }
}

/// Where it takes commands, if there are to be any.
fn control(job: &Job<'_>) -> String {
    match job.role {
        Role::Reloaded => {
            let folder = job.folder.display();
            format!("control-enable: yes\n  control-interface: \"{folder}/control.sock\"")
        }
        _ => "control-enable: no".to_owned(),
    }
}

/// How often a network gets answers of a kind; clients with a good cookie are not limited.
fn limits(job: &Job<'_>) -> String {
    if job.bounds.limits_answers {
        return format!("  rrl-ratelimit: {ANSWERS_A_SECOND}\n  rrl-slip: {SLIP}\n  answer-cookie: yes\n");
    }
    "  rrl-ratelimit: 0\n  rrl-whitelist-ratelimit: 0\n".to_owned()
}

/// What a role asks for of the server.
fn options(job: &Job<'_>) -> String {
    let Role::Secondary { keeps, .. } = job.role else { return String::new() };
    let seconds = u32::from(job.zones.list.len() > 1);
    let files = if keeps { "" } else { "  zonefiles-write: 0\n" };
    format!("  xfrd-reload-timeout: {seconds}\n{files}")
}

/// What a role asks for of a zone.
fn zone(role: Role) -> String {
    match role {
        Role::Static | Role::Reloaded | Role::Api | Role::Resolver { .. } => String::new(),
        Role::Dynamic { .. } | Role::Primary => "  provide-xfr: 0.0.0.0/0 NOKEY\n".to_owned(),
        Role::Secondary { primary, .. } => format!(
            "  request-xfr: {}@{} NOKEY\n  allow-notify: {} NOKEY\n  provide-xfr: 0.0.0.0/0 NOKEY\n",
            primary.ip(),
            primary.port(),
            primary.ip()
        ),
    }
}

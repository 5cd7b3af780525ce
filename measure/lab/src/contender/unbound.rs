//! Unbound, a resolver. It resolves, or has the zones as its own (`auth-zone`): answers come from them and nothing is resolved.

use std::fmt::Write;

use super::{
    ANCHOR, HINTS, Job, Resolving, Role, Setup,
    resolving::{STALE_AFTER_MS, STALE_SECONDS},
};

/// Name of the socket that its counts are read from.
pub const CONTROL: &str = "unbound.ctl";

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        r#"server:
  interface: {}@{}
  num-threads: {}
  so-reuseport: {}
  so-rcvbuf: {}
  so-sndbuf: 1m
  access-control: 0.0.0.0/0 allow_snoop
  access-control: ::/0 allow_snoop
  do-ip6: {}
  incoming-num-tcp: 100
  username: ""
  chroot: ""
  directory: "{folder}"
  pidfile: "{folder}/unbound.pid"
  use-syslog: no
  logfile: ""
  verbosity: 0
  do-daemonize: no
  module-config: "{}"
  minimal-responses: yes
  rrset-roundrobin: no
  edns-buffer-size: 1232
  max-udp-size: 1232
{}remote-control:
  {}
"#,
        job.address.ip(),
        job.address.port(),
        job.workers,
        if job.workers > 1 { "yes" } else { "no" },
        job.receive_octets,
        if job.address.is_ipv6() { "yes" } else { "no" },
        if job.role.anchor().is_some() { "validator iterator" } else { "iterator" },
        resolver(job),
        control(job)
    );
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let path = path.display();
        let _ = writeln!(
            zones,
            "auth-zone:\n  name: \"{apex}\"\n  zonefile: \"{path}\"\n  for-downstream: yes\n  for-upstream: no\n  \
             fallback-enabled: no"
        );
    }
    let command = Setup::words(&["unbound", "-d", "-c", &format!("{folder}/unbound.conf")]);
    Setup { file: "unbound.conf", head, zones, command, ..Setup::default() }
}

/// What it asks for as a resolver: twice as much memory for RRsets as for messages, as its manual advises.
fn resolver(job: &Job<'_>) -> String {
    let Role::Resolver { .. } = job.role else { return String::new() };
    let Resolving { cache_octets, waiting, serves_stale, .. } = job.bounds.resolving;
    let (messages, sets, range) = (cache_octets / 3, cache_octets / 3 * 2, waiting * 2);
    let hints = job.folder.join(HINTS);
    // The file of an anchor that it is to keep up to date it writes to; this one it only reads.
    let anchor = job.role.anchor().map_or_else(String::new, |_| {
        format!("  trust-anchor-file: \"{}\"\n", job.folder.join(ANCHOR).display())
    });
    let mut text = format!(
        "  root-hints: \"{}\"\n  do-not-query-localhost: no\n  msg-cache-size: {messages}\n  rrset-cache-size: {sets}\n  \
         outgoing-range: {range}\n  num-queries-per-thread: {waiting}\n{anchor}",
        hints.display()
    );
    if serves_stale {
        let _ = writeln!(
            text,
            "  serve-expired: yes\n  serve-expired-ttl: {STALE_SECONDS}\n  serve-expired-reply-ttl: 30\n  \
             serve-expired-client-timeout: {STALE_AFTER_MS}"
        );
    }
    text
}

/// Where it tells what it has counted: as a resolver only, so that all else stays as it was measured before.
fn control(job: &Job<'_>) -> String {
    match job.role {
        Role::Resolver { .. } => format!(
            "control-enable: yes\n  control-interface: \"{}\"\n  control-use-cert: no{}",
            job.folder.join(CONTROL).display(),
            // Signatures are among what it counts only then.
            if job.role.anchor().is_some() { "\nserver:\n  extended-statistics: yes" } else { "" }
        ),
        _ => "control-enable: no".to_owned(),
    }
}

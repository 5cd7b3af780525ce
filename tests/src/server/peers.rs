//! Configurations of the other servers: authoritative only, one thread, no limits that would drop test queries.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Kind, write};
use crate::zone::ZoneFile;

/// The command line that starts a peer in the foreground with these zones.
pub fn command(kind: Kind, folder: &Path, address: SocketAddr, zones: &[ZoneFile]) -> Command {
    match kind {
        Kind::Named => named(folder, address, zones),
        Kind::Nsd => nsd(folder, address, zones),
        Kind::Knot => knot(folder, address, zones),
        Kind::Zonda => unreachable!("not a peer"),
    }
}

/// Finds a program of a Debian package; a missing one fails the test and says what to install.
pub fn require(name: &str, package: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/usr/bin", "/sbin"]);
    let found = folders.map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("{name} is not installed: run tests/setup.sh, or install the Debian package {package}")
    })
}

fn named(folder: &Path, address: SocketAddr, zones: &[ZoneFile]) -> Command {
    let program = require("named", "bind9");
    let (ip, port) = (address.ip(), address.port());
    let mut text = format!(
        "options {{\n directory \"{}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }};\n \
         listen-on port {port} {{ {ip}; }}; recursion no; empty-zones-enable no; dnssec-validation no;\n \
         minimal-responses no-auth; minimal-any yes; zero-no-soa-ttl no; notify no; allow-transfer {{ any; }}; answer-cookie no;\n \
         check-names primary ignore; check-integrity no; check-mx ignore; check-mx-cname ignore;\n \
         check-srv-cname ignore; check-wildcard no; check-dup-records ignore; check-sibling no;\n \
         max-records-per-type 0; max-types-per-name 0; rrset-order {{ order none; }};\n}};\ncontrols {{ }};\n",
        folder.display(),
    );
    for zone in zones {
        let (origin, path) = (&zone.origin, zone.path.display());
        writeln!(text, "zone \"{origin}\" {{ type primary; file \"{path}\"; }};").expect("a string grows");
    }
    let path = write(folder, "named.conf", &text);
    let mut command = Command::new(program);
    command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(path);
    command
}

fn nsd(folder: &Path, address: SocketAddr, zones: &[ZoneFile]) -> Command {
    let program = require("nsd", "nsd");
    let (ip, port, home) = (address.ip(), address.port(), folder.display());
    let mut text = format!(
        "server:\n ip-address: {ip}@{port}\n server-count: 1\n username: \"\"\n chroot: \"\"\n zonesdir: \"{home}\"\n \
         database: \"\"\n pidfile: \"{home}/nsd.pid\"\n zonelistfile: \"{home}/zone.list\"\n \
         xfrdfile: \"{home}/xfrd.state\"\n xfrdir: \"{home}\"\n rrl-ratelimit: 0\n rrl-whitelist-ratelimit: 0\n \
         tcp-count: 100\n tcp-query-count: 0\n zonefiles-write: 0\n answer-cookie: no\n verbosity: 1\n \
         round-robin: no\nremote-control:\n control-enable: no\n",
    );
    for zone in zones {
        let (origin, path) = (&zone.origin, zone.path.display());
        write!(text, "zone:\n name: \"{origin}\"\n zonefile: \"{path}\"\n provide-xfr: 127.0.0.1 NOKEY\n")
            .expect("a string grows");
    }
    let path = write(folder, "nsd.conf", &text);
    let mut command = Command::new(program);
    command.args(["-d", "-c"]).arg(path);
    command
}

fn knot(folder: &Path, address: SocketAddr, zones: &[ZoneFile]) -> Command {
    let program = require("knotd", "knot");
    let (ip, port, home) = (address.ip(), address.port(), folder.display());
    let mut text = format!(
        "server:\n  listen: {ip}@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  \
         background-workers: 1\n  async-start: off\nlog:\n  - target: stderr\n    any: info\n\
         database:\n  storage: {home}\nacl:\n  - id: all\n    address: 127.0.0.0/8\n    action: transfer\n\
         template:\n  - id: default\n    storage: {home}\n    zonefile-load: whole\n    zonefile-sync: -1\n    \
         journal-content: none\n    semantic-checks: off\n    acl: all\nzone:\n",
    );
    for zone in zones {
        let (origin, path) = (&zone.origin, zone.path.display());
        writeln!(text, "  - domain: \"{origin}\"\n    file: \"{path}\"").expect("a string grows");
    }
    let path = write(folder, "knot.conf", &text);
    let mut command = Command::new(program);
    command.arg("-c").arg(path);
    command
}

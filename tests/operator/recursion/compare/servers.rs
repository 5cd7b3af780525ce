//! The programs: authoritative servers of a group of zones, and resolvers.

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use zonda_tests::exchange::udp_within;
use zonda_tests::message::{Query, flag};
use zonda_tests::patience::await_or;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, program};

use crate::kit::folder;

/// Starts a server with the zones of a group at its addresses.
pub fn serve(kind: &str, internet: &Path, zones: &str, on: &[&str]) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let home = scratch.path().display();
    let zones = zones.lines().filter_map(|line| line.split_once(' '));
    let path = internet.join("zones");
    let mut config = String::new();
    let mut command = match kind {
        "zonda" => {
            let listen: Vec<String> = on.iter().map(|address| format!("\"{address}:53\"")).collect();
            let listen = listen.join(", ");
            let _ = write!(
                config,
                "[server]\nlisten = [{listen}]\nworkers = 1\n[control]\nsocket = \"{home}/control.sock\"\n"
            );
            for (zone, file) in zones {
                let _ =
                    write!(config, "[[zone]]\nname = \"{zone}\"\nfile = \"{}\"\n", path.join(file).display());
            }
            let mut command = Command::new(program());
            command.args(["serve", "--config"]);
            command
        }
        _ => {
            config += "server:\n";
            on.iter().for_each(|address| _ = writeln!(config, " ip-address: {address}@53"));
            let _ = write!(
                config,
                " server-count: 1\n username: \"\"\n chroot: \"\"\n zonesdir: \"{home}\"\n database: \"\"\n pidfile: \"{home}/nsd.pid\"\n \
                 zonelistfile: \"{home}/zone.list\"\n xfrdfile: \"{home}/xfrd.state\"\n xfrdir: \"{home}\"\n rrl-ratelimit: 0\n \
                 rrl-whitelist-ratelimit: 0\n tcp-count: 100\n zonefiles-write: 0\n answer-cookie: no\nremote-control:\n control-enable: no\n"
            );
            for (zone, file) in zones {
                let _ = write!(
                    config,
                    "zone:\n name: \"{zone}\"\n zonefile: \"{}\"\n",
                    path.join(file).display()
                );
            }
            let mut command = Command::new(require("nsd", "nsd"));
            command.args(["-d", "-c"]);
            command
        }
    };
    let file = scratch.path().join("config");
    fs::write(&file, config).expect("the settings");
    command.arg(&file).current_dir(scratch.path());
    (Guarded::spawn(command, scratch.path()), scratch)
}

/// Starts a resolver.
pub fn resolve(kind: &str, address: &str, internet: &Path, anchor: &str) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let (home, hints) = (scratch.path().display(), internet.join("hints"));
    let (hints, anchor_file) = (hints.display(), internet.join("anchor"));
    let anchor_file = anchor_file.display();
    let (config, mut command) = match kind {
        "zonda" => {
            let mut command = Command::new(program());
            command.args(["serve", "--config"]);
            let config = format!(
                "[server]\nlisten = [\"{address}:53\"]\nworkers = 2\n[control]\nsocket = \"{home}/control.sock\"\n\
                 [resolver]\nenabled = true\nlog-failures = true\nroot-hints = \"{hints}\"\ntrust-anchor-file = \"{anchor_file}\"\nnever-ask = []\n"
            );
            (config, command)
        }
        "unbound" => {
            let mut command = Command::new(require("unbound", "unbound"));
            command.args(["-d", "-c"]);
            // It writes to the file of an anchor that it is to keep; this one it only reads.
            let config = format!(
                "server:\n interface: {address}\n do-daemonize: no\n username: \"\"\n chroot: \"\"\n pidfile: \"\"\n directory: \"{home}\"\n \
                 use-syslog: no\n root-hints: \"{hints}\"\n trust-anchor-file: \"{anchor_file}\"\n module-config: \"validator iterator\"\n \
                 do-ip6: no\n access-control: 127.0.0.0/8 allow\n qname-minimisation: yes\n num-threads: 1\nremote-control:\n control-enable: no\n"
            );
            (config, command)
        }
        _ => {
            let mut command = Command::new(require("named", "bind9"));
            command.args(["-4", "-g", "-n", "1", "-U", "1", "-c"]);
            let fields: Vec<&str> = anchor.split_whitespace().skip(4).collect();
            let [tag, algorithm, digest_type, digest] = fields[..4] else { panic!("no anchor: {anchor}") };
            let config = format!(
                "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on {{ {address}; }}; listen-on-v6 {{ none; }}; \
                 recursion yes; allow-recursion {{ any; }}; dnssec-validation yes; empty-zones-enable no; minimal-responses yes; max-cache-size 64M; }};\n\
                 controls {{ }};\nzone \".\" {{ type hint; file \"{hints}\"; }};\n\
                 trust-anchors {{ \".\" static-ds {tag} {algorithm} {digest_type} \"{digest}\"; }};\n"
            );
            (config, command)
        }
    };
    let file = scratch.path().join("config");
    fs::write(&file, config).expect("the settings");
    command.arg(&file).current_dir(scratch.path());
    (Guarded::spawn(command, scratch.path()), scratch)
}

/// Waits until a server answers about a zone.
pub fn await_answer(address: &str, zone: &str, process: &Guarded, scratch: &TempDir) {
    let log = || fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    let query = Query::new(zone, rtype::SOA).flags(flag::RD).octets();
    let server: SocketAddr = format!("{address}:53").parse().expect("an address");
    await_or(
        || format!("no answer of {address} about {zone}: {}", log()),
        || {
            assert!(process.is_running(), "{address} ended: {}", log());
            let answer = udp_within(server, &query, Duration::from_millis(500)).ok().flatten();
            answer.is_some_and(|answer| answer.get(3).is_some_and(|low| low & 0xf == 0))
        },
    );
}

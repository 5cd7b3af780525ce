//! The same questions to three resolvers over sockets: Zonda, unbound and named, which know nothing but the root's addresses and key, in an Internet of real names
//! that a few servers serve. Each difference has a rule in `explained.toml`, or fails the test.
//!
//! ```text
//! group 0: root   1: TLDs   2, 3: hosters, in halves   4: all other name servers     (sim::generated::group)
//!       zonda     nsd       zonda nsd                  zonda                         a few addresses each, 198.18.GROUP.N
//! resolvers: 127.0.0.1 zonda, 127.0.0.2 unbound, 127.0.0.3 named
//! ```

mod judge;

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
use zonda_tests::server::{Guarded, export_program, program};

use super::internet::{enter, leave};
use crate::kit::{folder, text};
use judge::judge;

/// Who is asked, and where.
const RESOLVERS: [(&str, &str); 3] =
    [("zonda", "127.0.0.1"), ("unbound", "127.0.0.2"), ("named", "127.0.0.3")];
/// What serves each group of servers.
const GROUPS: [&str; 5] = ["zonda", "nsd", "zonda", "nsd", "zonda"];
/// Addresses that a group shares.
const ADDRESSES: &str = "8";

/// Asks `questions` of a generated Internet of so many names, and compares.
fn compare(names: usize, seed: u64, questions: usize) {
    let run = || {
        let files = folder(&[]);
        let internet = files.path().join("internet");
        let export = Command::new(export_program())
            .args([text(&internet), &names.to_string(), &seed.to_string(), "40", "5", "1", ADDRESSES])
            .status();
        assert!(export.is_ok_and(|status| status.success()), "the export");
        let read = |name: &str| fs::read_to_string(internet.join(name)).expect("an exported file");
        let groups = read("groups");
        let addresses: Vec<&str> = groups
            .lines()
            .flat_map(|line| line.split(' ').skip(1))
            .chain(RESOLVERS[1..].iter().map(|one| one.1))
            .collect();
        let Some(namespace) = enter(&addresses) else { return };
        let _namespace = Namespace(namespace);
        let mut processes = Vec::new();
        for (group, kind) in GROUPS.iter().enumerate() {
            let on: Vec<&str> = groups.lines().nth(group).expect("a group").split(' ').skip(1).collect();
            processes.push(serve(kind, &internet, &read(&format!("group-{group}")), &on));
        }
        for (group, (process, scratch)) in processes.iter().enumerate() {
            let zones = read(&format!("group-{group}"));
            let last = zones.lines().last().and_then(|line| line.split(' ').next()).expect("a zone");
            let on = groups.lines().nth(group).and_then(|line| line.split(' ').nth(1)).expect("an address");
            await_answer(on, last, process, scratch);
        }
        for (kind, address) in RESOLVERS {
            let resolver = resolve(kind, address, &internet, &read("anchor"));
            await_answer(address, ".", &resolver.0, &resolver.1);
            processes.push(resolver);
        }
        judge(&read("questions"), questions);
    };
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

struct Namespace(String);

impl Drop for Namespace {
    fn drop(&mut self) {
        leave(&self.0);
    }
}

/// Starts a server with the zones of a group at its addresses.
fn serve(kind: &str, internet: &Path, zones: &str, on: &[&str]) -> (Guarded, TempDir) {
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
fn resolve(kind: &str, address: &str, internet: &Path, anchor: &str) -> (Guarded, TempDir) {
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
                 [resolver]\nenabled = true\nroot-hints = \"{hints}\"\ntrust-anchor-file = \"{anchor_file}\"\nnever-ask = []\n"
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

fn await_answer(address: &str, zone: &str, process: &Guarded, scratch: &TempDir) {
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

#[test]
fn a_thousand_questions() {
    compare(500, 7, 1_000);
}

mod long {
    /// All questions of all names that ship with the model, several times with other seeds.
    #[test]
    #[ignore = "minutes"]
    fn all_names() {
        for seed in 1..=6 {
            super::compare(8_000, seed, usize::MAX);
        }
    }
}

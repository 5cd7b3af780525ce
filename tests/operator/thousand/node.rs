//! Servers of five programs, primaries and secondaries of one zone, with one key among them.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use zonda_tests::exchange::{tcp, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, free_address, program_command, settings, write};

use super::model::{Change, Model};
use super::{ORIGIN, Program};

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// What a server is to be.
pub struct Role {
    program: Program,
    is_primary: bool,
    is_signing: bool,
    address: SocketAddr,
    told: Vec<SocketAddr>,
}

/// A primary that tells these of changes; who signs is Knot DNS.
pub fn primary(program: Program, told: Vec<SocketAddr>, is_signing: bool) -> Role {
    Role { program, is_primary: true, is_signing, address: free_address(), told }
}

/// A secondary that tells these in turn.
pub fn secondary(program: Program, told: Vec<SocketAddr>) -> Role {
    Role { program, is_primary: false, is_signing: false, address: free_address(), told }
}

/// A running server.
pub struct Node {
    program: Program,
    /// Where it answers.
    pub address: SocketAddr,
    // Ended before its folder goes.
    process: Guarded,
    folder: tempfile::TempDir,
}

impl fmt::Debug for Node {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.program)
    }
}

/// Where a test fails, the end of what each of its servers said is of use.
impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!(
                "--- end of the log of {self:?} ---\n{}",
                lines[lines.len().saturating_sub(20)..].join("\n")
            );
        }
    }
}

impl Role {
    /// Where it will answer.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts it. `from`: its primary.
    pub fn start(self, from: Option<&Node>, model: &Model) -> Node {
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        if self.is_primary {
            write(folder.path(), "zone", &model.text(1));
        }
        // PowerDNS knows keys only where its backend has a database of them.
        let is_keyed = from.is_none_or(|from| from.program != Program::Pdns);
        let from = from.map_or(1, |from| from.address.port());
        let command = match self.program {
            Program::Zonda => self.zonda(folder.path(), from, is_keyed),
            Program::Named => self.named(folder.path(), from),
            Program::Nsd => self.nsd(folder.path(), from),
            Program::Knot => self.knot(folder.path(), from),
            Program::Pdns => self.pdns(folder.path()),
        };
        let process = Guarded::spawn(command, folder.path());
        let node = Node { program: self.program, address: self.address, folder, process };
        await_that("an answer", || {
            assert!(node.process.is_running(), "{:?}: {}", self.program, node.log());
            let query = Query::new(ORIGIN, rtype::SOA).octets();
            udp_within(node.address, &query, Duration::from_millis(50)).is_ok_and(|answer| answer.is_some())
                && (!self.is_primary || node.serial().is_some())
        });
        node
    }

    fn told(&self, line: impl Fn(u16) -> String) -> String {
        self.told.iter().map(|address| line(address.port())).collect()
    }

    fn zonda(&self, folder: &Path, from: u16, is_keyed: bool) -> Command {
        let home = folder.display();
        let remotes = self.told(|port| {
            format!("[[remote]]\nname = \"r{port}\"\naddresses = [\"127.0.0.1:{port}\"]\nkey = \"k.\"\n")
        });
        let names =
            self.told.iter().map(|address| format!("\"r{}\"", address.port())).collect::<Vec<_>>().join(", ");
        let zone = match self.is_primary {
            true => "file = \"zone\"\nallow-update = \"all\"".to_owned(),
            false => "primaries = [\"from\"]".to_owned(),
        };
        let more = format!(
            "pack-directory = \"{home}/packs\"\n[access]\ntransfer = \"all\"\n[[key]]\nname = \"k.\"\nsecret = \"{SECRET}\"\n\
             {remotes}[[remote]]\nname = \"from\"\naddresses = [\"127.0.0.1:{}\"]\n{}\
             [[zone]]\nname = \"{ORIGIN}\"\nnotify = [{names}]\n{zone}\n",
            from,
            if is_keyed { "key = \"k.\"\n" } else { "" }
        );
        let path = write(folder, "zonda.toml", &settings(folder, self.address, &[], &more));
        let mut command = program_command(&["serve", "--config"]);
        command.arg(path).current_dir(folder);
        command
    }

    fn named(&self, folder: &Path, from: u16) -> Command {
        let zone = match self.is_primary {
            true => "type primary; file \"zone\"; check-integrity no; allow-update { any; };".to_owned(),
            false => format!(
                "type secondary; masterfile-format text; file \"secondary.zone\"; primaries {{ 127.0.0.1 port {from} key \"k.\"; }};"
            ),
        };
        let text = format!(
            "key \"k.\" {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};\noptions {{ directory \"{}\"; pid-file none; \
             session-keyfile none; listen-on-v6 {{ none; }}; listen-on port {} {{ 127.0.0.1; }}; recursion no; empty-zones-enable no; \
             dnssec-validation no; allow-transfer {{ any; }}; notify-delay 0; notify-rate 1000; serial-query-rate 1000; \
             check-names primary ignore; check-names secondary ignore; }};\ncontrols {{ }};\n\
             zone \"{ORIGIN}\" {{ {zone} notify explicit; also-notify {{ {} }}; }};\n",
            folder.display(),
            self.address.port(),
            self.told(|port| format!("127.0.0.1 port {port} key \"k.\"; "))
        );
        let mut command = Command::new(require("named", "bind9"));
        command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(write(folder, "named.conf", &text));
        command
    }

    fn nsd(&self, folder: &Path, from: u16) -> Command {
        let (home, port) = (folder.display(), self.address.port());
        let text = format!(
            "server:\n ip-address: 127.0.0.1@{port}\n server-count: 1\n username: \"\"\n chroot: \"\"\n zonesdir: \"{home}\"\n \
             database: \"\"\n pidfile: \"{home}/nsd.pid\"\n zonelistfile: \"{home}/zone.list\"\n xfrdfile: \"{home}/xfrd.state\"\n \
             xfrdir: \"{home}\"\n xfrd-reload-timeout: 1\n verbosity: 1\nremote-control:\n control-enable: no\n\
             key:\n name: \"k.\"\n algorithm: hmac-sha256\n secret: \"{SECRET}\"\nzone:\n name: \"{ORIGIN}\"\n \
             zonefile: \"{home}/secondary.zone\"\n request-xfr: 127.0.0.1@{from} k.\n allow-notify: 127.0.0.1 k.\n \
             allow-notify: 127.0.0.1 NOKEY\n provide-xfr: 127.0.0.1 NOKEY\n"
        );
        let mut command = Command::new(require("nsd", "nsd"));
        command.args(["-d", "-c"]).arg(write(folder, "nsd.conf", &text));
        command
    }

    fn knot(&self, folder: &Path, from: u16) -> Command {
        let (home, port) = (folder.display(), self.address.port());
        let remotes =
            self.told(|port| format!("  - id: r{port}\n    address: 127.0.0.1@{port}\n    key: k.\n"));
        let names: Vec<String> = self.told.iter().map(|address| format!("r{}", address.port())).collect();
        let notify = match names.is_empty() {
            true => String::new(),
            false => format!("    notify: [{}]\n", names.join(", ")),
        };
        let zone = match self.is_primary {
            true => "file: zone",
            false => "master: from",
        };
        let signing = if self.is_signing { "on" } else { "off" };
        let text = format!(
            "server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
             log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nkey:\n  - id: k.\n    algorithm: hmac-sha256\n    \
             secret: {SECRET}\nremote:\n  - id: from\n    address: 127.0.0.1@{}\n    key: k.\n{remotes}\
             acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [transfer, update]\n  - id: keyed\n    key: k.\n    \
             action: [transfer, notify]\ntemplate:\n  - id: default\n    storage: {home}\n    semantic-checks: off\n    \
             journal-max-depth: 5000\n    zonefile-sync: -1\n    \
             acl: [all, keyed]\nzone:\n  - domain: \"{ORIGIN}\"\n    {zone}\n{notify}    dnssec-signing: {signing}\n",
            from
        );
        let mut command = Command::new(require("knotd", "knot"));
        command.arg("-c").arg(write(folder, "knot.conf", &text));
        command
    }

    fn pdns(&self, folder: &Path) -> Command {
        let home = folder.display();
        let bind = format!("zone \"{ORIGIN}\" {{ type master; file \"{home}/zone\"; }};\n");
        write(folder, "named.conf", &bind);
        let told = self.told(|port| format!("127.0.0.1:{port},"));
        let text = format!(
            "launch=bind\nbind-config={home}/named.conf\nlocal-address=127.0.0.1\nlocal-port={}\nsocket-dir={home}\nprimary=yes\n\
             allow-axfr-ips=127.0.0.0/8\nalso-notify={}\nonly-notify=\ncache-ttl=0\nquery-cache-ttl=0\nnegquery-cache-ttl=0\n\
             zone-cache-refresh-interval=0\nsetuid=\nsetgid=\nguardian=no\ndaemon=no\ndisable-syslog=yes\nwrite-pid=no\n",
            self.address.port(),
            told.trim_end_matches(',')
        );
        write(folder, "pdns.conf", &text);
        let mut command = Command::new(require("pdns_server", "pdns-server"));
        command.arg(format!("--config-dir={home}"));
        command
    }
}

impl Node {
    pub fn program(&self) -> Program {
        self.program
    }

    /// The serial that it says the zone has; `None` where it says none.
    pub fn serial(&self) -> Option<u32> {
        let query = Query::new(ORIGIN, rtype::SOA).octets();
        let answer = udp_within(self.address, &query, Duration::from_millis(500)).ok().flatten()?;
        let response = Response::parse(&answer).ok()?;
        let rdata = &response.answer.first()?.rdata;
        Some(u32::from_be_bytes(rdata[rdata.len() - 20..][..4].try_into().ok()?))
    }

    /// Tells it once more that there is a version (RFC 1996 3.7), without a key.
    pub fn remind(&self) {
        let mut notify = Query::new(ORIGIN, rtype::SOA).octets();
        // Opcode NOTIFY, AA.
        notify[2] = 4 << 3 | 4;
        let _ = udp_within(self.address, &notify, Duration::from_millis(500));
    }

    /// What it said.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.path().join("log")).unwrap_or_default())
            .into_owned()
    }

    /// How often it sent differences (RFC 1995), as it says.
    pub fn differences(&self) -> usize {
        let words: &[&str] = match self.program {
            Program::Zonda => &["sent to", "(IXFR"],
            Program::Named => &["IXFR started"],
            _ => &["IXFR, outgoing", "finished"],
        };
        self.log().lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
    }

    /// Has it make change `number`, which `model` has already: by an update, or by a new text where it takes none.
    pub fn apply(&self, change: &Change, model: &Model, number: usize) {
        if self.program == Program::Pdns {
            // Whole at every moment, as careful operators do.
            let path = write(self.folder.path(), "new", &model.text(number + 1));
            std::fs::rename(path, self.folder.path().join("zone")).expect("its name");
            self.control(&["bind-reload-now", ORIGIN]);
            self.control(&["notify", ORIGIN]);
            return;
        }
        let message = model.message(number as u16, change);
        let answer = tcp(self.address, &message);
        assert_eq!(answer[3] & 15, 0, "{:?}: {change:?}\n{}", self.program, self.log());
    }

    fn control(&self, words: &[&str]) {
        let mut command = Command::new(require("pdns_control", "pdns-server"));
        command.arg(format!("--socket-dir={}", self.folder.path().display())).args(words);
        let output = command.output().expect("the program pdns_control");
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
}

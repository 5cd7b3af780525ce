//! Resolvers that are compared: each with its defaults, over IPv4, validating, with one thread where it can be said.

use std::fs;
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

/// A resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Zonda,
    Unbound,
    Named,
    Recursor,
}

impl Kind {
    /// Those that are here; Unbound and BIND always are.
    pub fn installed() -> Vec<Kind> {
        let path = std::env::var("PATH").unwrap_or_default();
        let has_recursor = path
            .split(':')
            .chain(["/usr/sbin"])
            .any(|folder| Path::new(folder).join("pdns_recursor").is_file());
        let mut kinds = vec![Kind::Zonda, Kind::Unbound, Kind::Named];
        kinds.extend(has_recursor.then_some(Kind::Recursor));
        kinds
    }

    pub fn label(self) -> &'static str {
        match self {
            Kind::Zonda => "zonda",
            Kind::Unbound => "unbound",
            Kind::Named => "named",
            Kind::Recursor => "recursor",
        }
    }

    /// Where it listens.
    pub fn address(self) -> &'static str {
        match self {
            Kind::Zonda => "127.0.0.2:53",
            Kind::Unbound => "127.0.0.3:53",
            Kind::Named => "127.0.0.4:53",
            Kind::Recursor => "127.0.0.5:53",
        }
    }
}

/// A resolver that runs.
pub struct Running {
    process: Guarded,
    scratch: TempDir,
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }
}

/// Starts one that knows the root's servers and key of `internet` (files `hints` and `anchor`, which may be empty), and waits until it answers.
pub fn start(kind: Kind, internet: &Path) -> Running {
    let scratch = folder(&[]);
    let (hints, anchor) = (internet.join("hints"), internet.join("anchor"));
    let anchor_text = fs::read_to_string(&anchor).unwrap_or_default();
    let files =
        Files { home: scratch.path(), hints: &hints, anchor: &anchor, anchor_text: anchor_text.trim() };
    let (config, mut command) = match kind {
        Kind::Zonda => zonda(&files),
        Kind::Unbound => unbound(&files),
        Kind::Named => named(&files),
        Kind::Recursor => recursor(&files),
    };
    let file = scratch.path().join(if kind == Kind::Recursor { "recursor.yml" } else { "config" });
    fs::write(&file, config).expect("the settings");
    match kind {
        Kind::Recursor => command.arg(format!("--config-dir={}", scratch.path().display())),
        _ => command.arg(&file),
    };
    command.current_dir(scratch.path());
    let running = Running { process: Guarded::spawn(command, scratch.path()), scratch };
    let query = Query::new(".", rtype::NS).flags(flag::RD).octets();
    let address = kind.address().parse().expect("an address");
    await_or(
        || format!("{kind:?} does not answer: {}", running.log()),
        || {
            assert!(running.process.is_running(), "{kind:?} ended: {}", running.log());
            let answer = udp_within(address, &query, Duration::from_millis(500)).ok().flatten();
            answer.is_some_and(|answer| answer.get(3).is_some_and(|low| low & 0xf == 0))
        },
    );
    running
}

struct Files<'f> {
    home: &'f Path,
    hints: &'f Path,
    anchor: &'f Path,
    anchor_text: &'f str,
}

impl Files<'_> {
    fn is_signed(&self) -> bool {
        !self.anchor_text.is_empty()
    }

    /// Tag, algorithm, digest type, digest.
    fn ds(&self) -> [&str; 4] {
        let fields: Vec<&str> = self.anchor_text.split_whitespace().skip(4).collect();
        let [tag, algorithm, digest_type, digest] = fields[..4] else {
            panic!("no anchor: {}", self.anchor_text)
        };
        [tag, algorithm, digest_type, digest]
    }
}

fn host(kind: Kind) -> &'static str {
    kind.address().trim_end_matches(":53")
}

fn zonda(files: &Files<'_>) -> (String, Command) {
    let mut command = Command::new(program());
    command.args(["serve", "--config"]);
    let trust = match files.is_signed() {
        true => format!("trust-anchor-file = \"{}\"\n", files.anchor.display()),
        false => "validate = false\n".to_owned(),
    };
    let config = format!(
        "[server]\nlisten = [\"{}\"]\nworkers = 1\n[control]\nsocket = \"{}/control.sock\"\n\
         [resolver]\nenabled = true\nroot-hints = \"{}\"\nipv6 = false\nnever-ask = []\n{trust}",
        Kind::Zonda.address(),
        files.home.display(),
        files.hints.display(),
    );
    (config, command)
}

fn unbound(files: &Files<'_>) -> (String, Command) {
    let mut command = Command::new(require("unbound", "unbound"));
    command.args(["-d", "-c"]);
    let trust = match files.is_signed() {
        true => format!(
            " trust-anchor-file: \"{}\"\n module-config: \"validator iterator\"\n",
            files.anchor.display()
        ),
        false => " module-config: \"iterator\"\n".to_owned(),
    };
    let config = format!(
        "server:\n interface: {}\n do-daemonize: no\n username: \"\"\n chroot: \"\"\n pidfile: \"\"\n directory: \"{}\"\n use-syslog: no\n \
         root-hints: \"{}\"\n{trust} do-ip6: no\n access-control: 127.0.0.0/8 allow\n num-threads: 1\nremote-control:\n control-enable: no\n",
        host(Kind::Unbound),
        files.home.display(),
        files.hints.display(),
    );
    (config, command)
}

fn named(files: &Files<'_>) -> (String, Command) {
    let mut command = Command::new(require("named", "bind9"));
    command.args(["-4", "-g", "-n", "1", "-U", "1", "-c"]);
    let (validation, trust) = match files.is_signed() {
        true => {
            let [tag, algorithm, digest_type, digest] = files.ds();
            let ds = format!("\".\" static-ds {tag} {algorithm} {digest_type} \"{digest}\";");
            ("yes", format!("trust-anchors {{ {ds} }};\n"))
        }
        false => ("no", String::new()),
    };
    let config = format!(
        "options {{ directory \"{}\"; pid-file none; session-keyfile none; listen-on {{ {}; }}; listen-on-v6 {{ none; }}; recursion yes; \
         allow-recursion {{ any; }}; dnssec-validation {validation}; empty-zones-enable no; max-cache-size 64M; }};\n\
         controls {{ }};\nzone \".\" {{ type hint; file \"{}\"; }};\n{trust}",
        files.home.display(),
        host(Kind::Named),
        files.hints.display(),
    );
    (config, command)
}

fn recursor(files: &Files<'_>) -> (String, Command) {
    let mut command = Command::new(require("pdns_recursor", "pdns-recursor"));
    command.arg("--daemon=no");
    let trust = match files.is_signed() {
        true => {
            let [tag, algorithm, digest_type, digest] = files.ds();
            format!(
                "dnssec:\n  validation: validate\n  trustanchors:\n    - name: .\n      dsrecords:\n        - \"{tag} {algorithm} {digest_type} {digest}\"\n"
            )
        }
        false => "dnssec:\n  validation: off\n".to_owned(),
    };
    let config = format!(
        "incoming:\n  listen:\n    - {}\n  allow_from:\n    - 127.0.0.0/8\noutgoing:\n  dont_query: []\n  source_address:\n    - 0.0.0.0\n\
         recursor:\n  hint_file: {}\n  threads: 1\n  socket_dir: {}\n  root_nx_trust: true\n  security_poll_suffix: \"\"\nlogging:\n  loglevel: 3\n{trust}",
        Kind::Recursor.address(),
        files.hints.display(),
        files.home.display(),
    );
    (config, command)
}

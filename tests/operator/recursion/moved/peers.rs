//! Unbound and named beside Zonda, with lines of settings.

use std::fs;
use std::process::Command;

use tempfile::TempDir;
use zonda_tests::patience::await_or;
use zonda_tests::server::Guarded;
use zonda_tests::server::peers::require;

use super::super::internet::{Internet, dig, ip};
use crate::kit::{folder, text};

pub const UNBOUND: &str = "127.0.0.2";
pub const NAMED: &str = "127.0.0.3";

/// Starts unbound with lines in `server:` and sections after it.
pub fn unbound(internet: &Internet, lines: &str) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let home = scratch.path().display();
    let settings = format!(
        "server:\n interface: {UNBOUND}\n do-daemonize: no\n username: \"\"\n chroot: \"\"\n pidfile: \"\"\n directory: \"{home}\"\n use-syslog: no\n \
         root-hints: \"{}\"\n trust-anchor-file: \"{}\"\n do-ip6: no\n do-not-query-localhost: no\n num-threads: 1\n access-control: 127.0.0.0/8 allow\n\
         remote-control:\n control-enable: no\nserver:\n{lines}\n",
        internet.hints().display(),
        internet.anchor().display()
    );
    let path = scratch.path().join("unbound.conf");
    fs::write(&path, settings).expect("the settings");
    let mut command = Command::new(require("unbound", "unbound"));
    command.args(["-d", "-c", text(&path)]);
    (Guarded::spawn(command, scratch.path()), scratch)
}

/// Starts named with clauses in `options`.
pub fn named(internet: &Internet, lines: &str) -> (Guarded, TempDir) {
    // It listens on addresses that an interface has; the first time it is not there yet.
    ip(&["address", "replace", &format!("{NAMED}/32"), "dev", "lo"]);
    let scratch = folder(&[]);
    let home = scratch.path().display();
    let anchor = fs::read_to_string(internet.anchor()).expect("the trust anchor");
    let words: Vec<&str> = anchor.split_whitespace().skip(4).collect();
    let [tag, algorithm, digest_type, ref digest @ ..] = words[..] else { panic!("no anchor: {anchor}") };
    let recursion = if lines.contains("allow-recursion") { "" } else { "allow-recursion { any; }; " };
    let settings = format!(
        "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on {{ {NAMED}; }}; listen-on-v6 {{ none; }}; recursion yes; \
         {recursion}dnssec-validation yes; minimal-responses yes; {lines} }};\ncontrols {{ }};\nzone \".\" {{ type hint; file \"{}\"; }};\n\
         trust-anchors {{ \".\" static-ds {tag} {algorithm} {digest_type} \"{}\"; }};\n",
        internet.hints().display(),
        digest.concat()
    );
    let path = scratch.path().join("named.conf");
    fs::write(&path, settings).expect("the settings");
    let mut command = Command::new(require("named", "bind9"));
    command.args(["-4", "-g", "-n", "1", "-U", "1", "-c", text(&path)]);
    (Guarded::spawn(command, scratch.path()), scratch)
}

/// Waits until a server answers anything at all.
pub fn await_peer(address: &str, peer: &(Guarded, TempDir)) {
    let log = || fs::read_to_string(peer.1.path().join("log")).unwrap_or_default();
    await_or(log, || {
        assert!(peer.0.is_running(), "{}", log());
        dig(&format!("@{address}"), &["localhost", "A", "+time=1"]).contains("status: ")
    });
}

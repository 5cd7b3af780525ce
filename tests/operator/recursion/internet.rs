//! A root, a top-level domain and zones below it, signed, on servers of four kinds, all in one network namespace; and resolvers that know nothing but the
//! root's address and key.
//!
//! ```text
//! .              127.0.1.1 zonda                    org.            127.0.2.1 named, 127.0.2.2 zonda
//! signed.org.    127.0.3.1 nsd, 127.0.3.2 knotd     plain.org.      127.0.4.1 nsd
//!                                                   broken.org.     127.0.5.1 nsd
//! ```

use std::fmt::Write;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;
use zonda_tests::patience::await_or;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, Kind, peers, program, signal};
use zonda_tests::zone::ZoneFile;

use crate::kit::{folder, text};

/// The root's server, which is all that hints know.
const ROOT_SERVER: &str = "127.0.1.1";

/// Apex, whether it is signed, its servers, and its records.
type Stand = (&'static str, bool, &'static [(Kind, &'static str)], &'static str);

/// What stands on which servers: apex, whether it is signed, its servers, and its records beside SOA, NS, and delegations.
const ZONES: [Stand; 5] = [
    (".", true, &[(Kind::Zonda, ROOT_SERVER)], ""),
    ("org.", true, &[(Kind::Named, "127.0.2.1"), (Kind::Zonda, "127.0.2.2")], ""),
    (
        "signed.org.",
        true,
        &[(Kind::Nsd, "127.0.3.1"), (Kind::Knot, "127.0.3.2")],
        "www 300 A 192.0.2.1\nwww 300 A 192.0.2.2\nwww 300 AAAA 2001:db8::1\nalias 300 CNAME www\nout 300 CNAME www.plain.org.\n\
         *.wild 300 A 192.0.2.3\nlarge 300 TXT (\"0123456789012345678901234567890123456789\" LARGE)\nmail 300 MX 10 www\n",
    ),
    // Changed after it was signed.
    ("broken.org.", true, &[(Kind::Nsd, "127.0.5.1")], "www 300 A 192.0.2.66\n"),
    (
        "plain.org.",
        false,
        &[(Kind::Nsd, "127.0.4.1")],
        "www 300 A 192.0.2.9\nalias 300 CNAME www.signed.org.\nsub 300 DNAME signed.org.\nbrief 1 A 192.0.2.10\n",
    ),
];

/// Caches are filled with names that this zone does not have ...
const LEARNED: &str = "plain.org.";
/// ... and which are kept for longer than any test goes on.
const LEARNED_SECONDS: u32 = 600;

/// All servers; ended, and the namespace removed, when it is dropped.
pub struct Internet {
    servers: Vec<(Guarded, TempDir)>,
    /// Hints and the trust anchor, as files.
    files: TempDir,
    name: String,
}

/// Runs a test in a namespace of its own, with the servers in it. `None` of it where nobody may make namespaces, unless everything must be run.
pub fn in_internet(test: impl FnOnce(&mut Internet) + Send) {
    std::thread::scope(|scope| {
        let run = || {
            // named listens on addresses that an interface has, whatever is asked of it.
            let addresses = ZONES.iter().flat_map(|(_, _, on, _)| on.iter());
            let addresses: Vec<&str> = addresses.map(|(_, address)| *address).collect();
            let Some(name) = enter(&addresses) else { return };
            test(&mut Internet::start(name));
        };
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Makes a namespace whose loopback has these addresses, and takes this thread, with all that it starts from now on, into it.
pub fn enter(addresses: &[&str]) -> Option<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("zonda-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    if !ip(&["netns", "add", &name]) {
        assert!(std::env::var_os("CI").is_none(), "nobody may make network namespaces here");
        return None;
    }
    assert!(ip(&["-n", &name, "link", "set", "lo", "up"]), "loopback of a namespace");
    for address in addresses.iter().map(|address| format!("{address}/32")) {
        assert!(ip(&["-n", &name, "address", "add", &address, "dev", "lo"]), "{address}");
    }
    let handle = File::open(Path::new("/run/netns").join(&name)).expect("the handle of a namespace");
    move_into_link_name_space(handle.as_fd(), Some(LinkNameSpaceType::Network)).expect("a thread moves");
    Some(name)
}

/// Removes a namespace.
pub fn leave(name: &str) {
    ip(&["netns", "delete", name]);
}

/// Runs `ip`, in the namespace of this thread.
pub fn ip(words: &[&str]) -> bool {
    let status = Command::new(require("ip", "iproute2")).args(words).status();
    status.is_ok_and(|status| status.success())
}

impl Drop for Internet {
    fn drop(&mut self) {
        self.servers.clear();
        leave(&self.name);
    }
}

impl Internet {
    fn start(name: String) -> Internet {
        let files = folder(&[]);
        let mut servers = Vec::new();
        let mut delegated: Vec<(&str, String)> = Vec::new();
        // From the leaves up: the parent has their DS records.
        for (apex, is_signed, on, records) in ZONES.iter().rev() {
            let path = files.path().join(format!("{}zone", if *apex == "." { "root." } else { apex }));
            fs::write(&path, zone_text(apex, on, records, &delegated)).expect("a zone file");
            let (served, ds) = match is_signed {
                true => sign(apex, &path),
                false => (path, String::new()),
            };
            let mut delegation = ds.clone();
            for (number, (_, address)) in (1..).zip(*on) {
                let _ = write!(
                    delegation,
                    "{apex} 3600 NS ns{number}.{0}\nns{number}.{0} 3600 A {address}\n",
                    dotted(apex)
                );
            }
            delegated.push((apex, delegation));
            if *apex == "." {
                fs::write(files.path().join("anchor"), ds).expect("the trust anchor");
            }
            for (kind, address) in *on {
                servers.push(start(*kind, address, &ZoneFile::new(apex, served.clone())));
            }
        }
        let hints = format!(". 3600 NS ns1.\nns1. 3600 A {ROOT_SERVER}\n");
        fs::write(files.path().join("hints"), hints).expect("the hints");
        for (process, scratch) in &servers {
            let log = || fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
            await_or(log, || process.is_running());
        }
        let mut internet = Internet { servers, files, name };
        for (apex, _, on, _) in ZONES {
            on.iter().for_each(|(_, address)| internet.await_zone(address, apex));
        }
        internet.servers.reverse();
        internet
    }

    fn await_zone(&self, address: &str, apex: &str) {
        await_or(
            || {
                let log =
                    |scratch: &TempDir| fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
                let logs: Vec<String> = self.servers.iter().map(|(_, scratch)| log(scratch)).collect();
                format!("no answer of {address} about {apex}; the servers say\n{}", logs.join("\n"))
            },
            || dig(&format!("@{address}"), &[apex, "SOA", "+norecurse"]).contains("status: NOERROR"),
        );
    }

    /// Starts a resolver at 127.0.0.1 with lines added to its settings, and waits until it answers.
    pub fn resolver(&self, more: &str) -> Resolver {
        self.resolver_at("127.0.0.1", more)
    }

    /// The same at another address of loopback.
    pub fn resolver_at(&self, address: &str, more: &str) -> Resolver {
        self.started(self.unasked_at(address, more))
    }

    /// At 127.0.0.1, with lines added to `[server]`.
    pub fn resolver_with(&self, lines: &str) -> Resolver {
        self.started(self.spawned("127.0.0.1", lines, ""))
    }

    /// Waits until a resolver answers.
    fn started(&self, resolver: Resolver) -> Resolver {
        await_or(
            || resolver.log(),
            || {
                assert!(resolver.process.is_running(), "{}", resolver.log());
                // Zones are there; refused where nobody may recurse.
                let said = resolver.dig(&["localhost", "A"]);
                resolver.has_begun() && (said.contains("status: NOERROR") || said.contains("status: REFUSED"))
            },
        );
        resolver
    }

    /// One that nobody has asked anything yet, and that perhaps does not answer yet.
    pub fn unasked_at(&self, address: &str, more: &str) -> Resolver {
        self.spawned(address, "", more)
    }

    /// The same with lines added to `[server]` too.
    pub fn unasked_with(&self, address: &str, of_server: &str, more: &str) -> Resolver {
        self.spawned(address, of_server, more)
    }

    /// Starts a resolver, with lines added to `[server]`, and to `[resolver]` and after it.
    fn spawned(&self, address: &str, of_server: &str, more: &str) -> Resolver {
        let scratch = folder(&[]);
        let files = self.files.path();
        // All servers are at addresses of loopback.
        let never_ask = if more.contains("never-ask") { "" } else { "never-ask = []\n" };
        let cache = if more.contains("cache-octets") { "" } else { CACHE };
        let settings = format!(
            "[server]\nlisten = [\"{address}:53\"]\nworkers = 2\n{of_server}\n[control]\nsocket = \"{}\"\n\
             [resolver]\nenabled = true\nroot-hints = \"{}\"\ntrust-anchor-file = \"{}\"\n{never_ask}{cache}",
            scratch.path().join("control.sock").display(),
            files.join("hints").display(),
            files.join("anchor").display()
        );
        let (base, settings) = (settings.clone(), settings + more);
        let config = scratch.path().join("zonda.toml");
        fs::write(&config, settings).expect("the settings");
        let mut command = Command::new(program());
        command.args(["serve", "--config", text(&config)]).current_dir(scratch.path());
        let process = Guarded::spawn(command, scratch.path());
        Resolver { process, scratch, base, address: address.to_owned() }
    }

    /// The text of a zone as its servers have it, which is signed.
    pub fn zone_file(&self, apex: &str) -> PathBuf {
        self.files.path().join(format!("{}signed", if apex == "." { "root." } else { apex }))
    }

    /// The file of root hints.
    pub fn hints(&self) -> PathBuf {
        self.files.path().join("hints")
    }

    /// The file of trust anchors.
    pub fn anchor(&self) -> PathBuf {
        self.files.path().join("anchor")
    }

    /// Ends the servers of a zone.
    pub fn end(&mut self, apex: &str) {
        let mut at = 0;
        for (zone, _, on, _) in ZONES {
            let of_zone = at..at + on.len();
            at = of_zone.end;
            if zone == apex {
                // In the order of the table, each zone's last server first.
                self.servers[of_zone].iter_mut().for_each(|(process, _)| process.stop());
            }
        }
    }
}

/// The cache of a resolver: with the 256 MiB of the default, of which each page is touched at a start, starts are most of what these tests cost.
pub const CACHE: &str = "cache-octets = 16777216\n";

/// A resolver under test.
pub struct Resolver {
    process: Guarded,
    scratch: TempDir,
    /// Its settings without what a test adds.
    base: String,
    address: String,
}

impl Resolver {
    /// What dig says.
    pub fn dig(&self, words: &[&str]) -> String {
        dig(&format!("@{}", self.address), words)
    }

    /// What `zonda ctl` says.
    pub fn ctl(&self, words: &[&str]) -> String {
        let config = self.config();
        let output = Command::new(program()).args(["ctl", "--config", text(&config)]).args(words).output();
        let output = output.expect("the program zonda");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    /// Whether its process is there.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// Whether its log says that it serves.
    pub fn has_begun(&self) -> bool {
        self.log().contains("INFO serving ")
    }

    /// Has it go by other lines at the end of its settings.
    pub fn reload(&self, more: &str) {
        let config = self.scratch.path().join("zonda.toml");
        fs::write(config, format!("{}{more}", self.base)).expect("the settings");
        let said = self.ctl(&["reload"]);
        assert!(!said.contains("zonda: "), "{said}");
    }

    /// Where it is asked.
    pub fn at(&self) -> SocketAddr {
        format!("{}:53", self.address).parse().expect("an address")
    }

    /// Its settings.
    pub fn config(&self) -> PathBuf {
        self.scratch.path().join("zonda.toml")
    }

    /// Another may take over from it, which is ended with it.
    pub fn with_successors(self) -> Resolver {
        fs::write(self.scratch.path().join("successors"), "").expect("a file");
        self
    }

    /// Ends it in the middle of whatever it does.
    pub fn kill(mut self) {
        signal(self.process.pid(), "KILL");
        self.process.wait(Duration::from_secs(4)).expect("its end");
    }

    /// What it wrote to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }
}

/// What dig says of an answer by `server`, an address after `@`.
pub fn dig(server: &str, words: &[&str]) -> String {
    let mut command = Command::new(require("dig", "bind9-dnsutils"));
    command.args(["+time=3", "+tries=1", server]).args(words);
    String::from_utf8_lossy(&command.output().expect("the program dig").stdout).into_owned()
}

/// The name with nothing before its dot where it is the root: for names below it.
fn dotted(apex: &str) -> &str {
    if apex == "." { "" } else { apex }
}

/// The text of a zone: SOA, its name servers, its records, and the delegations that are directly below it.
fn zone_text(apex: &str, on: &[(Kind, &str)], records: &str, delegated: &[(&str, String)]) -> String {
    let below = dotted(apex);
    let negative = if apex == LEARNED { LEARNED_SECONDS } else { 5 };
    let mut zone =
        format!("$ORIGIN {apex}\n{apex} 3600 SOA ns1.{below} host.{below} 1 7200 900 86400 {negative}\n");
    for (number, (_, address)) in (1..).zip(on) {
        let _ = write!(zone, "{apex} 3600 NS ns{number}.{below}\nns{number}.{below} 3600 A {address}\n");
    }
    let parent = |child: &str| match child.split_once('.') {
        Some((_, "")) => ".".to_owned(),
        Some((_, parent)) => parent.to_owned(),
        None => String::new(),
    };
    for (child, delegation) in delegated.iter().filter(|(child, _)| *child != "." && parent(child) == apex) {
        let _ = write!(zone, "; {child}\n{delegation}");
    }
    let large = "\"0123456789012345678901234567890123456789\" ".repeat(40);
    zone + &records.replace("LARGE", &large)
}

/// Signs a zone file with BIND's tools; the path of the signed one, and the DS record of its key. The root has a second key, which nothing is signed with.
fn sign(apex: &str, path: &Path) -> (PathBuf, String) {
    let keys = path.with_extension("keys");
    fs::create_dir(&keys).expect("a folder for keys");
    let run = |name: &str, words: &[&str]| {
        let output = Command::new(require(name, "bind9-utils")).args(words).current_dir(&keys).output();
        let output = output.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(output.status.success(), "{name} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let key = run("dnssec-keygen", &["-q", "-a", "ECDSAP256SHA256", "-f", "KSK", apex]);
    if apex == "." {
        // The next one, which does not sign yet.
        run("dnssec-keygen", &["-q", "-a", "ECDSAP256SHA256", "-f", "KSK", "-P", "now", "-A", "+60d", apex]);
    }
    let signed = path.with_extension("signed");
    run(
        "dnssec-signzone",
        &["-q", "-z", "-P", "-O", "full", "-S", "-K", ".", "-o", apex, "-f", text(&signed), text(path)],
    );
    let text_signed = fs::read_to_string(&signed).expect("a signed zone");
    fs::write(&signed, text_signed.replace("192.0.2.66", "192.0.2.67")).expect("the same, broken");
    let ds = run("dnssec-dsfromkey", &["-2", &format!("{key}.key")]);
    (signed, ds.replace(" IN DS", " 3600 IN DS") + "\n")
}

/// Starts a server at port 53 of an address.
fn start(kind: Kind, address: &str, zone: &ZoneFile) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let address: SocketAddr = format!("{address}:53").parse().expect("an address");
    let command = match kind {
        Kind::Zonda => {
            let config = scratch.path().join("zonda.toml");
            let settings = format!(
                "[server]\nlisten = [\"{address}\"]\nworkers = 1\n[control]\nsocket = \"{}\"\n[[zone]]\nname = \"{}\"\nfile = \"{}\"\n",
                scratch.path().join("control.sock").display(),
                zone.origin,
                zone.path.display()
            );
            fs::write(&config, settings).expect("the settings");
            let mut command = Command::new(program());
            command.args(["serve", "--config", text(&config)]).current_dir(scratch.path());
            command
        }
        peer => peers::command(peer, scratch.path(), address, std::slice::from_ref(zone)),
    };
    (Guarded::spawn(command, scratch.path()), scratch)
}

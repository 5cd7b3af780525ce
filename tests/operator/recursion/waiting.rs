//! Clients that wait for servers which say nothing: how many there are, what each takes, and that there are no more than there are places.
//!
//! ```text
//! clients 127.1.0.1 … in networks of their own, with cookies -- names below v0.example. … --> resolver 127.0.0.1 --> root 127.0.1.1
//!                                                                                                       --> 10.96.0.0/16: a link nobody is behind
//! ```

use std::fmt::Write;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zonda_tests::message::Query;
use zonda_tests::patience::await_or;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, ctl, program};

use super::internet::{enter, leave};
use crate::kit::{folder, text};

/// Zones whose servers are dead, each with an address of its own.
const ZONES: usize = 1_000;
/// The option for cookies (RFC 7873), and the octets of a client's and of a whole one.
const COOKIE: u16 = 10;
const CLIENT_OCTETS: usize = 8;
const COOKIE_OCTETS: usize = 24;
/// What one that waits may take, all of it: the project's promise.
const OCTETS_MAX: u64 = 4_096;
/// Queries that are sent before answers are looked for and the server has its turn.
const BURST: usize = 64;

/// What is asked of whom.
struct Load {
    workers: usize,
    /// Places of a worker.
    places: usize,
    clients: usize,
    /// Queries that all find a place.
    queries: usize,
    /// More than there are places for.
    more: usize,
}

/// What came of it.
#[derive(Debug)]
struct Found {
    /// Anonymous memory before, with all waiting, with more than there are places for, and after, in octets.
    before: u64,
    top: u64,
    full: u64,
    after: u64,
    /// That waited at the most, as the server counts.
    most: u64,
    /// Answers to the first queries, and to those beyond the places, while they were sent.
    answered: usize,
    answered_more: usize,
    seconds: f64,
}

/// Runs it in a namespace of its own; nothing where nobody may make one.
fn wait(load: &Load) -> Option<Found> {
    std::thread::scope(|scope| {
        let run = || {
            let name = enter(&[])?;
            dead_end(&name);
            let found = Bed::start(load).measure(load);
            leave(&name);
            Some(found)
        };
        scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A link that takes packets for 10.96.0.0/16 to nobody.
fn dead_end(namespace: &str) {
    for words in [
        "link add dead type veth peer name end",
        "link set dead addrgenmode none",
        "link set end addrgenmode none",
        "link set dead up",
        "link set end up",
        "address add 10.97.0.1/30 dev dead",
        "neighbour replace 10.97.0.2 lladdr 02:00:00:00:00:09 dev dead nud permanent",
        "route add 10.96.0.0/16 via 10.97.0.2",
    ] {
        let mut command = Command::new(require("ip", "iproute2"));
        let status = command.args(["-n", namespace]).args(words.split(' ')).status();
        assert!(status.is_ok_and(|status| status.success()), "{words}");
    }
}

struct Bed {
    resolver: Guarded,
    scratch: TempDir,
    _root: (Guarded, TempDir),
}

impl Bed {
    fn start(load: &Load) -> Bed {
        let root_folder = folder(&[]);
        let mut zone = ". 3600 SOA ns. host. 1 7200 900 86400 5\n. 3600 NS ns.\nns. 3600 A 127.0.1.1\nalive. 3600 A 192.0.2.1\n".to_owned();
        for number in 0..ZONES {
            let [third, fourth] = (number as u16).to_be_bytes();
            let _ = writeln!(
                zone,
                "v{number}.example. 3600 NS ns.v{number}.example.\nns.v{number}.example. 3600 A 10.96.{third}.{fourth}"
            );
        }
        fs::write(root_folder.path().join("root.zone"), zone).expect("the root zone");
        let path = |file: &str| root_folder.path().join(file).display().to_string();
        let settings = format!(
            "[server]\nlisten = [\"127.0.1.1:53\"]\nworkers = 1\n[control]\nsocket = \"{}\"\n[[zone]]\nname = \".\"\nfile = \"{}\"\n",
            path("control.sock"),
            path("root.zone")
        );
        let root = serve(&root_folder, &settings);
        let scratch = folder(&[]);
        let path = |file: &str| scratch.path().join(file).display().to_string();
        fs::write(scratch.path().join("hints"), ". 3600 NS ns.\nns. 3600 A 127.0.1.1\n").expect("the hints");
        let settings = format!(
            "[server]\nlisten = [\"127.0.0.1:53\"]\nworkers = {}\npin = false\n[control]\nsocket = \"{}\"\n[resolver]\nenabled = true\n\
             validate = false\nipv6 = false\nroot-hints = \"{}\"\nnever-ask = []\nwaiting = {}\n",
            load.workers,
            path("control.sock"),
            path("hints"),
            load.places
        );
        let resolver = serve(&scratch, &settings);
        let bed = Bed { resolver, scratch, _root: (root, root_folder) };
        await_or(|| bed.log(), || bed.asks(b"alive."));
        bed
    }

    fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }

    fn asks(&self, name: &[u8]) -> bool {
        let name = String::from_utf8_lossy(name).into_owned();
        let query = Query::new(&name, rtype::A).flags(0x0100).octets();
        let answer = zonda_tests::exchange::udp_within(address(), &query, Duration::from_secs(1));
        answer.is_ok_and(|answer| answer.is_some_and(|answer| answer[3] & 15 == 0))
    }

    /// Memory that the resolver has allocated, in octets.
    fn anonymous(&self) -> u64 {
        let pid = fs::read_to_string(self.scratch.path().join("control.sock.pid"))
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or_else(|| pid_of(&self.resolver));
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
        line.split_whitespace().next().and_then(|octets| octets.parse::<u64>().ok()).expect("a number") * 1024
    }

    /// A number of the resolver's statistics.
    fn counted(&self, name: &str) -> u64 {
        let socket = self.scratch.path().join("control.sock");
        let said = ctl(&socket, &["stats", "--json"]);
        let at = said.find(&format!("\"{name}\"")).unwrap_or_else(|| panic!("{name} in {said}"));
        let rest = &said[at..];
        let rest = &rest[rest.find("\"count\"").expect("a count") + 8..];
        let digits: String = rest.chars().skip_while(|letter| !letter.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    }

    fn measure(&self, load: &Load) -> Found {
        let clients = clients(load.clients);
        let before = self.anonymous();
        let began = Instant::now();
        let answered = send(&clients, 0..load.queries);
        let seconds = began.elapsed().as_secs_f64();
        await_or(|| self.log(), || self.counted("waiting-most") as usize >= load.queries.min(load.workers * load.places) * 9 / 10 || began.elapsed() > Duration::from_secs(5));
        let top = self.anonymous();
        let answered_more = send(&clients, load.queries..load.queries + load.more);
        let full = self.anonymous();
        let most = self.counted("waiting-most");
        await_or(|| format!("{} wait", self.counted("waiting")), || self.counted("waiting") == 0);
        let after = self.anonymous();
        assert!(self.asks(b"alive."), "it answers as before");
        Found { before, top, full, after, most, answered, answered_more, seconds }
    }
}

fn address() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 53))
}

fn serve(scratch: &TempDir, settings: &str) -> Guarded {
    let config = scratch.path().join("zonda.toml");
    fs::write(&config, settings).expect("the settings");
    let mut command = Command::new(program());
    command.args(["serve", "--config", text(&config)]).current_dir(scratch.path());
    let process = Guarded::spawn(command, scratch.path());
    let log = || fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    await_or(log, || process.is_running() && log().contains("INFO serving "));
    process
}

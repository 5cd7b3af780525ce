//! Clients that wait for servers which say nothing: how many there are, what each takes, and that there are no more than there are places.
//!
//! ```text
//! clients 127.1.0.1 … in networks of their own, with cookies -- names below v0.example. … --> resolver 127.0.0.1 --> root 127.0.1.1
//!                                                                                                       --> 10.96.0.0/16: a link nobody is behind
//! ```

use std::fmt::Write;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::patience::await_or;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, program};

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
/// What may be kept of the memory that they took, as one part in so many ...
const KEPT_ONE_IN: u64 = 4;
/// ... beside this, however many there were: a page of each kind for what comes next, rows of sockets and tickets.
const STANDING_OCTETS: u64 = 7 << 20;
/// Queries that are sent before the server has its turn, and for how long.
const BURST: usize = 64;
const PAUSE: Duration = Duration::from_millis(1);
/// Until all that was sent has found a place.
const SETTLE: Duration = Duration::from_millis(300);
/// The flag of clients that want recursion.
const RD: u16 = 0x0100;

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
    /// That waited after each, as the server counts.
    waiting: usize,
    waiting_more: usize,
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
        await_or(|| bed.log(), || bed.asks("alive."));
        bed
    }

    fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }

    fn asks(&self, name: &str) -> bool {
        let query = Query::new(name, rtype::A).flags(RD).octets();
        let answer = udp_within(address(), &query, Duration::from_secs(1));
        answer.is_ok_and(|answer| answer.is_some_and(|answer| answer[3] & 15 == 0))
    }

    /// Memory that the resolver has allocated, in octets.
    fn anonymous(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.resolver.pid())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
        line.split_whitespace().next().and_then(|octets| octets.parse::<u64>().ok()).expect("a number") * 1024
    }

    /// A number of the resolver's statistics.
    fn counted(&self, name: &str) -> usize {
        let socket = self.scratch.path().join("control.sock");
        let words = ["ctl", "--socket", text(&socket), "stats", "--json"];
        let output = Command::new(program()).args(words).output().expect("the program zonda");
        let said: String =
            String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join("");
        let mark = format!("\"name\":\"{name}\"");
        // The fields of an object stand in the order of their names, or as they were written.
        let object = said.split('{').find(|object| object.contains(&mark));
        let object = object.unwrap_or_else(|| panic!("{name} in {said}"));
        let (_, count) = object.split_once("\"count\":").expect("a count");
        let digits: String = count.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    }

    fn measure(&self, load: &Load) -> Found {
        let clients: Vec<Client> = (0..load.clients).map(Client::new).collect();
        let before = self.anonymous();
        let began = Instant::now();
        let answered = send(&clients, 0, load.queries);
        let seconds = began.elapsed().as_secs_f64();
        let (waiting, top) = (self.counted("waiting"), self.anonymous());
        let answered_more = send(&clients, load.queries, load.queries + load.more);
        let (waiting_more, full) = (self.counted("waiting"), self.anonymous());
        await_or(|| format!("{} wait", self.counted("waiting")), || self.counted("waiting") == 0);
        // What it took goes back to the system a little later, when their questions have ended too.
        let kept_max = before + STANDING_OCTETS + full.max(top).saturating_sub(before) / KEPT_ONE_IN;
        await_or(
            || {
                format!(
                    "{} MiB before, {} at the top, {} now",
                    before >> 20,
                    full >> 20,
                    self.anonymous() >> 20
                )
            },
            || self.anonymous() <= kept_max,
        );
        let after = self.anonymous();
        assert!(self.asks("alive."), "it answers as before");
        Found { before, top, full, after, waiting, waiting_more, answered, answered_more, seconds }
    }
}

/// A client with a cookie.
struct Client {
    socket: UdpSocket,
    cookie: Vec<u8>,
}

impl Client {
    /// The client with that number, in a network of its own, once it has its cookie.
    fn new(number: usize) -> Client {
        let [second, third] = [number / 250 + 1, number % 250].map(|octet| octet as u8);
        let socket = UdpSocket::bind((Ipv4Addr::new(127, second, third, 1), 0)).expect("a client's socket");
        socket.connect(address()).expect("a client's socket");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a client's socket");
        let own = [number as u8; CLIENT_OCTETS];
        let query = Query::new("alive.", rtype::A).flags(RD).option(COOKIE, &own).octets();
        let mut answer = [0; 512];
        socket.send(&query).expect("a query");
        let octets = socket.recv(&mut answer).expect("an answer with a cookie");
        let at = answer[..octets].windows(CLIENT_OCTETS).position(|part| part == own).expect("a cookie");
        let cookie = answer[at..octets.min(at + COOKIE_OCTETS)].to_vec();
        assert_eq!(cookie.len(), COOKIE_OCTETS);
        socket.set_nonblocking(true).expect("a client's socket");
        Client { socket, cookie }
    }

    /// Takes all answers that came, and says how many.
    fn answers(&self) -> usize {
        let mut answer = [0; 512];
        (0..).take_while(|_| self.socket.recv(&mut answer).is_ok()).count()
    }
}

/// Sends the queries with those numbers, all of other names; returns how many answers came meanwhile.
fn send(clients: &[Client], from: usize, to: usize) -> usize {
    let mut answered = 0;
    for (number, client) in (from..to).zip(clients.iter().cycle()) {
        let name = format!("q{number}.v{}.example.", number % ZONES);
        let query = Query::new(&name, rtype::A).id(number as u16).flags(RD).option(COOKIE, &client.cookie);
        // Its own host has no room: the server has its turn.
        while client.socket.send(&query.octets()).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if number % BURST == 0 {
            std::thread::sleep(PAUSE);
            answered += client.answers();
        }
    }
    std::thread::sleep(SETTLE);
    answered + clients.iter().map(Client::answers).sum::<usize>()
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

/// What holds of every load: those who fit wait, each takes no more than it may, more than there are places for take nothing more, and all of it is free in the end, most of it for the system too.
#[track_caller]
fn check(load: &Load) {
    let Some(found) = wait(load) else { return };
    let places = load.workers * load.places;
    let each = found.top.saturating_sub(found.before) / found.waiting.max(1) as u64;
    let mib = |octets: u64| octets >> 20;
    let Found { before, top, full, after, waiting, waiting_more, answered, answered_more, seconds } = found;
    eprintln!(
        "{waiting} of {} wait after {seconds:.1} s, {each} octets each; {waiting_more} of {places} places with {} more; answers meanwhile {answered} \
         and {answered_more}; allocated: {} MiB before, {} with all, {} with more, {} after",
        load.queries,
        load.more,
        mib(before),
        mib(top),
        mib(full),
        mib(after)
    );
    assert!(found.waiting * 100 >= load.queries * 99, "those who fit wait: {found:?}");
    assert!(found.waiting_more <= places, "no more than there are places: {found:?}");
    assert!(each <= OCTETS_MAX, "{each} octets each: {found:?}");
    let most = OCTETS_MAX * places as u64;
    assert!(found.full.saturating_sub(found.before) <= most, "bounded: {found:?}");
    assert!(found.answered * 100 <= load.queries, "nobody is sent away before: {found:?}");
}

#[test]
fn five_thousand_wait_for_servers_that_say_nothing() {
    check(&Load { workers: 2, places: 3_000, clients: 200, queries: 5_000, more: 2_000 });
}

mod long {
    use super::*;

    /// With a build for use: a slower one does not take in so many before the first have waited for too long.
    #[test]
    #[ignore = "takes a build for use (ZONDA)"]
    fn a_hundred_thousand_wait_for_servers_that_say_nothing() {
        check(&Load { workers: 4, places: 27_000, clients: 2_000, queries: 100_000, more: 20_000 });
    }
}

//! dnstap and the query log, through the program: what others read of them, and that nobody waits for them.

mod lines;
mod messages;

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use zonda_tests::exchange::{Transport, batch, tcp};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, free_address, program, program_command};

use self::messages::{Fields, field, frames, messages, octets, value};
use crate::kit::{SOUND, folder, text, zonda};

/// Recursion is desired.
const RD: u16 = 0x0100;
/// Of a worker, by default.
const RING_OCTETS: u64 = 4 << 20;

/// A server that tells others.
struct Fixture {
    /// Ends before its folder goes.
    process: Guarded,
    scratch: tempfile::TempDir,
    address: SocketAddr,
}

/// Starts a server with these sections of settings. `octets`: of files at most.
fn start_within(sections: &str, octets: Option<&str>) -> Fixture {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    start_in(scratch, sections, octets)
}

fn start(sections: &str) -> Fixture {
    start_within(sections, None)
}

fn start_in(scratch: tempfile::TempDir, sections: &str, octets: Option<&str>) -> Fixture {
    let address = free_address();
    write_settings(scratch.path(), address, sections);
    let path = scratch.path().join("zonda.toml");
    let command = match octets {
        None => program_command(&["serve", "--config", text(&path)]),
        Some(octets) => {
            // The signal that comes with it would end any program that does not know of it.
            let script = format!("trap '' XFSZ; exec prlimit --fsize={octets}:unlimited \"$@\"");
            let mut command = Command::new("sh");
            command.args(["-c", &script, "sh"]).arg(program()).args(["serve", "--config"]).arg(&path);
            command
        }
    };
    let process = Guarded::spawn(command, scratch.path());
    let fixture = Fixture { process, scratch, address };
    await_that("the zones", || fixture.ctl(&["zones"]).is_some_and(|zones| zones.contains("served")));
    fixture
}

fn write_settings(folder: &Path, address: SocketAddr, sections: &str) {
    let settings = format!(
        "[server]\nlisten = [\"{address}\"]\nworkers = 2\n[control]\nsocket = \"control\"\n\
         [[zone]]\nname = \"example\"\nfile = \"example.zone\"\n{sections}"
    );
    std::fs::write(folder.join("zonda.toml"), settings).expect("settings");
}

impl Fixture {
    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn ctl(&self, arguments: &[&str]) -> Option<String> {
        let config = self.path("zonda.toml");
        let said = zonda(&[&["ctl", "--config", text(&config)], arguments].concat());
        (said.status == 0).then_some(said.output)
    }

    /// A count of what was told; 0 where nothing was counted.
    fn count(&self, name: &str) -> u64 {
        let stats: Value =
            serde_json::from_str(&self.ctl(&["stats", "--json"]).expect("counts")).expect("an object");
        let counts = stats["observed"].as_array().expect("a list");
        let found = counts.iter().find(|count| count["name"] == name);
        found.map_or(0, |count| count["count"].as_u64().expect("a number"))
    }

    /// Memory of what is told.
    fn octets_told(&self) -> u64 {
        let stats: Value =
            serde_json::from_str(&self.ctl(&["stats", "--json"]).expect("counts")).expect("an object");
        let parts = stats["memory"]["parts"].as_array().expect("a list");
        let told = parts.iter().find(|part| part["name"] == "told").expect("a part");
        told["count"].as_u64().expect("a number")
    }

    /// Whether as many messages were made, and each of them was written or lost.
    fn is_settled(&self, made_min: u64) -> bool {
        let [made, written, lost] =
            ["dnstap-made", "dnstap-written", "dnstap-dropped-at-sink"].map(|name| self.count(name));
        made >= made_min && made == written + lost
    }

    /// Has the server end in order.
    fn stop(&mut self) {
        self.ctl(&["stop"]).expect("it stops");
        self.process.wait(Duration::from_secs(10)).expect("it ends");
    }
}

fn query(name: &str) -> Vec<u8> {
    Query::new(name, rtype::A).octets()
}

/// Asks so many queries, all of which are answered.
fn ask_many(server: SocketAddr, count: usize) {
    let answers = batch(server, Transport::Udp, &vec![query("www.example."); count]);
    assert!(answers.iter().all(Option::is_some), "every query is answered");
}

/// Asks over UDP; returns the client's address and the response.
fn ask(server: SocketAddr, query: &[u8]) -> (SocketAddr, Vec<u8>) {
    let socket = UdpSocket::bind((server.ip(), 0)).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("patience");
    socket.send_to(query, server).expect("a query");
    let mut response = vec![0; 4096];
    let length = socket.recv(&mut response).expect("a response");
    response.truncate(length);
    (socket.local_addr().expect("an address"), response)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// What a query and its response are told as: two messages, octet for octet.
#[track_caller]
fn assert_told(told: &[Fields], asked: (&[u8], SocketAddr, &[u8]), since: u64) {
    let (query, client, response) = asked;
    let of = |fields: &&Fields| {
        octets(fields, field::QUERY_MESSAGE) == query
            && value(fields, field::QUERY_PORT) == u64::from(client.port())
    };
    let [asks, answers] = told.iter().filter(of).collect::<Vec<_>>()[..] else {
        panic!("two messages of {client} in {told:?}")
    };
    assert_eq!([asks, answers].map(|fields| value(fields, field::TYPE)), [1, 2], "AUTH_QUERY, AUTH_RESPONSE");
    assert!(!asks.contains_key(&field::RESPONSE_MESSAGE));
    assert_eq!(octets(answers, field::RESPONSE_MESSAGE), response);
    for fields in [asks, answers] {
        assert_eq!(octets(fields, field::QUERY_ADDRESS), [127, 0, 0, 1]);
        assert_eq!(octets(fields, field::QUERY_ZONE), b"\x07example\0");
        assert!((since..=now()).contains(&value(fields, field::QUERY_TIME_SEC)));
    }
}

#[test]
fn a_file_that_others_read() {
    let dnstap_read = require("dnstap-read", "bind9-dnsutils");
    let mut server = start("[dnstap]\noutput = \"file:tap\"\nidentity = \"ns1\"\nversion = \"9\"\n");
    let (since, asked) = (now(), query("www.example."));
    let (client, response) = ask(server.address, &asked);
    let long = query("nothing.example.");
    tcp(server.address, &long);
    server.stop();
    let told = messages(&server.path("tap"));
    assert_told(&told, (&asked, client, &response), since);
    assert_eq!(told.len(), 4);
    let output = Command::new(dnstap_read).arg("-y").arg(server.path("tap")).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    for words in [
        "identity: ns1",
        "type: AUTH_QUERY",
        "type: AUTH_RESPONSE",
        "socket_protocol: UDP",
        "socket_protocol: TCP",
        "query_zone: example.",
        "status: NXDOMAIN",
        "www.example. 60 IN A 192.0.2.2",
        &format!("query_port: {}", client.port()),
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert_eq!(said.matches("type: MESSAGE").count(), 4);
}

/// What a resolver asks others: of the servers of a zone, and of another resolver; here both refuse, as neither zone is theirs.
#[test]
fn what_other_servers_are_asked() {
    let others = start("");
    let at = others.address;
    let mut server = start(&format!(
        "[dnstap]\noutput = \"file:tap\"\n[resolver]\nenabled = true\ncache-octets = 16_777_216\ninsecure = [\"stub.test\", \"forward.test\"]\n\
         [[stub]]\nname = \"stub.test\"\naddresses = [\"{at}\"]\n[[forward]]\nname = \"forward.test\"\naddresses = [\"{at}\"]\n"
    ));
    for name in ["www.stub.test.", "www.forward.test."] {
        let (_, response) = ask(server.address, &Query::new(name, rtype::A).flags(RD).octets());
        assert_eq!(response[3] & 0xf, 2, "SERVFAIL");
    }
    server.stop();
    let told = messages(&server.path("tap"));
    let ids = |kind: u64, message| {
        let of = told.iter().filter(|fields| value(fields, field::TYPE) == kind);
        of.map(|fields| {
            assert_eq!(octets(fields, field::RESPONSE_ADDRESS), [127, 0, 0, 1]);
            assert_eq!(value(fields, field::RESPONSE_PORT), u64::from(at.port()));
            octets(fields, message)[..2].to_vec()
        })
        .collect::<Vec<_>>()
    };
    for (query, response) in [(3, 4), (7, 8)] {
        let asked = ids(query, field::QUERY_MESSAGE);
        assert!(!asked.is_empty(), "{told:?}");
        assert_eq!(ids(response, field::RESPONSE_MESSAGE), asked, "each with its answer, in their order");
    }
    let mut read = Command::new(require("dnstap-read", "bind9-dnsutils"));
    let output = read.arg("-y").arg(server.path("tap")).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for kind in ["RESOLVER_QUERY", "RESOLVER_RESPONSE", "FORWARDER_QUERY", "FORWARDER_RESPONSE"] {
        assert!(said.contains(&format!("type: {kind}")), "{kind} in {said}");
    }
}

/// A collector at a socket of this machine, which writes what comes to a file.
fn collector(scratch: &tempfile::TempDir, socket: &Path, file: &str) -> Guarded {
    let mut command = Command::new(require("fstrm_capture", "fstrm-bin"));
    command.args(["-t", "protobuf:dnstap.Dnstap", "-u"]).arg(socket).arg("-w").arg(scratch.path().join(file));
    let process = Guarded::spawn(command, scratch.path());
    await_that("the collector", || UnixStream::connect(socket).is_ok());
    process
}

#[test]
fn a_collector_gets_what_was_asked() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let logs = folder(&[]);
    let socket = scratch.path().join("collector");
    let mut capture = collector(&logs, &socket, "captured");
    let mut server = start_in(scratch, "[dnstap]\noutput = \"unix:collector\"\n", None);
    await_that("the collector is found", || server.count("dnstap-opened") == 1 || asked_once(&server));
    let (since, asked) = (now(), query("ns.example."));
    let (client, response) = ask(server.address, &asked);
    server.stop();
    capture.stop();
    assert_told(&messages(&logs.path().join("captured")), (&asked, client, &response), since);
}

/// Counts are shown once there are some.
fn asked_once(server: &Fixture) -> bool {
    ask(server.address, &query("www.example."));
    false
}

/// One that dies costs no query, and is connected to once it is there again.
#[test]
fn a_collector_dies_and_comes_back() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let logs = folder(&[]);
    let socket = scratch.path().join("collector");
    let mut first = collector(&logs, &socket, "first");
    let mut server = start_in(scratch, "[dnstap]\noutput = \"unix:collector\"\n", None);
    await_that("the collector is found", || server.count("dnstap-opened") == 1 || asked_once(&server));
    first.stop();
    let _ = std::fs::remove_file(&socket);
    ask_many(server.address, 1000);
    await_that("what was lost is counted", || server.count("dnstap-dropped-at-sink") > 0);
    let mut second = collector(&logs, &socket, "second");
    await_that("the collector is found again", || server.count("dnstap-opened") == 2);
    ask_many(server.address, 1000);
    await_that("all is written or lost", || server.is_settled(4000));
    let written = server.count("dnstap-written");
    server.stop();
    second.stop();
    let captured = frames(&logs.path().join("first")).len() + frames(&logs.path().join("second")).len();
    assert!(captured as u64 <= written && captured >= 2000, "{captured} of {written}");
}

/// One that takes nothing costs no query; what it does not take is dropped and counted.
#[test]
fn a_collector_stalls() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let listener = UnixListener::bind(scratch.path().join("collector")).expect("a socket");
    let stalls = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the server");
        let mut ready = [0; 42];
        socket.read_exact(&mut ready).expect("READY");
        ready[11] = 1;
        socket.write_all(&ready).expect("ACCEPT");
        socket
    });
    let mut server =
        start_in(scratch, "[dnstap]\noutput = \"unix:collector\"\nqueue-octets = 1_048_576\n", None);
    let _socket = stalls.join().expect("a collector");
    ask_many(server.address, 20_000);
    await_that("what found no room is counted", || {
        server.count("dnstap-dropped-at-queue") + server.count("dnstap-dropped-at-sink") > 0
    });
    assert!(server.count("dnstap-queued-octets") <= 1 << 20);
    assert!(server.octets_told() >= 2 * RING_OCTETS, "memory of the rings and of what waits");
    await_that("the observer does not wait either", || server.count("dnstap-made") >= 40_000);
    server.stop();
}

/// A file that cannot become longer, as on a full disk: it has whole frames, and goes on with them once there is room.
#[test]
fn no_room_for_the_file() {
    const ROOM: &str = "20000";
    let mut server = start_within("[dnstap]\noutput = \"file:tap\"\n", Some(ROOM));
    ask_many(server.address, 1000);
    await_that("all is written or lost", || server.is_settled(2000));
    assert!(server.count("dnstap-dropped-at-sink") > 0);
    let written = server.count("dnstap-written");
    assert_eq!(frames(&server.path("tap")).len() as u64, written, "whole frames, and what was counted");
    let pid = server.process.pid().to_string();
    let made = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().expect("it runs");
    assert!(made.success());
    ask_many(server.address, 100);
    await_that("it is written again", || server.count("dnstap-written") >= written + 200);
    server.stop();
    assert_eq!(frames(&server.path("tap")).len() as u64, written + 200);
}

/// Off by an operator it tells nothing, and on again it does, to a file of its own.
#[test]
fn off_and_on_by_command() {
    let mut server = start("[dnstap]\noutput = \"file:tap\"\n");
    let ctl = |word| server.ctl(&["dnstap", word]).expect("it is done");
    ask_many(server.address, 10);
    assert!(ctl("off").contains("dnstap is off"));
    ask_many(server.address, 100);
    assert!(ctl("on").contains("dnstap is on, to file:"));
    ask_many(server.address, 20);
    assert!(ctl("reopen").contains("opened again"));
    ask_many(server.address, 30);
    assert_eq!(server.ctl(&["query-log", "on"]), None, "it has no output");
    server.stop();
    let count = |name| frames(&server.path(name)).len();
    assert_eq!(
        ["tap.2", "tap.1", "tap"].map(count).iter().sum::<usize>(),
        120,
        "what was asked while it was on"
    );
    assert_eq!(count("tap.2"), 20);
}

//! `zonda top` and `zonda ctl top`: who asks for what, as people and programs see it, at a terminal too.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use zonda_tests::exchange::{Transport, batch};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program, program_command, signal};

use crate::kit::{SOUND, Said, folder, text, zonda};

/// Longer than it goes on without a look.
const LOOK_PATIENCE: Duration = Duration::from_millis(5500);

/// What a terminal is told to be as it was before.
const LEAVES: &str = "\u{1b}[?1049l";

struct Fixture {
    /// Ends before its folder goes.
    process: Guarded,
    scratch: tempfile::TempDir,
    address: SocketAddr,
}

fn start() -> Fixture {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let address = free_address();
    let settings = format!(
        "[server]\nlisten = [\"{address}\"]\nworkers = 2\n[control]\nsocket = \"control\"\n\
         [[zone]]\nname = \"example\"\nfile = \"example.zone\"\n[[zone]]\nname = \"broken.test\"\nfile = \"none\"\n"
    );
    let path = scratch.path().join("zonda.toml");
    std::fs::write(&path, settings).expect("settings");
    let process = Guarded::spawn(program_command(&["serve", "--config", text(&path)]), scratch.path());
    let fixture = Fixture { process, scratch, address };
    await_that("the zones", || fixture.zonda(&["ctl", "zones"]).output.contains("served"));
    fixture
}

impl Fixture {
    fn config(&self) -> String {
        text(&self.scratch.path().join("zonda.toml")).to_owned()
    }

    fn zonda(&self, arguments: &[&str]) -> Said {
        zonda(&[arguments, &["--config", &self.config()]].concat())
    }

    /// What is asked, as a program reads it.
    fn asked(&self) -> Value {
        let said = self.zonda(&["ctl", "top", "--seconds", "0", "--json"]);
        let top: Value = serde_json::from_str(&said.assert_fine().output).expect("an object");
        top["asked"].clone()
    }

    /// Looks until each query is looked at, as few are asked.
    fn await_all_looked_at(&self) {
        await_that("each query is looked at", || self.asked()["one_in"] == 1);
    }

    /// Asks 250 times for a name that exists, 50 times for one that does not, which would clear a terminal, and 20 times for one of a zone without data.
    fn ask(&self) {
        let query = |name| Query::new(name, rtype::A).octets();
        let mut queries = vec![query("WWW.example."); 250];
        queries.extend(vec![query("\\027[2J.sub.example."); 50]);
        queries.extend(vec![query("host.Broken.test."); 20]);
        let answers = batch(self.address, Transport::Udp, &queries);
        assert!(answers.iter().all(Option::is_some), "every query is answered");
    }
}

/// The keys of a kind with their counts.
fn most(asked: &Value, kind: &str) -> Vec<(String, u64)> {
    let entries = asked[kind]["most"].as_array().expect("a list").iter();
    let count = |entry: &Value| entry["count"].as_f64().expect("a number").round() as u64;
    entries.map(|entry| (entry["key"].as_str().expect("a key").to_owned(), count(entry))).collect()
}

#[test]
fn who_asks_for_what() {
    let server = start();
    server.await_all_looked_at();
    let before = server.asked()["samples"].as_u64().expect("a number");
    server.ask();
    await_that("the samples", || server.asked()["samples"].as_u64() >= Some(before + 320));
    let asked = server.asked();
    let names = most(&asked, "names");
    // They fade by half in ten seconds.
    assert!(names[0].0 == "www.example." && (50..=300).contains(&names[0].1), "{names:?}");
    assert_eq!(names[1].0, "\\027[2j.sub.example.");
    assert_eq!(most(&asked, "missing")[0].0, "sub.example.");
    assert_eq!(most(&asked, "zones")[0].0, "example.");
    let failed: Vec<String> = most(&asked, "failed").into_iter().map(|(name, _)| name).collect();
    assert_eq!(failed, ["host.broken.test."]);
    let took = &asked["took"];
    let [median, most_of_all] = [0, 2].map(|at| took["percentiles"][at]["microseconds"].as_f64());
    assert!(median > Some(0.0) && (most_of_all.is_none() || median <= most_of_all), "{took}");
    assert!(took["answers"].as_f64() > Some(50.0), "{took}");
    assert_eq!(most(&asked, "clients")[0].0, "127.0.0.1");
    let said = server.zonda(&["ctl", "top"]);
    for words in [
        "queries by transport",
        "udp-ipv4",
        "NXDOMAIN",
        "one in 1",
        "%  www.example.",
        "%  127.0.0.1",
        "%  host.broken.test.",
        "time in the server",
    ] {
        assert!(said.assert_fine().output.contains(words), "{words} in {}", said.output);
    }
    let screen = server.zonda(&["top", "--once"]).assert_fine().output.clone();
    assert!(screen.contains("www.example.") && screen.contains("127.0.0.1"), "{screen}");
    assert!(screen.lines().count() <= 24 && screen.lines().all(|line| line.len() <= 80), "{screen}");
    assert!(screen.chars().all(|character| character == '\n' || !character.is_control()), "{screen:?}");
    let object = server.zonda(&["top", "--json"]).assert_fine().output.clone();
    let object: Value = serde_json::from_str(&object).expect("an object");
    assert!(object["rates"]["queries"]["udp-ipv4"]["now"].is_number(), "{object}");
    std::thread::sleep(LOOK_PATIENCE);
    assert_eq!(server.asked()["samples"], 0, "nobody looked, and it begins anew");
    server.zonda(&["top"]).assert_fails(1, &["no terminal", "--once"]);
}

#[test]
fn there_is_no_server() {
    let scratch = folder(&[]);
    let socket = scratch.path().join("control");
    zonda(&["top", "--once", "--socket", text(&socket)]).assert_fails(1, &["is the server running?"]);
}

/// A terminal that `zonda top` runs at, and what it was told.
struct Screen {
    child: Child,
    said: Receiver<Vec<u8>>,
    text: String,
}

impl Screen {
    /// A shell runs at it, so that what the terminal is afterwards can be asked for.
    fn open(server: &Fixture) -> Screen {
        let (pid, config) = (server.scratch.path().join("top.pid"), server.config());
        let (program, pid) = (text(program()), text(&pid));
        let shell = format!(
            "stty rows 24 cols 80; sh -c 'echo $$ >{pid}.new; mv {pid}.new {pid}; exec {program} top --config {config}'; \
             echo \"status $?\"; stty -a"
        );
        let mut command = Command::new("timeout");
        command.args(["60", "script", "-qec", &shell, "/dev/null"]).env("TERM", "xterm").env("NO_COLOR", "1");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script of util-linux");
        let mut output = child.stdout.take().expect("a pipe");
        let (to, said) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(octets @ 1..) = output.read(&mut piece) {
                let _ = to.send(piece[..octets].to_vec());
            }
        });
        Screen { child, said, text: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.child.stdin.as_mut().expect("a pipe").write_all(keys.as_bytes()).expect("keys");
    }

    /// Waits until these words came since the last that were awaited. Only characters that change are written: they are of those that stand where others stood.
    #[track_caller]
    fn await_words(&mut self, words: &str) {
        await_that(words, || {
            let pieces: Vec<u8> = self.said.try_iter().flatten().collect();
            self.text += &String::from_utf8_lossy(&pieces);
            self.text.contains(words)
        });
        let at = self.text.find(words).expect("words that were found") + words.len();
        self.text.drain(..at);
    }
}

#[test]
fn keys_at_a_terminal() {
    let server = start();
    server.await_all_looked_at();
    let mut screen = Screen::open(&server);
    screen.await_words("\u{1b}[?1049h");
    screen.await_words("1 overview");
    server.ask();
    screen.await_words("\\027[2j.sub");
    screen.press("2");
    screen.await_words("least");
    screen.press("p");
    screen.await_words("PAUSED");
    screen.press("/ns");
    screen.await_words("filter:");
    screen.press("\u{1b}");
    std::thread::sleep(Duration::from_millis(300));
    screen.press("q");
    screen.await_words(LEAVES);
    screen.await_words("status 0");
    screen.await_words(" icanon");
}

/// Told to end, it leaves the terminal as it was; and a server that hangs or goes meanwhile does not end it, but is said to.
#[test]
fn a_terminal_is_restored_at_a_signal() {
    let mut server = start();
    let mut screen = Screen::open(&server);
    screen.await_words("queries/s");
    signal(server.process.pid(), "STOP");
    screen.await_words("trying");
    signal(server.process.pid(), "CONT");
    screen.await_words("looked");
    server.process.stop();
    screen.await_words("trying");
    let pid = std::fs::read_to_string(server.scratch.path().join("top.pid")).expect("its process");
    signal(pid.trim().parse().expect("a number"), "TERM");
    screen.await_words(LEAVES);
    screen.await_words("status 0");
    screen.await_words(" icanon");
}

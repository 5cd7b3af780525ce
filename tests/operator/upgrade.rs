//! `zonda ctl upgrade`: a new program takes over while clients ask, and whatever it does wrong leaves the old one serving.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask, read_framed, tcp_stream, udp_within, write_framed};
use zonda_tests::message::Query;
use zonda_tests::patience::{PATIENCE, await_or, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, Kind, Server, ctl, free_address, program, settings, signal, write};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, text};

/// Longest wait for an answer: only one that is lost takes it.
const ANSWER_WAIT: Duration = Duration::from_secs(8);

/// A server and those that take over from it; all end with the value.
pub(crate) struct Line {
    pub(crate) server: Server,
    pub(crate) files: tempfile::TempDir,
    /// Process numbers, the last is the server.
    pids: Vec<u32>,
}

impl Line {
    pub(crate) fn start(more: &str) -> Line {
        Line::start_in(tempfile::tempdir().expect("a scratch folder"), more)
    }

    /// With what is in this folder, which settings name as FILES.
    pub(crate) fn start_in(files: tempfile::TempDir, more: &str) -> Line {
        let zone = ZoneFile::new("example.", files.path().join("example."));
        fs::write(&zone.path, SOUND).expect("a zone file");
        let more = more.replace("FILES", text(files.path()));
        let server = Server::start_with(Kind::Zonda, &[zone], &more);
        write(server.scratch.path(), "successors", "");
        let pids = vec![server.process.pid()];
        Line { server, files, pids }
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.server.address
    }

    /// Upgrades; the old process ends.
    fn upgrade(&mut self) {
        let old = self.pid();
        self.hand_over();
        await_that("the old server ends", || !is_running(old));
    }

    /// Upgrades, and does not wait for the end of the old one.
    pub(crate) fn hand_over(&mut self) {
        let output = ctl(&self.server, &["upgrade", "--json"]);
        assert!(output.status.success(), "{output:?}\n{}", self.server.log());
        let reply: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one reply");
        assert_eq!(reply["old_pid"], self.pid());
        self.pids.push(reply["pid"].as_u64().expect("a process") as u32);
        let status: serde_json::Value =
            serde_json::from_slice(&ctl(&self.server, &["status", "--json"]).stdout).expect("one reply");
        assert_eq!(status["pid"], self.pid(), "the new one has the control socket");
    }

    /// Another start by the same settings gets the addresses, and answers.
    fn assert_fresh_start(&self) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let config = self.server.path("zonda.toml");
        let start = || {
            let fresh = zonda_tests::server::program_command(&["serve", "--config", text(&config)]);
            Guarded::spawn(fresh, scratch.path())
        };
        let mut fresh = start();
        let ask = || udp_within(self.at(), &query().octets(), Duration::from_millis(100));
        let log = || std::fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
        let words = || format!("waited for a fresh start; it says\n{}", log());
        await_or(words, || {
            // One that was killed has the addresses until the system has taken it down.
            if !fresh.is_running() {
                fresh = start();
            }
            matches!(ask(), Ok(Some(answer)) if is_good(&answer))
        });
    }

    pub(crate) fn pid(&self) -> u32 {
        *self.pids.last().expect("there is a first")
    }

    /// Upgrades to a shell script instead of the program.
    fn upgrade_to(&self, script: &str, more: &[&str]) -> Output {
        ctl(&self.server, &[&["upgrade", "--program", text(&self.script(script))], more].concat())
    }

    fn script(&self, script: &str) -> PathBuf {
        let path = write(self.files.path(), "program", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        path
    }

    /// Changes the settings file.
    fn set(&self, change: impl Fn(&str) -> String) {
        let path = self.server.path("zonda.toml");
        let old = fs::read_to_string(&path).expect("the settings");
        fs::write(&path, change(&old)).expect("the settings");
    }

    /// The server answers, is the one that it was, and can be told to change.
    fn assert_as_before(&self, pid: u32) {
        assert!(is_running(pid), "{}", self.server.log());
        assert_answers(self.at());
        let status = ctl(&self.server, &["status"]);
        assert!(String::from_utf8_lossy(&status.stdout).contains(&pid.to_string()), "{status:?}");
        assert!(ctl(&self.server, &["reload"]).status.success());
    }

    /// Starts an upgrade to the program behind a script that first does something else; when that has begun, what the log
    /// says is there.
    fn slowly(&self) -> std::thread::JoinHandle<Output> {
        let script = self.script(&format!("sleep 0.7\nexec {} \"$@\"", program().display()));
        let mut command = std::process::Command::new(program());
        command.args(["ctl", "--config"]).arg(self.server.path("zonda.toml"));
        command.args(["upgrade", "--program"]).arg(script);
        let asked = std::thread::spawn(move || command.output().expect("the program zonda"));
        await_that("the new program is started", || self.server.log().contains("was started and loads"));
        // The descriptors follow that line at once.
        std::thread::sleep(Duration::from_millis(200));
        asked
    }

    /// The process that was started last, as the log has it.
    fn started(&self) -> u32 {
        let log = self.server.log();
        let line = log.lines().rfind(|line| line.contains("was started and loads")).expect("it was started");
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "process").expect("a process");
        words[at + 1].parse().expect("its number")
    }

    fn await_log(&self, words: &str, times: usize) {
        await_that(words, || self.server.log().matches(words).count() >= times);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for pid in &self.pids[1..] {
            if is_running(*pid) {
                signal(*pid, "KILL");
            }
        }
    }
}

/// Whether a process is there and no zombie.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

pub(crate) fn query() -> Query {
    Query::new("www.example.", rtype::A)
}

fn assert_answers(at: SocketAddr) {
    for transport in [Transport::Udp, Transport::Tcp] {
        let response = ask(at, transport, &query());
        assert_eq!((response.rcode(), response.answer.len()), (0, 1), "{response:#?}");
    }
}

/// An answer that is no error and has the record.
pub(crate) fn is_good(answer: &[u8]) -> bool {
    answer.len() > 12 && answer[3] & 0xf == 0 && answer[7] == 1
}

/// Asks over UDP, each query once, some in flight; returns how many, all of them answered.
fn ask_by_udp(at: SocketAddr, ends: &AtomicBool) -> usize {
    const WINDOW: usize = 8;
    let (mut asked, mut query, mut buffer) = (0, query().octets(), [0; 4096]);
    while !ends.load(Ordering::Relaxed) {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(at).expect("an address");
        socket.set_read_timeout(Some(ANSWER_WAIT)).expect("a timeout");
        for number in 0..WINDOW {
            query[1] = number as u8;
            socket.send(&query).expect("a query is sent");
        }
        let mut missing = (1 << WINDOW) - 1;
        while missing != 0 {
            let octets =
                socket.recv(&mut buffer).unwrap_or_else(|error| panic!("lost: {missing:b}, {error}"));
            assert!(is_good(&buffer[..octets]), "{:02x?}", &buffer[..octets]);
            missing &= !(1 << buffer[1]);
        }
        asked += WINDOW;
    }
    asked
}

/// Asks over TCP, so many queries a connection. One that is closed in order is made anew, and what was asked over it last asked again, as clients do
/// (RFC 7766 6.2.4): over that it is answered.
fn ask_by_tcp(at: SocketAddr, a_connection: usize, ends: &AtomicBool) -> usize {
    let (mut asked, query) = (0, query().octets());
    let mut is_again = false;
    while !ends.load(Ordering::Relaxed) {
        let mut stream = tcp_stream(at).expect("a connection");
        stream.set_read_timeout(Some(ANSWER_WAIT)).expect("a timeout");
        for number in 0..a_connection {
            // Into one that is closed already it is in vain.
            let answer = write_framed(&mut stream, &query).and_then(|()| read_framed(&mut stream));
            let is_end = answer.as_ref().is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
            assert!(!is_end || (number > 0 && !is_again), "lost: {answer:?}");
            is_again = is_end;
            if is_end {
                break;
            }
            assert!(is_good(&answer.expect("an answer")));
            asked += 1;
            if ends.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    asked
}

struct AtEnd<'e>(&'e AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does something while clients ask; returns how many queries they had answered: over UDP, over connections of one query, over longer ones.
fn under_load(at: SocketAddr, act: impl FnOnce()) -> [usize; 3] {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let at_end = AtEnd(&ends);
        let clients = [
            scope.spawn(|| ask_by_udp(at, &ends)),
            scope.spawn(|| ask_by_tcp(at, 1, &ends)),
            scope.spawn(|| ask_by_tcp(at, 500, &ends)),
        ];
        std::thread::sleep(Duration::from_millis(50));
        act();
        std::thread::sleep(Duration::from_millis(50));
        drop(at_end);
        clients.map(|client| client.join().expect("no query is lost"))
    })
}

fn upgrades_under_load(count: usize) {
    let mut line = Line::start("");
    line.set(|text| text.replace("workers = 1", "workers = 2"));
    let mut slowest = Duration::ZERO;
    let asked = under_load(line.at(), || {
        for _ in 0..count {
            let began = Instant::now();
            line.upgrade();
            slowest = slowest.max(began.elapsed());
        }
    });
    assert!(asked.iter().all(|asked| *asked > 10 * count), "{asked:?}");
    eprintln!(
        "{count} upgrades, none of {} queries lost: {} over UDP, {} over a connection each, {} over longer ones; the slowest took {slowest:?}",
        asked.iter().sum::<usize>(),
        asked[0],
        asked[1],
        asked[2]
    );
}

#[test]
fn nothing_is_lost_under_load() {
    upgrades_under_load(2);
}

#[test]
fn settings_that_wait_for_a_start_take_effect() {
    let mut line = Line::start("");
    let [new, old] = [free_address(), line.at()];
    let settings_with = |line: &Line, workers: usize, listen: &str| {
        line.set(|text| {
            let (before, after) = text.split_once("listen = ").expect("there it is");
            let rest = after.splitn(3, '\n').nth(2).expect("more lines");
            format!("{before}listen = [{listen}]\nworkers = {workers}\n{rest}")
        });
    };
    settings_with(&line, 3, &format!("\"{new}\", \"{old}\""));
    let said = ctl(&line.server, &["reconfigure"]);
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("[server] workers") && said.contains("zonda ctl upgrade"), "{said}");
    under_load(old, || line.upgrade());
    assert_answers(new);
    let status = |line: &Line| -> serde_json::Value {
        serde_json::from_slice(&ctl(&line.server, &["status", "--json"]).stdout).expect("one reply")
    };
    assert_eq!(status(&line)["workers"], 3);
    settings_with(&line, 1, &format!("\"{new}\""));
    under_load(new, || line.upgrade());
    assert_eq!(
        (&status(&line)["workers"], status(&line)["listen"][0].as_str()),
        (&1.into(), Some(new.to_string().as_str()))
    );
    assert!(
        std::net::UdpSocket::bind(old).is_ok() && std::net::TcpListener::bind(old).is_ok(),
        "{old} is free"
    );
}

#[test]
fn a_new_program_that_fails_leaves_all_as_it_was() {
    let line = Line::start("");
    let pid = line.pid();
    let refused = |output: Output, words: &str| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(words), "{words}: {output:?}");
        line.assert_as_before(pid);
    };
    refused(ctl(&line.server, &["upgrade", "--program", "/nonexistent/zonda"]), "/nonexistent/zonda");
    refused(line.upgrade_to("exit 3", &[]), "exit status: 3");
    refused(line.upgrade_to("kill -KILL $$", &[]), "SIGKILL");
    refused(line.upgrade_to("exec sleep 60", &["--wait", "1"]), "not ready after");
    assert!(!is_running(line.started()), "one that hangs is ended");
    // What it prints is its own affair, what it says must be a word.
    refused(line.upgrade_to("echo nonsense >&0; exec sleep 60", &[]), "not understood");
    let sound = fs::read_to_string(line.server.path("zonda.toml")).expect("the settings");
    line.set(|text| format!("{text}\n[server2]\n"));
    let said = ctl(&line.server, &["upgrade"]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("server2"), "{said:?}");
    line.set(|_| sound.replace("listen = [", "listen = [\"192.0.2.1:5300\", "));
    let said = ctl(&line.server, &["upgrade"]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("192.0.2.1:5300"), "{said:?}");
    line.set(|_| sound.clone());
    line.assert_as_before(pid);
}

#[test]
fn a_zone_that_would_be_lost_keeps_the_old_server() {
    let line = Line::start("");
    fs::write(line.files.path().join("example."), "nonsense\n").expect("a zone file");
    assert!(!ctl(&line.server, &["reload"]).status.success());
    // Another zone, so that the new server has something to serve.
    let two = line.files.path().join("two.example.");
    fs::write(&two, SOUND).expect("a zone file");
    line.set(|text| format!("{text}\n[[zone]]\nname = \"two.example.\"\nfile = \"{}\"\n", two.display()));
    let said = ctl(&line.server, &["upgrade"]);
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(
        said.status.code() == Some(1) && told.contains("no data of zones") && told.contains("example."),
        "{said:?}"
    );
    assert_answers(line.at());
}

#[test]
fn what_was_commanded_and_what_is_stored_goes_along() {
    let mut line = Line::start("pack-directory = \"FILES/packs\"\n");
    let path = line.files.path().join("three.example.");
    fs::write(&path, SOUND).expect("a zone file");
    assert!(ctl(&line.server, &["add-zone", "three.example.", text(&path)]).status.success());
    // Served from memory for a moment; then its text breaks.
    let zone = line.files.path().join("example.");
    fs::write(&zone, SOUND.replace("192.0.2.2", "192.0.2.9").replace("1 3 2", "2 3 2")).expect("a zone file");
    assert!(ctl(&line.server, &["reload", "example."]).status.success());
    fs::write(&zone, "nonsense\n").expect("a zone file");
    let folder = line.files.path().join("packs");
    let packs = || -> BTreeSet<_> {
        fs::read_dir(&folder).expect("the packs").flatten().map(|entry| entry.file_name()).collect()
    };
    // The cookie that this server gives is one of the new one's, too: it is demanded.
    line.set(|text| format!("{text}\n[cookies]\ndemand = true\n"));
    assert!(ctl(&line.server, &["reconfigure"]).status.success());
    let at = line.at();
    let with_cookie = |cookie: &[u8]| ask(at, Transport::Udp, &query().option(10, cookie));
    let refused = with_cookie(b"12345678");
    assert_eq!(refused.answer.len(), 0, "{refused:#?}");
    let cookie = refused.option(10).expect("a cookie").to_vec();
    line.upgrade();
    line.upgrade();
    assert_eq!(with_cookie(&cookie).answer.len(), 1, "the secret of cookies goes along");
    let response = ask(line.at(), Transport::Udp, &query());
    assert_eq!(rtype::rdata_text(rtype::A, &response.answer[0].rdata), "192.0.2.9", "as it was served");
    let response = ask(line.at(), Transport::Udp, &Query::new("www.three.example.", rtype::A));
    assert_eq!(response.answer.len(), 1, "added by command");
    // The folder is the new one's: it stores what changes.
    let packs_before = packs();
    fs::write(&zone, SOUND.replace("1 3 2", "3 3 2")).expect("a zone file");
    assert!(ctl(&line.server, &["reload"]).status.success());
    await_that("a pack is stored", || !packs().is_subset(&packs_before));
    assert!(ctl(&line.server, &["stop"]).status.success());
    let pid = line.pid();
    await_that("it stops", || !is_running(pid));
    assert!(!line.server.path("control.sock").exists(), "its file goes with it");
}

#[test]
fn either_may_be_killed_before_the_new_one_has_taken_over() {
    // The new one while it loads, and when it is ready.
    let line = Line::start("");
    let pid = line.pid();
    let asked = line.slowly();
    signal(line.started(), "KILL");
    let said = asked.join().expect("a reply");
    assert!(
        said.status.code() == Some(1) && String::from_utf8_lossy(&said.stderr).contains("SIGKILL"),
        "{said:?}"
    );
    line.assert_as_before(pid);
    drop(line);
    let line = Line::start("");
    let pid = line.pid();
    let asked = line.slowly();
    signal(pid, "STOP");
    line.await_log("listens on", 2);
    std::thread::sleep(Duration::from_millis(100));
    signal(line.started(), "KILL");
    signal(pid, "CONT");
    let said = asked.join().expect("a reply");
    assert!(
        said.status.code() == Some(1) && String::from_utf8_lossy(&said.stderr).contains("goes on"),
        "{said:?}"
    );
    line.assert_as_before(pid);
    drop(line);
    // The old one at the same two steps: the new one ends, and leaves everything free.
    for is_ready in [false, true] {
        let mut line = Line::start("");
        let pid = line.pid();
        let asked = line.slowly();
        line.pids.push(line.started());
        if is_ready {
            signal(pid, "STOP");
            line.await_log("listens on", 2);
        }
        signal(pid, "KILL");
        assert!(!asked.join().expect("an end").status.success());
        let new = line.pid();
        await_that("the new one ends too", || !is_running(new));
        line.assert_fresh_start();
    }
}

#[test]
fn one_that_dies_after_it_has_taken_over_has_crashed_as_any_server() {
    let mut line = Line::start("");
    let mut stream = tcp_stream(line.at()).expect("a connection");
    write_framed(&mut stream, &query().octets()).expect("a query is sent");
    assert!(is_good(&read_framed(&mut stream).expect("an answer")));
    // At once, as the old one waits for its client a moment only.
    let output = ctl(&line.server, &["upgrade", "--json"]);
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one reply");
    line.pids.push(reply["pid"].as_u64().expect("a process") as u32);
    signal(line.pid(), "KILL");
    // The old one has a client, and does not keep the addresses from the next start for that.
    let status = line.server.process.wait(PATIENCE).expect("the old one ends");
    assert_eq!(status.code(), Some(1), "{}", line.server.log());
    line.assert_fresh_start();
}

#[test]
fn who_comes_meanwhile_waits_and_is_told() {
    let mut line = Line::start("");
    let asked = line.slowly();
    let said = ctl(&line.server, &["upgrade"]);
    assert!(
        said.status.code() == Some(1) && String::from_utf8_lossy(&said.stderr).contains("under way"),
        "{said:?}"
    );
    let status = ctl(&line.server, &["status"]);
    assert!(status.status.success(), "who only looks does not wait");
    // A reload that the new server may have come too early for.
    let said = ctl(&line.server, &["reload"]);
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(1) && told.contains("has taken over"), "{said:?}");
    assert!(asked.join().expect("a reply").status.success());
    line.pids.push(line.started());
    assert!(ctl(&line.server, &["reload"]).status.success());
}

#[test]
fn the_service_manager_hears_of_it() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let manager = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let hear = || {
        let mut message = [0; 1024];
        let octets = manager.recv(&mut message).expect("a message");
        String::from_utf8_lossy(&message[..octets]).into_owned()
    };
    let address = free_address();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let zone = ZoneFile::new("example.", folder.path().join("example."));
    fs::write(&zone.path, SOUND).expect("a zone file");
    write(scratch.path(), "successors", "");
    let config = write(scratch.path(), "zonda.toml", &settings(scratch.path(), address, &[zone], ""));
    // A watchdog that is this process's, as the shell becomes the server.
    let mut command = std::process::Command::new("sh");
    let script = format!(
        "NOTIFY_SOCKET={} WATCHDOG_USEC=20000000 WATCHDOG_PID=$$ exec \"$@\"",
        folder.path().join("notify").display()
    );
    command.args(["-c", &script, "sh"]).arg(program()).args(["serve", "--config", text(&config)]);
    let process = Guarded::spawn(command, scratch.path());
    assert!(hear().starts_with("READY=1"));
    let mut said = crate::kit::zonda(&["ctl", "--config", text(&config), "upgrade", "--json"]);
    said.assert_fine();
    let reply: serde_json::Value = serde_json::from_str(&said.output).expect("one reply");
    let pid = reply["pid"].as_u64().expect("a process");
    assert_eq!(reply["old_pid"], process.pid());
    assert_eq!([hear(), hear()], ["WATCHDOG=1".to_owned(), format!("MAINPID={pid}")]);
    assert_eq!(hear(), "WATCHDOG=1", "the new one feeds the watchdog too");
    assert!(hear().starts_with("READY=1"), "the new one");
    said = crate::kit::zonda(&["ctl", "--config", text(&config), "stop"]);
    said.assert_fine();
    assert_eq!(hear(), "STOPPING=1");
    await_that("it ends", || !is_running(pid as u32));
}

#[test]
fn not_where_the_end_would_be_that_of_a_container() {
    if fs::metadata("/proc/self").map(|me| std::os::unix::fs::MetadataExt::uid(&me)).unwrap_or(1) != 0 {
        assert!(std::env::var_os("CI").is_none(), "only root makes a namespace");
        return;
    }
    let address = free_address();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let zone = ZoneFile::new("example.", scratch.path().join("example."));
    fs::write(&zone.path, SOUND).expect("a zone file");
    let config = write(scratch.path(), "zonda.toml", &settings(scratch.path(), address, &[zone], ""));
    let mut command = std::process::Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child"]).arg(program()).args([
        "serve",
        "--config",
        text(&config),
    ]);
    let _process = Guarded::spawn(command, scratch.path());
    await_that(
        "an answer",
        || matches!(udp_within(address, &query().octets(), Duration::from_millis(100)), Ok(Some(answer)) if is_good(&answer)),
    );
    crate::kit::zonda(&["ctl", "--config", text(&config), "upgrade"]).assert_fails(1, &["process 1"]);
    assert_answers(address);
}

#[test]
fn who_may_only_control_does_not_choose_the_program() {
    if fs::metadata("/proc/self").map(|me| std::os::unix::fs::MetadataExt::uid(&me)).unwrap_or(1) != 0 {
        assert!(std::env::var_os("CI").is_none(), "only root may become another user");
        return;
    }
    let address = free_address();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).expect("an open folder");
    let zone = ZoneFile::new("example.", scratch.path().join("example."));
    fs::write(&zone.path, SOUND).expect("a zone file");
    let text =
        settings(scratch.path(), address, &[zone], "").replace("[control]", "[control]\ngroup = \"nogroup\"");
    let config = write(scratch.path(), "zonda.toml", &text);
    write(scratch.path(), "successors", "");
    let arguments = ["serve", "--config", crate::kit::text(&config)];
    let process = Guarded::spawn(zonda_tests::server::program_command(&arguments), scratch.path());
    let socket = scratch.path().join("control.sock");
    await_that("the control socket", || socket.exists());
    let asked = |more: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = [&["ctl", "--socket", crate::kit::text(&socket), "upgrade"], more].concat();
        crate::kit::zonda_without_rights(&folder, &arguments)
    };
    asked(&["--program", "/bin/true"]).assert_fails(1, &["root and the server's own user"]);
    assert!(process.is_running());
    // But it may have the program started that was.
    let said = asked(&["--json"]);
    said.assert_fine();
    let reply: serde_json::Value = serde_json::from_str(&said.output).expect("one reply");
    assert_answers(address);
    signal(reply["pid"].as_u64().expect("a process") as u32, "KILL");
}

/// The thread that says what repeats is one of the new server too.
#[test]
fn the_new_one_says_which_limits_are_reached() {
    let mut line = Line::start("\n[tcp]\nconnections-per-prefix = 2\n");
    line.upgrade();
    let connect = || TcpStream::connect(line.at()).expect("a connection");
    let _open: Vec<TcpStream> = (0..5).map(|_| connect()).collect();
    line.await_log("TCP: client networks with as many connections", 1);
}

/// Run by `make test-long`.
mod long {
    use super::*;

    #[test]
    #[ignore = "long: make test-long"]
    fn nothing_is_lost_in_twenty_upgrades() {
        upgrades_under_load(20);
    }

    /// One that was ready, and then says nothing.
    #[test]
    #[ignore = "long: make test-long"]
    fn one_that_does_not_take_over_is_given_up() {
        let line = Line::start("");
        let pid = line.pid();
        let asked = line.slowly();
        signal(pid, "STOP");
        line.await_log("listens on", 2);
        std::thread::sleep(Duration::from_millis(200));
        signal(line.started(), "STOP");
        signal(pid, "CONT");
        let said = asked.join().expect("a reply");
        assert!(String::from_utf8_lossy(&said.stderr).contains("did not take over"), "{said:?}");
        assert!(!is_running(line.started()));
        line.assert_as_before(pid);
    }
}

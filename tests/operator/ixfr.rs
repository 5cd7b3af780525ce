//! Differences that other servers get (IXFR): exactly what was changed, wherever it came from, and through restarts.

mod condensed;

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{
    Guarded, Kind, Server, ctl, free_address, program_command, settings, signal, write,
};
use zonda_tests::zone::transfer;

use crate::kit::zonda;

const ORIGIN: &str = "moved.test.";

/// The text of a zone with this serial: so many names that differences are shorter than it. `more`: further lines.
fn text(serial: u32, more: &str) -> String {
    let names: String =
        (0..2000).map(|number| format!("n{number} A 10.0.{}.{}\n", number / 256, number % 256)).collect();
    format!(
        "$ORIGIN {ORIGIN}\n$TTL 60\n@ SOA ns host {serial} 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n{names}{more}"
    )
}

/// The serial that a server says the zone has; `None` where it says none.
fn serial(server: SocketAddr) -> Option<u32> {
    let query = Query::new(ORIGIN, rtype::SOA).octets();
    let answer = udp_within(server, &query, Duration::from_millis(500)).ok().flatten()?;
    let response = Response::parse(&answer).ok()?;
    let rdata = &response.answer.first()?.rdata;
    Some(u32::from_be_bytes(rdata[rdata.len() - 20..][..4].try_into().ok()?))
}

/// All records, to compare.
fn records(server: SocketAddr) -> Vec<Record> {
    let mut records: Vec<Record> = transfer(server, ORIGIN).iter().map(Record::folded).collect();
    records.sort();
    records
}

/// A server whose settings and data outlive it.
struct Bed {
    folder: tempfile::TempDir,
    address: SocketAddr,
    more: String,
}

impl Bed {
    /// `zone`: what the section of the zone says beside its name. `remotes`: other servers, `one`, `two`.
    fn new(zone: &str, remotes: &[SocketAddr]) -> Bed {
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        let home = folder.path().display();
        let remotes: String = ["one", "two"]
            .iter()
            .zip(remotes)
            .map(|(name, address)| format!("[[remote]]\nname = \"{name}\"\naddresses = [\"{address}\"]\n"))
            .collect();
        let more = format!(
            "pack-directory = \"{home}/packs\"\n[access]\ntransfer = \"all\"\nupdate = \"all\"\nnotify = \"all\"\n\
             [secondary]\nrefresh-min-seconds = 1\nretry-min-seconds = 1\n{remotes}\
             [[zone]]\nname = \"{ORIGIN}\"\n{zone}\n"
        );
        Bed { address: free_address(), more, folder }
    }

    /// One of a text.
    fn of_text(zone: &str, remotes: &[SocketAddr]) -> Bed {
        let bed = Bed::new(&format!("file = \"zone\"\n{zone}"), remotes);
        write(bed.folder.path(), "zone", &text(1, ""));
        bed
    }

    fn start(&self) -> Server {
        let path = write(
            self.folder.path(),
            "zonda.toml",
            &settings(self.folder.path(), self.address, &[], &self.more),
        );
        let mut command = program_command(&["serve", "--config"]);
        command.arg(path).current_dir(self.folder.path());
        let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        write(scratch.path(), "zonda.toml", &settings(self.folder.path(), self.address, &[], &self.more));
        let process = Guarded::spawn(command, scratch.path());
        let server = Server { kind: Kind::Zonda, address: self.address, scratch, process };
        server.await_zones();
        server
    }
}

fn kill(mut server: Server) {
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

/// Has `nsupdate` change a server's zone.
#[track_caller]
fn update(server: SocketAddr, script: &str) {
    let mut child = Command::new("nsupdate")
        .args(["-t", "10"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program nsupdate (package bind9-dnsutils)");
    let text = format!("server 127.0.0.1 {}\nzone {ORIGIN}\n{script}\nsend\n", server.port());
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The records that dig is sent for IXFR from a serial on, each as owner, type and data; of SOA records the serial alone.
fn ixfr(server: SocketAddr, from: u32) -> Vec<String> {
    let mut dig = Command::new(require("dig", "bind9-dnsutils"));
    dig.args(["@127.0.0.1", "-p", &server.port().to_string(), "+tries=1", "+time=5", "+noall", "+answer"]);
    let output = dig.args([ORIGIN, &format!("ixfr={from}")]).output().expect("the program dig");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, _, _, "SOA", _, _, serial, ..] => format!("SOA {serial}"),
            [owner, _, _, rtype, ref data @ ..] => {
                format!("{} {rtype} {}", owner.trim_end_matches(ORIGIN).trim_end_matches('.'), data.join(" "))
            }
            _ => panic!("{line}"),
        }
    };
    lines.lines().filter(|line| !line.is_empty() && !line.starts_with(';')).map(line).collect()
}

/// Whether what was sent is the whole zone.
fn is_whole(sent: &[String]) -> bool {
    sent.len() > 2000 && sent.iter().filter(|line| line.starts_with("SOA")).count() == 2
}

/// What updates do is sent, version by version, also after a kill; a zone that is removed takes its history along.
#[test]
fn updates_are_sent_as_they_were() {
    let bed = Bed::of_text("", &[]);
    let server = bed.start();
    assert!(is_whole(&ixfr(bed.address, 0)) && ixfr(bed.address, 1) == ["SOA 1"]);
    let scripts = [
        "update add new 60 A 192.0.2.9\nupdate add new 60 TXT \"a b\"",
        "update delete n7 A\nupdate add n8 60 A 192.0.2.8",
        "update delete new TXT\nupdate delete new A",
    ];
    for script in scripts {
        update(
            bed.address,
            &script
                .replace(" new", &format!(" new.{ORIGIN}"))
                .replace(" n7", &format!(" n7.{ORIGIN}"))
                .replace(" n8", &format!(" n8.{ORIGIN}")),
        );
    }
    let changes = |from: usize| -> Vec<&str> {
        let all: [&[&str]; 3] = [
            &["SOA 1", "SOA 2", "new A 192.0.2.9", "new TXT \"a b\""],
            &["SOA 2", "n7 A 10.0.0.7", "SOA 3", "n8 A 192.0.2.8"],
            &["SOA 3", "new A 192.0.2.9", "new TXT \"a b\"", "SOA 4"],
        ];
        [&["SOA 4"], &all[from - 1..].concat()[..], &["SOA 4"]].concat()
    };
    // At once, and from files.
    for pause in [0, 400] {
        std::thread::sleep(Duration::from_millis(pause));
        (1..4).for_each(|from| assert_eq!(ixfr(bed.address, from as u32), changes(from)));
    }
    assert!(is_whole(&ixfr(bed.address, 0)), "a version that never was");
    update(bed.address, &format!("update add last.{ORIGIN} 60 A 192.0.2.5"));
    kill(server);
    let server = bed.start();
    let sent = ixfr(bed.address, 1);
    assert_eq!(sent[1..sent.len() - 1][..12], changes(1)[1..13]);
    assert_eq!(sent[13..], ["SOA 4", "SOA 5", "last A 192.0.2.5", "SOA 5"]);
    await_that("its line in the log", || server.log().contains("IXFR from serial 1"));
    update(bed.address, &format!("update delete last.{ORIGIN}"));
    assert_eq!(ixfr(bed.address, 5), ["SOA 6", "SOA 5", "last A 192.0.2.5", "SOA 6", "SOA 6"]);
    // The same name, from its text again: nothing leads there.
    assert!(ctl(&server, &["remove-zone", ORIGIN]).status.success());
    let file = bed.folder.path().join("zone").display().to_string();
    assert!(ctl(&server, &["add-zone", ORIGIN, &file]).status.success());
    assert_eq!(serial(bed.address), Some(1));
    assert!(is_whole(&ixfr(bed.address, 0)));
    update(bed.address, &format!("update add other.{ORIGIN} 60 A 192.0.2.6"));
    assert_eq!(ixfr(bed.address, 1), ["SOA 2", "SOA 1", "SOA 2", "other A 192.0.2.6", "SOA 2"]);
}

/// A text that is read again: what leads to it is found, as far as that is short.
#[test]
fn edited_texts_are_sent_as_differences() {
    let bed = Bed::of_text("", &[]);
    let server = bed.start();
    let edit = |serial: u32, more: &str| {
        write(bed.folder.path(), "zone", &text(serial, more));
        assert!(ctl(&server, &["reload", ORIGIN]).status.success());
    };
    // Nobody was given it: nobody wants to know.
    edit(2, "two A 192.0.2.2\n");
    assert!(is_whole(&ixfr(bed.address, 1)));
    edit(3, "two A 192.0.2.2\nthree A 192.0.2.3\n");
    let third = ["SOA 3", "SOA 2", "SOA 3", "three A 192.0.2.3", "SOA 3"];
    assert_eq!(ixfr(bed.address, 2), third);
    edit(4, "three A 192.0.2.33\n");
    assert_eq!(
        ixfr(bed.address, 2),
        [
            &["SOA 4", "SOA 2", "SOA 3", "three A 192.0.2.3", "SOA 3"][..],
            &["three A 192.0.2.3", "two A 192.0.2.2", "SOA 4", "three A 192.0.2.33", "SOA 4"][..]
        ]
        .concat()
    );
    // A comment is no version; a serial that goes back leads nowhere.
    edit(4, "three A 192.0.2.33 ; as it was\n");
    assert_eq!(ixfr(bed.address, 3).len(), 7);
    edit(3, "");
    edit(5, "five A 192.0.2.5\n");
    assert!(is_whole(&ixfr(bed.address, 4)));
    assert_eq!(ixfr(bed.address, 3), ["SOA 5", "SOA 3", "SOA 5", "five A 192.0.2.5", "SOA 5"]);
    // A small zone is stored after some seconds, and goes on from there.
    await_that("the zone to be stored", || {
        let files = std::fs::read_dir(bed.folder.path().join("packs")).expect("the folder").flatten();
        let packs = files.filter(|file| file.file_name().to_string_lossy().ends_with(".zpack"));
        let zones = packs.map(|pack| zonda(&["stat", &pack.path().display().to_string(), "--zones"]).output);
        zones.flat_map(|zones| zones.lines().map(str::to_owned).collect::<Vec<_>>()).any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(ORIGIN) && words.next() == Some("5")
        })
    });
    std::thread::sleep(Duration::from_millis(400));
    kill(server);
    let server = bed.start();
    assert_eq!(ixfr(bed.address, 3), ["SOA 5", "SOA 3", "SOA 5", "five A 192.0.2.5", "SOA 5"]);
    drop(server);
}

/// A named that has the zone from `primary`, or is one; knotd the same.
struct Peer {
    folder: tempfile::TempDir,
    address: SocketAddr,
    _process: Guarded,
}

impl Peer {
    /// A secondary.
    fn secondary(kind: Kind, address: SocketAddr, primary: SocketAddr) -> Peer {
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        let (home, port, other) = (folder.path().display(), address.port(), primary.port());
        let command = match kind {
            Kind::Named => Peer::named(
                folder.path(),
                address,
                &format!(
                    "zone \"{ORIGIN}\" {{ type secondary; file \"zone\"; masterfile-format text; primaries port {other} {{ 127.0.0.1; }}; notify no; }};\n"
                ),
                "",
            ),
            _ => {
                let text = format!(
                    "server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
                     log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nremote:\n  - id: other\n    address: 127.0.0.1@{other}\n\
                     acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [transfer, notify]\n\
                     template:\n  - id: default\n    storage: {home}\n    semantic-checks: off\n    acl: [all]\n\
                     zone:\n  - domain: \"{ORIGIN}\"\n    master: other\n    refresh-min-interval: 2\n"
                );
                let mut command = Command::new(require("knotd", "knot"));
                command.arg("-c").arg(write(folder.path(), "knot.conf", &text));
                command
            }
        };
        let _process = Guarded::spawn(command, folder.path());
        Peer { folder, address, _process }
    }

    /// `more`: further options.
    fn named(folder: &std::path::Path, address: SocketAddr, zone: &str, more: &str) -> Command {
        let (home, port) = (folder.display(), address.port());
        let text = format!(
            "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }}; \
             listen-on port {port} {{ 127.0.0.1; }}; recursion no; empty-zones-enable no; dnssec-validation no; \
             allow-transfer {{ any; }}; notify-delay 0; min-refresh-time 1; min-retry-time 1; {more} }};\ncontrols {{ }};\n{zone}"
        );
        let mut command = Command::new(require("named", "bind9"));
        command.args(["-g", "-d", "3", "-n", "1", "-U", "1", "-c"]).arg(write(folder, "named.conf", &text));
        command
    }

    /// A named that others have the zone from, by updates. `more`: further options.
    fn primary(address: SocketAddr, other: SocketAddr, more: &str) -> Peer {
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        write(folder.path(), "zone", &text(1, ""));
        let port = other.port();
        let zone = format!(
            "zone \"{ORIGIN}\" {{ type primary; file \"zone\"; allow-update {{ any; }}; notify explicit; \
             also-notify {{ 127.0.0.1 port {port}; }}; }};\n"
        );
        let command = Peer::named(folder.path(), address, &zone, more);
        let _process = Guarded::spawn(command, folder.path());
        await_that("named", || serial(address).is_some());
        Peer { folder, address, _process }
    }

    fn log(&self) -> String {
        let octets = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&octets).into_owned()
    }
}

/// An update that differs from others; with one that goes.
fn step(number: u32) -> String {
    format!(
        "update add u{number}.{ORIGIN} 60 TXT \"{number}\"\nupdate delete u{}.{ORIGIN} TXT\nupdate delete n3.{ORIGIN} A\n\
         update add n3.{ORIGIN} 60 A 192.0.2.{}",
        number.saturating_sub(5),
        number % 250
    )
}

/// How often a server of ours has sent the whole zone, and how often what changed.
fn sent(server: &Server) -> (usize, usize) {
    let log = server.log();
    let count =
        |what: &str| log.lines().filter(|line| line.contains("sent to") && line.contains(what)).count();
    (count("(AXFR"), count("(IXFR from"))
}

/// named and knotd follow through a hundred updates, and after the first time by differences alone.
#[test]
fn peers_follow_by_differences() {
    let (one, two) = (free_address(), free_address());
    let bed = Bed::of_text("notify = [\"one\", \"two\"]", &[one, two]);
    let server = bed.start();
    let (named, knot) =
        (Peer::secondary(Kind::Named, one, bed.address), Peer::secondary(Kind::Knot, two, bed.address));
    await_that("named", || serial(one) == Some(1));
    await_that("knotd", || serial(two) == Some(1));
    for round in 0..20 {
        let steps: Vec<String> = (round * 5 + 6..round * 5 + 11).map(step).collect();
        update(bed.address, &steps.join("\nsend\n"));
    }
    let last = serial(bed.address);
    assert_eq!(last, Some(101));
    await_that("named to follow", || serial(one) == last);
    await_that("knotd to follow", || serial(two) == last);
    let all = records(bed.address);
    assert!(records(one) == all && records(two) == all);
    let (whole, changes) = sent(&server);
    assert!(whole == 2 && changes >= 2, "{whole} whole, {changes} by differences\n{}", server.log());
    let log = named.log();
    assert!(
        log.contains("got incremental response") && log.matches("got nonincremental response").count() == 1,
        "{log}"
    );
    let log = knot.log();
    assert!(log.contains("IXFR, incoming") && log.matches("AXFR, incoming").count() <= 3, "{log}");
}

/// A server between a named and a knotd: what came in as differences goes on as such, and so does what came whole.
#[track_caller]
fn check_between(more: &str) {
    let (above, below) = (free_address(), free_address());
    let bed = Bed::new("primaries = [\"one\"]\nnotify = [\"two\"]", &[above, below]);
    let primary = Peer::primary(above, bed.address, more);
    let server = bed.start();
    await_that("the zone", || serial(bed.address) == Some(1));
    let knot = Peer::secondary(Kind::Knot, below, bed.address);
    await_that("knotd", || serial(below) == Some(1));
    let mut server = server;
    for number in 6..16 {
        if number == 10 {
            kill(server);
            server = bed.start();
        }
        update(primary.address, &step(number));
        let last = serial(primary.address);
        await_that("the zone to follow", || serial(bed.address) == last);
        await_that("knotd to follow", || serial(below) == last);
    }
    let all = records(primary.address);
    assert!(records(bed.address) == all && records(below) == all);
    let log = knot.log();
    assert!(log.contains("IXFR, incoming"), "{log}");
    // Since the start.
    let (whole, changes) = sent(&server);
    assert!(whole == 0 && changes >= 5, "{whole} whole, {changes} by differences\n{}\n{log}", server.log());
}

#[test]
fn differences_go_on() {
    check_between("");
}

#[test]
fn differences_between_whole_zones_go_on() {
    check_between("provide-ixfr no;");
}

/// `zonda journal` shows what log and history have, finds damage, and removes the history of a zone; beside a server it says so.
#[test]
fn the_journal_is_shown_without_the_server() {
    let bed = Bed::of_text("", &[]);
    let packs = bed.folder.path().join("packs").display().to_string();
    let journal = |arguments: &[&str]| zonda(&[&["journal", "--folder", &packs], arguments].concat());
    journal(&["show"]).assert_fails(1, &["packs/journal", "no zone has been changed"]);
    let server = bed.start();
    update(bed.address, &format!("update add new.{ORIGIN} 60 A 192.0.2.9"));
    update(bed.address, &format!("update delete new.{ORIGIN}"));
    let shown = journal(&["show", ORIGIN]);
    assert!(shown.status == 0 && shown.errors.contains("a server writes it"), "{shown:?}");
    // What was acknowledged is there; the history follows a moment later.
    let log = shown.output.split_once("\nhistory ").expect("both").0;
    assert!(log.contains("group 2: ") && log.contains("serial 2 to 3"), "{shown:?}");
    journal(&["verify"]).assert_fails(1, &["a server uses it"]);
    journal(&["prune", ORIGIN]).assert_fails(1, &["a server uses it"]);
    // What was written when the server ends is all there was.
    drop(server);
    let config = bed.folder.path().join("zonda.toml").display().to_string();
    let shown = zonda(&["journal", "--config", &config, "show"]);
    let history = shown.output.split_once("\nhistory ").expect("both").1;
    assert!(shown.status == 0 && shown.errors.is_empty(), "{shown:?}");
    assert_eq!(history.lines().filter(|line| line.contains(", of group ")).count(), 2, "{shown:?}");
    assert!(journal(&["verify"]).output.ends_with(": fine\n"));
    let files: Vec<_> = std::fs::read_dir(bed.folder.path().join("packs/journal/history"))
        .expect("the history")
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .flat_map(|folder| std::fs::read_dir(folder.path()).expect("files").flatten())
        .collect();
    let mut octets = std::fs::read(files[0].path()).expect("a file");
    // Within the records of the first entry.
    octets[100] ^= 1;
    std::fs::write(files[0].path(), octets).expect("damaged");
    journal(&["verify"]).assert_fails(1, &["serial 1 to 2 is damaged"]);
    // A client that asks for it is broken off once, and gets all of it then.
    let server = bed.start();
    assert!(ixfr(bed.address, 1).len() < 8, "broken off");
    assert!(is_whole(&ixfr(bed.address, 1)));
    drop(server);
    update_once(&bed);
    assert_eq!(journal(&["prune", ORIGIN]).output, "zone moved.test.: its history is removed\n");
    assert_eq!(journal(&["prune", ORIGIN]).output, "zone moved.test.: it has no history\n");
    let _server = bed.start();
    // But for what the log has still.
    assert!(is_whole(&ixfr(bed.address, 2)));
}

/// Starts a server, changes the zone once and ends.
fn update_once(bed: &Bed) {
    let _server = bed.start();
    update(bed.address, &format!("update add once.{ORIGIN} 60 A 192.0.2.9"));
}

//! Texts of zones that change: written back, frozen, edited by hand, with `nsupdate` on the other side, and what is left of both after the server was killed.

mod lost;
mod unnoted;

use std::fmt::Write as _;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::mutate::Random;
use zonda_tests::patience::await_or;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, signal};
use zonda_tests::zone::ZoneFile;

use crate::kit::zonda;

const KEY: &str = "c2VjcmV0IG9mIHRoZSB0ZXN0cw==";
const ZONE: &str =
    "; by hand\n$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n";

/// Dynamic zones with a file each: `a.test.`, `b.test.`.
struct Bed {
    files: tempfile::TempDir,
    /// More of their sections.
    more: &'static str,
    /// More of the server's settings.
    server: &'static str,
}

impl Bed {
    fn new() -> Bed {
        Bed::with("")
    }

    fn with(more: &'static str) -> Bed {
        Bed::with_both(more, "")
    }

    /// With another log than usual.
    fn with_journal(server: &'static str) -> Bed {
        Bed::with_both("", server)
    }

    fn with_both(more: &'static str, server: &'static str) -> Bed {
        let bed = Bed { files: tempfile::tempdir().expect("a scratch folder"), more, server };
        bed.write("a", ZONE);
        bed.write("b", ZONE);
        bed.write("static", ZONE);
        bed
    }

    fn path(&self, zone: &str) -> PathBuf {
        self.files.path().join(zone)
    }

    fn text(&self, zone: &str) -> String {
        std::fs::read_to_string(self.path(zone)).expect("a text")
    }

    fn write(&self, zone: &str, text: &str) {
        std::fs::write(self.path(zone), text).expect("a text");
        // A file that is younger than a tick of the clock when it is read is read again at the next reload.
        std::thread::sleep(Duration::from_millis(15));
    }

    fn start(&self) -> Server {
        let folder = self.files.path().display();
        let mut settings = format!(
            "pack-directory = \"{folder}/packs\"\n{}\n[[key]]\nname = \"own.\"\nalgorithm = \"hmac-sha256\"\nsecret = \"{KEY}\"\n\n\
             [[acl]]\nname = \"own\"\nkeys = [\"own.\"]\n\n\
             [[update-policy]]\nname = \"own\"\nrules = [\"deny * name fixed.a.test. ANY\", \"grant own. zonesub ANY\"]\n",
            self.server
        );
        for zone in ["a", "b"] {
            let _ = write!(
                settings,
                "\n[[zone]]\nname = \"{zone}.test.\"\nfile = \"{folder}/{zone}\"\nallow-update = \"own\"\nupdate-policy = \"own\"\n{}\n",
                self.more
            );
        }
        let file = ZoneFile::new("static.test.", self.path("static"));
        let server = Server::start_with(Kind::Zonda, &[file], &settings);
        server.await_zones();
        server
    }
}

fn kill(mut server: Server) {
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

/// Has `nsupdate` send what `script` says, signed.
fn update(server: &Server, script: &str) -> (bool, String) {
    let mut child = Command::new("nsupdate")
        .args(["-t", "5", "-y", &format!("hmac-sha256:own.:{KEY}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program nsupdate (package bind9-dnsutils)");
    let script = format!("server 127.0.0.1 {}\n{script}\nsend\n", server.address.port());
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    let words = said(&output);
    (output.status.success(), words)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn done(server: &Server, zone: &str, script: &str) {
    let (is_done, words) = update(server, &format!("zone {zone}\n{script}"));
    assert!(is_done, "{script}\n{words}");
}

/// A command that goes well; what it says.
#[track_caller]
fn told(server: &Server, arguments: &[&str]) -> String {
    let output = ctl(server, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    said(&output)
}

/// A command that does not.
#[track_caller]
fn refused(server: &Server, arguments: &[&str], words: &str) {
    let output = ctl(server, arguments);
    assert!(!output.status.success() && said(&output).contains(words), "{arguments:?}: {}", said(&output));
}

/// The address of a name; none: it has none.
fn address(server: &Server, name: &str) -> Option<[u8; 4]> {
    let response = ask(server.address, Transport::Udp, &Query::new(name, rtype::A));
    response.answer.first().map(|record| record.rdata[..].try_into().expect("an address"))
}

fn serial(server: &Server, zone: &str) -> u32 {
    let response = ask(server.address, Transport::Udp, &Query::new(zone, rtype::SOA));
    let soa = &response.answer[0].rdata;
    u32::from_be_bytes(*soa[soa.len() - 20..].first_chunk().expect("four octets"))
}

/// Two servers, ours and BIND's, load the text.
#[track_caller]
fn loads(bed: &Bed, zone: &str) {
    let (apex, path) = (format!("{zone}.test."), bed.path(zone));
    zonda(&["check-zone", &apex, crate::kit::text(&path)]).assert_fine();
    let output = Command::new("named-checkzone").arg(&apex).arg(&path).output();
    let output = output.expect("the program named-checkzone (package bind9-utils)");
    assert!(output.status.success(), "{}\n{}", said(&output), bed.text(zone));
}

#[test]
fn texts_are_written() {
    let bed = Bed::new();
    std::fs::set_permissions(bed.path("a"), PermissionsExt::from_mode(0o640)).expect("a mode");
    let server = bed.start();
    assert!(told(&server, &["sync", "a.test."]).contains("says what is served"));
    assert_eq!(bed.text("a"), ZONE);
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.9\nupdate delete www.a.test.");
    assert!(told(&server, &["zones", "a.test."]).contains("changed   1 version; the text has serial 1;"));
    assert!(told(&server, &["sync", "a.test."]).contains("serial 2 written"));
    let text = bed.text("a");
    assert!(text.starts_with("; zone a.test. serial 2, written by Zonda "), "{text}");
    assert!(text.contains("new.a.test. 60 IN A 192.0.2.9\n") && !text.contains("www"), "{text}");
    assert_eq!(std::fs::metadata(bed.path("a")).expect("a text").mode() & 0o7777, 0o640);
    loads(&bed, "a");
    // Nothing is left beside it, and it is not taken for edited.
    let names = std::fs::read_dir(bed.files.path()).expect("the folder").flatten();
    let hidden = names.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
    assert!(told(&server, &["reload", "a.test."]).contains("1 unchanged"));
    assert!(told(&server, &["zones", "a.test."]).contains("the text says the same"));
    assert!(told(&server, &["sync", "a.test."]).contains("says what is served"));
    done(&server, "a.test.", "update add more.a.test. 60 A 192.0.2.10");
    done(&server, "b.test.", "update add new.b.test. 60 A 192.0.2.11");
    let all = told(&server, &["sync", "--all"]);
    assert!(all.contains("zone a.test.: serial 3 written") && all.contains("zone b.test.: serial 2 written"));
    kill(server);
    let server = bed.start();
    assert_eq!((serial(&server, "a.test."), serial(&server, "b.test.")), (3, 2));
    assert_eq!(address(&server, "more.a.test."), Some([192, 0, 2, 10]));
    assert!(told(&server, &["reload", "a.test."]).contains("1 unchanged"));
    refused(&server, &["sync", "none.test."], "there is no zone none.test.");
}

#[test]
fn texts_that_are_not_written() {
    let bed = Bed::new();
    bed.write("b", "$INCLUDE a b.test.\nmore A 192.0.2.7\n");
    let server = bed.start();
    done(&server, "b.test.", "update add new.b.test. 60 A 192.0.2.9");
    refused(&server, &["sync", "b.test."], "includes other files");
    assert!(told(&server, &["sync", "--force", "b.test."]).contains("serial 2 written"));
    loads(&bed, "b");
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.9");
    assert!(told(&server, &["add-zone", "c.test.", crate::kit::text(&bed.path("a"))]).contains("1 added"));
    refused(&server, &["sync", "a.test."], "zone c.test. is read from it too");
    refused(&server, &["freeze", "a.test."], "zone a.test. is not frozen");
    done(&server, "a.test.", "update add other.a.test. 60 A 192.0.2.9");
    assert_eq!(bed.text("a"), ZONE);
}

/// What was edited by hand goes on top of what updates have done: neither is lost, whether the server runs or not.
#[test]
fn edits_and_updates_stay() {
    let bed = Bed::new();
    let server = bed.start();
    done(
        &server,
        "a.test.",
        "update add new.a.test. 60 A 192.0.2.9\nupdate delete ns.a.test. A\nupdate add ns.a.test. 60 A 192.0.2.111",
    );
    let first = ZONE.replace("www A 192.0.2.2\n", "www A 192.0.2.22\nhand A 192.0.2.3\n");
    bed.write("a", &first);
    assert!(told(&server, &["reload"]).contains("1 zone loaded"));
    let check = |server: &Server, expected: [Option<u8>; 4]| {
        let names = ["new", "www", "hand", "ns"];
        let found = names.map(|name| address(server, &format!("{name}.a.test.")).map(|address| address[3]));
        assert_eq!(found, expected);
    };
    check(&server, [Some(9), Some(22), Some(3), Some(111)]);
    assert_eq!(serial(&server, "a.test."), 3);
    // Updates undo what was edited, and that is not done again.
    done(&server, "a.test.", "update delete hand.a.test.\nupdate delete new.a.test.");
    assert!(told(&server, &["reload"]).contains("0 zones loaded"));
    check(&server, [None, Some(22), None, Some(111)]);
    kill(server);
    let server = bed.start();
    check(&server, [None, Some(22), None, Some(111)]);
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.99");
    kill(server);
    // Edited while the server does not run; with a serial of its own, which is greater.
    bed.write("a", &first.replace("www A 192.0.2.22\n", "").replace("host 1 ", "host 70 "));
    let server = bed.start();
    check(&server, [Some(99), None, None, Some(111)]);
    assert_eq!(serial(&server, "a.test."), 70);
    done(&server, "a.test.", "update add hand.a.test. 60 A 192.0.2.4");
    assert_eq!(serial(&server, "a.test."), 71);
    assert!(told(&server, &["sync", "a.test."]).contains("serial 71 written"));
    loads(&bed, "a");
    // The text that was written is what the next edit is held against.
    bed.write("a", &bed.text("a").replace("192.0.2.111", "192.0.2.112"));
    done(&server, "a.test.", "update delete hand.a.test.");
    assert!(told(&server, &["reload"]).contains("1 zone loaded"));
    check(&server, [Some(99), None, None, Some(112)]);
    kill(server);
    let server = bed.start();
    check(&server, [Some(99), None, None, Some(112)]);
}

#[test]
fn what_cannot_be_joined_is_said() {
    let bed = Bed::new();
    let server = bed.start();
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.9");
    let edited = format!("{ZONE}new CNAME www\n");
    bed.write("a", &edited);
    refused(
        &server,
        &["reload"],
        "new.a.test. CNAME: what was edited and what updates have done since cannot both be",
    );
    refused(&server, &["zones", "a.test."], "zone and text stay as they are");
    assert_eq!(address(&server, "new.a.test."), Some([192, 0, 2, 9]));
    refused(&server, &["sync", "a.test."], "--force");
    assert_eq!(bed.text("a"), edited);
    // Mended; what else was edited is there then.
    bed.write("a", &format!("{ZONE}other CNAME www\n"));
    assert!(told(&server, &["reload"]).contains("1 zone loaded"));
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("other.a.test.", rtype::A)).answer.len(), 2);
    told(&server, &["zones", "a.test."]);
    bed.write("a", &edited);
    assert!(told(&server, &["sync", "--force", "a.test."]).contains("serial 3 written"));
    assert_eq!(bed.text("a.replaced"), edited);
    loads(&bed, "a");
}

#[test]
fn frozen_zones_are_edited() {
    let bed = Bed::new();
    let server = bed.start();
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.9");
    let frozen = told(&server, &["freeze", "a.test."]);
    assert!(frozen.contains("frozen; serial 2 written"), "{frozen}");
    loads(&bed, "a");
    let add = "zone a.test.\nupdate add no.a.test. 60 A 192.0.2.1";
    let is_refused = |server: &Server| {
        let (is_done, words) = update(server, add);
        assert!(!is_done && words.contains("REFUSED"), "{words}");
    };
    is_refused(&server);
    done(&server, "b.test.", "update add new.b.test. 60 A 192.0.2.9");
    assert!(told(&server, &["zones", "a.test."]).contains("frozen    it takes no updates"));
    kill(server);
    let server = bed.start();
    is_refused(&server);
    // Half edited: nobody reads it.
    bed.write("a", "$TTL 60\n@ SOA");
    assert!(told(&server, &["reload"]).contains("0 zones loaded"));
    refused(&server, &["thaw", "a.test."], "zone a.test. stays frozen");
    is_refused(&server);
    kill(server);
    let server = bed.start();
    assert_eq!((serial(&server, "a.test."), address(&server, "new.a.test.")), (2, Some([192, 0, 2, 9])));
    bed.write("a", &format!("{ZONE}hand A 192.0.2.3\n"));
    assert!(told(&server, &["thaw", "a.test."]).contains("1 zone loaded"));
    // As the text has it, with a serial above what was served.
    assert_eq!((serial(&server, "a.test."), address(&server, "new.a.test.")), (3, None));
    assert_eq!(address(&server, "hand.a.test."), Some([192, 0, 2, 3]));
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.10");
    refused(&server, &["thaw", "a.test."], "is not frozen");
    kill(server);
    let server = bed.start();
    assert_eq!((serial(&server, "a.test."), address(&server, "hand.a.test.")), (4, Some([192, 0, 2, 3])));
    // One that nothing has changed yet.
    assert!(told(&server, &["freeze", "static.test."]).contains("frozen"));
    bed.write("static", &ZONE.replace("host 1 ", "host 2 "));
    assert!(told(&server, &["reload"]).contains("0 zones loaded"));
    assert!(told(&server, &["thaw", "static.test."]).contains("1 zone loaded"));
    assert_eq!(serial(&server, "static.test."), 2);
}

/// Killed at any moment of a sync: the text is the one before or the one after, and updates are not undone by it.
#[test]
fn killed_while_a_text_is_written() {
    let (bed, mut random) = (Bed::new(), Random::new(14));
    let mut text = ZONE.to_owned();
    (0..20_000).for_each(|name| {
        let _ = writeln!(text, "n{name} A 192.0.2.3");
    });
    bed.write("a", &text);
    let mut written = 0;
    for round in 1..=8u8 {
        let server = bed.start();
        let before = bed.text("a");
        done(
            &server,
            "a.test.",
            &format!("update delete x.a.test.\nupdate add x.a.test. 60 A 192.0.2.{round}"),
        );
        let new = serial(&server, "a.test.");
        std::thread::scope(|scope| {
            let server = &server;
            scope.spawn(move || ctl(server, &["sync", "a.test."]));
            std::thread::sleep(Duration::from_micros(2_000 + random.below(60_000) as u64));
            signal(server.process.pid(), "KILL");
        });
        kill(server);
        let after = bed.text("a");
        let is_written = after.starts_with(&format!("; zone a.test. serial {new}, "));
        assert!(is_written || after == before, "neither the one before nor the one after");
        written += u32::from(is_written);
        loads(&bed, "a");
        let server = bed.start();
        assert_eq!(
            (serial(&server, "a.test."), address(&server, "x.a.test.")),
            (new, Some([192, 0, 2, round]))
        );
        done(&server, "a.test.", "update delete x.a.test.");
        assert!(told(&server, &["reload"]).contains("0 zones loaded"));
        assert_eq!((serial(&server, "a.test."), address(&server, "x.a.test.")), (new + 1, None));
        // An edit of whichever it is.
        bed.write(
            "a",
            &bed.text("a").replace("192.0.2.2\n", "192.0.2.22\n").replace("192.0.2.22\n", "192.0.2.2\n"),
        );
        kill(server);
    }
    eprintln!("written {written} of 8");
}

#[test]
fn updates_are_explained() {
    let bed = Bed::new();
    let server = bed.start();
    let ask = |arguments: &[&str]| {
        let output =
            ctl(&server, &[&["explain-update", "a.test.", "--from", "127.0.0.1"], arguments].concat());
        (output.status.code(), said(&output))
    };
    let (status, words) = ask(&["--key", "own.", "www.a.test.", "A", "TXT"]);
    assert_eq!(status, Some(0), "{words}");
    assert!(
        words.contains("allow-update of the zone: list \"own\" (") && words.contains("rule 2 decides"),
        "{words}"
    );
    assert!(words.ends_with("granted\n"), "{words}");
    let (status, words) = ask(&["--key", "own.", "fixed.a.test.", "A"]);
    assert!(status == Some(1) && words.contains("rule 1 decides: deny * name fixed.a.test. ANY"), "{words}");
    let (status, words) = ask(&["www.a.test.", "A"]);
    assert!(status == Some(1) && words.contains("does not let it in: 127.0.0.1, unsigned"), "{words}");
    assert!(ask(&["www.b.test.", "A"]).1.contains("is not in zone a.test."));
    assert!(ask(&["--key", "other.", "www.a.test.", "A"]).1.contains("there is no [[key]] other."));
    told(&server, &["freeze", "a.test."]);
    let (status, words) = ask(&["--key", "own.", "www.a.test.", "A"]);
    assert!(status == Some(1) && words.contains("is frozen"), "{words}");
}

/// Texts are written when the server stops, where that is wanted, and not when it is killed.
#[test]
fn texts_are_written_at_the_end() {
    let bed = Bed::with("write-text = \"stop\"");
    bed.write("b", "$INCLUDE static b.test.\n");
    let server = bed.start();
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.9");
    done(&server, "b.test.", "update add new.b.test. 60 A 192.0.2.9");
    kill(server);
    assert_eq!(bed.text("a"), ZONE);
    let mut server = bed.start();
    assert!(told(&server, &["stop"]).contains("stopping"));
    server.process.wait(Duration::from_secs(10)).expect("an end");
    assert!(bed.text("a").contains("new.a.test. 60 IN A 192.0.2.9\n"));
    // What it would take from the operator it leaves, and says so.
    assert!(bed.text("b").starts_with("$INCLUDE") && server.log().contains("includes other files"));
    loads(&bed, "a");
    let server = bed.start();
    assert_eq!((serial(&server, "a.test."), serial(&server, "b.test.")), (2, 2));
    assert!(told(&server, &["reload", "a.test."]).contains("1 unchanged"));
}

/// A zone of which the log has lost a change takes no updates until an operator accepts that.
#[test]
fn lost_changes_are_accepted() {
    let bed = Bed::new();
    let server = bed.start();
    (1..=3).for_each(|at| done(&server, "a.test.", &format!("update add x{at}.a.test. 60 A 192.0.2.{at}")));
    done(&server, "b.test.", "update add new.b.test. 60 A 192.0.2.9");
    kill(server);
    let mut is_damaged = false;
    let files = std::fs::read_dir(bed.path("packs/journal")).expect("the log").flatten();
    for entry in files.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "seg")) {
        let mut octets = std::fs::read(entry.path()).expect("a segment");
        if let Some(at) = octets.windows(3).position(|window| window == b"\x02x2") {
            octets[at + 1] ^= 1;
            std::fs::write(entry.path(), octets).expect("a segment");
            is_damaged = true;
        }
    }
    assert!(is_damaged);
    let server = bed.start();
    let found = ["x1", "x2", "x3"].map(|name| address(&server, &format!("{name}.a.test.")).is_some());
    assert_eq!(found, [true, false, false]);
    let add = "zone a.test.\nupdate add x4.a.test. 60 A 192.0.2.4";
    assert!(update(&server, add).1.contains("SERVFAIL"));
    assert!(told(&server, &["zones", "a.test."]).contains("fault     the log lost changes of it"));
    refused(&server, &["thaw", "--accept-loss", "b.test."], "has lost nothing");
    told(&server, &["thaw", "--accept-loss", "a.test."]);
    assert!(!told(&server, &["zones", "a.test."]).contains("fault"));
    done(&server, "a.test.", "update add x4.a.test. 60 A 192.0.2.4");
    kill(server);
    let server = bed.start();
    let found = ["x1", "x2", "x4"].map(|name| address(&server, &format!("{name}.a.test.")).is_some());
    assert_eq!(found, [true, false, true]);
    assert_eq!(address(&server, "new.b.test."), Some([192, 0, 2, 9]));
    done(&server, "a.test.", "update add x5.a.test. 60 A 192.0.2.5");
}

/// Of many lost groups the log cannot say whose they were: the history of a zone that has nothing else in it does.
#[test]
fn the_history_says_whose_lost_groups_were() {
    let bed = Bed::new();
    let server = bed.start();
    done(&server, "a.test.", "update add x0.a.test. 60 A 192.0.2.9");
    done(&server, "b.test.", "update add new.b.test. 60 A 192.0.2.9");
    (1..=4).for_each(|at| done(&server, "a.test.", &format!("update add x{at}.a.test. 60 A 192.0.2.{at}")));
    // Two zones, in the files of which it is written a moment later.
    let of_folder = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let is_written = || {
        let folders = of_folder(bed.path("packs/journal/history")).filter(|entry| entry.path().is_dir());
        folders.flat_map(|folder| of_folder(folder.path())).count() >= 2
    };
    await_or(|| server.log(), is_written);
    std::thread::sleep(Duration::from_millis(300));
    kill(server);
    let mut damaged = 0;
    let files = of_folder(bed.path("packs/journal")).map(|entry| entry.path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "seg")) {
        let mut octets = std::fs::read(&path).expect("a segment");
        for name in [&b"\x03new"[..], b"\x02x1", b"\x02x2", b"\x02x3"] {
            if let Some(at) = octets.windows(name.len()).position(|window| window == name) {
                octets[at + 1] ^= 1;
                damaged += 1;
            }
        }
        std::fs::write(&path, octets).expect("a segment");
    }
    assert_eq!(damaged, 4);
    let server = bed.start();
    assert_eq!(address(&server, "new.b.test."), None);
    for zone in ["a.test.", "b.test."] {
        let words = told(&server, &["zones", zone]);
        assert!(words.contains("fault     the log lost changes of it"), "{words}");
        let add = format!("zone {zone}\nupdate add more.{zone} 60 A 192.0.2.4");
        assert!(update(&server, &add).1.contains("SERVFAIL"));
        told(&server, &["thaw", "--accept-loss", zone]);
        done(&server, zone, &format!("update add more.{zone} 60 A 192.0.2.4"));
    }
}

/// More than one change has, or another way to prove that names are not there: a frozen zone is taken as a whole then.
#[test]
fn frozen_zones_are_taken_as_a_whole() {
    let bed = Bed::new();
    let server = bed.start();
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.9");
    told(&server, &["freeze", "a.test."]);
    let mut text = bed.text("a");
    (0..70_000).for_each(|name| {
        let _ = writeln!(text, "n{name}.a.test. 60 A 192.0.2.3");
    });
    bed.write("a", &text);
    refused(&server, &["thaw", "a.test."], "edit its text with a greater serial");
    bed.write("a", &text.replace(" 2 3600 600", " 10 3600 600"));
    assert!(told(&server, &["thaw", "a.test."]).contains("1 zone loaded"));
    let check = |server: &Server| {
        assert_eq!(serial(server, "a.test."), 10);
        assert_eq!(address(server, "n69999.a.test."), Some([192, 0, 2, 3]));
        assert_eq!(address(server, "new.a.test."), Some([192, 0, 2, 9]));
    };
    check(&server);
    kill(server);
    let server = bed.start();
    check(&server);
    done(&server, "a.test.", "update add more.a.test. 60 A 192.0.2.9");
    assert_eq!(serial(&server, "a.test."), 11);
}

/// Much more than the text has: the log says it in pieces, and what was edited is held against the text all the same.
#[test]
fn edits_after_many_updates() {
    let bed = Bed::new();
    let server = bed.start();
    for round in 0..4 {
        let mut script = String::new();
        for name in 0..400 {
            let _ = writeln!(script, "update add n{round}-{name}.a.test. 60 TXT \"{}\"", "x".repeat(100));
        }
        done(&server, "a.test.", &script);
    }
    bed.write("a", &ZONE.replace("www A 192.0.2.2\n", "hand A 192.0.2.3\n"));
    assert!(told(&server, &["reload"]).contains("1 zone loaded"));
    let check = |server: &Server| {
        assert_eq!(address(server, "hand.a.test."), Some([192, 0, 2, 3]));
        assert_eq!(address(server, "www.a.test."), None);
        let kept = ask(server.address, Transport::Tcp, &Query::new("n3-399.a.test.", rtype::TXT));
        assert_eq!(kept.answer.len(), 1);
    };
    check(&server);
    kill(server);
    check(&bed.start());
}

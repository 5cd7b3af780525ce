//! What is still served when files and folders are not as they should be, and how that is said.

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, settings, signal, write};
use zonda_tests::zone::ZoneFile;

use crate::kit::SOUND;

/// A server of two zones with a pack folder, in a folder of files that outlives it.
pub(crate) struct Fixture {
    pub(crate) files: tempfile::TempDir,
    pub(crate) server: Server,
}

impl Fixture {
    /// `more`: lines of the `[server]` table.
    pub(crate) fn new(more: &str) -> Fixture {
        let files = tempfile::tempdir().expect("a scratch folder");
        zones(&files).iter().for_each(|zone| fs::write(&zone.path, SOUND).expect("a zone file"));
        let server = start(&files, more);
        Fixture { files, server }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("a file");
    }

    /// Ends the server in order and starts another in its place.
    pub(crate) fn restart(&mut self, more: &str) {
        signal(self.server.process.pid(), "TERM");
        self.server.process.wait(Duration::from_secs(10)).expect("an end");
        self.server = start(&self.files, more);
    }

    /// The last octet of the address of `www` of a zone; the RCODE, negative, where there is none.
    pub(crate) fn last(&self, zone: &str) -> i32 {
        let response =
            ask(self.server.address, Transport::Udp, &Query::new(&format!("www.{zone}"), rtype::A));
        let octet = response.answer.first().and_then(|record| record.rdata.last());
        octet.map_or(-i32::from(response.rcode()), |octet| i32::from(*octet))
    }

    pub(crate) fn ctl(&self, arguments: &[&str]) -> (Output, String) {
        let output = ctl(&self.server, arguments);
        let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        let said = said.into_owned();
        (output, said)
    }

    /// How many packs are stored.
    pub(crate) fn packs(&self) -> usize {
        let entries = fs::read_dir(self.path("packs")).expect("the pack folder");
        let is_pack = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".zpack");
        entries.filter(|entry| is_pack(entry.as_ref().expect("an entry").file_name())).count()
    }
}

fn zones(files: &tempfile::TempDir) -> [ZoneFile; 2] {
    ["one.example.", "two.example."].map(|name| ZoneFile::new(name, files.path().join(name)))
}

fn start(files: &tempfile::TempDir, more: &str) -> Server {
    let folder = format!("pack-directory = \"{}\"\n{more}", files.path().join("packs").display());
    // A file that is younger than a tick of the clock is read again at the next start.
    std::thread::sleep(Duration::from_millis(30));
    Server::start_with(Kind::Zonda, &zones(files), &folder)
}

#[test]
fn a_start_with_a_broken_or_missing_file_serves_the_last_good_pack() {
    let mut fixture = Fixture::new("");
    for serve_stored in ["serve-stored = true\n", "serve-stored = false\n"] {
        fixture.write("one.example.", "nonsense\n");
        fs::remove_file(fixture.path("two.example.")).expect("the file goes");
        fixture.restart(serve_stored);
        // What is looked at after workers answer.
        fixture.server.await_log("two.example. not loaded");
        assert_eq!((fixture.last("one.example."), fixture.last("two.example.")), (2, 2), "{serve_stored}");
        for (zone, why) in [("one.example.", "one.example.:1:"), ("two.example.", "no such file")] {
            let (_, said) = fixture.ctl(&["zones", zone]);
            assert!(said.contains("stale") && said.contains(why), "{said}");
        }
        // Nothing is stuck.
        fixture.write("one.example.", &SOUND.replace("192.0.2.2", "192.0.2.3"));
        fixture.write("two.example.", SOUND);
        fixture.ctl(&["reload"]);
        assert_eq!((fixture.last("one.example."), fixture.last("two.example.")), (3, 2), "{serve_stored}");
        fixture.write("one.example.", SOUND);
        fixture.ctl(&["reload"]);
        fixture.restart(serve_stored);
    }
}

#[test]
fn a_pack_folder_that_cannot_be_made_or_written_is_a_warning() {
    let mut fixture = Fixture::new("");
    // A file cannot be written where a folder is, whoever writes.
    fs::remove_file(fixture.path("packs/lock")).expect("the lock");
    fs::create_dir(fixture.path("packs/lock")).expect("a folder");
    fixture.write("one.example.", "nonsense\n");
    let before = fixture.packs();
    fixture.restart("");
    fixture.server.await_log("one.example. not loaded");
    assert!(fixture.server.log().contains("packs: cannot write into it"), "{}", fixture.server.log());
    assert_eq!((fixture.last("one.example."), fixture.last("two.example.")), (2, 2));
    fixture.write("one.example.", &SOUND.replace("192.0.2.2", "192.0.2.3"));
    assert_eq!(fixture.ctl(&["reload"]).0.status.code(), Some(0));
    assert_eq!((fixture.last("one.example."), fixture.packs()), (3, before));
    // And one that cannot even be made.
    fs::rename(fixture.path("packs"), fixture.path("away")).expect("the packs go");
    fixture.write("packs", "a file\n");
    fixture.restart("");
    assert!(fixture.server.log().contains("packs: cannot make it"), "{}", fixture.server.log());
    assert_eq!((fixture.last("one.example."), fixture.last("two.example.")), (3, 2));
}

#[test]
fn the_pack_folder_of_another_is_left_alone() {
    let fixture = Fixture::new("");
    let folder = fixture.path("packs");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let address = zonda_tests::server::free_address();
    let more = format!("pack-directory = \"{}\"\n", folder.display());
    let text = settings(scratch.path(), address, &zones(&fixture.files), &more);
    let path = write(scratch.path(), "zonda.toml", &text);
    crate::kit::zonda(&["serve", "--config", crate::kit::text(&path)]).assert_fails(1, &["another server"]);
}

#[test]
fn packs_that_cannot_be_stored_are_told_and_stored_later() {
    let mut fixture = Fixture::new("");
    // A large zone is stored at once.
    let large = |last: u8| {
        let record = |number: u32| format!("n{number} A 192.0.2.{last}\n");
        SOUND.replace("192.0.2.2", &format!("192.0.2.{last}")) + &(0..60_000).map(record).collect::<String>()
    };
    fs::rename(fixture.path("packs"), fixture.path("away")).expect("the packs go");
    fixture.write("one.example.", &large(7));
    std::thread::sleep(Duration::from_millis(30));
    let (output, said) = fixture.ctl(&["reload"]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("cannot store a pack: no such file"), "{said}");
    assert_eq!(fixture.last("one.example."), 7);
    fs::rename(fixture.path("away"), fixture.path("packs")).expect("the packs come back");
    let is_stored = || {
        let entries = fs::read_dir(fixture.path("packs")).expect("the pack folder");
        let mut packs =
            entries.flatten().filter(|entry| entry.path().extension().is_some_and(|is| is == "zpack"));
        packs.any(|entry| entry.metadata().is_ok_and(|file| file.len() > 1 << 20))
    };
    assert!(!is_stored());
    std::thread::sleep(Duration::from_millis(500));
    fixture.write("two.example.", &SOUND.replace("192.0.2.2", "192.0.2.8"));
    assert_eq!(fixture.ctl(&["reload"]).0.status.code(), Some(0));
    await_that("a pack", is_stored);
    assert_eq!(fixture.last("one.example."), 7);
    fixture.write("one.example.", "nonsense\n");
    fixture.restart("");
    assert_eq!(fixture.last("one.example."), 7, "stored after all");
}

/// A server with a folder and a list of zones, beside the two; and the lines of its settings that say so.
fn with_lists() -> (Fixture, String) {
    let files = tempfile::tempdir().expect("a scratch folder");
    zones(&files).iter().for_each(|zone| fs::write(&zone.path, SOUND).expect("a zone file"));
    fs::create_dir(files.path().join("folder")).expect("a folder");
    for file in ["folder/a.test.zone", "folder/b.test.zone", "c.test.", "d.test."] {
        fs::write(files.path().join(file), SOUND).expect("a zone file");
    }
    fs::write(files.path().join("names"), "c.test.\nd.test.\n").expect("a list");
    let path = files.path().display();
    let lists = format!(
        "\n[[zone-directory]]\npath = \"{path}/folder\"\n\n\
         [[zone]]\nnames-file = \"{path}/names\"\nfile = \"{path}/{{name}}.\"\n"
    );
    let server = start(&files, &lists);
    let fixture = Fixture { files, server };
    assert_eq!(["a.test.", "b.test.", "c.test.", "d.test."].map(|zone| fixture.last(zone)), [2; 4]);
    (fixture, lists)
}

#[test]
fn two_files_for_a_zone_cost_that_zone_alone() {
    let (fixture, _) = with_lists();
    fixture.write("folder/A.TEST.zone", SOUND);
    fixture.write("folder/new.test.zone", SOUND);
    fixture.write("folder/NEW.test.zone", SOUND);
    fixture.write("one.example.", &SOUND.replace("192.0.2.2", "192.0.2.3"));
    let (output, said) = fixture.ctl(&["reload"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("folder/A.TEST.zone and ") && said.contains("folder/a.test.zone"), "{said}");
    let zones = ["one.example.", "a.test.", "b.test.", "new.test."].map(|zone| fixture.last(zone));
    assert_eq!(zones[..3], [3, 2, 2], "{said}");
    assert!(zones[3] < 0, "{zones:?}");
    assert!(fixture.ctl(&["zones", "a.test."]).1.contains("stale"));
    // None of the two is taken by asking for the zone alone.
    assert_eq!(fixture.ctl(&["reload", "a.test."]).0.status.code(), Some(1));
    fs::remove_file(fixture.path("folder/A.TEST.zone")).expect("a file goes");
    fs::remove_file(fixture.path("folder/NEW.test.zone")).expect("a file goes");
    let (output, said) = fixture.ctl(&["reload"]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!((fixture.last("a.test."), fixture.last("new.test.")), (2, 2));
    assert!(fixture.ctl(&["zones", "a.test."]).1.contains("served"));
}

#[test]
fn a_line_that_is_no_name_is_a_warning() {
    let (fixture, _) = with_lists();
    fixture.write("names", "c.test.\na..b\nd.test.\nd.test.\n");
    let (output, said) = fixture.ctl(&["reload"]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("names:2:1: expected a domain name") && said.contains("d.test. is there"),
        "{said}"
    );
    assert_eq!((fixture.last("c.test."), fixture.last("d.test.")), (2, 2));
}

#[test]
fn what_cannot_be_listed_leaves_its_zones_as_they_were() {
    let (mut fixture, lists) = with_lists();
    fs::rename(fixture.path("folder"), fixture.path("away")).expect("the folder goes");
    fs::rename(fixture.path("names"), fixture.path("unnamed")).expect("the list goes");
    fixture.write("one.example.", &SOUND.replace("192.0.2.2", "192.0.2.3"));
    let all = ["one.example.", "a.test.", "b.test.", "c.test.", "d.test."];
    for _ in 0..2 {
        let (output, said) = fixture.ctl(&["reload"]);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("zone-directory") && said.contains("names-file") && said.contains("stay as"),
            "{said}"
        );
        assert_eq!(all.map(|zone| fixture.last(zone)), [3, 2, 2, 2, 2], "{said}");
    }
    for zone in ["a.test.", "d.test."] {
        let (_, said) = fixture.ctl(&["zones", zone]);
        assert!(said.contains("stale") && said.contains("cannot"), "{said}");
    }
    // They come back as they went.
    fs::rename(fixture.path("away"), fixture.path("folder")).expect("the folder comes");
    fs::rename(fixture.path("unnamed"), fixture.path("names")).expect("the list comes");
    let (output, said) = fixture.ctl(&["reload"]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(fixture.ctl(&["zones", "a.test."]).1.contains("served"), "{said}");
    // And a start knows them from their packs, whichever way it begins.
    fs::rename(fixture.path("names"), fixture.path("unnamed")).expect("the list goes");
    for serve_stored in ["true", "false"] {
        fixture.restart(&format!("serve-stored = {serve_stored}\n{lists}"));
        fixture.server.await_zones();
        assert_eq!(all.map(|zone| fixture.last(zone)), [3, 2, 2, 2, 2], "{serve_stored}");
        let (_, said) = fixture.ctl(&["zones", "c.test."]);
        assert!(said.contains("stale") && said.contains("cannot"), "{said}");
    }
}

//! What the log says of zones that come, change and go: each by name as long as they are few.

use std::fs;
use std::time::Duration;

use zonda_tests::patience::await_that;
use zonda_tests::server::{Kind, Server, ctl, settings, signal, write};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, text};

/// A server of some zones in a folder, whose log is read.
struct Fixture {
    files: tempfile::TempDir,
    zones: Vec<ZoneFile>,
    more: String,
    server: Server,
}

impl Fixture {
    /// Serves `zones` with more lines in the settings.
    fn start(names: &[&str], more: &str) -> Fixture {
        let files = tempfile::tempdir().expect("a scratch folder");
        let zone = |name: &&str| ZoneFile::new(name, files.path().join(name));
        let zones: Vec<ZoneFile> = names.iter().map(zone).collect();
        zones.iter().for_each(|zone| fs::write(&zone.path, SOUND).expect("a zone file"));
        let more = more.replace("FILES", text(files.path()));
        let server = Server::start_with(Kind::Zonda, &zones, &more);
        Fixture { files, zones, more, server }
    }

    fn write(&self, file: &str, serial: u32) {
        let text = SOUND.replace("host 1 ", &format!("host {serial} "));
        fs::write(self.files.path().join(file), text).expect("a zone file");
    }

    fn ctl(&self, arguments: &[&str]) {
        let output = ctl(&self.server, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}\n{}", self.server.log());
    }

    /// Has the server serve the first of its zones alone.
    fn keep_first(&self) {
        let text = settings(self.server.scratch.path(), self.server.address, &self.zones[..1], &self.more);
        write(self.server.scratch.path(), "zonda.toml", &text);
        self.ctl(&["reload"]);
    }

    /// How many lines have these words.
    fn count(&self, words: &[&str]) -> usize {
        let has = |line: &&str| words.iter().all(|word| line.contains(word));
        self.server.log().lines().filter(has).count()
    }

    fn path(&self, file: &str) -> String {
        self.files.path().join(file).display().to_string()
    }
}

#[test]
fn zones_that_come_change_and_go_are_named() {
    let fixture = Fixture::start(&["one.example.", "two.example."], "");
    let (one, two, three) =
        (fixture.path("one.example."), fixture.path("two.example."), fixture.path("three.example."));
    fixture.server.await_log(&format!("INFO zone one.example. loaded (start): serial 1, from {one}"));
    fixture.server.await_log(&format!("INFO zone two.example. loaded (start): serial 1, from {two}"));
    fixture.write("one.example.", 2);
    fixture.ctl(&["reload"]);
    fixture
        .server
        .await_log(&format!("INFO zone one.example. changed (reload): serial 2, was 1, from {one}"));
    fixture.write("two.example.", 7);
    fixture.ctl(&["reload", "two.example."]);
    fixture
        .server
        .await_log(&format!("INFO zone two.example. changed (reload): serial 7, was 1, from {two}"));
    fixture.write("three.example.", 5);
    fixture.ctl(&["add-zone", "three.example.", &three]);
    fixture.server.await_log(&format!("INFO zone three.example. loaded (command): serial 5, from {three}"));
    fixture.ctl(&["remove-zone", "three.example."]);
    fixture.server.await_log("INFO zone three.example. removed (command): serial 5");
    fixture.keep_first();
    fixture.server.await_log("INFO zone two.example. removed (reload): serial 7");
    for words in
        ["two.example. changed", "two.example. removed", "three.example. loaded", "one.example. changed"]
    {
        assert_eq!(fixture.count(&["INFO zone", words]), 1, "{words} once:\n{}", fixture.server.log());
    }
}

#[test]
fn zones_that_are_stored_are_named_at_the_start() {
    let mut fixture = Fixture::start(&["one.example.", "two.example."], "pack-directory = \"FILES/packs\"\n");
    await_that("a pack", || {
        let mut files = fs::read_dir(fixture.path("packs")).expect("a folder").flatten();
        files.any(|file| file.file_name().to_string_lossy().ends_with(".zpack"))
    });
    signal(fixture.server.process.pid(), "TERM");
    fixture.server.process.wait(Duration::from_secs(10)).expect("an end");
    fixture.write("two.example.", 9);
    let command = zonda_tests::server::program_command(&[
        "serve",
        "--config",
        text(&fixture.server.path("zonda.toml")),
    ]);
    // The guard of the first one leaves it behind, and that of the next would take it for its own.
    fs::remove_file(fixture.server.path("ended")).expect("the end of the first");
    fixture.server.process = zonda_tests::server::Guarded::spawn(command, fixture.server.scratch.path());
    fixture.server.await_log("INFO zone one.example. loaded (start): serial 1, as it was stored");
    fixture.server.await_log("INFO zone two.example. changed (start): serial 9, was 1, from ");
}

/// More zones than are named.
const MANY: usize = 130;
const NAMED: usize = 100;

#[test]
fn of_many_zones_some_are_named_and_the_others_counted() {
    let files = tempfile::tempdir().expect("a scratch folder");
    let folder = files.path().join("zones");
    fs::create_dir(&folder).expect("a folder");
    let write_all = |text: &str| {
        for zone in 0..MANY {
            fs::write(folder.join(format!("z{zone}.example.zone")), text).expect("a zone file");
        }
    };
    write_all(SOUND);
    let more = format!("\n[[zone-directory]]\npath = \"{}\"\n", folder.display());
    let fixture = Fixture::start(&[], &more);
    fixture.server.await_log("INFO 30 zones more (start)");
    assert_eq!(fixture.count(&["INFO zone ", " loaded (start)"]), NAMED);
    write_all("nonsense\n");
    let broken = ctl(&fixture.server, &["reload"]);
    let reply = String::from_utf8_lossy(&broken.stderr);
    assert_eq!((broken.status.code(), reply.matches("zonda: zone ").count()), (Some(1), NAMED), "{reply}");
    assert!(reply.contains("more zones are not loaded; `zonda ctl zones` shows them"), "{reply}");
    fixture.server.await_log("ERROR 30 zones more not loaded (reload)");
    assert_eq!(fixture.count(&["ERROR zone ", " not loaded"]), NAMED);
    assert_eq!(fixture.count(&["ERROR", ".example.zone:1:"]), NAMED, "and why");
    fs::remove_dir_all(&folder).expect("the folder goes");
    fs::create_dir(&folder).expect("a folder");
    fixture.ctl(&["reload"]);
    fixture.server.await_log("INFO 30 zones more (reload)");
    assert_eq!(fixture.count(&["INFO zone ", " removed (reload): serial 1"]), NAMED);
}

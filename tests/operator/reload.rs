//! Changes while serving: what is broken keeps the old state, what is sound is taken up, nobody waits.

use std::fs;
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_that};
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, settings, signal, write};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, text};

/// A server of two zones whose files the test may change.
struct Fixture {
    files: tempfile::TempDir,
    server: Server,
}

fn fixture() -> Fixture {
    let files = tempfile::tempdir().expect("a scratch folder");
    let zones = zones(&files);
    for zone in &zones {
        fs::write(&zone.path, SOUND).expect("a zone file");
    }
    Fixture { server: Server::start(Kind::Zonda, &zones), files }
}

fn zones(files: &tempfile::TempDir) -> [ZoneFile; 2] {
    ["one.example.", "two.example."].map(|name| ZoneFile::new(name, files.path().join(name)))
}

impl Fixture {
    /// The A record of `www` of a zone, as text.
    fn address(&self, zone: &str) -> String {
        let response = self.ask(&format!("www.{zone}"));
        response
            .answer
            .first()
            .map_or_else(|| "none".into(), |record| rtype::rdata_text(rtype::A, &record.rdata))
    }

    fn ask(&self, name: &str) -> Response {
        ask(self.server.address, Transport::Udp, &Query::new(name, rtype::A))
    }

    fn write(&self, zone: &str, content: &str) {
        fs::write(self.files.path().join(zone), content).expect("a zone file");
    }

    /// Waits until the zone answers with this address.
    #[track_caller]
    fn await_address(&self, zone: &str, address: &str) {
        await_or(|| format!("{zone} still has {}", self.address(zone)), || self.address(zone) == address);
    }
}

/// The small zone with another address and serial.
fn changed(address: &str, serial: u32) -> String {
    SOUND.replace("192.0.2.2", address).replace("host 1 ", &format!("host {serial} "))
}

#[test]
fn sighup_takes_up_what_changed() {
    let fixture = fixture();
    assert_eq!(fixture.address("one.example."), "192.0.2.2");
    fixture.write("one.example.", &changed("192.0.2.99", 2));
    signal(fixture.server.process.pid(), "HUP");
    fixture.await_address("one.example.", "192.0.2.99");
    assert_eq!(fixture.address("two.example."), "192.0.2.2");
}

#[test]
fn ctl_reload_takes_up_one_zone() {
    let fixture = fixture();
    fixture.write("one.example.", &changed("192.0.2.99", 2));
    fixture.write("two.example.", &changed("192.0.2.98", 2));
    let output = ctl(&fixture.server, &["reload", "one.example."]);
    assert!(output.status.success(), "{output:?}");
    fixture.await_address("one.example.", "192.0.2.99");
    assert_eq!(fixture.address("two.example."), "192.0.2.2", "nobody asked for this one");
    assert!(ctl(&fixture.server, &["reload"]).status.success());
    fixture.await_address("two.example.", "192.0.2.98");
}

#[test]
fn a_broken_file_keeps_the_old_zone() {
    let fixture = fixture();
    for broken in ["", "nonsense\n", "@ SOA ns host ( 1 2", "\0\0\0\0", "$INCLUDE one.example.\n"] {
        fixture.write("one.example.", broken);
        let output = ctl(&fixture.server, &["reload", "one.example."]);
        assert_eq!(output.status.code(), Some(1), "{broken:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("one.example."), "{broken:?}: {said}");
        assert_eq!(fixture.address("one.example."), "192.0.2.2", "{broken:?}");
    }
    fs::remove_file(fixture.files.path().join("one.example.")).expect("the file goes");
    assert_eq!(ctl(&fixture.server, &["reload", "one.example."]).status.code(), Some(1));
    assert_eq!(fixture.address("one.example."), "192.0.2.2", "the file is gone");
    // And it is not stuck: a sound file is taken up again.
    fixture.write("one.example.", &changed("192.0.2.97", 3));
    assert!(ctl(&fixture.server, &["reload", "one.example."]).status.success());
    fixture.await_address("one.example.", "192.0.2.97");
}

#[test]
fn broken_settings_keep_the_old_ones() {
    let fixture = fixture();
    let sound = fs::read_to_string(fixture.server.path("zonda.toml")).expect("the settings");
    fs::write(fixture.server.path("zonda.toml"), "[server]\nlistne = 1\n").expect("the settings");
    signal(fixture.server.process.pid(), "HUP");
    fixture.server.await_log("listne");
    assert_eq!(fixture.address("one.example."), "192.0.2.2");
    fs::write(fixture.server.path("zonda.toml"), sound).expect("the settings");
}

#[test]
fn zones_come_and_go_with_the_settings() {
    let fixture = fixture();
    let zones = zones(&fixture.files);
    let only_one = settings(fixture.server.scratch.path(), fixture.server.address, &zones[..1], "");
    write(fixture.server.scratch.path(), "zonda.toml", &only_one);
    signal(fixture.server.process.pid(), "HUP");
    await_that("the end of two.example.", || fixture.ask("www.two.example.").rcode() == 5);
    assert_eq!(fixture.address("one.example."), "192.0.2.2");
}

#[test]
fn add_zone_and_remove_zone() {
    let fixture = fixture();
    let path = fixture.files.path().join("three.example.");
    fs::write(&path, changed("192.0.2.33", 1)).expect("a zone file");
    assert_eq!(fixture.ask("www.three.example.").rcode(), 5);
    let output = ctl(&fixture.server, &["add-zone", "three.example.", text(&path)]);
    assert!(output.status.success(), "{output:?}");
    fixture.await_address("three.example.", "192.0.2.33");
    let output = ctl(&fixture.server, &["remove-zone", "three.example."]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fixture.ask("www.three.example.").rcode(), 5);
    let output = ctl(&fixture.server, &["remove-zone", "three.example."]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn status_zones_and_stats_are_told() {
    let fixture = fixture();
    let said = |arguments: &[&str]| {
        let output = ctl(&fixture.server, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(!said(&["status"]).is_empty());
    let zones = said(&["zones"]);
    assert!(zones.contains("one.example.") && zones.contains("two.example."), "{zones}");
    let stats = said(&["stats"]);
    assert!(stats.contains("\nzones\n") && stats.contains("\n  pinned-now "), "{stats}");
    for command in ["status", "zones", "stats"] {
        let text = said(&[command, "--json"]);
        assert!(!text.is_empty(), "{command}");
        for line in text.lines() {
            let value: Result<serde_json::Value, _> = serde_json::from_str(line);
            assert!(value.is_ok_and(|value| value.is_object()), "{command}: {line}");
        }
    }
}

#[test]
fn ctl_without_a_server_fails() {
    let mut fixture = fixture();
    fixture.server.process.stop();
    let output = ctl(&fixture.server, &["status"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn queries_are_answered_while_zones_change() {
    let fixture = fixture();
    let address = fixture.server.address;
    let done = std::sync::atomic::AtomicBool::new(false);
    let (asked, slowest) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let query = Query::new("www.two.example.", rtype::A).octets();
            let (mut asked, mut slowest) = (0, Duration::ZERO);
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let began = Instant::now();
                let answer = udp_within(address, &query, Duration::from_secs(2)).expect("an exchange");
                assert!(
                    answer.is_some_and(|answer| answer[3] & 0xf == 0 && answer[7] == 1),
                    "query {asked} is lost"
                );
                slowest = slowest.max(began.elapsed());
                asked += 1;
            }
            (asked, slowest)
        });
        for serial in 2..40 {
            fixture.write("one.example.", &changed(&format!("192.0.2.{serial}"), serial));
            fixture.write("two.example.", &changed(&format!("192.0.2.{serial}"), serial));
            assert!(ctl(&fixture.server, &["reload"]).status.success());
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        asking.join().expect("all queries are answered")
    });
    assert!(asked > 100, "{asked} queries");
    eprintln!("{asked} queries during 38 reloads, the slowest took {slowest:?}");
}

#[test]
fn sigterm_ends_it_in_order() {
    let mut fixture = fixture();
    signal(fixture.server.process.pid(), "TERM");
    let status = fixture.server.process.wait(Duration::from_secs(10)).expect("an end");
    assert_eq!(status.code(), Some(0), "{}", fixture.server.log());
}

/// Writes settings with more lines at their end and has the server read them; says how `ctl reload` ended.
fn reload_with(fixture: &Fixture, more: &str) -> std::process::Output {
    let scratch = fixture.server.scratch.path();
    let text = settings(scratch, fixture.server.address, &zones(&fixture.files), "");
    write(scratch, "zonda.toml", &format!("{text}{more}"));
    ctl(&fixture.server, &["reload"])
}

#[test]
fn a_broken_new_zone_below_a_served_one_takes_nothing_away() {
    let fixture = fixture();
    let parent = format!("{SOUND}www.sub A 192.0.2.44\n");
    fixture.write("one.example.", &parent);
    assert!(ctl(&fixture.server, &["reload"]).status.success());
    fixture.await_address("sub.one.example.", "192.0.2.44");
    fixture.write("sub.one.example.", "nonsense\n");
    let path = fixture.files.path().join("sub.one.example.");
    let more = format!("\n[[zone]]\nname = \"sub.one.example.\"\nfile = \"{}\"\n", path.display());
    let output = reload_with(&fixture, &more);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("sub.one.example.:1:") && said.contains("the zone above"), "{said}");
    assert_eq!(fixture.address("sub.one.example."), "192.0.2.44", "as before");
    // A change elsewhere does not bring it out either.
    fixture.write("two.example.", &changed("192.0.2.45", 2));
    assert!(ctl(&fixture.server, &["reload", "two.example."]).status.success());
    assert_eq!(fixture.address("sub.one.example."), "192.0.2.44", "as before");
    fixture.write("sub.one.example.", &changed("192.0.2.46", 1));
    assert!(ctl(&fixture.server, &["reload", "sub.one.example."]).status.success());
    fixture.await_address("sub.one.example.", "192.0.2.46");
}

/// How many packs are in the pack folder.
fn packs(fixture: &Fixture) -> usize {
    let entries = fs::read_dir(fixture.files.path().join("packs")).expect("the pack folder");
    let is_pack = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".zpack");
    entries.filter(|entry| is_pack(entry.as_ref().expect("an entry").file_name())).count()
}

#[test]
fn packs_are_tidied_and_publish_nothing_that_nobody_asked_for() {
    const ZONES: usize = 90;
    const PACKS_MAX: usize = 64;
    let files = tempfile::tempdir().expect("a scratch folder");
    let name = |number: usize| format!("z{number}.example.");
    let zones: Vec<ZoneFile> =
        (0..ZONES).map(|number| ZoneFile::new(&name(number), files.path().join(name(number)))).collect();
    zones.iter().for_each(|zone| fs::write(&zone.path, SOUND).expect("a zone file"));
    let folder = format!("pack-directory = \"{}\"\n", files.path().join("packs").display());
    let fixture = Fixture { server: Server::start_with(Kind::Zonda, &zones, &folder), files };
    (0..ZONES).for_each(|number| fixture.write(&name(number), &changed("192.0.2.50", 2)));
    // A file that is younger than a tick of the clock is never taken for one that has not changed.
    std::thread::sleep(Duration::from_millis(30));
    for number in 0..ZONES {
        assert!(ctl(&fixture.server, &["reload", &name(number)]).status.success());
        if number == 0 {
            fixture.write(&name(0), &changed("192.0.2.51", 3));
        }
    }
    await_or(|| format!("{} packs", packs(&fixture)), || packs(&fixture) <= PACKS_MAX);
    let output = ctl(&fixture.server, &["reconfigure"]);
    assert!(output.status.success(), "{output:?}");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(fixture.address("z0.example."), "192.0.2.50", "only `reload` reads what has changed");
    assert_eq!(fixture.address("z89.example."), "192.0.2.50");
    let output = ctl(&fixture.server, &["reload"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 zone loaded"), "the change is told when it is taken up: {said}");
    assert_eq!(fixture.address("z0.example."), "192.0.2.51");
}

#[test]
fn a_warning_about_the_serial_only_if_the_zone_changed() {
    let fixture = fixture();
    let warnings = |content: &str| {
        fixture.write("one.example.", content);
        let output = ctl(&fixture.server, &["reload", "one.example."]);
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 zone loaded"), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(warnings(SOUND), "", "touched");
    assert_eq!(warnings(&format!("{SOUND}; a comment\n")), "", "a comment");
    let said = warnings(&SOUND.replace("192.0.2.2", "192.0.2.3"));
    assert!(said.contains("serial did not change"), "{said}");
}

#[test]
fn a_zone_directory_that_is_empty_now_is_told() {
    let fixture = fixture();
    let folder = fixture.files.path().join("more");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("three.example.zone"), SOUND).expect("a zone file");
    let more = format!("\n[[zone-directory]]\npath = \"{}\"\n", folder.display());
    assert!(reload_with(&fixture, &more).status.success());
    fixture.await_address("three.example.", "192.0.2.2");
    fs::remove_file(folder.join("three.example.zone")).expect("the file goes");
    let output = ctl(&fixture.server, &["reload"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no zone is in it any more"), "{said}");
    assert_eq!(fixture.ask("www.three.example.").rcode(), 5);
}

#[test]
fn a_pack_that_was_written_into_is_told_and_taken_up() {
    use crate::kit::zonda;
    let files = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| files.path().join(name);
    let compile = |pack: &str, zones: &[&str], address: &str| {
        fs::write(path("text"), changed(address, 2)).expect("a zone file");
        let zones = zones.iter().map(|zone| format!("{zone}={}", text(&path("text"))));
        let first = ["compile".to_owned(), "-o".to_owned(), text(&path(pack)).to_owned()];
        zonda(&first.into_iter().chain(zones).collect::<Vec<_>>()).assert_fine();
    };
    compile("served.pack", &["one.example."], "192.0.2.60");
    // Longer, and with another zone first: what is mapped names another zone where this one was.
    let names = ["two.example.", "three.example.", "four.example.", "five.example.", "one.example."];
    compile("new.pack", &names, "192.0.2.61");
    let zones = [ZoneFile::new("one.example.", path("served.pack"))];
    let server = Server::start(Kind::Zonda, &zones);
    let fixture = Fixture { server, files };
    assert_eq!(fixture.address("one.example."), "192.0.2.60");
    std::thread::sleep(Duration::from_millis(20));
    let new = fs::read(fixture.files.path().join("new.pack")).expect("a pack");
    let mut served =
        fs::File::options().write(true).open(fixture.files.path().join("served.pack")).expect("the pack");
    std::io::Write::write_all(&mut served, &new).expect("a write into the pack");
    let output = ctl(&fixture.server, &["reload"]);
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("written into") && said.contains("1 zone loaded"), "{said}");
    assert!(!said.contains("added"), "it is the zone that was served: {said}");
    assert_eq!(fixture.address("one.example."), "192.0.2.61");
}

/// Whether aliases lead from zone to zone is settable while the server runs, and answers that were kept are made anew.
#[test]
fn aliases_across_zones_by_the_settings() {
    let fixture = fixture();
    fixture.write(
        "one.example.",
        &format!("{SOUND}across CNAME www.two.example.\nnear CNAME www\nd DNAME two.example.\n"),
    );
    assert!(ctl(&fixture.server, &["reload", "one.example."]).status.success());
    let zones = zones(&fixture.files);
    // Often enough for the answer to be one that was kept.
    let records = |name: &str| {
        let answers: Vec<usize> = (0..5).map(|_| fixture.ask(name).answer.len()).collect();
        assert!(answers.iter().all(|count| *count == answers[0]), "{name}: {answers:?}");
        answers[0]
    };
    let is_followed = |line: &str| {
        let text = settings(fixture.server.scratch.path(), fixture.server.address, &zones, line);
        write(fixture.server.scratch.path(), "zonda.toml", &text);
        assert!(ctl(&fixture.server, &["reconfigure"]).status.success(), "{line}");
        assert_eq!(records("near.one.example."), 2, "within the zone");
        let counts = (records("across.one.example."), records("www.d.one.example."));
        assert!(matches!(counts, (1, 2) | (2, 3)), "{counts:?}");
        counts == (2, 3)
    };
    assert!(is_followed(""), "the default");
    assert!(!is_followed("aliases-across-zones = false\n"));
    assert!(is_followed("aliases-across-zones = true\n"));
    assert!(!is_followed("aliases-across-zones = false\n"));
}

/// Name, nice value and policy (3: `SCHED_BATCH`) of the threads of a process.
fn threads(pid: u32) -> Vec<(String, i64, i64)> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let read = |task: std::path::PathBuf| {
        let stat = fs::read_to_string(task.join("stat")).ok()?;
        let (head, rest) = stat.rsplit_once(") ")?;
        // From the third field on; the nineteenth and the forty-first.
        let field = |number: usize| rest.split(' ').nth(number - 3)?.parse().ok();
        Some((head.split_once('(')?.1.to_owned(), field(19)?, field(41)?))
    };
    tasks.flatten().filter_map(|task| read(task.path())).collect()
}

/// What reads and packs a zone has the lowest priority; what answers and what publishes has not.
#[test]
fn what_loads_beside_workers_leaves_them_the_processors() {
    let fixture = fixture();
    let pid = fixture.server.process.pid();
    let usual = threads(pid)[0].1;
    let records: String = (0..200_000).map(|number| format!("n{number} A 192.0.2.1\n")).collect();
    fixture.write("one.example.", &(SOUND.replace("192.0.2.2", "192.0.2.9") + &records));
    let mut seen = std::collections::BTreeSet::new();
    std::thread::scope(|scope| {
        let reload = scope.spawn(|| ctl(&fixture.server, &["reload", "one.example."]));
        while !reload.is_finished() {
            seen.extend(threads(pid));
        }
        let said = reload.join().expect("a reply");
        assert!(said.status.success(), "{said:?}");
    });
    assert_eq!(fixture.address("one.example."), "192.0.2.9");
    let is_usual = |name: &str| seen.iter().filter(|thread| thread.0 == name).all(|thread| thread.1 == usual);
    assert!(seen.contains(&("loader".to_owned(), 19, 3)), "{seen:?}");
    assert!(["worker-0", "control", "control-client", "zonda"].into_iter().all(is_usual), "{seen:?}");
}

//! Thousands of zones of which each changes once: what is kept of them falls back as they are stored, and after `kill -9` all of it is served, with IXFR from before.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, signal};
use zonda_tests::zone::ZoneFile;

const ZONES: usize = 2_000;
/// `changed-zones`: as many as may have changed and not be stored.
const CHANGED_MAX: u64 = 64;
/// How long zones may take until they are at rest.
const REST_PATIENCE: Duration = Duration::from_secs(180);
/// Names of each zone: a difference is shorter than the zone.
const NAMES: usize = 20;

fn files() -> tempfile::TempDir {
    let files = tempfile::tempdir().expect("a scratch folder");
    let mut text = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n".to_owned();
    (0..NAMES).for_each(|name| writeln!(text, "h{name} A 192.0.2.2").expect("a line"));
    std::fs::write(files.path().join("zone"), text).expect("a text");
    std::fs::write(files.path().join("static"), "@ 60 SOA ns. host. 1 2 3 4 5\n@ 60 NS ns.\n")
        .expect("a text");
    let names: String = (0..ZONES).map(|zone| format!("z{zone}.test.\n")).collect();
    std::fs::write(files.path().join("names"), names).expect("a list");
    files
}

fn start(files: &Path) -> Server {
    let path = files.display();
    let settings = format!(
        "pack-directory = \"{path}/packs\"\nchanged-zones = {CHANGED_MAX}\n\
         [access]\nupdate = \"all\"\ntransfer = \"all\"\n\
         [[zone]]\nnames-file = \"{path}/names\"\nfile = \"{path}/zone\"\n"
    );
    let file = ZoneFile::new("static.test.", files.join("static"));
    let server = Server::start_with(Kind::Zonda, &[file], &settings);
    server.await_zones();
    await_that("all zones", || serial(&server, ZONES - 1).is_some());
    server
}

fn kill(mut server: Server) {
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

/// Has each of some zones get a name, one message a zone.
fn change(server: &Server, zones: impl Iterator<Item = usize>, name: &str) {
    let mut script = format!("server 127.0.0.1 {}\n", server.address.port());
    for zone in zones {
        let _ = writeln!(script, "zone z{zone}.test.\nupdate add {name}.z{zone}.test. 60 A 192.0.2.9\nsend");
    }
    let mut command = Command::new("nsupdate");
    command
        .args(["-t", "60", "-u", "10", "-r", "5"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program nsupdate (package bind9-dnsutils)");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), server.log());
}

fn serial(server: &Server, zone: usize) -> Option<u32> {
    let response = ask(server.address, Transport::Udp, &Query::new(&format!("z{zone}.test."), rtype::SOA));
    let soa = response.answer.first()?.rdata.clone();
    Some(u32::from_be_bytes(*soa[soa.len() - 20..].first_chunk()?))
}

fn has(server: &Server, zone: usize, name: &str) -> bool {
    let query = Query::new(&format!("{name}.z{zone}.test."), rtype::A);
    ask(server.address, Transport::Udp, &query).answer.len() == 1
}

/// Serials of the SOA records that come for IXFR from a serial on; whether all of the zone came.
fn ixfr(server: &Server, zone: usize, from: u32) -> (Vec<u32>, bool) {
    let mut dig = Command::new("dig");
    dig.args(["@127.0.0.1", "-p", &server.address.port().to_string(), "+tries=1", "+noall", "+answer"]);
    dig.args([format!("z{zone}.test."), format!("ixfr={from}")]);
    let output = dig.output().expect("the program dig (package bind9-dnsutils)");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<Vec<&str>> = lines
        .lines()
        .filter(|line| !line.starts_with(';'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let serials = lines.iter().filter(|words| words.get(3) == Some(&"SOA"));
    let serials = serials.map(|words| words[6].parse().expect("a serial")).collect();
    (serials, lines.iter().filter(|words| words.get(3) == Some(&"A")).count() >= NAMES)
}

/// What is counted of zones that have changed.
fn counted(server: &Server, name: &str) -> u64 {
    let output = ctl(server, &["stats", "--json"]);
    let stats: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let all = stats["zones"].as_array().expect("a list");
    all.iter().find(|count| count["name"] == name).and_then(|count| count["count"].as_u64()).expect(name)
}

fn memory_of_changes(server: &Server) -> u64 {
    let output = ctl(server, &["stats", "--json"]);
    let stats: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let parts = stats["memory"]["parts"].as_array().expect("a list");
    parts
        .iter()
        .find(|part| part["name"] == "changes")
        .and_then(|part| part["count"].as_u64())
        .expect("a part")
}

/// Texts of all these zones are kept first, some files each, which a disk that others use takes its time for.
#[track_caller]
fn await_rest(server: &Server, is_over: impl Fn() -> bool) {
    let until = Instant::now() + REST_PATIENCE;
    while !is_over() {
        assert!(
            Instant::now() < until,
            "{} are not at rest\n{}",
            counted(server, "zones-changed"),
            server.log()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn zones_that_changed_once_take_nothing() {
    let files = files();
    let server = start(files.path());
    assert_eq!(counted(&server, "zones-changed"), 0);
    let began = Instant::now();
    change(&server, 0..ZONES, "once");
    await_rest(&server, || counted(&server, "zones-changed") <= CHANGED_MAX);
    await_that("its memory", || memory_of_changes(&server) <= CHANGED_MAX * 16 * 1024);
    let rested = counted(&server, "zones-rested");
    eprintln!("{ZONES} zones changed, {rested} at rest after {:?}", began.elapsed());
    assert!(rested >= ZONES as u64 - CHANGED_MAX, "{rested}\n{}", server.log());
    kill(server);

    let server = start(files.path());
    for zone in 0..ZONES {
        assert_eq!(serial(&server, zone), Some(2), "z{zone}\n{}", server.log());
    }
    assert!((0..ZONES).step_by(7).all(|zone| has(&server, zone, "once")));
    assert!(counted(&server, "zones-changed") <= CHANGED_MAX, "the log has the others no more");
    for zone in (0..ZONES).step_by(101) {
        assert_eq!(ixfr(&server, zone, 1), (vec![2, 1, 2, 2], false), "z{zone}");
    }
    // Back again, and killed before they rest.
    change(&server, (0..ZONES).step_by(101), "twice");
    kill(server);

    let server = start(files.path());
    for zone in (0..ZONES).step_by(101) {
        assert!(has(&server, zone, "once") && has(&server, zone, "twice"), "z{zone}");
        assert_eq!(serial(&server, zone), Some(3));
        assert_eq!(ixfr(&server, zone, 1), (vec![3, 1, 2, 2, 3, 3], false), "z{zone}");
    }
    let output = ctl(&server, &["reload"]);
    assert!(output.status.success());
    // The texts say nothing of it, and are as they were.
    assert!((0..ZONES).step_by(17).all(|zone| has(&server, zone, "once")));
    kill(server);
}

/// The text of a zone at rest is edited: what was edited goes on top of what updates have done.
#[test]
fn the_text_of_a_zone_at_rest_is_edited() {
    let files = files();
    let server = start(files.path());
    change(&server, 0..200, "once");
    await_rest(&server, || counted(&server, "zones-rested") >= 200 - CHANGED_MAX);
    let text = std::fs::read_to_string(files.path().join("zone")).expect("a text");
    std::fs::write(files.path().join("zone"), text + "edited A 192.0.2.3\n").expect("a text");
    let output = ctl(&server, &["reload"]);
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), server.log());
    for zone in (0..200).step_by(3) {
        assert!(has(&server, zone, "once") && has(&server, zone, "edited"), "z{zone}\n{}", server.log());
    }
    kill(server);
    let server = start(files.path());
    for zone in (0..200).step_by(3) {
        assert!(has(&server, zone, "once") && has(&server, zone, "edited"), "z{zone}\n{}", server.log());
    }
    kill(server);
}

/// The packs of zones at rest are gone: they are served as their texts are, which is said, and take no updates until that is accepted.
#[test]
fn zones_whose_packs_are_gone_wait_for_their_operator() {
    let files = files();
    let server = start(files.path());
    change(&server, 0..200, "once");
    await_rest(&server, || counted(&server, "zones-rested") >= 200 - CHANGED_MAX);
    kill(server);
    for file in std::fs::read_dir(files.path().join("packs")).expect("the folder").flatten() {
        if file.path().extension().is_some_and(|extension| extension == "zpack") {
            std::fs::remove_file(file.path()).expect("a pack");
        }
    }
    let zones = ["z0.test.", "z1.test."];
    let is_fault = |server: &Server, zone: &str| {
        let output = ctl(server, &["zones", zone]);
        String::from_utf8_lossy(&output.stdout).contains("fault     the pack that had")
    };
    for _ in 0..2 {
        let server = start(files.path());
        assert!(!has(&server, 0, "once") && !has(&server, 1, "once"), "{}", server.log());
        await_that("faults", || zones.iter().all(|zone| is_fault(&server, zone)));
        assert!(!is_fault(&server, "z1999.test."), "it never changed");
        kill(server);
    }
    let server = start(files.path());
    await_that("faults", || zones.iter().all(|zone| is_fault(&server, zone)));
    let output = ctl(&server, &["thaw", "--accept-loss", zones[0]]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    change(&server, 0..1, "twice");
    change(&server, 1999..2000, "twice");
    kill(server);
    let server = start(files.path());
    assert!(has(&server, 0, "twice") && has(&server, 1999, "twice"), "{}", server.log());
    await_that("the other's fault", || is_fault(&server, zones[1]));
    assert!(!is_fault(&server, zones[0]));
    kill(server);
}

//! A zone of which much has changed is there again soon after the server was killed: a start takes an image of the changes, and the last of them from the log.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::{PATIENCE, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, signal};
use zonda_tests::zone::ZoneFile;

use crate::kit::zonda;

/// Names of the zone, of which each has an address; those of one update, and updates: fewer than have the zone stored anew.
const NAMES: usize = 60_000;
const BATCH: usize = 500;
const BATCHES: usize = 40;
/// How long a start may take, on a machine that has much else to do. Change by change it takes seconds there.
const START: Duration = Duration::from_secs(10);

/// A server of the large zone and a small one. `log`: a setting.
fn start_with(files: &tempfile::TempDir, log: &str) -> Server {
    let more = format!(
        "pack-directory = \"{}/packs\"\n{log}\n[[acl]]\nname = \"here\"\naddresses = [\"127.0.0.1\"]\n\n[access]\nupdate = [\"here\"]\n",
        files.path().display()
    );
    let zone = |name: &str, file: &str| ZoneFile::new(name, files.path().join(file));
    let zones = [zone("large.test.", "zone"), zone("small.test.", "small")];
    let server = Server::start_with(Kind::Zonda, &zones, &more);
    server.await_zones();
    server
}

fn start(files: &tempfile::TempDir) -> Server {
    start_with(files, "")
}

/// Has each name of some batches get another address, one message a batch.
fn change(server: &Server, batches: std::ops::Range<usize>) {
    let mut script = "zone large.test.\n".to_owned();
    for name in batches.clone().flat_map(|batch| batch * BATCH..(batch + 1) * BATCH) {
        let _ = writeln!(
            script,
            "update delete h{name}.large.test. A\nupdate add h{name}.large.test. 60 A 10.1.{}.{}",
            name / 250,
            name % 250
        );
        if (name + 1).is_multiple_of(BATCH) {
            script += "send\n";
        }
    }
    update(server, &script);
}

/// Has texts of the small zone be others, some 110 KB of the log in each of so many messages.
fn fill(server: &Server, messages: usize) {
    let mut script = "zone small.test.\n".to_owned();
    for message in 0..messages {
        let text = format!("{message:04}-").repeat(50);
        for name in 0..200 {
            let _ = writeln!(
                script,
                "update delete n{name}.small.test. TXT\nupdate add n{name}.small.test. 60 TXT \"{text}\""
            );
        }
        script += "send\n";
    }
    update(server, &script);
}

fn update(server: &Server, script: &str) {
    let script = format!("server 127.0.0.1 {}\n{script}", server.address.port());
    let mut command = Command::new("nsupdate");
    command.args(["-v", "-t", "20"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program nsupdate (package bind9-dnsutils)");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    assert!(child.wait().expect("an end").success(), "{}", server.log());
}

#[track_caller]
fn check(server: &Server, changed: usize) {
    for name in (0..NAMES).step_by(97) {
        let expected =
            if name < changed { [10, 1, (name / 250) as u8, (name % 250) as u8] } else { [192, 0, 2, 1] };
        let response =
            ask(server.address, Transport::Udp, &Query::new(&format!("h{name}.large.test."), rtype::A));
        let found: Vec<&[u8]> = response.answer.iter().map(|record| &record.rdata[..]).collect();
        assert_eq!(found, [&expected[..]], "h{name} of {changed} that were changed");
    }
}

fn kill(mut server: Server) {
    signal(server.process.pid(), "KILL");
    server.process.wait(PATIENCE).expect("an end");
}

/// Texts of both zones.
fn texts() -> tempfile::TempDir {
    let files = tempfile::tempdir().expect("a scratch folder");
    let mut text = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n".to_owned();
    std::fs::write(files.path().join("small"), &text).expect("a text");
    (0..NAMES).for_each(|name| {
        let _ = writeln!(text, "h{name} A 192.0.2.1");
    });
    std::fs::write(files.path().join("zone"), text).expect("a text");
    files
}

/// How many images are stored.
fn images(files: &tempfile::TempDir) -> usize {
    let all = std::fs::read_dir(files.path().join("packs/journal/images")).into_iter().flatten().flatten();
    all.filter(|entry| entry.path().extension().is_some_and(|end| end == "delta")).count()
}

#[test]
fn a_start_takes_an_image_and_the_last_changes() {
    let files = texts();
    let server = start(&files);
    change(&server, 0..BATCHES - 2);
    await_that("an image of the changes", || images(&files) == 1);
    change(&server, BATCHES - 2..BATCHES);
    kill(server);
    let started = Instant::now();
    let server = start(&files);
    assert!(started.elapsed() < START, "{:?}", started.elapsed());
    assert!(server.log().contains("1 of them from images"), "{}", server.log());
    check(&server, BATCHES * BATCH);
    // And goes on, with an image that is cut off in the midst.
    change(&server, BATCHES..BATCHES + 1);
    kill(server);
    for image in std::fs::read_dir(files.path().join("packs/journal/images")).expect("images").flatten() {
        let octets = std::fs::read(image.path()).expect("an image");
        std::fs::write(image.path(), &octets[..octets.len() / 2]).expect("half of it");
    }
    let packs = files.path().join("packs").display().to_string();
    zonda(&["journal", "--folder", &packs, "verify"])
        .assert_fails(1, &["journal/images/checkpoint-1.delta: damaged"]);
    let server = start(&files);
    assert!(server.log().contains("0 of them from images"), "{}", server.log());
    check(&server, (BATCHES + 1) * BATCH);
}

/// The number of the anchor: it grows with each time that the log is shortened.
fn shortened(files: &tempfile::TempDir) -> u64 {
    let octets = std::fs::read(files.path().join("packs/journal/anchor")).expect("an anchor");
    let numbers = octets.chunks(4096).filter_map(|page| page.get(16..24)?.first_chunk().copied());
    numbers.map(u64::from_le_bytes).max().expect("a page")
}

/// Changes of another zone fill the log, which is shortened: what the large zone begins from is said anew, and nothing of it changes after that.
#[test]
fn a_start_takes_an_image_after_the_log_was_shortened() {
    let files = texts();
    // The shortest that may be: a third of it is 8 MiB.
    let start = || start_with(&files, "journal-octets = 25165824\n");
    let server = start();
    change(&server, 0..BATCHES);
    await_that("an image of the changes", || images(&files) == 1);
    let before = shortened(&files);
    fill(&server, 80);
    await_that("a shorter log", || shortened(&files) > before);
    await_that("an image of what is said anew", || images(&files) == 2);
    kill(server);
    let packs = files.path().join("packs").display().to_string();
    let said = zonda(&["journal", "--folder", &packs, "verify"]);
    assert!(
        said.status == 0 && said.output.contains("zone large.test.: 2 images; a start takes"),
        "{said:?}"
    );
    let server = start();
    assert!(server.log().contains("1 of them from images"), "{}", server.log());
    check(&server, BATCHES * BATCH);
    change(&server, BATCHES..BATCHES + 1);
    kill(server);
    let server = start();
    assert!(server.log().contains("1 of them from images"), "{}", server.log());
    check(&server, (BATCHES + 1) * BATCH);
}

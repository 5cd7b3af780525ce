//! Zones that change are stored anew while they are served: few files, nothing lost, whenever the server is killed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{self, Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_that};
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, signal};
use zonda_tests::zone::ZoneFile;

/// Names of the large zone, of which each has an address.
const NAMES: usize = 200_000;
/// Names of one update.
const BATCH: usize = 1_000;

/// How long the second merge may be put off: ten times as long as the first takes on a machine with much else to do.
const SECOND_MERGE_MAX: Duration = Duration::from_secs(300);

/// A server whose zones have this text each, which may be updated from here.
struct Bed {
    files: tempfile::TempDir,
    zones: Vec<String>,
}

impl Bed {
    fn new(zones: Vec<String>, text: &str) -> Bed {
        let files = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(files.path().join("zone"), text).expect("a text");
        Bed { files, zones }
    }

    fn start(&self) -> Server {
        let more = format!(
            "pack-directory = \"{}/packs\"\n\n[[acl]]\nname = \"here\"\naddresses = [\"127.0.0.1\"]\n\n[access]\nupdate = [\"here\"]\n",
            self.files.path().display()
        );
        let zone = |name: &String| ZoneFile::new(name, self.files.path().join("zone"));
        let zones: Vec<ZoneFile> = self.zones.iter().map(zone).collect();
        let server = Server::start_with(Kind::Zonda, &zones, &more);
        server.await_zones();
        server
    }

    /// Names of the packs in the folder.
    fn packs(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.files.path().join("packs")).expect("packs").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".zpack")).collect();
        names.sort();
        names
    }
}

fn kill(mut server: Server) {
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

/// Has `nsupdate` add a second address to each name of some batches, one message a batch. Returns whether all of them were acknowledged.
fn add(server: SocketAddr, batches: std::ops::Range<usize>) -> bool {
    let mut script = format!("server 127.0.0.1 {}\nzone large.test.\n", server.port());
    for batch in batches {
        for name in batch * BATCH..(batch + 1) * BATCH {
            let _ = writeln!(script, "update add h{name}.large.test. 60 A 10.{}.1.1", batch % 250);
        }
        script += "send\n";
    }
    let mut command = Command::new("nsupdate");
    command.args(["-v", "-t", "20"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program nsupdate (package bind9-dnsutils)");
    // It may be gone by then, with the server.
    let _ = child.stdin.take().expect("a pipe").write_all(script.as_bytes());
    child.wait().expect("an end").success()
}

/// Whether a name has what batch `batch` gave it.
fn has(server: SocketAddr, name: usize, batch: usize) -> bool {
    let response = ask(server, Transport::Udp, &Query::new(&format!("h{name}.large.test."), rtype::A));
    response.answer.iter().any(|record| record.rdata == [10, (batch % 250) as u8, 1, 1])
}

#[track_caller]
fn check(server: &Server, batches: usize) {
    for batch in 0..batches {
        for name in [0, BATCH / 3, BATCH - 1] {
            assert!(has(server.address, batch * BATCH + name, batch), "batch {batch} is not there");
        }
    }
}

/// Asks all the time until `is_over`; returns how many were asked and how many of them heard nothing.
fn ask_until(server: SocketAddr, is_over: &AtomicBool) -> (usize, usize) {
    let (mut asked, mut lost) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let name = format!("h{}.large.test.", asked * 7919 % NAMES);
        let message = Query::new(&name, rtype::A).octets();
        let answer = exchange::udp_within(server, &message, Duration::from_secs(5)).expect("a socket");
        asked += 1;
        // What is stored needs the processor more.
        std::thread::sleep(Duration::from_millis(1));
        lost += usize::from(answer.is_none_or(|answer| answer[3] & 15 != 0 || answer[7] == 0));
    }
    (asked, lost)
}

/// A large zone is updated until it is stored anew, again after the server was killed in the midst of that, and answers all the time.
#[test]
fn a_large_zone_is_stored_anew() {
    let mut text = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n".to_owned();
    (0..NAMES).for_each(|name| {
        let _ = writeln!(text, "h{name} A 192.0.2.{}", name % 250);
    });
    let bed = Bed::new(vec!["large.test.".to_owned()], &text);
    let server = bed.start();
    await_that("the zone is stored", || bed.packs().len() == 1);
    let first = bed.packs();
    let (is_over, address) = (AtomicBool::new(false), server.address);
    let (mut batches, queries) = std::thread::scope(|scope| {
        let asker = scope.spawn(|| ask_until(address, &is_over));
        let mut batches = 0;
        while bed.packs() == first {
            if batches + 5 <= 120 {
                assert!(add(address, batches..batches + 5));
                batches += 5;
            } else {
                await_or(|| format!("no merge after {batches} thousand updates"), || bed.packs() != first);
            }
        }
        await_that("the pack before is not needed any more", || bed.packs().len() == 1);
        is_over.store(true, Ordering::Relaxed);
        (batches, asker.join().expect("no panic"))
    });
    assert!(queries.0 > 0 && queries.1 == 0, "{queries:?}");
    check(&server, batches);
    // Killed while the next one is made.
    let second = bed.packs();
    // Merges take a tenth of the time: where the first took long, the second is due when enough has changed for long.
    let until = Instant::now() + SECOND_MERGE_MAX;
    while bed.packs() == second && !is_written(&bed) {
        if batches < 190 {
            assert!(add(server.address, batches..batches + 1));
            batches += 1;
        } else {
            assert!(Instant::now() < until, "no second merge\n{}", server.log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    kill(server);
    let server = bed.start();
    check(&server, batches);
    // And it goes on, with as many files as before.
    assert!(add(server.address, batches..batches + 2));
    await_that("one pack", || bed.packs().len() == 1);
    kill(server);
    let server = bed.start();
    check(&server, batches + 2);
    assert!(bed.packs().len() <= 2, "{:?}, once {second:?}", bed.packs());
    assert!(!server.log().contains(" ERROR "), "{}", server.log());
}

/// Whether a pack is being written.
fn is_written(bed: &Bed) -> bool {
    let names = std::fs::read_dir(bed.files.path().join("packs")).expect("packs").flatten();
    names.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"))
}

/// An update that adds a name with an address to a zone.
fn message(zone: &str, address: u32) -> Vec<u8> {
    let wire = |name: &str| -> Vec<u8> {
        let labels = name.trim_end_matches('.').split('.');
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).chain([0]).collect()
    };
    let mut message = vec![0, 7, 0x28, 0, 0, 1, 0, 0, 0, 1, 0, 0];
    message.extend([&wire(zone)[..], &[0, 6, 0, 1]].concat());
    message.extend([&wire(&format!("new{address}.{zone}"))[..], &[0, 1, 0, 1, 0, 0, 0, 60, 0, 4]].concat());
    message.extend(address.to_be_bytes());
    message
}

fn update_all(stream: &mut TcpStream, zones: &[String], address: u32) {
    for zone in zones {
        exchange::write_framed(stream, &message(zone, address)).expect("an update by TCP");
        let answer = exchange::read_framed(stream).expect("an answer by TCP");
        assert_eq!(answer[3] & 15, 0, "{answer:02x?}");
    }
}

/// Processor time of a process, in ticks of the system.
fn ticks(pid: u32) -> u64 {
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).expect("a process");
    let behind = stat.rsplit(") ").next().expect("fields").split_whitespace();
    behind.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
}

/// Many small zones that change as soon as they are there: few packs, and no work for nothing, also after starts.
#[test]
fn small_zones_share_packs() {
    let text = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n";
    let bed = Bed::new((0..150).map(|zone| format!("z{zone}.test.")).collect(), text);
    for round in 1..=2u32 {
        let server = bed.start();
        for zone in &bed.zones {
            for before in 1..round {
                let name = format!("new{before}.{zone}");
                let response = ask(server.address, Transport::Udp, &Query::new(&name, rtype::A));
                assert_eq!(response.answer.len(), 1, "{name} of round {before} in round {round}");
            }
        }
        let mut stream = exchange::tcp_stream(server.address).expect("a connection");
        update_all(&mut stream, &bed.zones, round);
        await_that("packs that waited are joined", || (1..=2).contains(&bed.packs().len()));
        // Some time after, nobody is at it any more.
        await_that("quiet", || {
            let before = ticks(server.process.pid());
            std::thread::sleep(Duration::from_secs(1));
            ticks(server.process.pid()) - before <= 20
        });
        assert!(bed.packs().len() <= 2, "{:?}", bed.packs());
        assert!(!server.log().contains(" ERROR "), "{}", server.log());
        kill(server);
    }
}

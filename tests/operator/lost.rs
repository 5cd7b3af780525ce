//! Packs that are cut off while they are served: no wrong answer, no end of the server, and the zones come back.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, signal};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, folder, text, zonda};

/// Names of the zone that is lost: more than answers are kept of in the time of the test, and many pages.
const NAMES: u32 = 20_000;
const SERVFAIL: u16 = 2;
const NXDOMAIN: u16 = 3;

/// A server of `text.example.` from text, with a pack folder, and of its parent and another zone from packs of the operator's.
struct Fixture {
    files: tempfile::TempDir,
    server: Server,
}

impl Fixture {
    fn new() -> Fixture {
        let record = |number: u32| format!("n{number} A 192.0.{}.{}\n", number / 256 % 256, number % 256);
        let names = SOUND.to_owned() + &(0..NAMES).map(record).collect::<String>();
        let files = folder(&[("text", names.as_bytes()), ("sound", SOUND.as_bytes())]);
        let path = |name: &str| files.path().join(name);
        for zone in ["example.", "other.test."] {
            let given = format!("{zone}={}", text(&path("sound")));
            zonda(&["compile", "-o", text(&path(zone)), &given]).assert_fine();
        }
        let mut zones = ["example.", "other.test."].map(|zone| ZoneFile::new(zone, path(zone))).to_vec();
        zones.push(ZoneFile::new("text.example.", path("text")));
        let folder = format!("pack-directory = \"{}\"\n", path("packs").display());
        // A file that is younger than a tick of the clock is read again at the next start.
        std::thread::sleep(Duration::from_millis(30));
        let server = Server::start_with(Kind::Zonda, &zones, &folder);
        Fixture { files, server }
    }

    /// The only pack that is stored.
    fn pack(&self) -> PathBuf {
        let entries = fs::read_dir(self.files.path().join("packs")).expect("the pack folder").flatten();
        let mut packs = entries.map(|entry| entry.path()).filter(|path| text(path).ends_with(".zpack"));
        let pack = packs.next().expect("a pack");
        assert!(packs.next().is_none(), "one pack");
        pack
    }

    fn cut_off(&self, octets: impl Fn(u64) -> u64) {
        let file = File::options().write(true).open(self.pack()).expect("the pack");
        let before = file.metadata().expect("its length").len();
        file.set_len(octets(before)).expect("a shorter pack");
    }

    fn is_back(&self) -> bool {
        self.server.log().contains("zones of damaged packs: 1 zone loaded")
    }
}

/// What a client saw.
#[derive(Debug, Default)]
struct Seen {
    right: u64,
    failed: u64,
    others: u64,
}

/// Asks for one name after the other until told to stop, of the zone, of others and of none; panics at the first answer that is wrong.
fn client(server: &Server, stop: &AtomicBool) -> Seen {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(server.address).expect("a connected socket");
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a time limit");
    let (mut seen, mut number) = (Seen::default(), 0u32);
    let mut buffer = [0; 4096];
    while !stop.load(Ordering::Relaxed) {
        number = (number + 7919) % (NAMES + 1000);
        let name = match number % 16 {
            0 => "www.other.test.".to_owned(),
            1 => "absent.other.test.".to_owned(),
            _ => format!("n{number}.text.example."),
        };
        let is_lost = name.ends_with("text.example.");
        socket.send(&Query::new(&name, rtype::A).octets()).expect("a datagram");
        // One that is lost is asked again.
        let Ok(octets) = socket.recv(&mut buffer) else { continue };
        let response = Response::parse(&buffer[..octets]).expect("a sound answer");
        let address = response.answer.first().map(|record| record.rdata.clone());
        match (is_lost, response.rcode()) {
            (true, SERVFAIL) => seen.failed += 1,
            (true, 0) => {
                let [_, _, high, low] = [192, 0, (number / 256 % 256) as u8, (number % 256) as u8];
                assert_eq!(address.as_deref(), Some(&[192, 0, high, low][..]), "{name}: {response:?}");
                seen.right += 1;
            }
            (true, NXDOMAIN) if number >= NAMES => {
                let soa = response.authority.first().map(|record| record.owner.to_string());
                assert_eq!(soa.as_deref(), Some("text.example."), "{name}: {response:?}");
                seen.right += 1;
            }
            (false, 0) if name.starts_with("www") => {
                assert_eq!(address.as_deref(), Some(&[192, 0, 2, 2][..]), "{response:?}");
                seen.others += 1;
            }
            (false, NXDOMAIN) if name.starts_with("absent") => seen.others += 1,
            _ => panic!("{name}: {response:?}"),
        }
    }
    seen
}

fn cut_off_under_load(octets: impl Fn(u64) -> u64) {
    let fixture = Fixture::new();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients = [0; 2].map(|_| scope.spawn(|| client(&fixture.server, &stop)));
        std::thread::sleep(Duration::from_millis(100));
        fixture.cut_off(octets);
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            await_that("the text read again", || fixture.is_back());
        }));
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            let seen = client.join().expect("right answers");
            assert!(seen.right > 0 && seen.others > 0, "{seen:?}");
            eprintln!("{seen:?}");
        }
        assert!(waited.is_ok());
    });
    assert!(fixture.server.process.is_running());
    let log = fixture.server.log();
    let said = |line: &str| line.contains(".zpack: was cut off") && line.contains("1 zone of it");
    assert!(log.lines().any(said), "{log}");
    let query = Query::new("www.text.example.", rtype::A);
    assert_eq!(ask(fixture.server.address, Transport::Udp, &query).answer.len(), 1);
}

#[test]
fn a_pack_that_is_emptied_under_load() {
    cut_off_under_load(|_| 0);
}

#[test]
fn a_pack_that_is_halved_under_load() {
    cut_off_under_load(|octets| octets / 2 + 77);
}

/// What lies in the last page is not missed by any reader: the length tells.
#[test]
fn a_pack_that_lacks_an_octet() {
    let fixture = Fixture::new();
    fixture.cut_off(|octets| octets - 1);
    await_that("the text read again", || fixture.is_back());
    let query = Query::new("n7.text.example.", rtype::A);
    assert_eq!(ask(fixture.server.address, Transport::Udp, &query).answer.len(), 1);
}

#[test]
fn a_zone_whose_text_is_broken_too_is_absent_and_said_to_be() {
    let fixture = Fixture::new();
    fs::write(fixture.files.path().join("text"), "nonsense\n").expect("a broken text");
    fixture.cut_off(|_| 0);
    let query = |name: &str| ask(fixture.server.address, Transport::Udp, &Query::new(name, rtype::A)).rcode();
    assert_eq!(query("n7.text.example."), SERVFAIL);
    fixture.server.await_log("text.example. not loaded");
    assert_eq!((query("n8.text.example."), query("www.other.test.")), (SERVFAIL, 0));
    let output = zonda_tests::server::ctl(&fixture.server, &["zones", "text.example."]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("absent") && said.contains(":1:"), "{said}");
    // It comes back by itself once there is something to read.
    fs::write(fixture.files.path().join("text"), SOUND).expect("a text");
    await_that("the zone", || query("www.text.example.") == 0);
}

/// A signal that is no fault, and one that is none of a pack's, end the program as they did.
#[test]
fn other_bus_errors_end_the_program() {
    let mut fixture = Fixture::new();
    signal(fixture.server.process.pid(), "BUS");
    let status = fixture.server.process.wait(Duration::from_secs(10)).expect("an end");
    // The shell that guards it says 128 and the signal's number.
    assert!(status.code() == Some(128 + 7) || status.signal() == Some(7), "{status:?}");
}

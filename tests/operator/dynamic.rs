//! Zones that change: `nsupdate` against the program, and what is left after it was killed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zonda_tests::exchange::{self, Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::mutate::Random;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl, signal};
use zonda_tests::zone::ZoneFile;

const KEY: &str = "c2VjcmV0IG9mIHRoZSB0ZXN0cw==";
const ZONE: &str =
    "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\nwww TXT kept\n";

/// Settings of dynamic zones: their files are in `folder`, which also has packs and journal.
fn settings(folder: &Path, zones: usize) -> String {
    let path = folder.display();
    let mut text = format!(
        "pack-directory = \"{path}/packs\"\n\n[[key]]\nname = \"own.\"\nalgorithm = \"hmac-sha256\"\nsecret = \"{KEY}\"\n\n\
         [[acl]]\nname = \"own\"\nkeys = [\"own.\"]\n\n\
         [[update-policy]]\nname = \"own\"\nrules = [\"deny * name fixed.z0.test. ANY\", \"grant own. zonesub ANY\"]\n"
    );
    for zone in 0..zones {
        text += &format!(
            "\n[[zone]]\nname = \"z{zone}.test.\"\nfile = \"{path}/zone\"\nallow-update = \"own\"\nupdate-policy = \"own\"\n"
        );
    }
    text
}

struct Bed {
    files: tempfile::TempDir,
    zones: usize,
}

impl Bed {
    fn new(zones: usize) -> Bed {
        let files = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(files.path().join("zone"), ZONE).expect("a text");
        std::fs::write(files.path().join("static"), ZONE).expect("a text");
        Bed { files, zones }
    }

    fn start(&self) -> Server {
        let file = ZoneFile::new("static.test.", self.files.path().join("static"));
        let server = Server::start_with(Kind::Zonda, &[file], &settings(self.files.path(), self.zones));
        server.await_zones();
        server
    }
}

/// Kills the server, as a power cut of its process does.
fn kill(mut server: Server) {
    signal(server.process.pid(), "KILL");
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

/// Has `nsupdate` send what `script` says, signed; returns whether it was told that it is done, and its words.
fn update(server: &Server, script: &str) -> (bool, String) {
    update_within(server, script, 5)
}

/// The same; `nsupdate` waits so many seconds.
fn update_within(server: &Server, script: &str, seconds: u32) -> (bool, String) {
    let mut command = Command::new("nsupdate");
    command.args(["-t", &seconds.to_string(), "-y", &format!("hmac-sha256:own.:{KEY}")]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program nsupdate (package bind9-dnsutils)");
    let script = format!("server 127.0.0.1 {}\n{script}\nsend\n", server.address.port());
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    let words =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), words)
}

#[track_caller]
fn done(server: &Server, script: &str) {
    let (is_done, words) = update(server, script);
    assert!(is_done, "{script}\n{words}");
}

#[track_caller]
fn refused(server: &Server, script: &str, rcode: &str) {
    let (is_done, words) = update(server, script);
    assert!(!is_done && words.contains(rcode), "{script}\n{words}");
}

/// RDATA of the answer, sorted.
fn data(server: &Server, name: &str, rtype: u16) -> Vec<Vec<u8>> {
    let response = ask(server.address, Transport::Udp, &Query::new(name, rtype));
    let mut all: Vec<_> = response.answer.iter().map(|record| record.rdata.clone()).collect();
    all.sort();
    all
}

fn serial(server: &Server, zone: &str) -> u32 {
    let soa = data(server, zone, rtype::SOA).remove(0);
    u32::from_be_bytes(*soa[soa.len() - 20..].first_chunk().expect("four octets"))
}

#[test]
fn updates_are_served_and_survive() {
    let bed = Bed::new(1);
    let server = bed.start();
    assert_eq!(serial(&server, "z0.test."), 1);
    done(&server, "zone z0.test.\nupdate add new.z0.test. 60 A 192.0.2.9");
    assert_eq!(data(&server, "new.z0.test.", rtype::A), [[192, 0, 2, 9]]);
    assert_eq!(serial(&server, "z0.test."), 2);
    done(
        &server,
        "zone z0.test.\nprereq yxdomain new.z0.test.\nupdate delete www.z0.test. A\nupdate add new.z0.test. 60 A 192.0.2.10",
    );
    assert_eq!(data(&server, "new.z0.test.", rtype::A), [[192, 0, 2, 9], [192, 0, 2, 10]]);
    assert!(data(&server, "www.z0.test.", rtype::A).is_empty());
    assert_eq!(data(&server, "www.z0.test.", rtype::TXT), [b"\x04kept"]);
    refused(
        &server,
        "zone z0.test.\nprereq nxdomain new.z0.test.\nupdate add no.z0.test. 60 A 192.0.2.1",
        "YXDOMAIN",
    );
    refused(&server, "zone static.test.\nupdate add no.static.test. 60 A 192.0.2.1", "REFUSED");
    refused(&server, "zone other.test.\nupdate add no.other.test. 60 A 192.0.2.1", "NOTAUTH");
    refused(&server, "zone z0.test.\nupdate add fixed.z0.test. 60 A 192.0.2.1", "REFUSED");
    // Nothing changes: no new serial.
    done(&server, "zone z0.test.\nupdate add new.z0.test. 60 A 192.0.2.10");
    assert_eq!(serial(&server, "z0.test."), 3);
    kill(server);
    let server = bed.start();
    assert_eq!((serial(&server, "z0.test."), serial(&server, "static.test.")), (3, 1));
    assert_eq!(data(&server, "new.z0.test.", rtype::A), [[192, 0, 2, 9], [192, 0, 2, 10]]);
    assert!(
        data(&server, "www.z0.test.", rtype::A).is_empty()
            && data(&server, "no.z0.test.", rtype::A).is_empty()
    );
    // It goes on from there, and names that came can go.
    done(&server, "zone z0.test.\nupdate delete new.z0.test.");
    let gone = ask(server.address, Transport::Udp, &Query::new("new.z0.test.", rtype::A));
    assert_eq!((gone.rcode(), serial(&server, "z0.test.")), (3, 4));
}

/// An update that gives a name another TXT record, unsigned.
fn text_message(id: u16, zone: &str, name: &str, octet: u8, strings: usize) -> Vec<u8> {
    let wire = |name: &str| -> Vec<u8> {
        let labels = name.trim_end_matches('.').split('.');
        labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).chain([0]).collect()
    };
    let mut message = [&id.to_be_bytes()[..], &[0x28, 0, 0, 1, 0, 0, 0, 2, 0, 0]].concat();
    message.extend([&wire(zone)[..], &[0, 6, 0, 1]].concat());
    message.extend([&wire(name)[..], &[0, 16, 0, 255, 0, 0, 0, 0, 0, 0]].concat());
    let rdata: Vec<u8> = (0..strings).flat_map(|_| [&[255u8][..], &[octet; 255]].concat()).collect();
    let length = (rdata.len() as u16).to_be_bytes();
    message.extend([&wire(name)[..], &[0, 16, 0, 1, 0, 0, 0, 60], &length, &rdata].concat());
    message
}

/// The log is no longer than it may be, whatever is written, and has what is needed.
#[test]
fn the_log_is_kept_short() {
    let files = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(files.path().join("zone"), ZONE).expect("a text");
    let path = files.path().display();
    let start = || {
        let more = format!(
            "pack-directory = \"{path}/packs\"\njournal-octets = {}\n\n[[acl]]\nname = \"here\"\naddresses = [\"127.0.0.1\"]\n\n\
             [access]\nupdate = [\"here\"]\n",
            24 << 20
        );
        let zone = |name: &str| ZoneFile::new(name, files.path().join("zone"));
        Server::start_with(Kind::Zonda, &[zone("a.test."), zone("b.test.")], &more)
    };
    let server = start();
    let mut stream = exchange::tcp_stream(server.address).expect("a connection");
    let mut send = |zone: &str, octet: u8, strings| {
        let message = text_message(7, zone, &format!("t.{zone}"), octet, strings);
        exchange::write_framed(&mut stream, &message).expect("an update by TCP");
        let answer = exchange::read_framed(&mut stream).expect("an answer by TCP");
        assert_eq!(answer[3] & 15, 0, "{answer:02x?}");
    };
    // A signature that is not verified is none that could be left out.
    let mut signed = text_message(8, "b.test.", "t.b.test.", 44, 1);
    signed[11] = 1;
    signed.extend([
        0, 0, 24, 0, 255, 0, 0, 0, 0, 0, 25, 0, 0, 8, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 7, 1,
        b'k', 0,
    ]);
    signed.extend([1; 4]);
    assert_eq!(exchange::tcp(server.address, &signed)[3] & 15, 9);
    // Nothing happens to this one while the other's changes are more than the log may have.
    send("b.test.", 33, 1);
    for octet in (1..=100).cycle().take(900) {
        send("a.test.", octet, 64);
    }
    let sizes = std::fs::read_dir(files.path().join("packs/journal")).expect("the log").flatten();
    let segments = sizes.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "seg"));
    let octets: u64 = segments.map(|entry| entry.metadata().expect("a file").len()).sum();
    assert!(octets > 0 && octets <= 24 << 20, "{octets}");
    kill(server);
    let server = start();
    let first = |zone: &str| {
        let answer = ask(server.address, Transport::Tcp, &Query::new(&format!("t.{zone}"), rtype::TXT));
        (answer.answer[0].rdata[1], answer.answer[0].rdata.len())
    };
    assert_eq!((first("a.test."), first("b.test.")), ((100, 64 * 256), (33, 256)));
}

/// Servers that are killed while zones are updated: what was acknowledged is there, nothing is there by halves, and serials never go back.
fn killed(seed: u64, rounds: usize, zones: usize) {
    eprintln!("seed {seed}");
    let (bed, mut random) = (Bed::new(zones), Random::new(seed));
    // Of each zone the last number that was acknowledged, and the last that was sent.
    let mut numbers = vec![(0u32, 0u32); zones];
    for _ in 0..rounds {
        let server = bed.start();
        for (zone, (acknowledged, sent)) in numbers.iter_mut().enumerate() {
            let halves = ["a", "b"].map(|half| data(&server, &format!("{half}.z{zone}.test."), rtype::A));
            assert_eq!(halves[0], halves[1], "zone {zone}: half of an update");
            let number = halves[0]
                .first()
                .map_or(0, |rdata| u32::from_be_bytes(rdata[..].try_into().expect("an address")));
            assert!(
                (*acknowledged..=*sent).contains(&number),
                "zone {zone}: {number}, not {acknowledged} to {sent}"
            );
            (*acknowledged, *sent) = (number, number);
        }
        let end = std::time::Instant::now() + Duration::from_millis(random.below(120) as u64);
        while std::time::Instant::now() < end {
            let zone = random.below(zones);
            let next = numbers[zone].1 + 1;
            numbers[zone].1 = next;
            let address = std::net::Ipv4Addr::from(next);
            let halves = ["a", "b"].map(|half| {
                format!(
                    "update delete {half}.z{zone}.test. A\nupdate add {half}.z{zone}.test. 60 A {address}\n"
                )
            });
            done(&server, &format!("zone z{zone}.test.\n{}{}", halves[0], halves[1]));
            numbers[zone].0 = next;
        }
        let zone = random.below(zones);
        numbers[zone].1 += 1;
        let script =
            format!("zone z{zone}.test.\nupdate delete a.z{zone}.test. A\nupdate delete b.z{zone}.test. A\n");
        let address = std::net::Ipv4Addr::from(numbers[zone].1);
        let script = format!(
            "{script}update add a.z{zone}.test. 60 A {address}\nupdate add b.z{zone}.test. 60 A {address}\n"
        );
        std::thread::scope(|scope| {
            let server = &server;
            scope.spawn(move || update_within(server, &script, 1));
            std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
            signal(server.process.pid(), "KILL");
        });
        kill(server);
    }
}

/// A zone that is removed and comes again begins from its text.
#[test]
fn a_removed_zone_stays_removed() {
    let bed = Bed::new(1);
    let server = bed.start();
    done(&server, "zone z0.test.\nupdate add new.z0.test. 60 A 192.0.2.9");
    assert!(ctl(&server, &["remove-zone", "z0.test."]).status.success());
    // What comes after is behind the removal in the log, and durable.
    let file = bed.files.path().join("zone");
    assert!(ctl(&server, &["add-zone", "z0.test.", file.to_str().expect("a path")]).status.success());
    assert_eq!((serial(&server, "z0.test."), data(&server, "new.z0.test.", rtype::A).len()), (1, 0));
    kill(server);
    let server = bed.start();
    assert_eq!((serial(&server, "z0.test."), data(&server, "new.z0.test.", rtype::A).len()), (1, 0));
}

#[test]
fn killed_while_zones_are_updated() {
    killed(1, 6, 3);
}

mod long {
    /// `ZONDA_SEED` repeats one.
    #[test]
    #[ignore = "long: make test-long"]
    fn killed_a_thousand_times_while_a_hundred_zones_are_updated() {
        let given = std::env::var("ZONDA_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
        super::killed(given.unwrap_or(now.as_nanos() as u64), 1000, 100);
    }
}

//! Updates that are signed: with keys of both kinds, wrong ones, at other times; and what many of them cost.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl};
use zonda_tests::zone::ZoneFile;

const KEY: &str = "c2VjcmV0IG9mIHRoZSB0ZXN0cw==";
const ZONE: &str = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n";

/// A folder with the zone `z.test.`, which has KEY records.
struct Bed {
    files: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        Bed { files: tempfile::tempdir().expect("a scratch folder") }
    }

    fn path(&self) -> &Path {
        self.files.path()
    }

    /// Makes a key for SIG(0); says where it is and what its KEY record is.
    fn sig0_key(&self, name: &str, algorithm: &[&str]) -> (PathBuf, String) {
        let mut command = Command::new("dnssec-keygen");
        command.args(["-T", "KEY", "-n", "HOST", "-a"]).args(algorithm).arg("-K").arg(self.path()).arg(name);
        let output = command.output().expect("the program dnssec-keygen (package bind9-utils)");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let base = String::from_utf8(output.stdout).expect("a name").trim().to_owned();
        let text = std::fs::read_to_string(self.path().join(format!("{base}.key"))).expect("a key");
        let record = text.lines().find(|line| !line.starts_with(';')).expect("a record").to_owned();
        (self.path().join(format!("{base}.private")), record + "\n")
    }

    /// Starts the server; `more` goes to the text of the zone, `rules` are those of its policy, `settings` beside all.
    fn start(&self, more: &str, rules: &[&str], settings: &str) -> Server {
        let path = self.path().display();
        std::fs::write(self.path().join("zone"), format!("{ZONE}{more}")).expect("a text");
        std::fs::write(self.path().join("static"), ZONE).expect("a text");
        let settings = format!(
            "pack-directory = \"{path}/packs\"\n\n[[key]]\nname = \"own.\"\nalgorithm = \"hmac-sha256\"\nsecret = \"{KEY}\"\n\n\
             [[acl]]\nname = \"here\"\naddresses = [\"127.0.0.0/8\"]\n\n\
             [[update-policy]]\nname = \"p\"\nrules = {rules:?}\n\n\
             [[zone]]\nname = \"z.test.\"\nfile = \"{path}/zone\"\nallow-update = \"here\"\nupdate-policy = \"p\"\n{settings}"
        );
        let file = ZoneFile::new("static.test.", self.path().join("static"));
        let server = Server::start_with(Kind::Zonda, &[file], &settings);
        server.await_zones();
        server
    }
}

/// Has a program of the family of `nsupdate` do what `script` says; returns whether it was told that it is done, and its words.
fn run(mut command: Command, server: &Server, script: &str) -> (bool, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the programs nsupdate, knsupdate and faketime");
    let script = format!("server 127.0.0.1 {}\n{script}\nsend\n", server.address.port());
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    let words = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&words).into_owned())
}

/// `nsupdate` with these arguments.
fn nsupdate(arguments: &[&str]) -> Command {
    let mut command = Command::new("nsupdate");
    command.args(["-t", "10"]).args(arguments);
    command
}

/// `knsupdate` with these arguments.
fn knsupdate(arguments: &[&str]) -> Command {
    let mut command = Command::new("knsupdate");
    command.args(["-t", "10"]).args(arguments);
    command
}

/// The same at another time: `+1h`, `-1h`. (`nsupdate` does not run so: the allocator of its libraries asks for the time before there is any.)
fn knsupdate_at(time: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("faketime");
    command.args(["-f", time, "knsupdate", "-t", "10"]).args(arguments);
    command
}

/// An update signed by SIG(0) with the key in this file, that is of use until so many seconds from now and since ten minutes before; the signature is that of nobody.
fn forged(key: &Path, signer: &[u8], algorithm: u8, seconds: i64, octets: usize) -> Vec<u8> {
    let tag = key.file_stem().and_then(|stem| stem.to_str()?.rsplit('+').next()?.parse::<u16>().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let until = (now as i64 + seconds) as u32;
    let mut rdata = vec![0, 0, algorithm, 0, 0, 0, 0, 0];
    rdata.extend([until.to_be_bytes(), (until - 600).to_be_bytes()].concat());
    rdata.extend(tag.expect("a tag").to_be_bytes());
    rdata.extend([signer, &vec![1; octets]].concat());
    let mut message = b"\0\x01\x28\0\0\x01\0\0\0\0\0\x01\x01z\x04test\0\0\x06\0\x01".to_vec();
    message.extend([0, 0, 24, 0, 255, 0, 0, 0, 0]);
    message.extend([&(rdata.len() as u16).to_be_bytes()[..], &rdata].concat());
    message
}

#[track_caller]
fn done(command: Command, server: &Server, script: &str) {
    let (is_done, words) = run(command, server, script);
    assert!(is_done, "{script}\n{words}\n{}", server.log());
}

#[track_caller]
fn refused(command: Command, server: &Server, script: &str, code: &str) {
    let (is_done, words) = run(command, server, script);
    assert!(!is_done && words.contains(code), "{script}\n{words}\n{}", server.log());
}

/// RDATA of the answer, sorted.
fn data(server: &Server, name: &str, rtype: u16) -> Vec<Vec<u8>> {
    let response = ask(server.address, Transport::Udp, &Query::new(name, rtype));
    let mut all: Vec<_> = response.answer.iter().map(|record| record.rdata.clone()).collect();
    all.sort();
    all
}

/// A count of `zonda ctl stats`.
fn count(server: &Server, name: &str) -> u64 {
    let output = ctl(server, &["stats", "--json"]).stdout;
    let stats: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
    let counts = stats["zones"].as_array().expect("counts").iter();
    let mut counts = counts.filter(|count| count["name"] == name);
    counts.next().and_then(|count| count["count"].as_u64()).expect("the count")
}

/// Hosts that change their own names, with keys of every algorithm that clients have.
#[test]
fn hosts_sign_by_sig0() {
    let bed = Bed::new();
    let algorithms: [(&str, &[&str]); 4] = [
        ("a", &["ECDSAP256SHA256"]),
        ("b", &["ED25519"]),
        ("c", &["RSASHA256", "-b", "2048"]),
        ("d", &["ECDSAP384SHA384"]),
    ];
    let keys =
        algorithms.map(|(host, algorithm)| (host, bed.sig0_key(&format!("{host}.z.test."), algorithm)));
    let records: String = keys.iter().map(|(_, (_, record))| record.as_str()).collect();
    let stranger = bed.sig0_key("x.z.test.", &["ED25519"]).0;
    let server = bed.start(&records, &["grant *.z.test. selfsub"], "");
    for (host, (path, _)) in &keys {
        let key = ["-k", path.to_str().expect("a path")];
        done(nsupdate(&key), &server, &format!("zone z.test.\nupdate add {host}.z.test. 60 A 192.0.2.9"));
        assert_eq!(data(&server, &format!("{host}.z.test."), rtype::A), [[192, 0, 2, 9]]);
        let tcp = [&["-v"][..], &key[..]].concat();
        done(nsupdate(&tcp), &server, &format!("zone z.test.\nupdate add t.{host}.z.test. 60 TXT below"));
        // Not those of others, nor what hangs the zone together.
        refused(nsupdate(&key), &server, "zone z.test.\nupdate add www.z.test. 60 A 192.0.2.9", "REFUSED");
        refused(
            nsupdate(&key),
            &server,
            &format!("zone z.test.\nupdate add {host}.z.test. 60 NS ns.z.test."),
            "REFUSED",
        );
    }
    assert_eq!(data(&server, "www.z.test.", rtype::A), [[192, 0, 2, 2]]);
    // Nobody knows this key; and a zone without such a list lets nobody in.
    let key = ["-k", stranger.to_str().expect("a path")];
    refused(nsupdate(&key), &server, "zone z.test.\nupdate add x.z.test. 60 A 192.0.2.9", "NOTAUTH");
    refused(
        nsupdate(&key),
        &server,
        "zone static.test.\nupdate add x.static.test. 60 A 192.0.2.9",
        "REFUSED",
    );
    // A host takes a new key in the place of its own: the old one is worth nothing then.
    let (new, record) = bed.sig0_key("a.z.test.", &["ED25519"]);
    let old = keys[0].1.0.to_str().expect("a path");
    let record = record.trim().replacen("a.z.test. IN KEY", "a.z.test. 60 KEY", 1);
    done(
        nsupdate(&["-k", old]),
        &server,
        &format!("zone z.test.\nupdate delete a.z.test. KEY\nupdate add {record}"),
    );
    let script = "zone z.test.\nupdate add a.z.test. 60 A 192.0.2.10";
    refused(nsupdate(&["-k", old]), &server, script, "NOTAUTH");
    done(nsupdate(&["-k", new.to_str().expect("a path")]), &server, script);
    assert_eq!(data(&server, "a.z.test.", rtype::A), [[192, 0, 2, 9], [192, 0, 2, 10]]);
    assert_eq!(count(&server, "sig0-failed"), 2);
    assert_eq!(count(&server, "sig0-verified"), 4 * 4 + 2);
}

/// What is said to signatures that are wrong, as clients see it: BADKEY, BADSIG, BADTIME, and of SIG(0) their like.
#[test]
fn wrong_signatures() {
    let bed = Bed::new();
    let (path, record) = bed.sig0_key("h.z.test.", &["ECDSAP256SHA256"]);
    let server = bed.start(&record, &["grant own. zonesub", "grant h.z.test. self"], "");
    let good = format!("hmac-sha256:own.:{KEY}");
    let tsig = ["-y", &good];
    let script = "zone z.test.\nupdate add h.z.test. 60 A 192.0.2.9";
    let secret = KEY.replace("c2Vj", "c2Vk");
    for (key, said) in [
        (format!("hmac-sha256:other.:{KEY}"), "BADKEY"),
        (format!("hmac-sha512:own.:{KEY}"), "BADKEY"),
        (format!("hmac-sha256:own.:{secret}"), "BADSIG"),
    ] {
        refused(nsupdate(&["-y", &key]), &server, script, said);
        refused(nsupdate(&["-v", "-y", &key]), &server, script, said);
        let words = run(knsupdate(&["-y", &key]), &server, script).1;
        assert!(words.contains("TSIG") || words.contains(said), "{words}");
    }
    for time in ["-1h", "+1h"] {
        let (is_done, words) = run(knsupdate_at(time, &tsig), &server, script);
        assert!(!is_done && words.contains("BADTIME"), "{words}");
    }
    assert!(data(&server, "h.z.test.", rtype::A).is_empty());
    // Clocks may be apart by less than five minutes.
    for time in ["-4m", "+4m"] {
        done(knsupdate_at(time, &tsig), &server, script);
    }
    let signer = b"\x01h\x01z\x04test\0";
    for (seconds, octets, signer, rcode) in [
        (-5, 64, &signer[..], 9),
        (900, 64, signer, 9),
        (300, 64, signer, 9),
        (300, 64, b"\x01i\x01z\x04test\0", 5),
        (300, 0, signer, 1),
    ] {
        let message = forged(&path, signer, 13, seconds, octets);
        let answer = udp_within(server.address, &message, Duration::from_secs(5)).expect("a socket");
        assert_eq!(answer.map(|answer| answer[3] & 0xf), Some(rcode), "{seconds} {octets}");
    }
    assert_eq!((count(&server, "sig0-failed"), count(&server, "sig0-verified")), (5, 0));
    await_that("the line", || server.log().contains("updates signed by SIG(0) that are refused: "));
}

/// Who is to show where it is, and has not, is told that nothing was done: clients take NOERROR for done, truncated or not.
#[test]
fn unproved_is_not_done() {
    let bed = Bed::new();
    let lists = "\n[[acl]]\nname = \"proved\"\naddresses = [\"127.0.0.0/8\"]\nproved = true\n\
                 [[zone]]\nname = \"p.test.\"\nfile = \"FILE\"\nallow-update = \"proved\"\n";
    let lists = lists.replace("FILE", bed.path().join("static").to_str().expect("a path"));
    let server = bed.start("", &["grant own. zonesub"], &lists);
    let script = "zone p.test.\nupdate add n.p.test. 60 A 192.0.2.9";
    for client in [nsupdate, knsupdate] {
        refused(client(&[]), &server, script, "REFUSED");
        assert!(data(&server, "n.p.test.", rtype::A).is_empty());
    }
    done(nsupdate(&["-v"]), &server, script);
    assert_eq!(data(&server, "n.p.test.", rtype::A).len(), 1);
}

/// Every form of prerequisite and of update, with either client; what fails leaves all as it was.
#[test]
fn every_form_with_both_clients() {
    let bed = Bed::new();
    let server = bed.start("", &["grant own. zonesub ANY"], "");
    let key = format!("hmac-sha256:own.:{KEY}");
    for client in [nsupdate, knsupdate] {
        let client = || client(&["-y", &key]);
        let change = |lines: &str| done(client(), &server, &format!("zone z.test.\nttl 60\n{lines}"));
        let fails = |lines: &str, code: &str| {
            let script = format!("zone z.test.\nttl 60\n{lines}\nupdate add never.z.test. 60 A 192.0.2.1");
            refused(client(), &server, &script, code);
            assert!(data(&server, "never.z.test.", rtype::A).is_empty(), "{lines}");
        };
        // Added: a record, one more of its set, a TTL for all of it.
        change("update add n.z.test. 300 A 192.0.2.5");
        change(
            "update add n.z.test. 60 A 192.0.2.6\nupdate add n.z.test. 60 TXT \"a b\" c\nupdate add m.z.test. 60 MX 5 n.z.test.",
        );
        assert_eq!(data(&server, "n.z.test.", rtype::A), [[192, 0, 2, 5], [192, 0, 2, 6]]);
        assert_eq!(data(&server, "n.z.test.", rtype::TXT), [b"\x03a b\x01c"]);
        // Prerequisites that hold: a name and a set in use or not, a set with these records.
        change("prereq yxdomain n.z.test.\nupdate add one.z.test. 60 A 192.0.2.1");
        change("prereq nxdomain two.z.test.\nupdate add two.z.test. 60 A 192.0.2.2");
        change("prereq yxrrset n.z.test. A\nupdate add three.z.test. 60 A 192.0.2.3");
        change("prereq nxrrset n.z.test. AAAA\nupdate add four.z.test. 60 A 192.0.2.4");
        change(
            "prereq yxrrset n.z.test. A 192.0.2.6\nprereq yxrrset n.z.test. A 192.0.2.5\nupdate add five.z.test. 60 A 192.0.2.5",
        );
        for (number, name) in ["one", "two", "three", "four", "five"].into_iter().enumerate() {
            assert_eq!(data(&server, &format!("{name}.z.test."), rtype::A), [[192, 0, 2, number as u8 + 1]]);
        }
        // And those that do not.
        fails("prereq yxdomain none.z.test.", "NXDOMAIN");
        fails("prereq nxdomain n.z.test.", "YXDOMAIN");
        fails("prereq yxrrset n.z.test. AAAA", "NXRRSET");
        fails("prereq nxrrset n.z.test. A", "YXRRSET");
        fails("prereq yxrrset n.z.test. A 192.0.2.5", "NXRRSET");
        fails("prereq yxrrset n.z.test. A 192.0.2.5\nprereq yxrrset n.z.test. A 192.0.2.7", "NXRRSET");
        fails("update add n.other.test. 60 A 192.0.2.1", "NOTZONE");
        // Deleted: a record, a set, a name; what is not there is no fault.
        change("update delete n.z.test. A 192.0.2.5\nupdate delete n.z.test. A 192.0.2.77");
        assert_eq!(data(&server, "n.z.test.", rtype::A), [[192, 0, 2, 6]]);
        change("update delete n.z.test. A\nupdate delete none.z.test.");
        assert!(data(&server, "n.z.test.", rtype::A).is_empty());
        assert_eq!(data(&server, "n.z.test.", rtype::TXT).len(), 1);
        change("update delete n.z.test.\nupdate delete m.z.test. MX");
        let names = ["one", "two", "three", "four", "five"];
        let lines: Vec<String> = names.iter().map(|name| format!("update delete {name}.z.test.")).collect();
        change(&lines.join("\n"));
        for name in names.iter().chain(&["n", "m"]) {
            let answer =
                ask(server.address, Transport::Udp, &Query::new(&format!("{name}.z.test."), rtype::A));
            assert_eq!(answer.rcode(), 3, "{name}");
        }
        // The apex keeps SOA and NS.
        change("update delete z.test.\nupdate delete z.test. NS ns.z.test.");
        assert_eq!(
            (data(&server, "z.test.", rtype::SOA).len(), data(&server, "z.test.", rtype::NS).len()),
            (1, 1)
        );
    }
}

/// Whoever may be asked for a signature is asked for thousands: queries are answered as before, what is too much is refused, and who has a key is let through after it.
#[test]
fn a_flood_of_signatures_costs_no_query() {
    const FLOOD: usize = 5000;
    let bed = Bed::new();
    let (path, record) = bed.sig0_key("h.z.test.", &["ECDSAP384SHA384"]);
    let server = bed.start(&record, &["grant *.z.test. selfsub"], "");
    // The key's tag is in public.
    let mut message = forged(&path, b"\x01h\x01z\x04test\0", 14, 300, 96);
    let address = server.address;
    let flood = std::thread::spawn(move || {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for number in 0..FLOOD {
            message[..2].copy_from_slice(&(number as u16).to_be_bytes());
            socket.send_to(&message, address).expect("a datagram");
            if number % 20 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
    let query = Query::new("www.z.test.", rtype::A).octets();
    let (mut asked, mut slowest) = (0, Duration::ZERO);
    while !flood.is_finished() {
        let begun = Instant::now();
        let answer = udp_within(address, &query, Duration::from_secs(1)).expect("a socket");
        assert!(answer.is_some_and(|answer| answer[7] == 1), "a query without answer");
        slowest = slowest.max(begun.elapsed());
        asked += 1;
    }
    flood.join().expect("a flood");
    assert!(asked > 50, "{asked} queries, the slowest {slowest:?}");
    let key = ["-k", path.to_str().expect("a path")];
    done(nsupdate(&key), &server, "zone z.test.\nupdate add h.z.test. 60 A 192.0.2.9");
    let (failed, over_quota) = (count(&server, "sig0-failed"), count(&server, "sig0-over-quota"));
    eprintln!("{failed} looked at, {over_quota} not; {asked} queries, the slowest {slowest:?}");
    assert!(failed > 0 && over_quota > 2 * failed && failed + over_quota <= FLOOD as u64);
}

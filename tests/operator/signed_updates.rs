//! Updates that are signed: with keys of both kinds, wrong ones, at other times; and what many of them cost.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
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
        await_that("the zones", || server.log().contains("INFO serving "));
        server
    }
}

#[track_caller]
fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < until, "waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
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

/// The same at another time: `+1h`, `-1h`.
fn nsupdate_at(time: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("faketime");
    command.args(["-f", time, "nsupdate", "-t", "10"]).args(arguments);
    command
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

//! TLS: who is shown what, until when, and what a handshake may cost.

mod hostile;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use zonda_tests::patience::await_that;
use zonda_tests::server::peers::require;
use zonda_tests::server::{ctl, signal, write};

use super::client::{body, rrset};
use super::{Bed, NOBODY, SERVER, await_child, is_root, proc_file};
use crate::kit::{folder, text, zonda};

/// The name in the certificates.
pub const NAME: &str = "ns1.test";

/// Who signs certificates, and where they are.
pub struct Authority(tempfile::TempDir);

impl Authority {
    pub fn new() -> Authority {
        let at = folder(&[]);
        fs::set_permissions(at.path(), fs::Permissions::from_mode(0o755)).expect("an open folder");
        let authority = Authority(at);
        authority.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=authority");
        authority
    }

    fn openssl(&self, words: &str) {
        self.run(Command::new(require("openssl", "openssl")), words);
    }

    fn run(&self, mut command: Command, words: &str) {
        let output = command.args(words.split(' ')).current_dir(self.0.path()).output().expect("openssl");
        assert!(output.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Writes a certificate of this subject for [`NAME`] to `api.pem`, and its key, readable by its owner alone, to `api.key`. `how`: kind of key, days.
    pub fn issue(&self, subject: &str, how: &str) {
        self.issue_with(Command::new(require("openssl", "openssl")), subject, how);
    }

    /// The same, on a day that is long past.
    fn issue_then(&self, subject: &str, how: &str) {
        let mut command = Command::new(require("faketime", "faketime"));
        command.args(["2020-01-01 00:00:00", "openssl"]);
        self.issue_with(command, subject, how);
    }

    fn issue_with(&self, command: Command, subject: &str, how: &str) {
        let words = format!(
            "req -x509 {how} -nodes -keyout new.key -out new.pem -subj /CN={subject} -CA ca.pem -CAkey ca.key \
             -addext subjectAltName=DNS:{NAME},DNS:*.api.test,IP:127.0.0.1 -addext basicConstraints=CA:FALSE"
        );
        self.run(command, &words);
        fs::set_permissions(self.path("new.key"), fs::Permissions::from_mode(0o600)).expect("a closed file");
        for kind in ["key", "pem"] {
            fs::rename(self.path(&format!("new.{kind}")), self.path(&format!("api.{kind}"))).expect("a file");
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Has the server's user read the key, as it has to for another one.
    fn give_key(&self) {
        if is_root() {
            chown(self.path("api.key"), Some(NOBODY), Some(NOBODY)).expect("a key of the server's");
        }
    }

    /// What `[api]` has to have.
    pub fn settings(&self) -> String {
        format!("certificate = {:?}\ncertificate-key = {:?}\n", self.path("api.pem"), self.path("api.key"))
    }
}

const P256: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 30";

/// Files and keys of a server whose API is over TLS.
pub fn bed(authority: &Authority) -> Bed {
    authority.issue("first", P256);
    let mut bed = Bed::new();
    bed.keys = format!("{}{}", authority.settings(), bed.keys);
    bed
}

/// A command that asks as others do, with the authority's certificate; the URL is of [`NAME`].
pub fn curl(authority: &Authority, at: SocketAddr, key: &str, more: &[&str], path: &str) -> Output {
    let mut curl = Command::new(require("curl", "curl"));
    curl.args(["--silent", "--show-error", "--max-time", "20", "--noproxy", "*", "--cacert"])
        .arg(authority.path("ca.pem"));
    curl.args(["--resolve", &format!("{NAME}:{}:127.0.0.1", at.port())]);
    curl.args(["--header", &format!("X-API-Key: {key}"), "--write-out", "\n%{http_code}"]).args(more);
    curl.arg(format!("https://{NAME}:{}{path}", at.port())).output().expect("curl")
}

/// The same, for its status; 0: there was none.
fn status(authority: &Authority, at: SocketAddr, key: &str, more: &[&str], path: &str) -> u16 {
    let output = curl(authority, at, key, more, path);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.lines().last().and_then(|line| line.parse().ok()).unwrap_or(0)
}

/// A connection over TLS that is kept, by another program than ours.
struct Kept {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Kept {
    fn new(authority: &Authority, at: SocketAddr, more: &[&str]) -> Kept {
        let mut command = Command::new(require("openssl", "openssl"));
        command.args(["s_client", "-quiet", "-verify_return_error", "-servername", NAME, "-CAfile"]);
        command.arg(authority.path("ca.pem")).args(["-connect", &at.to_string()]).args(more);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("openssl");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        Kept { process, input, output }
    }

    /// The status of a request whose answer has no body.
    fn head(&mut self, path: &str, key: &str) -> Option<u16> {
        let head = format!("HEAD {path} HTTP/1.1\r\nHost: {NAME}\r\nX-API-Key: {key}\r\n\r\n");
        self.input.write_all(head.as_bytes()).ok()?;
        let (mut status, mut line) = (None, String::new());
        loop {
            line.clear();
            if self.output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => return status,
                line => status = status.or_else(|| line.split(' ').nth(1)?.parse().ok()),
            }
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whose certificate is shown.
fn subject(authority: &Authority, at: SocketAddr) -> String {
    let mut command = Command::new(require("openssl", "openssl"));
    command.args(["s_client", "-servername", NAME, "-CAfile"]).arg(authority.path("ca.pem"));
    let output = command.args(["-connect", &at.to_string()]).stdin(Stdio::null()).output().expect("openssl");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // `CN = first` or `CN=first`, by its version.
    let line = said.lines().find_map(|line| line.strip_prefix("subject=")).unwrap_or_default();
    line.rsplit('=').next().unwrap_or_default().trim().to_owned()
}

#[test]
fn over_tls_it_is_the_same() {
    let authority = Authority::new();
    let bed = bed(&authority);
    let fixture = bed.start();
    assert!(fixture.server.log().contains("over TLS"), "{}", fixture.server.log());
    let path = format!("{SERVER}/zones/a.test.");
    let ask = |more: &[&str], path: &str| status(&authority, fixture.at, &bed.acme, more, path);
    assert_eq!(ask(&[], &path), 200);
    assert_eq!(ask(&["--tls-max", "1.2"], &path), 200);
    assert_eq!(ask(&["--tlsv1.3"], &path), 200);
    // HTTP/2 is offered by this client, and not taken; older TLS there is none.
    assert_eq!(ask(&["--http2"], &path), 200);
    let old = ["--tlsv1.0", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"];
    let old = curl(&authority, fixture.at, &bed.acme, &old, &path);
    let words = String::from_utf8_lossy(&old.stderr);
    assert!(old.status.code() == Some(35) && words.contains("alert"), "refused by the server: {old:?}");
    // Names of the certificate are good, and no others.
    assert_eq!(ask(&["--header", "Host: x.api.test"], &path), 200);
    assert_eq!(ask(&["--header", "Host: evil.test"], &path), 421);
    assert_eq!(status(&authority, fixture.at, "wrong", &[], &path), 401);
    // Who does not know the authority does not ask.
    let other = Authority::new();
    let output = curl(&other, fixture.at, &bed.acme, &[], &path);
    assert_eq!(output.status.code(), Some(60), "{output:?}");
    // A change, and one of many frames.
    let change = r#"{"rrsets": [{"name": "tls.a.test.", "type": "A", "ttl": 60, "changetype": "REPLACE", "records": [{"content": "192.0.2.9"}]}]}"#;
    assert_eq!(ask(&["--request", "PATCH", "--data", change], &path), 204);
    assert_eq!(fixture.addresses("tls.a.test."), [[192, 0, 2, 9]]);
    let large: Vec<serde_json::Value> = (0..900)
        .map(|number| {
            rrset(&format!("n{number}.b.test."), "TXT", "REPLACE", 60, &[&format!("\"{}\"", "x".repeat(200))])
        })
        .collect();
    let file = authority.path("body");
    fs::write(&file, body(&large)).expect("a body");
    let data = format!("@{}", file.display());
    assert_eq!(ask(&["--request", "PATCH", "--data-binary", &data], &format!("{SERVER}/zones/b.test.")), 204);
    let export = curl(&authority, fixture.at, &bed.acme, &[], &format!("{SERVER}/zones/b.test./export"));
    let records =
        String::from_utf8_lossy(&export.stdout).lines().filter(|line| line.contains(" IN ")).count();
    assert_eq!(records, 900 + 4, "{export:?}");
    // Many requests over one connection.
    let mut kept = Kept::new(&authority, fixture.at, &[]);
    assert!((0..20).all(|_| kept.head(&path, &bed.acme) == Some(200)));
    // The process has as few rights as without.
    let confined = proc_file(await_child(&fixture), "status");
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "Threads:\t1"] {
        assert!(confined.lines().any(|known| known == line), "{line}: {confined}");
    }
    // In clear text nothing is told but that.
    let reply = fixture.get("/zones/a.test.", &bed.acme);
    assert!(
        reply.status == 400 && reply.json()["error"].as_str().is_some_and(|words| words.contains("https://")),
        "{reply:?}"
    );
}

/// RSA, and a chain and a key in one file.
#[test]
fn one_file_is_enough() {
    let authority = Authority::new();
    authority.issue("rsa", "-newkey rsa:2048 -days 30");
    let both = [
        fs::read(authority.path("api.pem")),
        fs::read(authority.path("ca.pem")),
        fs::read(authority.path("api.key")),
    ];
    let both: Vec<u8> = both.into_iter().flat_map(|text| text.expect("a file")).collect();
    fs::write(authority.path("all.pem"), both).expect("a file");
    let mut bed = Bed::new();
    bed.keys = format!("certificate = {:?}\n{}", authority.path("all.pem"), bed.keys);
    let fixture = bed.start();
    assert_eq!(status(&authority, fixture.at, &bed.acme, &[], &format!("{SERVER}/zones")), 200);
    // It was open to everybody.
    fixture.server.await_log("and the key of the API's certificate in it");
}

#[test]
fn another_certificate_is_shown_without_an_end() {
    let authority = Authority::new();
    let bed = bed(&authority);
    let fixture = bed.start();
    let (at, path) = (fixture.at, format!("{SERVER}/zones/a.test."));
    let mut kept = Kept::new(&authority, at, &[]);
    assert_eq!((kept.head(&path, &bed.acme), subject(&authority, at)), (Some(200), "first".to_owned()));
    let reconfigure = || {
        let output = ctl(&fixture.server, &["reconfigure"]);
        assert!(output.status.success(), "{output:?}");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    // The key was read with the rights of the start, and is not ours any more.
    let said = reconfigure();
    assert_eq!(
        said.contains("what was shown before is shown on") && said.contains("api.key"),
        is_root(),
        "{said}"
    );
    authority.issue("second", P256);
    authority.give_key();
    assert!(!reconfigure().contains("certificate"));
    await_that("the second certificate", || subject(&authority, at) == "second");
    assert_eq!(kept.head(&path, &bed.acme), Some(200), "connections go on");
    // What cannot be shown changes nothing.
    fs::rename(authority.path("api.key"), authority.path("second.key")).expect("a file");
    let said = reconfigure();
    assert!(said.contains("api.key: cannot open") && said.contains("shown on"), "{said}");
    authority.issue("third", P256);
    fs::rename(authority.path("second.key"), authority.path("api.key")).expect("a file");
    let said = reconfigure();
    assert!(said.contains("the key is not that of the first certificate"), "{said}");
    assert_eq!(subject(&authority, at), "second");
    // Another process of the server shows what was shown last.
    let child = await_child(&fixture);
    signal(child, "KILL");
    await_that("another process", || subject(&authority, at) == "second");
}

/// Another server takes over: it reads the files itself, as the server's user, and the process of before answers who is connected to it.
#[test]
fn an_upgrade_goes_on() {
    let authority = Authority::new();
    let bed = bed(&authority);
    authority.give_key();
    let fixture = bed.start();
    write(fixture.server.scratch.path(), "successors", "");
    let first = await_child(&fixture);
    let path = format!("{SERVER}/zones/a.test.");
    assert_eq!(status(&authority, fixture.at, &bed.acme, &[], &path), 200);
    authority.issue("second", P256);
    authority.give_key();
    let upgraded = ctl(&fixture.server, &["upgrade"]);
    assert!(upgraded.status.success(), "{upgraded:?}");
    await_that("the end of the first process", || proc_file(first, "stat").is_empty());
    assert_eq!(subject(&authority, fixture.at), "second");
    assert_eq!(status(&authority, fixture.at, &bed.acme, &[], &path), 200);
    // One that cannot read the key leaves the server as it is.
    authority.issue("third", P256);
    if is_root() {
        assert!(!ctl(&fixture.server, &["upgrade"]).status.success());
        assert_eq!(subject(&authority, fixture.at), "second");
    }
    assert!(ctl(&fixture.server, &["stop"]).status.success());
}

/// Who shows no certificate of the operator's authority is not spoken to, whatever key he has; the authority can be another one while the server runs.
#[test]
fn clients_show_certificates() {
    let (authority, clients, others) = (Authority::new(), Authority::new(), Authority::new());
    [&clients, &others].iter().for_each(|of| of.issue("client", P256));
    let mut bed = bed(&authority);
    let trusted = authority.path("clients.pem");
    let trust = |of: &Authority| fs::copy(of.path("ca.pem"), &trusted).expect("a file");
    trust(&clients);
    bed.keys = format!("client-ca = {trusted:?}\n{}", bed.keys);
    let fixture = bed.start();
    let path = format!("{SERVER}/zones/a.test.");
    let shown = |of: &Authority| ["api.pem", "api.key"].map(|name| of.path(name).display().to_string());
    let ask = |of: Option<&Authority>, more: &[&str], key: &str| {
        let [certificate, own] = of.map(shown).unwrap_or_default();
        let mut words = vec!["--cert", &*certificate, "--key", &*own];
        words.truncate(if of.is_some() { 4 } else { 0 });
        status(&authority, fixture.at, key, &[&words, more].concat(), &path)
    };
    for version in ["1.2", "1.3"] {
        let more = ["--tls-max", version];
        assert_eq!(ask(Some(&clients), &more, &bed.acme), 200, "{version}");
        assert_eq!(ask(None, &more, &bed.acme), 0, "{version}");
        assert_eq!(ask(Some(&others), &more, &bed.acme), 0, "{version}");
        assert_eq!(ask(Some(&clients), &more, "wrong"), 401, "a certificate is no key");
    }
    let said = curl(&authority, fixture.at, &bed.acme, &[], &path);
    assert!(String::from_utf8_lossy(&said.stderr).contains("certificate required"), "{said:?}");
    // The server's own authority is none of clients.
    assert_eq!(ask(Some(&authority), &[], &bed.acme), 0);
    trust(&others);
    authority.give_key();
    assert!(ctl(&fixture.server, &["reconfigure"]).status.success());
    await_that("the other authority", || ask(Some(&others), &[], &bed.acme) == 200);
    assert_eq!(ask(Some(&clients), &[], &bed.acme), 0);
    // Where it cannot be read the last one holds, and it is said.
    fs::write(&trusted, "").expect("a file");
    let said = ctl(&fixture.server, &["reconfigure"]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("shown on"), "{said:?}");
    assert_eq!((ask(Some(&others), &[], &bed.acme), ask(None, &[], &bed.acme)), (200, 0));
    let status = String::from_utf8_lossy(&ctl(&fixture.server, &["status"]).stdout).into_owned();
    assert!(status.contains("[api] client-ca ") && status.contains("found none"), "{status}");
}

#[test]
fn what_is_wrong_is_told_with_its_file() {
    let authority = Authority::new();
    let bed = bed(&authority);
    let check = |api: &str| {
        let file = authority.path("zonda.toml");
        fs::write(&file, format!("[api]\nlisten = [\"127.0.0.1:8443\"]\n{api}")).expect("settings");
        zonda(&["check-config", text(&file)])
    };
    check(&authority.settings()).assert_fine();
    let [certificate, key] = ["api.pem", "api.key"].map(|name| authority.path(name));
    let of = |certificate: &Path, key: &Path| {
        format!("certificate = {certificate:?}\ncertificate-key = {key:?}\n")
    };
    fs::write(authority.path("empty"), "").expect("a file");
    fs::write(authority.path("half"), "-----BEGIN CERTIFICATE-----\nMIIB").expect("a file");
    authority.openssl("pkcs8 -topk8 -in api.key -out sealed.key -passout pass:x");
    for (certificate, key, words) in [
        (authority.path("none"), key.clone(), "[api] certificate "),
        (authority.path("none"), key.clone(), "cannot open"),
        (authority.path("empty"), key.clone(), "expected a certificate in PEM, found none"),
        (authority.path("half"), key.clone(), "expected PEM"),
        (certificate.clone(), authority.path("none"), "[api] certificate-key "),
        (certificate.clone(), authority.path("ca.key"), "the key is not that of the first certificate"),
        (certificate.clone(), certificate.clone(), "expected a private key in PEM"),
        (certificate.clone(), authority.path("sealed.key"), "not encrypted"),
    ] {
        check(&of(&certificate, &key)).assert_fails(1, &[words]);
    }
    for (name, words) in [("none", "[api] client-ca "), ("empty", "found none"), ("half", "expected PEM")] {
        let client_ca = format!("{}client-ca = {:?}\n", of(&certificate, &key), authority.path(name));
        check(&client_ca).assert_fails(1, &[words]);
    }
    // A start goes on without the API, which is there as soon as they can be shown.
    fs::rename(&key, authority.path("moved.key")).expect("a file");
    let fixture = bed.start();
    fixture.server.await_log("there is no API until it can be shown");
    assert_eq!(fixture.serial("a.test."), 1);
    let said = |words: &[&str]| String::from_utf8_lossy(&ctl(&fixture.server, words).stdout).into_owned();
    assert!(said(&["status"]).contains("api.key: cannot open"), "{}", said(&["status"]));
    let ask = || status(&authority, fixture.at, &bed.acme, &[], &format!("{SERVER}/zones"));
    assert_eq!(ask(), 0);
    fs::rename(authority.path("moved.key"), &key).expect("a file");
    authority.give_key();
    assert!(ctl(&fixture.server, &["reconfigure"]).status.success());
    await_that("an answer", || ask() == 200);
    assert!(!said(&["status"]).contains("api.key"));
}

#[test]
fn one_that_has_expired_is_warned_of() {
    let authority = Authority::new();
    let bed = bed(&authority);
    authority.issue("soon", "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2");
    let fixture = bed.start();
    fixture.server.await_log("is it still renewed?");
    assert_eq!(status(&authority, fixture.at, &bed.acme, &[], &format!("{SERVER}/zones")), 200);
    authority.issue_then("late", P256);
    authority.give_key();
    assert!(ctl(&fixture.server, &["reconfigure"]).status.success());
    fixture.server.await_log("it has expired");
}

//! Zones that are transferred from others: whatever happens to either server, what is served is a version that the primary had.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_that};
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{
    Guarded, Kind, Server, ctl, free_address, program_command, settings, signal, write,
};
use zonda_tests::zone::transfer;

pub(crate) const ORIGIN: &str = "moved.test.";
pub(crate) const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
pub(crate) const ZONE: &str = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\nwww TXT kept\nsub NS ns.sub\nns.sub A 192.0.2.3\n*.wild MX 10 www\n";

/// The serial that a server says the zone has; `None` where it says none.
pub(crate) fn serial(server: SocketAddr) -> Option<u32> {
    let query = Query::new(ORIGIN, rtype::SOA).octets();
    let answer = udp_within(server, &query, Duration::from_millis(500)).ok().flatten()?;
    let response = Response::parse(&answer).ok()?;
    let rdata = &response.answer.first()?.rdata;
    Some(u32::from_be_bytes(rdata[rdata.len() - 20..][..4].try_into().ok()?))
}

/// All records, to compare.
pub(crate) fn records(server: SocketAddr) -> Vec<Record> {
    let mut records: Vec<Record> = transfer(server, ORIGIN).iter().map(Record::folded).collect();
    records.sort();
    records
}

/// A primary that takes updates and tells `other` of them; what it has is in its folder.
pub(crate) struct Primary {
    pub(crate) kind: Kind,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) other: SocketAddr,
}

impl Primary {
    pub(crate) fn new(kind: Kind, zone: &str, other: SocketAddr) -> Primary {
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        write(folder.path(), "zone", zone);
        Primary { kind, folder, address: free_address(), other }
    }

    fn command(&self) -> Command {
        let (folder, port, other) = (self.folder.path(), self.address.port(), self.other.port());
        let home = folder.display();
        match self.kind {
            Kind::Named => {
                let text = format!(
                    "key \"k.\" {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};\noptions {{ directory \"{home}\"; pid-file none; \
                     session-keyfile none; listen-on-v6 {{ none; }}; listen-on port {port} {{ 127.0.0.1; }}; recursion no; \
                     empty-zones-enable no; dnssec-validation no; allow-transfer {{ any; }}; notify-delay 0; }};\ncontrols {{ }};\n\
                     zone \"{ORIGIN}\" {{ type primary; file \"zone\"; allow-update {{ any; }}; notify explicit; \
                     also-notify {{ 127.0.0.1 port {other} key \"k.\"; }}; }};\n"
                );
                let mut command = Command::new(require("named", "bind9"));
                command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(write(folder, "named.conf", &text));
                command
            }
            Kind::Knot => {
                let text = format!(
                    "server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
                     log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nkey:\n  - id: k.\n    algorithm: hmac-sha256\n    \
                     secret: {SECRET}\nremote:\n  - id: other\n    address: 127.0.0.1@{other}\n    key: k.\nacl:\n  - id: all\n    \
                     address: 127.0.0.0/8\n    action: [transfer, update]\n  - id: keyed\n    key: k.\n    action: [transfer, update]\n\
                     template:\n  - id: default\n    storage: {home}\n    \
                     semantic-checks: off\n    acl: [all, keyed]\nzone:\n  - domain: \"{ORIGIN}\"\n    file: zone\n    notify: other\n"
                );
                let mut command = Command::new(require("knotd", "knot"));
                command.arg("-c").arg(write(folder, "knot.conf", &text));
                command
            }
            _ => {
                let more = format!(
                    "pack-directory = \"{home}/packs\"\n[access]\ntransfer = \"all\"\nupdate = \"all\"\n\
                     [[key]]\nname = \"k.\"\nsecret = \"{SECRET}\"\n\
                     [[remote]]\nname = \"other\"\naddresses = [\"127.0.0.1:{other}\"]\nkey = \"k.\"\n\
                     [[zone]]\nname = \"{ORIGIN}\"\nfile = \"zone\"\nnotify = \"other\"\n"
                );
                zonda(folder, self.address, &more)
            }
        }
    }

    /// Starts it, and waits until it answers.
    pub(crate) fn start(&self) -> Guarded {
        let process = Guarded::spawn(self.command(), self.folder.path());
        await_that("the primary", || serial(self.address).is_some());
        process
    }
}

/// The command line of the program with these settings.
pub(crate) fn zonda(folder: &Path, address: SocketAddr, more: &str) -> Command {
    let path = write(folder, "zonda.toml", &settings(folder, address, &[], more));
    let mut command = program_command(&["serve", "--config"]);
    command.arg(path).current_dir(folder);
    command
}

/// Settings of a secondary of the zone. `more`: further lines of `[secondary]`.
pub(crate) fn of_secondary(folder: &Path, primary: SocketAddr, more: &str) -> String {
    let home = folder.display();
    format!(
        "pack-directory = \"{home}/packs\"\n[access]\ntransfer = \"all\"\n[secondary]\n{more}\n\
         [[key]]\nname = \"k.\"\nsecret = \"{SECRET}\"\n\
         [[remote]]\nname = \"there\"\naddresses = [\"{primary}\"]\nkey = \"k.\"\n\
         [[zone]]\nname = \"{ORIGIN}\"\nprimaries = [\"there\"]\n"
    )
}

/// Starts a secondary; its folder stays when it ends.
pub(crate) fn start(folder: &Path, address: SocketAddr, more: &str) -> Server {
    let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    write(scratch.path(), "zonda.toml", &settings(folder, address, &[], more));
    let process = Guarded::spawn(zonda(folder, address, more), scratch.path());
    let server = Server { kind: Kind::Zonda, address, scratch, process };
    await_that("the secondary", || {
        let query = Query::new(ORIGIN, rtype::SOA).octets();
        assert!(server.process.is_running());
        udp_within(address, &query, Duration::from_millis(100)).is_ok_and(|answer| answer.is_some())
    });
    server
}

pub(crate) fn kill(process: &mut Guarded) {
    signal(process.pid(), "KILL");
    process.wait(Duration::from_secs(10)).expect("an end");
}

/// Has `nsupdate` change the primary.
#[track_caller]
pub(crate) fn update(primary: SocketAddr, script: &str) {
    // A server that has just started answers from its zones before it takes updates of them.
    await_or(
        || format!("{script} is not done"),
        || {
            let said = try_update(primary, script);
            let is_early = said.as_ref().is_some_and(|said| said.contains("update failed: SERVFAIL"));
            assert!(said.is_none() || is_early, "{script}\n{said:?}");
            said.is_none()
        },
    );
}

/// What nsupdate complains of, if it does.
fn try_update(primary: SocketAddr, script: &str) -> Option<String> {
    let mut child = Command::new("nsupdate")
        .args(["-t", "10", "-y", &format!("hmac-sha256:k.:{SECRET}")])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program nsupdate (package bind9-dnsutils)");
    let text = format!("server 127.0.0.1 {}\nzone {ORIGIN}\n{script}\nsend\n", primary.port());
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a script");
    let output = child.wait_with_output().expect("an end");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

pub(crate) fn words(server: &Server) -> String {
    String::from_utf8(ctl(server, &["zones", ORIGIN]).stdout).expect("a text")
}

/// A zone is transferred, follows its primary, outlives a kill while that is away, and goes on when it is back.
#[track_caller]
fn check_follows(kind: Kind) {
    let (address, files) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Primary::new(kind, ZONE, address);
    let settings = of_secondary(files.path(), primary.address, "");
    // It comes first, and waits.
    let mut server = start(files.path(), address, &settings);
    assert_eq!(ask(address, Transport::Udp, &Query::new(ORIGIN, rtype::SOA)).rcode(), 2, "SERVFAIL");
    await_that("the lists", || words(&server).contains("secondary no data yet"));
    let mut process = primary.start();
    await_that("the zone", || serial(address) == Some(1));
    assert_eq!(records(address), records(primary.address));
    for number in 2..6 {
        update(
            primary.address,
            &format!(
                "update add n{number}.{ORIGIN} 60 A 192.0.2.{number}\nupdate delete n{}.{ORIGIN} A",
                number - 2
            ),
        );
        let expected = serial(primary.address);
        await_that("the change", || serial(address) == expected);
    }
    let (held, all) = (serial(address), records(address));
    assert!(held > Some(1));
    assert_eq!(all, records(primary.address));
    assert!(words(&server).contains("checked"), "{}", words(&server));
    kill(&mut process);
    kill(&mut server.process);
    drop(server);
    let server = start(files.path(), address, &settings);
    assert_eq!(serial(address), held);
    // Who may have zones it knows a moment later.
    await_that("the lists", || words(&server).contains("secondary"));
    assert_eq!(records(address), all);
    let process = primary.start();
    update(primary.address, &format!("update add again.{ORIGIN} 60 TXT again"));
    let expected = serial(primary.address);
    await_that("the change after the restart", || serial(address) == expected);
    assert_eq!(records(address), records(primary.address));
    drop((server, process));
}

#[test]
fn follows_named() {
    check_follows(Kind::Named);
}

#[test]
fn follows_knot() {
    check_follows(Kind::Knot);
}

#[test]
fn follows_zonda() {
    check_follows(Kind::Zonda);
}

pub(crate) fn rcode(server: SocketAddr) -> u8 {
    let answer = ask(server, Transport::Udp, &Query::new(ORIGIN, rtype::SOA));
    u8::try_from(answer.rcode()).expect("a code of four bits")
}

/// Who may say what to a secondary.
#[test]
fn commands_notices_and_updates() {
    let (address, files) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Primary::new(Kind::Zonda, ZONE, address);
    let settings = of_secondary(files.path(), primary.address, "");
    let _process = primary.start();
    let server = start(files.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(1));
    let notice = |name: &str| {
        let mut octets = Query::new(name, rtype::SOA).octets();
        octets[2] = 4 << 3;
        let answer =
            udp_within(address, &octets, Duration::from_secs(5)).expect("a socket").expect("an answer");
        answer[3] & 0xf
    };
    // The primary's address, without its key.
    assert_eq!((notice(ORIGIN), notice("other.test.")), (5, 9));
    let script = format!(
        "server 127.0.0.1 {}\nzone {ORIGIN}\nupdate add x.{ORIGIN} 60 A 192.0.2.9\nsend\n",
        address.port()
    );
    let path = write(files.path(), "script", &script);
    let output = Command::new("nsupdate").arg(path).output().expect("the program nsupdate");
    assert!(String::from_utf8_lossy(&output.stderr).contains("REFUSED"));
    for command in ["refresh", "retransfer"] {
        assert!(ctl(&server, &[command, ORIGIN]).status.success());
        assert!(!ctl(&server, &[command, "other.test."]).status.success());
    }
    await_that("the transfer", || words(&server).contains("; asks there"));
    assert_eq!(records(address), records(primary.address));
    // From a primary to a text of its own, and back.
    let text = std::fs::read_to_string(files.path().join("zonda.toml")).expect("the settings");
    let own = write(files.path(), "own", &ZONE.replace("host 1 ", "host 7 "));
    let file = text.replace("primaries = [\"there\"]", &format!("file = \"{}\"", own.display()));
    write(files.path(), "zonda.toml", &file);
    assert!(ctl(&server, &["reconfigure"]).status.success());
    assert_eq!(serial(address), Some(7));
    assert!(!words(&server).contains("secondary"), "{}", words(&server));
    write(files.path(), "zonda.toml", &text);
    assert!(ctl(&server, &["reconfigure"]).status.success());
    assert!(ctl(&server, &["retransfer", ORIGIN]).status.success());
    await_that("the zone of the primary", || serial(address) == Some(1));
}

/// Many small zones, of a list, come together; a kill at once loses none of those that were served.
#[test]
fn many_zones_outlive_a_kill() {
    const ZONES: usize = 300;
    let (address, files) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let names: String = (0..ZONES).map(|zone| format!("z{zone}.test\n")).collect();
    let primary = Primary::new(Kind::Zonda, ZONE, address);
    let list = write(primary.folder.path(), "names", &names);
    let of_list = |line: &str| format!("[[zone]]\nnames-file = \"{}\"\n{line}\n", list.display());
    let more = format!("[access]\ntransfer = \"all\"\n{}", of_list("file = \"zone\""));
    let mut process =
        Guarded::spawn(zonda(primary.folder.path(), primary.address, &more), primary.folder.path());
    let settings = of_secondary(files.path(), primary.address, "").replace("key = \"k.\"\n", "");
    let settings = settings + &of_list("primaries = \"there\"");
    let mut server = start(files.path(), address, &settings);
    let is_served = |zone: usize| {
        let query = Query::new(&format!("www.z{zone}.test."), rtype::A).octets();
        let answer = udp_within(address, &query, Duration::from_millis(500)).ok().flatten();
        answer.is_some_and(|answer| answer[3] & 0xf == 0 && answer[7] == 1)
    };
    await_that("the zones", || (0..ZONES).all(is_served));
    kill(&mut server.process);
    kill(&mut process);
    drop(server);
    let server = start(files.path(), address, &settings);
    await_that("the zones as stored", || (0..ZONES).all(is_served));
    drop(server);
}

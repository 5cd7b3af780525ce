//! Zones out: what leaves is the zone, to those who may have it, by whatever program takes it; and what hostile clients cost.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, tcp_stream, udp_within, write_framed};
use zonda_tests::message::Query;
use zonda_tests::patience::{PATIENCE, await_that};
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, Kind, Server, ctl, free_address, write};
use zonda_tests::zone::{ZoneFile, data, repository, transfer};

const NAME: &str = "k.example.";
const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

fn zone(origin: &str, file: &str) -> ZoneFile {
    ZoneFile::new(origin, data().join("zones").join(file))
}

/// All records of a zone, to compare.
fn records(server: SocketAddr, origin: &str) -> Vec<Record> {
    let mut records: Vec<Record> = transfer(server, origin).iter().map(Record::folded).collect();
    records.sort();
    records
}

/// Record by record what named sends of the same texts: the root zone, signed ones, all types, deep names.
#[test]
fn zones_leave_as_from_named() {
    let zones = [
        ZoneFile::new(".", repository().join("data/root.zone")),
        zone("corners.test.", "corners.zone"),
        zone("big.test.", "big.zone"),
        zone("types.test.", "types.zone"),
        zone("nsec.test.", "nsec.test.zone"),
        zone("optout.test.", "optout.test.zone"),
        zone("salted.test.", "salted.test.zone"),
        zone("0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", "reverse6.zone"),
    ];
    let named = Server::start(Kind::Named, &zones);
    let zonda = Server::start_with(Kind::Zonda, &zones, "[access]\ntransfer = \"all\"\n");
    for ZoneFile { origin, .. } in &zones {
        let (ours, theirs) = (records(zonda.address, origin), records(named.address, origin));
        let other = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert_eq!((ours.len(), other), (theirs.len(), None), "{origin}");
    }
}

/// Settings with a key of an algorithm, whose holders may have all zones.
fn keyed(algorithm: &str) -> String {
    format!(
        "[[key]]\nname = \"{NAME}\"\nalgorithm = \"{algorithm}\"\nsecret = \"{SECRET}\"\n\
         [[acl]]\nname = \"partner\"\nkeys = \"K.example\"\n[access]\ntransfer = \"partner\"\n"
    )
}

/// What dig says to a transfer.
fn dig(server: &Server, arguments: &[&str]) -> String {
    let mut dig = Command::new(require("dig", "bind9-dnsutils"));
    dig.arg("@127.0.0.1").arg("-p").arg(server.address.port().to_string()).args(["+tries=1", "+time=5"]);
    let output = dig.args(arguments).output().expect("the program dig");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn keys_of_all_algorithms() {
    let algorithms = ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"];
    let key = |algorithm| {
        format!("[[key]]\nname = \"{algorithm}.k\"\nalgorithm = \"{algorithm}\"\nsecret = \"{SECRET}\"\n")
    };
    let names = algorithms.map(|algorithm| format!("\"{algorithm}.k\"")).join(", ");
    let more = format!(
        "{}[[acl]]\nname = \"partner\"\nkeys = [{names}]\n[access]\ntransfer = \"partner\"\n",
        algorithms.map(key).concat()
    );
    let server = Server::start_with(Kind::Zonda, &[zone("salted.test.", "salted.test.zone")], &more);
    for algorithm in algorithms {
        let key = format!("{algorithm}:{algorithm}.k:{SECRET}");
        let said = dig(&server, &["-y", &key, "salted.test.", "AXFR"]);
        let soas = said.lines().filter(|line| line.contains("\tSOA\t")).count();
        assert!(soas == 2 && said.contains("XFR size") && !said.contains("verify"), "{said}");
        let said = dig(&server, &["-y", &key, "salted.test.", "IXFR=1", "+notcp"]);
        assert!(said.contains("\tSOA\t") && !said.contains("verify"), "{said}");
    }
}

#[test]
fn who_may_not_have_a_zone() {
    let zones = [zone("salted.test.", "salted.test.zone"), zone("nsec.test.", "nsec.test.zone")];
    let more = keyed("hmac-sha256");
    let server = Server::start_with(Kind::Zonda, &zones, &more);
    let code = |query: Query, transport| ask(server.address, transport, &query).rcode();
    let axfr = |name: &str| Query::new(name, rtype::AXFR);
    assert_eq!(code(axfr("salted.test."), Transport::Tcp), 5, "REFUSED without the key");
    assert_eq!(code(axfr("salted.test.").edns(1232), Transport::Tcp), 5);
    assert_eq!(code(axfr("a.salted.test."), Transport::Tcp), 9, "NOTAUTH below an apex");
    assert_eq!(code(axfr("elsewhere."), Transport::Tcp), 9, "NOTAUTH");
    let other = format!("hmac-sha256:{NAME}:AAAA");
    assert!(dig(&server, &["-y", &other, "salted.test.", "AXFR"]).contains("Transfer failed"));
    let other = format!("hmac-sha256:other.:{SECRET}");
    assert!(dig(&server, &["-y", &other, "salted.test.", "AXFR"]).contains("Transfer failed"));
    let key = format!("hmac-sha256:{NAME}:{SECRET}");
    assert!(dig(&server, &["-y", &key, "nsec.test.", "AXFR"]).contains("XFR size"));
    let said = |arguments: &[&str]| String::from_utf8(ctl(&server, arguments).stdout).expect("a text");
    let text = said(&["zones", "salted.test."]);
    assert!(text.contains("0 transfers: 0 complete") && text.contains("2 refused"), "{text}");
    await_that("the count", || said(&["zones", "nsec.test."]).contains("1 transfer: 1 complete"));
    let text = said(&["zones", "nsec.test."]);
    assert!(text.contains("sent last AXFR of serial") && text.contains("key k.example."), "{text}");
    await_that("a line of the log", || {
        let log = server.log();
        log.contains("transfers refused: 4")
            && log.contains("zone nsec.test.: sent to 127.0.0.1 (AXFR, serial")
    });
    // Another list for one of the zones, while it runs.
    let text = std::fs::read_to_string(server.path("zonda.toml")).expect("the settings");
    let text = text.replace("name = 'salted.test.'", "name = 'salted.test.'\nallow-transfer = \"all\"");
    write(server.scratch.path(), "zonda.toml", &text);
    assert!(ctl(&server, &["reconfigure"]).status.success());
    assert!(!transfer(server.address, "salted.test.").is_empty());
    assert_eq!(code(axfr("nsec.test."), Transport::Tcp), 5);
}

/// The command line of a secondary that gets the zone from `primary` with the key.
fn secondary(kind: Kind, folder: &Path, own: SocketAddr, primary: SocketAddr, origin: &str) -> Command {
    let (port, from, home) = (own.port(), primary.port(), folder.display());
    match kind {
        Kind::Named => {
            let text = format!(
                "key \"{NAME}\" {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};\noptions {{ directory \"{home}\"; pid-file none; \
                 session-keyfile none; listen-on-v6 {{ none; }}; listen-on port {port} {{ 127.0.0.1; }}; recursion no; empty-zones-enable no; \
                 dnssec-validation no; notify no; allow-transfer {{ any; }}; check-names secondary ignore; }};\ncontrols {{ }};\n\
                 zone \"{origin}\" {{ type secondary; masterfile-format text; file \"secondary.zone\"; \
                 primaries {{ 127.0.0.1 port {from} key \"{NAME}\"; }}; }};\n"
            );
            let mut command = Command::new(require("named", "bind9"));
            command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(write(folder, "named.conf", &text));
            command
        }
        Kind::Nsd => {
            let text = format!(
                "server:\n ip-address: 127.0.0.1@{port}\n server-count: 1\n username: \"\"\n chroot: \"\"\n zonesdir: \"{home}\"\n \
                 database: \"\"\n pidfile: \"{home}/nsd.pid\"\n zonelistfile: \"{home}/zone.list\"\n xfrdfile: \"{home}/xfrd.state\"\n \
                 xfrdir: \"{home}\"\n verbosity: 1\nremote-control:\n control-enable: no\nkey:\n name: \"{NAME}\"\n algorithm: hmac-sha256\n \
                 secret: \"{SECRET}\"\nzone:\n name: \"{origin}\"\n zonefile: \"{home}/secondary.zone\"\n \
                 request-xfr: 127.0.0.1@{from} {NAME}\n allow-notify: 127.0.0.1 {NAME}\n provide-xfr: 127.0.0.1 NOKEY\n"
            );
            let mut command = Command::new(require("nsd", "nsd"));
            command.args(["-d", "-c"]).arg(write(folder, "nsd.conf", &text));
            command
        }
        _ => {
            let text = format!(
                "server:\n  listen: 127.0.0.1@{port}\n  rundir: {home}\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n\
                 log:\n  - target: stderr\n    any: info\ndatabase:\n  storage: {home}\nkey:\n  - id: {NAME}\n    algorithm: hmac-sha256\n    \
                 secret: {SECRET}\nremote:\n  - id: primary\n    address: 127.0.0.1@{from}\n    key: {NAME}\nacl:\n  - id: all\n    \
                 address: 127.0.0.0/8\n    action: transfer\n  - id: notify\n    address: 127.0.0.1\n    key: {NAME}\n    action: notify\n\
                 template:\n  - id: default\n    storage: {home}\n    semantic-checks: off\n    acl: [all, notify]\nzone:\n  - domain: \"{origin}\"\n    \
                 master: primary\n"
            );
            let mut command = Command::new(require("knotd", "knot"));
            command.arg("-c").arg(write(folder, "knot.conf", &text));
            command
        }
    }
}

/// Starts a secondary at `address`.
fn start_secondary(kind: Kind, address: SocketAddr, primary: SocketAddr, origin: &str) -> Server {
    let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    let command = secondary(kind, scratch.path(), address, primary, origin);
    let process = Guarded::spawn(command, scratch.path());
    Server { kind, address, scratch, process }
}

/// The serial that a server says a zone has; `None` before it answers.
fn serial(server: SocketAddr, origin: &str) -> Option<u32> {
    let query = Query::new(origin, rtype::SOA).octets();
    let answer = udp_within(server, &query, Duration::from_millis(200)).ok().flatten()?;
    let response = Response::parse(&answer).ok()?;
    let rdata = &response.answer.first()?.rdata;
    Some(u32::from_be_bytes(rdata[rdata.len() - 20..][..4].try_into().ok()?))
}

/// Secondaries of others get a signed zone with a key, and have it as we do; they hear of a new version at once.
#[track_caller]
fn check_secondary(kind: Kind) {
    let origin = "nsec3.test.";
    let folder = tempfile::tempdir().expect("a scratch folder");
    let text = std::fs::read_to_string(data().join("zones/nsec3.test.zone")).expect("a zone");
    let path = write(folder.path(), "zone", &text);
    let address = free_address();
    let more = format!(
        "{}[[remote]]\nname = \"peer\"\naddresses = [\"{address}\"]\nkey = \"{NAME}\"\n\
         [[zone]]\nname = \"{origin}\"\nfile = \"{}\"\nnotify = \"peer\"\n",
        keyed("hmac-sha256"),
        path.display()
    );
    let server = Server::start_with(Kind::Zonda, &[], &more);
    let peer = start_secondary(kind, address, server.address, origin);
    await_that("the zone", || peer.process.is_running() && serial(peer.address, origin).is_some());
    let own =
        Server::start_with(Kind::Zonda, &[ZoneFile::new(origin, &path)], "[access]\ntransfer = \"all\"\n");
    assert_eq!(records(peer.address, origin), records(own.address, origin));
    let before = serial(server.address, origin).expect("a serial");
    // Its signature is wrong then, which secondaries do not look at.
    let text = text.replacen(&format!(" {before} "), &format!(" {} ", before + 1), 1);
    write(folder.path(), "zone", &text);
    assert!(ctl(&server, &["reload", origin]).status.success());
    assert_eq!(serial(server.address, origin), Some(before + 1));
    await_that("the new version", || serial(peer.address, origin) == Some(before + 1));
    let said = || String::from_utf8(ctl(&server, &["zones", origin]).stdout).expect("a text");
    await_that("what is said of it", || {
        said().contains(&format!("notify    peer: serial {}, heard, ", before + 1))
    });
}

#[test]
fn named_as_secondary() {
    check_secondary(Kind::Named);
}

#[test]
fn nsd_as_secondary() {
    check_secondary(Kind::Nsd);
}

#[test]
fn knot_as_secondary() {
    check_secondary(Kind::Knot);
}

/// A remote that is silent is told again, one that refuses is not; both are said.
#[test]
fn remotes_that_do_not_hear() {
    let remote = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    remote.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let path = data().join("zones/salted.test.zone");
    let more = format!(
        "[[remote]]\nname = \"deaf\"\naddresses = [\"{}\"]\nsource = \"127.0.0.1\"\n\
         [[zone]]\nname = \"salted.test.\"\nfile = \"{}\"\nnotify = [\"deaf\"]\n",
        remote.local_addr().expect("an address"),
        path.display()
    );
    let server = Server::start_with(Kind::Zonda, &[], &more);
    let mut octets = [0; 1500];
    let mut receive = || {
        let (length, from) = remote.recv_from(&mut octets).expect("a message");
        (octets[..length].to_vec(), from)
    };
    let (first, _) = receive();
    let (mut again, from) = receive();
    assert_ne!(first[..2], again[..2], "another ID");
    assert_eq!((first[2..].to_vec(), &again[2..4]), (again[2..].to_vec(), &[0x24, 0][..]));
    again[2] |= 0x80;
    again[3] |= 5;
    remote.send_to(&again, from).expect("a response");
    let said = || String::from_utf8(ctl(&server, &["zones", "salted.test."]).stdout).expect("a text");
    await_that("what is said of it", || {
        said().contains("notify    deaf: serial ") && said().contains(", said REFUSED, ")
    });
    await_that("a line of the log", || server.log().contains("NOTIFY: not heard 1 time; the last: serial "));
}

/// Those who read nothing, send no more, ask on and on or vanish hold some places and nobody up.
#[test]
fn hostile_clients() {
    let zones = [ZoneFile::new(".", repository().join("data/root.zone"))];
    let server = Server::start_with(Kind::Zonda, &zones, "[access]\ntransfer = \"all\"\n");
    let query = Query::new(".", rtype::AXFR).octets();
    let begin = || {
        let mut stream = tcp_stream(server.address).expect("a connection");
        write_framed(&mut stream, &query).expect("a query");
        stream
    };
    // As many as a client may have, none of which reads; the root zone is longer than what buffers take.
    let silent: Vec<TcpStream> = (0..8).map(|_| begin()).collect();
    let stats = |name: &str| {
        let text = String::from_utf8(ctl(&server, &["stats"]).stdout).expect("a text");
        let line =
            text.lines().find(|line| line.trim_start().starts_with(&format!("{name} "))).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        let number = line.split_whitespace().nth(1).expect("a number").replace(',', "");
        number.parse::<u64>().expect("a number")
    };
    await_that("all streams", || stats("transfers-out") == 8);
    if stats("pinned-now") == 8 {
        assert_eq!(ask(server.address, Transport::Tcp, &Query::new(".", rtype::AXFR)).rcode(), 5);
    }
    assert_eq!(ask(server.address, Transport::Udp, &Query::new("com.", rtype::NS)).rcode(), 0);
    drop(silent);
    await_that("places", || stats("pinned-now") == 0);
    // Who says that no more queries come gets all of it and an end.
    let mut half_closed = begin();
    half_closed.shutdown(Shutdown::Write).expect("an end of what is sent");
    let mut all = Vec::new();
    half_closed.read_to_end(&mut all).expect("the transfer, and its end");
    assert!(all.len() > 500_000, "{}", all.len());
    // Many that vanish at once.
    for _ in 0..200 {
        let mut stream = begin();
        stream.write_all(b"\0").expect("an octet");
    }
    await_that("places", || stats("pinned-now") == 0);
    assert_eq!(transfer(server.address, ".").len(), transfer(server.address, ".").len());
    assert_eq!(stats("transfers-out"), stats("transfers-out-completed") + stats("transfers-out-broken"));
}

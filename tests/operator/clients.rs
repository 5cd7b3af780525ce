//! Programs that people change and fetch zones with, against the server: `nsupdate` and `knsupdate` with every form of an update,
//! each judged by what `named` makes of the same; `dig` and `kdig` with transfers; Kea's DHCP-DDNS.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_that};
use zonda_tests::response::Record;
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, Kind, Server, free_address, write};
use zonda_tests::zone::{ZoneFile, records_of, transfer};

const KEY: &str = "c2VjcmV0IG9mIHRoZSB0ZXN0cw==";
const ORIGIN: &str = "clients.test.";
const REVERSE: &str = "2.0.192.in-addr.arpa.";
const ZONE: &str = "$TTL 60\n@ SOA ns.example. host.example. 1 3600 600 86400 60\n@ NS ns.example.\n@ NS ns\nns A 192.0.2.1\n\
    www A 192.0.2.2\nwww A 192.0.2.3\nwww TXT kept\nalias CNAME www\nsub NS ns.sub\nns.sub A 192.0.2.4\n*.wild MX 10 www\n";

/// Algorithms of the keys, each with a name of its own.
const ALGORITHMS: [&str; 3] = ["hmac-sha256", "hmac-sha384", "hmac-sha512"];

fn zonda() -> (tempfile::TempDir, Server) {
    let files = tempfile::tempdir().expect("a scratch folder");
    let path = write(files.path(), "zone", ZONE);
    let keys = ALGORITHMS
        .map(|algorithm| {
            format!("[[key]]\nname = \"{algorithm}.k.\"\nalgorithm = \"{algorithm}\"\nsecret = \"{KEY}\"\n")
        })
        .concat();
    let names = ALGORITHMS.map(|algorithm| format!("\"{algorithm}.k.\"")).join(", ");
    let more = format!(
        "pack-directory = \"{}/packs\"\n{keys}[[acl]]\nname = \"keys\"\nkeys = [{names}]\n\
         [access]\nupdate = \"keys\"\ntransfer = \"all\"\n",
        files.path().display()
    );
    let zones = [ORIGIN, REVERSE].map(|origin| ZoneFile::new(origin, &path));
    let server = Server::start_with(Kind::Zonda, &zones, &more);
    server.await_zones();
    (files, server)
}

/// `named` with the same zones and keys.
fn named() -> Server {
    let scratch = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
    let address = free_address();
    let keys = ALGORITHMS
        .map(|algorithm| format!("key \"{algorithm}.k\" {{ algorithm {algorithm}; secret \"{KEY}\"; }};\n"))
        .concat();
    let names = ALGORITHMS.map(|algorithm| format!("key \"{algorithm}.k\"; ")).concat();
    let text = format!(
        "{keys}options {{ directory \"{}\"; pid-file none; session-keyfile none; listen-on-v6 {{ none; }};\n\
         listen-on port {} {{ 127.0.0.1; }}; recursion no; empty-zones-enable no; dnssec-validation no; notify no;\n\
         allow-transfer {{ any; }}; check-names primary ignore; }};\ncontrols {{ }};\n\
         zone \"{ORIGIN}\" {{ type primary; file \"zone\"; check-integrity no; allow-update {{ {names} }}; }};\n",
        scratch.path().display(),
        address.port()
    );
    write(scratch.path(), "zone", ZONE);
    let mut command = Command::new(require("named", "bind9"));
    command.args(["-g", "-n", "1", "-U", "1", "-c"]).arg(write(scratch.path(), "named.conf", &text));
    let process = Guarded::spawn(command, scratch.path());
    let server = Server { kind: Kind::Named, address, scratch, process };
    await_that("named", || {
        let answer =
            udp_within(address, &Query::new(ORIGIN, rtype::SOA).octets(), Duration::from_millis(100));
        answer.is_ok_and(|answer| answer.is_some_and(|answer| answer[3] & 15 == 0))
    });
    server
}

/// Runs a program; its output and errors, and whether it says that all is well.
fn run(program: &Path, arguments: &[&str], input: &str) -> (bool, String) {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("an input");
    let output = child.wait_with_output().expect("an end");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), format!("{said}{errors}"))
}

/// Forms of updates, and what is said to each; `@` stands for the zone.
pub const FORMS: &[(&str, &str)] = &[
    // Additions, of many types and of types that no program knows.
    ("update add new.@ 60 A 192.0.2.9", ""),
    (
        "update add new.@ 60 IN A 192.0.2.10\nupdate add new.@ 60 AAAA 2001:db8::1\nupdate add new.@ 60 MX 5 www.@",
        "",
    ),
    ("update add types.@ 60 SRV 1 2 3 www.@\nupdate add types.@ 60 CAA 0 issue \"ca.example\"", ""),
    ("update add types.@ 60 SSHFP 4 2 9DCA91B44D0B2D2C2A1A0D1B1E1F2021222324252627282930313233343536FF", ""),
    ("update add types.@ 60 TLSA 3 1 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", ""),
    ("update add types.@ 60 DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=", ""),
    ("update add types.@ 60 NAPTR 100 50 \"s\" \"z3950+I2L+I2C\" \"\" _z3950._tcp.@", ""),
    (
        "update add types.@ 60 TYPE65280 \\# 3 abcdef\nupdate add types.@ 60 TXT \"two\" \"strings; and \\\"marks\\\"\"",
        "",
    ),
    ("update add *.@ 60 A 192.0.2.11\nupdate add a.b.c.d.@ 60 A 192.0.2.12", ""),
    // The same again is no change, another TTL is one of the whole RRset.
    ("update add new.@ 60 A 192.0.2.9", ""),
    ("update add new.@ 300 A 192.0.2.9", ""),
    // Prerequisites, each kept and each broken.
    ("prereq yxdomain new.@\nupdate add pre1.@ 60 A 192.0.2.20", ""),
    ("prereq yxdomain none.@\nupdate add no.@ 60 A 192.0.2.20", "NXDOMAIN"),
    ("prereq nxdomain none.@\nupdate add pre2.@ 60 A 192.0.2.20", ""),
    ("prereq nxdomain new.@\nupdate add no.@ 60 A 192.0.2.20", "YXDOMAIN"),
    // An empty non-terminal owns nothing.
    ("prereq nxdomain c.d.@\nupdate add pre3.@ 60 A 192.0.2.20", ""),
    ("prereq yxrrset www.@ A\nupdate add pre4.@ 60 A 192.0.2.20", ""),
    ("prereq yxrrset www.@ AAAA\nupdate add no.@ 60 A 192.0.2.20", "NXRRSET"),
    ("prereq nxrrset www.@ AAAA\nupdate add pre5.@ 60 A 192.0.2.20", ""),
    ("prereq nxrrset www.@ TXT\nupdate add no.@ 60 A 192.0.2.20", "YXRRSET"),
    (
        "prereq yxrrset www.@ A 192.0.2.3\nprereq yxrrset www.@ A 192.0.2.2\nupdate add pre6.@ 60 A 192.0.2.20",
        "",
    ),
    ("prereq yxrrset www.@ A 192.0.2.3\nupdate add no.@ 60 A 192.0.2.20", "NXRRSET"),
    ("prereq yxrrset new.@ MX 5 WWW.@\nprereq nxdomain pre6x.@\nupdate add pre6x.@ 60 A 192.0.2.20", ""),
    ("prereq yxdomain other.example.\nupdate add no.@ 60 A 192.0.2.20", "NOTZONE"),
    // Deletions, of what is there and of what is not.
    ("update delete www.@ A 192.0.2.2", ""),
    ("update delete www.@ TXT", ""),
    ("update delete new.@", ""),
    ("update delete none.@\nupdate delete none.@ A\nupdate delete www.@ A 192.0.2.99", ""),
    ("update delete a.b.c.d.@ A 192.0.2.12\nupdate add a.b.c.d.@ 60 A 192.0.2.13", ""),
    ("update add no.other.example. 60 A 192.0.2.1", "NOTZONE"),
    // All or nothing.
    ("update add no.@ 60 A 192.0.2.1\nupdate add no.other.example. 60 A 192.0.2.1", "NOTZONE"),
    // What RFC 2136 3.4.2 leaves as it is: a CNAME record and others, the apex.
    ("update add alias.@ 60 A 192.0.2.1\nupdate add www.@ 60 CNAME alias.@", ""),
    ("update add alias.@ 60 CNAME ns.@", ""),
    ("update delete @ NS\nupdate delete @ SOA\nupdate delete @", ""),
    ("update delete @ NS ns.example.\nupdate delete @ NS ns.@", ""),
    ("update add @ 60 SOA ns.example. host.example. 3 3600 600 86400 60", ""),
    ("update add @ 60 SOA ns.example. host.example. 4000 3600 600 86400 61", ""),
    ("update add @ 60 MX 10 www.@\nupdate add @ 60 TXT apex", ""),
    // Cuts and their glue, and what is below them.
    (
        "update add cut.@ 60 NS ns.cut.@\nupdate add ns.cut.@ 60 A 192.0.2.30\nupdate add below.cut.@ 60 A 192.0.2.31",
        "",
    ),
    ("update delete sub.@ NS\nupdate delete ns.sub.@", ""),
    ("update add d.@ 60 DNAME www.@\nupdate add below.d.@ 60 A 192.0.2.32", ""),
];

/// Has a program send all forms to Zonda and to named, and compares what is said and what is there.
fn every_form(program: &str, package: &str, words: &[&str]) {
    let program = require(program, package);
    let ((_files, zonda), named) = (zonda(), named());
    let all = |server: &Server| {
        let mut records: Vec<Record> = transfer(server.address, ORIGIN).iter().map(Record::folded).collect();
        records.sort();
        records
    };
    for (at, (form, rcode)) in FORMS.iter().enumerate() {
        let algorithm = ALGORITHMS[at % ALGORITHMS.len()];
        let form = form.replace(".@", &format!(".{ORIGIN}")).replace(" @ ", &format!(" {ORIGIN} "));
        let form = form.replace("delete @", &format!("delete {ORIGIN}"));
        for server in [&zonda, &named] {
            let script = format!("server 127.0.0.1 {}\nzone {ORIGIN}\n{form}\nsend\n", server.address.port());
            let key = format!("{algorithm}:{algorithm}.k.:{KEY}");
            let arguments = [words, &["-t", "5", "-y", &key][..]].concat();
            let (is_done, said) = run(&program, &arguments, &script);
            let label = server.kind.label();
            assert_eq!(is_done, rcode.is_empty(), "{label}: {form}\n{said}\n{}", server.log());
            assert!(said.contains(rcode), "{label}: {form}\n{said}");
        }
        assert_eq!(all(&zonda), all(&named), "{form}");
    }
    for key in [format!("hmac-sha256:hmac-sha256.k.:{}", "AAAA"), format!("hmac-sha256:unknown.k.:{KEY}")] {
        let script = format!(
            "server 127.0.0.1 {}\nzone {ORIGIN}\nupdate add no.{ORIGIN} 60 A 192.0.2.1\nsend\n",
            zonda.address.port()
        );
        let (is_done, said) = run(&program, &["-t", "5", "-y", &key], &script);
        assert!(!is_done, "{said}");
    }
    assert!(all(&zonda).iter().all(|record| !record.owner.to_string().starts_with("no.")));
}

#[test]
fn nsupdate_with_every_form() {
    every_form("nsupdate", "bind9-dnsutils", &[]);
}

#[test]
fn knsupdate_with_every_form() {
    every_form("knsupdate", "knot-dnsutils", &[]);
}

/// Records of what a program printed.
fn printed(said: &str) -> Vec<Record> {
    let lines = said.lines().filter(|line| !line.starts_with(';') && !line.trim().is_empty());
    let lines = lines.filter(|line| !line.contains("\tTSIG\t"));
    records_of(&lines.map(|line| format!("{line}\n")).collect::<String>())
}

/// What a client has that applies the answer to IXFR (RFC 1995 4) to the version that it has.
fn applied(mut held: BTreeSet<Record>, answer: &[Record]) -> BTreeSet<Record> {
    let is_soa = |record: &Record| record.rtype == rtype::SOA;
    assert!(answer.len() == 1 || answer[0] == answer[answer.len() - 1], "it ends as it begins");
    match answer {
        [_] => {}
        [_, second, ..] if is_soa(second) => {
            let mut is_added = true;
            for record in &answer[1..answer.len() - 1] {
                is_added ^= is_soa(record);
                match is_added {
                    true => assert!(held.insert(record.clone()), "{record:?} is there already"),
                    false => assert!(held.remove(record), "{record:?} is not there"),
                }
            }
        }
        all => held = all.iter().cloned().collect(),
    }
    held
}

/// Versions made by updates, fetched whole and as differences from each version before, with a key.
#[test]
fn dig_and_kdig_transfer() {
    let (_files, server) = zonda();
    let port = server.address.port().to_string();
    let key = format!("hmac-sha256:hmac-sha256.k.:{KEY}");
    let programs =
        [(require("dig", "bind9-dnsutils"), "+tries=1"), (require("kdig", "knot-dnsutils"), "+retry=0")];
    let fetch = |at: usize, arguments: &[&str]| {
        let (program, once) = &programs[at];
        let arguments =
            [&["@127.0.0.1", "-p", &port, "-y", &key, once, "+time=5", ORIGIN][..], arguments].concat();
        let (is_done, said) = run(program, &arguments, "");
        assert!(
            is_done && ![";; ERROR", ";; WARNING", "failed", "verify"].iter().any(|word| said.contains(word)),
            "{said}"
        );
        printed(&said)
    };
    let nsupdate = require("nsupdate", "bind9-dnsutils");
    let mut versions: Vec<BTreeSet<Record>> = Vec::new();
    for number in 1..=6u32 {
        if number > 1 {
            let script = format!(
                "server 127.0.0.1 {port}\nzone {ORIGIN}\nupdate delete n{}.{ORIGIN}\nupdate add n{number}.{ORIGIN} 60 TXT {number}\nsend\n",
                number - 2
            );
            let (is_done, said) = run(&nsupdate, &["-y", &key], &script);
            assert!(is_done, "{said}");
        }
        let wholes = [0, 1].map(|at| fetch(at, &["AXFR"]));
        assert_eq!(wholes[0], wholes[1]);
        versions.push(wholes[0].iter().cloned().collect());
        assert_eq!(versions.last().map(BTreeSet::len), Some(wholes[0].len() - 1), "a record twice");
        for (at, before) in versions.iter().enumerate() {
            let ixfr = format!("IXFR={}", at + 1);
            for program in [0, 1] {
                for transport in ["+tcp", "+notcp"] {
                    let answer = fetch(program, &[&ixfr, transport]);
                    // By datagrams there may be the SOA record alone: it is to be asked for by TCP then.
                    if transport == "+notcp" && answer.len() == 1 {
                        continue;
                    }
                    assert_eq!(
                        Some(&applied(before.clone(), &answer)),
                        versions.last(),
                        "{ixfr} {transport}"
                    );
                }
            }
        }
    }
}

/// Kea's DHCP-DDNS, told of leases as the DHCP server tells it.
struct Kea {
    // Ended before its folder goes.
    process: Guarded,
    folder: tempfile::TempDir,
    address: SocketAddr,
    told: usize,
}

impl Kea {
    fn start(server: SocketAddr) -> Kea {
        let program = require("kea-dhcp-ddns", "kea-dhcp-ddns-server");
        let folder = tempfile::Builder::new().prefix("zonda-test-").tempdir().expect("a scratch folder");
        let (address, path) = (free_address(), folder.path().display());
        let domain = |name: &str| {
            format!(
                "{{\"name\": \"{name}\", \"key-name\": \"hmac-sha256.k.\", \"dns-servers\": [{{\"ip-address\": \"127.0.0.1\", \
                 \"port\": {}}}]}}",
                server.port()
            )
        };
        let text = format!(
            "{{\"DhcpDdns\": {{\"ip-address\": \"127.0.0.1\", \"port\": {}, \"dns-server-timeout\": 2000, \"ncr-protocol\": \"UDP\",\n\
             \"ncr-format\": \"JSON\", \"tsig-keys\": [{{\"name\": \"hmac-sha256.k.\", \"algorithm\": \"HMAC-SHA256\", \"secret\": \"{KEY}\"}}],\n\
             \"forward-ddns\": {{\"ddns-domains\": [{}]}}, \"reverse-ddns\": {{\"ddns-domains\": [{}]}},\n\
             \"loggers\": [{{\"name\": \"kea-dhcp-ddns\", \"severity\": \"DEBUG\", \"debuglevel\": 0, \"output_options\": [{{\"output\": \"stdout\"}}]}}]}}}}",
            address.port(),
            domain(ORIGIN),
            domain(REVERSE)
        );
        // It keeps files where its package says, unless it is told otherwise.
        let mut command = Command::new("env");
        command.args([format!("KEA_PIDFILE_DIR={path}"), "KEA_LOCKFILE_DIR=none".to_owned()]);
        command.args(["KEA_LOGGER_DESTINATION=stdout".as_ref(), program.as_os_str(), "-c".as_ref()]);
        command.arg(write(folder.path(), "kea.conf", &text));
        let process = Guarded::spawn(command, folder.path());
        let kea = Kea { process, folder, address, told: 0 };
        // It says that it has started before it listens, and that it listens as a message for who looks for faults.
        await_that("Kea", || {
            assert!(kea.process.is_running(), "{}", kea.log());
            kea.log().contains("DHCP_DDNS_QUEUE_MGR_STARTED")
        });
        kea
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Tells it that a client (its DHCID) has an address under a name, or has it no more; whether it could do what that asks for.
    fn tell(&mut self, is_added: bool, name: &str, address: &str, client: u8) -> bool {
        let dhcid = format!("000001{}", format!("{client:02X}").repeat(32));
        let text = format!(
            "{{\"change-type\": {}, \"forward-change\": true, \"reverse-change\": true, \"fqdn\": \"{name}.{ORIGIN}\", \
             \"ip-address\": \"{address}\", \"dhcid\": \"{dhcid}\", \"lease-expires-on\": \"20361121132600\", \"lease-length\": 3600, \
             \"use-conflict-resolution\": true, \"conflict-resolution-mode\": \"check-with-dhcid\"}}",
            u8::from(!is_added)
        );
        let message = [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat();
        UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(&message, self.address))
            .expect("a datagram");
        self.told += 1;
        let outcome = if is_added { "DHCP_DDNS_ADD_" } else { "DHCP_DDNS_REMOVE_" };
        let mut last = String::new();
        await_or(
            || format!("waited for an outcome of Kea: {}", self.log()),
            || {
                let log = self.log();
                let is_outcome = |line: &&str| {
                    ["ADD", "REMOVE"].iter().any(|kind| {
                        ["SUCCEEDED", "FAILED"]
                            .iter()
                            .any(|end| line.contains(&format!("DHCP_DDNS_{kind}_{end}")))
                    })
                };
                let all: Vec<&str> = log.lines().filter(is_outcome).collect();
                last = all.last().copied().unwrap_or_default().to_owned();
                all.len() == self.told
            },
        );
        assert!(last.contains(outcome), "{last}");
        last.contains("SUCCEEDED")
    }
}

/// Leases come, move, are contested and go (RFC 4703): a name belongs to the client whose DHCID it has.
#[test]
fn kea_with_tsig() {
    let (_files, server) = zonda();
    let mut kea = Kea::start(server.address);
    let rdata = |name: &str, rtype| {
        let answer = ask(server.address, Transport::Udp, &Query::new(name, rtype)).answer;
        answer.into_iter().map(|record| record.rdata).collect::<Vec<_>>()
    };
    let host = format!("host.{ORIGIN}");
    let pointer = |last: u8| rdata(&format!("{last}.{REVERSE}"), rtype::PTR).len();
    let dhcid = |client: u8| vec![[&[0, 0, 1][..], &[client; 32]].concat()];
    const DHCID: u16 = 49;
    // Nobody has the name.
    assert!(kea.tell(true, "host", "192.0.2.10", 0xab), "{}", kea.log());
    assert_eq!((rdata(&host, rtype::A), rdata(&host, DHCID)), (vec![vec![192, 0, 2, 10]], dhcid(0xab)));
    assert_eq!(pointer(10), 1);
    // Another client wants it, and does not get it.
    assert!(!kea.tell(true, "host", "192.0.2.11", 0xcd));
    assert_eq!((rdata(&host, rtype::A), rdata(&host, DHCID)), (vec![vec![192, 0, 2, 10]], dhcid(0xab)));
    // Its owner has another address.
    assert!(kea.tell(true, "host", "192.0.2.12", 0xab), "{}", kea.log());
    assert_eq!((rdata(&host, rtype::A), pointer(12)), (vec![vec![192, 0, 2, 12]], 1));
    // A name that an operator gave is nobody's.
    assert!(!kea.tell(true, "www", "192.0.2.13", 0xab));
    assert_eq!(rdata(&format!("www.{ORIGIN}"), rtype::A).len(), 2);
    // Who does not own it cannot take it away; its owner can.
    assert!(!kea.tell(false, "host", "192.0.2.12", 0xcd));
    assert_eq!((rdata(&host, rtype::A).len(), pointer(12)), (1, 1));
    assert!(kea.tell(false, "host", "192.0.2.12", 0xab), "{}", kea.log());
    let gone = ask(server.address, Transport::Udp, &Query::new(&host, rtype::A));
    assert_eq!((gone.rcode(), pointer(12)), (3, 0));
    // Then the name is free.
    assert!(kea.tell(true, "host", "192.0.2.11", 0xcd), "{}", kea.log());
    assert_eq!((rdata(&host, rtype::A), rdata(&host, DHCID)), (vec![vec![192, 0, 2, 11]], dhcid(0xcd)));
}

mod long {
    #[test]
    #[ignore = "long: make test-long"]
    fn nsupdate_by_tcp() {
        super::every_form("nsupdate", "bind9-dnsutils", &["-v"]);
    }
}

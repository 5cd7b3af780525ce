//! Requests of real clients, damaged: updates, notices and transfers, by datagrams and streams, signed and not. The server answers in form or
//! not at all, goes on serving and changing zones, does not grow, and has after a kill what it had before.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask, tcp, tcp_stream, udp, write_framed};
use zonda_tests::message::{Query, header, question, record};
use zonda_tests::mutate::{Random, damage};
use zonda_tests::name::Name;
use zonda_tests::patience::await_or;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, free_address, program_command, settings, signal, write};
use zonda_tests::zone::transfer;

use crate::clients::FORMS;

const KEY: &str = "c2VjcmV0IG9mIHRoZSB0ZXN0cw==";
/// A zone that everybody may change, one that needs the key, one of another server that is not there, one that is as it is.
const ZONES: [&str; 4] = ["open.test.", "keyed.test.", "other.test.", "still.test."];
/// One that no damaged message names.
const APART: &str = "probe.";
const ZONE: &str = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\nwww TXT kept\n\
    alias CNAME www\nsub NS ns.sub\nns.sub A 192.0.2.4\n*.wild MX 10 www\n";
/// Datagrams between two probes: fewer than a receive buffer holds.
const BETWEEN_PROBES: usize = 64;
const PROBE: u16 = 0xabcd;
/// Growth of the server's memory, in KiB: what zones that everybody may change come to, and what allocators keep.
const GROWTH_MAX: u64 = 96 << 10;

struct Bed {
    files: tempfile::TempDir,
    address: SocketAddr,
}

impl Bed {
    fn new() -> Bed {
        let files = tempfile::tempdir().expect("a scratch folder");
        write(files.path(), "zone", ZONE);
        Bed { files, address: free_address() }
    }

    fn start(&self) -> Guarded {
        let path = self.files.path().display();
        let [open, keyed, other, still] = ZONES;
        let more = format!(
            "pack-directory = \"{path}/packs\"\njournal-octets = {}\n[[key]]\nname = \"k.\"\nsecret = \"{KEY}\"\n[[acl]]\nname = \"keys\"\nkeys = [\"k.\"]\n\
             [[remote]]\nname = \"there\"\naddresses = [\"{}\"]\n[access]\ntransfer = \"all\"\nnotify = \"all\"\n\
             [[zone]]\nname = \"{open}\"\nfile = \"{path}/zone\"\nallow-update = \"all\"\n\
             [[zone]]\nname = \"{APART}\"\nfile = \"{path}/zone\"\nallow-update = \"all\"\n\
             [[zone]]\nname = \"{keyed}\"\nfile = \"{path}/zone\"\nallow-update = \"keys\"\nallow-transfer = \"keys\"\n\
             [[zone]]\nname = \"{other}\"\nprimaries = [\"there\"]\n[[zone]]\nname = \"{still}\"\nfile = \"{path}/zone\"\n",
            24 << 20,
            free_address()
        );
        let path =
            write(self.files.path(), "zonda.toml", &settings(self.files.path(), self.address, &[], &more));
        let mut command = program_command(&["serve", "--config"]);
        command.arg(path).current_dir(self.files.path());
        let scratch = self.files.path().join("guard");
        std::fs::remove_dir_all(&scratch).ok();
        std::fs::create_dir(&scratch).expect("a folder");
        let process = Guarded::spawn(command, &scratch);
        await_or(
            || self.log(),
            || {
                assert!(process.is_running(), "{}", self.log());
                self.log().contains("INFO serving ")
            },
        );
        process
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.files.path().join("guard/log")).unwrap_or_default())
            .into_owned()
    }
}

/// What nsupdate sends for each form, unsigned and signed: each is told that it is refused.
fn updates() -> Vec<Vec<u8>> {
    let key = format!("hmac-sha256:k.:{KEY}");
    [(0, &[][..]), (1, &["-y", &key][..])].map(|(at, key)| captured(ZONES[at], key)).concat()
}

fn captured(zone: &str, key: &[&str]) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
    let mut script =
        format!("server 127.0.0.1 {}\nzone {zone}\n", socket.local_addr().expect("an address").port());
    for (form, _) in FORMS {
        let form = form.replace(".@", &format!(".{zone}")).replace(" @ ", &format!(" {zone} "));
        script += &format!("{}\nsend\n", form.replace("delete @", &format!("delete {zone}")));
    }
    let mut command = Command::new(require("nsupdate", "bind9-dnsutils"));
    command.args(["-t", "5", "-r", "0"]).args(key);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program nsupdate");
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("a script");
    let mut all = Vec::new();
    for _ in FORMS {
        let mut buffer = [0; 4096];
        let (octets, from) = socket.recv_from(&mut buffer).expect("an update");
        all.push(buffer[..octets].to_vec());
        socket
            .send_to(&[&buffer[..2], &[0xa8, 5, 0, 0, 0, 0, 0, 0, 0, 0]].concat(), from)
            .expect("a response");
    }
    child.wait().expect("an end");
    all
}

/// Requests of the other kinds, and some questions.
fn others() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let soa = [
        Name::parse("ns.open.test.").wire(),
        Name::parse("host.open.test.").wire(),
        &1u32.to_be_bytes(),
        &[0; 16],
    ]
    .concat();
    for zone in ZONES {
        let name = Name::parse(zone);
        all.push(Query::new(zone, rtype::AXFR).octets());
        all.push(Query::new(zone, rtype::AXFR).edns(1232).octets());
        all.push(Query::new(zone, rtype::SOA).dnssec().octets());
        for opcode in [0, 4] {
            // IXFR with the SOA record of the client's version; NOTIFY with that of the sender's.
            let (qtype, counts) =
                if opcode == 0 { (rtype::IXFR, [1, 0, 1, 0]) } else { (rtype::SOA, [1, 1, 0, 0]) };
            let mut message = header(7, opcode << 11, counts);
            question(&mut message, &name, qtype, 1);
            record(&mut message, &name, rtype::SOA, 1, 60, &soa);
            all.push(message);
        }
        all.push(Query::new(zone, rtype::SOA).opcode(4).octets());
    }
    all
}

struct Attack<'b> {
    bed: &'b Bed,
    socket: UdpSocket,
    streams: Vec<TcpStream>,
    random: Random,
    sent: usize,
    answered: usize,
    updated: u32,
}

impl Attack<'_> {
    fn send(&mut self, mut message: Vec<u8>) {
        if message.starts_with(&PROBE.to_be_bytes()) {
            message[0] = 0;
        }
        // A response would not be looked at.
        if let Some(flags) = message.get_mut(2) {
            *flags &= 0x7f;
        }
        if self.random.one_in(3) {
            self.stream(&message);
        } else {
            self.socket.send(&message).expect("a datagram");
        }
        self.sent += 1;
        if self.sent.is_multiple_of(BETWEEN_PROBES) {
            self.probe();
        }
        if self.sent.is_multiple_of(BETWEEN_PROBES * 16) {
            self.update();
        }
    }

    /// Down one of some streams, which now and then are closed with all that is in them; nobody reads most of what comes.
    fn stream(&mut self, message: &[u8]) {
        if self.streams.len() < 8 {
            let stream = tcp_stream(self.bed.address).expect("a connection");
            stream.set_write_timeout(Some(Duration::from_millis(50))).expect("a time limit");
            self.streams.push(stream);
        }
        let at = self.random.below(self.streams.len());
        let mut framed = Vec::new();
        write_framed(&mut framed, message).expect("a vector grows");
        if self.random.one_in(16) {
            framed = damage(&framed, &mut self.random);
        }
        let is_well = self.streams[at].write_all(&framed).is_ok();
        if self.random.one_in(4) {
            self.streams[at].set_nonblocking(true).expect("a mode");
            let mut buffer = [0; 65536];
            self.answered += usize::from(self.streams[at].read(&mut buffer).is_ok_and(|octets| octets > 0));
            self.streams[at].set_nonblocking(false).expect("a mode");
        }
        if !is_well || self.random.one_in(32) {
            self.streams.swap_remove(at);
        }
    }

    /// An ordinary question; what comes before its answer must be in form.
    fn probe(&mut self) {
        let probe = Query::new("www.still.test.", rtype::A).id(PROBE);
        self.socket.send(&probe.octets()).expect("a datagram");
        let mut buffer = [0; 65536];
        loop {
            let octets = self.socket.recv(&mut buffer).unwrap_or_else(|error| {
                panic!("no answer after {} messages: {error}\n{}", self.sent, self.bed.log())
            });
            let answer = &buffer[..octets];
            let response = Response::parse(answer).unwrap_or_else(|fault| panic!("{fault}: {answer:02x?}"));
            assert_ne!(response.flags & 0x8000, 0, "an answer without QR: {answer:02x?}");
            if response.id == PROBE {
                assert_eq!(response.answer.len(), 1, "{response:#?}");
                return;
            }
            self.answered += 1;
        }
    }

    /// An update that is right is done all the same.
    fn update(&mut self) {
        self.updated += 1;
        let (zone, name) = (Name::parse(APART), Name::parse("probe.probe."));
        let mut message = header(self.updated as u16, 5 << 11, [1, 0, 2, 0]);
        question(&mut message, &zone, rtype::SOA, 1);
        record(&mut message, &name, rtype::A, 255, 0, b"");
        record(&mut message, &name, rtype::A, 1, 60, &self.updated.to_be_bytes());
        let answer = if self.random.one_in(2) {
            tcp(self.bed.address, &message)
        } else {
            udp(self.bed.address, &message)
        };
        assert_eq!(answer[3] & 15, 0, "{answer:02x?}\n{}", self.bed.log());
        let response = ask(self.bed.address, Transport::Udp, &Query::of(name, rtype::A));
        assert_eq!(response.answer[0].rdata, self.updated.to_be_bytes());
    }
}

/// Resident memory of a process in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

fn records(server: SocketAddr, zone: &str) -> Vec<Record> {
    let mut records = transfer(server, zone);
    records.sort();
    records
}

fn damaged(seed: u64, time: Duration) {
    eprintln!("seed {seed}");
    let bed = Bed::new();
    let mut process = bed.start();
    let (updates, others) = (updates(), others());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(bed.address).expect("a connected socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
    let (random, streams) = (Random::new(seed), Vec::new());
    let mut attack = Attack { bed: &bed, socket, streams, random, sent: 0, answered: 0, updated: 0 };
    let (begun, mut memory) = (Instant::now(), 0);
    while begun.elapsed() < time {
        let random = &mut attack.random;
        let all = if random.one_in(3) { &others } else { &updates };
        let mut message = all[random.below(all.len())].clone();
        // Another ID, or it would be taken for one that was sent again.
        message[..2].copy_from_slice(&(random.bits() as u16).to_be_bytes());
        for _ in 0..random.below(4) {
            message = damage(&message, random);
        }
        // Two of them in one, and some with all counts turned.
        if random.one_in(16) {
            message.extend_from_slice(&all[random.below(all.len())]);
        }
        attack.send(message);
        if attack.sent == 4096 {
            memory = resident(process.pid());
        }
    }
    attack.probe();
    attack.update();
    let Attack { sent, answered, updated, streams, .. } = attack;
    drop(streams);
    let grown = resident(process.pid()).saturating_sub(memory);
    eprintln!(
        "{sent} messages, {answered} answers seen, {updated} updates between them; {grown} KiB more memory"
    );
    assert!(process.is_running() && !bed.log().contains("panicked"), "{}", bed.log());
    assert!(answered > sent / 20 && grown < GROWTH_MAX, "{answered} of {sent} answered, {grown} KiB");
    let all = || [ZONES[0], ZONES[3], APART].map(|zone| records(bed.address, zone));
    let before = all();
    signal(process.pid(), "KILL");
    process.wait(Duration::from_secs(10)).expect("an end");
    let process = bed.start();
    assert_eq!(all(), before);
    drop(process);
}

#[test]
fn damaged_requests() {
    damaged(14, Duration::from_secs(2));
}

mod long {
    use std::time::Duration;

    /// `ZONDA_SEED` repeats one.
    #[test]
    #[ignore = "long: make test-long"]
    fn damaged_requests_for_a_minute() {
        let given = std::env::var("ZONDA_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
        super::damaged(given.unwrap_or(now.as_nanos() as u64), Duration::from_secs(60));
    }
}

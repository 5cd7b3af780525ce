//! All protections answer alike, whoever changes things meanwhile, in process and over UDP.
#![allow(clippy::unwrap_used)]

use std::{net::UdpSocket, sync::atomic::Ordering, thread, time::Duration};

use wire::NameBuf;

use super::*;
use crate::{
    memory::Memory,
    message::{Query, query_packet},
    rrset::RRset,
    server::{Server, Session},
};

const ZONE: &str = "\
. 86400 SOA a. b. 1 2 3 4 5
. 86400 NS ns.com.
com. 86400 NS NS.com.
com. 86400 NS ns2.net.
com. 86400 DS 1 8 2 00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF
ns.com. 86400 A 192.0.2.1
ns.com. 86400 AAAA 2001:db8::1
ns2.net. 86400 A 192.0.2.2
net. 86400 NS ns2.net.
host. 86400 A 192.0.2.3
";

fn content() -> Content {
    Content::of_zone("test", ZONE.as_bytes()).unwrap()
}

fn packet(name: &str, qtype: u16) -> Vec<u8> {
    query_packet(&name.parse::<NameBuf>().unwrap(), qtype)
}

/// The response of a server, with memory of each kind the same.
fn response<S: Server>(server: &S, name: &str, qtype: u16) -> Vec<u8> {
    let mut all = MemoryKind::ALL.map(|kind| {
        // Of jemalloc there is the system's, unless the test was started with it.
        let memory = Memory::new(kind, 1);
        let (mut store, mut session) = (memory.store().unwrap(), server.session());
        let packet = packet(name, qtype);
        let mut response = Vec::new();
        session.begin();
        assert!(session.answer(&Query::read(&packet).unwrap(), &store.begin().unwrap(), |octets| {
            response = octets.to_vec();
        }));
        response
    });
    assert!(all.iter().all(|response| *response == all[0]));
    std::mem::take(&mut all[0])
}

/// RCODE, AA, and records of each section without OPT.
fn shape(response: &[u8]) -> (u8, bool, [u8; 3]) {
    (response[3] & 15, response[2] & 4 != 0, [response[7], response[9], response[11] - 1])
}

fn protections() -> impl Iterator<Item = Settings> {
    ProtectionKind::ALL.into_iter().map(|protection| Settings { protection, ..Settings::default() })
}

#[test]
fn all_protections_answer_alike() {
    let content = content();
    let mut before: Option<Vec<Vec<u8>>> = None;
    for settings in protections() {
        let responses = with_protection!(&settings, &content, |build| {
            let server = build();
            let ask = |(name, qtype, expected)| {
                let response = response(&server, name, qtype);
                assert_eq!(shape(&response), expected, "{name} TYPE{qtype} {}", settings.protection);
                response
            };
            [
                ("www.Com.", 1, (0, false, [0, 2, 3])),
                ("com.", 43, (0, false, [0, 2, 3])),
                ("net.", 1, (0, false, [0, 1, 1])),
                ("host.", 1, (0, true, [1, 0, 0])),
                ("HOST.", 28, (0, true, [0, 1, 0])),
                (".", 2, (0, true, [1, 0, 2])),
                ("nowhere.", 1, (3, true, [0, 1, 0])),
                ("a.host.", 1, (3, true, [0, 1, 0])),
            ]
            .map(ask)
            .to_vec()
        });
        assert_eq!(*before.get_or_insert(responses.clone()), responses, "{}", settings.protection);
    }
}

#[test]
fn changes_are_seen() {
    let content = content();
    for settings in protections() {
        with_protection!(&settings, &content, |build| {
            let server = build();
            let owner = b"\x04host\0";
            server.replace(&RRset::new(owner, 1, 5, [&[192u8, 0, 2, 77][..], &[192, 0, 2, 78]]));
            assert_eq!(shape(&response(&server, "host.", 1)).2, [2, 0, 0], "{}", settings.protection);
            server.add(&RRset::new(b"\x03new\0", 1, 5, [&[192u8, 0, 2, 9][..]]));
            assert_eq!(shape(&response(&server, "new.", 1)).2, [1, 0, 0]);
            server.remove(b"\x03new\0");
            server.remove(b"\x03new\0");
            server.add(&RRset::new(b"\x05other\0", 1, 5, [&[192u8, 0, 2, 9][..]]));
            assert_eq!(shape(&response(&server, "new.", 1)).0, 3);
            let mut session = server.session();
            session.learn(&Query::read(&packet("host.", 1)).unwrap(), 5);
            session.begin();
            session.end();
            server.publish();
            assert_eq!(shape(&response(&server, "host.", 1)).2, [1, 0, 0], "{}", settings.protection);
        });
    }
}

#[test]
fn a_run_counts_what_it_did() {
    runs_count(Data::Root, &content(), protections());
    let paper = Settings { protection: ProtectionKind::Paper, ..Settings::default() };
    runs_count(Data::Cache, &Content::of_cache(), [paper].into_iter());
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long: make test-long"]
    fn a_run_of_a_cache_counts_what_it_did() {
        runs_count(Data::Cache, &Content::of_cache(), protections());
    }
}

fn runs_count(data: Data, content: &Content, all: impl Iterator<Item = Settings>) {
    for settings in all.map(|settings| Settings { data, ..settings }) {
        let one = settings.protection == ProtectionKind::Unshared;
        let settings = Settings {
            threads: if one { 1 } else { 3 },
            writes: if one { 0 } else { 200 },
            writers: 2,
            time: Duration::from_millis(150),
            warm: Duration::from_millis(10),
            waits: true,
            profile: true,
            memory: MemoryKind::Shared,
            names: Names::Skewed,
            ..settings
        };
        let outcome = measure(&settings, content).unwrap();
        let json = outcome.json();
        assert!(outcome.answered() > 0 && json["starved"] == 0, "{json}");
        assert_eq!(json["per_thread"].as_array().unwrap().len(), settings.threads);
        assert!(json["query_us"]["p50"].as_f64().unwrap() > 0.0);
        assert_eq!(json["misses"].as_u64().unwrap() > 0, settings.data == Data::Cache);
        assert!(json["locks"]["locks"].as_array().unwrap().iter().any(|lock| lock["name"] == "memory"));
        if !one {
            assert!(json["writes"]["done"].as_u64().unwrap() > 0, "{json}");
        }
        assert!(outcome.to_string().contains("answered"));
    }
}

#[test]
fn serves_over_udp() {
    let content = content();
    for (protection, is_shared, own) in [
        (ProtectionKind::Paper, true, false),
        (ProtectionKind::Snapshot, false, false),
        (ProtectionKind::Unshared, false, true),
    ] {
        let settings = Settings { protection, own, threads: 2, ..Settings::default() };
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (stop, service) = (AtomicBool::new(false), Service { address, is_shared, receive_octets: 0 });
        let answered = thread::scope(|scope| {
            let (ready, is_ready) = std::sync::mpsc::channel();
            let server =
                scope.spawn(|| serve(&settings, &content, service, &stop, move || ready.send(()).unwrap()));
            is_ready.recv().unwrap();
            let client = UdpSocket::bind("127.0.0.1:0").unwrap();
            client.connect(address).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            // What is no query gets no answer, nor does what is beside it lose its own.
            client.send(b"no query").unwrap();
            client.send(&packet("host.", 1)).unwrap();
            let mut buffer = [0; 2000];
            let octets = client.recv(&mut buffer).unwrap();
            assert_eq!(shape(&buffer[..octets]), (0, true, [1, 0, 0]));
            stop.store(true, Ordering::Relaxed);
            server.join().unwrap().unwrap()
        });
        assert_eq!(answered, 1);
    }
}

#[test]
fn settings_that_cannot_be() {
    let wrong = [
        Settings { threads: 0, ..Settings::default() },
        Settings { threads: 65, ..Settings::default() },
        Settings { protection: ProtectionKind::Unshared, threads: 2, ..Settings::default() },
        Settings { own: true, writes: 1, ..Settings::default() },
        Settings { hits: 1.1, ..Settings::default() },
        Settings { nxdomain: f64::NAN, ..Settings::default() },
        Settings { quota: 0, ..Settings::default() },
        Settings { writers: 0, ..Settings::default() },
        Settings { buckets: Some(0), ..Settings::default() },
        Settings { time: Duration::ZERO, ..Settings::default() },
    ];
    let content = content();
    let empty = Content::of_zone("test", b". 5 SOA a. b. 1 2 3 4 5\n").unwrap();
    assert!(matches!(measure(&Settings::default(), &empty), Err(Error::Option { option: "--zone", .. })));
    assert!(wrong.iter().all(|settings| matches!(measure(settings, &content), Err(Error::Option { .. }))));
}

#[test]
fn what_cannot_be_made_visible_is_counted() {
    let content = content();
    let server = server::Snapshots::new(&content);
    let mut session = server.session();
    let packet = packet("host.", 1);
    for _ in 0..20_000 {
        session.learn(&Query::read(&packet).unwrap(), 5);
    }
    session.begin();
    session.end();
    session.learn(&Query::read(&packet).unwrap(), 5);
    session.begin();
    session.end();
    assert_eq!(session.unlearned(), 20_001 - (1 << 14));
}

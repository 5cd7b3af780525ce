use std::net::IpAddr;
use std::time::Duration;

use super::*;
use crate::address::{Host, Network, Password, Place, Tls};

/// All that a database over the network has.
fn network(place: Place, tls: Tls) -> Address {
    Address::Postgres(Network {
        place,
        user: "zonda".into(),
        database: "dns".into(),
        password: Password("geheim-ü".into()),
        tls,
        poll: Duration::from_millis(5),
        statement_timeout: Duration::from_secs(60),
    })
}

fn host(name: &str, address: &str) -> Host {
    Host { name: name.into(), address: address.parse::<IpAddr>().unwrap() }
}

fn all() -> Vec<Frame> {
    let zone = NameBuf::from_text("a.example").unwrap();
    let version = |serial| Version { serial, mark: Mark([serial as u8; 16]) };
    vec![
        Frame::Names(zone.clone()),
        Frame::Roots(b"-----BEGIN".to_vec()),
        Frame::PowerDns(PowerDns { skips_unknown: true, default_ttl: 3_600, direct_dnskey: false }),
        Frame::PowerDns(PowerDns { skips_unknown: false, default_ttl: 0, direct_dnskey: true }),
        Frame::Open(Address::File("/a/b".into())),
        Frame::Open(network(
            Place::Tcp(vec![host("db1.example", "192.0.2.1"), host("db2.example", "2001:db8::2")], 5_432),
            Tls::VerifyFull,
        )),
        Frame::Open(network(Place::Socket("/run/postgresql".into(), 5_433), Tls::Disable)),
        Frame::Opened { identity: "0f".into(), is_writable: true },
        Frame::Held(zone.clone(), None),
        Frame::Held(NameBuf::root(), Some(version(7))),
        Frame::Go,
        Frame::Begin { zone: zone.clone(), from: None, to: version(8) },
        Frame::Begin { zone: zone.clone(), from: Some(version(7)), to: version(8) },
        Frame::Message(vec![7; REST_OCTETS_MAX]),
        Frame::End,
        Frame::Broken,
        Frame::Gone(zone.clone()),
        Frame::Back(zone.clone(), 9),
        Frame::Unfit(zone.clone(), "why".into()),
        Frame::Misnamed(7, "a..test. (no name)".into()),
        Frame::Without(zone.clone(), "2 rows".into()),
        Frame::Looked,
        Frame::Away(String::new()),
        Frame::Notices(Some("a proxy".into())),
        Frame::Notices(None),
        Frame::Unconfined,
        Frame::Beat,
        Frame::Again,
        Frame::Arrived(zone.clone()),
        Frame::Served(zone.clone(), version(8)),
        Frame::Refused(zone.clone()),
        Frame::Whole(zone.clone()),
        Frame::Left(zone.clone()),
        Frame::Raise(zone.clone(), 4),
        Frame::Write(Write {
            number: 1,
            zone: zone.clone(),
            over: version(7),
            once: Some(Once { name: [1; 16], request: [2; 16] }),
            until: 9,
            who: "api:acme".into(),
        }),
        Frame::Write(Write {
            number: u32::MAX,
            zone: NameBuf::root(),
            over: version(7),
            once: None,
            until: u64::MAX,
            who: String::new(),
        }),
        Frame::Going(vec![7; REST_OCTETS_MAX]),
        Frame::Coming(Vec::new()),
        Frame::Commit,
        Frame::Written(Written { zone: zone.clone(), number: 1, before: 7, after: 8 }),
        Frame::Unwritten(zone.clone(), 1, Unwritten::Refused, "a rule".into()),
        Frame::Unwritten(zone, 2, Unwritten::Unknown, String::new()),
    ]
}

#[test]
fn frames_are_what_they_were() {
    let mut octets = Vec::new();
    all().iter().for_each(|frame| frame.write(&mut octets));
    let mut at = 0;
    for frame in all() {
        let (read, length) = Frame::read(&octets[at..]).unwrap().unwrap();
        assert_eq!(read, frame);
        // In parts it is not there yet.
        assert_eq!(Frame::read(&octets[at..at + length - 1]), Ok(None));
        at += length;
    }
    assert_eq!((at, Frame::read(&[])), (octets.len(), Ok(None)));
}

#[test]
fn octets_that_are_none() {
    for octets in [
        &b"?\0\0\0\0"[..],
        b"g\0\0\0\x01x",
        b"m\xff\xff\xff\xff",
        b"G\0\0\0\0",
        b"G\0\0\0\x02\x05a",
        b"s\0\0\0\x05\0\0\0\0\x01",
    ] {
        assert_eq!(Frame::read(octets), Err(NoFrame), "{octets:?}");
    }
    // Any octets: no panic.
    let mut octets = Vec::new();
    all()
        .iter()
        .filter(|frame| !matches!(frame, Frame::Message(_) | Frame::Going(_)))
        .for_each(|frame| frame.write(&mut octets));
    for at in 0..octets.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = octets.clone();
            changed[at] = value;
            let mut from = 0;
            while let Ok(Some((_, length))) = Frame::read(&changed[from..]) {
                from += length;
            }
        }
    }
}

#[test]
fn words_have_a_bound() {
    let mut octets = Vec::new();
    Frame::Away("ü".repeat(WORDS_OCTETS_MAX)).write(&mut octets);
    let (frame, _) = Frame::read(&octets).unwrap().unwrap();
    assert!(matches!(frame, Frame::Away(text) if text.len() == WORDS_OCTETS_MAX));
}

#[test]
fn marks_are_hexadecimal() {
    let text = "0123456789abcdef00112233445566ff";
    assert_eq!(Mark::from_text(text).unwrap().to_string(), text);
    for text in ["", "0123", "0123456789abcdef00112233445566fg", "+123456789abcdef00112233445566ff"] {
        assert_eq!(Mark::from_text(text), None, "{text}");
    }
}

#[test]
fn addresses_have_bounds() {
    let read = |address: &Address| {
        let mut octets = Vec::new();
        Frame::Open(address.clone()).write(&mut octets);
        Frame::read(&octets).map(|frame| frame.unwrap().0)
    };
    for (_, tls) in Tls::ALL {
        let address = network(Place::Socket("/run".into(), 1), tls);
        assert_eq!(read(&address), Ok(Frame::Open(address)));
    }
    // As many and as long as may be, and beyond.
    let name = "n".repeat(crate::address::NAME_OCTETS_MAX);
    let hosts = |count| vec![host(&name, "2001:db8::1"); count];
    let address = network(Place::Tcp(hosts(crate::address::HOSTS_MAX), 1), Tls::Require);
    assert_eq!(read(&address), Ok(Frame::Open(address.clone())));
    assert_eq!(read(&network(Place::Tcp(hosts(200), 1), Tls::Require)), Ok(Frame::Open(address)));
    assert_eq!(read(&network(Place::Tcp(Vec::new(), 1), Tls::Require)), Err(NoFrame));
    assert_eq!(Frame::read(b"o\0\0\0\x04\0\0\x02\xff"), Err(NoFrame), "less than it says");
    assert_eq!(Frame::read(b"o\0\0\0\x04\0\0\x01\xff"), Err(NoFrame), "no text");
}

/// A password is not shown with what it is of.
#[test]
fn passwords_are_not_shown() {
    let shown = format!("{:?}", Frame::Open(network(Place::Socket("/run".into(), 1), Tls::Prefer)));
    assert!(shown.contains("password: ...") && !shown.contains("geheim"), "{shown}");
}

/// What the fuzzer begins with, and what it looks at, of each octet that is another one.
#[test]
fn what_is_fuzzed_holds() {
    let mut octets = Vec::new();
    let short = |frame: &&Frame| !matches!(frame, Frame::Message(_));
    all().iter().filter(short).for_each(|frame| frame.write(&mut octets));
    fuzz::check_frames(&octets);
    for at in 0..octets.len() {
        let mut changed = octets.clone();
        changed[at] ^= 0x81;
        fuzz::check_frames(&changed);
    }
    for seed in std::fs::read_dir("../../fuzz/seeds/feed-frame").unwrap() {
        let octets = std::fs::read(seed.unwrap().path()).unwrap();
        assert!(Frame::read(&octets).is_ok_and(|frame| frame.is_some()));
        fuzz::check_frames(&octets);
    }
}

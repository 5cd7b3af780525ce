#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    process::Command,
    sync::atomic::AtomicBool,
    thread,
    time::Duration,
};

use rustix::thread::UnshareFlags;

use super::*;
use crate::{query::Query, random::Random};

fn settings(server: SocketAddrV4, sources: Sources) -> Settings {
    let message = |line: &str| {
        let mut message = Vec::new();
        Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut message);
        message
    };
    Settings { server, sources, messages: ["com. A do", "none. A do"].map(message).to_vec(), seed: 1 }
}

#[test]
fn networks_are_as_many_and_as_far_apart_as_asked_for() {
    let mut random = Random::new(1);
    for (networks, apart, last) in [(1, 1, [1, 0, 0]), (256, 1, [1, 0, 255]), (65_536, 220, [223, 255, 36])] {
        let sources = Sources { networks, apart };
        let all: BTreeSet<[u8; 3]> = (0..networks * 2)
            .map(|number| {
                let address = sources.address(number, &mut random).octets();
                assert!((1..=254).contains(&address[3]) && ![0, 10, 127, 198].contains(&address[0]));
                [address[0], address[1], address[2]]
            })
            .collect();
        assert_eq!((all.len(), all.first(), all.last()), (networks as usize, Some(&[1, 0, 0]), Some(&last)));
    }
    assert!(Sources { networks: Sources::NETWORKS_MAX, apart: 1 }.is_possible());
    for (networks, apart) in [(0, 1), (1, 0), (65_536, 221), (u32::MAX, u32::MAX)] {
        assert!(!Sources { networks, apart }.is_possible(), "{networks} {apart}");
    }
}

#[test]
fn the_namespace_of_the_machine_is_refused() {
    let server = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
    let refused = Flood::new(&settings(server, Sources { networks: 1, apart: 1 }));
    assert_eq!(refused.err().unwrap().kind(), ErrorKind::PermissionDenied);
    // Of a thread as well.
    let refused = thread::spawn(in_own_namespace).join().unwrap();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
}

/// Does something on a thread with a network namespace of its own, whose loopback interface is up; nothing without the right to one.
fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let entered = move || {
        #[expect(deprecated, reason = "it warns of open files, none of which are unshared here")]
        let is_there = rustix::thread::unshare(UnshareFlags::NEWNET).is_ok();
        let is_up = is_there
            && Command::new("ip")
                .args(["link", "set", "lo", "up"])
                .status()
                .is_ok_and(|status| status.success());
        is_up.then(work)
    };
    let done = thread::spawn(entered).join().unwrap();
    assert!(done.is_some() || std::env::var_os("CI").is_none(), "network namespaces need root and iproute2");
    done
}

#[test]
fn what_arrives_is_what_was_to() {
    let arrived = elsewhere(|| {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let SocketAddr::V4(address) = server.local_addr().unwrap() else { panic!("IPv4") };
        let settings = settings(address, Sources { networks: 256, apart: 256 });
        let messages = settings.messages.clone();
        let mut flood = Flood::new(&settings).unwrap();
        let sending = thread::spawn(move || {
            flood.send(20_000.0, Duration::from_millis(100), &AtomicBool::new(false)).unwrap()
        });
        let (mut sources, mut octets) = (BTreeSet::new(), 0);
        let mut room = [0; 512];
        for _ in 0..500 {
            let (length, from) = server.recv_from(&mut room).unwrap();
            let SocketAddr::V4(from) = from else { panic!("IPv4") };
            assert!(messages.iter().any(|message| message[2..] == room[2..length]), "{:?}", &room[..length]);
            let [first, second, third, _] = from.ip().octets();
            assert_eq!((first, third), (1, 0), "256 apart: {from}");
            assert!(from.port() >= 1024);
            sources.insert(second);
            octets += length as u64;
        }
        let sent = sending.join().unwrap();
        assert!(sent.packets >= 500 && sent.octets >= octets && sent.packets <= sent.planned, "{sent:?}");
        sources.len()
    });
    assert!(arrived.is_none_or(|networks| networks > 200), "{arrived:?}");
}

#[test]
fn a_client_asks_with_the_cookie_it_was_given() {
    let done = elsewhere(|| {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        // Gives a cookie to who has none, answers every second of the others, and refuses the rest.
        thread::spawn(move || {
            let mut room = [0; 512];
            for number in 0u32.. {
                let (octets, from) = server.recv_from(&mut room).unwrap();
                let mut answer = room[..octets].to_vec();
                answer[2] |= 0x80;
                let is_first = answer.ends_with(b"\0\x0a\0\x08zonda-be");
                if is_first {
                    let data = octets - 8;
                    answer[data - 5] += 16;
                    answer[data - 1] += 16;
                    answer.extend_from_slice(&[7; 16]);
                } else {
                    assert!(answer.ends_with(&[7; 16]));
                    // No records, or a count of one, which is all that is looked at.
                    answer[7] = (number % 2) as u8;
                }
                server.send_to(&answer, from).unwrap();
            }
        });
        let query = Query::from_line(b"org. A do").unwrap().unwrap();
        let mut client = Client::new(address, &query).unwrap();
        client.ask(1000.0, Duration::from_millis(200), &AtomicBool::new(false)).unwrap()
    });
    let Some(asked) = done else { return };
    assert!((100..=200).contains(&asked.asked), "{asked:?}");
    assert_eq!(asked.answered + asked.refused, asked.asked, "{asked:?}");
    assert!(asked.answered.abs_diff(asked.refused) <= 1, "{asked:?}");
}

/// How many packets a second one core hands over to a veth pair, whose other end is not who they are for: `cargo test --release -p bench flood -- --ignored
/// --nocapture`.
#[test]
#[ignore = "takes seconds, and says only something of a release build"]
fn as_fast_as_it_goes() {
    let sent = elsewhere(|| {
        for words in [
            "link add flood-s type veth peer name flood-r",
            "address add 10.0.0.1/24 dev flood-s",
            "link set flood-s up",
            "link set flood-r up",
            "neighbour replace 10.0.0.2 lladdr 02:00:00:00:00:09 dev flood-s nud permanent",
        ] {
            assert!(Command::new("ip").args(words.split(' ')).status().unwrap().success(), "{words}");
        }
        let server = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 53);
        let mut flood = Flood::new(&settings(server, Sources { networks: 65_536, apart: 220 })).unwrap();
        flood.send(1e8, Duration::from_secs(2), &AtomicBool::new(false)).unwrap()
    });
    eprintln!("{sent:?}");
    assert!(sent.is_none_or(|sent| sent.packets > 0));
}

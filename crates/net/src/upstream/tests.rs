//! Real sockets of the loopback interface; time is an argument.

use std::collections::{HashMap, HashSet};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use rustix::event::epoll;
use rustix::net::sockopt;

use super::pool::{LEAVING_AGE_MAX, SOCKET_AGE_MAX};
use super::*;

/// 63 degrees of freedom: more than this once in a million times.
const CHI_SQUARE_63_MAX: f64 = 131.0;

/// The same of 1,023.
const CHI_SQUARE_1023_MAX: f64 = 1_255.0;

/// Asks through as many sockets a second as `fresh`.
fn upstream(fresh: u32, seed: u8) -> Upstream {
    let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
    let mut upstream = Upstream::new(epoll, 1, Arc::new(Counters::default())).unwrap();
    upstream.random = Unguessable::seeded([seed; 32]);
    upstream.configure(Arc::new(UpstreamSettings {
        sockets: POOL_FLOOR,
        fresh_per_second: fresh,
        ..UpstreamSettings::default()
    }));
    upstream
}

fn server() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// How far `counts` are from equal ones.
fn chi_square(counts: &[usize]) -> f64 {
    let expected = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

/// Counts in `bins` of equal width.
fn binned(ports: &[u16], bins: usize) -> Vec<usize> {
    let mut counts = vec![0; bins];
    for &port in ports {
        counts[(usize::from(port) - 1_024) * bins / (65_536 - 1_024)] += 1;
    }
    counts
}

#[test]
fn ports_are_unpredictable() {
    const QUESTIONS: usize = 10_000;
    let (mut upstream, (_silent, at)) = (upstream(u32::MAX, 1), server());
    let ports: Vec<u16> = (0..QUESTIONS)
        .map(|_| {
            upstream.now += Duration::from_millis(1);
            let path = upstream.ask(at, b"who?").unwrap();
            upstream.settle(path);
            upstream.local(path).unwrap().port()
        })
        .collect();
    let unlike = chi_square(&binned(&ports, 64));
    assert!(unlike < CHI_SQUARE_63_MAX, "the ports are uneven: {unlike}");
    // The last bits and the way from one port to the next must tell nothing either.
    let unlike = chi_square(
        &(0..64).map(|low| ports.iter().filter(|&port| port % 64 == low).count()).collect::<Vec<_>>(),
    );
    assert!(unlike < CHI_SQUARE_63_MAX, "the last bits are uneven: {unlike}");
    let mut steps = vec![0; 64];
    for pair in ports.windows(2) {
        steps[usize::from(pair[1].wrapping_sub(pair[0])) / 1_024] += 1;
    }
    // Of two numbers below 64,512 the difference modulo 65,536 is uneven by as little as this many questions show.
    assert!(chi_square(&steps) < 1.3 * CHI_SQUARE_63_MAX, "steps are uneven: {}", chi_square(&steps));
    // A port is not drawn while it is one of the 1,024 of before: 8,976^2 / 2 pairs of 64,490 ports, 625 repeated.
    let distinct = ports.iter().collect::<HashSet<_>>().len();
    assert!((9_250..9_500).contains(&distinct), "{distinct} ports");
    assert_eq!(upstream.counters.read().upstream_fresh, QUESTIONS as u64);
}

#[test]
fn without_fresh_sockets_each_is_as_likely() {
    let (mut upstream, (_silent, at)) = (upstream(0, 2), server());
    let mut count = || {
        let path = upstream.ask(at, b"who?").unwrap();
        upstream.settle(path);
        path
    };
    let first: HashSet<PathId> = (0..POOL_FLOOR).map(|_| count()).collect();
    assert_eq!(first.len(), POOL_FLOOR, "each of the first has a port of its own");
    let mut uses: HashMap<PathId, usize> = first.into_iter().map(|path| (path, 0)).collect();
    for _ in 0..10 * POOL_FLOOR {
        *uses.get_mut(&count()).expect("one of those that are open") += 1;
    }
    let unlike = chi_square(&uses.into_values().collect::<Vec<_>>());
    assert!(unlike < CHI_SQUARE_1023_MAX, "sockets are chosen unevenly: {unlike}");
    assert_eq!(upstream.counters.read().upstream_sockets, POOL_FLOOR as u64);
}

#[test]
fn sockets_rotate_as_fast_as_is_paid_for() {
    let (mut upstream, (_silent, at)) = (upstream(100, 3), server());
    let mut ask = |after: Duration| {
        upstream.now += after;
        let path = upstream.ask(at, b"who?").unwrap();
        upstream.settle(path);
        upstream.counters.read().upstream_fresh
    };
    for _ in 0..POOL_FLOOR {
        ask(Duration::ZERO);
    }
    // A burst of a tenth, then 100 a second whatever the number of questions.
    let before = ask(Duration::ZERO);
    for _ in 0..1_000 {
        ask(Duration::from_millis(1));
    }
    let opened = ask(Duration::ZERO) - before;
    assert!((100..=111).contains(&opened), "{opened} in a second");
    // Who asks less has a new one each time.
    let before = ask(Duration::ZERO);
    for question in 1..=100 {
        assert_eq!(ask(Duration::from_millis(20)), before + question);
    }
}

#[test]
fn what_is_replaced_stays_for_its_answers() {
    let (mut upstream, (server, at)) = (upstream(u32::MAX, 4), server());
    let start = upstream.now;
    let (answered, silent) = (upstream.ask(at, b"one").unwrap(), upstream.ask(at, b"two").unwrap());
    for _ in 0..POOL_FLOOR {
        upstream.now += Duration::from_millis(1);
        let path = upstream.ask(at, b"more").unwrap();
        upstream.settle(path);
    }
    assert_eq!(upstream.counters.read().upstream_sockets, POOL_FLOOR as u64 + 2);
    let mut room = [0; 16];
    let asker = server.recv_from(&mut room).unwrap().1;
    assert_eq!(&room[..3], b"one");
    server.send_to(b"answer", asker).unwrap();
    thread::sleep(Duration::from_millis(20));
    assert!(!upstream.receive(answered));
    let arrivals = upstream.take_arrivals();
    let seen: Vec<_> = arrivals.iter().collect();
    let expected =
        Arrival { path: answered, sender: at, octets: b"answer", is_cut: false, is_reassembled: false };
    assert_eq!(seen, [expected]);
    upstream.settle(answered);
    upstream.settle(answered);
    assert!(upstream.local(answered).is_err(), "nothing is open there");
    // Nobody says that the other is over.
    upstream.now = start + LEAVING_AGE_MAX - Duration::from_millis(1);
    upstream.sweep();
    assert!(upstream.local(silent).is_ok());
    upstream.now = start + LEAVING_AGE_MAX + Duration::from_secs(1);
    upstream.sweep();
    assert!(upstream.local(silent).is_err());
    upstream.now = start + SOCKET_AGE_MAX + Duration::from_secs(5);
    upstream.sweep();
    assert_eq!(upstream.counters.read().upstream_sockets, 0, "who asks nothing has none");
    assert_eq!(upstream.next_deadline(), None);
}

#[test]
fn unreachable_is_what_routers_say_and_nobody_hears() {
    let (mut upstream, (server, at)) = (upstream(0, 5), server());
    let closed = { self::server().1 };
    let path = upstream.ask(closed, b"anybody?").unwrap();
    // The system has answered with ICMP by now: loopback delivers before `sendto` returns.
    let socket = upstream.pool.socket(path).unwrap();
    assert_eq!(sockopt::socket_error(socket).unwrap(), Ok(()));
    assert!(!upstream.receive(path) && !upstream.has_arrivals());
    // Another server's datagram comes through the same socket.
    server
        .send_to(b"here", upstream.local(path).unwrap().to_string().replace("0.0.0.0", "127.0.0.1"))
        .unwrap();
    assert!(!upstream.receive(path) && upstream.has_arrivals());
    assert_eq!(upstream.take_arrivals().iter().map(|arrival| arrival.sender).collect::<Vec<_>>(), [at]);
    // One that is connected would have told: so the message was there.
    let connected = self::server().0;
    connected.connect(closed).unwrap();
    connected.send(b"anybody?").unwrap();
    assert_eq!(sockopt::socket_error(&connected).unwrap(), Err(Errno::CONNREFUSED));
}

/// The lengths of what has come to `path`, whether it was cut and whether reassembled.
fn arrived(upstream: &mut Upstream, path: PathId) -> Vec<(usize, bool, bool)> {
    thread::sleep(Duration::from_millis(5));
    upstream.receive(path);
    let arrivals = upstream.take_arrivals();
    let seen = |arrival: Arrival<'_>| (arrival.octets.len(), arrival.is_cut, arrival.is_reassembled);
    let list = arrivals.iter().map(seen).collect();
    upstream.give_back(arrivals);
    list
}

#[test]
fn lengths_are_told() {
    let mut upstream = upstream(0, 6);
    for local in ["127.0.0.1", "::1"] {
        let ip: std::net::IpAddr = local.parse().unwrap();
        // A host without IPv6 shows nothing of it.
        let Ok(server) = UdpSocket::bind((ip, 0)) else { continue };
        let path = upstream.ask(server.local_addr().unwrap(), b"who?").unwrap();
        let to = SocketAddr::new(ip, upstream.local(path).unwrap().port());
        for (octets, expected) in
            [(1_232, (1_232, false)), (4_096, (4_096, false)), (4_097, (4_096, true)), (0, (0, false))]
        {
            server.send_to(&vec![7; octets], to).unwrap();
            assert_eq!(
                arrived(&mut upstream, path),
                [(expected.0, expected.1, false)],
                "{octets} from {local}"
            );
        }
    }
}

#[test]
fn fragments_are_told() {
    let raw = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::RAW,
        rustix::net::SocketFlags::CLOEXEC,
        Some(rustix::net::ipproto::RAW),
    );
    // Only root may forge what no socket sends over an interface with room for all.
    let Ok(raw) = raw else { return };
    let (mut upstream, (_silent, at)) = (upstream(0, 9), server());
    let path = upstream.ask(at, b"who?").unwrap();
    let port = upstream.local(path).unwrap().port();
    let datagram = [&at.port().to_be_bytes()[..], &port.to_be_bytes(), &[0, 40, 0, 0], &[7; 32]].concat();
    // Whole; then in two fragments, the second first. Offsets are in units of 8 octets, 0x2000 says that more follow.
    for (id, parts) in
        [(1, vec![(0_u16, &datagram[..])]), (2, vec![(2, &datagram[16..]), (0x2000, &datagram[..16])])]
    {
        let is_reassembled = parts.len() > 1;
        for (offset, octets) in parts {
            let mut packet = vec![0x45, 0, 0, 20 + octets.len() as u8, 0, id];
            packet.extend(offset.to_be_bytes());
            packet.extend([64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
            packet.extend(octets);
            let to: SocketAddr = "127.0.0.1:0".parse().unwrap();
            rustix::net::sendto(&raw, &packet, rustix::net::SendFlags::empty(), &to).unwrap();
        }
        assert_eq!(arrived(&mut upstream, path), [(32, false, is_reassembled)]);
    }
}

#[test]
fn a_batch_ends_where_its_room_does() {
    let (mut upstream, (server, at)) = (upstream(0, 7), server());
    let path = upstream.ask(at, b"who?").unwrap();
    let to = SocketAddr::new("127.0.0.1".parse().unwrap(), upstream.local(path).unwrap().port());
    for number in 0..70_u8 {
        server.send_to(&[number], to).unwrap();
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        upstream.receive(path);
        let arrivals = upstream.take_arrivals();
        seen.extend(arrivals.iter().map(|arrival| arrival.octets[0]));
        upstream.give_back(arrivals);
    }
    // The receive buffer need not have room for all.
    assert!(seen.len() >= 40, "{}", seen.len());
    assert_eq!(seen, (0..seen.len() as u8).collect::<Vec<_>>());
}

#[test]
fn what_is_not_sent_says_why() {
    let mut upstream = upstream(0, 8);
    let (_silent, at) = server();
    assert_eq!(upstream.ask(at, b""), Err(Unsent::Length));
    assert_eq!(upstream.ask(at, &vec![0; 65_508]), Err(Unsent::Length));
    assert_eq!(upstream.ask("255.255.255.255:53".parse().unwrap(), b"all?"), Err(Unsent::NoRoute));
    upstream.configure(Arc::new(UpstreamSettings {
        sources: vec!["192.0.2.77".parse().unwrap()],
        ..UpstreamSettings::default()
    }));
    assert_eq!(upstream.ask(at, b"who?"), Err(Unsent::NoRoute));
    upstream.configure(Arc::new(UpstreamSettings {
        sources: vec![
            "127.0.0.5".parse().unwrap(),
            "127.0.0.6".parse().unwrap(),
            "192.0.2.77".parse().unwrap(),
        ],
        ports: Ports::new(&[20_000..=22_500], &[]).unwrap(),
        ..UpstreamSettings::default()
    }));
    let paths: Vec<PathId> = (0..100).map(|_| upstream.ask(at, b"who?").unwrap()).collect();
    let locals: Vec<SocketAddr> = paths.iter().map(|&path| upstream.local(path).unwrap()).collect();
    assert!(locals.iter().all(|local| (20_000..=22_500).contains(&local.port())));
    assert_eq!(locals.iter().map(SocketAddr::ip).collect::<HashSet<_>>().len(), 2);
}

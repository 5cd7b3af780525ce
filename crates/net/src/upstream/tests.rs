//! Real sockets of the loopback interface; time is an argument.

use std::collections::{HashMap, HashSet};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use rustix::event::epoll;
use rustix::net::sockopt;

use super::pool::{CROWDED_AGE_MAX, LEAVING_AGE_MAX, POOL_AGE_MAX, POOL_IDLE_MAX};
use super::*;

/// 63 degrees of freedom: more than this once in a million times.
const CHI_SQUARE_63_MAX: f64 = 131.0;

/// The same of 1,023.
const CHI_SQUARE_1023_MAX: f64 = 1_255.0;

/// Asks through as many fresh sockets a second as `fresh`, and has the smallest pool.
/// `seed`: another one in each test, as those that run at a time would draw the same ports one after the other, and find none that is free.
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

/// Asks as whoever has most need, some time later.
fn ask(upstream: &mut Upstream, server: SocketAddr, after: Duration) -> PathId {
    upstream.set_now(upstream.now + after);
    let path = upstream.ask(server, b"who?", Need::Fresh).unwrap();
    upstream.flush();
    path
}

fn opened(upstream: &Upstream) -> u64 {
    upstream.counters.read().upstream_opened
}

fn open(upstream: &Upstream) -> u64 {
    upstream.counters.read().upstream_sockets
}

const NOW: Duration = Duration::ZERO;
const MILLISECOND: Duration = Duration::from_millis(1);

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

/// Asks 10,000 times and looks at the ports, of which each is drawn among all but so many.
fn check_ports(upstream: &mut Upstream, distinct: std::ops::Range<usize>) {
    const QUESTIONS: usize = 10_000;
    let (_silent, at) = server();
    let ports: Vec<u16> = (0..QUESTIONS)
        .map(|_| {
            let path = ask(upstream, at, MILLISECOND);
            let port = upstream.local(path).unwrap().port();
            upstream.settle(path);
            port
        })
        .collect();
    let check = |what, counts: &[usize], most: f64| {
        let unlike = chi_square(counts);
        assert!(unlike < most, "{what} are uneven: {unlike}");
    };
    check("ports", &binned(&ports, 64), CHI_SQUARE_63_MAX);
    let mut low = vec![0; 64];
    let mut steps = vec![0; 64];
    for pair in ports.windows(2) {
        low[usize::from(pair[0] % 64)] += 1;
        steps[usize::from(pair[1].wrapping_sub(pair[0])) / 1_024] += 1;
    }
    check("last bits", &low, CHI_SQUARE_63_MAX);
    // The difference of two numbers below 64,512 is, modulo 65,536, uneven by a little.
    check("steps", &steps, 1.3 * CHI_SQUARE_63_MAX);
    let seen = ports.iter().collect::<HashSet<_>>().len();
    assert!(distinct.contains(&seen), "{seen} ports");
}

#[test]
fn fresh_ports_are_unpredictable() {
    let mut upstream = upstream(FRESH, 1);
    // 10,000^2 / 2 pairs of 64,490 ports: 736 are repeated, some of these twice.
    check_ports(&mut upstream, 9_180..9_380);
    assert_eq!((opened(&upstream), open(&upstream)), (10_000, 0), "each is closed once it is settled");
}

/// More than are asked for.
const FRESH: u32 = 100_000;

#[test]
fn ports_of_the_pool_are_unpredictable() {
    let mut upstream = upstream(0, 10);
    // In 10 s at 1,000 a second the pool is opened, and replaced once.
    let (_silent, at) = server();
    let mut ports = Vec::new();
    let mut known = HashSet::new();
    for _ in 0..40_000 {
        let path = ask(&mut upstream, at, MILLISECOND);
        if known.insert(path) {
            ports.push(upstream.local(path).unwrap().port());
        }
        upstream.settle(path);
        upstream.sweep();
    }
    assert!((7 * POOL_FLOOR..9 * POOL_FLOOR).contains(&ports.len()), "{} sockets in 40 s", ports.len());
    let unlike = chi_square(&binned(&ports, 64));
    assert!(unlike < CHI_SQUARE_63_MAX, "ports are uneven: {unlike}");
    assert!(open(&upstream) <= POOL_FLOOR as u64);
}

#[test]
fn each_of_the_pool_is_as_likely() {
    let (mut upstream, (_silent, at)) = (upstream(0, 2), server());
    let mut next = || {
        let path = ask(&mut upstream, at, NOW);
        upstream.settle(path);
        path
    };
    let first: HashSet<PathId> = (0..POOL_FLOOR).map(|_| next()).collect();
    assert_eq!(first.len(), POOL_FLOOR, "each of the first has a port of its own");
    let mut uses: HashMap<PathId, usize> = first.into_iter().map(|path| (path, 0)).collect();
    for _ in 0..10 * POOL_FLOOR {
        *uses.get_mut(&next()).expect("one of those that are open") += 1;
    }
    let unlike = chi_square(&uses.into_values().collect::<Vec<_>>());
    assert!(unlike < CHI_SQUARE_1023_MAX, "sockets are chosen unevenly: {unlike}");
    assert_eq!(open(&upstream), POOL_FLOOR as u64);
}

#[test]
fn fresh_sockets_are_as_many_as_are_paid_for() {
    let (mut upstream, (_silent, at)) = (upstream(100, 3), server());
    let mut asked = |need, after| {
        upstream.set_now(upstream.now + after);
        let path = upstream.ask(at, b"who?", need).unwrap();
        let kind = upstream.pool.is_fresh(path);
        upstream.settle(path);
        kind
    };
    // A burst of a tenth of a second, of which half is for those with more need.
    assert_eq!((0..20).filter(|_| asked(Need::Any, NOW)).count(), 5);
    assert_eq!((0..20).filter(|_| asked(Need::Fresh, NOW)).count(), 5);
    // Then 100 a second, however many ask; for a tenth of a second a quarter of that, as so many have asked in the first.
    let then = (0..300).filter(|_| asked(Need::Fresh, Duration::from_millis(4))).count();
    assert!((110..120).contains(&then), "{then}");
    // A flood of others takes none from those with need that ask less.
    let mut fresh = 0;
    for _ in 0..50 {
        fresh += usize::from(asked(Need::Fresh, Duration::from_millis(20)));
        assert!((0..5).filter(|_| asked(Need::Any, NOW)).count() <= 1);
    }
    assert_eq!(fresh, 50);
}

/// Where far more is asked than is paid for, a quarter of the fresh sockets is enough; and all are there again soon after.
#[test]
fn fresh_sockets_are_fewer_where_they_protect_few() {
    let (mut upstream, (_silent, at)) = (upstream(100, 14), server());
    let mut fresh = |count: u32, pause: Duration| {
        let is_fresh = |_: &u32| {
            upstream.set_now(upstream.now + pause);
            let path = upstream.ask(at, b"who?", Need::Fresh).unwrap();
            let is_fresh = upstream.pool.is_fresh(path);
            upstream.settle(path);
            is_fresh
        };
        (0..count).filter(is_fresh).count()
    };
    // A burst, and 100 a second for the first 40 questions; then a burst of a quarter, and 25 a second.
    let first = fresh(1_000, MILLISECOND);
    assert!((38..=44).contains(&first), "{first}");
    let second = fresh(1_000, MILLISECOND);
    assert!((24..=27).contains(&second), "{second}");
    fresh(100, Duration::from_millis(20));
    assert_eq!(fresh(100, Duration::from_millis(10)), 100);
}

/// Settles all but the first two questions that the pool was opened for.
fn pool(upstream: &mut Upstream, at: SocketAddr) -> [PathId; 2] {
    let first = [(); 2].map(|()| ask(upstream, at, NOW));
    for _ in 2..POOL_FLOOR {
        let path = ask(upstream, at, NOW);
        upstream.settle(path);
    }
    first
}

#[test]
fn a_pool_outlives_a_pause_and_is_replaced_evenly() {
    let (mut upstream, (_silent, at)) = (upstream(0, 5), server());
    for path in pool(&mut upstream, at) {
        upstream.settle(path);
    }
    let floor = POOL_FLOOR as u64;
    let burst = |upstream: &mut Upstream, after| {
        let before = opened(upstream);
        for number in 0..1_000 {
            let path = ask(upstream, at, if number == 0 { after } else { NOW });
            upstream.settle(path);
        }
        upstream.sweep();
        opened(upstream) - before
    };
    assert_eq!(burst(&mut upstream, POOL_AGE_MAX - MILLISECOND), 0, "none is old");
    assert_eq!(burst(&mut upstream, POOL_IDLE_MAX - MILLISECOND), 8, "all are old, some are replaced");
    // 1,024 in 5 s.
    assert_eq!((0..100).map(|_| burst(&mut upstream, 10 * MILLISECOND)).sum::<u64>(), 204);
    assert_eq!(open(&upstream), floor);
    upstream.set_now(upstream.now + POOL_IDLE_MAX);
    let mut sweeps = 0;
    while let Some(at) = upstream.next_deadline() {
        upstream.set_now(at.max(upstream.now));
        let before = open(&upstream);
        upstream.sweep();
        assert!(before - open(&upstream) <= 32, "a few at a time");
        sweeps += 1;
    }
    assert!(open(&upstream) == 0 && sweeps < 40, "{sweeps}");
}

#[test]
fn what_is_replaced_stays_for_its_answers() {
    let (mut upstream, (server, at)) = (upstream(0, 4), server());
    let [answered, silent] = pool(&mut upstream, at);
    let start = upstream.now;
    ask(&mut upstream, at, POOL_AGE_MAX);
    ask(&mut upstream, at, NOW);
    assert_eq!(open(&upstream), POOL_FLOOR as u64 + 2, "two leave");
    let mut room = [0; 16];
    let asker = server.recv_from(&mut room).unwrap().1;
    server.send_to(b"answer", asker).unwrap();
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
    upstream.set_now(start + LEAVING_AGE_MAX - MILLISECOND);
    upstream.sweep();
    assert!(upstream.local(silent).is_ok());
    upstream.set_now(start + LEAVING_AGE_MAX + Duration::from_secs(1));
    upstream.sweep();
    assert!(upstream.local(silent).is_err());
}

#[test]
fn who_settles_late_starves_nobody() {
    let (mut upstream, (_silent, at)) = (upstream(FRESH, 11), server());
    let most = upstream.pool.most() as u64;
    for _ in 0..most {
        ask(&mut upstream, at, Duration::from_micros(10));
    }
    assert_eq!(open(&upstream), most);
    assert_eq!(upstream.ask(at, b"who?", Need::Fresh), Err(Unsent::Sockets), "all wait for answers");
    let late = ask(&mut upstream, at, CROWDED_AGE_MAX);
    assert!(upstream.pool.is_fresh(late));
    assert_eq!(open(&upstream), most);
    // The list of fresh ones does not grow with one that stays.
    for _ in 0..3 * UPSTREAM_SOCKETS_MAX {
        let path = ask(&mut upstream, at, Duration::from_micros(10));
        upstream.settle(path);
    }
    assert!(upstream.pool.fresh_listed() <= 2 * UPSTREAM_SOCKETS_MAX + 1);
}

#[test]
fn unreachable_is_what_routers_say_and_nobody_hears() {
    // One of the pool, and one that is connected, whose socket does hear and is not listened to.
    for fresh in [0, FRESH] {
        let mut upstream = upstream(fresh, 15);
        let nobody = server().1;
        let path = ask(&mut upstream, nobody, NOW);
        assert_eq!(upstream.pool.is_fresh(path), fresh > 0);
        // The system has answered with ICMP by now: loopback delivers before `sendto` returns.
        assert!(!upstream.receive(path) && !upstream.has_arrivals());
        let to = SocketAddr::new("127.0.0.1".parse().unwrap(), upstream.local(path).unwrap().port());
        let late = UdpSocket::bind(nobody).unwrap();
        late.send_to(b"here after all", to).unwrap();
        assert!(!upstream.receive(path) && upstream.has_arrivals());
        assert_eq!(
            upstream.take_arrivals().iter().map(|arrival| arrival.sender).collect::<Vec<_>>(),
            [nobody]
        );
    }
    // The message was there: one that listens hears it.
    let (listens, nobody) = (server().0, server().1);
    listens.connect(nobody).unwrap();
    listens.send(b"anybody?").unwrap();
    assert_eq!(sockopt::socket_error(&listens).unwrap(), Err(Errno::CONNREFUSED));
}

#[test]
fn what_waits_behind_an_error_is_read_at_once() {
    let (mut upstream, nobody) = (upstream(FRESH, 12), server().1);
    let path = ask(&mut upstream, nobody, NOW);
    let late = UdpSocket::bind(nobody).unwrap();
    late.send_to(b"here", upstream.local(path).unwrap()).unwrap();
    assert!(!upstream.receive(path));
    assert_eq!(upstream.take_arrivals().count(), 1);
}

#[test]
fn a_fresh_port_looks_closed_to_others() {
    let (mut upstream, (_silent, at)) = (upstream(FRESH, 13), server());
    let path = ask(&mut upstream, at, NOW);
    let stranger = server().0;
    stranger.connect(upstream.local(path).unwrap()).unwrap();
    stranger.send(b"anybody?").unwrap();
    assert_eq!(sockopt::socket_error(&stranger).unwrap(), Err(Errno::CONNREFUSED));
    assert!(!upstream.receive(path) && !upstream.has_arrivals());
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
        let path = ask(&mut upstream, server.local_addr().unwrap(), NOW);
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
    let path = ask(&mut upstream, at, NOW);
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
    let path = ask(&mut upstream, at, NOW);
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
    assert_eq!(upstream.ask(at, b"", Need::Any), Err(Unsent::Length));
    assert_eq!(upstream.ask(at, &vec![0; 65_508], Need::Any), Err(Unsent::Length));
    let everybody = "255.255.255.255:53".parse().unwrap();
    let path = upstream.ask(everybody, b"all?", Need::Any).unwrap();
    assert!(!upstream.has_failed(), "it has not left yet");
    upstream.flush();
    let id = u16::from_be_bytes(*b"al");
    assert_eq!(upstream.take_failed(), [NotSent { path, server: everybody, id, why: Unsent::NoRoute }]);
    upstream.configure(Arc::new(UpstreamSettings {
        sources: vec!["192.0.2.77".parse().unwrap()],
        ..UpstreamSettings::default()
    }));
    assert_eq!(upstream.ask(at, b"who?", Need::Any), Err(Unsent::NoRoute));
    upstream.configure(Arc::new(UpstreamSettings {
        sources: vec![
            "127.0.0.5".parse().unwrap(),
            "127.0.0.6".parse().unwrap(),
            "192.0.2.77".parse().unwrap(),
        ],
        ports: Ports::new(&[20_000..=22_500], &[]).unwrap(),
        ..UpstreamSettings::default()
    }));
    let paths: Vec<PathId> = (0..100).map(|_| ask(&mut upstream, at, NOW)).collect();
    let locals: Vec<SocketAddr> = paths.iter().map(|&path| upstream.local(path).unwrap()).collect();
    assert!(locals.iter().all(|local| (20_000..=22_500).contains(&local.port())));
    assert_eq!(locals.iter().map(SocketAddr::ip).collect::<HashSet<_>>().len(), 2);
}

/// What is asked leaves with `flush`, in order, as long as it may be; when much waits it leaves sooner, and what is settled before that need not.
#[test]
fn questions_leave_together() {
    for fresh in [0, FRESH] {
        let (mut upstream, (silent, at)) = (upstream(fresh, 16), server());
        let received = |upstream: &Upstream| upstream.counters.read().upstream_queries;
        silent.set_nonblocking(true).unwrap();
        let mut room = vec![0; 65_507];
        let paths: Vec<PathId> =
            (0..5_u8).map(|number| upstream.ask(at, &[number, 1], Need::Fresh).unwrap()).collect();
        assert!(silent.recv(&mut room).is_err() && received(&upstream) == 0, "none has left");
        upstream.settle(paths[2]);
        upstream.flush();
        let left: Vec<u8> = std::iter::from_fn(|| silent.recv(&mut room).ok().map(|_| room[0])).collect();
        // Its socket of its own is closed; one of the pool stays.
        let expected: &[u8] = if fresh == 0 { &[0, 1, 2, 3, 4] } else { &[0, 1, 3, 4] };
        assert_eq!(left, expected);
        assert_eq!(received(&upstream), expected.len() as u64);
        for _ in 0..300 {
            upstream.ask(at, b"who?", Need::Fresh).unwrap();
        }
        assert!(received(&upstream) >= 256, "not more than so many wait");
        upstream.ask(at, &vec![7; 65_507], Need::Fresh).unwrap();
        let before = received(&upstream);
        upstream.ask(at, b"next", Need::Fresh).unwrap();
        assert!(received(&upstream) > before, "nor more octets than that");
        upstream.flush();
        assert!(!upstream.has_failed());
    }
}

use super::*;
use cache::Secret;
use wire::NameBuf;

fn server(number: u8) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, number], 53))
}

/// How often each of three servers is chosen in 3,200 draws.
fn chosen(candidates: &Candidates, servers: &Servers, network: &Network, busy: u8) -> [usize; 4] {
    let zone = NameBuf::from_text("example.").unwrap();
    let given = Circumstances { zone: &zone, servers, network, now: Moment(1_000_000) };
    let mut counts = [0; 4];
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..3_200 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let in_flight = |address: &SocketAddr| if *address == server(busy) { 10_000 } else { 0 };
        match candidates.choose(&given, in_flight, random ^ random >> 29) {
            Choice::Ask(number, _) => counts[number] += 1,
            _ => counts[3] += 1,
        }
    }
    counts
}

fn three() -> (Candidates, Servers, Network) {
    let mut candidates = Candidates::default();
    (0..3).for_each(|number| candidates.add(server(number), None));
    (candidates, Servers::new(1 << 16, Secret::new([1, 2, 3])), Network::default())
}

fn measured(servers: &Servers, number: u8, ms: u32) {
    servers.update(&server(number), Moment(1_000_000), |quality| quality.answered(ms * 1000));
}

#[test]
fn nothing_known_is_anybody() {
    let (candidates, servers, network) = three();
    let counts = chosen(&candidates, &servers, &network, 99);
    assert!(counts[..3].iter().all(|count| *count > 700), "{counts:?}");
}

#[test]
fn the_nearest_with_exploration() {
    let (candidates, servers, network) = three();
    (0..3).for_each(|number| measured(&servers, number, [10, 50, 200][usize::from(number)]));
    let [near, middle, far, _] = chosen(&candidates, &servers, &network, 99);
    assert!(near > 2_900 && (10..200).contains(&middle) && (10..200).contains(&far), "{near} {middle} {far}");
}

#[test]
fn what_is_not_known_is_tried_beside_what_is_far() {
    let (candidates, servers, network) = three();
    measured(&servers, 0, 300);
    let [far, ..] = chosen(&candidates, &servers, &network, 99);
    assert!(far < 150, "{far}");
    measured(&servers, 0, 1);
    let counts = chosen(&candidates, &servers, &network, 99);
    assert!(counts[1] + counts[2] > 100, "the others get known as well: {counts:?}");
}

#[test]
fn in_back_off_only_where_there_is_nothing_else() {
    let (mut candidates, servers, network) = three();
    let zone = servers.zone(&NameBuf::from_text("example.").unwrap());
    for _ in 0..5 {
        servers.update(&server(0), Moment(1_000_000), |quality| quality.timed_out(zone, Moment(1_000_000)));
    }
    assert_eq!(chosen(&candidates, &servers, &network, 99)[0], 0, "nor by exploration");
    candidates.leave_out(&server(1));
    candidates.leave_out(&server(2));
    assert_eq!(chosen(&candidates, &servers, &network, 99)[0], 3_200);
}

#[test]
fn busy_and_unreachable_is_later() {
    let (mut candidates, servers, mut network) = three();
    assert_eq!(chosen(&candidates, &servers, &network, 1)[1], 0);
    candidates.leave_out(&server(0));
    candidates.leave_out(&server(2));
    assert_eq!(chosen(&candidates, &servers, &network, 1), [0, 0, 0, 3_200]);
    candidates.try_again();
    network.unreachable(&server(0), Moment(1_000_000));
    assert_eq!(chosen(&candidates, &servers, &network, 99), [0, 0, 0, 3_200]);
}

#[test]
fn tried_enough() {
    let (mut candidates, servers, network) = three();
    for _ in 0..TRIES_MAX {
        candidates.tried(0);
    }
    assert_eq!(chosen(&candidates, &servers, &network, 99)[0], 0);
    // Each once before any is asked again.
    candidates.try_again();
    (0..3).for_each(|number| measured(&servers, number, 10));
    candidates.tried(0);
    assert!(chosen(&candidates, &servers, &network, 99)[0] < 100);
    (1..3).for_each(|number| (0..TRIES_MAX).for_each(|_| _ = candidates.tried(number)));
    (0..TRIES_MAX).for_each(|_| _ = candidates.tried(0));
    assert!(!candidates.has_more());
}

#[test]
fn what_is_sought() {
    let mut candidates = Candidates::default();
    let [a, b] = ["a.example.", "b.example."].map(|text| NameBuf::from_text(text).unwrap());
    candidates.add_name(&a, [false, true]);
    candidates.add_name(&b, [true, true]);
    let mut sought = Vec::new();
    while let Some((name, rtype)) = candidates.next_sought() {
        sought.push((name.to_string(), rtype));
    }
    // The name of which nothing is known goes first.
    let expected = [("b.example.", rtype::A), ("a.example.", rtype::AAAA), ("b.example.", rtype::AAAA)];
    sought.sort();
    let mut sorted: Vec<_> = expected.map(|(name, rtype)| (name.to_owned(), rtype)).to_vec();
    sorted.sort();
    assert_eq!(sought, sorted);
    assert!(candidates.has_name(&a) && !candidates.has_name(&NameBuf::from_text("c.example.").unwrap()));
    let mut many = Candidates::default();
    (0..60)
        .for_each(|n| many.add_name(&NameBuf::from_text(&format!("n{n}.example.")).unwrap(), [true, true]));
    assert_eq!(std::iter::from_fn(|| many.next_sought().map(|_| ())).count(), usize::from(SOUGHT_MAX));
    assert!(many.octets() < 4096);
}

#[test]
fn addresses_are_bounded_and_each_once() {
    let mut candidates = Candidates::default();
    (0..100).for_each(|number| candidates.add(server(number % 50), None));
    assert!(candidates.octets() < 2_048, "{}", candidates.octets());
    assert_eq!((0..).take_while(|number| candidates.tried(*number).is_some()).count(), CANDIDATES_MAX);
}

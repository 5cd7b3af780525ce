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
    (0..3).for_each(|number| _ = candidates.add(server(number), None));
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
    while let Some((name, rtype)) = candidates.next_sought(ANY) {
        sought.push((name.to_string(), rtype));
        let name = name.to_owned();
        candidates.came_to(&name, true, [1, 1]);
    }
    // The name of which nothing is known goes first.
    let expected = [("b.example.", rtype::A), ("a.example.", rtype::AAAA), ("b.example.", rtype::AAAA)];
    sought.sort();
    let mut sorted: Vec<_> = expected.map(|(name, rtype)| (name.to_owned(), rtype)).to_vec();
    sorted.sort();
    assert_eq!(sought, sorted);
    assert!(candidates.has_name(&a) && !candidates.has_name(&NameBuf::from_text("c.example.").unwrap()));
    let mut many = Candidates::default();
    (0..60).for_each(|n| many.add_name(&NameBuf::from_text(&format!("n.z{n}.")).unwrap(), [true, true]));
    assert_eq!(std::iter::from_fn(|| many.next_sought(ANY).map(|_| ())).count(), usize::from(SOUGHT_MAX));
    assert!(many.octets() < 4096);
}

#[test]
fn addresses_are_bounded_and_each_once() {
    let mut candidates = Candidates::default();
    (0..100).for_each(|number| _ = candidates.add(server(number % 50), None));
    assert!(candidates.octets() < 2_048, "{}", candidates.octets());
    assert_eq!((0..).take_while(|number| candidates.tried(*number).is_some()).count(), CANDIDATES_MAX);
}

/// What may be sought whatever came of others.
const ANY: [usize; 2] = [usize::MAX; 2];

fn names(candidates: &mut Candidates, names: &[&str]) {
    names.iter().for_each(|name| candidates.add_name(&NameBuf::from_text(name).unwrap(), [true; 2]));
}

/// Seeks all there is, the outcome of each name and type by a rule; what was sought.
fn seek(candidates: &mut Candidates, came: impl Fn(&str, u16) -> (bool, [usize; 2])) -> Vec<String> {
    let mut sought = Vec::new();
    while let Some((name, rtype)) = candidates.next_sought([2, 5]) {
        let name = name.to_owned();
        let (is_there, addresses) = came(&name.to_string(), rtype);
        candidates.came_to(&name, is_there, addresses);
        sought.push(format!("{name} {}", rtype::Text(rtype)));
    }
    sought
}

#[test]
fn two_names_of_a_domain_in_vain() {
    let mut candidates = Candidates::default();
    names(&mut candidates, &["a.victim.", "b.victim.", "c.victim.", "d.victim.", "ns.other."]);
    let sought = seek(&mut candidates, |_, _| (false, [0, 0]));
    assert_eq!(sought.iter().filter(|one| one.contains(".victim. ")).count(), 2, "{sought:?}");
    assert!(sought.contains(&"ns.other. A".to_owned()), "another domain's name is sought: {sought:?}");
}

#[test]
fn five_names_of_any_domain_in_vain() {
    let mut candidates = Candidates::default();
    names(&mut candidates, &["n.a.", "n.b.", "n.c.", "n.d.", "n.e.", "n.f.", "n.g."]);
    assert_eq!(seek(&mut candidates, |_, _| (false, [0, 0])).len(), 5);
}

/// Servers with IPv6 alone: what has no A is asked for AAAA before anything else is sought.
#[test]
fn no_address_of_one_type_is_not_in_vain() {
    let mut candidates = Candidates::default();
    names(&mut candidates, &["a.six.", "b.six.", "c.six."]);
    let sought = seek(&mut candidates, |_, rtype| match rtype {
        rtype::A => (true, [0, 0]),
        _ => (true, [1, 1]),
    });
    assert_eq!(sought.len(), 6, "{sought:?}");
    assert!(sought[0].ends_with(" A") && sought[1].ends_with(" AAAA"), "{sought:?}");
}

/// Names that all have one address (NRDelegation): it is known after the first.
#[test]
fn the_same_address_again_is_in_vain() {
    let mut candidates = Candidates::default();
    names(&mut candidates, &["a.victim.", "b.victim.", "c.victim.", "d.victim.", "e.victim."]);
    let count = std::cell::Cell::new(0);
    let sought = seek(&mut candidates, |_, rtype| {
        count.set(count.get() + 1);
        let addresses = usize::from(rtype == rtype::A);
        (true, [addresses, usize::from(count.get() == 1)])
    });
    let of_a = sought.iter().filter(|one| one.ends_with(" A")).count();
    assert_eq!(of_a, 3, "{sought:?}");
}

/// A delegation to more names without addresses than any sound one has: one name of a domain in vain is enough.
#[test]
fn one_name_of_a_crowd_in_vain() {
    let crowd = |count: u8| {
        let mut candidates = Candidates::default();
        let list: Vec<String> = (0..count).map(|number| format!("n{number}.victim.")).collect();
        names(&mut candidates, &list.iter().map(String::as_str).collect::<Vec<_>>());
        names(&mut candidates, &["ns.other."]);
        candidates
    };
    let sought_of_victim = |mut candidates: Candidates| {
        let sought = seek(&mut candidates, |_, _| (false, [0, 0]));
        assert!(sought.contains(&"ns.other. A".to_owned()), "another domain's name is sought: {sought:?}");
        sought.iter().filter(|one| one.contains(".victim. ")).count()
    };
    assert_eq!(sought_of_victim(crowd(CROWD - 1)), 2);
    assert_eq!(sought_of_victim(crowd(CROWD)), 1);
}

/// The first one's server refuses (NRDelegation): of a crowd no other one is sought.
#[test]
fn one_name_of_a_crowd_whose_server_refuses() {
    for (count, expected) in [(CROWD, 2), (CROWD + 1, 1)] {
        let mut candidates = Candidates::default();
        let list: Vec<String> = (0..count).map(|number| format!("n{number}.victim.")).collect();
        list.iter().for_each(|name| candidates.add_name(&NameBuf::from_text(name).unwrap(), [true, false]));
        let mut sought = 0;
        while let Some((name, _)) = candidates.next_sought([2, 5]) {
            let name = name.to_owned();
            let is_new = candidates.add(server(1), None);
            candidates.leave_out(&server(1));
            candidates.came_to(&name, true, [1, usize::from(is_new)]);
            sought += 1;
            assert!(sought < 5);
        }
        assert_eq!(sought, expected, "{count}");
    }
}

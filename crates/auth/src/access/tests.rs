#![allow(clippy::unwrap_used)]

use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use sync::random::Random;

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').unwrap();
    Prefix::new(address.parse().unwrap(), length.parse().unwrap()).unwrap()
}

/// A list of prefixes such as `10.0.0.0/8` and `!10.1.0.0/16`.
fn source(texts: &[&str]) -> ListSource {
    let prefixes = texts.iter().map(|text| match text.strip_prefix('!') {
        Some(text) => (prefix(text), true),
        None => (prefix(text), false),
    });
    ListSource { prefixes: prefixes.collect(), ..ListSource::default() }
}

fn from(address: &str) -> Asker<'static> {
    Asker { address: address.parse().unwrap(), transport: Transport::Udp, is_proved: false, key: None }
}

/// What lists say of queries, all of them together.
fn access(sources: &[ListSource]) -> Access {
    let lists: Vec<List> = sources.iter().map(|source| List::new(source).unwrap()).collect();
    let [_, others @ ..] = Access::default().defaults;
    let rule = Rule::Lists((0..lists.len() as u16).collect());
    let [a, b, c, d] = others;
    Access::new(lists, [rule, a, b, c, d], Vec::new()).unwrap()
}

fn decide(access: &Access, asker: &Asker<'_>) -> Decision {
    access.decide(Kind::Query, Group::default(), asker)
}

fn is_in(texts: &[&str], address: &str) -> bool {
    decide(&access(&[source(texts)]), &from(address)) == Decision::Allowed
}

#[test]
fn prefixes() {
    let new = |address: &str, length| Prefix::new(address.parse().unwrap(), length);
    assert_eq!(new("192.0.2.0", 24).unwrap().to_string(), "192.0.2.0/24");
    assert_eq!(new("192.0.2.1", 24), Err(PrefixFault::HostBits(prefix("192.0.2.0/24"))));
    assert_eq!(new("192.0.2.1", 33), Err(PrefixFault::Length(32)));
    assert_eq!(new("2001:db8::", 129), Err(PrefixFault::Length(128)));
    assert_eq!(new("2001:db8::1", 32), Err(PrefixFault::HostBits(prefix("2001:db8::/32"))));
    assert_eq!(new("::ffff:192.0.2.0", 120), new("192.0.2.0", 24));
    assert_eq!(new("::ffff:192.0.2.1", 120), Err(PrefixFault::HostBits(prefix("192.0.2.0/24"))));
    for whole in ["0.0.0.0/0", "255.255.255.255/32", "::/0", "ffff:ffff::/32"] {
        assert_eq!(prefix(whole).to_string(), whole);
    }
    assert_eq!(prefix("0.0.0.0/0").v4(), Some((0, u32::MAX)));
    assert_eq!(prefix("::/0").v6(), Some((0, u128::MAX)));
    assert_eq!(prefix("::1/128").v6(), Some((1, 1)));
}

#[test]
fn the_longest_prefix_decides_in_any_order() {
    let mut texts = ["10.0.0.0/8", "!10.1.0.0/16", "10.1.2.0/24", "2001:db8::/32"];
    for _ in 0..texts.len() {
        texts.rotate_left(1);
        for (address, expected) in [
            ("9.255.255.255", false),
            ("10.0.0.0", true),
            ("10.0.255.255", true),
            ("10.1.0.0", false),
            ("10.1.1.255", false),
            ("10.1.2.0", true),
            ("10.1.2.255", true),
            ("10.1.3.0", false),
            ("10.2.0.0", true),
            ("10.255.255.255", true),
            ("11.0.0.0", false),
            ("::ffff:10.0.0.1", true),
            ("::a00:1", false),
            ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", false),
            ("2001:db8::", true),
            ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true),
            ("2001:db9::", false),
        ] {
            assert_eq!(is_in(&texts, address), expected, "{address} in {texts:?}");
        }
    }
    assert!(is_in(&["0.0.0.0/0"], "255.255.255.255") && !is_in(&["0.0.0.0/0"], "::1"));
    assert!(is_in(&["::/0", "!::1/128"], "::2") && !is_in(&["::/0", "!::1/128"], "::1"));
    assert!(!is_in(&["0.0.0.0/0", "!255.255.255.255/32"], "255.255.255.255"));
    assert!(is_in(&[], "192.0.2.1"));
}

#[test]
fn what_is_no_list() {
    let fault = |texts: &[&str]| List::new(&source(texts)).unwrap_err();
    assert_eq!(fault(&["!10.0.0.0/8", "!::/0"]), ListFault::NobodyLeft);
    assert_eq!(fault(&["10.0.0.0/8", "::/0", "!10.0.0.0/8"]), ListFault::Twice(0, 2));
    assert_eq!(fault(&["10.0.0.0/8", "::ffff:10.0.0.0/104"]), ListFault::Twice(0, 1));
    let many = (0..=PREFIXES_MAX as u32).map(|at| Prefix::new(Ipv4Addr::from_bits(at).into(), 32).unwrap());
    let mut many =
        ListSource { prefixes: many.map(|prefix| (prefix, false)).collect(), ..Default::default() };
    assert_eq!(List::new(&many).unwrap_err(), ListFault::TooManyPrefixes);
    many.prefixes.pop();
    assert!(List::new(&many).is_ok());
    let keys = vec!["k.".parse().unwrap(); KEYS_MAX + 1];
    assert_eq!(List::new(&ListSource { keys, ..Default::default() }).unwrap_err(), ListFault::TooManyKeys);
}

#[test]
fn keys_transports_and_proof() {
    let [key, other]: [wire::NameBuf; 2] = ["Key.Example", "other.example"].map(|name| name.parse().unwrap());
    let signed = access(&[ListSource { keys: vec![key], ..source(&["192.0.2.0/24"]) }]);
    let small: wire::NameBuf = "key.example".parse().unwrap();
    let ask = |key, address| decide(&signed, &Asker { key, ..from(address) });
    assert_eq!(ask(Some(&*small), "192.0.2.1"), Decision::Allowed);
    assert_eq!(ask(Some(&*small), "192.0.3.1"), Decision::Denied);
    assert_eq!(ask(Some(&*other), "192.0.2.1"), Decision::Denied);
    assert_eq!(ask(None, "192.0.2.1"), Decision::Denied);

    let encrypted = ListSource { transports: vec![Transport::Tls, Transport::Quic], ..source(&[]) };
    let proved = ListSource { must_be_proved: true, ..source(&["10.0.0.0/8"]) };
    let both = access(&[encrypted, proved]);
    let ask = |transport, is_proved, address| decide(&both, &Asker { transport, is_proved, ..from(address) });
    assert_eq!(ask(Transport::Tls, false, "192.0.2.1"), Decision::Allowed);
    assert_eq!(ask(Transport::Quic, false, "10.0.0.1"), Decision::Allowed);
    assert_eq!(ask(Transport::Https, true, "192.0.2.1"), Decision::Denied);
    assert_eq!(ask(Transport::Udp, false, "10.0.0.1"), Decision::Unproved);
    assert_eq!(ask(Transport::Udp, true, "10.0.0.1"), Decision::Allowed);
    assert_eq!(ask(Transport::Udp, false, "192.0.2.1"), Decision::Denied);
}

/// A list takes out of itself only: what another lets in is in.
#[test]
fn one_of_several_lists_is_enough() {
    let lists = access(&[source(&["10.0.0.0/8", "!10.1.0.0/16"]), source(&["10.1.1.0/24"])]);
    let ask = |address| decide(&lists, &from(address));
    assert_eq!(ask("10.0.0.1"), Decision::Allowed);
    assert_eq!(ask("10.1.1.1"), Decision::Allowed);
    assert_eq!(ask("10.1.2.1"), Decision::Denied);
}

#[test]
fn kinds_and_groups() {
    let lists = || vec![List::new(&source(&["10.0.0.0/8"])).unwrap()];
    let own = || Rule::Lists([0].into());
    let defaults = || Access::default().defaults;
    let groups =
        || vec![[Some(own()), None, Some(Rule::All), None, None], [None, Some(own()), None, None, None]];
    let access = Access::new(lists(), defaults(), groups()).unwrap();
    assert!(!access.is_open() && access.has_group_queries());
    let (here, there) = (from("10.0.0.1"), from("192.0.2.1"));
    let decide =
        |kind, group, asker| access.decide(kind, Group::new(group, false), asker) == Decision::Allowed;
    for (kind, group, expected) in [
        (Kind::Query, 0, [true, true]),
        (Kind::Query, 1, [true, false]),
        (Kind::Query, 2, [true, true]),
        // One that is not known.
        (Kind::Query, 3, [false, false]),
        (Kind::Transfer, 0, [false, false]),
        (Kind::Transfer, 1, [false, false]),
        (Kind::Transfer, 2, [true, false]),
        (Kind::Update, 1, [true, true]),
        (Kind::Update, 2, [false, false]),
        (Kind::Notify, 1, [false, false]),
        (Kind::Recursion, 0, [false, false]),
    ] {
        assert_eq!([&here, &there].map(|asker| decide(kind, group, asker)), expected, "{kind:?} {group}");
    }
    // Rules for other kinds leave queries open; so do lists that no rule names.
    let transfers = vec![[None, Some(own()), None, None, None]];
    let access = Access::new(lists(), defaults(), transfers).unwrap();
    assert!(access.is_open() && !access.has_group_queries());
    // A list that is not there lets nobody in.
    let [_, a, b, c, d] = defaults();
    let access = Access::new(Vec::new(), [own(), a, b, c, d], Vec::new()).unwrap();
    assert_eq!(super::tests::decide(&access, &here), Decision::Denied);
}

#[test]
fn more_than_there_may_be() {
    let list = List::new(&source(&[])).unwrap();
    let new = |lists: usize, of_rule: usize, groups: usize| {
        let rule = Rule::Lists((0..of_rule as u16).collect());
        let groups = vec![[Some(rule), None, None, None, None]; groups];
        Access::new(vec![list.clone(); lists], Access::default().defaults, groups).map(drop)
    };
    assert_eq!(new(LISTS_MAX, RULE_LISTS_MAX, Group::NUMBERS_MAX), Ok(()));
    assert_eq!(new(LISTS_MAX + 1, 1, 1), Err(TooMany::Lists));
    assert_eq!(new(1, RULE_LISTS_MAX + 1, 1), Err(TooMany::ListsOfRule));
    assert_eq!(new(1, 1, Group::NUMBERS_MAX + 1), Err(TooMany::Groups));
}

/// Whether the longest of the prefixes that cover the address is one that is in: by looking at each.
fn naive(prefixes: &[(Prefix, bool)], address: IpAddr) -> bool {
    let covers = |prefix: &Prefix| match (prefix.address(), address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            (0..prefix.length()).all(|bit| a.to_bits() << bit >> 31 == b.to_bits() << bit >> 31)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            (0..prefix.length()).all(|bit| a.to_bits() << bit >> 127 == b.to_bits() << bit >> 127)
        }
        _ => false,
    };
    let covering = prefixes.iter().filter(|(prefix, _)| covers(prefix));
    covering.max_by_key(|(prefix, _)| prefix.length()).is_some_and(|(_, is_excluded)| !is_excluded)
}

/// An address among few, so that prefixes lie in each other and side by side, at the ends of the space too.
fn address(random: &mut Random) -> IpAddr {
    let ends = [0, 1, 2, 3, 0x7f, 0x80, 0xfd, 0xfe, 0xff];
    let mut octet = || ends[random.below(ends.len() as u64) as usize] as u8;
    let v4 = [octet(), octet(), octet(), octet()];
    if octet() < 0x80 {
        return Ipv4Addr::from(v4).into();
    }
    let mut v6 = [if v4[0] & 1 == 0 { 0 } else { 0xff }; 16];
    v6[..2].copy_from_slice(&v4[..2]);
    v6[14..].copy_from_slice(&v4[2..]);
    Ipv6Addr::from(v6).into()
}

#[test]
fn lists_are_as_the_model_that_looks_at_every_prefix() {
    for seed in 0..400 {
        let random = &mut Random::new(seed);
        let mut prefixes: Vec<(Prefix, bool)> = Vec::new();
        for _ in 0..1 + random.below(40) {
            let address = address(random);
            let bits: u64 = if address.is_ipv4() { 32 } else { 128 };
            let length =
                [random.below(bits + 1), bits - random.below(4), random.below(17)][random.below(3) as usize];
            let prefix = match Prefix::new(address, length as u8) {
                Ok(prefix) | Err(PrefixFault::HostBits(prefix)) => prefix,
                Err(fault) => panic!("{fault:?}"),
            };
            if prefixes.iter().all(|(other, _)| *other != prefix) {
                prefixes.push((prefix, random.below(3) == 0));
            }
        }
        if prefixes.iter().all(|(_, is_excluded)| *is_excluded) {
            continue;
        }
        let list = access(&[ListSource { prefixes: prefixes.clone(), ..ListSource::default() }]);
        let ends = prefixes.iter().flat_map(|(prefix, _)| match (prefix.v4(), prefix.v6()) {
            (Some((first, last)), _) => [first.wrapping_sub(1), first, last, last.wrapping_add(1)]
                .map(|bits| IpAddr::from(Ipv4Addr::from_bits(bits))),
            (_, Some((first, last))) => [first.wrapping_sub(1), first, last, last.wrapping_add(1)]
                .map(|bits| IpAddr::from(Ipv6Addr::from_bits(bits))),
            _ => unreachable!(),
        });
        let others: Vec<IpAddr> = (0..200).map(|_| address(random)).collect();
        for address in ends.chain(others) {
            // A mapped address is looked for as the IPv4 one that it is.
            let expected = naive(&prefixes, address.to_canonical());
            let decision = decide(&list, &Asker { address, ..from("::") });
            assert_eq!(decision == Decision::Allowed, expected, "{address} in {prefixes:?}, seed {seed}");
        }
    }
}

//! What is believed and for how long, and how much of one name.

use super::*;

/// Whoever asks for all types of a name of others does not have its data leave, nor its cut.
#[test]
fn denials_never_displace_data_of_their_name() {
    let cache = cache(1 << 20);
    let list = list(b"data");
    let host = host(1);
    let mut copied = Copied::new();
    let put = |key: &Key<'_>, kind, second| {
        let entry = Entry { kind, rank: Rank::Referral, ..entry(list.list()) };
        cache.put(key, &entry, Moment(second * 1_000), Moment(second * 1_000))
    };
    let kept = [Key::rrset(&host, 1), Key::rrset(&host, 43), Key::cut(&host)];
    kept.iter().for_each(|key| {
        assert!(put(key, if key.subject == Subject::Cut { Kind::Cut } else { Kind::Data }, 1))
    });
    for rtype in (2..=65_535).step_by(7).filter(|rtype| *rtype != 43) {
        for (key, kind) in [
            (Key::rrset(&host, rtype), Kind::NoData),
            (Key::failure(&host, rtype), Kind::Failure),
            (Key::unchecked(&host, rtype), Kind::Data),
        ] {
            assert!(put(&key, kind, u64::from(rtype) / 1_000 + 2));
            assert!(cache.get(&key, &mut copied).is_some());
            assert!(cache.get(&key, &mut copied).is_some());
        }
        assert!(kept.iter().all(|key| cache.peek(key, &mut copied).is_some()), "{rtype}");
    }
    let mut shown = 0;
    cache.show(&host, |subject, _| shown += usize::from(crate::rank::is_minor(subject, Kind::NoData)));
    assert_eq!(shown, crate::limits::MINOR_MAX);
}

/// Data of more types than a name has slots: never more than those.
#[test]
fn types_of_a_name_are_limited() {
    let cache = cache(1 << 20);
    let list = list(b"data");
    let host = host(1);
    for rtype in 1..=1_000 {
        assert!(cache.put(&Key::rrset(&host, rtype), &entry(list.list()), Moment(1), Moment(1)));
    }
    let mut shown = 0;
    cache.show(&host, |_, _| shown += 1);
    assert_eq!(shown, 16);
    let denial = Entry { kind: Kind::NoData, ..entry(RdataList::EMPTY) };
    assert!(!cache.put(&Key::rrset(&host, 2_000), &denial, Moment(1), Moment(1)), "data goes before");
}

/// What is said of a name and of its types: proved denials and later ones count, an unproved one does not take data out.
#[test]
fn denials_of_names_beside_data() {
    let list = list(b"data");
    let host = host(1);
    let (data, name) = (Key::rrset(&host, 1), Key::existence(&host));
    let check = |first: Security, second: Security, expected: [bool; 2]| {
        let cache = cache(1 << 20);
        let entry = |security| Entry { security, ..entry(list.list()) };
        let denial = Entry { kind: Kind::NameError, rank: Rank::Authority, ..entry(second) };
        assert!(cache.put(&data, &entry(first), Moment(1), Moment(1)));
        assert_eq!(cache.put(&name, &denial, Moment(2), Moment(2)), expected[1]);
        let is_there = [data, name].map(|key| cache.peek(&key, &mut Copied::new()).is_some());
        assert_eq!(is_there, expected, "{first:?} {second:?}");
        assert_eq!(cache.put(&data, &entry(first), Moment(3), Moment(3)), first == second || expected[0]);
    };
    check(Security::Insecure, Security::Insecure, [true, false]);
    check(Security::Secure, Security::Insecure, [true, false]);
    check(Security::Secure, Security::Secure, [false, true]);
    check(Security::Insecure, Security::Secure, [false, true]);
}

#[test]
fn what_is_too_much_is_not_kept() {
    let cache = cache(1 << 20);
    let host = host(1);
    let put = |records: usize, octets: usize| {
        let data = vec![0; octets];
        let list: RdataListBuf = (0..records).map(|_| &data[..]).collect();
        cache.put(&Key::rrset(&host, 16), &entry(list.list()), Moment(1), Moment(1))
    };
    assert!(put(100, 4) && !put(101, 4) && put(1, 16_000) && !put(1, 17_000));
}

#[test]
fn times_are_capped() {
    let limits = Limits { ttl_min: 60, ..Limits::default() };
    let cache = Cache::with(&Settings { limits, ..Settings::default() }, [1, 2, 3]);
    let (host, list) = (host(1), list(b"data"));
    let check = |key: Key<'_>, kind: Kind, signatures: RdataList<'_>, ttl: u32, expected: u32| {
        let entry = Entry { kind, ttl, signatures, rank: Rank::Referral, ..entry(list.list()) };
        assert!(cache.put(&key, &entry, Moment(1), Moment(1)));
        assert_eq!(cache.get(&key, &mut Copied::new()).unwrap().ttl, expected, "{key:?}");
        cache.remove(&key);
    };
    let none = RdataList::EMPTY;
    check(Key::rrset(&host, 1), Kind::Data, none, 5, 60);
    check(Key::rrset(&host, 1), Kind::Data, list.list(), 5, 5);
    check(Key::rrset(&host, 43), Kind::Data, none, 5, 5);
    check(Key::rrset(&host, 1), Kind::Data, none, u32::MAX, 86_400);
    check(Key::rrset(&host, 1), Kind::NoData, none, 5, 5);
    check(Key::rrset(&host, 1), Kind::NameError, none, 9_000, 3_600);
    check(Key::existence(&host), Kind::NameError, none, 9_000, 3_600);
    check(Key::unchecked(&host, 16), Kind::Data, none, 9_000, 60);
    check(Key::unchecked(&host, 43), Kind::Data, none, 9_000, 9_000);
    check(Key::unchecked(&host, 43), Kind::NoData, none, 9_000, 3_600);
    check(Key::unchecked(&host, 1), Kind::Data, none, 9_000, 9_000);
    check(Key::cut(&host), Kind::Cut, none, 0, 1);
    check(Key::cut(&host), Kind::Cut, none, 1_000_000, 86_400);
    check(Key::failure(&host, 1), Kind::Failure, none, 0, 1);
}

#[test]
fn failures_grow() {
    let cache = cache(1 << 20);
    let host = host(1);
    let key = Key::failure(&host, 1);
    let mut copied = Copied::new();
    let mut now = Moment(1_000);
    let mut lives = Vec::new();
    for _ in 0..10 {
        let failure = Entry { kind: Kind::Failure, ttl: 5, ..entry(RdataList::EMPTY) };
        assert!(cache.put(&key, &failure, now, now));
        let ttl = cache.get(&key, &mut copied).unwrap().ttl;
        lives.push(ttl);
        now = now.plus_seconds(ttl).plus_ms(1);
    }
    assert_eq!(lives, [5, 10, 20, 40, 80, 160, 300, 300, 300, 300]);
    fill(&cache, 1..2, now);
    assert!(cache.get(&key, &mut copied).is_none(), "it was found out");
}

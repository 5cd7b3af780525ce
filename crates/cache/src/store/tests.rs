use super::*;
use proptest::prelude::*;
use sync::Random;
use wire::name::NameBuf;
use wire::rrset::{RdataList, RdataListBuf, RrsetList};

use crate::entry::{Rank, Security};

use crate::{Flush, Naive};

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn cache(octets: usize) -> Cache {
    Cache::with(&Settings { octets, ..Settings::default() }, [1, 2, 3])
}

/// An entry of a key's kind with these records, of an hour.
fn entry(rdatas: RdataList<'_>) -> Entry<'_> {
    Entry {
        kind: Kind::Data,
        rank: Rank::Authoritative,
        security: Security::Insecure,
        ede: None,
        stored: Moment(0),
        ttl: 3600,
        zone_labels: 1,
        rdatas,
        signatures: RdataList::EMPTY,
        beside: RrsetList::EMPTY,
    }
}

fn list(octets: &[u8]) -> RdataListBuf {
    [octets].into_iter().collect()
}

/// The name of a number, as short as names of hosts are.
fn host(number: u64) -> NameBuf {
    name(&format!("h{number}.example."))
}

/// Puts an A record for each number.
fn fill(cache: &Cache, numbers: std::ops::Range<u64>, now: Moment) {
    for number in numbers {
        let list = list(&(number as u32).to_be_bytes());
        assert!(cache.put(&Key::rrset(&host(number), 1), &entry(list.list()), now, now));
    }
}

fn is_there(cache: &Cache, number: u64) -> bool {
    let mut copied = Copied::new();
    let host = host(number);
    let found = cache.peek(&Key::rrset(&host, 1), &mut copied);
    found.is_some_and(|entry| {
        assert_eq!(entry.rdatas.iter().collect::<Vec<_>>(), [(number as u32).to_be_bytes()], "of {number}");
        true
    })
}

#[test]
fn what_is_put_is_there() {
    let cache = cache(8 << 20);
    fill(&cache, 0..10_000, Moment(5));
    assert!((0..10_000).all(|number| is_there(&cache, number)));
    assert!((10_000..20_000).all(|number| !is_there(&cache, number)));
    assert_eq!(cache.counts().entries, 10_000);
}

/// One step of the comparison with the model.
#[derive(Clone, Debug)]
enum Step {
    Put {
        name: usize,
        subject: usize,
        rank: Rank,
        security: Security,
        ttl: u32,
        fill: u8,
        length: usize,
        waited_ms: u64,
    },
    Get {
        name: usize,
        subject: usize,
    },
    Remove {
        name: usize,
        subject: usize,
    },
    FlushName(usize),
    FlushTree(usize),
    FlushAll,
    Outage,
    Wait(u64),
}

const NAMES: [&str; 8] =
    [".", "example.", "a.example.", "b.example.", "x.a.example.", "y.a.example.", "net.", "a.net."];
const SUBJECTS: [Subject; 7] = [
    Subject::Rrset(1),
    Subject::Rrset(28),
    Subject::Unchecked(1),
    Subject::Failure(1),
    Subject::Existence,
    Subject::Cut,
    Subject::Rrset(65_535),
];

fn step() -> impl Strategy<Value = Step> {
    let rank = prop_oneof![
        Just(Rank::Additional),
        Just(Rank::Referral),
        Just(Rank::Answer),
        Just(Rank::Authority),
        Just(Rank::Authoritative)
    ];
    let security = prop_oneof![
        Just(Security::Unchecked),
        Just(Security::Insecure),
        Just(Security::Secure),
        Just(Security::Bogus)
    ];
    let put = (
        0..NAMES.len(),
        0..SUBJECTS.len(),
        rank,
        security,
        0_u32..20,
        any::<u8>(),
        0_usize..400,
        0_u64..3_000,
    )
        .prop_map(|(name, subject, rank, security, ttl, fill, length, waited_ms)| Step::Put {
            name,
            subject,
            rank,
            security,
            ttl,
            fill,
            length,
            waited_ms,
        });
    prop_oneof![
        12 => put,
        8 => (0..NAMES.len(), 0..SUBJECTS.len()).prop_map(|(name, subject)| Step::Get { name, subject }),
        1 => (0..NAMES.len(), 0..SUBJECTS.len()).prop_map(|(name, subject)| Step::Remove { name, subject }),
        1 => (0..NAMES.len()).prop_map(Step::FlushName),
        1 => (0..NAMES.len()).prop_map(Step::FlushTree),
        1 => Just(Step::FlushAll),
        1 => Just(Step::Outage),
        4 => (1_u64..5_000).prop_map(Step::Wait),
    ]
}

/// Does the same to the store and to the model. There is room for all of it, so the store has what the model has.
fn compare(steps: &[Step], cache: &Cache) -> Result<(), TestCaseError> {
    let naive = Naive::with(cache.shared.limits());
    let mut now = Moment(10_000);
    let names: Vec<NameBuf> = NAMES.iter().map(|text| name(text)).collect();
    let (mut own, mut model) = (Copied::new(), Copied::new());
    for step in steps {
        match step {
            Step::Put { name, subject, rank, security, ttl, fill, length, waited_ms } => {
                let octets = vec![*fill; *length];
                let (list, subject) = (list(&octets), SUBJECTS[*subject]);
                let kind = match (subject, fill % 2) {
                    (Subject::Rrset(_) | Subject::Unchecked(_), 0) => Kind::NoData,
                    (Subject::Existence, _) => Kind::NameError,
                    (Subject::Failure(_), _) => Kind::Failure,
                    (Subject::Cut, _) => Kind::Cut,
                    _ => Kind::Data,
                };
                let entry = Entry { kind, rank: *rank, security: *security, ttl: *ttl, ..entry(list.list()) };
                let key = Key { name: &names[*name], subject };
                let asked = Moment(now.0 - waited_ms);
                let kept = (cache.put(&key, &entry, asked, now), naive.put(&key, &entry, asked, now));
                prop_assert!(kept.0 == kept.1, "{key:?} {kept:?}");
            }
            Step::Get { name, subject } => {
                let key = Key { name: &names[*name], subject: SUBJECTS[*subject] };
                let found = cache.get(&key, &mut own);
                let expected = naive.get(&key, &mut model);
                prop_assert!(found == expected, "{key:?}: {found:?} for {expected:?}");
                let mut shown = 0;
                cache.show(key.name, |subject, _| shown += usize::from(subject == key.subject));
                prop_assert!(shown >= usize::from(found.is_some()));
            }
            Step::Remove { name, subject } => {
                let key = Key { name: &names[*name], subject: SUBJECTS[*subject] };
                cache.remove(&key);
                naive.remove(&key);
            }
            Step::FlushName(at) | Step::FlushTree(at) => {
                let name = names[*at].clone();
                let flush =
                    if matches!(step, Step::FlushName(_)) { Flush::Name(name) } else { Flush::Tree(name) };
                let forgotten = (cache.flush(&flush, now), naive.flush(&flush, now));
                prop_assert!(forgotten.0 == forgotten.1, "{flush:?} {forgotten:?}");
            }
            Step::FlushAll => {
                cache.flush(&Flush::All, now);
                naive.flush(&Flush::All, now);
                prop_assert_eq!(cache.counts().entries, 0);
                prop_assert_eq!(cache.counts().octets, 0);
            }
            Step::Outage => {
                cache.outage_ended(now);
                naive.outage_ended(now);
            }
            Step::Wait(ms) => now = now.plus_ms(*ms),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn is_the_model(steps in prop::collection::vec(step(), 1..200)) {
        compare(&steps, &cache(1 << 20))?;
    }
}

/// Of a ring that turns: names beyond number, and what is found of them is what was put last.
#[test]
fn evicts_and_stays_right() {
    let cache = cache(1 << 20);
    let (mut random, mut copied) = (Random::new(5), Copied::new());
    let mut versions = vec![0_u32; 50_000];
    let mut found = 0;
    for round in 0..300_000_u32 {
        let number = random.index(versions.len());
        let host = host(number as u64);
        let key = Key::rrset(&host, 1);
        match random.below(3) {
            0 => {
                let octets = vec![number as u8; 20 + random.index(300)];
                let mut list = list(&octets);
                list.push(&round.to_be_bytes());
                let now = Moment(u64::from(round) * 10);
                assert!(cache.put(&key, &entry(list.list()), now, now));
                versions[number] = round;
            }
            _ => {
                let Some(entry) = cache.get(&key, &mut copied) else { continue };
                let rdatas: Vec<&[u8]> = entry.rdatas.iter().collect();
                assert!(rdatas[0].iter().all(|octet| *octet == number as u8));
                assert_eq!(rdatas[1], versions[number].to_be_bytes());
                found += 1;
            }
        }
    }
    let counts = cache.counts();
    assert!(found > 10_000 && counts.evicted_unread > 10_000 && counts.kept_on > 1_000, "{found} {counts:?}");
    assert!(counts.octets < 1 << 20, "{counts:?}");
}

/// What is counted is what a plain count says: of a cache in which entries come, are replaced, are read, taken out, flushed, leave and expire.
#[test]
fn counts_are_true() {
    let (cache, mut random, mut copied) = (cache(OCTETS_MIN), Random::new(7), Copied::new());
    let (mut puts, mut refused, mut came, mut taken_out) = (0, 0, 0, 0);
    for round in 0..60_000_u64 {
        let (number, now) = (random.below(30_000), Moment(round * 10));
        let owner = host(number);
        let key = Key::rrset(&owner, 1);
        match random.below(100) {
            0 => taken_out += cache.flush(&Flush::Name(owner.clone()), now) as u64,
            1 => {
                taken_out += u64::from(cache.peek(&key, &mut copied).is_some());
                cache.remove(&key);
            }
            2..30 => drop(cache.get(&key, &mut copied)),
            what => {
                let is_new = cache.peek(&key, &mut copied).is_none();
                let octets = vec![0; 4 + random.index(200)];
                let list = list(&octets);
                let rank = if what < 60 { Rank::Additional } else { Rank::Authoritative };
                let ttl = 1 + random.below(300) as u32;
                let is_put = cache.put(&key, &Entry { rank, ttl, ..entry(list.list()) }, now, now);
                puts += u64::from(is_put);
                refused += u64::from(!is_put);
                came += u64::from(is_put && is_new);
            }
        }
    }
    let (mut entries, mut octets) = (0, 0);
    for number in 0..30_000 {
        let owner = host(number);
        if cache.peek(&Key::rrset(&owner, 1), &mut copied).is_some() {
            entries += 1;
            octets += u64::from(u16::from_le_bytes([copied.octets[0], copied.octets[1]])) * 8;
        }
    }
    let counts = cache.counts();
    let left = counts.evicted + counts.evicted_unread + counts.evicted_index + counts.expired;
    assert_eq!(
        [counts.entries, counts.octets, counts.puts, counts.refused],
        [entries, octets, puts, refused]
    );
    assert_eq!(came, entries + left + taken_out, "{counts:?}");
    let each = [counts.evicted, counts.evicted_unread, counts.expired, refused, taken_out];
    assert!(each.iter().all(|count| *count > 100), "{counts:?}");
    let kinds = cache.kinds();
    assert_eq!(kinds[0], (Kind::Data, entries, octets));
    let resident = cache.resident_octets();
    assert!(octets as usize <= resident && resident <= cache.octets(), "{resident}");
}

/// What the parts take together, and how full they get with names as short as can be.
#[test]
fn memory_as_configured() {
    for octets in [OCTETS_MIN, 3 << 20, 32 << 20, 100_000_000] {
        let cache = cache(octets);
        let taken = cache.octets() as f64 / octets as f64;
        assert!((0.99..=1.0).contains(&taken), "{taken} of {octets}");
    }
}

/// Zipf's law: of `names`, the one of rank r is drawn with a weight of 1 / r.
struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    fn new(names: usize) -> Zipf {
        let mut sum = 0.0;
        Zipf {
            cumulated: (1..=names)
                .map(|rank| {
                    sum += 1.0 / rank as f64;
                    sum
                })
                .collect(),
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let at = random.unit() * self.cumulated[self.cumulated.len() - 1];
        self.cumulated.partition_point(|sum| *sum < at) as u64
    }
}

/// What floods the cache beside a mix of queries.
#[derive(Clone, Copy, PartialEq)]
enum Flood {
    None,
    /// So many names for each query, each asked once.
    Once(usize),
    /// The same, asked twice, right away.
    Twice(usize),
}

/// The share of hits of a Zipf mix of 1,000 queries a second, 100,000 names, after `queries` of warming up, `queries` more with a flood.
fn hit_share(octets: usize, queries: usize, flood: Flood) -> f64 {
    let cache = cache(octets);
    let (zipf, mut random, mut copied) = (Zipf::new(100_000), Random::new(9), Copied::new());
    let (mut hits, mut made_up) = (0, 1 << 40);
    for query in 0..2 * queries {
        let now = Moment(query as u64);
        let number = zipf.draw(&mut random);
        let hit = cache.get(&Key::rrset(&host(number), 1), &mut copied).is_some();
        hits += usize::from(hit && query >= queries);
        if !hit {
            fill(&cache, number..number + 1, now);
        }
        let (Flood::Once(count) | Flood::Twice(count)) = flood else { continue };
        let count = if query >= queries { count } else { 0 };
        for number in made_up..made_up + count as u64 {
            fill(&cache, number..number + 1, now);
            if matches!(flood, Flood::Twice(_)) {
                assert!(cache.get(&Key::rrset(&host(number), 1), &mut copied).is_some());
            }
        }
        made_up += count as u64;
    }
    hits as f64 / queries as f64
}

/// A seventh of the names fits. The shares are in `docs/design/cache.md`.
#[test]
fn floods_pass_through_the_small_ring() {
    let share = |flood| hit_share(1 << 20, 100_000, flood);
    let [quiet, once, twice] = [Flood::None, Flood::Once(5), Flood::Twice(5)].map(share);
    println!("share of hits {quiet:.3}, with a flood of names asked once {once:.3}, twice {twice:.3}");
    assert!(quiet > 0.75 && once > 0.9 * quiet && twice > 0.9 * quiet);
}

#[test]
fn stamps_are_of_one_entry() {
    let cache = cache(1 << 20);
    fill(&cache, 0..2, Moment(1));
    let hosts = [host(0), host(1)];
    let mut copied = Copied::new();
    let mut stamp = |at: usize| cache.stamp(&Key::rrset(&hosts[at], 1), &mut copied);
    let (first, second) = (stamp(0).unwrap(), stamp(1).unwrap());
    assert!(cache.is_current(&first) && cache.is_current(&second) && first != second);
    fill(&cache, 0..1, Moment(2));
    assert!(!cache.is_current(&first) && cache.is_current(&second));
    let again = stamp(0).unwrap();
    cache.remove(&Key::rrset(&hosts[0], 1));
    assert!(!cache.is_current(&again) && stamp(0).is_none());
    cache.hide(&Flush::Tree(name("other.")), Moment(3));
    assert!(!cache.is_current(&second), "while something is flushed nothing of before is");
    fill(&cache, 2..3, Moment(4));
    let third = cache.stamp(&Key::rrset(&host(2), 1), &mut Copied::new()).unwrap();
    assert!(cache.is_current(&third), "what came since is");
    while !cache.sweep(100).is_done {}
    assert!(cache.is_current(&second));
    fill(&cache, 10..100_000, Moment(4));
    assert!(!cache.is_current(&Stamp { slot: u32::MAX, word: 1 }));
}

#[test]
fn answers_used_through_stamps_stay() {
    let cache = cache(1 << 20);
    fill(&cache, 0..1, Moment(1));
    let first = host(0);
    let mut copied = Copied::new();
    let key = Key::rrset(&first, 1);
    for round in 1..200 {
        let stamp = cache.stamp(&key, &mut copied).expect("it is used all the time");
        assert!(cache.is_current(&stamp));
        fill(&cache, round * 1_000..(round + 1) * 1_000, Moment(1));
    }
}

/// What is flushed and not swept yet does not come back by moving to the main ring.
#[test]
fn flushed_entries_do_not_move_on() {
    let cache = cache(1 << 20);
    let (host, list) = (host(1), list(b"data"));
    let key = Key::rrset(&host, 1);
    assert!(cache.put(&key, &entry(list.list()), Moment(1), Moment(1)));
    fill(&cache, 2..3, Moment(5_000));
    assert!(cache.get(&key, &mut Copied::new()).is_some());
    cache.hide(&Flush::Tree(name("example.")), Moment(6_000));
    fill(&cache, 10..20_000, Moment(7_000));
    assert!(cache.peek(&key, &mut Copied::new()).is_none());
}

/// In the main ring an entry has to be read anew.
#[test]
fn reads_count_once() {
    let cache = cache(1 << 20);
    fill(&cache, 0..1, Moment(1));
    fill(&cache, 1..2, Moment(5_000));
    let (first, mut copied) = (host(0), Copied::new());
    let key = Key::rrset(&first, 1);
    assert!(cache.get(&key, &mut copied).is_some());
    let state = |copied: &mut Copied| {
        let stamp = cache.stamp(&key, copied).expect("there is room for it");
        let (_, shard, slot) = cache.slot(&stamp).expect("a stamp has a slot");
        (Slot(stamp.word).ring(), shard.index.is_visited(slot))
    };
    assert_eq!(state(&mut copied), (Which::Small, true));
    let mut number = 10;
    while state(&mut copied).0 == Which::Small {
        fill(&cache, number..number + 1, Moment(6_000));
        number += 1;
    }
    assert_eq!(state(&mut copied), (Which::Main, false));
    let kinds = cache.kinds();
    assert_eq!(kinds[0].0, Kind::Data);
    assert_eq!((kinds[0].1, kinds[0].2), (cache.counts().entries, cache.counts().octets));
    assert!(kinds[1..].iter().all(|(_, entries, octets)| *entries == 0 && *octets == 0));
}

#[test]
fn flushed_at_once_swept_in_steps() {
    let cache = cache(16 << 20);
    fill(&cache, 0..20_000, Moment(1));
    assert_eq!(cache.hide(&Flush::Tree(name("Example.")), Moment(2)), 0);
    assert!((0..20_000).all(|number| !is_there(&cache, number)), "hidden before it is swept");
    let fresh = host(1);
    let list = list(b"new!");
    let key = Key::rrset(&fresh, 1);
    assert!(!cache.put(&key, &entry(list.list()), Moment(2), Moment(3)), "asked for before");
    assert!(cache.put(&key, &entry(list.list()), Moment(3), Moment(3)));
    let mut copied = Copied::new();
    assert!(cache.get(&key, &mut copied).is_some(), "what came since is seen");
    let (mut forgotten, mut steps) = (0, 0);
    loop {
        let swept = cache.sweep(1_000);
        (forgotten, steps) = (forgotten + swept.forgotten, steps + 1);
        if swept.is_done {
            break;
        }
    }
    assert_eq!((forgotten, cache.counts().entries), (19_999, 1));
    assert!(steps > 10 && cache.get(&key, &mut copied).is_some());
    for number in 0..20 {
        cache.hide(&Flush::Tree(host(number)), Moment(4));
    }
    assert!(cache.sweep(usize::MAX).is_done && cache.shared.marks.is_empty());
    assert!(cache.get(&key, &mut copied).is_none());
}

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

/// Threads that put, read, flush: what is read is whole, and of its key.
#[test]
fn entries_are_never_torn() {
    let cache = cache(1 << 20);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let cache = &cache;
            scope.spawn(move || {
                let mut random = Random::new(writer);
                for round in 0..60_000_u64 {
                    let number = random.below(4_000);
                    let host = host(number);
                    let length = 8 + random.index(40) * 8;
                    let word = (number << 32 | round & 0xffff).to_be_bytes();
                    let octets: Vec<u8> = word.into_iter().cycle().take(length).collect();
                    let list = list(&octets);
                    cache.put(
                        &Key::rrset(&host, 16),
                        &entry(list.list()),
                        Moment(round + 1),
                        Moment(round + 1),
                    );
                    if round % 20_000 == 0 {
                        cache.flush(&Flush::Tree(name("example.")), Moment(0));
                    }
                }
            });
        }
        for reader in 0..2 {
            let cache = &cache;
            scope.spawn(move || {
                let (mut random, mut copied) = (Random::new(100 + reader), Copied::new());
                for _ in 0..120_000 {
                    let number = random.below(4_000);
                    let host = host(number);
                    let Some(entry) = cache.get(&Key::rrset(&host, 16), &mut copied) else { continue };
                    let rdata = entry.rdatas.iter().next().unwrap();
                    let first = &rdata[..8];
                    assert_eq!(first[..4], (number as u32).to_be_bytes(), "of its key");
                    assert!(rdata.chunks(8).all(|word| word == first), "whole");
                }
            });
        }
    });
}

/// A million short names in the memory that they need: nearly all slots are used, and the process has not grown beyond what was configured.
#[test]
fn a_million_names() {
    let octets = 80 << 20;
    let cache = cache(octets);
    fill(&cache, 0..1_000_000, Moment(1));
    let counts = cache.counts();
    let each = octets as f64 / counts.entries as f64;
    println!("{counts:?}: {each:.1} octets an entry");
    assert!(counts.entries > 900_000, "{counts:?}");
}

mod long {
    use super::*;

    /// Octets of memory of this process.
    fn resident_octets() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    /// Not more memory than configured, and within 5 % of that, with ten million names as long as those of hosts are, two addresses each, for which it is too little;
    /// and before them next to nothing, where the build is optimised. (With names as short as can be slots are what there is too little of, and a fifth of the rings stays empty.)
    #[test]
    #[ignore = "takes a minute and a GiB"]
    fn ten_million_names() {
        let (octets, before) = (600 << 20, resident_octets());
        let cache = cache(octets);
        let begin = resident_octets() - before;
        assert!(cfg!(debug_assertions) || begin < octets / 200, "{begin} at the begin");
        for number in 0..10_000_000_u32 {
            let host = name(&format!("www.h{number}.example.com."));
            let mut list = list(&number.to_be_bytes());
            list.push(&[192, 0, 2, 1]);
            assert!(cache.put(&Key::rrset(&host, 1), &entry(list.list()), Moment(1), Moment(1)));
        }
        let (counts, grown) = (cache.counts(), resident_octets() - before);
        println!(
            "{counts:?}, resident {grown} of {octets}, {:.1} octets an entry",
            grown as f64 / counts.entries as f64
        );
        let said = cache.resident_octets();
        assert!(
            cfg!(debug_assertions) || (grown <= said + octets / 100 && said <= grown + octets / 40),
            "{said}"
        );
        assert!((0.95..=1.0).contains(&(grown as f64 / octets as f64)) && counts.entries > 7_000_000);
    }
}

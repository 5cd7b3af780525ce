//! The store does what the ordered map does, and what is read is never of another key.

use proptest::prelude::*;

use super::*;
use crate::Naive;

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
    /// To so many octets from now on.
    Resize(usize),
    /// So many steps of what moves.
    Tend(usize),
    /// Where things lie now.
    Renew,
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
        1 => prop_oneof![Just(1_usize << 20), Just(2 << 20), Just(17 << 20)].prop_map(Step::Resize),
        4 => (1_usize..4).prop_map(Step::Tend),
        1 => Just(Step::Renew),
    ]
}

/// Does the same to the store and to the model. There is room for all of it, so the store has what the model has, whatever moves.
fn compare(steps: &[Step], mut cache: Cache) -> Result<(), TestCaseError> {
    let naive = Naive::with(cache.core.shared.limits());
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
            Step::Resize(octets) => cache.resize(*octets),
            Step::Tend(steps) => {
                for _ in 0..*steps {
                    cache.tend(now);
                }
            }
            Step::Renew => cache = cache.current(),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn is_the_model(steps in prop::collection::vec(step(), 1..200)) {
        compare(&steps, cache(1 << 20))?;
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

//! Condensed changes against states that are whole: what leads from the first to the last, and not a record more.

use proptest::prelude::*;
use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::*;

/// A record of the model: whether it is there, with which TTL, and in which letters.
type Held = Option<(u32, bool)>;

const RECORDS: usize = 10;

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// Owner, type and RDATA of a record, in one of two ways of writing it.
fn record(number: usize, is_upper: bool) -> (NameBuf, u16, Vec<u8>) {
    let letters = |text: &str| if is_upper { text.to_uppercase() } else { text.to_owned() };
    let owner = name(&letters(["example.", "a.example.", "b.a.example.", "z.example."][number % 4]));
    match number {
        0..4 => (owner, rtype::NS, name(&letters(&format!("ns{number}.example."))).octets().to_vec()),
        4..8 => (owner, rtype::TXT, vec![1, number as u8]),
        _ => (owner, rtype::A, vec![192, 0, 2, number as u8]),
    }
}

fn with_soa(serial: u32) -> Records {
    let mut rdata = vec![0, 0];
    rdata.extend(serial.to_be_bytes());
    rdata.extend([0; 16]);
    let mut records = Records::default();
    records.push(&name("example."), rtype::SOA, 60, &rdata);
    records
}

/// What leads from one state to the next. `repeated`: a record that stays and is said to go and to come all the same.
fn change(states: &[[Held; RECORDS]; 2], serial: u32, repeated: usize) -> Change {
    let (mut removed, mut added) = (with_soa(serial), with_soa(serial + 1));
    for (number, (before, after)) in states[0].iter().zip(states[1]).enumerate() {
        if *before == after && number != repeated {
            continue;
        }
        for (held, to) in [(*before, &mut removed), (after, &mut added)] {
            if let Some((ttl, is_upper)) = held {
                let (owner, rtype, rdata) = record(number, is_upper);
                to.push(&owner, rtype, ttl, &rdata);
            }
        }
    }
    Change::new(removed, added).unwrap()
}

/// Records but for the SOA record, as they are compared: owners in lower case, sorted.
fn all(records: &Records) -> Vec<(Vec<u8>, u16, u32, Vec<u8>)> {
    let one = |record: Record<'_>| {
        (record.owner.to_lowercase().octets().to_vec(), record.rtype, record.ttl, record.rdata.to_vec())
    };
    let mut all: Vec<_> = records.iter().skip(1).map(one).collect();
    all.sort();
    all
}

/// The state with letters as they count: those of owners do not.
fn counted(state: &[Held; RECORDS]) -> [Held; RECORDS] {
    std::array::from_fn(|number| state[number].map(|(ttl, is_upper)| (ttl, is_upper && number < 4)))
}

fn states() -> impl Strategy<Value = Vec<[Held; RECORDS]>> {
    let held = prop::option::of((60..62u32, any::<bool>()));
    prop::collection::vec(prop::array::uniform10(held), 2..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn leads_from_the_first_to_the_last(states in states(), repeated in 0..RECORDS * 2) {
        let mut condenser = Condenser::new(usize::MAX);
        for (serial, pair) in states.windows(2).enumerate() {
            let pair = [pair[0], pair[1]];
            prop_assert_eq!(condenser.add(&change(&pair, serial as u32, repeated)), Ok(()));
            // What it would have by now is what leads there at once.
            let expected = change(&[counted(&states[0]), counted(&pair[1])], 0, usize::MAX);
            let octets = |records: &Records| records.octets().len() - with_soa(0).octets().len();
            prop_assert_eq!(condenser.octets(), octets(expected.removed()) + octets(expected.added()));
        }
        let condensed = condenser.into_change().unwrap();
        let expected = change(&[counted(&states[0]), counted(states.last().unwrap())], 0, usize::MAX);
        prop_assert_eq!(all(condensed.removed()), all(expected.removed()));
        prop_assert_eq!(all(condensed.added()), all(expected.added()));
        prop_assert_eq!((condensed.serial_before(), condensed.serial_after()), (0, states.len() as u32 - 1));
        let owners: Vec<_> = condensed.added().iter().skip(1).map(|record| SortKey::of(record.owner).octets().to_vec()).collect();
        prop_assert!(owners.is_sorted(), "in canonical order, so that names can be pointed at");
    }
}

/// A change of A records of these owners.
fn addresses(serial: u32, removed: &[&str], added: &[&str]) -> Change {
    let part = |serial, owners: &[&str]| {
        let mut records = with_soa(serial);
        owners.iter().for_each(|owner| records.push(&name(owner), rtype::A, 60, &[192, 0, 2, 1]));
        records
    };
    Change::new(part(serial, removed), part(serial + 1, added)).unwrap()
}

#[test]
fn what_does_not_follow_is_refused() {
    assert_eq!(Condenser::new(0).into_change(), Err(NotCondensed::Broken), "no change at all");
    let add = |changes: &[Change]| {
        let mut condenser = Condenser::new(1000);
        changes.iter().try_for_each(|change| condenser.add(change))
    };
    let (one, two) = (addresses(1, &[], &["a.example."]), addresses(2, &["A.example."], &["b.example."]));
    assert_eq!(add(&[one.clone(), two.clone()]), Ok(()));
    assert_eq!(add(&[two.clone(), one.clone()]), Err(NotCondensed::Broken), "serials");
    let again = addresses(2, &[], &["a.EXAMPLE."]);
    assert_eq!(add(&[one.clone(), again]), Err(NotCondensed::Broken), "it is there");
    assert_eq!(add(&[two, addresses(3, &["a.example."], &[])]), Err(NotCondensed::Broken), "it is not");
    let other = {
        let soa = |serial| {
            let mut records = Records::default();
            let rdata = with_soa(serial).iter().next().map(|record| record.rdata.to_vec()).unwrap();
            records.push(Name::root(), rtype::SOA, 60, &rdata);
            records
        };
        Change::new(soa(2), soa(3)).unwrap()
    };
    assert_eq!(add(&[one, other]), Err(NotCondensed::Broken), "another zone's");
}

/// What comes and goes takes no room, however much it is.
#[test]
fn is_bounded_by_what_is_left() {
    let octets = "n1.example.".len() + 1 + FIXED_OCTETS + 4;
    let mut condenser = Condenser::new(3 * octets);
    for serial in 0..1000 {
        let (before, now) = (format!("n{}.example.", serial % 9), format!("n{}.example.", (serial + 1) % 9));
        let removed: &[&str] = if serial == 0 { &[] } else { &[&before] };
        assert_eq!(condenser.add(&addresses(serial, removed, &[&now])), Ok(()));
        assert_eq!((condenser.octets(), condenser.records.len()), (octets, 1));
    }
    assert_eq!(condenser.add(&addresses(1000, &[], &["b1.example.", "b2.example."])), Ok(()));
    assert_eq!(condenser.add(&addresses(1001, &[], &["b3.example."])), Err(NotCondensed::TooLong));
}

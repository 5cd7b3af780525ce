use super::*;
use crate::Key;
use wire::Name;
use wire::rrset::RdataListBuf;

#[test]
fn entries_as_octets() {
    let list: RdataListBuf = [&b"abcd"[..], b"efgh"].into_iter().collect();
    let entry = Entry {
        kind: Kind::Cut,
        rank: Rank::Referral,
        security: Security::Bogus,
        ede: Some(0x1234),
        stored: Moment(0x0203_0405_0607),
        ttl: 86_400,
        zone_labels: 3,
        rdatas: list.list(),
        signatures: RdataList::EMPTY,
        beside: RrsetList::EMPTY,
    };
    let name = wire::name::NameBuf::from_text("example.").unwrap();
    let key = Key::cut(&name);
    let mut octets = Vec::new();
    assert!(write(&key, &entry, &mut octets));
    assert_eq!(octets.len(), 48);
    assert_eq!((read(&octets), key_of(&octets)), (Some(entry), Some(key)));
    assert!(is_of(&octets, &key) && !is_of(&octets, &Key::rrset(&name, 0)));
    assert_eq!(read(&octets[..octets.len() - 8]), None);
    octets[3] = 0;
    assert_eq!(read(&octets), None);
}

#[test]
fn large_entries_are_not_written() {
    let long = vec![0; 10_000];
    let list: RdataListBuf = [&long[..], &long[..6_350]].into_iter().collect();
    let other: RdataListBuf = [&long[..], &long[..6_400]].into_iter().collect();
    let entry = |rdatas| Entry { rank: Rank::Answer, ..Entry::data(rdatas, Moment(0), 0) };
    let mut octets = Vec::new();
    let key = Key::rrset(Name::root(), 16);
    assert!(write(&key, &entry(list.list()), &mut octets) && read(&octets) == Some(entry(list.list())));
    octets.clear();
    assert!(!write(&key, &entry(other.list()), &mut octets) && octets.is_empty());
}

#[test]
fn the_worst_part_decides() {
    use Security::{Bogus, Insecure, Secure, Unchecked};
    for (first, second, expected) in [
        (Secure, Secure, Secure),
        (Secure, Insecure, Insecure),
        (Unchecked, Insecure, Unchecked),
        (Bogus, Secure, Bogus),
        (Bogus, Unchecked, Bogus),
    ] {
        assert_eq!((first.worst(second), second.worst(first)), (expected, expected));
    }
}

#[test]
fn ages() {
    let list = RdataList::EMPTY;
    let (kind, rank, security) = (Kind::NoData, Rank::Authority, Security::Insecure);
    let entry = Entry { kind, rank, security, signatures: list, ..Entry::data(list, Moment(1_000), 10) };
    let at = |ms| (entry.ttl_left(Moment(ms)), entry.expired_for(Moment(ms)));
    assert_eq!([at(1_000), at(1_001), at(2_000)], [(Some(10), 0), (Some(10), 0), (Some(9), 0)]);
    assert_eq!([at(10_999), at(11_000), at(13_000)], [(Some(1), 0), (None, 0), (None, 2)]);
}

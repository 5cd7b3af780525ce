//! Messages that were built are read as they were, by us and by the `domain` crate; hostile ones cost what they may.
#![allow(clippy::unwrap_used)]

use domain::base::ParsedRecord;
use domain::base::name::{ParsedName, ToName};
use domain::base::rdata::ComposeRecordData;
use domain::rdata::AllRecordData;
use proptest::prelude::*;
use wire::builder::{Builder, Case, Suffixes};
use wire::iana::{class, rtype};
use wire::message::{Error, Message};
use wire::name::NAME_OCTETS_MAX;
use wire::rdata::{Field, compressible, has_folded_names, layout};
use wire::render::Section;
use wire::{Name, NameBuf, Places};

/// Owner in text, type, TTL, RDATA.
type Record = (String, u16, u32, Vec<u8>);

/// A supply of random octets that gives zeros when it is used up.
struct Entropy<'a>(std::slice::Iter<'a, u8>);

impl Entropy<'_> {
    fn octet(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn octets(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.octet()).collect()
    }

    fn string(&mut self) -> Vec<u8> {
        let length = self.octet() % 9;
        [vec![length], self.octets(usize::from(length))].concat()
    }

    /// A name of up to four labels of few kinds, so that suffixes come again, in both cases.
    fn name(&mut self) -> NameBuf {
        let labels = ["a", "A", "example", "Example", "a-label-of-more-than-sixteen-octets", "x"];
        let count = self.octet() % 5;
        let text: Vec<&str> = (0..count).map(|_| labels[usize::from(self.octet()) % labels.len()]).collect();
        NameBuf::from_text(&text.join(".")).unwrap()
    }

    fn gateway(&mut self, form: u8) -> Vec<u8> {
        match form {
            0 => Vec::new(),
            1 => self.octets(4),
            2 => self.octets(16),
            _ => self.name().octets().to_vec(),
        }
    }

    /// RDATA of a type, field by field.
    fn rdata(&mut self, rtype: u16) -> Vec<u8> {
        let mut rdata = Vec::new();
        for field in layout(rtype) {
            let more = match *field {
                Field::Octets(count) => self.octets(usize::from(count)),
                Field::Rest | Field::Bitmap | Field::Prefixes | Field::Parameters => {
                    let count = self.octet() % 20;
                    self.octets(usize::from(count))
                }
                Field::CharacterString | Field::CharacterStrings | Field::CharacterStringOptional => {
                    self.string()
                }
                Field::Sized16 => [vec![0], self.string()].concat(),
                Field::Name(_) => self.name().octets().to_vec(),
                Field::Names(_) => [self.name().octets(), self.name().octets()].concat(),
                Field::A6 => {
                    let prefix = self.octet() % 129;
                    let suffix = self.octets(usize::from(128 - prefix).div_ceil(8));
                    let name = if prefix > 0 { self.name().octets().to_vec() } else { Vec::new() };
                    [vec![prefix], suffix, name].concat()
                }
                Field::Gateway => {
                    rdata[1] %= 4;
                    self.gateway(rdata[1])
                }
                Field::Relay => {
                    let form = self.octet() & 0x83;
                    [vec![form], self.gateway(form & 0x7f)].concat()
                }
                Field::Host => {
                    let [tag, key] = [self.octet() % 5, self.octet() % 5];
                    [vec![tag, 2, 0, key], self.octets(usize::from(tag + key))].concat()
                }
            };
            rdata.extend(more);
        }
        rdata
    }
}

/// A message with a record of each type, and what it is to be read as.
fn build(octets: &[u8], case: Case, suffixes: &mut Suffixes) -> (Vec<u8>, Vec<Record>) {
    let mut entropy = Entropy(octets.iter());
    let mut message = vec![0; 65_535];
    let mut builder = Builder::new(&mut message, (65_535, 0), suffixes, case, 0xabcd).unwrap();
    builder.question(&entropy.name(), rtype::ANY, class::IN).unwrap();
    let mut expected = Vec::new();
    let types = rtype::ALL.iter().map(|entry| entry.0).chain([65_280]).filter(|&rtype| rtype != rtype::OPT);
    for (number, rtype) in types.enumerate() {
        builder.begin_section([Section::Answer, Section::Authority, Section::Additional][number / 40]);
        let (owner, ttl, rdata) = (entropy.name(), u32::from(entropy.octet()), entropy.rdata(rtype));
        builder.record(&owner, (rtype, class::IN, ttl), &rdata).unwrap();
        expected.push((owner.to_string(), rtype, ttl, rdata));
    }
    let length = builder.finish(0x8400, 1);
    message.truncate(length);
    (message, expected)
}

fn read(octets: &[u8]) -> Result<Vec<Record>, Error> {
    let message = Message::read(octets)?;
    let (mut owner, mut buffer) = ([0; NAME_OCTETS_MAX], vec![0; 65_535]);
    let mut records = Vec::new();
    for record in message.records()? {
        let record = record?;
        let rdata = record.rdata_uncompressed(&mut buffer)?.to_vec();
        records.push((record.owner_name(&mut owner)?.to_string(), record.view.rtype, record.view.ttl, rdata));
    }
    Ok(records)
}

/// Names of all records in lower case, where letters may have changed.
fn folded(records: Vec<Record>) -> Vec<Record> {
    let fold = |(owner, rtype, ttl, mut rdata): Record| {
        wire::rdata::fold(rtype, &mut rdata);
        (owner.to_lowercase(), rtype, ttl, rdata)
    };
    records.into_iter().map(fold).collect()
}

/// What `domain` reads: the same, but no RDATA where it does not read it.
type Theirs = (String, u16, u32, Option<Vec<u8>>);

fn read_by_domain(octets: &[u8]) -> Option<Vec<Theirs>> {
    let message = domain::base::Message::from_octets(octets).ok()?;
    let mut records = Vec::new();
    for record in message.iter() {
        let (record, _): (ParsedRecord<'_, &[u8]>, _) = record.ok()?;
        let owner = Name::from_wire(record.owner().to_vec().as_slice()).ok()?.to_string();
        let rdata = record.to_any_record::<AllRecordData<_, ParsedName<_>>>().ok().and_then(|record| {
            // Types that it does not know it takes as they are, pointers too.
            if matches!(record.data(), AllRecordData::Unknown(_)) {
                return None;
            }
            let mut rdata = Vec::new();
            record.data().compose_rdata(&mut rdata).unwrap();
            Some(rdata)
        });
        records.push((owner, record.rtype().to_int(), record.ttl().as_secs(), rdata));
    }
    Some(records)
}

fn check_agreement(octets: &[u8]) -> usize {
    let (Ok(ours), Some(theirs)) = (read(octets), read_by_domain(octets)) else { return 0 };
    assert_eq!(ours.len(), theirs.len());
    let mut compared = 0;
    for ((owner, rtype, ttl, rdata), theirs) in ours.into_iter().zip(theirs) {
        assert_eq!((&owner, rtype, ttl), (&theirs.0, theirs.1, theirs.2));
        if let Some(other) = theirs.3
            && has_folded_names(rtype)
        {
            assert_eq!(rdata, other, "{}", rtype::Text(rtype));
            compared += 1;
        }
    }
    compared
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn built_and_read(octets in prop::collection::vec(any::<u8>(), 0..3000), key: u64) {
        let mut suffixes = Suffixes::new(key);
        let (exact, expected) = build(&octets, Case::Exact, &mut suffixes);
        prop_assert_eq!(&read(&exact).unwrap(), &expected);
        let (shorter, _) = build(&octets, Case::Ignored, &mut suffixes);
        prop_assert_eq!(folded(read(&shorter).unwrap()), folded(expected));
        prop_assert!(shorter.len() <= exact.len());
        // Built again with a table that was used, it is the same.
        prop_assert_eq!(build(&octets, Case::Exact, &mut suffixes).0, exact);
    }

    #[test]
    fn agrees_with_domain(octets in prop::collection::vec(any::<u8>(), 2000..3000)) {
        let (message, _) = build(&octets, Case::Exact, &mut Suffixes::new(1));
        prop_assert!(check_agreement(&message) >= 10);
    }

    /// A few octets changed: what both can read, both read alike.
    #[test]
    fn agrees_on_damage(
        octets in prop::collection::vec(any::<u8>(), 200..2000),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(0xc0), any::<u8>()]), 1..4),
    ) {
        let (mut message, _) = build(&octets, Case::Exact, &mut Suffixes::new(1));
        for (at, octet) in changes {
            let at = at.index(message.len());
            message[at] = octet;
        }
        check_agreement(&message);
    }
}

/// The types whose names can be compressed are built smaller than they are.
#[test]
fn names_are_compressed() {
    let (message, expected) = build(&[4; 3000], Case::Exact, &mut Suffixes::new(1));
    let whole: usize = expected.iter().map(|record| record.3.len()).sum();
    let parsed = Message::read(&message).unwrap();
    let mut octets = 0;
    for record in parsed.records().unwrap() {
        let record = record.unwrap();
        octets += record.view.rdata.len();
        let pointers = record.names().filter(|name| name.unwrap().has_pointer).count();
        assert_eq!(pointers, compressible(record.view.rtype).names, "{}", rtype::Text(record.view.rtype));
    }
    assert!(octets + 1_000 < whole, "{octets} of {whole}");
}

/// A header with these counts, and the rest.
fn message(counts: [u16; 4], body: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; 4];
    counts.iter().for_each(|count| octets.extend(count.to_be_bytes()));
    octets.extend(body);
    octets
}

/// 4,680 records of 14 octets, two pointers each to a name of 127 labels: more work than it is worth.
#[test]
fn many_pointers_to_a_long_name() {
    let mut body = [&[1, b'a'].repeat(127)[..], &[0, 0, 2, 0, 1]].concat();
    for _ in 0..4_660 {
        body.extend(b"\xc0\x0c\0\x02\0\x01\0\0\0\x09\0\x02\xc0\x0c");
    }
    let octets = message([1, 4_660, 0, 0], &body);
    assert!(octets.len() <= 65_535);
    assert!(matches!(read(&octets), Err(Error::Work(_))));
    // Its records can be counted all the same.
    assert_eq!(
        Message::read(&octets).unwrap().records().unwrap().filter(|record| record.is_ok()).count(),
        4_660
    );
}

/// 10,920 questions of six octets are not gone through.
#[test]
fn many_questions() {
    let octets = message([10_920, 0, 0, 0], &b"\0\0\x01\0\x01\0".repeat(10_920));
    assert_eq!(Message::read(&octets).unwrap_err(), Error::Counts);
    assert_eq!(Message::read(&message([0xffff; 4], &[0; 200])).unwrap_err(), Error::Counts);
    assert_eq!(Message::read(&message([1, 0, 0, 0xffff], &[0; 60_000])).unwrap_err(), Error::Counts);
}

/// A ladder of pointers, each to the one before: no more of them than a name can have labels.
#[test]
fn ladders() {
    let mut rdata = vec![0xc0, 12];
    for step in 0..2_000_u16 {
        rdata.extend((0xc000 | (28 + 2 * step)).to_be_bytes());
    }
    let length = (rdata.len() as u16).to_be_bytes();
    let body = [&b"\0\0\x02\0\x01"[..], b"\0\0\x0a\0\x01\0\0\0\x09", &length, &rdata].concat();
    for (rung, is_read) in [(0, true), (125, true), (126, false), (1_999, false)] {
        let owner = (0xc000_u16 | (28 + 2 * rung)).to_be_bytes();
        let octets = message([1, 2, 0, 0], &[&body[..], &owner, b"\0\x01\0\x01\0\0\0\x09\0\0"].concat());
        let message = Message::read(&octets).unwrap();
        let last = message.records().unwrap().last().unwrap().unwrap();
        assert_eq!(last.owner(&mut Places::new()).is_ok(), is_read, "{rung}");
    }
}

/// Sound messages with damage where names and fields begin: what the fuzzer looks at for longer.
fn check_damage(rounds: usize) {
    let mut suffixes = Suffixes::new(1);
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    for round in 0..rounds {
        let octets: Vec<u8> = (0..round % 3_000).map(|_| random()).collect();
        let (mut message, _) = build(&octets, Case::Ignored, &mut suffixes);
        let changes = std::array::from_fn(|_| random());
        wire::fuzz::change(&mut message, &changes);
        wire::fuzz::check_message(&message);
    }
}

#[test]
fn damage_at_random() {
    check_damage(2_000);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_damaged_messages() {
    check_damage(1_000_000);
}

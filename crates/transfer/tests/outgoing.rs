//! Transfers out: what leaves is the zone, record by record, whatever it holds; or what changed in it.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

#[path = "../../zone/tests/zones/kit/mod.rs"]
mod kit;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use kit::{Denial, drafts, zone_of};
use proptest::prelude::*;
use transfer::outgoing::{
    Broken, Changes, Form, History, HistoryLost, LARGE_OCTETS, MESSAGE_OCTETS, Next, NoHistory, Transfer,
};
use wire::envelope::{Envelope, Opt, Signer};
use wire::header::AA;
use wire::iana::rtype;
use wire::message::Message;
use wire::query::Query;
use wire::tsig::{Algorithm, Incoming, Key, Mac, Progress, verify};
use wire::{Name, NameBuf, Places, SortKey};
use zone::catalog::{PinnedZone, ViewSource};
use zone::contents::SourcePosition;
use zone::{Catalog, Change, Contents, ContentsBuilder, Pack, PackBuilder, Records, TextStamp};

const NOW: u64 = 1_800_000_000;

/// Owner in lower case, type, TTL, RDATA with its names in full and in lower case, where a test has it so.
type Record = (Vec<u8>, u16, u32, Vec<u8>);

fn catalog_of(contents: &Contents) -> Catalog {
    let mut builder = PackBuilder::new(7);
    builder.add_zone(contents, TextStamp::default()).map_err(|_| "a zone").unwrap();
    let catalog = Catalog::new(5);
    let hold = catalog.add_pack(Arc::new(Pack::open(builder.finish().unwrap()).unwrap()));
    catalog.insert(&[(contents.apex().to_owned(), ViewSource::Pack(hold.number(), 0))]);
    catalog
}

fn pin(catalog: &Catalog, apex: &Name) -> PinnedZone {
    catalog.reader().with(|view| {
        let found = view.find(&SortKey::of(apex), apex.label_count()).found;
        view.pin(&found, "192.0.2.1".parse().unwrap()).map_err(|_| "a pin").unwrap()
    })
}

/// A request for a transfer, as its envelope; signed with the key if there is one, and then the MAC.
fn envelope(question: &Name, qtype: u16, key: Option<&Arc<Key>>) -> (Envelope, Mac) {
    let mut message =
        [&[7, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], question.octets(), &qtype.to_be_bytes(), &[0, 1]].concat();
    let mut mac = Mac::NONE;
    if let Some(key) = key {
        let octets = message.len();
        message.resize(octets + key.octets(), 0);
        let (octets, own) = key.sign(&mut message, octets, NOW).unwrap();
        message.truncate(octets);
        mac = own;
    }
    let query = Query::read(&message, &mut Places::new()).unwrap();
    let mut envelope = Envelope::of(&query, 65_535);
    envelope.opt = Some(Opt { udp_payload_octets: 1232, dnssec_ok: false, cookie: None });
    if let Some(key) = key {
        let reply =
            verify(&message, &**key, NOW).map_err(|rejected| rejected.fault).unwrap().reply.detached();
        envelope.signer = Some(Signer { key: Arc::clone(key), reply });
    }
    (envelope, mac)
}

/// What a transfer brings.
#[derive(Debug, Default)]
struct Taken {
    records: Vec<Record>,
    messages: Vec<usize>,
}

impl Taken {
    fn message(&mut self, octets: &[u8], question: &Name) {
        self.messages.push(octets.len());
        let message = Message::read(octets).unwrap();
        assert_eq!((message.id(), message.flags()), (0x0709, 0x8000 | AA));
        let mut places = Places::new();
        message.question(&mut places).unwrap().unwrap();
        let mut buffer = [0; 255];
        assert_eq!(places.copy_ancestor(octets, places.label_count(), &mut buffer), question);
        let mut rdata = vec![0; 65_535];
        let answers = usize::from(message.counts()[0]);
        assert!(answers > 0);
        for (number, record) in message.records().unwrap().enumerate() {
            let record = record.unwrap();
            if number >= answers {
                let is_first = self.messages.len() == 1;
                assert!(record.view.rtype == rtype::TSIG || (record.view.rtype == rtype::OPT && is_first));
                continue;
            }
            let owner = record.owner_name(&mut buffer).unwrap().octets().to_vec();
            let rdata = match record.view.rtype {
                // Those of these zones are cut short.
                rtype::RRSIG => record.view.rdata.to_vec(),
                _ => record.rdata_uncompressed(&mut rdata).unwrap().to_vec(),
            };
            self.records.push((owner, record.view.rtype, record.view.ttl, rdata));
        }
    }
}

/// Takes a transfer to its end, or to what breaks it.
fn take(
    transfer: &mut Transfer,
    question: &Name,
    mut incoming: Option<Incoming<'_>>,
) -> Result<Taken, Broken> {
    let (mut taken, mut room) = (Taken::default(), vec![0; LARGE_OCTETS]);
    loop {
        match transfer.next(&mut room, NOW) {
            Next::Message(octets) => {
                if let Some(incoming) = &mut incoming {
                    assert!(matches!(incoming.check(&room[..octets], NOW), Ok(Progress::Confirmed { .. })));
                }
                taken.message(&room[..octets], question);
            }
            Next::End => break,
            Next::Broken(broken) => return Err(broken),
        }
    }
    incoming.into_iter().for_each(|incoming| incoming.end().unwrap());
    let sent = transfer.sent();
    assert_eq!((sent.records, sent.messages), (taken.records.len() as u64, taken.messages.len() as u64));
    assert_eq!((sent.octets, sent.is_complete), (taken.messages.iter().sum::<usize>() as u64, true));
    Ok(taken)
}

/// Without the SOA records at both ends, sorted; the SOA record in between is none.
fn inner(taken: Taken, apex: &Name) -> Vec<Record> {
    let mut records = VecDeque::from(taken.records);
    let (first, last) = (records.pop_front().unwrap(), records.pop_back().unwrap());
    assert_eq!(first, last);
    assert_eq!((&first.0[..], first.1), (apex.octets(), rtype::SOA));
    let mut records: Vec<Record> = records.into();
    assert!(records.iter().all(|record| record.1 != rtype::SOA));
    records.sort();
    records
}

/// Names in RDATA are kept with their case but for what they share with owner or apex: all in lower case tells the same.
fn lower(records: &[kit::Record]) -> Vec<Record> {
    let mut all: Vec<Record> = records
        .iter()
        .filter(|record| record.1 != rtype::SOA)
        .map(|(owner, rtype, rdata)| {
            (owner.to_lowercase().octets().to_vec(), *rtype, 60, rdata.to_ascii_lowercase())
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn all_of_a_zone(drafts in drafts(), apex in 0..3usize, denial in 0..3usize, upper in any::<bool>(), is_signed in any::<bool>()) {
        let apex: NameBuf = [".", "example.", "x.y.example."][apex].parse().unwrap();
        let denial = [Denial::None, Denial::Nsec, Denial::Nsec3][denial];
        let (records, _) = zone_of(&drafts, &apex, denial);
        let contents = kit::contents_of(&records, &apex);
        // Some of these are too large for a message, or clash.
        let mut builder = PackBuilder::new(7);
        prop_assume!(builder.add_zone(&contents, TextStamp::default()).is_ok());
        let catalog = catalog_of(&contents);
        let key = Arc::new(Key::new(&"k.".parse::<NameBuf>().unwrap(), Algorithm::HmacSha256, b"secret"));
        let question = if upper { apex.to_string().to_uppercase().parse().unwrap() } else { apex.clone() };
        let (envelope, mac) = envelope(&question, rtype::AXFR, is_signed.then_some(&key));
        let mut transfer = Transfer::axfr(pin(&catalog, &apex), envelope);
        let taken = take(&mut transfer, &question, is_signed.then(|| Incoming::new(&key, &mac))).unwrap();
        prop_assert!(taken.messages.iter().all(|octets| *octets <= MESSAGE_OCTETS));
        let mut found = inner(taken, &apex);
        found.iter_mut().for_each(|record| record.3.make_ascii_lowercase());
        found.sort();
        found.dedup();
        prop_assert_eq!(found, lower(&records));
    }
}

fn contents(records: &[(&str, u16, Vec<u8>)]) -> Contents {
    let apex: NameBuf = "example.".parse().unwrap();
    let mut builder = ContentsBuilder::new(&apex);
    let soa = [&[0; 2][..], &7u32.to_be_bytes(), &[0; 16]].concat();
    builder.push(&apex, false, rtype::SOA, 60, &soa, SourcePosition::default()).unwrap();
    builder.push(&apex, false, rtype::NS, 60, b"\x02ns\x07example\0", SourcePosition::default()).unwrap();
    for (owner, rtype, rdata) in records {
        let owner: NameBuf = owner.parse().unwrap();
        builder.push(&owner, false, *rtype, 60, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

fn texts(count: usize, octets: usize) -> Vec<Vec<u8>> {
    let text = |number: usize| {
        [&[octets as u8][..], &(number as u32).to_be_bytes(), &vec![b'x'; octets - 4]].concat()
    };
    (0..count).map(text).collect()
}

/// RRsets of every length up to the longest that a pack takes, with others before and after: all of their records leave, in messages no longer than they need.
#[test]
fn large_rrsets() {
    let apex: NameBuf = "example.".parse().unwrap();
    for (count, octets) in [(60, 250), (65, 250), (200, 250), (245, 250), (3500, 4)] {
        let mut records: Vec<_> =
            texts(count, octets).into_iter().map(|text| ("a.example.", rtype::TXT, text)).collect();
        for owner in ["b.example.", "c.b.example.", "d.example."] {
            records.push((owner, rtype::TXT, texts(1, 200).remove(0)));
        }
        let catalog = catalog_of(&contents(&records));
        let mut transfer = Transfer::axfr(pin(&catalog, &apex), envelope(&apex, rtype::AXFR, None).0);
        let taken = take(&mut transfer, &apex, None).unwrap();
        let large = taken.messages.iter().filter(|octets| **octets > MESSAGE_OCTETS).count();
        assert!(
            large <= 2 && (large > 0) == (count * (octets + 13) > MESSAGE_OCTETS),
            "{:?}",
            taken.messages
        );
        let found = inner(taken, &apex);
        assert_eq!(found.len(), records.len() + 1);
        for (owner, rtype, rdata) in records {
            let owner: NameBuf = owner.parse().unwrap();
            let record = (owner.octets().to_vec(), rtype, 60, rdata);
            assert!(found.binary_search(&record).is_ok());
        }
    }
}

/// What is pinned of a zone that was replaced may be cut: the transfer breaks with its next message, and says why.
#[test]
fn a_transfer_that_is_cut() {
    let apex: NameBuf = "example.".parse().unwrap();
    let large =
        || contents(&[("a.example.", rtype::TXT, vec![1; 9_000]), ("b.example.", 65_280, vec![1; 9_000])]);
    let catalog = catalog_of(&large());
    let slot = catalog.reader().with(|view| view.slot_named(&apex)).unwrap();
    let replace = || {
        let mut builder = PackBuilder::new(7);
        builder.add_zone(&large(), TextStamp::default()).map_err(|_| "a zone").unwrap();
        let hold = catalog.add_pack(Arc::new(Pack::open(builder.finish().unwrap()).unwrap()));
        catalog.publish(slot, None, ViewSource::Pack(hold.number(), 0)).unwrap();
        drop(hold);
        for _ in 0..3 {
            catalog.domain().collect();
        }
    };
    let mut transfers: Vec<Transfer> = Vec::new();
    let mut room = vec![0; LARGE_OCTETS];
    for _ in 0..2 {
        let mut transfer = Transfer::axfr(pin(&catalog, &apex), envelope(&apex, rtype::AXFR, None).0);
        assert!(matches!(transfer.next(&mut room, NOW), Next::Message(_)));
        transfers.push(transfer);
        replace();
    }
    assert_eq!(catalog.cut_pins(0), 1);
    assert_eq!(transfers[0].next(&mut room, NOW), Next::Broken(Broken::Cut));
    assert!(matches!(transfers[1].next(&mut room, NOW), Next::Message(_)));
}

/// One that no message holds with its question breaks the transfer, it is not left out.
#[test]
fn a_record_that_is_too_large() {
    let apex: NameBuf = "example.".parse().unwrap();
    let complete = |octets: usize| {
        let catalog = catalog_of(&contents(&[("a.example.", 65_280, vec![1; octets])]));
        let mut transfer = Transfer::axfr(pin(&catalog, &apex), envelope(&apex, rtype::AXFR, None).0);
        let taken = take(&mut transfer, &apex, None);
        assert_eq!(taken.is_err(), !transfer.sent().is_complete);
        taken.map(|taken| inner(taken, &apex).len())
    };
    // Header, question, owner with a pointer, fixed octets; the OPT record is in the first message.
    let fits = LARGE_OCTETS - 12 - 13 - 4 - 10;
    assert_eq!(complete(fits), Ok(2));
    assert_eq!(complete(fits + 1), Err(Broken::TooLarge));
}

/// A history that is a list.
struct Listed(Vec<Change>);

struct Left {
    changes: VecDeque<Change>,
    octets: u64,
    is_cut: bool,
}

impl History for Listed {
    fn changes(&self, _: &Name, from: u32, to: u32) -> Option<Box<dyn Changes>> {
        let at = self.0.iter().position(|change| change.serial_before() == from)?;
        let changes: VecDeque<Change> =
            self.0[at..].iter().take_while(|change| change.serial_before() != to).cloned().collect();
        let octets =
            changes.iter().map(|change| change.removed().octets().len() + change.added().octets().len());
        Some(Box::new(Left { octets: octets.sum::<usize>() as u64, changes, is_cut: false }))
    }
}

impl Changes for Left {
    fn octets(&self) -> u64 {
        self.octets
    }

    fn next(&mut self) -> Result<Option<Change>, HistoryLost> {
        if self.is_cut && self.changes.len() < 2 {
            return Err(HistoryLost);
        }
        Ok(self.changes.pop_front())
    }
}

fn soa(serial: u32) -> Vec<u8> {
    [&[0; 2][..], &serial.to_be_bytes(), &[0; 16]].concat()
}

/// From `serial` on, so many records of each owner go and come.
fn change(serial: u32, records: usize) -> Change {
    let side = |serial, mark: u8| {
        let mut side = Records::default();
        side.push(&"Example.".parse::<NameBuf>().unwrap(), rtype::SOA, 60, &soa(serial));
        for number in 0..records {
            let owner: NameBuf = format!("N{number}.a.example.").parse().unwrap();
            side.push(&owner, rtype::A, 5, &[mark, 0, 2, number as u8]);
        }
        side
    };
    Change::new(side(serial, 1), side(serial + 1, 2)).unwrap()
}

/// A zone of serial 7 with so many records more.
fn zone(records: usize) -> Catalog {
    let owners: Vec<String> = (0..records).map(|number| format!("n{}.a.example.", number % 1000)).collect();
    let records: Vec<_> =
        owners.iter().zip(texts(records, 20)).map(|(owner, text)| (&**owner, rtype::TXT, text)).collect();
    catalog_of(&contents(&records))
}

fn ixfr(catalog: &Catalog, from: u32, history: Arc<dyn History>) -> (Transfer, NameBuf) {
    let apex: NameBuf = "example.".parse().unwrap();
    (Transfer::ixfr(pin(catalog, &apex), envelope(&apex, rtype::IXFR, None).0, from, history), apex)
}

#[test]
fn what_changed() {
    let catalog = zone(1000);
    let history: Arc<dyn History> = Arc::new(Listed((3..7).map(|serial| change(serial, 100)).collect()));
    let (mut transfer, apex) = ixfr(&catalog, 4, Arc::clone(&history));
    let taken = take(&mut transfer, &apex, None).unwrap();
    assert_eq!((transfer.sent().form, transfer.sent().serial), (Form::Changes(4), 7));
    let mut expected = vec![(b"\x07example\0".to_vec(), rtype::SOA, 60, soa(7))];
    for serial in 4..7 {
        let change = change(serial, 100);
        let records = change.removed().iter().chain(change.added().iter());
        expected.extend(
            records.map(|record| {
                (record.owner.octets().to_vec(), record.rtype, record.ttl, record.rdata.to_vec())
            }),
        );
    }
    expected.push(expected[0].clone());
    // As it was written, case and all.
    assert_eq!(taken.records, expected);
    // More changes than the zone is long; a serial that is not known; one that is newer, one that is the same.
    for (records, from, form) in
        [(10, 4, Form::Whole), (1000, 2, Form::Whole), (1000, 9, Form::Current), (1000, 7, Form::Current)]
    {
        let catalog = zone(records);
        let (mut transfer, apex) = ixfr(&catalog, from, Arc::clone(&history));
        let taken = take(&mut transfer, &apex, None).unwrap();
        assert_eq!(transfer.sent().form, form, "{records} {from}");
        match form {
            Form::Current => assert_eq!(taken.records.len(), 1),
            _ => assert_eq!(inner(taken, &apex).len(), records + 1),
        }
    }
    let (mut transfer, apex) = ixfr(&catalog, 4, Arc::new(NoHistory));
    take(&mut transfer, &apex, None).unwrap();
    assert_eq!(transfer.sent().form, Form::Whole);
}

/// Changes over several messages; a history that is lost on the way, and one that does not come to where it should.
#[test]
fn long_and_broken_histories() {
    let catalog = zone(5000);
    let (mut transfer, apex) = ixfr(&catalog, 6, Arc::new(Listed(vec![change(6, 2000)])));
    let taken = take(&mut transfer, &apex, None).unwrap();
    assert!(taken.messages.len() > 3 && taken.messages.iter().all(|octets| *octets <= MESSAGE_OCTETS));
    assert_eq!(taken.records.len(), 2 + 2 + 4000);

    struct Fixed(Mutex<Option<Left>>);
    impl History for Fixed {
        fn changes(&self, _: &Name, _: u32, _: u32) -> Option<Box<dyn Changes>> {
            Some(Box::new(self.0.lock().unwrap().take()?))
        }
    }
    let fixed = |changes: &[Change], is_cut| {
        let left = Left { changes: changes.to_vec().into(), octets: 1, is_cut };
        Arc::new(Fixed(Mutex::new(Some(left))))
    };
    for (changes, is_cut) in [
        (vec![change(5, 1), change(6, 1)], true),
        (vec![change(5, 1)], false),
        (vec![change(6, 1)], false),
        (vec![change(5, 1), change(6, 1), change(7, 1)], false),
    ] {
        let (mut transfer, apex) = ixfr(&catalog, 5, fixed(&changes, is_cut));
        assert_eq!(take(&mut transfer, &apex, None).map(drop), Err(Broken::History));
        assert_eq!(transfer.next(&mut vec![0; LARGE_OCTETS], NOW), Next::Broken(Broken::History));
    }
}

/// Over UDP: all in one, or the SOA record.
#[test]
fn datagrams() {
    let catalog = zone(1000);
    let apex: NameBuf = "example.".parse().unwrap();
    let key = Arc::new(Key::new(&"k.".parse::<NameBuf>().unwrap(), Algorithm::HmacSha512, b"secret"));
    for (records, from, count, form) in [
        (3, 6, 10, Form::Changes(6)),
        (30, 6, 1, Form::Current),
        (1, 7, 1, Form::Current),
        (1, 2, 1, Form::Current),
    ] {
        let history = Arc::new(Listed(vec![change(6, records)]));
        let (mut envelope, mac) = envelope(&apex, rtype::IXFR, Some(&key));
        envelope.limit = 1232;
        let mut transfer = Transfer::ixfr(pin(&catalog, &apex), envelope, from, history);
        let mut room = vec![0; LARGE_OCTETS];
        let octets = transfer.datagram(&mut room, NOW).unwrap();
        key.check(&room[..octets], &mac, NOW).unwrap();
        let mut taken = Taken::default();
        taken.message(&room[..octets], &apex);
        assert_eq!((taken.records.len(), transfer.sent().form), (count, form), "{records} {from}");
        assert!(octets <= 1232);
    }
    // Whose address may be another's gets no more than that.
    let (mut envelope, _) = envelope(&apex, rtype::IXFR, None);
    envelope.limit = 1232;
    let mut transfer = Transfer::current(pin(&catalog, &apex), envelope);
    let mut taken = Taken::default();
    let mut room = vec![0; LARGE_OCTETS];
    let octets = transfer.datagram(&mut room, NOW).unwrap();
    taken.message(&room[..octets], &apex);
    assert_eq!((taken.records.len(), transfer.sent().form), (1, Form::Current));
}

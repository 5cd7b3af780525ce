//! A secondary of a server, which takes what is new by IXFR and keeps in mind what each version had.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::time::Duration;

use zonda_tests::exchange::{read_framed, tcp_stream, udp_within, write_framed};
use zonda_tests::message::{Query, header, question};
use zonda_tests::name::Name;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::zone::transfer;

/// Questions until it is said that a server does not answer.
const TRIES: usize = 10;

/// See the module.
pub(super) struct Follower {
    server: SocketAddr,
    zones: Vec<Zone>,
    /// A digest of what each version of each zone had.
    versions: HashMap<(String, u32), u64>,
}

struct Zone {
    name: String,
    serial: u32,
    /// All but the SOA record.
    records: BTreeSet<Record>,
}

/// The serial of an SOA record.
fn serial_of(record: &Record) -> u32 {
    let at = record.rdata.len() - 20;
    u32::from_be_bytes(record.rdata[at..at + 4].try_into().expect("four octets"))
}

/// What there is of a zone: its serial and its records.
fn whole(records: Vec<Record>) -> (u32, BTreeSet<Record>) {
    let serial = serial_of(&records[0]);
    let rest = records.into_iter().filter(|record| record.rtype != rtype::SOA);
    (serial, rest.collect())
}

impl Follower {
    /// With all of each zone.
    pub(super) fn begin(server: SocketAddr, zones: &[String]) -> Follower {
        let mut follower = Follower { server, zones: Vec::new(), versions: HashMap::new() };
        for name in zones {
            let (serial, records) = whole(transfer(server, name));
            follower.note(name, serial, &records);
            follower.zones.push(Zone { name: name.clone(), serial, records });
        }
        follower
    }

    /// How many versions there were.
    pub(super) fn versions(&self) -> usize {
        self.versions.len()
    }

    /// One serial stands for one content.
    fn note(&mut self, zone: &str, serial: u32, records: &BTreeSet<Record>) {
        let mut hasher = DefaultHasher::new();
        records.hash(&mut hasher);
        let before = self.versions.insert((zone.to_owned(), serial), hasher.finish());
        assert!(before.is_none_or(|before| before == hasher.finish()), "{zone} {serial} is two versions");
    }

    /// Takes what is new in each zone.
    pub(super) fn follow(&mut self) {
        for at in 0..self.zones.len() {
            let served = self.serial(at);
            if served != self.zones[at].serial {
                self.take(at);
            }
        }
    }

    fn serial(&self, at: usize) -> u32 {
        let query = Query::new(&self.zones[at].name, rtype::SOA).octets();
        for _ in 0..TRIES {
            let Ok(Some(answer)) = udp_within(self.server, &query, Duration::from_secs(1)) else { continue };
            let response = Response::parse(&answer).expect("a response");
            assert_eq!(response.rcode(), 0, "{} is not served", self.zones[at].name);
            return serial_of(&response.answer[0]);
        }
        panic!("{} is not answered for", self.zones[at].name);
    }

    /// Takes differences, or all of a zone where there are none; looks whether they lead to what a transfer has.
    fn take(&mut self, at: usize) {
        let Zone { name, serial, records } = &self.zones[at];
        let (name, mut serial, mut records) = (name.clone(), *serial, records.clone());
        let answer = self.ixfr(&name, serial);
        let newest = serial_of(&answer[0]);
        if newest == serial {
            return;
        }
        assert!(newest.wrapping_sub(serial) < 1 << 31, "{name} went from {serial} to {newest}");
        let is_first = |second: &Record| second.rtype == rtype::SOA && serial_of(second) == serial;
        if answer.get(1).is_some_and(is_first) {
            let mut is_added = false;
            for record in &answer[2..] {
                match (record.rtype == rtype::SOA, is_added) {
                    (true, false) => serial = serial_of(record),
                    (true, true) => {
                        assert_eq!(serial_of(record), serial, "differences of {name} follow each other");
                        self.note(&name, serial, &records);
                    }
                    (false, false) => assert!(records.remove(record), "{name} {serial} has {record:?}"),
                    (false, true) => assert!(records.insert(record.clone()), "{name}: {record:?} twice"),
                }
                is_added ^= record.rtype == rtype::SOA;
            }
            assert_eq!(serial, newest);
        } else {
            (serial, records) = whole(answer);
        }
        self.note(&name, serial, &records);
        let (now, of_now) = whole(transfer(self.server, &name));
        self.note(&name, now, &of_now);
        self.zones[at] = Zone { name, serial, records };
    }

    /// All records of an answer to IXFR, without the last SOA record of all of a zone.
    fn ixfr(&self, zone: &str, from: u32) -> Vec<Record> {
        let name = Name::parse(zone);
        let mut message = header(7, 0, [1, 0, 1, 0]);
        question(&mut message, &name, rtype::IXFR, 1);
        let rdata = [&[0, 0][..], &from.to_be_bytes(), &[0; 16]].concat();
        zonda_tests::message::record(&mut message, &name, rtype::SOA, 1, 0, &rdata);
        let mut stream = tcp_stream(self.server).expect("a connection");
        write_framed(&mut stream, &message).expect("a question");
        let mut records: Vec<Record> = Vec::new();
        loop {
            let answer = read_framed(&mut stream).expect("an answer");
            records.extend(Response::parse(&answer).expect("a response").answer);
            let newest = serial_of(&records[0]);
            let is_newest = |record: &&Record| record.rtype == rtype::SOA && serial_of(record) == newest;
            // Of differences the SOA record of the newest version comes first, before what came last, and at the end; of all of a zone first and last; alone where there is nothing new.
            let is_difference = records.get(1).is_some_and(|second| second.rtype == rtype::SOA);
            let expected = if is_difference { 3 } else { 2 };
            if newest == from || records.iter().filter(is_newest).count() == expected {
                return records;
            }
        }
    }
}

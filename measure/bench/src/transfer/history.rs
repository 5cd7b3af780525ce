//! Versions of a zone: a first one, and what leads from each to the next.
//!
//! Files have a record a line: `owner TTL type RDATA`. Those of changes begin each with `; time OLD -> NEW`, then have lines
//! with `-` and `+` before the record:
//!
//! ```text
//! ; 2023-11-04T18:30:00+00:00 2023110400 -> 2023110401
//! -. 86400 SOA a.root-servers.net. nstld.verisign-grs.com. 2023110400 1800 900 604800 86400
//! +. 86400 SOA a.root-servers.net. nstld.verisign-grs.com. 2023110401 1800 900 604800 86400
//! -example. 172800 NS ns1.example.net.
//! ```

use std::path::Path;

use wire::{Name, NameBuf, iana::rtype};

use super::records::{self, Octets, Records, record};
use crate::{
    Error, error,
    error::{LineProblem, ZoneProblem},
    generate::zone_file::ZoneFile,
    random::Random,
};

/// Longest file of changes: some hundred times the real ones, to be read whole.
const FILE_OCTETS_MAX: u64 = 1 << 32;
/// TTL of records that are made up.
const TTL_SECONDS: u32 = 3600;

/// What leads from one version to the next. The SOA records stand apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Serial of the version after it.
    pub serial: u32,
    /// Records that go.
    pub removed: Vec<Octets>,
    /// Records that come.
    pub added: Vec<Octets>,
}

/// A zone and its versions.
#[derive(Clone, Debug)]
pub struct History {
    /// Its name, in lower case.
    pub apex: NameBuf,
    /// Its first SOA record; those of later versions differ in their serial.
    pub soa: Octets,
    /// Records of the first version, without SOA.
    pub base: Records,
    /// What leads from each version to the next.
    pub changes: Vec<Change>,
}

impl History {
    /// Reads the first version, a zone file, and the changes; none without a second file.
    pub fn read(base: &Path, changes: Option<&Path>) -> Result<History, Error> {
        let zone = ZoneFile::open(base, None)?;
        let (mut soa, mut records) = (None, Records::default());
        zone.each_record(|found| {
            let octets = record(found.owner, found.rtype, found.ttl, found.rdata);
            if found.rtype == rtype::SOA && found.owner.eq_ignore_case(&zone.apex) {
                soa.get_or_insert(octets);
            } else {
                records.add(octets);
            }
        })?;
        let no_soa = || Error::NoZone { path: base.to_owned(), problem: ZoneProblem::NoSoa };
        let mut history =
            History { apex: zone.apex, soa: soa.ok_or_else(no_soa)?, base: records, changes: Vec::new() };
        if let Some(path) = changes {
            history.read_changes(path)?;
        }
        Ok(history)
    }

    fn read_changes(&mut self, path: &Path) -> Result<(), Error> {
        let octets = std::fs::metadata(path).map_err(error::file(path, "open"))?.len();
        if octets > FILE_OCTETS_MAX {
            return Err(Error::Line { path: path.to_owned(), line: 1, problem: LineProblem::TooLong });
        }
        let text = std::fs::read_to_string(path).map_err(error::file(path, "read"))?;
        for (number, line) in text.lines().enumerate() {
            let fault = |problem| Error::Line { path: path.to_owned(), line: number + 1, problem };
            let (sign, rest) = (line.as_bytes().first().copied(), line.get(1..).unwrap_or(""));
            if sign == Some(b';') {
                let new = rest.rsplit(' ').next().and_then(|word| word.parse().ok());
                let serial = new.ok_or_else(|| fault(LineProblem::BadNumber))?;
                self.changes.push(Change { serial, ..Change::default() });
                continue;
            }
            let found = zonefile::records(&format!("{rest}\n"), Name::root())
                .map_err(|report| Error::Zone { report: Box::new(report) })?;
            let (Some(found), Some(change)) = (found.first(), self.changes.last_mut()) else {
                return Err(fault(LineProblem::MissingField));
            };
            if found.rtype == rtype::SOA {
                continue;
            }
            let octets = record(&found.owner, found.rtype, found.ttl, &found.rdata);
            match sign {
                Some(b'-') => change.removed.push(octets),
                Some(b'+') => change.added.push(octets),
                _ => return Err(fault(LineProblem::UnknownFlag)),
            }
        }
        Ok(())
    }

    /// A history that nobody had: so many delegations, and versions in each of which a few of them have other servers.
    pub fn made_up(apex: &Name, delegations: usize, versions: usize, seed: u64) -> History {
        let (mut random, mut base) = (Random::new(seed), Records::default());
        let apex = apex.to_lowercase();
        let mut server = |owner: &Name| {
            let host = NameBuf::from_text(&format!("ns{}.servers.test.", random.below(1_000_000)));
            let host = host.unwrap_or_else(|_| NameBuf::root());
            record(owner, rtype::NS, TTL_SECONDS, host.octets())
        };
        let owner = |number: usize| {
            let name = NameBuf::from_text_at(format!("d{number:06}").as_bytes(), Some(&apex));
            name.unwrap_or_else(|_| apex.clone())
        };
        base.add(server(&apex));
        let mut held: Vec<Octets> = (0..delegations.max(1)).map(|number| server(&owner(number))).collect();
        for one in &held {
            base.add(one.clone());
        }
        let mut rdata = NameBuf::root().octets().to_vec();
        rdata.extend_from_slice(NameBuf::root().octets());
        [1u32, 3600, 600, 86_400, 60]
            .iter()
            .for_each(|number| rdata.extend_from_slice(&number.to_be_bytes()));
        let soa = record(&apex, rtype::SOA, TTL_SECONDS, &rdata);
        let changes = (0..versions).map(|version| {
            let mut change = Change { serial: version as u32 + 2, ..Change::default() };
            for part in 0..3 {
                let number = (version * 3 + part) % held.len();
                let new = server(&owner(number));
                let old = std::mem::replace(&mut held[number], new.clone());
                if old != new {
                    change.removed.push(old);
                    change.added.push(new);
                }
            }
            change
        });
        let changes = changes.collect();
        History { apex, soa, base, changes }
    }

    /// Serial of the first version.
    pub fn serial(&self) -> u32 {
        records::serial(records::parts(&self.soa).rdata).unwrap_or(0)
    }

    /// The first version as text, for who reads zones from files.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        let all = [&self.soa].into_iter().chain(self.base.iter());
        for one in all {
            let records::Parts { owner, rtype, rdata } = records::parts(one);
            let ttl = one.get(owner.len() + 4..).and_then(|rest| rest.first_chunk());
            let ttl = ttl.map_or(0, |octets| u32::from_be_bytes(*octets));
            if let Ok(owner) = Name::from_wire(owner) {
                zonefile::print::line(owner, ttl, rtype, rdata, &mut text);
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Changes without end: a delegation or a host gets another server or another address, as updates of registries and leases do.
pub struct Churn {
    /// What may change, by what it is now.
    held: Vec<Octets>,
    /// The signature of the SOA record, where there is one: it changes with every version.
    signature: Option<Octets>,
    random: Random,
    next: usize,
}

impl Churn {
    /// Of the NS records below the apex, or where there are none, of the addresses.
    pub fn new(history: &History, seed: u64) -> Churn {
        let apex = history.apex.octets();
        let of = |wanted: u16| -> Vec<Octets> {
            let is_meant = |one: &&Octets| {
                let found = records::parts(one);
                found.rtype == wanted && found.owner != apex
            };
            history.base.iter().filter(is_meant).cloned().collect()
        };
        let delegations = of(rtype::NS);
        let mut held = if delegations.is_empty() { of(rtype::A) } else { delegations };
        let mut random = Random::new(seed);
        random.shuffle(&mut held);
        let signs_soa = |one: &&Octets| {
            let found = records::parts(one);
            found.rtype == rtype::RRSIG
                && found.owner == apex
                && found.rdata.starts_with(&rtype::SOA.to_be_bytes())
        };
        let signature = history.base.iter().find(signs_soa).cloned();
        Churn { held, signature, random, next: 0 }
    }

    /// The next change: one record for another of the same name and type, and where the SOA record is signed another signature, which is
    /// as long and not valid. Nothing where a zone has nothing that may change.
    pub fn next(&mut self, serial: u32) -> Change {
        if self.held.is_empty() {
            return Change { serial, ..Change::default() };
        }
        let at = self.next % self.held.len();
        self.next += 1;
        let old = self.held[at].clone();
        let found = records::parts(&old);
        let address = (self.random.next_u64() as u32).to_be_bytes();
        let rdata = match found.rtype {
            rtype::NS => {
                let host = NameBuf::from_text(&format!("ns{}.servers.test.", u32::from_be_bytes(address)));
                host.map_or_else(|_| found.rdata.to_vec(), |host| host.octets().to_vec())
            }
            _ => address.to_vec(),
        };
        let owner = Name::from_wire(found.owner).unwrap_or(Name::root());
        let new = record(owner, found.rtype, TTL_SECONDS, &rdata);
        self.held[at] = new.clone();
        let mut change = match old == new {
            true => Change { serial, ..Change::default() },
            false => Change { serial, removed: vec![old], added: vec![new] },
        };
        if let Some(signature) = &mut self.signature {
            let mut other = signature.clone();
            // The end of it is the signature itself.
            let random = self.random.next_u64().to_be_bytes();
            if let Some(end) = other.last_chunk_mut() {
                *end = random;
            }
            change.added.push(other.clone());
            change.removed.push(std::mem::replace(signature, other));
        }
        change
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_base_and_changes() {
        let folder = tempfile::tempdir().unwrap();
        let [base, deltas] = ["base", "deltas"].map(|name| folder.path().join(name));
        std::fs::write(&base, "gov. 5 SOA a. b. 7 1 1 1 1\ngov. 5 NS a.gov.\nx.gov. 5 NS n.test.\n").unwrap();
        let text = "; 2024 7 -> 9\n-gov. 5 SOA a. b. 7 1 1 1 1\n+gov. 5 SOA a. b. 9 1 1 1 1\n-x.gov. 5 NS n.test.\n\
                    +x.gov. 5 NS m.test.\n; 2025 9 -> 10\n+y.gov. 5 NS m.test.\n";
        std::fs::write(&deltas, text).unwrap();
        let history = History::read(&base, Some(&deltas)).unwrap();
        assert_eq!((history.serial(), history.base.count()), (7, 2));
        let counts: Vec<_> = history
            .changes
            .iter()
            .map(|change| (change.serial, change.removed.len(), change.added.len()))
            .collect();
        assert_eq!(counts, [(9, 1, 1), (10, 0, 1)]);
        assert!(history.base.iter().any(|one| *one == history.changes[0].removed[0]));
        std::fs::write(&base, history.text()).unwrap();
        let again = History::read(&base, None).unwrap();
        assert_eq!((again.base.digest(), again.soa), (history.base.digest(), history.soa));
        for bad in ["-x.gov. 5 NS n.test.\n", "; 1 -> x\n", "; 1 -> 2\nx.gov. 5 NS n.\n", "; 1 -> 2\n-\n"] {
            std::fs::write(&deltas, bad).unwrap();
            assert!(History::read(&base, Some(&deltas)).is_err(), "{bad}");
        }
    }

    /// Every record that goes was there, every one that comes was not.
    #[test]
    fn made_up_changes_hold() {
        let apex = NameBuf::from_text("Example").unwrap();
        let history = History::made_up(&apex, 5, 20, 1);
        let mut records = history.base.clone();
        let mut churn = Churn::new(&history, 1);
        let apply = |records: &mut Records, change: &Change| {
            change.removed.iter().for_each(|one| assert!(records.remove(one)));
            change.added.iter().for_each(|one| assert!(records.add(one.clone())));
        };
        let mut other = history.base.clone();
        for (number, change) in history.changes.iter().enumerate() {
            assert!(change.serial == number as u32 + 2 && change.removed.len() == change.added.len());
            apply(&mut records, change);
            let change = churn.next(number as u32 + 2);
            assert!(change.added.len() <= 1);
            apply(&mut other, &change);
        }
        let mut signed = history.clone();
        signed.base.add(record(&apex, rtype::RRSIG, 5, &[&[0, 6][..], &[1; 40]].concat()));
        let (mut churn, mut third) = (Churn::new(&signed, 1), signed.base.clone());
        for serial in 2..9 {
            let change = churn.next(serial);
            assert_eq!((change.removed.len(), change.added.len()), (2, 2));
            apply(&mut third, &change);
        }
        assert_eq!((records.count(), other.count(), third.count()), (6, 6, 7));
        assert!(records.digest() != history.base.digest() && other.digest() != history.base.digest());
    }
}

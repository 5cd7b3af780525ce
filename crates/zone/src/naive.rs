//! The reference model of a zone: an ordered map and the words of the RFCs, nothing clever.
//!
//! Property tests compare the pack with it; nothing else uses it. It shares no code with what it is compared
//! to: names are lists of labels from the top down, so that the order of lists is the canonical order of RFC
//! 4034 6.1.

use std::collections::BTreeMap;

use wire::iana::rtype;
use wire::{Name, NameBuf};

/// Labels in lower case from the top down, root excluded.
type Labels = Vec<Vec<u8>>;

/// Records of one name: by type, each TTL and RDATA.
type Sets = BTreeMap<u16, Vec<(u32, Vec<u8>)>>;

/// A zone. NSEC3 records are not part of the model: their owners are not names of the zone (RFC 5155 7.2.8).
#[derive(Clone, Debug)]
pub struct NaiveZone {
    apex: Labels,
    names: BTreeMap<Labels, Sets>,
}

/// Where the walk to a name ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NaiveMatch {
    /// The name is not at or below the apex.
    Elsewhere,
    /// The name exists and the zone answers for it; it may be an empty non-terminal.
    Exact,
    /// The name is at or below this zone cut.
    Cut(NameBuf),
    /// The name is below this owner of a DNAME.
    Dname(NameBuf),
    /// The name does not exist.
    Missing {
        /// Its longest ancestor that does.
        closest_encloser: NameBuf,
        /// `*.` and the closest encloser, where that exists (RFC 4592 3.3.1).
        source_of_synthesis: Option<NameBuf>,
    },
}

/// What the zone answers to a question (RFC 1034 4.3.2 step 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: the zone is not the one to ask.
    Refused,
    /// The delegation at this cut.
    Referral(NameBuf),
    /// The DNAME at this owner.
    Dname(NameBuf),
    /// The RRset of this owner, which is a wildcard where the answer is synthesized.
    Data(NameBuf),
    /// The CNAME of this owner, likewise.
    Cname(NameBuf),
    /// The name exists, by itself or through the wildcard given, without this type.
    NoData(NameBuf),
    /// The name does not exist and no wildcard stands for it.
    NameError {
        /// The longest ancestor that exists.
        closest_encloser: NameBuf,
    },
}

/// Whether two RDATA are the same record: the case of letters in names does not count (RFC 4034 6.2).
fn is_same(rtype: u16, a: &[u8], b: &[u8]) -> bool {
    let before = match rtype {
        rtype::NS | rtype::PTR => 0,
        rtype::MX => 2,
        rtype::SRV => 6,
        _ => return a == b,
    };
    a[..before] == b[..before] && a[before..].eq_ignore_ascii_case(&b[before..])
}

impl NaiveZone {
    /// An empty zone.
    pub fn new(apex: &Name) -> NaiveZone {
        let apex = labels(apex);
        let names = BTreeMap::from([(apex.clone(), Sets::new())]);
        NaiveZone { apex, names }
    }

    /// Adds a record; false when its owner is not in the zone.
    pub fn add(&mut self, owner: &Name, rtype: u16, ttl: u32, rdata: &[u8]) -> bool {
        let owner = labels(owner);
        if !owner.starts_with(&self.apex) {
            return false;
        }
        let set = self.names.entry(owner).or_default().entry(rtype).or_default();
        if !set.iter().any(|(_, other)| is_same(rtype, other, rdata)) {
            set.push((ttl, rdata.to_vec()));
        }
        true
    }

    /// Removes a record; false when it is not there.
    pub fn remove(&mut self, owner: &Name, rtype: u16, rdata: &[u8]) -> bool {
        let owner = labels(owner);
        let Some(sets) = self.names.get_mut(&owner) else { return false };
        let Some(set) = sets.get_mut(&rtype) else { return false };
        let Some(at) = set.iter().position(|(_, other)| is_same(rtype, other, rdata)) else { return false };
        set.remove(at);
        if set.is_empty() {
            sets.remove(&rtype);
        }
        // The apex exists in any case.
        if sets.is_empty() && owner != self.apex {
            self.names.remove(&owner);
        }
        true
    }

    /// All names that exist, empty non-terminals too, in canonical order.
    pub fn names(&self) -> Vec<NameBuf> {
        let mut all: Vec<Labels> = Vec::new();
        for owner in self.names.keys() {
            all.extend((self.apex.len()..=owner.len()).map(|count| owner[..count].to_vec()));
        }
        all.sort();
        all.dedup();
        all.iter().map(|name| to_name(name)).collect()
    }

    /// The types at a name, and for each its RDATA in the order of octets.
    pub fn sets(&self, name: &Name) -> BTreeMap<u16, Vec<Vec<u8>>> {
        let mut found = BTreeMap::new();
        for (rtype, records) in self.names.get(&labels(name)).into_iter().flatten() {
            let mut rdatas: Vec<_> = records.iter().map(|(_, rdata)| rdata.clone()).collect();
            rdatas.sort();
            found.insert(*rtype, rdatas);
        }
        found
    }

    /// The lowest TTL of an RRset (RFC 2181 5.2).
    pub fn ttl(&self, name: &Name, rtype: u16) -> Option<u32> {
        self.names.get(&labels(name))?.get(&rtype)?.iter().map(|(ttl, _)| *ttl).min()
    }

    /// Walks from the apex to `name` as RFC 1034 4.3.2 step 3 does.
    pub fn find(&self, name: &Name) -> NaiveMatch {
        let name = labels(name);
        if !name.starts_with(&self.apex) {
            return NaiveMatch::Elsewhere;
        }
        for count in self.apex.len()..=name.len() {
            let step = &name[..count];
            if count > self.apex.len() && self.has(step, rtype::NS) {
                return NaiveMatch::Cut(to_name(step)); // 3b
            }
            if count < name.len() && self.has(step, rtype::DNAME) {
                return NaiveMatch::Dname(to_name(step)); // RFC 6672 3.2
            }
        }
        if self.exists(&name) {
            return NaiveMatch::Exact; // 3a
        }
        // 3c
        let (encloser, wildcard) = self.encloser_and_wildcard(&name);
        NaiveMatch::Missing { closest_encloser: to_name(&encloser), source_of_synthesis: wildcard }
    }

    /// The name itself if it exists, else the wildcard that stands in for it: whose addresses are glue of that server.
    pub fn owner_of_glue(&self, server: &Name) -> Option<NameBuf> {
        let name = labels(server);
        if self.exists(&name) { Some(to_name(&name)) } else { self.encloser_and_wildcard(&name).1 }
    }

    /// The closest encloser of a name that does not exist, and the wildcard below it.
    fn encloser_and_wildcard(&self, name: &[Vec<u8>]) -> (Labels, Option<NameBuf>) {
        // The apex exists, so there is an encloser.
        let mut encloser = name.to_vec();
        while !self.exists(&encloser) {
            encloser.pop();
        }
        let mut wildcard = encloser.clone();
        wildcard.push(b"*".to_vec());
        let source_of_synthesis = self.exists(&wildcard).then(|| to_name(&wildcard));
        (encloser, source_of_synthesis)
    }

    /// What the zone answers to a question of an ordinary type, or of DS.
    pub fn answer(&self, qname: &Name, qtype: u16) -> Answer {
        match self.find(qname) {
            NaiveMatch::Elsewhere => Answer::Refused,
            // DS belongs to the parent's side of the cut (RFC 4035 3.1.4.1).
            NaiveMatch::Cut(cut) if qtype == rtype::DS && cut.eq_ignore_case(qname) => {
                self.answer_at(cut.clone(), qtype, cut)
            }
            NaiveMatch::Cut(cut) => Answer::Referral(cut),
            NaiveMatch::Dname(owner) => Answer::Dname(owner),
            NaiveMatch::Exact => self.answer_at(to_name(&labels(qname)), qtype, qname.to_owned()),
            NaiveMatch::Missing { source_of_synthesis: Some(wildcard), .. } => {
                self.answer_at(wildcard.clone(), qtype, wildcard)
            }
            NaiveMatch::Missing { closest_encloser, .. } => Answer::NameError { closest_encloser },
        }
    }

    /// The answer from the RRsets of one name.
    fn answer_at(&self, owner: NameBuf, qtype: u16, name: NameBuf) -> Answer {
        let name = labels(&name);
        if self.has(&name, qtype) {
            Answer::Data(owner)
        } else if self.has(&name, rtype::CNAME) && qtype != rtype::DS {
            Answer::Cname(owner)
        } else {
            Answer::NoData(owner)
        }
    }

    /// The last name at or before `name` in canonical order that has an NSEC record (RFC 4034 6.1): the
    /// record matches or covers the name.
    pub fn nsec_at_or_before(&self, name: &Name) -> Option<NameBuf> {
        let name = labels(name);
        let before = self.names.range(..=name).rev();
        before.into_iter().find(|(_, sets)| sets.contains_key(&rtype::NSEC)).map(|(owner, _)| to_name(owner))
    }

    fn has(&self, name: &[Vec<u8>], rtype: u16) -> bool {
        self.names.get(name).is_some_and(|sets| sets.contains_key(&rtype))
    }

    /// A name exists when it or a name below it owns records (RFC 4592 2.2.3); the apex always does. Names
    /// below follow at once in canonical order.
    fn exists(&self, name: &[Vec<u8>]) -> bool {
        self.names.range(name.to_vec()..).next().is_some_and(|(owner, _)| owner.starts_with(name))
    }
}

fn labels(name: &Name) -> Labels {
    let mut labels: Labels = name.labels().map(<[u8]>::to_ascii_lowercase).collect();
    labels.reverse();
    labels
}

fn to_name(labels: &[Vec<u8>]) -> NameBuf {
    let mut octets = Vec::new();
    for label in labels.iter().rev() {
        octets.push(label.len() as u8);
        octets.extend(label);
    }
    octets.push(0);
    Name::trusted(&octets).to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    /// The zone of RFC 4592 2.2.1, with a DNAME.
    fn zone() -> NaiveZone {
        let mut zone = NaiveZone::new(&name("example."));
        for (owner, rtype) in [
            ("example.", rtype::SOA),
            ("example.", rtype::NS),
            ("*.example.", rtype::TXT),
            ("*.example.", rtype::MX),
            ("sub.*.example.", rtype::TXT),
            ("host1.example.", rtype::A),
            ("_ssh._tcp.host1.example.", rtype::SRV),
            ("_ssh._tcp.host2.example.", rtype::SRV),
            ("subdel.example.", rtype::NS),
            ("d.example.", rtype::DNAME),
            ("c.example.", rtype::CNAME),
        ] {
            assert!(zone.add(&name(owner), rtype, 60, b""));
        }
        zone
    }

    /// The answers of RFC 4592 2.2.1 and what this zone adds to them.
    #[test]
    fn example_of_the_rfc() {
        let zone = zone();
        let check = |qname: &str, qtype, expected: Answer| {
            assert_eq!(zone.answer(&name(qname), qtype), expected, "{qname}");
        };
        let wildcard = || name("*.example.");
        check("host3.example.", rtype::MX, Answer::Data(wildcard()));
        check("host3.example.", rtype::A, Answer::NoData(wildcard()));
        check("foo.bar.example.", rtype::TXT, Answer::Data(wildcard()));
        check("host1.example.", rtype::MX, Answer::NoData(name("host1.example.")));
        check("sub.*.example.", rtype::MX, Answer::NoData(name("sub.*.example.")));
        let missing = |encloser: &str| Answer::NameError { closest_encloser: name(encloser) };
        check("_telnet._tcp.host1.example.", rtype::SRV, missing("_tcp.host1.example."));
        check("host.subdel.example.", rtype::A, Answer::Referral(name("subdel.example.")));
        check("ghost.*.example.", rtype::MX, missing("*.example."));
        check("_tcp.HOST2.example.", rtype::A, Answer::NoData(name("_tcp.host2.example.")));
        check("subdel.example.", rtype::DS, Answer::NoData(name("subdel.example.")));
        check("d.example.", rtype::A, Answer::NoData(name("d.example.")));
        check("x.d.example.", rtype::A, Answer::Dname(name("d.example.")));
        check("c.example.", rtype::A, Answer::Cname(name("c.example.")));
        check("c.example.", rtype::CNAME, Answer::Data(name("c.example.")));
        check("example.org.", rtype::A, Answer::Refused);
    }

    #[test]
    fn names_and_sets() {
        let mut zone = zone();
        assert!(!zone.add(&name("example.org."), rtype::A, 1, b""));
        zone.add(&name("HOST1.example."), rtype::A, 30, b"b");
        zone.add(&name("host1.example."), rtype::A, 30, b"b");
        let host = name("host1.example.");
        assert_eq!(zone.sets(&host), BTreeMap::from([(rtype::A, vec![b"".to_vec(), b"b".to_vec()])]));
        assert_eq!((zone.ttl(&host, rtype::A), zone.ttl(&host, rtype::MX)), (Some(30), None));
        let names = zone.names();
        assert!(names.contains(&name("_tcp.host2.example.")) && names.contains(&name("host2.example.")));
        assert_eq!((names.len(), &names[0], &names[1]), (12, &name("example."), &name("*.example.")));
        assert_eq!(zone.nsec_at_or_before(&host), None);
        zone.add(&name("c.example."), rtype::NSEC, 1, b"");
        zone.add(&name("example."), rtype::NSEC, 1, b"");
        assert_eq!(zone.nsec_at_or_before(&host), Some(name("c.example.")));
        assert_eq!(zone.nsec_at_or_before(&name("b.example.")), Some(name("example.")));
        assert!(zone.remove(&host, rtype::A, b"b") && !zone.remove(&host, rtype::A, b"b"));
        let (below, above) = (name("x.y.example."), name("y.example."));
        zone.add(&below, rtype::A, 30, b"b");
        assert!(zone.names().contains(&above));
        assert!(zone.remove(&below, rtype::A, b"b"));
        assert!(!zone.names().contains(&above), "it was there for what was below it");
    }
}

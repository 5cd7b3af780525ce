//! Updates for `nsupdate`, made in the context of a zone (the `updgen` of ISC-TN-2008-1): names that are deleted exist,
//! names that are added do not, and each update holds after all before it.
//!
//! ```text
//! zone ORIGIN
//! prereq yxdomain NAME      on wish
//! update delete NAME        a delegation, or a host with all its records
//! prereq nxdomain NAME      on wish
//! update add NAME TTL NS …  a delegation, or a host with an A
//! send                      after so many changes
//! ```
//!
//! Left alone: the apex, glue, names with others below them, names that others in the zone point to, and whatever is
//! not plain letters, digits, hyphens and underscores. The zone file is read twice; memory grows by some 30 octets a
//! name, so that a zone of millions is no trouble.

use std::{
    collections::HashSet,
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use wire::{Name, NameBuf, iana::rtype, rdata::Names};
use zonefile::Record;

use super::{
    text::ipv4,
    zone_file::{ZoneFile, name_hash},
};
use crate::{
    Error,
    error::ZoneProblem,
    labels::{self, Labels},
    random::Random,
};

/// What updates to make.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names to add or delete.
    pub count: usize,
    /// Changes in one update message, at least one; an added delegation is two changes that stay together.
    pub group: usize,
    /// Share of additions, 0 to 1.
    pub add_share: f64,
    /// State before each change what must be true for it (RFC 2136 2.4).
    pub prerequisites: bool,
    /// Where to send them; without, `nsupdate` asks the SOA.
    pub server: Option<SocketAddr>,
    /// File of names whose labels are added first.
    pub names: Option<PathBuf>,
    /// Start of the random stream.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            count: 10_000,
            group: 1,
            add_share: 0.5,
            prerequisites: false,
            server: None,
            names: None,
            seed: 1,
        }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Names added.
    pub added: usize,
    /// Names deleted.
    pub deleted: usize,
    /// Update messages.
    pub messages: usize,
}

/// Most names kept that could be deleted; a sample of that size is as good as all.
const CANDIDATES_MAX: usize = 1_000_000;
/// Name servers in other zones that added delegations get, taken from the zone.
const HOSTS_MAX: usize = 1_000;
/// TTL of an added name where the zone has none of its kind.
const TTL_SECONDS: u32 = 3_600;

/// Writes updates for the zone in file `path`; `origin`: see [`ZoneFile::open`].
pub fn write<W: Write>(output: W, path: &Path, origin: Option<&Name>, plan: &Plan) -> Result<Tally, Error> {
    let zone = ZoneFile::open(path, origin)?;
    let known = Known::read(&zone, plan.seed)?;
    let labels = labels::make(plan.count.max(1), plan.names.as_deref(), plan.seed ^ 0xadd)?;
    let mut writer = Writer {
        output,
        apex: zone.apex,
        known,
        labels,
        next_label: 0,
        random: Random::part(plan.seed, 11),
        changes: 0,
        fresh: Vec::new(),
        tally: Tally::default(),
    };
    let failed = |cause| Error::System { action: "write the updates", cause };
    writer.head(plan).map_err(failed)?;
    for _ in 0..plan.count {
        let mut adds = writer.random.chance(plan.add_share);
        if !adds && writer.known.candidates.is_empty() {
            // What was added in this message can be deleted in the next.
            writer.send().map_err(failed)?;
            adds = writer.known.candidates.is_empty();
            if adds && plan.add_share <= 0.0 {
                return Err(Error::NoZone { path: path.to_owned(), problem: ZoneProblem::TooFewNames });
            }
        }
        match adds {
            true => writer.add(plan.prerequisites),
            false => writer.delete(plan.prerequisites),
        }
        .map_err(failed)?;
        if writer.changes >= plan.group {
            writer.send().map_err(failed)?;
        }
    }
    writer.send().and_then(|()| writer.output.flush()).map_err(failed)?;
    Ok(writer.tally)
}

/// What there is in the zone.
struct Known {
    /// Hashes of all owners and of the names between them and the apex.
    names: HashSet<u64>,
    /// Names that can be deleted.
    candidates: Vec<NameBuf>,
    /// Share of delegations among the candidates.
    cut_share: f64,
    /// TTL of a delegation and of a host.
    ttls: [u32; 2],
    /// Name servers that are not in the zone.
    hosts: Vec<NameBuf>,
}

impl Known {
    fn read(zone: &ZoneFile, seed: u64) -> Result<Known, Error> {
        let mut facts = Facts::default();
        zone.each_record(|record| facts.add(record, &zone.apex))?;
        let mut random = Random::part(seed, 12);
        let mut candidates: Vec<NameBuf> = Vec::new();
        let mut offered = HashSet::new();
        let mut cuts = 0;
        zone.each_record(|record| {
            if record.same_owner || !facts.can_go(record.owner, &zone.apex) {
                return;
            }
            let hash = name_hash(record.owner);
            if !offered.insert(hash) {
                return;
            }
            cuts += usize::from(facts.cuts.contains(&hash));
            let candidate = record.owner.to_owned();
            // A sample, each name as likely as any other (Vitter's algorithm R).
            if candidates.len() < CANDIDATES_MAX {
                candidates.push(candidate);
            } else if let Some(slot) = candidates.get_mut(random.index(offered.len())) {
                *slot = candidate;
            }
        })?;
        let cut_share = match offered.len() {
            0 => 0.0,
            count => cuts as f64 / count as f64,
        };
        let ttls = facts.ttls.map(|ttl| ttl.unwrap_or(TTL_SECONDS));
        Ok(Known { names: facts.names, candidates, cut_share, ttls, hosts: facts.hosts })
    }
}

/// What a first reading finds out.
#[derive(Default)]
struct Facts {
    names: HashSet<u64>,
    /// Names with others below them.
    parents: HashSet<u64>,
    /// Names that RDATA in the zone points to.
    targets: HashSet<u64>,
    cuts: HashSet<u64>,
    ttls: [Option<u32>; 2],
    hosts: Vec<NameBuf>,
    seen_hosts: HashSet<u64>,
}

impl Facts {
    fn add(&mut self, record: &Record<'_>, apex: &Name) {
        let hash = name_hash(record.owner);
        let is_apex = record.owner.eq_ignore_case(apex);
        if !record.same_owner && record.owner.is_at_or_below(apex) {
            self.names.insert(hash);
            let mut name = record.owner;
            while let Some(parent) = name.parent().filter(|parent| parent.is_at_or_below(apex)) {
                let parent_hash = name_hash(parent);
                self.names.insert(parent_hash);
                self.parents.insert(parent_hash);
                name = parent;
            }
        }
        if record.rtype == rtype::NS && !is_apex {
            self.cuts.insert(hash);
            self.ttls[0].get_or_insert(record.ttl);
        } else if record.rtype == rtype::A && !is_apex {
            self.ttls[1].get_or_insert(record.ttl);
        }
        // NSEC points to every name, and servers keep its chain themselves.
        if record.rtype == rtype::NSEC || record.rtype == rtype::RRSIG {
            return;
        }
        for field in Names::of(record.rtype, record.rdata).map_while(Result::ok) {
            let Ok(target) = Name::from_wire(&record.rdata[field.at..field.end]) else { continue };
            if target.is_at_or_below(apex) {
                self.targets.insert(name_hash(target));
            } else if record.rtype == rtype::NS
                && self.hosts.len() < HOSTS_MAX
                && self.seen_hosts.insert(name_hash(target))
            {
                self.hosts.push(target.to_owned());
            }
        }
    }

    /// Whether the name can be deleted and nothing else in the zone is touched by that.
    fn can_go(&self, name: &Name, apex: &Name) -> bool {
        let hash = name_hash(name);
        let is_plain = name.labels().all(|label| {
            label.iter().all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_'))
        });
        if !is_plain || name.eq_ignore_case(apex) || !name.is_at_or_below(apex) {
            return false;
        }
        if self.parents.contains(&hash) || self.targets.contains(&hash) {
            return false;
        }
        let mut above = name;
        while let Some(parent) = above.parent().filter(|parent| !parent.eq_ignore_case(apex)) {
            if self.cuts.contains(&name_hash(parent)) {
                return false;
            }
            above = parent;
        }
        true
    }
}

struct Writer<W: Write> {
    output: W,
    apex: NameBuf,
    known: Known,
    labels: Labels,
    next_label: usize,
    random: Random,
    /// Changes in the open message.
    changes: usize,
    /// Names added in the open message: they can be deleted in a later one only, as all prerequisites of a message are
    /// held against the zone before it.
    fresh: Vec<NameBuf>,
    tally: Tally,
}

impl<W: Write> Writer<W> {
    fn head(&mut self, plan: &Plan) -> io::Result<()> {
        if let Some(server) = plan.server {
            writeln!(self.output, "server {} {}", server.ip(), server.port())?;
        }
        writeln!(self.output, "zone {}", self.apex)
    }

    fn delete(&mut self, with_prerequisite: bool) -> io::Result<()> {
        let index = self.random.index(self.known.candidates.len());
        let name = self.known.candidates.swap_remove(index);
        if with_prerequisite {
            writeln!(self.output, "prereq yxdomain {name}")?;
        }
        writeln!(self.output, "update delete {name}")?;
        self.tally.deleted += 1;
        self.changes += 1;
        Ok(())
    }

    fn add(&mut self, with_prerequisite: bool) -> io::Result<()> {
        let Some(name) = self.absent_name() else { return Ok(()) };
        if with_prerequisite {
            writeln!(self.output, "prereq nxdomain {name}")?;
        }
        let is_cut = self.random.chance(self.known.cut_share);
        let ttl = self.known.ttls[usize::from(!is_cut)];
        if is_cut {
            for host in self.hosts(&name) {
                writeln!(self.output, "update add {name} {ttl} NS {host}")?;
                self.changes += 1;
            }
        } else {
            writeln!(self.output, "update add {name} {ttl} A {}", Ipv4Addr::from(ipv4(&mut self.random)))?;
            self.changes += 1;
        }
        self.fresh.push(name);
        self.tally.added += 1;
        Ok(())
    }

    /// A name one label below the apex that the zone has not and had not; `None` if the apex leaves no room.
    fn absent_name(&mut self) -> Option<NameBuf> {
        let mut label = self.labels.label(self.next_label % self.labels.count()).to_vec();
        self.next_label += 1;
        loop {
            let name = NameBuf::from_text_at(&label, Some(&self.apex)).ok()?;
            if self.known.names.insert(name_hash(&name)) {
                return Some(name);
            }
            label.truncate(40);
            label.extend_from_slice(format!("-{}", self.random.below(1_000_000)).as_bytes());
        }
    }

    /// Two name servers in other zones.
    fn hosts(&mut self, name: &Name) -> [String; 2] {
        let hosts = &self.known.hosts;
        if hosts.len() < 2 {
            let label = name.labels().next().unwrap_or_default();
            return ["ns1", "ns2"].map(|host| format!("{host}.{}.example.", String::from_utf8_lossy(label)));
        }
        let first = self.random.index(hosts.len());
        let second = (first + 1 + self.random.index(hosts.len() - 1)) % hosts.len();
        [hosts[first].to_string(), hosts[second].to_string()]
    }

    fn send(&mut self) -> io::Result<()> {
        if self.changes == 0 {
            return Ok(());
        }
        self.changes = 0;
        self.tally.messages += 1;
        self.known.candidates.append(&mut self.fresh);
        self.output.write_all(b"send\n")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ZONE: &str = "$ORIGIN example.\n$TTL 60\n@ SOA a b 1 2 3 4 5\n@ NS ns\n@ NS outside.test.\nns A 192.0.2.1\n\
        www A 192.0.2.2\nwww AAAA 2001:db8::1\nb.deep A 192.0.2.3\nold A 192.0.2.4\nalias CNAME www\n\
        cut NS ns.cut\nns.cut A 192.0.2.5\nother 7 NS ns1.test.\nother NS ns2.test.\nthird NS ns2.test.\n*.wild A 192.0.2.6\n";

    /// Replays the updates on the set of names, and fails where one does not hold.
    #[track_caller]
    fn replay(text: &str, group: usize) -> BTreeSet<String> {
        let mut names: BTreeSet<String> =
            ["b.deep", "old", "alias", "other", "third"].map(|name| format!("{name}.example.")).into();
        let (mut added, mut touched, mut changes) = (Vec::new(), BTreeSet::new(), 0);
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["prereq", "yxdomain", name] => assert!(names.contains(name), "{line}"),
                ["prereq", "nxdomain", name] => assert!(!names.contains(name), "{line}"),
                ["update", "delete", name] => {
                    assert!(names.remove(name) && touched.insert(name), "{line}");
                    changes += 1;
                }
                ["update", "add", name, _, _, _] => {
                    assert!(!names.contains(name), "{line}");
                    touched.insert(name);
                    added.push(name.to_owned());
                    changes += 1;
                }
                ["send"] => {
                    assert!((1..=group + 1).contains(&changes), "{changes}");
                    changes = 0;
                    touched.clear();
                    names.extend(added.drain(..));
                }
                _ => assert!(line == "zone example." || line.starts_with("server "), "{line}"),
            }
        }
        assert_eq!(changes, 0, "the last message is sent");
        names
    }

    fn updates(plan: &Plan) -> Result<(String, Tally), Error> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ZONE).unwrap();
        let mut text = Vec::new();
        let tally = write(&mut text, file.path(), None, plan)?;
        Ok((String::from_utf8(text).unwrap(), tally))
    }

    #[test]
    fn every_update_holds_after_those_before() {
        for (group, add_share) in [(1, 0.5), (7, 0.5), (100, 0.3), (3, 0.9)] {
            let plan = Plan { count: 500, group, add_share, prerequisites: true, ..Plan::default() };
            let (text, tally) = updates(&plan).unwrap();
            let names = replay(&text, group);
            assert_eq!(tally.added + tally.deleted, 500);
            assert_eq!(names.len(), 5 + tally.added - tally.deleted);
            assert_eq!(text.matches("send").count(), tally.messages);
            assert!(text.contains(" NS ns") && text.contains(" A ") && text.contains(" 60 NS "), "{text}");
            assert_eq!(text, updates(&plan).unwrap().0);
        }
    }

    #[test]
    fn only_additions_or_only_deletions() {
        let plan = Plan { count: 5, add_share: 0.0, ..Plan::default() };
        assert_eq!(updates(&plan).unwrap().1, Tally { added: 0, deleted: 5, messages: 5 });
        let too_many = Plan { count: 6, ..plan };
        assert!(matches!(updates(&too_many), Err(Error::NoZone { problem: ZoneProblem::TooFewNames, .. })));
        let server = Some("127.0.0.1:5300".parse().unwrap());
        let plan = Plan { count: 6, add_share: 1.0, group: 100, server, ..Plan::default() };
        let (text, tally) = updates(&plan).unwrap();
        assert_eq!(tally, Tally { added: 6, deleted: 0, messages: 1 });
        assert!(text.starts_with("server 127.0.0.1 5300\nzone example.\nupdate add "));
        assert!(!text.contains("prereq"));
    }
}

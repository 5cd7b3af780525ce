//! What the cache has of a name, for a task: an answer, an alias, a denial, a zone cut.

use cache::{Cache, Copied, Entry, Key, Kind, Moment, Named, Security, Subject};
use wire::Name;
use wire::iana::rtype;
use wire::name::{NAME_OCTETS_MAX, NameBuf};
use wire::rrset::{Rrset, RrsetListBuf};

use crate::known::cuts::{Chain, Cuts};
use crate::limits::{ABOVE_LABELS_MAX, CUT_LABELS_MAX};

/// How a cache is asked.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'c> {
    pub cache: &'c Cache,
    pub now: Moment,
    /// What was not validated will do (CD).
    pub is_unchecked: bool,
    /// What has expired will do (RFC 8767).
    pub is_stale: bool,
    /// What came with a referral will do: the denial of a DS without SOA, which proves and is no answer.
    pub is_for_proof: bool,
    /// Labels of the deepest configured point at or above the name: what is denied above it is not denied below.
    pub floor: usize,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Data: in `answer`.
    Data(Security),
    /// An alias: in `answer`, its target in `target`.
    Alias(Security),
    /// No data of the type: its proof in `authority`.
    NoData(Security),
    /// No such name: its proof in `authority`.
    NameError(Security),
    /// The alias that a DNAME makes would be too long (RFC 6672 2.2).
    TooLong(Security),
    /// Nothing.
    Nothing,
}

/// Where what was found is put.
#[derive(Default)]
pub(crate) struct Kept {
    pub answer: RrsetListBuf,
    pub authority: RrsetListBuf,
    pub target: Option<NameBuf>,
    /// Whether any of it has expired.
    pub is_stale: bool,
    /// Why it counts as not signed though it is, as an extended error.
    pub ede: Option<u16>,
}

impl Kept {
    /// Makes it ready to be filled again.
    pub(crate) fn clear(&mut self) {
        self.answer.clear();
        self.authority.clear();
        (self.target, self.is_stale, self.ede) = (None, false, None);
    }
}

impl<'c> Lookup<'c> {
    /// What is fresh and validated, wherever it lies.
    pub(crate) fn new(cache: &'c Cache, now: Moment) -> Lookup<'c> {
        Lookup { cache, now, is_unchecked: false, is_stale: false, is_for_proof: false, floor: 0 }
    }
}

impl Lookup<'_> {
    /// Looks for the RRset, an alias at the name or above, a denial.
    pub(crate) fn find(&self, name: &Name, rtype: u16, copied: &mut Copied, kept: &mut Kept) -> Found {
        let named = self.cache.named(name);
        self.find_named(&named, rtype, copied, kept)
    }

    /// The same for a name that is looked at beside.
    pub(crate) fn find_named(
        &self,
        named: &Named<'_, '_>,
        rtype: u16,
        copied: &mut Copied,
        kept: &mut Kept,
    ) -> Found {
        let name = named.name();
        let subjects = [Subject::Rrset(rtype), Subject::Unchecked(rtype)];
        for subject in &subjects[..1 + usize::from(self.is_unchecked)] {
            if let Some(entry) = self.get(named, *subject, copied, kept) {
                return self.take(name, rtype, &entry, kept);
            }
        }
        let subjects = [Subject::Rrset(rtype::CNAME), Subject::Unchecked(rtype::CNAME)];
        for subject in &subjects[..1 + usize::from(self.is_unchecked)] {
            if let Some(entry) = self.get(named, *subject, copied, kept)
                && entry.kind == Kind::Data
                && let Some(target) = entry.rdatas.iter().next().and_then(|rdata| Name::from_wire(rdata).ok())
            {
                kept.target = Some(target.to_lowercase());
                self.take(name, rtype::CNAME, &entry, kept);
                return Found::Alias(entry.security);
            }
        }
        if let Some(entry) = self.get(named, Subject::Existence, copied, kept) {
            return self.take(name, rtype, &entry, kept);
        }
        self.above(name, copied, kept)
    }

    /// Looks for what is above a name and covers it: a DNAME, or a proved denial (RFC 8020).
    fn above(&self, name: &Name, copied: &mut Copied, kept: &mut Kept) -> Found {
        let labels = name.label_count();
        let mut above = name;
        for depth in 1..=ABOVE_LABELS_MAX {
            // The root exists, and is no other name.
            let Some(parent) = above.parent().filter(|parent| !parent.is_root()) else { break };
            above = parent;
            if labels - depth < self.floor {
                break;
            }
            let named = self.cache.named(above);
            if let Some(entry) = self.get(&named, Subject::Rrset(rtype::DNAME), copied, kept)
                && entry.kind == Kind::Data
                && let Some(target) = entry.rdatas.iter().next().and_then(|rdata| Name::from_wire(rdata).ok())
            {
                let security = entry.security;
                self.take(above, rtype::DNAME, &entry, kept);
                let Some(target) = substituted(name, above, target) else { return Found::TooLong(security) };
                let rdatas = [target.octets()].into_iter().collect::<wire::rrset::RdataListBuf>();
                let ttl = entry_ttl(&entry, self.now);
                kept.answer.push(&Rrset {
                    owner: name,
                    rtype: rtype::CNAME,
                    ttl,
                    rdatas: rdatas.list(),
                    signatures: Default::default(),
                });
                kept.target = Some(target.to_lowercase());
                return Found::Alias(security);
            }
            if let Some(entry) = self.get(&named, Subject::Existence, copied, kept)
                && entry.security == Security::Secure
            {
                return self.take(above, 0, &entry, kept);
            }
        }
        Found::Nothing
    }

    /// The addresses of a server that are known from elsewhere than glue: answers to questions for them.
    pub(crate) fn addresses(
        &self,
        name: &Name,
        rtype: u16,
        copied: &mut Copied,
        mut each: impl FnMut(&[u8]),
    ) -> bool {
        let named = self.cache.named(name);
        for subject in [Subject::Rrset(rtype), Subject::Unchecked(rtype)] {
            let Some(entry) = named.get(subject, copied) else { continue };
            if entry.ttl_left(self.now).is_some() && matches!(entry.kind, Kind::Data | Kind::NoData) {
                entry.rdatas.iter().for_each(&mut each);
                return true;
            }
        }
        false
    }

    /// The deepest zone cut at or above `name` with at least `floor` labels, and its entry.
    pub(crate) fn cut<'n, 'b>(
        &self,
        name: &'n Name,
        copied: &'b mut Copied,
        cuts: &mut Cuts,
    ) -> Option<(&'n Name, Entry<'b>)> {
        let deepest = self.deepest_cut(name, copied, cuts)?;
        self.cache.get(&Key::cut(deepest), copied).map(|entry| (deepest, entry))
    }

    /// The same without its entry.
    pub(crate) fn deepest_cut<'n>(
        &self,
        name: &'n Name,
        copied: &mut Copied,
        cuts: &mut Cuts,
    ) -> Option<&'n Name> {
        let (mut at, mut labels) = (name, name.label_count());
        while labels > CUT_LABELS_MAX {
            (at, labels) = (at.parent()?, labels - 1);
        }
        // The deepest of which all above it, up to the root, are there: a zone that was withdrawn somewhere above is found no more, however long those below it were
        // to be kept (CVE-2022-30698). `expected`: labels of the zone that the last one found was delegated by.
        let (mut deepest, mut expected) = (None, None);
        let mut chain = Chain::new();
        loop {
            let is_next = expected.is_none_or(|expected| expected == labels);
            // What was walked before and is as it was ends here.
            if self.floor == 0
                && (is_next || expected.is_some_and(|expected| expected < labels))
                && let Some(above) =
                    cuts.holds(at, self.cache, self.now, |name| self.parent_of_cut(name, copied).is_some())
            {
                let Some(zone) = deepest.filter(|_| is_next) else { return Some(at) };
                chain.extend(above);
                cuts.keep(zone, chain, self.now);
                return Some(zone);
            }
            match self.parent_of_cut(at, copied) {
                Some((parent, end)) if is_next => {
                    deepest = deepest.or(Some(at));
                    expected = Some(parent);
                    chain.push(labels, copied.stamp(), end);
                }
                // Not the one that it came from: what was found below counts no more.
                Some((parent, end)) if expected.is_some_and(|expected| expected < labels) => {
                    (deepest, expected) = (Some(at), Some(parent));
                    chain = Chain::new();
                    chain.push(labels, copied.stamp(), end);
                }
                _ if expected == Some(labels) && labels > 0 => {
                    (deepest, expected) = (None, None);
                    chain = Chain::new();
                }
                _ => {}
            }
            if labels == self.floor {
                break;
            }
            (at, labels) = (at.parent()?, labels - 1);
        }
        if self.floor == 0
            && let Some(zone) = deepest
        {
            cuts.keep(zone, chain, self.now);
        }
        deepest
    }

    /// Labels of the zone that delegates `name`, if that is known and not over, and when it will be.
    fn parent_of_cut(&self, name: &Name, copied: &mut Copied) -> Option<(usize, Moment)> {
        let entry = self.cache.get(&Key::cut(name), copied)?;
        let end = entry.stored.plus_seconds(entry.ttl);
        (entry.kind == Kind::Cut && entry.ttl_left(self.now).is_some())
            .then_some((usize::from(entry.zone_labels), end))
    }

    fn get<'b>(
        &self,
        named: &Named<'_, '_>,
        subject: Subject,
        copied: &'b mut Copied,
        kept: &mut Kept,
    ) -> Option<Entry<'b>> {
        let entry = named.get(subject, copied)?;
        let is_fresh = entry.ttl_left(self.now).is_some();
        let is_seen = self.is_unchecked || !matches!(entry.security, Security::Unchecked | Security::Bogus);
        if !is_seen || !(is_fresh || self.is_stale && self.is_kept_stale(&entry)) {
            return None;
        }
        kept.is_stale |= !is_fresh;
        Some(entry)
    }

    /// What has expired is given for so long; it may lie there for longer, as nobody has needed its room.
    fn is_kept_stale(&self, entry: &Entry<'_>) -> bool {
        entry.expired_for(self.now) < u64::from(self.cache.limits().stale_seconds)
    }

    fn take(&self, name: &Name, rtype: u16, entry: &Entry<'_>, kept: &mut Kept) -> Found {
        kept.ede = entry.ede.filter(|_| entry.security == Security::Insecure).or(kept.ede);
        match entry.kind {
            Kind::Data => {
                kept.answer.push(&Rrset {
                    owner: name,
                    rtype,
                    ttl: entry_ttl(entry, self.now),
                    rdatas: entry.rdatas,
                    signatures: entry.signatures,
                });
                beside(entry, self.now, &mut kept.authority);
                Found::Data(entry.security)
            }
            Kind::NoData if rtype == rtype::DS && !self.is_for_proof && !has_soa(entry) => Found::Nothing,
            Kind::NoData => {
                beside(entry, self.now, &mut kept.authority);
                Found::NoData(entry.security)
            }
            Kind::NameError => {
                beside(entry, self.now, &mut kept.authority);
                Found::NameError(entry.security)
            }
            Kind::Failure | Kind::Cut => Found::Nothing,
        }
    }
}

/// What is left of the TTL; of what has expired what RFC 8767 4 says.
fn entry_ttl(entry: &Entry<'_>, now: Moment) -> u32 {
    entry.ttl_left(now).unwrap_or(crate::limits::STALE_TTL_SECONDS)
}

fn has_soa(entry: &Entry<'_>) -> bool {
    entry.beside.iter().any(|set| set.rtype == rtype::SOA)
}

fn beside(entry: &Entry<'_>, now: Moment, to: &mut RrsetListBuf) {
    let ttl = entry_ttl(entry, now);
    entry.beside.iter().for_each(|set| to.push(&Rrset { ttl: set.ttl.min(ttl), ..set }));
}

/// `name`, which is below `owner`, with `target` in the place of `owner` (RFC 6672 2.2); `None` where that is too long.
pub(crate) fn substituted(name: &Name, owner: &Name, target: &Name) -> Option<NameBuf> {
    let prefix = name.octets().len().checked_sub(owner.octets().len())?;
    let mut octets = [0; 2 * NAME_OCTETS_MAX];
    let length = prefix + target.octets().len();
    if length > NAME_OCTETS_MAX {
        return None;
    }
    octets[..prefix].copy_from_slice(&name.octets()[..prefix]);
    octets[prefix..length].copy_from_slice(target.octets());
    Some(Name::trusted(&octets[..length]).to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn substitution() {
        let check = |name: &str, owner: &str, target: &str, expected: &str| {
            let [name, owner, target] = [name, owner, target].map(|text| NameBuf::from_text(text).unwrap());
            assert_eq!(substituted(&name, &owner, &target).unwrap().to_string(), expected);
        };
        check("a.b.example.", "b.example.", "c.test.", "a.c.test.");
        check("a.b.example.", ".", "test.", "a.b.example.test.");
        check("a.example.", "example.", ".", "a.");
        let long = NameBuf::from_text(&format!("{0}.{0}.{0}.", "x".repeat(63))).unwrap();
        let name = NameBuf::from_text(&format!("{}.a.example.", "y".repeat(63))).unwrap();
        let owner = NameBuf::from_text("a.example.").unwrap();
        assert_eq!(substituted(&name, &owner, &long), None);
    }
}

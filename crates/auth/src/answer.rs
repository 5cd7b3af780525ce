//! The algorithm of RFC 1034 4.3.2, section by section of the response.
//!
//! The answer section is a walk: from a name to the nearest zone (step 2), down that zone to a match (step 3), and on
//! from an alias to the next name. How the walk ended decides what goes to the authority and additional sections.

use crate::cache::{Cache, CacheKey, Kind};
use crate::denial::Proofs;
use crate::limits::CHAIN_MAX;
use crate::rrset;
use crate::server::{Server, Transport};
use wire::iana::rtype;
use wire::key::KEY_OCTETS_MAX;
use wire::name::NAME_OCTETS_MAX;
use wire::render::{Full, Renderer, Section};
use wire::{Key, Places};
use zone::catalog::{Absence, Entry};
use zone::{Catalog, Flags, Match, MatchKind, Node, RRset, Zone};

/// Buffers of one worker, used again for query after query.
pub(crate) struct Work {
    /// Places of the name that is looked up; at first the question's.
    pub places: Places,
    /// Its key.
    pub key: Key,
    /// The same of names that are looked at beside it: targets, names compared.
    pub other_places: Places,
    pub other_key: Key,
    /// The key of a node, with room for a label `*`.
    pub node_key: [u8; KEY_OCTETS_MAX + 2],
    /// A name or labels of one.
    pub name: [u8; NAME_OCTETS_MAX],
    /// Where the targets of a referral's NS records stand.
    pub servers: [u16; 256],
    /// Answers given before.
    pub cache: Cache,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            places: Places::new(),
            key: Key::new(),
            other_places: Places::new(),
            other_key: Key::new(),
            node_key: [0; KEY_OCTETS_MAX + 2],
            name: [0; NAME_OCTETS_MAX],
            servers: [0; 256],
            cache: Cache::default(),
        }
    }
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Data of the type asked for, at the end of a chain perhaps.
    Answer,
    /// The last name exists and has no such data (RFC 2308 2.2).
    NoData,
    /// The last name does not exist (RFC 8020; RFC 6604 for chains).
    NameError,
    /// Other servers know.
    Referral,
    /// Ends with an alias to a name that is not followed: outside our zones, seen before, or one too many.
    Alias,
    /// The name that a DNAME leads to would be too long (RFC 6672 2.2).
    TooLong,
    /// No zone of ours.
    NotOurs,
    /// A zone of ours whose data is not there yet.
    NotLoaded,
    /// A zone of ours whose data is too old.
    Expired,
}

/// Why a response ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The next RRset does not fit; what would have become of the question.
    Full(Outcome),
    /// The pack cannot be read.
    Damaged,
}

impl From<Full> for Stop {
    fn from(_: Full) -> Stop {
        Stop::Full(Outcome::Answer)
    }
}

/// How the walk ended, with what the other sections need.
pub(crate) enum End<'c> {
    /// The RRset at `start` of the message answers the question.
    Answer { zone: Zone<'c>, rtype: u16, start: usize },
    /// The name has no such data. `source`: its closest encloser, if `node` is the wildcard below that.
    NoData { zone: Zone<'c>, node: Node<'c>, source: Option<Match<'c>> },
    /// The name does not exist.
    NameError { zone: Zone<'c>, encloser: Match<'c> },
    /// The name is at or below a zone cut.
    Referral { zone: Zone<'c>, cut: Match<'c> },
    /// Nothing more to say.
    Other(Outcome),
}

/// Where the walk goes from a name.
pub(crate) enum Next<'c> {
    End(End<'c>),
    /// On to the name that begins at this offset of the response.
    Follow(usize),
}

/// The work on one question.
pub(crate) struct Session<'s, 'b, 'c> {
    pub out: &'s mut Renderer<'b>,
    pub work: &'s mut Work,
    pub catalog: &'c Catalog,
    pub server: &'s Server,
    pub transport: Transport,
    pub qtype: u16,
    pub dnssec_ok: bool,
    /// The first name was already a delegated one: the response is not authoritative.
    pub is_referral: bool,
    /// Something that must not be missing is missing, and the rest was written all the same.
    pub is_truncated: bool,
    /// Nothing was left out for want of room.
    pub is_complete: bool,
    /// What is to be noted of the answer when it is written: see `cache`.
    pub note: Option<(CacheKey, u16, usize)>,
    pub proofs: Proofs<'c>,
}

impl<'c> Session<'_, '_, 'c> {
    /// Writes the three sections.
    #[inline(always)]
    pub(crate) fn answer(&mut self) -> Result<Outcome, Stop> {
        let end = self.answer_section()?;
        self.out.begin_section(Section::Authority);
        let (outcome, done) = match &end {
            End::Answer { .. } => (Outcome::Answer, self.put_proofs()),
            End::NoData { zone, node, source } => (Outcome::NoData, self.no_data(zone, node, source.as_ref())),
            End::NameError { zone, encloser } => (Outcome::NameError, self.name_error(zone, encloser)),
            End::Referral { zone, cut } => (Outcome::Referral, self.referral(zone, cut)),
            End::Other(outcome) => (*outcome, self.put_proofs()),
        };
        match done {
            Ok(()) => {}
            Err(Stop::Full(_)) => return Err(Stop::Full(outcome)),
            Err(damaged) => return Err(damaged),
        }
        if let End::Answer { zone, rtype, start } = &end {
            self.out.begin_section(Section::Additional);
            self.additional(zone, *rtype, *start);
        }
        if let Some((key, anchor, start)) = self.note.take()
            && self.is_complete
        {
            self.work.cache.note(&key, anchor, start, self.out);
        }
        Ok(outcome)
    }

    /// Appends the answer from the cache, if it is there; otherwise has it noted once it is written. Only an answer to the
    /// name of the question itself can be there. `labels`: of the anchor.
    #[inline(always)]
    pub(crate) fn paste(&mut self, kind: Kind, zone: &Zone<'c>, node: u32, other: u32, labels: usize) -> bool {
        if self.out.counts() != [0; 3] {
            return false;
        }
        let zone = zone.apex().octets().as_ptr() as usize;
        let key = CacheKey { zone, node, other, kind, dnssec_ok: self.dnssec_ok };
        let anchor = self.work.places.of_ancestor(labels);
        if self.work.cache.paste(&key, anchor, self.out) {
            return true;
        }
        self.note = Some((key, anchor, self.out.at()));
        false
    }

    /// Follows the question through our zones, writing answers and aliases.
    #[inline(always)]
    fn answer_section(&mut self) -> Result<End<'c>, Stop> {
        // Places of the names that were asked for before the present one.
        let mut asked = [0u16; CHAIN_MAX];
        let mut steps = 0;
        loop {
            self.work.key.set_places(self.out.message(), self.work.places.labels());
            // Step 2: the zone nearest to the name.
            let zone = match self.nearest_zone() {
                Ok(zone) => zone,
                Err(outcome) if steps == 0 => return Ok(End::Other(outcome)),
                Err(_) => return Ok(End::Other(Outcome::Alias)),
            };
            // Step 3: down, label by label.
            let found = zone.walk(&self.work.key).ok_or(Stop::Damaged)?;
            let next = match found.kind {
                // 3b: out of the authoritative data, unless it is about the cut itself.
                MatchKind::Cut if self.asks_parent_side(&found) => self.delegation_signer(zone, found.node)?,
                MatchKind::Cut => {
                    self.is_referral = steps == 0;
                    Next::End(End::Referral { zone, cut: found })
                }
                MatchKind::Dname => self.follow_dname(zone, &found)?,
                // 3a: the whole name is matched.
                MatchKind::Exact => self.at_node(zone, found.node, None)?,
                // 3c: it is not; look for a source of synthesis.
                MatchKind::Encloser => match zone.wildcard_below(&found) {
                    Some(wildcard) => self.at_node(zone, wildcard, Some(found))?,
                    None => Next::End(End::NameError { zone, encloser: found }),
                },
            };
            let target = match next {
                Next::End(end) => return Ok(end),
                Next::Follow(target) => target,
            };
            asked[steps] = self.work.places.of_ancestor(self.work.places.label_count());
            steps += 1;
            if !self.goes_on(&asked[..steps], target)? {
                return Ok(End::Other(Outcome::Alias));
            }
        }
    }

    /// The zone to look in: the nearest, but for DS at an apex its parent if we have that (RFC 4035 3.1.4.1).
    #[inline(always)]
    fn nearest_zone(&self) -> Result<Zone<'c>, Outcome> {
        let key = &self.work.key;
        let labels = key.label_count();
        let mut entry = self.catalog.find(key, labels).ok_or(Outcome::NotOurs)?;
        if self.qtype == rtype::DS && labels > 0 && entry.apex().label_count() == labels {
            entry = self.catalog.find(key, labels - 1).unwrap_or(entry);
        }
        entry.zone().ok_or(match entry {
            Entry::Absent { why: Absence::Expired, .. } => Outcome::Expired,
            _ => Outcome::NotLoaded,
        })
    }

    /// Whether the question is for what the parent says about a cut: its DS records (RFC 4035 3.1.4.1).
    #[inline(always)]
    fn asks_parent_side(&self, cut: &Match<'c>) -> bool {
        self.qtype == rtype::DS && cut.labels == self.work.key.label_count()
    }

    /// DS at a zone cut: authoritative data of the parent, or its absence.
    fn delegation_signer(&mut self, zone: Zone<'c>, node: Node<'c>) -> Result<Next<'c>, Stop> {
        match node.rrset(rtype::DS) {
            Some(set) => self.put_answer(zone, &set),
            None => Ok(Next::End(End::NoData { zone, node, source: None })),
        }
    }

    /// The name has a node, its own or the wildcard's below its closest encloser.
    #[inline(always)]
    fn at_node(
        &mut self,
        zone: Zone<'c>,
        node: Node<'c>,
        source: Option<Match<'c>>,
    ) -> Result<Next<'c>, Stop> {
        if let Some(encloser) = &source
            && self.dnssec_ok
        {
            self.prove_expansion(&zone, encloser);
        }
        if let Some(set) = node.rrset(self.qtype) {
            if rrset::has_targets(self.qtype) && source.is_none() {
                let labels = self.work.key.label_count();
                if self.paste(Kind::Answer, &zone, node.number(), u32::from(self.qtype), labels) {
                    return Ok(Next::End(End::Other(Outcome::Answer)));
                }
            }
            return self.put_answer(zone, &set);
        }
        if matches!(self.qtype, rtype::ANY | rtype::RRSIG) {
            return self.put_any(zone, node, source);
        }
        if node.flags().has(Flags::CNAME) && self.qtype != rtype::CNAME {
            return self.follow_cname(zone, node);
        }
        Ok(Next::End(End::NoData { zone, node, source }))
    }

    /// The answer, with the name asked for as its owner.
    #[inline(always)]
    pub(crate) fn put_answer(&mut self, zone: Zone<'c>, set: &RRset<'c>) -> Result<Next<'c>, Stop> {
        let start = self.out.at();
        let places = &self.work.places;
        let owner = places.of_ancestor(places.label_count());
        let apex = places.of_ancestor(zone.apex_labels());
        rrset::put(self.out, set.head(), set.data(), owner, apex, self.dnssec_ok)?;
        Ok(Next::End(End::Answer { zone, rtype: set.rtype(), start }))
    }

    /// ANY and RRSIG (RFC 8482 4.1, 7): one RRset of the name, the first that is there; or all, over TCP if the
    /// server is set so. For RRSIG its signatures alone.
    #[cold]
    fn put_any(
        &mut self,
        zone: Zone<'c>,
        node: Node<'c>,
        source: Option<Match<'c>>,
    ) -> Result<Next<'c>, Stop> {
        let is_full = self.transport == Transport::Tcp && self.server.full_any_over_tcp;
        let places = &self.work.places;
        let owner = places.of_ancestor(places.label_count());
        let apex = places.of_ancestor(zone.apex_labels());
        let start = self.out.at();
        let mut rtype = None;
        for set in node.rrsets() {
            if self.qtype == rtype::RRSIG {
                if !set.is_signed() {
                    continue;
                }
                rrset::put_signatures(self.out, set.head(), set.data(), owner)?;
            } else {
                rrset::put(self.out, set.head(), set.data(), owner, apex, self.dnssec_ok)?;
            }
            rtype = rtype.or(Some(set.rtype()));
            if !is_full {
                break;
            }
        }
        Ok(Next::End(match rtype {
            Some(rtype) => End::Answer { zone, rtype, start },
            None => End::NoData { zone, node, source },
        }))
    }
}

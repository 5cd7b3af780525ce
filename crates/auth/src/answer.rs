//! The algorithm of RFC 1034 4.3.2, section by section of the response.
//!
//! The answer section is a walk: from a name to the nearest zone (step 2), down that zone to a match (step 3), and on
//! from an alias to the next name. How the walk ended decides what goes to the authority and additional sections.

use crate::admission::Admission;
use crate::cache::{NegativeCache, Scope};
use crate::denial::Proofs;
use crate::limits::CHAIN_MAX;
use crate::rrset;
use crate::server::{Server, Style};
use crate::sources::Sources;
use wire::Transport;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::render::{Full, Renderer, Section};
use wire::sort_key::KEY_OCTETS_MAX;
use wire::{Places, SortKey};
use zone::catalog::{Absence, Hit, Version};
use zone::fragment::RECORDS_MAX;
use zone::{CatalogView, Flags, Match, MatchKind, Node, RRset, ZoneView};

/// Buffers of one worker, used again for query after query.
pub(crate) struct Buffers {
    /// Places of the name that is looked up; at first the question's.
    pub places: Places,
    /// Its sort key.
    pub key: SortKey,
    /// The same of names that are looked at beside it: targets, names compared.
    pub other_places: Places,
    pub other_key: SortKey,
    /// The sort key of a node, with room for a label `*`.
    pub node_key: [u8; KEY_OCTETS_MAX + 2],
    /// A name or labels of one.
    pub name: [u8; NAME_OCTETS_MAX],
    /// Where the targets of a referral's NS records stand.
    pub servers: [u16; RECORDS_MAX],
    /// How name errors began that were given before.
    pub negative: NegativeCache,
    /// What the answer is made from.
    pub sources: Sources,
    /// Who asks, where not everybody may.
    pub admission: Admission,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers {
            places: Places::new(),
            key: SortKey::new(),
            other_places: Places::new(),
            other_key: SortKey::new(),
            node_key: [0; KEY_OCTETS_MAX + 2],
            name: [0; NAME_OCTETS_MAX],
            servers: [0; RECORDS_MAX],
            negative: NegativeCache::default(),
            sources: Sources::default(),
            admission: Admission::default(),
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
    /// Access lists do not let the client in.
    Prohibited,
    /// They would, if it had shown that it receives at its address.
    Unproved,
}

/// Why a response ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The next RRset does not fit; what would have become of the question.
    Full(Outcome),
    /// The pack cannot be read.
    Damaged,
}

impl Stop {
    /// The same, where this would have become of the question.
    pub(crate) fn at(self, outcome: Outcome) -> Stop {
        match self {
            Stop::Full(_) => Stop::Full(outcome),
            Stop::Damaged => Stop::Damaged,
        }
    }
}

impl From<Full> for Stop {
    fn from(_: Full) -> Stop {
        Stop::Full(Outcome::Answer)
    }
}

/// What makes an answer the same as another to those who are limited, where its outcome leaves that open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToldBy {
    /// The name asked for.
    #[default]
    Name,
    /// The zone: names below a wildcard or a DNAME are made up without end.
    Zone,
}

/// Where the walk goes from a name.
pub(crate) enum Next {
    /// Nowhere: the response is written.
    End(Outcome),
    /// On to the name that begins at this offset of the response.
    Follow(usize),
}

/// How many names were asked for, and the first of those from which DNAME records alone led to the present one: one number, as every query begins
/// with none.
#[derive(Clone, Copy, Default)]
struct Steps(u32);

const _: () = assert!(CHAIN_MAX < Steps::COUNTS as usize);

impl Steps {
    const COUNTS: u32 = 1 << 8;

    #[inline(always)]
    fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    fn count(self) -> usize {
        (self.0 % Steps::COUNTS) as usize
    }

    fn redirected(self) -> usize {
        (self.0 / Steps::COUNTS) as usize
    }

    /// One more name, from which a DNAME record leads on, or a CNAME record.
    #[inline(always)]
    fn add(&mut self, is_redirected: bool) {
        let count = self.0 % Steps::COUNTS + 1;
        let redirected = if is_redirected { self.0 / Steps::COUNTS } else { count };
        self.0 = redirected * Steps::COUNTS + count;
    }
}

/// The work on one question.
pub(crate) struct Session<'s, 'b, 'c> {
    pub out: &'s mut Renderer<'b>,
    pub buffers: &'s mut Buffers,
    pub catalog: &'s CatalogView<'c>,
    pub server: &'s Server,
    pub transport: Transport,
    pub qtype: u16,
    pub dnssec_ok: bool,
    /// The first name was already a delegated one: the response is not authoritative.
    pub is_referral: bool,
    /// Something that must not be missing is missing, and the rest was written all the same.
    pub is_truncated: bool,
    /// With so many octets from where the answer begins, more of it would fit: `usize::MAX` if nothing was left out.
    pub short_of: usize,
    /// Which other queries get the same.
    pub scope: Scope,
    /// Upper labels that decide about the name asked for: one more than its zone's apex has, or all it has.
    pub key_labels: usize,
    /// The zone that is answered from.
    pub source: Version,
    pub proofs: Proofs<'c>,
}

impl<'c> Session<'_, '_, 'c> {
    /// Follows the question through our zones: RFC 1034 4.3.2. Aliases on the way go to the answer section; what the walk
    /// ends at decides what goes to the three sections after that.
    #[inline(always)]
    pub(crate) fn answer(&mut self) -> Result<Outcome, Stop> {
        // Places of the names that were asked for before the present one.
        let mut asked = [0u16; CHAIN_MAX];
        let mut steps = Steps::default();
        // A DNAME's target takes over labels of the name as the client wrote them; what is said of all types depends on the transport.
        let mut is_same_for_all = !matches!(self.qtype, rtype::ANY | rtype::RRSIG);
        self.buffers.sources.clear();
        // No zone is that deep, and most names are decided one label below: the key begins with so many labels.
        let labels = self.catalog.apex_labels_max() + 1;
        loop {
            self.set_key(labels);
            let is_first = steps.is_none();
            // Step 2: the zone nearest to the name.
            let zone = match self.nearest_zone(is_first) {
                Ok(zone) => zone,
                Err(outcome) if is_first => return Ok(outcome),
                Err(_) => {
                    self.share_whole(is_same_for_all);
                    return self.end(Outcome::Alias);
                }
            };
            // What parent and child say of DS at a cut differs, so others may get something else. Names that are deeper than the key of kept
            // answers are below the cut it finds.
            let is_deeper = self.buffers.places.label_count() > self.key_labels;
            let is_shared = is_first && (self.qtype != rtype::DS || is_deeper);
            // Step 3: down, label by label.
            let mut found = zone.walk(&self.buffers.key).ok_or(Stop::Damaged)?;
            if found.kind == MatchKind::Exact && found.labels < self.buffers.places.label_count() {
                self.set_key(usize::MAX);
                found = zone.walk(&self.buffers.key).ok_or(Stop::Damaged)?;
            }
            let next = match found.kind {
                // 3b: out of the authoritative data, unless it is about the cut itself.
                MatchKind::Cut if self.asks_parent_side(&found) => {
                    self.delegation_signer(&zone, &found.node)?
                }
                MatchKind::Cut => {
                    self.is_referral = is_first;
                    match is_shared && found.labels <= self.key_labels {
                        true => self.scope = Scope::Upper(found.labels),
                        false => self.share_whole(is_same_for_all),
                    }
                    return self.referral(&zone, &found).map_err(|stop| stop.at(Outcome::Referral));
                }
                MatchKind::Dname => {
                    is_same_for_all = false;
                    self.buffers.sources.told_by = ToldBy::Zone;
                    self.follow_dname(&zone, &found, &asked[..steps.count()], steps.redirected())?
                }
                // 3a: the whole name is matched.
                MatchKind::Exact => self.at_node(&zone, &found.node, None)?,
                // 3c: it is not; look for a source of synthesis.
                MatchKind::Encloser => match zone.wildcard_below(&found) {
                    Some(wildcard) => {
                        self.buffers.sources.told_by = ToldBy::Zone;
                        self.at_node(&zone, &wildcard, Some(&found))?
                    }
                    None => {
                        match is_shared && found.labels < self.key_labels {
                            true => self.scope = Scope::Upper(found.labels),
                            false => self.share_whole(is_same_for_all),
                        }
                        return self.name_error(&zone, &found).map_err(|stop| stop.at(Outcome::NameError));
                    }
                },
            };
            let target = match next {
                Next::End(outcome) => {
                    self.share_whole(is_same_for_all);
                    return Ok(outcome);
                }
                Next::Follow(target) => target,
            };
            asked[steps.count()] = self.buffers.places.of_ancestor(self.buffers.places.label_count());
            steps.add(found.kind == MatchKind::Dname);
            let goes_on = self.goes_on(&asked[..steps.count()], target)?;
            if !goes_on || self.server.style.has(Style::WITHIN_ZONE) && self.leaves_zone() {
                self.share_whole(is_same_for_all);
                return self.end(Outcome::Alias);
            }
        }
    }

    /// Whether the name that an alias led to is in another zone than the alias, or in none.
    #[cold]
    fn leaves_zone(&mut self) -> bool {
        let before = self.source.slot;
        self.nearest_zone(false).is_err() || self.source.slot != before
    }

    /// The answer is the same for all who ask for this name and type, if so.
    #[inline(always)]
    fn share_whole(&mut self, is_same_for_all: bool) {
        if is_same_for_all {
            self.scope = Scope::Whole;
        }
    }

    /// Makes the sort key that of the name, or of its ancestor with `labels` labels if it has more.
    #[inline(always)]
    fn set_key(&mut self, labels: usize) {
        let places = self.buffers.places.labels();
        let first = places.len().saturating_sub(labels);
        self.buffers.key.set_places(self.out.message(), &places[first..]);
    }

    /// The answer section is complete; proofs of wildcards on the way follow.
    #[inline(always)]
    pub(crate) fn end(&mut self, outcome: Outcome) -> Result<Outcome, Stop> {
        self.out.begin_section(Section::Authority);
        self.put_proofs().map_err(|stop| stop.at(outcome))?;
        Ok(outcome)
    }

    /// The zone to look in: the nearest, but for DS at an apex its parent if we have that (RFC 4035 3.1.4.1).
    #[inline(always)]
    fn nearest_zone(&mut self, is_first: bool) -> Result<ZoneView<'c>, Outcome> {
        let labels = self.buffers.places.label_count();
        let mut hit = self.find(labels);
        if is_first {
            self.key_labels = labels.min(hit.found.labels as usize + 1);
        }
        if self.qtype == rtype::DS && labels > 0 && hit.found.labels as usize == labels {
            hit = self.parent_of(hit, labels);
        }
        if self.server.access.looks_at_groups() {
            hit = self.above_mirrors(hit)?;
            if let Some(outcome) = self.keeps_out(hit.found.version().slot) {
                return Err(outcome);
            }
        }
        self.source = hit.found.version();
        hit.zone().ok_or_else(|| match hit.absence() {
            Some(Absence::Expired) => Outcome::Expired,
            Some(Absence::NotLoaded) => Outcome::NotLoaded,
            None => Outcome::NotOurs,
        })
    }

    /// The zone that would have been found if there were no mirrors: these are for a resolver alone, and what it says of their names goes before a referral here.
    #[cold]
    #[inline(never)]
    fn above_mirrors(&mut self, mut hit: Hit<'c>) -> Result<Hit<'c>, Outcome> {
        while self.catalog.group_of(hit.found.version().slot).is_mirror() {
            let Some(labels_max) = (hit.found.labels as usize).checked_sub(1) else {
                return Err(self.keeps_all_out().unwrap_or(Outcome::NotOurs));
            };
            hit = self.find(labels_max);
        }
        Ok(hit)
    }

    /// The zone above the one that was found at its apex with `labels` labels, if we have it and the client may ask it.
    #[cold]
    fn parent_of(&mut self, hit: Hit<'c>, labels: usize) -> Hit<'c> {
        let parent = self.find(labels - 1);
        let is_closed =
            || self.server.access.looks_at_groups() && self.keeps_out(parent.found.version().slot).is_some();
        if parent.found.is_nothing() || is_closed() { hit } else { parent }
    }

    /// The zone with the longest name that the name, cut to `labels_max` labels, is at or below.
    #[inline(always)]
    fn find(&mut self, labels_max: usize) -> Hit<'c> {
        let hit = self.catalog.find(&self.buffers.key, labels_max);
        let name = self.buffers.places.of_ancestor(self.buffers.places.label_count());
        match self.buffers.sources.add(&hit.found, name, labels_max) {
            None => hit,
            Some(before) => self.catalog.hit(&before),
        }
    }

    /// Whether the question is for what the parent says about a cut: its DS records (RFC 4035 3.1.4.1).
    #[inline(always)]
    fn asks_parent_side(&self, cut: &Match<'c>) -> bool {
        self.qtype == rtype::DS && cut.labels == self.buffers.places.label_count()
    }

    /// DS at a zone cut: authoritative data of the parent, or its absence.
    fn delegation_signer(&mut self, zone: &ZoneView<'c>, node: &Node<'c>) -> Result<Next, Stop> {
        match node.rrset(rtype::DS) {
            Some(set) => self.put_answer(zone, &set),
            None => self.no_data(zone, node, None),
        }
    }

    /// The name has a node, its own or the wildcard's below its closest encloser `source`.
    #[inline(always)]
    fn at_node(
        &mut self,
        zone: &ZoneView<'c>,
        node: &Node<'c>,
        source: Option<&Match<'c>>,
    ) -> Result<Next, Stop> {
        if let Some(encloser) = source
            && self.dnssec_ok
        {
            self.prove_expansion(zone, encloser);
        }
        if matches!(self.qtype, rtype::ANY | rtype::RRSIG) {
            return self.put_any(zone, node, source);
        }
        if let Some(set) = node.rrset(self.qtype) {
            return self.put_answer(zone, &set);
        }
        if node.flags().has(Flags::CNAME) && !rtype::may_be_at_cname(self.qtype) {
            return self.follow_cname(zone, node);
        }
        self.no_data(zone, node, source)
    }

    /// The answer, with the name asked for as its owner, and what belongs to it.
    #[inline(always)]
    fn put_answer(&mut self, zone: &ZoneView<'c>, set: &RRset<'c>) -> Result<Next, Stop> {
        let start = self.out.at();
        self.put_rrset(zone, set)?;
        self.end(Outcome::Answer)?;
        self.additional(zone, set.rtype(), start);
        Ok(Next::End(Outcome::Answer))
    }

    /// An RRset of the answer section, with the name asked for as its owner.
    #[inline(always)]
    pub(crate) fn put_rrset(&mut self, zone: &ZoneView<'c>, set: &RRset<'c>) -> Result<(), Stop> {
        let places = &self.buffers.places;
        let owner = places.of_ancestor(places.label_count());
        let apex = places.of_ancestor(zone.apex_labels());
        rrset::put(self.out, set.head(), set.data(), owner, apex, self.dnssec_ok)
    }

    /// ANY and RRSIG (RFC 8482 4.1, 7): one RRset of the name, the first that is there; or all, over TCP if the
    /// server is set so. For RRSIG its signatures alone; signatures of what is not there only when there are no others.
    #[cold]
    fn put_any(
        &mut self,
        zone: &ZoneView<'c>,
        node: &Node<'c>,
        source: Option<&Match<'c>>,
    ) -> Result<Next, Stop> {
        let is_full = self.transport.is_stream() && self.server.full_any_over_tcp;
        let places = &self.buffers.places;
        let owner = places.of_ancestor(places.label_count());
        let start = self.out.at();
        let mut rtype = None;
        for set in node.rrsets() {
            if self.qtype == rtype::RRSIG {
                if !set.is_signed() {
                    continue;
                }
                rrset::put_signatures(self.out, set.head(), set.data(), owner)?;
            } else {
                self.put_rrset(zone, &set)?;
            }
            rtype = rtype.or(Some(set.rtype()));
            if !is_full {
                break;
            }
        }
        let Some(rtype) = rtype else {
            return match node.rrset(rtype::RRSIG) {
                Some(orphans) if self.qtype == rtype::RRSIG => self.put_answer(zone, &orphans),
                _ => self.no_data(zone, node, source),
            };
        };
        self.end(Outcome::Answer)?;
        self.additional(zone, rtype, start);
        Ok(Next::End(Outcome::Answer))
    }
}

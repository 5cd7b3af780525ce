//! NSEC3 chains (RFC 5155 7.1): every authoritative name, empty non-terminal and cut is hashed into the
//! chain, opt-out leaves out insecure delegations, and the records form one circle.
//!
//! A zone may hold several chains while its parameters change; each is checked by itself. Hashing all names
//! needs [`Level::Full`]; below it only the chain's own shape is looked at.

use dnssec::key::is_nsec_only;
use dnssec::nsec3::{self, Hash, Nsec3, Nsec3Error, Nsec3Params};
use wire::iana::rtype;

use super::nsec::types_at;
use super::{At, Check, Detail, Facts, Level, Reporter, nothing};
use crate::contents::{Flags, NodeRef, RecordRef, SourcePosition};

/// Flags that have a meaning: opt-out.
const FLAGS_KNOWN: u8 = nsec3::FLAG_OPT_OUT;

/// Most sets of parameters that are told apart. A zone has two while they change; many more would only make
/// the check slow, since each asks for a hash of every name.
const CHAINS_MAX: usize = 16;

/// Most rounds of the hash, over all chains: about a minute of one core. Eight million names of a zone with the
/// usual parameters need one each, a hundred thousand names with the 2,500 iterations that RFC 5155 10.3 allows all of
/// them; without a bound a small zone of many chains would take hours.
const HASHES_MAX: u64 = 1 << 28;

/// Records of one set of parameters, in the order of their hashes.
struct Chain<'c> {
    params: Nsec3Params<'c>,
    links: Vec<Link<'c>>,
    is_announced: bool,
}

struct Link<'c> {
    hash: Hash,
    node: NodeRef<'c>,
    nsec3: Nsec3<'c>,
    position: SourcePosition,
    is_matched: bool,
}

impl<'c> Link<'c> {
    fn at(&self) -> At<'c> {
        At::record(self.node, rtype::NSEC3, self.position)
    }
}

/// Checks all chains of the zone.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let mut chains = collect(facts, reporter);
    check_announcements(facts, &mut chains, reporter);
    if let (Some(chain), Some(key)) =
        (chains.first(), facts.keys.iter().find(|key| is_nsec_only(key.algorithm)))
    {
        let detail = || Detail::Key { algorithm: key.algorithm, tag: key.tag };
        if let Some(link) = chain.links.first() {
            reporter.add(Check::Nsec3Algorithm, link.at(), detail);
        }
    }
    let mut required = None;
    let mut hashes_left = HASHES_MAX;
    for chain in &mut chains {
        check_circle(chain, reporter);
        if facts.options.level == Level::Full && !chain.links.is_empty() {
            let names = facts.contents.node_count() as u64;
            let Some(left) = left_after(hashes_left, names, chain.params.iterations()) else {
                let detail = || Detail::Number(u32::from(chain.params.iterations()));
                reporter.add(Check::Nsec3Unchecked, chain.links[0].at(), detail);
                continue;
            };
            hashes_left = left;
            let required = required.get_or_insert_with(|| required_nodes(facts));
            check_names(facts, chain, required, reporter);
        }
    }
}

/// How many rounds are left after a chain; `None` where there are too few for it.
fn left_after(left: u64, names: u64, iterations: u16) -> Option<u64> {
    left.checked_sub(names.saturating_mul(u64::from(iterations) + 1))
}

/// Reads all NSEC3 records and sorts them into chains.
fn collect<'c>(facts: &Facts<'c>, reporter: &mut Reporter<'_>) -> Vec<Chain<'c>> {
    let mut chains: Vec<Chain<'c>> = Vec::new();
    if !facts.has_any_of(&[rtype::NSEC3]) {
        return chains;
    }
    for node in facts.contents.nodes() {
        let Some(set) = node.rrset(rtype::NSEC3) else { continue };
        facts.check_denial_ttl(node, set, reporter);
        for record in set.records() {
            add_link(&mut chains, node, record, reporter);
        }
    }
    for chain in &mut chains {
        // Canonical order is the order of hashes (RFC 5155 1.3), unless an owner has other records or names
        // below.
        chain.links.sort_by_key(|link| link.hash);
    }
    chains
}

fn add_link<'c>(
    chains: &mut Vec<Chain<'c>>,
    node: NodeRef<'c>,
    record: RecordRef<'c>,
    reporter: &mut Reporter<'_>,
) {
    let at = At::record(node, rtype::NSEC3, record.position);
    let nsec3 = match Nsec3::parse(record.rdata) {
        Ok(nsec3) => nsec3,
        Err(error) => {
            report_unusable(error, at, reporter);
            return;
        }
    };
    let Some(hash) = hash_of_owner(node) else {
        reporter.add(Check::Nsec3Owner, at, nothing);
        return;
    };
    if nsec3.flags & !FLAGS_KNOWN != 0 {
        reporter.add(Check::Nsec3Flags, at, || Detail::Number(u32::from(nsec3.flags)));
    }
    let link = Link { hash, node, nsec3, position: record.position, is_matched: false };
    match chains.iter().position(|chain| chain.params == nsec3.params) {
        Some(number) => chains[number].links.push(link),
        None if chains.len() == CHAINS_MAX => reporter.add(Check::Nsec3Unusable, at, nothing),
        None => chains.push(Chain { params: nsec3.params, links: vec![link], is_announced: false }),
    }
}

/// The same of a zone that is not signed, for its owners alone: named refuses such a zone.
pub(super) fn check_owners(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    if !facts.has_any_of(&[rtype::NSEC3]) {
        return;
    }
    for node in facts.contents.nodes() {
        if let Some(set) = node.rrset(rtype::NSEC3)
            && hash_of_owner(node).is_none()
        {
            reporter.add(Check::Nsec3Owner, At::set(node, set), nothing);
        }
    }
}

/// The hash that a name is, if it is one: 32 characters of base32hex, one label below the apex (RFC 5155 3).
fn hash_of_owner(node: NodeRef<'_>) -> Option<Hash> {
    nsec3::hash_of_label(node.key().strip_suffix(&[0])?)
}

fn report_unusable(error: Nsec3Error, at: At<'_>, reporter: &mut Reporter<'_>) {
    match error {
        Nsec3Error::Malformed => reporter.add(Check::RdataMalformed, at, nothing),
        Nsec3Error::UnknownAlgorithm(number) => {
            reporter.add(Check::Nsec3Unusable, at, || Detail::Number(u32::from(number)));
        }
        Nsec3Error::TooManyIterations(number) => {
            reporter.add(Check::Nsec3Unusable, at, || Detail::Number(u32::from(number)));
        }
    }
}

/// Matches NSEC3PARAM records and chains: each needs the other.
fn check_announcements(facts: &Facts<'_>, chains: &mut [Chain<'_>], reporter: &mut Reporter<'_>) {
    let apex = facts.apex();
    for record in apex.rrset(rtype::NSEC3PARAM).into_iter().flat_map(|set| set.records()) {
        let at = At::record(apex, rtype::NSEC3PARAM, record.position);
        let (params, flags) = match Nsec3Params::parse(record.rdata) {
            Ok(parsed) => parsed,
            Err(error) => {
                report_unusable(error, at, reporter);
                continue;
            }
        };
        if flags != 0 {
            reporter.add(Check::Nsec3ParamFlags, at, || Detail::Number(u32::from(flags)));
            continue;
        }
        if params.iterations() > 0 {
            let detail = || Detail::Number(u32::from(params.iterations()));
            reporter.add(Check::Nsec3Iterations, at, detail); // RFC 9276 3.1
        }
        if !params.salt().is_empty() {
            reporter.add(Check::Nsec3Salt, at, nothing); // RFC 9276 3.1
        }
        match chains.iter_mut().find(|chain| chain.params == params) {
            Some(chain) => chain.is_announced = true,
            None => reporter.add(Check::Nsec3ChainMissing, at, nothing),
        }
    }
    for chain in chains.iter().filter(|chain| !chain.is_announced) {
        if let Some(link) = chain.links.first() {
            reporter.add(Check::Nsec3ParamMissing, link.at(), nothing);
        }
    }
}

/// Each record points at the next hash, the last at the first.
fn check_circle(chain: &Chain<'_>, reporter: &mut Reporter<'_>) {
    for (at, link) in chain.links.iter().enumerate() {
        let next = chain.links.get(at + 1).unwrap_or(&chain.links[0]);
        if next.hash == link.hash && chain.links.len() > 1 {
            reporter.add(Check::Nsec3Multiple, next.at(), nothing);
        } else if *link.nsec3.next != next.hash {
            reporter.add(Check::Nsec3Next, link.at(), nothing);
        }
    }
}

/// Whether each node must have a record even with opt-out.
struct Required {
    always: Vec<bool>,
}

/// Authoritative names and secure delegations always need a record; insecure delegations, and empty
/// non-terminals with nothing else below, only without opt-out (RFC 5155 7.1).
fn required_nodes(facts: &Facts<'_>) -> Required {
    let mut always = vec![false; facts.contents.node_count()];
    for node in facts.contents.nodes().rev() {
        let flags = node.flags();
        let is_required = !flags.has_any(Flags(Flags::OCCLUDED.0 | Flags::NSEC3.0))
            && !flags.has(Flags::EMPTY)
            && (!flags.has(Flags::CUT) || node.rrset(rtype::DS).is_some());
        always[node.number()] |= is_required;
        // Children come after their parents, so an empty non-terminal has heard from all of its own by now.
        if always[node.number()] && !flags.has(Flags::NSEC3) {
            let parent = node.parent();
            if parent.flags().has(Flags::EMPTY) {
                always[parent.number()] = true;
            }
        }
    }
    Required { always }
}

/// Hashes every name and compares its record with what is there.
fn check_names(facts: &Facts<'_>, chain: &mut Chain<'_>, required: &Required, reporter: &mut Reporter<'_>) {
    for node in facts.contents.nodes() {
        if node.flags().has_any(Flags(Flags::OCCLUDED.0 | Flags::NSEC3.0)) {
            continue;
        }
        let hash = chain.params.hash(&node.name());
        match chain.links.binary_search_by_key(&hash, |link| link.hash) {
            Ok(at) => {
                chain.links[at].is_matched = true;
                check_bitmap(&chain.links[at], node, reporter);
            }
            Err(_) if required.always[node.number()] => {
                reporter.add(Check::Nsec3Missing, At::absent(node, rtype::NSEC3), nothing);
            }
            Err(after) => {
                let before = if after == 0 { chain.links.len() } else { after } - 1;
                if !chain.links[before].nsec3.is_opt_out() {
                    reporter.add(Check::Nsec3OptOut, At::absent(node, rtype::NSEC3), nothing);
                }
            }
        }
    }
    let mut last = None;
    for link in chain.links.iter().filter(|link| !link.is_matched) {
        // Of two records with one hash, which is reported, only one is matched.
        if last.replace(link.hash) != Some(link.hash) && !is_matched(chain, link) {
            reporter.add(Check::Nsec3Unexpected, link.at(), nothing);
        }
    }
}

/// Whether a record of the same hash belongs to a name.
fn is_matched(chain: &Chain<'_>, link: &Link<'_>) -> bool {
    let first = chain.links.partition_point(|other| other.hash < link.hash);
    chain.links[first..].iter().take_while(|other| other.hash == link.hash).any(|other| other.is_matched)
}

fn check_bitmap(link: &Link<'_>, node: NodeRef<'_>, reporter: &mut Reporter<'_>) {
    // An unsigned delegation has RRSIG neither in its bitmap nor at its name; NSEC3 records are of another
    // name.
    let expected = || types_at(node).filter(|&rtype| rtype != rtype::NSEC3);
    if !link.nsec3.types.types().eq(expected()) {
        let found = link.nsec3.types.types().collect();
        let expected = expected().collect();
        reporter.add(Check::Nsec3Bitmap, At::record(node, rtype::NSEC3, link.position), || Detail::Types {
            found,
            expected,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is usual is checked whole, and what is hostile comes to an end.
    #[test]
    fn bound_of_hashes() {
        assert!(left_after(HASHES_MAX, 10_000_000, 10).is_some());
        assert!(left_after(HASHES_MAX, 100_000, 2_500).is_some());
        let mut left = HASHES_MAX;
        let mut checked = 0;
        for _ in 0..20 {
            if let Some(after) = left_after(left, 20_000, 2_500) {
                left = after;
                checked += 1;
            }
        }
        assert_eq!(checked, 5);
        assert!(left_after(HASHES_MAX, u64::MAX, u16::MAX).is_none());
    }
}

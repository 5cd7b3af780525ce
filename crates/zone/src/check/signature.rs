//! Signatures: every authoritative RRset has one that is valid, and nothing else has any (RFC 4035 2.2).
//!
//! Verifying is nearly all the work of checking a signed zone, so nodes are dealt out to threads in runs;
//! what they find is reported in canonical order.

use std::ops::Range;
use std::thread;

use dnssec::CanonicalSet;
use dnssec::key::{Dnskey, is_supported};
use dnssec::verify::{Fault, Rrsig};
use wire::Name;
use wire::iana::rtype;

use super::{At, Check, Detail, Facts, Level, Reporter, Severity, Summary, is_authoritative_set, nothing};
use crate::contents::{Flags, NodeRef, RRsetRef, served_ttl};

/// Signatures that end sooner are reported: a signer that renews them at all does so earlier, and a long
/// weekend fits in.
const EXPIRES_SOON_SECONDS: u32 = 3 * 86_400;
/// Most threads; more only help zones that nobody checks as a whole.
const THREADS_MAX: usize = 64;
/// Fewer nodes are not worth a thread.
const NODES_PER_THREAD_MIN: usize = 64;

/// Most keys of one tag and algorithm that are tried for a signature. Tags collide by accident once in
/// thousands of keys; by intent they make a zone that takes forever to check.
const KEYS_OF_TAG_MAX: usize = 4;

/// Most signatures of one RRset that are verified. A zone has one for each key that signs, two or three while keys
/// change; as every one costs a digest of the whole RRset, many at a large RRset would take forever.
const SIGNATURES_OF_SET_MAX: usize = 64;

/// Checks the signatures of all nodes.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let nodes = facts.contents.node_count();
    let threads = facts.options.threads.clamp(1, THREADS_MAX).min(nodes.div_ceil(NODES_PER_THREAD_MIN));
    if threads == 1 || facts.options.level < Level::Full {
        Verifier::new(facts).check_nodes(0..nodes, reporter);
        return;
    }
    let bound = |part: usize| nodes * part / threads;
    let parts = thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| scope.spawn(move || check_part(facts, bound(part)..bound(part + 1))))
            .collect();
        parts.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    for part in parts {
        match part {
            Ok((summary, findings)) => reporter.join(&summary, findings),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Checks some nodes with a reporter of its own.
fn check_part(facts: &Facts<'_>, nodes: Range<usize>) -> (Summary, Vec<super::Finding>) {
    let mut findings = Vec::new();
    let mut sink = |finding| findings.push(finding);
    let mut reporter = Reporter {
        per_check_max: facts.options.findings_per_check_max,
        summary: Summary::default(),
        sink: &mut sink,
    };
    Verifier::new(facts).check_nodes(nodes, &mut reporter);
    let summary = reporter.summary;
    (summary, findings)
}

/// Working space for one run of nodes.
struct Verifier<'f, 'c> {
    facts: &'f Facts<'c>,
    /// Algorithms of the zone's keys: each must sign everything (RFC 4035 2.2).
    algorithms: Vec<u8>,
    canonical: CanonicalSet,
    /// Labels of the apex.
    apex_labels: usize,
    /// Algorithms of the signatures of the present RRset.
    seen: Vec<u8>,
    buffer: Vec<u8>,
    /// What is wrong with the signatures of the present RRset.
    problems: Vec<(Check, At<'c>, Detail)>,
}

impl<'f, 'c> Verifier<'f, 'c> {
    fn new(facts: &'f Facts<'c>) -> Verifier<'f, 'c> {
        let mut algorithms: Vec<u8> =
            facts.keys.iter().filter(|key| key.is_zone_key()).map(|key| key.algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        Verifier {
            facts,
            algorithms,
            canonical: CanonicalSet::new(),
            apex_labels: facts.contents.apex().label_count(),
            seen: Vec::new(),
            buffer: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn check_nodes(&mut self, nodes: Range<usize>, reporter: &mut Reporter<'_>) {
        for number in nodes {
            let node = self.facts.contents.node(number);
            let is_signed = node.rrset(rtype::RRSIG).is_some();
            // Glue, mostly.
            if node.flags().has(Flags::OCCLUDED) && !is_signed {
                continue;
            }
            let labels = labels_of(node, self.facts.contents.apex(), self.apex_labels);
            for set in node.rrsets().filter(|set| set.rtype() != rtype::RRSIG) {
                let signatures = if is_signed { node.signatures(set.rtype()) } else { None };
                if is_signed_set(node, set.rtype()) {
                    match signatures {
                        Some(signatures) => self.check_set((node, labels), set, signatures, reporter),
                        None => reporter.add(Check::RrsigMissing, At::set(node, set), nothing),
                    }
                } else if let Some(signatures) = signatures {
                    let at = At::set(node, signatures);
                    reporter.add(Check::RrsigUnexpected, at, || Detail::Type(set.rtype()));
                }
            }
            if is_signed {
                check_orphans(node, reporter);
            }
        }
    }

    fn check_set(
        &mut self,
        (node, labels): (NodeRef<'c>, usize),
        set: RRsetRef<'c>,
        signatures: RRsetRef<'c>,
        reporter: &mut Reporter<'_>,
    ) {
        self.problems.clear();
        if self.facts.options.level == Level::Full {
            self.canonical.fill(set.rtype(), set.records().map(|record| record.rdata));
        }
        let mut is_proved = false;
        self.seen.clear();
        for (number, record) in signatures.records().enumerate() {
            let at = At::record(node, rtype::RRSIG, record.position);
            if number == SIGNATURES_OF_SET_MAX {
                let detail = || Detail::Number(signatures.len() as u32);
                reporter.add(Check::RrsigUnchecked, at, detail);
                break;
            }
            let Some(rrsig) = Rrsig::parse(record.rdata) else {
                self.problems.push((Check::RdataMalformed, at, Detail::None));
                continue;
            };
            self.seen.push(rrsig.algorithm);
            check_ttls(set, &rrsig, record.ttl, at, reporter);
            match self.judge((node, labels), set.rtype(), &rrsig) {
                Ok(()) => {
                    is_proved = true;
                    self.check_remaining(&rrsig, at, reporter);
                }
                Err((check, detail)) => self.problems.push((check, at, detail)),
            }
        }
        for (check, at, detail) in self.problems.drain(..) {
            // Beside a valid signature a bad one is only left over.
            let severity = if is_proved { Severity::Warning } else { check.severity() };
            reporter.add_as(check, severity, at, || detail);
        }
        if let Some(&missing) = self.algorithms.iter().find(|algorithm| !self.seen.contains(algorithm)) {
            let detail = || Detail::Number(u32::from(missing));
            reporter.add(Check::RrsigAlgorithmMissing, At::set(node, set), detail);
        }
    }

    /// What is wrong with one signature; a signature that cannot be verified here passes. `labels`: see [`labels_of`].
    fn judge(
        &mut self,
        (node, labels): (NodeRef<'c>, usize),
        rtype: u16,
        rrsig: &Rrsig<'_>,
    ) -> Result<(), (Check, Detail)> {
        let covered = rtype;
        // What `Rrsig::check_fields` looks at, of a name that is known to be in the zone.
        if rrsig.covered != rtype
            || usize::from(rrsig.labels) != labels
            || !rrsig.signer.eq_ignore_case(self.facts.contents.apex())
        {
            return Err((Check::RrsigFields, Detail::Type(covered)));
        }
        if let Some(now) = self.facts.options.now {
            // Serial number arithmetic wants the time modulo 2^32 (RFC 4034 3.1.5).
            rrsig.check_period(now as u32).map_err(|fault| match fault {
                Fault::NotYetValid => {
                    (Check::RrsigNotYetValid, Detail::Time { covered, at: rrsig.inception })
                }
                _ => (Check::RrsigExpired, Detail::Time { covered, at: rrsig.expiration }),
            })?;
        }
        let detail = Detail::Key { algorithm: rrsig.algorithm, tag: rrsig.key_tag };
        let mut keys = self.facts.keys.iter().filter(|key| fits(key, rrsig)).peekable();
        if keys.peek().is_none() {
            return Err((Check::RrsigWithoutKey, detail));
        }
        if self.facts.options.level < Level::Full || !is_supported(rrsig.algorithm) {
            return Ok(());
        }
        let owner = node.name();
        for key in keys.take(KEYS_OF_TAG_MAX) {
            match rrsig.verify(&owner, &self.canonical, key, &mut self.buffer) {
                Ok(()) | Err(Fault::Unsupported) => return Ok(()),
                Err(_) => {}
            }
        }
        Err((Check::RrsigBad, detail))
    }

    fn check_remaining(&self, rrsig: &Rrsig<'_>, at: At<'c>, reporter: &mut Reporter<'_>) {
        // A server says by itself when signatures are about to expire, and how long before is a setting of its own.
        let Some(now) = self.facts.options.now.filter(|_| self.facts.options.level > Level::Quick) else {
            return;
        };
        if rrsig.expiration.wrapping_sub(now as u32) < EXPIRES_SOON_SECONDS {
            let detail = || Detail::Time { covered: rrsig.covered, at: rrsig.expiration };
            reporter.add(Check::RrsigExpiresSoon, at, detail);
        }
    }
}

/// Whether a key can have made a signature. A revoked key signs the keys to prove that it is (RFC 5011 2.1).
fn fits(key: &Dnskey<'_>, rrsig: &Rrsig<'_>) -> bool {
    let may_sign = key.is_zone_key() || (key.is_revoked() && rrsig.covered == rtype::DNSKEY);
    may_sign && key.tag == rrsig.key_tag && key.algorithm == rrsig.algorithm
}

/// The labels of a node that its signatures count: a `*` at its beginning is none of them (RFC 4034 3.1.3). `apex_labels`: those of the apex.
fn labels_of(node: NodeRef<'_>, apex: &Name, apex_labels: usize) -> usize {
    let is_apex = node.flags().has(Flags::APEX);
    let is_wildcard = node.flags().has(Flags::WILDCARD) || (is_apex && apex.is_wildcard());
    // Each label ends with the only octet of zero that a key has for it.
    let labels = node.key().iter().filter(|octet| **octet == 0).count();
    apex_labels + labels - usize::from(is_wildcard)
}

/// Whether RRsets of this type are signed at this node.
fn is_signed_set(node: NodeRef<'_>, rtype: u16) -> bool {
    node.flags().has(Flags::NSEC3) || is_authoritative_set(node, rtype)
}

/// RRset and signature have one TTL, and it is the one that was signed (RFC 4034 3, RFC 4035 2.2).
fn check_ttls(set: RRsetRef<'_>, rrsig: &Rrsig<'_>, ttl: u32, at: At<'_>, reporter: &mut Reporter<'_>) {
    let ttl = served_ttl(ttl);
    if ttl != set.ttl() {
        reporter.add(Check::RrsigTtl, at, || Detail::Numbers { found: ttl, expected: set.ttl() });
    }
    if rrsig.original_ttl != set.ttl() {
        let detail = || Detail::Numbers { found: set.ttl(), expected: rrsig.original_ttl };
        reporter.add(Check::RrsigOriginalTtl, at, detail);
    }
}

/// Signatures of RRsets that are not there. Signatures are sorted by the type they cover.
fn check_orphans(node: NodeRef<'_>, reporter: &mut Reporter<'_>) {
    let Some(signatures) = node.rrset(rtype::RRSIG) else { return };
    let mut last = None;
    for record in signatures.records() {
        let covered = record.rdata.first_chunk::<2>().map(|&octets| u16::from_be_bytes(octets));
        if covered == last {
            continue;
        }
        last = covered;
        let at = At::record(node, rtype::RRSIG, record.position);
        match covered {
            Some(covered) if covered == rtype::RRSIG || node.rrset(covered).is_none() => {
                reporter.add(Check::RrsigOrphan, at, || Detail::Type(covered));
            }
            _ => {}
        }
    }
}

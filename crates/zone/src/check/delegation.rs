//! Name servers and glue: whether every NS record leads to an address, and what stands at and below cuts.

use wire::iana::rtype;
use wire::{Name, SortKey};

use super::names::{Target, is_address, is_host_name};
use super::{At, Check, Facts, Level, Reporter, name_detail, nothing};
use crate::contents::{Flags, NodeRef, RRsetRef, RecordRef};

/// Checks all NS records, then everything at and below zone cuts and below DNAMEs.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let mut glue = Glue::none(facts.contents.node_count());
    let mut key = SortKey::new();
    for node in facts.contents.nodes() {
        if node.flags().has_any(Flags(Flags::CUT.0 | Flags::APEX.0))
            && let Some(set) = node.rrset(rtype::NS)
        {
            for record in set.records() {
                check_server(facts, node, record, &mut glue, &mut key, reporter);
            }
        }
    }
    check_hidden(facts, &glue, reporter);
}

/// Nodes whose addresses are glue of some delegation, one bit each.
struct Glue {
    words: Vec<u64>,
}

impl Glue {
    fn none(nodes: usize) -> Glue {
        Glue { words: vec![0; nodes.div_ceil(64)] }
    }

    fn mark(&mut self, node: NodeRef<'_>) {
        self.words[node.number() / 64] |= 1 << (node.number() % 64);
    }

    fn has(&self, node: NodeRef<'_>) -> bool {
        self.words[node.number() / 64] & 1 << (node.number() % 64) != 0
    }
}

fn check_server<'c>(
    facts: &Facts<'c>,
    owner: NodeRef<'c>,
    record: RecordRef<'c>,
    glue: &mut Glue,
    key: &mut SortKey,
    reporter: &mut Reporter<'_>,
) {
    let at = At::record(owner, rtype::NS, record.position);
    let Ok(server) = Name::from_wire(record.rdata) else {
        reporter.add(Check::RdataMalformed, at, nothing);
        return;
    };
    if is_address(server, facts.contents.apex()) {
        reporter.add(Check::NsIsAddress, at, name_detail(server));
    } else if facts.options.level != Level::Quick && !is_host_name(server) {
        reporter.add(Check::HostNameTarget, at, name_detail(server));
    }
    let problem = match facts.index.resolve(server, key) {
        Target::Elsewhere => None,
        Target::Node(node) if has_address(node) => None,
        Target::Node(node) if node.flags().has(Flags::CNAME) => Some(Check::NsIsCname),
        Target::Node(_) | Target::Missing => Some(Check::NsNoAddress),
        Target::BelowDname => Some(Check::NsBelowDname),
        Target::BelowCut { cut, node } => {
            if let Some(node) = node {
                glue.mark(node);
            }
            glue_problem(owner, cut, node)
        }
    };
    if let Some(check) = problem {
        reporter.add(check, at, name_detail(server));
    }
}

/// What is wrong with the glue of a server at or below `cut`, named by an NS record of `owner`.
fn glue_problem(owner: NodeRef<'_>, cut: NodeRef<'_>, node: Option<NodeRef<'_>>) -> Option<Check> {
    match node {
        Some(node) if has_address(node) => None,
        Some(node) if node.flags().has(Flags::CNAME) => Some(Check::NsIsCname),
        _ if cut.number() == owner.number() => Some(Check::GlueMissing),
        _ => Some(Check::GlueMissingSibling),
    }
}

pub(super) fn has_address(node: NodeRef<'_>) -> bool {
    node.rrsets().any(|set| matches!(set.rtype(), rtype::A | rtype::AAAA))
}

/// Reports what no query ever sees. Names below a cut or DNAME directly follow it in canonical order.
fn check_hidden(facts: &Facts<'_>, glue: &Glue, reporter: &mut Reporter<'_>) {
    let mut is_below_cut = false;
    for node in facts.contents.nodes() {
        let flags = node.flags();
        if flags.has(Flags::OCCLUDED) {
            if is_below_cut {
                node.rrsets().for_each(|set| check_hidden_set(Check::BelowCut, node, set, glue, reporter));
            } else if !flags.has(Flags::EMPTY) {
                reporter.add(Check::BelowDname, At::node(node), nothing);
            }
        } else if flags.has(Flags::CUT) {
            is_below_cut = true;
            node.rrsets().for_each(|set| check_hidden_set(Check::CutOtherData, node, set, glue, reporter));
        } else {
            is_below_cut &= flags.has(Flags::NSEC3); // an NSEC3 owner cannot stand between a cut and its names
        }
    }
}

fn check_hidden_set(
    check: Check,
    node: NodeRef<'_>,
    set: RRsetRef<'_>,
    glue: &Glue,
    reporter: &mut Reporter<'_>,
) {
    let at = At::set(node, set);
    match set.rtype() {
        rtype::A | rtype::AAAA if glue.has(node) => {}
        rtype::A | rtype::AAAA => reporter.add(Check::GlueUnneeded, at, nothing),
        rtype::NS | rtype::DS if check == Check::CutOtherData => {}
        // CNAME and DNAME at a cut are reported already, signatures and denial are those of `signature` and
        // `nsec`.
        rtype::CNAME | rtype::DNAME if check == Check::CutOtherData => {}
        rtype::RRSIG | rtype::NSEC => {}
        _ => reporter.add(check, at, nothing),
    }
}

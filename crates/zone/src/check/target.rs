//! Where names in RDATA lead, how owners and targets are spelled, and rules within one RRset.

use wire::iana::rtype;
use wire::{Name, SortKey};

use super::delegation::has_address;
use super::names::{Target, is_address, is_host_name, is_host_owner, is_mailbox, is_plain_key};
use super::{At, Check, Facts, Level, Reporter, is_authoritative, name_detail, nothing};
use crate::contents::{Flags, NodeRef, RRsetRef, RecordRef};

/// Longest chain of aliases that is followed. Longer ones are no loops by this check, but resolvers give up
/// at 8 to 16 too.
const CHAIN_MAX: usize = 32;

/// The types that it is looked at, but for how owners are spelled.
pub(super) const TYPES: [u16; 11] = [
    rtype::CNAME,
    rtype::MX,
    rtype::SRV,
    rtype::AFSDB,
    rtype::RT,
    rtype::PTR,
    rtype::RP,
    rtype::SVCB,
    rtype::HTTPS,
    rtype::TXT,
    rtype::SPF,
];

/// Checks all RRsets that the zone answers with.
pub(super) fn check(facts: &Facts<'_>, reporter: &mut Reporter<'_>) {
    let checker = Checker { facts, is_reverse: is_reverse(facts.contents.apex()) };
    let is_spelled = facts.options.level != Level::Quick;
    let mut key = SortKey::new();
    for node in facts.contents.nodes() {
        // Spelling apart, only what the zone answers with leads anywhere.
        if !is_spelled && node.flags().has_any(Flags(Flags::OCCLUDED.0 | Flags::NSEC3.0 | Flags::CUT.0)) {
            continue;
        }
        let mut owner_is_reported = false;
        for set in node.rrsets() {
            if is_spelled && matches!(set.rtype(), rtype::A | rtype::AAAA | rtype::MX) && !owner_is_reported {
                owner_is_reported = checker.check_owner(node, set, reporter);
            }
            if is_authoritative(node) && !node.flags().has(Flags::CUT) {
                checker.check_set(node, set, &mut key, reporter);
            }
        }
    }
}

/// Whether the zone maps addresses to names, where PTR records lead to hosts.
fn is_reverse(apex: &Name) -> bool {
    let below = |suffix: &[u8]| apex.is_at_or_below(Name::trusted(suffix));
    below(b"\x07in-addr\x04arpa\0") || below(b"\x03ip6\x04arpa\0")
}

struct Checker<'f, 'c> {
    facts: &'f Facts<'c>,
    is_reverse: bool,
}

impl<'c> Checker<'_, 'c> {
    /// Owners of addresses and mail exchanges are host names, as `check-names` of BIND has it. Returns
    /// whether it was not.
    fn check_owner(&self, node: NodeRef<'c>, set: RRsetRef<'c>, reporter: &mut Reporter<'_>) -> bool {
        // The keys of ordinary names need no name made: that costs more than all other checks of an address.
        if is_plain_key(node.key()) || is_host_owner(&node.name()) {
            return false;
        }
        reporter.add(Check::HostNameOwner, At::set(node, set), nothing);
        true
    }

    fn check_set(
        &self,
        node: NodeRef<'c>,
        set: RRsetRef<'c>,
        key: &mut SortKey,
        reporter: &mut Reporter<'_>,
    ) {
        match set.rtype() {
            rtype::CNAME => self.check_alias(node, set, key, reporter),
            rtype::MX => {
                set.records().for_each(|record| self.check_host(node, set, record, 2, key, reporter));
                let is_null = |record: RecordRef<'_>| record.rdata.get(2..) == Some(&[0]);
                if set.len() > 1 && set.records().any(is_null) {
                    reporter.add(Check::MxNullBesideOthers, At::set(node, set), nothing);
                }
            }
            rtype::SRV => {
                set.records().for_each(|record| self.check_host(node, set, record, 6, key, reporter))
            }
            rtype::AFSDB | rtype::RT => self.check_spelling(node, set, 2, reporter),
            rtype::PTR if self.is_reverse => self.check_spelling(node, set, 0, reporter),
            rtype::RP => {
                for record in set.records() {
                    if let Ok((mailbox, _)) = Name::split_from(record.rdata)
                        && !is_mailbox(mailbox)
                    {
                        let at = At::record(node, rtype::RP, record.position);
                        reporter.add(Check::MailboxName, at, name_detail(mailbox));
                    }
                }
            }
            rtype::SVCB | rtype::HTTPS => {
                // RFC 9460 2.4.2: in alias mode, priority 0, there should be one record.
                let is_alias = |record: RecordRef<'_>| record.rdata.starts_with(&[0, 0]);
                if set.len() > 1 && set.records().any(is_alias) {
                    reporter.add(Check::SvcbAliasBesideOthers, At::set(node, set), nothing);
                }
            }
            rtype::TXT | rtype::SPF => check_policy(node, set, reporter),
            _ => {}
        }
    }

    /// Checks the host an MX or SRV record leads to; the name begins after `skip` octets.
    fn check_host(
        &self,
        node: NodeRef<'c>,
        set: RRsetRef<'c>,
        record: RecordRef<'c>,
        skip: usize,
        key: &mut SortKey,
        reporter: &mut Reporter<'_>,
    ) {
        let at = At::record(node, set.rtype(), record.position);
        let Some(Ok(host)) = record.rdata.get(skip..).map(Name::from_wire) else {
            reporter.add(Check::RdataMalformed, at, nothing);
            return;
        };
        if host.is_root() {
            return; // no service: RFC 7505 3, RFC 2782
        }
        let is_mail = set.rtype() == rtype::MX;
        if is_mail && is_address(host, self.facts.contents.apex()) {
            reporter.add(Check::MxIsAddress, at, name_detail(host));
        } else if !is_host_name(host) {
            reporter.add(Check::HostNameTarget, at, name_detail(host));
        }
        let (alias, no_address) = match is_mail {
            true => (Check::MxIsCname, Check::MxNoAddress),
            false => (Check::SrvIsCname, Check::SrvNoAddress),
        };
        match self.facts.index.resolve(host, key) {
            Target::Node(node) if has_address(node) => {}
            Target::Node(node) if node.flags().has(Flags::CNAME) => {
                reporter.add(alias, at, name_detail(host));
            }
            Target::BelowDname => reporter.add(alias, at, name_detail(host)),
            Target::Node(_) | Target::Missing => reporter.add(no_address, at, name_detail(host)),
            // Below a cut the other zone knows.
            Target::Elsewhere | Target::BelowCut { .. } => {}
        }
    }

    fn check_spelling(&self, node: NodeRef<'c>, set: RRsetRef<'c>, skip: usize, reporter: &mut Reporter<'_>) {
        for record in set.records() {
            if let Some(Ok(host)) = record.rdata.get(skip..).map(Name::from_wire)
                && !is_host_name(host)
            {
                let at = At::record(node, set.rtype(), record.position);
                reporter.add(Check::HostNameTarget, at, name_detail(host));
            }
        }
    }

    /// Follows a chain of aliases within the zone.
    fn check_alias(
        &self,
        node: NodeRef<'c>,
        set: RRsetRef<'c>,
        key: &mut SortKey,
        reporter: &mut Reporter<'_>,
    ) {
        let at = At::set(node, set);
        let mut alias = set;
        for _ in 0..CHAIN_MAX {
            let Some(Ok(target)) = alias.records().next().map(|record| Name::from_wire(record.rdata)) else {
                reporter.add(Check::RdataMalformed, at, nothing);
                return;
            };
            match self.facts.index.resolve(target, key) {
                Target::Node(next) if next.number() == node.number() => {
                    reporter.add(Check::CnameLoop, at, name_detail(target));
                    return;
                }
                Target::Node(next) => match next.rrset(rtype::CNAME) {
                    Some(set) => alias = set,
                    None => return,
                },
                Target::Missing => {
                    reporter.add(Check::CnameDangling, at, name_detail(target));
                    return;
                }
                Target::Elsewhere | Target::BelowCut { .. } | Target::BelowDname => return,
            }
        }
    }
}

/// Mail policies: one in TXT records (RFC 7208 4.5), and SPF records, which nobody reads, not alone.
fn check_policy(node: NodeRef<'_>, set: RRsetRef<'_>, reporter: &mut Reporter<'_>) {
    let policies = |set: RRsetRef<'_>| set.records().filter(|record| is_policy(record.rdata)).count();
    if set.rtype() == rtype::TXT {
        if policies(set) > 1 {
            reporter.add(Check::SpfMultiple, At::set(node, set), nothing);
        }
    } else if policies(set) > 0 && node.rrset(rtype::TXT).is_none_or(|txt| policies(txt) == 0) {
        reporter.add(Check::SpfWithoutTxt, At::set(node, set), nothing);
    }
}

/// Whether the first character string says `v=spf1` and nothing or a blank (RFC 7208 4.5).
fn is_policy(rdata: &[u8]) -> bool {
    let Some((&length, rest)) = rdata.split_first() else { return false };
    let Some((version, rest)) = rest.get(..length as usize).and_then(|text| text.split_at_checked(6)) else {
        return false;
    };
    version.eq_ignore_ascii_case(b"v=spf1") && matches!(rest.first(), None | Some(b' '))
}

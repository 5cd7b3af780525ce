//! Whether what a change makes of a zone can be served as one: looked at is what it touches, and the apex. Writers of ours have looked at all of it, others may have not.

use std::collections::HashMap;

use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::lookup::RRset;
use zone::{Change, ZoneView};

/// What a change adds to, as it was before.
pub(super) struct Before {
    /// By owner and type: records that come, their TTL, and that of the set until now.
    sets: HashMap<(NameBuf, u16), (usize, u32, Option<u32>)>,
}

impl Before {
    /// The error: what is wrong with the change by itself, in words.
    pub(super) fn of(view: &ZoneView<'_>, change: &Change) -> Result<Before, String> {
        let mut sets = HashMap::new();
        for record in change.added().iter() {
            let key = (record.owner.to_lowercase(), record.rtype);
            let was = || set(view, record.owner, record.rtype).map(|set| set.ttl());
            let (count, ttl, _) = sets.entry(key).or_insert_with(|| (0, record.ttl, was()));
            // A signature has the TTL of the set that it is of (RFC 4034 3).
            if *ttl != record.ttl && record.rtype != rtype::RRSIG {
                return Err(two_ttls(record.owner, record.rtype));
            }
            *count += 1;
        }
        Ok(Before { sets })
    }

    /// The error: what is wrong with the zone after the change, in words.
    pub(super) fn check(&self, view: &ZoneView<'_>, change: &Change) -> Result<(), String> {
        for ((owner, rtype), (count, ttl, was)) in &self.sets {
            // Records that stay have the TTL of before.
            let has_others = len(view, owner, *rtype) > *count;
            if has_others && was.is_some_and(|was| was != *ttl) {
                return Err(two_ttls(owner, *rtype));
            }
            if *rtype == rtype::SOA && !owner.eq_ignore_case(view.apex()) {
                return Err(format!("{owner} SOA: an SOA record below the apex"));
            }
            check_owner(view, owner)?;
        }
        for record in change.removed().iter() {
            check_owner(view, record.owner)?;
        }
        let apex = view.apex();
        if set(view, apex, rtype::NS).is_none() {
            return Err(format!("{apex} NS: there is none"));
        }
        match len(view, apex, rtype::SOA) {
            1 => Ok(()),
            found => Err(format!("{apex} SOA: expected one, found {found}")),
        }
    }
}

fn two_ttls(owner: &Name, rtype: u16) -> String {
    format!("{owner} {}: an RRset of two TTLs", rtype::Text(rtype))
}

/// A name with an alias has nothing else, and one of these.
fn check_owner(view: &ZoneView<'_>, owner: &Name) -> Result<(), String> {
    for alias in [rtype::CNAME, rtype::DNAME] {
        if len(view, owner, alias) > 1 {
            return Err(format!("{owner} {}: expected one, found several", rtype::Text(alias)));
        }
    }
    let node = node(view, owner).filter(|node| node.rrset(rtype::CNAME).is_some());
    let other = node.and_then(|node| node.rrsets().find(|set| !rtype::may_be_at_cname(set.rtype())));
    match other {
        Some(other) => Err(format!("{owner} CNAME: {} records beside it", rtype::Text(other.rtype()))),
        None => Ok(()),
    }
}

fn node<'z>(view: &ZoneView<'z>, owner: &Name) -> Option<zone::Node<'z>> {
    let key = SortKey::of(owner);
    view.find(key.octets().strip_prefix(view.apex_key())?)
}

fn set<'z>(view: &ZoneView<'z>, owner: &Name, rtype: u16) -> Option<RRset<'z>> {
    node(view, owner)?.rrset(rtype)
}

/// How many records a set has.
fn len(view: &ZoneView<'_>, owner: &Name, rtype: u16) -> usize {
    let set = set(view, owner, rtype);
    set.and_then(|set| Some(set.rdata(owner, view.apex())?.len())).unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use zone::contents::SourcePosition;
    use zone::{ContentsBuilder, DeltaWriter, Pack, PackBuilder, Records, TextStamp};

    const ZONE: &str = "@ 60 SOA ns h 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\na 60 A 192.0.2.1\na 60 A 192.0.2.2\nc 60 CNAME a\n";

    fn apex() -> NameBuf {
        NameBuf::from_text("example").unwrap()
    }

    fn records(text: &str) -> Records {
        let mut records = Records::default();
        for record in zonefile::records(text, &apex()).unwrap() {
            records.push(&record.owner, record.rtype, record.ttl, &record.rdata);
        }
        records
    }

    /// What is said of a change of these records.
    fn said(removed: &str, added: &str) -> String {
        let mut contents = ContentsBuilder::new(&apex());
        for record in zonefile::records(ZONE, &apex()).unwrap() {
            let (owner, rdata) = (&record.owner, &record.rdata);
            contents.push(owner, false, record.rtype, record.ttl, rdata, SourcePosition::default()).unwrap();
        }
        let mut builder = PackBuilder::new(7);
        builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
        let pack = Arc::new(Pack::open(builder.finish().unwrap()).unwrap());
        let soa = |serial| format!("@ 60 SOA ns h {serial} 2 3 4 5\n");
        let change = Change::new(records(&(soa(1) + removed)), records(&(soa(2) + added))).unwrap();
        let mut writer = DeltaWriter::new(pack, 0).unwrap();
        let checked = Before::of(&writer.newest(), &change).and_then(|before| {
            writer.apply(&change).map_err(|refused| format!("{refused:?}"))?;
            before.check(&writer.newest(), &change)
        });
        checked.err().unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_served_is_named() {
        assert_eq!(said("", "b 60 A 192.0.2.9\n"), "");
        assert_eq!(said("a 60 A 192.0.2.1\n", "a 60 A 192.0.2.3\n"), "");
        assert_eq!(said("", "c 60 A 192.0.2.9\n"), "c.example. CNAME: A records beside it");
        assert_eq!(said("", "a 60 CNAME ns\n"), "a.example. CNAME: A records beside it");
        assert_eq!(said("", "c 60 CNAME ns\n"), "c.example. CNAME: expected one, found several");
        assert_eq!(said("", "a 90 A 192.0.2.3\n"), "a.example. A: an RRset of two TTLs");
        assert_eq!(said("", "b 60 A 192.0.2.3\nb 90 A 192.0.2.4\n"), "b.example. A: an RRset of two TTLs");
        let all = "a 60 A 192.0.2.1\na 60 A 192.0.2.2\n";
        assert_eq!(said(all, &all.replace("60", "90")), "");
        let one = said("a 60 A 192.0.2.1\n", "a 90 A 192.0.2.1\n");
        assert_eq!(one, "a.example. A: an RRset of two TTLs");
        assert!(said("@ 60 NS ns\n", "").contains("NS"));
        // Signatures of two sets are no set.
        let signature = |ttl, covered| {
            format!("b {ttl} RRSIG {covered} 13 2 {ttl} 20380101000000 20260101000000 1 @ AAAA\n")
        };
        let signed = format!(
            "b 60 A 192.0.2.9\nb 30 NSEC ns A RRSIG NSEC\n{}{}",
            signature(60, "A"),
            signature(30, "NSEC")
        );
        assert_eq!(said("", &signed), "");
    }
}

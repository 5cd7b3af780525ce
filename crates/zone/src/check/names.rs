//! Finds the node a name in RDATA leads to, and judges the spelling of host names.

use wire::{Name, SortKey};

use crate::contents::{Contents, Flags, NodeRef};
use crate::index::Hash;

/// From key to node by hash. A zone of millions of delegations looks up every name server; binary search
/// would miss the cache at each of its twenty steps.
pub(super) struct NameIndex<'c> {
    contents: &'c Contents,
    /// Node number plus one, 0 where empty; a power of two of slots, at most half of them used.
    slots: Vec<u32>,
}

impl<'c> NameIndex<'c> {
    pub(super) fn new(contents: &'c Contents) -> NameIndex<'c> {
        let mut slots = vec![0; (2 * contents.node_count()).next_power_of_two()];
        for node in contents.nodes().filter(|node| !node.flags().has(Flags::NSEC3)) {
            let mut at = slot_of(node.key(), slots.len());
            while slots[at] != 0 {
                at = (at + 1) % slots.len();
            }
            slots[at] = node.number() as u32 + 1;
        }
        NameIndex { contents, slots }
    }

    /// The node with this key relative to the apex. NSEC3 owners are not names.
    pub(super) fn find(&self, key: &[u8]) -> Option<NodeRef<'c>> {
        let mut at = slot_of(key, self.slots.len());
        while self.slots[at] != 0 {
            let node = self.contents.node(self.slots[at] as usize - 1);
            if node.key() == key {
                return Some(node);
            }
            at = (at + 1) % self.slots.len();
        }
        None
    }

    /// Follows `target` down from the apex as a query would (RFC 1034 4.3.2).
    pub(super) fn resolve(&self, target: &Name, key: &mut SortKey) -> Target<'c> {
        // Most names of others end otherwise, which is seen without a key.
        if !target.is_at_or_below(self.contents.apex()) {
            return Target::Elsewhere;
        }
        key.set(target);
        let relative = &key.octets()[self.contents.apex_key().len()..];
        let exact = self.find(relative);
        let mut encloser = exact;
        let mut rest = relative;
        while encloser.is_none() {
            rest = parent_key(rest);
            encloser = self.find(rest);
        }
        let Some(encloser) = encloser else { return Target::Missing };
        if let Some(above) = occluder(encloser, exact.is_some()) {
            return if above.flags().has(Flags::CUT) && !above.flags().has(Flags::APEX) {
                // Glue may come from a wildcard.
                let node = exact.or_else(|| self.wildcard_below(encloser));
                Target::BelowCut { cut: above, node }
            } else {
                Target::BelowDname
            };
        }
        match exact {
            Some(node) => Target::Node(node),
            None => match self.wildcard_below(encloser) {
                Some(wildcard) => Target::Node(wildcard),
                None => Target::Missing,
            },
        }
    }

    fn wildcard_below(&self, encloser: NodeRef<'c>) -> Option<NodeRef<'c>> {
        if !encloser.flags().has(Flags::WILDCARD_CHILD) {
            return None;
        }
        self.find(&[encloser.key(), b"*\0"].concat())
    }
}

/// The zone cut or DNAME that hides a name; `is_exact` when `node` is that name and not just above it.
fn occluder(node: NodeRef<'_>, is_exact: bool) -> Option<NodeRef<'_>> {
    let mut node = node;
    let mut is_exact = is_exact;
    while node.flags().has(Flags::OCCLUDED) {
        node = node.parent();
        is_exact = false;
    }
    let flags = node.flags();
    let hides = flags.has(Flags::CUT) || (flags.has(Flags::DNAME) && !is_exact);
    hides.then_some(node)
}

/// The key one label up; empty for the apex.
pub(super) fn parent_key(key: &[u8]) -> &[u8] {
    let before_end = &key[..key.len().saturating_sub(1)];
    let end = before_end.iter().rposition(|&octet| octet == 0).map_or(0, |at| at + 1);
    &key[..end]
}

fn slot_of(key: &[u8], slots: usize) -> usize {
    Hash::of_apex(0, 0).extend(key, 0, key.len()).word() as usize & (slots - 1)
}

/// Where a name in RDATA leads.
#[derive(Clone, Copy)]
pub(super) enum Target<'c> {
    /// Out of the zone: nothing can be said.
    Elsewhere,
    /// To this node, or to a wildcard that stands for the name.
    Node(NodeRef<'c>),
    /// Nowhere: the zone says the name does not exist.
    Missing,
    /// To or below a zone cut; `node` is the name's own, where it has glue.
    BelowCut {
        /// The cut.
        cut: NodeRef<'c>,
        /// The name's own node, or the wildcard's that stands in for it.
        node: Option<NodeRef<'c>>,
    },
    /// Below a DNAME.
    BelowDname,
}

/// Whether all labels are letters, digits and inner hyphens (RFC 952, RFC 1123 2.1).
pub(super) fn is_host_name(name: &Name) -> bool {
    // One pass over the octets, as each name server of a zone of delegations comes by.
    let mut octets = name.octets();
    while let [length, rest @ ..] = octets
        && *length > 0
    {
        let Some((label, after)) = rest.split_at_checked(*length as usize) else { return false };
        if !label.iter().all(|&octet| KINDS[octet as usize] > 0) {
            return false;
        }
        let ends = [label[0], label[label.len() - 1]];
        if ends.iter().any(|&octet| KINDS[octet as usize] == HYPHEN) {
            return false;
        }
        octets = after;
    }
    true
}

const HYPHEN: u8 = 1;
/// What octets may do in host names: 0 nothing, [`HYPHEN`] stand inside, 2 stand anywhere.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        if (octet as u8).is_ascii_alphanumeric() {
            kinds[octet] = 2;
        }
        octet += 1;
    }
    kinds[b'-' as usize] = HYPHEN;
    kinds
};

/// Whether a sort key has nothing but letters and digits, as most have: the name is that of a host then.
pub(super) fn is_plain_key(key: &[u8]) -> bool {
    key.iter().all(|&octet| octet == 0 || KINDS[octet as usize] == 2)
}

/// The same with `*` allowed as first label, and with the two names below which Active Directory puts
/// addresses, as BIND allows them.
pub(super) fn is_host_owner(name: &Name) -> bool {
    let rest = match name.parent() {
        Some(parent) if name.is_wildcard() => parent,
        _ => name,
    };
    is_host_name(rest) || is_msdcs(name)
}

/// `gc._msdcs.` and a forest's name.
fn is_msdcs(name: &Name) -> bool {
    let mut labels = name.labels();
    let [first, second] = [labels.next(), labels.next()].map(Option::unwrap_or_default);
    first.eq_ignore_ascii_case(b"gc") && second.eq_ignore_ascii_case(b"_msdcs") && labels.all(is_host_label)
}

fn is_host_label(label: &[u8]) -> bool {
    let ends = [label.first(), label.last()];
    ends.iter().all(|octet| octet.is_some_and(u8::is_ascii_alphanumeric))
        && label.iter().all(|&octet| octet.is_ascii_alphanumeric() || octet == b'-')
}

/// Whether the name is a mailbox (RFC 1035 8): anything visible as first label, a host name after it. The
/// root says that there is none.
pub(super) fn is_mailbox(name: &Name) -> bool {
    let mut labels = name.labels();
    let local = labels.next().unwrap_or(b"none");
    local.iter().all(|octet| octet.is_ascii_graphic()) && labels.all(is_host_label)
}

/// Whether the name is an address in dotted form, alone or with `apex` appended by mistake.
pub(super) fn is_address(name: &Name, apex: &Name) -> bool {
    if !name.octets().get(1).is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let mut rest = name;
    for label in name.labels().take(4) {
        let number = std::str::from_utf8(label).ok().and_then(|text| text.parse::<u8>().ok());
        if number.is_none() || label.starts_with(b"+") {
            return false;
        }
        rest = rest.parent().unwrap_or(rest);
    }
    name.label_count() >= 4 && (rest.is_root() || rest.eq_ignore_case(apex))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    #[test]
    fn spelling() {
        let hosts = ["a", "a-b.C9", ".", "9"];
        assert!(hosts.iter().all(|text| is_host_name(&name(text))));
        let others = ["a_b", "-a", "a-", "a.\\000", "*.a", "a\\.b"];
        assert!(others.iter().all(|text| !is_host_name(&name(text))));
        assert!(is_host_owner(&name("*.a")) && !is_host_owner(&name("*.*.a")) && is_host_owner(&name("*")));
        assert!(is_host_owner(&name("GC._msdcs.a")) && !is_host_owner(&name("x._msdcs.a")));
        assert!(is_mailbox(&name("first\\.last.a")) && is_mailbox(&name(".")) && !is_mailbox(&name("a.b_c")));
    }

    #[test]
    fn addresses() {
        let apex = name("example");
        assert!(is_address(&name("192.0.2.1"), &apex) && is_address(&name("192.0.2.1.Example"), &apex));
        for text in ["192.0.2", "192.0.2.1.com", "256.0.2.1", "a.0.2.1", "1.2.3.4.5"] {
            assert!(!is_address(&name(text), &apex), "{text}");
        }
    }

    #[test]
    fn parents() {
        assert_eq!(parent_key(b"a\0b\0"), b"a\0");
        assert_eq!(parent_key(b"a\0"), b"");
        assert_eq!(parent_key(b""), b"");
    }
}

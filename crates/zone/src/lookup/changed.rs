//! Finding names in a zone that has changed since its pack was made: one probe of the delta a label, and one of the pack where the delta does not decide.
//!
//! A pack knows of each name whether it is occluded. Once cuts and DNAMEs come and go above it, that is a matter of the way to it: nodes that are
//! found here have the flags that a pack made anew would give them.

use super::{Match, MatchKind, Node, ZoneView};
use crate::contents::Flags;
use crate::delta::{Changed, OWN_NUMBERS, Seen};
use crate::index::Hash;
use crate::pack::ZoneRow;
use crate::shape::Shape;
use wire::SortKey;
use wire::iana::rtype;

/// How a name stands to what is above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing(Flags);

impl Standing {
    /// Nothing above leads elsewhere.
    pub(crate) const AUTHORITATIVE: Standing = Standing(Flags(0));

    /// Of the names below `parent`, the flags of which are as they are now.
    #[inline(always)]
    pub(crate) fn below(parent: Flags) -> Standing {
        const HIDDEN: u16 = Flags::OCCLUDED.0 | Flags::REDIRECTED.0;
        if parent.has(Flags::OCCLUDED) {
            Standing(Flags(parent.0 & HIDDEN))
        } else if parent.has(Flags::CUT) {
            Standing(Flags::OCCLUDED)
        } else if parent.has(Flags::DNAME) {
            Standing(Flags(HIDDEN))
        } else {
            Standing::AUTHORITATIVE
        }
    }

    /// Below a DNAME: names there mean others (RFC 6672 2.4).
    pub(crate) fn is_redirected(self) -> bool {
        self.0.has(Flags::REDIRECTED)
    }

    /// Gives `node` the flags that it has where it stands so.
    #[inline(always)]
    fn apply(self, zone: &ZoneView<'_>, node: &mut Node<'_>) {
        let stored = node.shape.flags();
        const HIDDEN: Flags = Flags(Flags::OCCLUDED.0 | Flags::REDIRECTED.0);
        // Owners of NSEC3 records are no names that anything could be above of.
        if stored.0 & HIDDEN.0 != self.0.0 && !stored.has(Flags::NSEC3) {
            node.flags = changed_flags(zone, node, stored, self.0);
        }
    }
}

/// The flags of a node that was stored for another standing.
#[cold]
fn changed_flags(zone: &ZoneView<'_>, node: &Node<'_>, stored: Flags, standing: Flags) -> Flags {
    const OF_THE_WAY: u16 = Flags::OCCLUDED.0
        | Flags::REDIRECTED.0
        | Flags::CUT.0
        | Flags::DNAME.0
        | Flags::NSEC.0
        | Flags::HASHED.0
        | Flags::GLUE.0;
    let mut flags = Flags(stored.0 & !OF_THE_WAY | standing.0);
    if standing.has(Flags::OCCLUDED) {
        return flags;
    }
    for row in node.shape_rows() {
        match row.rtype() {
            rtype::NS if !flags.has(Flags::APEX) => flags.set(Flags::CUT),
            rtype::DNAME => flags.set(Flags::DNAME),
            rtype::NSEC if zone.is_secure() => flags.set(Flags::NSEC),
            _ => {}
        }
    }
    flags
}

impl<'p> ZoneView<'p> {
    /// Whether the SOA record is signed: else nothing is proved. It is as in the pack as long as there is a delta.
    pub(crate) fn is_secure(&self) -> bool {
        self.bits() & (ZoneRow::NSEC | ZoneRow::NSEC3_PROVES) != 0
    }

    /// [`ZoneView::walk`].
    #[inline(never)]
    pub(super) fn walk_changed(&self, changed: &'p Changed, key: &SortKey) -> Option<Match<'p>> {
        let mut node = self.apex_changed(changed)?;
        let mut hash = Hash::of_apex(self.pack.seed(), self.number);
        let mut labels = self.apex_labels;
        let wanted = key.label_count();
        while labels < wanted {
            if labels > self.apex_labels && node.flags.has(Flags::CUT) {
                return Some(Match { node, labels, kind: MatchKind::Cut, hash });
            }
            if node.flags.has(Flags::DNAME) {
                return Some(Match { node, labels, kind: MatchKind::Dname, hash });
            }
            let next = hash.extend(key.padded(), key.end(labels), key.end(labels + 1));
            let relative = key.ancestor(labels + 1).get(self.apex_key.len()..)?;
            // No cut and no DNAME was passed.
            let Some(child) = self.child_changed(changed, next, relative, Standing::AUTHORITATIVE) else {
                return Some(Match { node, labels, kind: MatchKind::Encloser, hash });
            };
            node = child;
            hash = next;
            labels += 1;
        }
        let is_cut = labels > self.apex_labels && node.flags.has(Flags::CUT);
        let kind = if is_cut { MatchKind::Cut } else { MatchKind::Exact };
        Some(Match { node, labels, kind, hash })
    }

    /// The apex as it is now.
    pub(super) fn apex_changed(&self, changed: &'p Changed) -> Option<Node<'p>> {
        match changed.apex() {
            Seen::Node(row, key, octets) => self.own(row, key, octets),
            Seen::AsInPack => self.apex_in_pack(),
            Seen::Gone => None,
        }
    }

    /// The name with this hash and relative key, which stands so.
    #[inline(always)]
    pub(super) fn child_changed(
        &self,
        changed: &'p Changed,
        hash: Hash,
        relative: &[u8],
        standing: Standing,
    ) -> Option<Node<'p>> {
        let mut node = match changed.name(hash, relative) {
            Seen::AsInPack => self.probe(hash, relative)?,
            Seen::Gone => return None,
            Seen::Node(row, key, octets) => self.own(row, key, octets)?,
        };
        standing.apply(self, &mut node);
        Some(node)
    }

    /// [`ZoneView::find`]: a walk that passes cuts and DNAMEs, as they say how the name stands.
    pub(super) fn find_changed(&self, changed: &'p Changed, relative: &[u8]) -> Option<Node<'p>> {
        let mut node = self.apex_changed(changed)?;
        let mut hash = Hash::of_apex(self.pack.seed(), self.number);
        let mut from = 0;
        for (at, _) in relative.iter().enumerate().filter(|(_, octet)| **octet == 0) {
            hash = hash.extend(relative, from, at + 1);
            from = at + 1;
            node = self.child_changed(changed, hash, &relative[..from], Standing::below(node.flags))?;
        }
        Some(node)
    }

    /// The name at or above `relative` under which that is occluded, if there is one: the highest cut or DNAME strictly above it.
    pub(super) fn hiding(&self, changed: &'p Changed, relative: &[u8]) -> Option<Node<'p>> {
        let mut node = self.apex_changed(changed)?;
        let mut hash = Hash::of_apex(self.pack.seed(), self.number);
        let mut from = 0;
        for (at, _) in relative.iter().enumerate().filter(|(_, octet)| **octet == 0) {
            if Standing::below(node.flags) != Standing::AUTHORITATIVE {
                return Some(node);
            }
            hash = hash.extend(relative, from, at + 1);
            from = at + 1;
            node = self.child_changed(changed, hash, &relative[..from], Standing::AUTHORITATIVE)?;
        }
        None
    }

    /// The node of the delta with this number, its flags as stored.
    #[cold]
    pub(super) fn own_node(&self, reference: u32) -> Option<Node<'p>> {
        match self.changed?.name_row(reference) {
            Seen::Node(row, key, octets) => self.own(row, key, octets),
            _ => None,
        }
    }

    /// A node of the delta: that of row `row`, which begins at `octets`.
    #[inline(always)]
    pub(crate) fn own(&self, row: u32, key: &'p [u8], octets: &'p [u8]) -> Option<Node<'p>> {
        let shape = Shape::at(octets)?;
        let references = octets.get(shape.octets().len()..)?;
        Some(Node {
            pack: self.pack,
            shape,
            references,
            prefix: key,
            suffix: &[],
            reference: OWN_NUMBERS | row,
            flags: shape.flags(),
        })
    }

    /// `node`, which stands so.
    pub(super) fn standing(&self, mut node: Node<'p>, standing: Standing) -> Node<'p> {
        standing.apply(self, &mut node);
        node
    }
}

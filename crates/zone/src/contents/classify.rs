//! Adds empty non-terminals and finds out what each name is: cut, occluded, wildcard, parent.

use super::{Contents, Flags, NodeRow, RecordRow};
use wire::iana::rtype;

/// One name on the way from the apex to the present one.
struct Step {
    node: u32,
    /// Length of its key.
    end: usize,
}

/// Fills in parents and flags and adds the names that exist only because others are below them.
pub(super) fn classify(contents: &mut Contents) {
    let rows = std::mem::take(&mut contents.nodes);
    let mut renumbered = contents.duplicates.iter().map(|duplicate| duplicate.node).collect::<Vec<_>>();
    let mut nodes: Vec<NodeRow> = Vec::with_capacity(rows.len());
    let mut path: Vec<Step> = Vec::with_capacity(16);
    for (number, mut row) in rows.iter().copied().enumerate() {
        let key = &contents.keys[row.key_at as usize..][..row.key_octets as usize];
        if number == 0 {
            row.flags = Flags(row.flags.0 & !Flags::CUT.0 | Flags::APEX.0);
        } else {
            // Names of which the present one is not below are done.
            let previous = &rows[number - 1];
            let previous = &contents.keys[previous.key_at as usize..][..previous.key_octets as usize];
            let shared = previous.iter().zip(key).take_while(|(a, b)| a == b).count();
            while path.len() > 1 && path[path.len() - 1].end > shared {
                path.pop();
            }
            if is_nsec3_owner(contents, &rows, number, path.len() == 1) {
                row.flags.set(Flags::NSEC3);
                row.parent = 0;
            } else {
                add_missing(&mut nodes, &mut path, key, &row);
                join_parent(&mut nodes, &path, key, &mut row);
            }
        }
        for (at, duplicate) in contents.duplicates.iter().enumerate() {
            if duplicate.node == number as u32 {
                renumbered[at] = nodes.len() as u32;
            }
        }
        if !row.flags.has(Flags::NSEC3) {
            path.push(Step { node: nodes.len() as u32, end: key.len() });
        }
        nodes.push(row);
    }
    for (duplicate, node) in contents.duplicates.iter_mut().zip(renumbered) {
        duplicate.node = node;
    }
    contents.nodes = nodes;
}

/// Adds the names between the last one on the path and `key` that own nothing.
fn add_missing(nodes: &mut Vec<NodeRow>, path: &mut Vec<Step>, key: &[u8], row: &NodeRow) {
    loop {
        let top = path[path.len() - 1].end;
        let Some(length) = key[top..].iter().position(|&octet| octet == 0) else { return };
        let end = top + length + 1;
        if end == key.len() {
            return;
        }
        let mut empty = NodeRow {
            key_at: row.key_at,
            parent: 0,
            first_record: row.first_record,
            key_octets: end as u16,
            flags: Flags::EMPTY,
        };
        join_parent(nodes, path, &key[..end], &mut empty);
        path.push(Step { node: nodes.len() as u32, end });
        nodes.push(empty);
    }
}

/// Links a node to the last one on the path and takes over what holds for all names below that.
fn join_parent(nodes: &mut [NodeRow], path: &[Step], key: &[u8], row: &mut NodeRow) {
    let step = &path[path.len() - 1];
    row.parent = step.node;
    let parent = &mut nodes[step.node as usize];
    parent.flags.set(Flags::PARENT);
    if key[step.end..] == *b"*\0" {
        parent.flags.set(Flags::WILDCARD_CHILD);
        row.flags.set(Flags::WILDCARD);
    }
    if parent.flags.has_any(Flags(Flags::CUT.0 | Flags::DNAME.0 | Flags::OCCLUDED.0)) {
        row.flags.set(Flags::OCCLUDED);
        row.flags.0 &= !(Flags::CUT.0 | Flags::DNAME.0);
        let is_below_dname = parent.flags.has(Flags::DNAME) && !parent.flags.has(Flags::CUT);
        if is_below_dname || parent.flags.has(Flags::REDIRECTED) {
            row.flags.set(Flags::REDIRECTED);
        }
    }
}

/// Whether the name, one label below the apex, holds only NSEC3 and signatures, and nothing is below it.
fn is_nsec3_owner(contents: &Contents, rows: &[NodeRow], number: usize, below_apex: bool) -> bool {
    let row = &rows[number];
    let end = rows.get(number + 1).map_or(contents.records.len(), |next| next.first_record as usize);
    let records = &contents.records[row.first_record as usize..end];
    let is_denial = |record: &RecordRow| match record.rtype {
        rtype::NSEC3 => true,
        rtype::RRSIG => contents.rdata_of(record).starts_with(&rtype::NSEC3.to_be_bytes()),
        _ => false,
    };
    if !below_apex || records.is_empty() || !records.iter().all(is_denial) {
        return false;
    }
    let key = contents.key(row);
    let one_label = key.iter().position(|&octet| octet == 0) == Some(key.len() - 1);
    let childless = rows.get(number + 1).is_none_or(|next| !contents.key(next).starts_with(key));
    one_label && childless
}

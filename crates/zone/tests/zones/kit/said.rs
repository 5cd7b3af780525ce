//! All that a view says, in a form that can be compared.

use super::{params, relative_key};
use std::collections::BTreeSet;
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::catalog::PartSet;
use zone::lookup::{Nsec3, Owner, Ranked};
use zone::{Crawl, Data, Denial, Flags, MatchKind, Node, RRset, ZoneView};

/// All that an RRset says, octet for octet.
#[derive(Clone, Debug, PartialEq)]
pub struct SaidOfSet {
    pub head: [u8; 8],
    /// The address; or whether there are signatures and the apex follows, and rendered octets.
    pub numbers: Vec<u8>,
    pub records: Vec<Vec<u8>>,
    pub signatures: Vec<Vec<u8>>,
    pub places: Vec<usize>,
}

pub fn of_set(set: &RRset<'_>) -> SaidOfSet {
    let head = set.head();
    match set.data() {
        Data::Inline(octets) => SaidOfSet {
            head,
            numbers: octets.to_vec(),
            records: Vec::new(),
            signatures: Vec::new(),
            places: Vec::new(),
        },
        Data::Fragment(fragment) => SaidOfSet {
            head,
            numbers: [
                &[fragment.is_signed().into(), fragment.apex_follows().into()][..],
                &fragment.rendered_octets().to_le_bytes(),
            ]
            .concat(),
            records: fragment.records().map(<[u8]>::to_vec).collect(),
            signatures: fragment.signatures().map(<[u8]>::to_vec).collect(),
            places: fragment.places().collect(),
        },
    }
}

pub fn key_of(node: &Node<'_>) -> Vec<u8> {
    let mut key = vec![0; 600];
    let octets = node.copy_key(&mut key);
    key.truncate(octets);
    key
}

/// Flags but for those that say how references are stored.
fn flags_of(node: &Node<'_>) -> u16 {
    node.flags().0 & !(Flags::HASHED.0 | Flags::GLUE.0)
}

/// Server, type, in-domain, authoritative, TTL, addresses.
type SaidOfGlue = Vec<(usize, u16, bool, bool, [u8; 4], Vec<Vec<u8>>)>;

pub fn of_glue(zone: &ZoneView<'_>, cut: &Node<'_>) -> SaidOfGlue {
    let mut glue: SaidOfGlue = Vec::new();
    if let Some(live) = zone.live_glue(cut) {
        for group in live {
            let head = group.set.head();
            let addresses = match group.set.data() {
                Data::Inline(octets) => vec![octets.to_vec()],
                Data::Fragment(fragment) => fragment.records().map(<[u8]>::to_vec).collect(),
            };
            let ttl = [head[4], head[5], head[6], head[7]];
            glue.push((
                group.server,
                group.set.rtype(),
                group.in_domain,
                group.authoritative,
                ttl,
                addresses,
            ));
        }
        return glue;
    }
    for group in cut.glue().into_iter().flatten() {
        let octets = if group.rtype == rtype::A { 4 } else { 16 };
        let addresses = group.addresses.chunks(octets).map(<[u8]>::to_vec).collect();
        glue.push((group.server, group.rtype, group.in_domain, group.authoritative, group.ttl, addresses));
    }
    glue
}

#[derive(Clone, Debug, PartialEq)]
pub struct SaidOfNode {
    pub key: Vec<u8>,
    pub flags: u16,
    pub sets: Vec<SaidOfSet>,
    pub glue: SaidOfGlue,
    pub nsec3: Option<SaidOfRecord>,
}

/// Hash, whether it is the one asked for, RRset.
type SaidOfRecord = (Vec<u8>, bool, SaidOfSet);

fn of_record((record, is_it): (Nsec3<'_>, bool)) -> SaidOfRecord {
    (record.hash.to_vec(), is_it, of_set(&record.rrset().unwrap()))
}

/// The NSEC3 record that a name with this key has or is covered by, as answers find it.
fn nsec3_of(zone: &ZoneView<'_>, node: &Node<'_>) -> Option<SaidOfRecord> {
    let name = wire::sort_key::name_of(zone.apex_key(), &key_of(node)).unwrap();
    let hash = params().hash(&name);
    match zone.nsec3_of(node) {
        Ranked::None => None,
        Ranked::Record(record) => Some(of_record((record, *record.hash == hash))),
        Ranked::ByHash => zone.nsec3_for(&hash).map(of_record),
    }
}

pub fn of_node(zone: &ZoneView<'_>, node: &Node<'_>) -> SaidOfNode {
    let is_cut = node.flags().has(Flags::CUT);
    SaidOfNode {
        key: key_of(node),
        flags: flags_of(node),
        sets: node.rrsets().map(|set| of_set(&set)).collect(),
        glue: if is_cut { of_glue(zone, node) } else { Vec::new() },
        nsec3: nsec3_of(zone, node),
    }
}

/// All of one question.
fn of_question(zone: &ZoneView<'_>, qname: &Name) -> impl PartialEq + std::fmt::Debug + use<> {
    let relative = relative_key(qname, zone.apex());
    let found = zone.walk(&SortKey::of(qname)).unwrap();
    let said = |node: Option<Node<'_>>| node.map(|node| of_node(zone, &node));
    let nsec = zone.nsec_at_or_before(&relative).map(|node| {
        let set = node.rrset(rtype::NSEC).unwrap();
        (key_of(&node), of_set(&set))
    });
    let nsec3 = zone.has_nsec3_chain().then(|| zone.nsec3_for(&params().hash(qname)).map(of_record));
    (
        (said(Some(found.node)), found.labels, found.kind),
        said(zone.wildcard_below(&found)),
        said(zone.find(&relative)),
        said(zone.at_or_before(&relative)),
        zone.cursor(&relative).take(3).map(|node| of_node(zone, &node)).collect::<Vec<_>>(),
        nsec,
        nsec3,
    )
}

/// What an ordinary answer about a name is made of, proofs apart, and what changes with each serial.
pub fn of_answer(zone: &ZoneView<'_>, qname: &Name) -> impl PartialEq + std::fmt::Debug + use<> {
    let found = zone.walk(&SortKey::of(qname)).unwrap();
    let said = |node: &Node<'_>| {
        let mut said = of_node(zone, node);
        said.nsec3 = None;
        said.flags &= Flags::CUT.0 | Flags::DNAME.0 | Flags::CNAME.0 | Flags::WILDCARD.0;
        if said.key.is_empty() {
            said.sets = Vec::new();
        }
        said
    };
    let apex_sets: Vec<_> = match key_of(&found.node).is_empty() {
        true => {
            let is_counted = |set: &RRset<'_>| !PartSet::is_of_serial(set.rtype());
            found.node.rrsets().filter(is_counted).map(|set| of_set(&set)).collect()
        }
        false => Vec::new(),
    };
    let wildcard = match found.kind {
        MatchKind::Encloser => zone.wildcard_below(&found).map(|node| said(&node)),
        _ => None,
    };
    (found.kind, found.labels, said(&found.node), apex_sets, wildcard)
}

/// A crawl: labels of the owner, and the RRset.
pub fn of_crawl(zone: &ZoneView<'_>) -> Vec<(bool, Vec<u8>, SaidOfSet)> {
    let (mut crawl, mut all, mut labels) = (Crawl::default(), Vec::new(), [0; 255]);
    loop {
        let again = crawl;
        let Some(step) = crawl.next(zone).unwrap() else { break };
        let length = step.owner.write_labels(&mut labels).unwrap();
        let mut again = again;
        let other = again.next(zone).unwrap().unwrap();
        assert_eq!((again, of_set(&other.rrset)), (crawl, of_set(&step.rrset)), "a copy is the way back");
        let is_name = matches!(step.owner, Owner::Name(_));
        all.push((is_name, labels[..length].to_vec(), of_set(&step.rrset)));
    }
    assert!(crawl.next(zone).unwrap().is_none(), "the end stays the end");
    all
}

/// Compares all that two views say. `names`: what is asked, beside all names that there are.
pub fn check_same(one: &ZoneView<'_>, other: &ZoneView<'_>, names: &[NameBuf]) {
    let numbers = |zone: &ZoneView<'_>| {
        let row = zone.row();
        (row.node_count, row.serial, row.record_count, row.negative_ttl, zone.denial() == Denial::None)
    };
    assert_eq!((one.apex(), numbers(one)), (other.apex(), numbers(other)));
    assert_eq!(one.denial(), other.denial());
    assert_eq!(one.nsec3_parameters(), other.nsec3_parameters());
    assert!(one.is_signed() || !other.is_signed());
    let all = |zone: &ZoneView<'_>| zone.nodes().map(|node| of_node(zone, &node)).collect::<Vec<_>>();
    let (a, b) = (all(one), all(other));
    for (a, b) in a.iter().zip(&b) {
        assert!(a == b, "{}", first_difference(&format!("{a:?}"), &format!("{b:?}")));
    }
    assert_eq!(a.len(), b.len());
    assert_eq!(of_crawl(one), of_crawl(other));
    for name in names {
        let (a, b) = (of_question(one, name), of_question(other, name));
        assert!(a == b, "{name}: {}", first_difference(&format!("{a:?}"), &format!("{b:?}")));
    }
    let numbers: BTreeSet<u32> = one.nodes().map(|node| node.number()).collect();
    assert_eq!(numbers.len(), a.len(), "each has a number of its own");
    for number in numbers {
        assert_eq!(one.node(number).map(|node| node.number()), Some(number));
    }
}

/// Where two texts part.
fn first_difference(one: &str, other: &str) -> String {
    let at = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| text[at.saturating_sub(200)..text.len().min(at + 200)].to_owned();
    format!("\n  {}\nis not\n  {}", part(one), part(other))
}

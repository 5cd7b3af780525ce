//! What can be wrong with a signed zone, on purpose.

use super::tree::{Set, Tree};
use super::{Draft, Key, Role, Signing};
use wire::iana::rtype;
use wire::{Name, NameBuf};

/// A fault and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// At this owner only.
    pub owner: Option<NameBuf>,
    /// At RRsets of this type only.
    pub rtype: Option<u16>,
}

/// What is wrong. Those that concern signatures apply to each RRset at which the fault is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The signature's time was over a day before it would have begun.
    Expired,
    /// The signature's time begins a day after it would have ended.
    NotYetValid,
    /// No signature.
    Missing,
    /// A bit of the signature is another.
    Broken,
    /// The field Labels has this number, and that is signed (RFC 4034 3.1.3).
    Labels(u8),
    /// The field Original TTL has this number, and that is signed.
    OriginalTtl(u32),
    /// The signer's name is this one; the key is the zone's.
    SignerName(NameBuf),
    /// Signed by this zone with its own key, if it is signed of the same seed: a parent, a sibling, a child.
    SignedBy(NameBuf),
    /// Signed by a key of this zone that is not in its DNSKEY RRset.
    UnknownKey,
    /// Signed by the revoked key, which says so.
    ByRevoked,
    /// So many signatures in place of one, of which the last one is right.
    Signatures(u16),
    /// Further DNSKEY records with the tag of the key that signs, before and after it in canonical order (KeyTrap).
    CollidingKeys(u16),
    /// The owner's NSEC record points at this name, in the zone or not, and that is signed.
    NextName(NameBuf),
    /// This type is missing in the owner's NSEC record, and that is signed. NSEC3 records are found by their owners.
    WithoutType(u16),
    /// Such a further DS record, of this tag and algorithm, that is of no key, stands first.
    StrangeDs(u16, u8),
    /// So many further DS records with tag, algorithm and digest type of the first, of no key, stand before it (HashTrap).
    CollidingDs(u16),
    /// All digests of DS records are wrong.
    WrongDigest,
}

impl FaultKind {
    /// This fault everywhere.
    pub fn everywhere(self) -> Fault {
        Fault { kind: self, owner: None, rtype: None }
    }

    /// This fault at one owner and type.
    pub fn at(self, owner: &Name, rtype: u16) -> Fault {
        Fault { kind: self, owner: Some(owner.to_owned()), rtype: Some(rtype) }
    }

    /// This fault at all RRsets of a type.
    pub fn at_type(self, rtype: u16) -> Fault {
        Fault { kind: self, owner: None, rtype: Some(rtype) }
    }
}

const DAY: u32 = 86_400;
/// Seeds tried for a key that a zone does not have: of the least table of keys, that of RSA, half are none of its.
const SEEDS: u64 = 64;

/// A key as `key`, that is none of those of the zone, in which a chance of four in the table of RSA would have it.
fn unknown_key(seed: u64, apex: &Name, key: &Key) -> Key {
    let of = |seed, role| Key::new(seed, apex, role, key.algorithm);
    let own = [Role::Ksk, Role::Zsk, Role::Standby].map(|role| of(seed, role).dnskey);
    let others = (0..SEEDS).map(|number| of(!seed ^ number << 32, key.role));
    others.into_iter().find(|other| !own.contains(&other.dnskey)).expect("each second one is not")
}

impl Fault {
    pub(super) fn is_at(&self, owner: &Name, rtype: u16) -> bool {
        self.owner.as_ref().is_none_or(|at| at.eq_ignore_case(owner))
            && self.rtype.is_none_or(|at| at == rtype)
    }

    pub(super) fn change_signature(&self, draft: &mut Draft, signing: &Signing, key: &Key) {
        let other = |apex: &Name, role| Some(Key::new(signing.seed, apex, role, key.algorithm));
        match &self.kind {
            FaultKind::Expired => {
                draft.expiration = draft.inception - DAY;
                draft.inception -= 2 * DAY;
            }
            FaultKind::NotYetValid => {
                draft.inception = draft.expiration + DAY;
                draft.expiration += 2 * DAY;
            }
            FaultKind::Missing => draft.is_missing = true,
            FaultKind::Broken => draft.is_broken = true,
            FaultKind::Labels(labels) => draft.labels = *labels,
            FaultKind::OriginalTtl(ttl) => draft.original_ttl = *ttl,
            FaultKind::SignerName(name) => draft.signer = name.clone(),
            FaultKind::SignedBy(apex) => {
                draft.signer = apex.clone();
                draft.other_key = other(apex, key.role);
            }
            FaultKind::UnknownKey => {
                draft.other_key = Some(unknown_key(signing.seed, &draft.signer, key));
            }
            FaultKind::ByRevoked => draft.other_key = other(&draft.signer.clone(), Role::Revoked),
            FaultKind::Signatures(count) => draft.copies = *count,
            _ => {}
        }
    }

    pub(super) fn add_keys(&self, keys: &[Key], dnskeys: &mut Vec<Vec<u8>>) {
        let FaultKind::CollidingKeys(count) = self.kind else { return };
        let signing = keys.iter().find(|key| key.role == Role::Zsk).or(keys.first());
        if let Some(key) = signing {
            dnskeys.extend((0..count).map(|number| key.colliding(number)));
        }
    }

    pub(super) fn change_records(&self, tree: &mut Tree) {
        for node in tree.nodes_mut() {
            for (&rtype, set) in &mut node.sets {
                if self.is_at(&node.name, rtype) {
                    self.change_denial(rtype, set);
                }
            }
        }
    }

    fn change_denial(&self, rtype: u16, set: &mut Set) {
        for rdata in set.rdatas.iter_mut() {
            let names_end = match rtype {
                rtype::NSEC => Name::split_from(rdata).map(|(next, _)| next.octets().len()).ok(),
                rtype::NSEC3 => rdata.get(4).map(|&salt| 5 + usize::from(salt) + 21),
                _ => None,
            };
            let Some(names_end) = names_end else { continue };
            match &self.kind {
                FaultKind::NextName(name) if rtype == rtype::NSEC => {
                    rdata.splice(..names_end, name.octets().iter().copied());
                }
                FaultKind::WithoutType(left_out) => {
                    let octets = rdata.split_off(names_end);
                    let types = dnssec::TypeBitmap::parse(&octets).expect("it was written here").types();
                    dnssec::bitmap::write_types(types.filter(|rtype| rtype != left_out), rdata);
                }
                _ => {}
            }
        }
    }

    pub(super) fn change_ds(&self, all: &mut Vec<Vec<u8>>) {
        match self.kind {
            FaultKind::StrangeDs(tag, algorithm) => {
                let [high, low] = tag.to_be_bytes();
                let mut rdata = vec![high, low, algorithm, 2];
                rdata.extend([0xee; 32]);
                all.insert(0, rdata);
            }
            FaultKind::CollidingDs(count) => {
                let Some(genuine) = all.first().cloned() else { return };
                let other = |number: u16| {
                    let mut rdata = genuine.clone();
                    let [high, low] = number.to_be_bytes();
                    (rdata[4], rdata[5], rdata[6]) = (0, high, low);
                    rdata
                };
                all.splice(0..0, (0..count).map(other));
            }
            FaultKind::WrongDigest => {
                for octet in all.iter_mut().filter_map(|rdata| rdata.last_mut()) {
                    *octet ^= 1;
                }
            }
            _ => {}
        }
    }
}

//! Signs zones for tests (RFC 4034, RFC 5155): records in, the same with keys, denial and signatures out.
//!
//! ```text
//! Records --tree--> names in canonical order --chain--> NSEC or NSEC3 --> every authoritative set gets its RRSIGs
//!                        what each is: apex, cut, below a cut                 `-- faults change them, on purpose
//! ```
//!
//! The walk shares no code with `zone` or the validator: it is what they are judged by. Parts of signatures that a validator
//! must look at can be made wrong one by one ([`Fault`]).

mod chain;
mod fault;
pub mod key;
#[cfg(test)]
mod tests;
mod tree;

pub use fault::{Fault, FaultKind};
pub use key::{Key, Role};

use crate::{BEGIN_UNIX_SECONDS, Records};
use dnssec::CanonicalSet;
use ring::digest;
use tree::{Kind, Set, Tree};
use wire::iana::{algorithm, class, rtype};
use wire::{Name, NameBuf};

/// How the absence of names is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// RFC 4034 4.
    Nsec,
    /// RFC 5155.
    Nsec3 {
        /// Hash rounds after the first.
        iterations: u16,
        /// At most 255 octets.
        salt: Vec<u8>,
        /// Whether delegations without DS are left out.
        opt_out: bool,
    },
    /// Not at all: no negative answer can be proved.
    None,
}

/// How a zone is signed.
#[derive(Clone, Debug)]
pub struct Signing {
    /// Keys come of it, the zone's name, role and algorithm.
    pub seed: u64,
    /// One set of keys, and one signature of each RRset, for each; see [`wire::iana::algorithm`].
    pub algorithms: Vec<u8>,
    /// The KSK signs all of the zone, and there is no ZSK.
    pub has_single_key: bool,
    /// There is a further key with a DS record, and nothing that it has signed.
    pub has_standby: bool,
    /// There is a revoked key that signs the DNSKEY RRset too.
    pub has_revoked: bool,
    /// How absence is proved.
    pub denial: Denial,
    /// First second of validity, since 1970.
    pub inception: u32,
    /// Last second of validity, since 1970.
    pub expiration: u32,
    /// TTL of the DNSKEY RRset.
    pub key_ttl: u32,
    /// Digest types of the DS records: 1, 2 and 4 as they are computed, others with octets that mean nothing.
    pub ds_digests: Vec<u8>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl Signing {
    /// Ed25519, KSK and ZSK, NSEC, DS with SHA-256; valid from a day before the begin of virtual time for a month.
    pub fn new(seed: u64) -> Signing {
        Signing {
            seed,
            algorithms: vec![algorithm::ED25519],
            has_single_key: false,
            has_standby: false,
            has_revoked: false,
            denial: Denial::Nsec,
            inception: BEGIN_UNIX_SECONDS - 86_400,
            expiration: BEGIN_UNIX_SECONDS + 30 * 86_400,
            key_ttl: 3600,
            ds_digests: vec![2],
            faults: Vec::new(),
        }
    }

    /// The same with a fault.
    pub fn with(mut self, fault: Fault) -> Signing {
        self.faults.push(fault);
        self
    }

    /// The keys that `apex` is signed with.
    pub fn keys(&self, apex: &Name) -> Vec<Key> {
        let mut roles = vec![Role::Ksk];
        roles.extend((!self.has_single_key).then_some(Role::Zsk));
        roles.extend(self.has_standby.then_some(Role::Standby));
        roles.extend(self.has_revoked.then_some(Role::Revoked));
        let of_algorithm = |&algorithm: &u8| {
            roles.iter().map(|&role| Key::new(self.seed, apex, role, algorithm)).collect::<Vec<_>>()
        };
        self.algorithms.iter().flat_map(of_algorithm).collect()
    }

    /// The RDATA of the DS records that the parent of `apex` has.
    pub fn ds(&self, apex: &Name) -> Vec<Vec<u8>> {
        let keys = self.keys(apex);
        let pointed_at = keys.iter().filter(|key| matches!(key.role, Role::Ksk | Role::Standby));
        let mut all = Vec::new();
        for key in pointed_at {
            all.extend(self.ds_digests.iter().map(|&digest_type| ds_of(apex, &key.dnskey, digest_type)));
        }
        for fault in &self.faults {
            fault.change_ds(&mut all);
        }
        all
    }
}

/// The RDATA of the DS record of a key (RFC 4034 5.1.4).
pub fn ds_of(apex: &Name, dnskey: &[u8], digest_type: u8) -> Vec<u8> {
    let of = |algorithm| {
        let mut context = digest::Context::new(algorithm);
        context.update(apex.to_lowercase().octets());
        context.update(dnskey);
        context.finish().as_ref().to_vec()
    };
    let octets = match digest_type {
        1 => of(&digest::SHA1_FOR_LEGACY_USE_ONLY),
        2 => of(&digest::SHA256),
        4 => of(&digest::SHA384),
        other => vec![other; 32],
    };
    let mut rdata = dnssec::key::key_tag(dnskey).to_be_bytes().to_vec();
    rdata.extend([dnskey.get(3).copied().unwrap_or(0), digest_type]);
    rdata.extend(octets);
    rdata
}

/// Signs a zone. What it had of DNSKEY, NSEC, NSEC3, NSEC3PARAM and RRSIG records goes. The error says which records cannot be signed: no SOA, or
/// none of the zone.
pub fn sign(zone: &Records, signing: &Signing) -> Result<Records, String> {
    let keys = signing.keys(&zone.apex);
    let mut tree = Tree::of(zone)?;
    let mut dnskeys: Vec<Vec<u8>> = keys.iter().map(|key| key.dnskey.clone()).collect();
    for fault in &signing.faults {
        fault.add_keys(&keys, &mut dnskeys);
    }
    tree.put(&zone.apex, rtype::DNSKEY, Set { ttl: signing.key_ttl, rdatas: dnskeys });
    match &signing.denial {
        Denial::Nsec => chain::add_nsec(&mut tree),
        Denial::Nsec3 { iterations, salt, opt_out } => {
            chain::add_nsec3(&mut tree, *iterations, salt, *opt_out)?;
        }
        Denial::None => {}
    }
    for fault in &signing.faults {
        fault.change_records(&mut tree);
    }
    let signer = Signer { signing, keys, apex: &zone.apex };
    let mut signed = Records { apex: zone.apex.clone(), list: Vec::new() };
    for node in tree.nodes() {
        for (&rtype, set) in &node.sets {
            set.rdatas.iter().for_each(|rdata| signed.push(&node.name, rtype, set.ttl, rdata));
            if node.kind.is_signed(rtype) {
                for signature in signer.signatures(&node.name, rtype, set) {
                    signed.push(&node.name, rtype::RRSIG, set.ttl, &signature);
                }
            }
        }
    }
    Ok(signed)
}

/// Signs one RRset as [`sign`] would: for tests that need a set and no zone. Returns the RDATA of its RRSIGs.
pub fn sign_set(
    apex: &Name,
    signing: &Signing,
    owner: &Name,
    rtype: u16,
    ttl: u32,
    rdatas: &[&[u8]],
) -> Vec<Vec<u8>> {
    let set = Set { ttl, rdatas: rdatas.iter().map(|rdata| rdata.to_vec()).collect() };
    Signer { signing, keys: signing.keys(apex), apex }.signatures(owner, rtype, &set)
}

struct Signer<'s> {
    signing: &'s Signing,
    keys: Vec<Key>,
    apex: &'s Name,
}

/// What a signature is made with; faults change it before.
pub(crate) struct Draft {
    labels: u8,
    original_ttl: u32,
    inception: u32,
    expiration: u32,
    signer: NameBuf,
    /// Signs in place of the zone's key.
    other_key: Option<Key>,
    /// The tag that is said in place of the key's.
    tag: Option<u16>,
    is_missing: bool,
    is_broken: bool,
    copies: u16,
}

impl Signer<'_> {
    /// The RDATA of the signatures of a set, one an algorithm; of the DNSKEY set, one a key that signs it.
    fn signatures(&self, owner: &Name, rtype: u16, set: &Set) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for key in self.keys.iter().filter(|key| self.signs(key, rtype)) {
            let mut draft = Draft {
                labels: (owner.label_count() - usize::from(owner.is_wildcard())) as u8,
                original_ttl: set.ttl,
                inception: self.signing.inception,
                expiration: self.signing.expiration,
                signer: self.apex.to_owned(),
                other_key: None,
                tag: None,
                is_missing: false,
                is_broken: false,
                copies: 1,
            };
            let faults = self.signing.faults.iter();
            for fault in faults.filter(|fault| fault.is_at(owner, rtype)) {
                fault.change_signature(&mut draft, self.signing, key);
            }
            if !draft.is_missing {
                all.extend(draft.finish(owner, rtype, set, key));
            }
        }
        all
    }

    fn signs(&self, key: &Key, rtype: u16) -> bool {
        match key.role {
            Role::Ksk => rtype == rtype::DNSKEY || self.signing.has_single_key,
            Role::Zsk => rtype != rtype::DNSKEY,
            Role::Standby => false,
            Role::Revoked => rtype == rtype::DNSKEY,
        }
    }
}

impl Draft {
    fn finish(self, owner: &Name, rtype: u16, set: &Set, key: &Key) -> Vec<Vec<u8>> {
        let key = self.other_key.as_ref().unwrap_or(key);
        let mut rdata = rtype.to_be_bytes().to_vec();
        rdata.extend([key.algorithm, self.labels]);
        for word in [self.original_ttl, self.expiration, self.inception] {
            rdata.extend(word.to_be_bytes());
        }
        rdata.extend(self.tag.unwrap_or(key.tag).to_be_bytes());
        rdata.extend(self.signer.to_lowercase().octets());
        let mut message = rdata.clone();
        let signed_owner = owner_as_signed(owner, self.labels);
        let mut records = CanonicalSet::new();
        records.fill(rtype, set.rdatas.iter().map(|rdata| &rdata[..]));
        for (_, record) in records.records() {
            message.extend(signed_owner.octets());
            message.extend(rtype.to_be_bytes());
            message.extend(class::IN.to_be_bytes());
            message.extend(self.original_ttl.to_be_bytes());
            message.extend((record.len() as u16).to_be_bytes());
            message.extend(record);
        }
        let mut signature = key.sign(&message);
        if self.is_broken {
            let middle = signature.len() / 2;
            signature[middle] ^= 1;
        }
        rdata.extend(signature);
        // Copies differ in their last octets, so that they are records of their own; the last one is right.
        let copy = |number: u16| {
            let mut copy = rdata.clone();
            let at = copy.len() - 2;
            let [high, low] = number.to_be_bytes();
            (copy[at], copy[at + 1]) = (copy[at] ^ high, copy[at + 1] ^ low);
            copy
        };
        (0..self.copies).rev().map(copy).collect()
    }
}

/// The owner that is signed (RFC 4035 5.3.2): with fewer labels than it has, the wildcard that it was made from.
fn owner_as_signed(owner: &Name, labels: u8) -> NameBuf {
    let own = owner.label_count() - usize::from(owner.is_wildcard());
    let Some(above) = own.checked_sub(usize::from(labels)).filter(|&above| above > 0) else {
        return owner.to_lowercase();
    };
    let above = above + usize::from(owner.is_wildcard());
    let encloser = (0..above).fold(owner, |name, _| name.parent().unwrap_or(Name::root()));
    let mut octets = b"\x01*".to_vec();
    octets.extend(encloser.to_lowercase().octets());
    Name::trusted(&octets).to_owned()
}

impl Kind {
    /// Whether sets of this type are signed at such a name (RFC 4035 2.2).
    fn is_signed(self, rtype: u16) -> bool {
        match self {
            Kind::Own => true,
            Kind::Cut => matches!(rtype, rtype::DS | rtype::NSEC),
            Kind::Occluded => false,
        }
    }
}

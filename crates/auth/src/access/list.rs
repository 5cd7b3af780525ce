//! One access list: whom it lets in.

use super::prefix::Prefix;
use super::ranges::{Range, Ranges};
use super::{Asker, Decision, KEYS_MAX, PREFIXES_MAX};
use std::collections::HashMap;
use std::net::IpAddr;
use wire::{NameBuf, Transport};

/// What a list is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListSource {
    /// Prefixes, and whether each is excluded. The longest that covers an address decides; what none covers is not in. None: any address.
    pub prefixes: Vec<(Prefix, bool)>,
    /// Keys of which one must have signed the request; none: it may be signed or not.
    pub keys: Vec<NameBuf>,
    /// How the request must have come; none: any way.
    pub transports: Vec<Transport>,
    /// The client must have shown that it receives at its address.
    pub must_be_proved: bool,
}

/// Why there is no such list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFault {
    /// More than [`PREFIXES_MAX`].
    TooManyPrefixes,
    /// More than [`KEYS_MAX`].
    TooManyKeys,
    /// The prefix of the second number is that of the first.
    Twice(usize, usize),
    /// All prefixes are excluded, which leaves nobody.
    NobodyLeft,
}

/// A list; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    addresses: Option<Addresses>,
    keys: Box<[NameBuf]>,
    /// A bit for each transport.
    transports: u8,
    must_be_proved: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Addresses {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

impl List {
    /// Compiles a list.
    pub fn new(source: &ListSource) -> Result<List, ListFault> {
        let prefixes = &source.prefixes;
        if prefixes.len() > PREFIXES_MAX {
            return Err(ListFault::TooManyPrefixes);
        }
        if source.keys.len() > KEYS_MAX {
            return Err(ListFault::TooManyKeys);
        }
        let mut seen = HashMap::with_capacity(prefixes.len());
        for (at, (prefix, _)) in prefixes.iter().enumerate() {
            if let Some(before) = seen.insert(*prefix, at) {
                return Err(ListFault::Twice(before, at));
            }
        }
        if !prefixes.is_empty() && prefixes.iter().all(|(_, is_excluded)| *is_excluded) {
            return Err(ListFault::NobodyLeft);
        }
        let all = source.transports.is_empty();
        let transports = source.transports.iter().fold(0, |bits, transport| bits | bit(*transport));
        Ok(List {
            addresses: (!prefixes.is_empty()).then(|| Addresses::new(prefixes)),
            keys: source.keys.clone().into(),
            transports: if all { u8::MAX } else { transports },
            must_be_proved: source.must_be_proved,
        })
    }

    /// Whether the list lets a client in, whose address is no mapped one.
    pub(super) fn decide(&self, asker: &Asker<'_>) -> Decision {
        let has_key = || asker.key.is_some_and(|key| self.keys.iter().any(|own| own.eq_ignore_case(key)));
        let fits = self.transports & bit(asker.transport) != 0
            && (self.keys.is_empty() || has_key())
            && self.addresses.as_ref().is_none_or(|addresses| addresses.have(asker.address));
        match fits {
            false => Decision::Denied,
            true if self.must_be_proved && !asker.is_proved => Decision::Unproved,
            true => Decision::Allowed,
        }
    }
}

fn bit(transport: Transport) -> u8 {
    1 << transport as u8
}

impl Addresses {
    fn new(prefixes: &[(Prefix, bool)]) -> Addresses {
        let v4 = prefixes.iter().filter_map(|(prefix, is_excluded)| range(prefix.v4()?, *is_excluded));
        let v6 = prefixes.iter().filter_map(|(prefix, is_excluded)| range(prefix.v6()?, *is_excluded));
        Addresses {
            v4: Ranges::new(v4.collect(), |address| address.checked_add(1)),
            v6: Ranges::new(v6.collect(), |address| address.checked_add(1)),
        }
    }

    fn have(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(v4) => self.v4.has(v4.to_bits()),
            IpAddr::V6(v6) => self.v6.has(v6.to_bits()),
        }
    }
}

fn range<T>((first, last): (T, T), is_excluded: bool) -> Option<Range<T>> {
    Some(Range { first, last, is_in: !is_excluded })
}

//! Whom to ask of a zone's servers: what is known of where they are, and which is best now.
//!
//! ```text
//! Candidates   addresses: [ address, port | times asked | left out? | endpoint of the settings ]   at most 24
//!              names:     those without an address: names one after the other, at most 1 KiB, and what of each was sought
//! ```
//!
//! Each candidate has a value in milliseconds, and the least is asked; `docs/design/iteration.md` 2 has the table.

use std::net::{IpAddr, SocketAddr};

use cache::{Moment, Quality, Servers};
use wire::Name;
use wire::iana::rtype;

use crate::ask::network::Network;
use crate::limits::{
    CANDIDATES_MAX, CROWD, EXPLORED_ONE_IN, LAST_CHOICE_MS, NAMES_OCTETS_MAX, SOUGHT_MAX, TIMEOUT_PENALTY_MS,
    TRIES_MAX, UNKNOWN_MS_MAX, WINDOW_CONFIGURED, WINDOW_MAX, WINDOW_MIN, WINDOW_UNHEARD,
};

/// A server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub address: SocketAddr,
    /// How often it was asked in this zone.
    pub tried: u8,
    /// It is of no use for this zone.
    pub is_out: bool,
    /// Its number among the servers that settings name for the zone.
    pub endpoint: Option<u16>,
}

impl Candidate {
    /// How many questions it may have in flight after so many time-outs in a row.
    fn window(&self, quality: &Quality, timeouts: u8) -> u16 {
        let most = match self.endpoint {
            Some(_) => return WINDOW_CONFIGURED,
            None if quality.is_measured() => WINDOW_MAX,
            None => WINDOW_UNHEARD,
        };
        (most >> u32::from(timeouts).min(15)).max(WINDOW_MIN)
    }
}

/// A name of a server without address.
#[derive(Clone, Copy, Debug)]
struct Unknown {
    /// Where its name begins.
    at: u16,
    /// Address types not sought yet: A, AAAA.
    unsought: [bool; 2],
    /// What came of it.
    fruit: Fruit,
}

/// What came of seeking a name's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fruit {
    /// It was not sought.
    Unknown,
    /// It is being sought.
    Sought,
    /// It is there and has none of one type: the other one is next.
    OtherType,
    /// An address that others do not have.
    Address,
    /// None, or none that was not known.
    None,
}

/// The servers of a zone that a task may ask: addresses, and names without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    addresses: Vec<Candidate>,
    names: Vec<u8>,
    unknown: Vec<Unknown>,
    /// Addresses sought so far.
    sought: u8,
    /// Names without address that there are, those for which there was no room too.
    nameless: u8,
}

/// What [`Candidates::choose`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// This one, by its number; and how it behaves.
    Ask(usize, Quality),
    /// Not now, but soon: no network, or all servers are busy, such as the one with this number.
    Later(Option<usize>),
    /// Nobody is left.
    None,
}

/// What is known beside the candidates when one is chosen.
pub(crate) struct Circumstances<'a> {
    pub zone: &'a Name,
    pub servers: &'a Servers,
    pub network: &'a Network,
    pub now: Moment,
}

impl Candidates {
    /// Forgets all, for another zone.
    pub(crate) fn clear(&mut self) {
        self.addresses.clear();
        self.names.clear();
        self.unknown.clear();
        (self.sought, self.nameless) = (0, 0);
    }

    /// Takes an address, if there is room and it is not there yet. Whether it is new.
    pub(crate) fn add(&mut self, address: SocketAddr, endpoint: Option<u16>) -> bool {
        let is_known = self.addresses.iter().any(|candidate| candidate.address == address);
        if !is_known && self.addresses.len() < CANDIDATES_MAX {
            self.addresses.push(Candidate { address, tried: 0, is_out: false, endpoint });
        }
        !is_known
    }

    /// Takes a name that has no address of these types (A, AAAA) yet.
    pub(crate) fn add_name(&mut self, name: &Name, unsought: [bool; 2]) {
        if unsought == [false; 2] {
            return;
        }
        self.nameless = self.nameless.saturating_add(1);
        if self.names.len() + name.octets().len() <= NAMES_OCTETS_MAX {
            let at = self.names.len() as u16;
            self.unknown.push(Unknown { at, unsought, fruit: Fruit::Unknown });
            self.names.extend_from_slice(name.octets());
        }
    }

    /// The next name and type that is to be sought: the other type of a name that has none of the first, else a name of which nothing was sought.
    /// `vain`: how many names of one domain may be sought in vain, and of all; further names of that domain, or any, are as good as nothing.
    pub(crate) fn next_sought(&mut self, vain: [usize; 2]) -> Option<(&Name, u16)> {
        if self.sought >= SOUGHT_MAX {
            return None;
        }
        let worth = |unknown: &Unknown| match unknown.fruit {
            Fruit::OtherType => 3,
            _ => unknown.unsought.iter().filter(|is| **is).count(),
        };
        // Of a name that is being sought it is not known yet whether the other type is worth a question.
        let is_left = |unknown: &Unknown| unknown.unsought != [false; 2] && unknown.fruit != Fruit::Sought;
        let wanted = |unknown: &Unknown| is_left(unknown) && self.is_hopeful(unknown, vain);
        let places = (0..self.unknown.len()).filter(|at| wanted(&self.unknown[*at]));
        let best = places.max_by_key(|at| worth(&self.unknown[*at]))?;
        let best = &mut self.unknown[best];
        let family = usize::from(!best.unsought[0]);
        best.unsought[family] = false;
        best.fruit = Fruit::Sought;
        self.sought += 1;
        let at = usize::from(best.at);
        let (name, _) = Name::split_from(self.names.get(at..)?).ok()?;
        Some((name, [rtype::A, rtype::AAAA][family]))
    }

    /// Whether fewer names than that of its domain, and of all, were sought in vain, or may turn out so (NXNSAttack, NRDelegation: hundreds of names of a
    /// victim's zone). Where one of a domain was, a server of that domain that refuses counts as well; of a crowd it does at once, and one is enough.
    fn is_hopeful(&self, unknown: &Unknown, [of_domain, of_all]: [usize; 2]) -> bool {
        let is_crowd = self.nameless > CROWD;
        let of_domain = if is_crowd { 1 } else { of_domain };
        let domain = self.name_of(unknown).and_then(|name| name.parent());
        let (mut same, mut same_out, mut all) = (0, 0, 0);
        let are_out = !self.addresses.is_empty() && self.addresses.iter().all(|candidate| candidate.is_out);
        for other in self.unknown.iter().filter(|other| other.at != unknown.at) {
            let of_other = self.name_of(other).and_then(|name| name.parent());
            let is_same = domain.zip(of_other).is_some_and(|(one, other)| one.eq_ignore_case(other));
            match other.fruit {
                Fruit::None | Fruit::Sought => {
                    all += 1;
                    same += usize::from(is_same);
                }
                Fruit::Address if are_out => same_out += usize::from(is_same),
                _ => {}
            }
        }
        same + if same > 0 || is_crowd { same_out } else { 0 } < of_domain && all < of_all
    }

    fn name_of(&self, unknown: &Unknown) -> Option<&Name> {
        let rest = self.names.get(usize::from(unknown.at)..)?;
        Name::split_from(rest).ok().map(|(name, _)| name)
    }

    /// Whether a name of a server is among those without address.
    pub(crate) fn has_name(&self, name: &Name) -> bool {
        self.place_of(name).is_some()
    }

    fn place_of(&self, name: &Name) -> Option<usize> {
        let is_it = |unknown: &Unknown| self.name_of(unknown).is_some_and(|known| known.eq_ignore_case(name));
        self.unknown.iter().position(is_it)
    }

    /// What came of seeking a name. `is_there`: it exists, though perhaps without such addresses; `addresses`: how many came, and how many of them are new.
    pub(crate) fn came_to(&mut self, name: &Name, is_there: bool, addresses: [usize; 2]) {
        let Some(unknown) = self.place_of(name).and_then(|at| self.unknown.get_mut(at)) else { return };
        unknown.fruit = match addresses {
            _ if unknown.fruit == Fruit::Address => Fruit::Address,
            [_, new] if new > 0 => Fruit::Address,
            [0, 0] if is_there && unknown.unsought != [false; 2] => Fruit::OtherType,
            _ => Fruit::None,
        };
        if unknown.fruit == Fruit::None {
            unknown.unsought = [false; 2];
        }
    }

    /// Whether a candidate is known as one that does not serve the zone.
    pub(crate) fn is_lame(&self, number: usize, zone: &Name, servers: &Servers, now: Moment) -> bool {
        let candidate = self.addresses.get(number);
        candidate.is_some_and(|candidate| servers.is_lame(&candidate.address, zone, now))
    }

    /// How many questions a server may have in flight, for a zone. None where it is not one of these.
    pub(crate) fn window(&self, server: &SocketAddr, zone: &Name, servers: &Servers) -> u16 {
        let candidate = self.addresses.iter().find(|candidate| candidate.address == *server);
        let quality = servers.read(server);
        candidate.map_or(0, |one| one.window(&quality, quality.timeouts_for(servers.zone(zone))))
    }

    /// Where the one with this number is.
    pub(crate) fn address(&self, number: usize) -> Option<SocketAddr> {
        Some(self.addresses.get(number)?.address)
    }

    /// Whether a server is one of these.
    pub(crate) fn has(&self, server: &SocketAddr) -> bool {
        self.addresses.iter().any(|candidate| candidate.address == *server)
    }

    /// It is being asked.
    pub(crate) fn tried(&mut self, number: usize) -> Option<Candidate> {
        let candidate = self.addresses.get_mut(number)?;
        candidate.tried = candidate.tried.saturating_add(1);
        Some(*candidate)
    }

    /// The same for one of which the address is known.
    pub(crate) fn tried_again(&mut self, server: &SocketAddr) -> Option<Candidate> {
        let number = self.addresses.iter().position(|candidate| candidate.address == *server)?;
        self.tried(number)
    }

    /// It was not asked after all.
    pub(crate) fn untried(&mut self, server: &SocketAddr) {
        if let Some(candidate) = self.addresses.iter_mut().find(|candidate| candidate.address == *server) {
            candidate.tried = candidate.tried.saturating_sub(1);
        }
    }

    /// A server is of no use for this zone.
    pub(crate) fn leave_out(&mut self, server: &SocketAddr) {
        let is_it = |candidate: &&mut Candidate| candidate.address == *server;
        self.addresses.iter_mut().filter(is_it).for_each(|candidate| candidate.is_out = true);
    }

    /// All may be asked again, for another name.
    pub(crate) fn try_again(&mut self) {
        self.addresses.iter_mut().for_each(|candidate| (candidate.tried, candidate.is_out) = (0, false));
    }

    /// Whether there is anybody left to ask.
    pub(crate) fn has_more(&self) -> bool {
        let is_left = |one: &Candidate| !one.is_out && one.tried < TRIES_MAX;
        self.addresses.iter().any(is_left) || self.unknown.iter().any(|one| one.unsought != [false; 2])
    }

    /// Whether each of the servers was asked, or is of no use.
    pub(crate) fn are_all_tried(&self) -> bool {
        self.addresses.iter().all(|one| one.is_out || one.tried > 0)
            && self.unknown.iter().all(|one| one.unsought == [false; 2])
    }

    /// Whether nothing is known of where the servers are.
    pub(crate) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether no more than one address is left to be asked in this visit.
    pub(crate) fn is_only_one(&self) -> bool {
        self.addresses.iter().filter(|candidate| !candidate.is_out).count() <= 1
    }

    /// The best to be asked now. `random`: 64 bits; `in_flight`: questions that a server has not answered.
    pub(crate) fn choose(
        &self,
        given: &Circumstances<'_>,
        in_flight: impl Fn(&SocketAddr) -> u16,
        mut random: u64,
    ) -> Choice {
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below.max(1)
        };
        let explores = draw(EXPLORED_ONE_IN) == 0;
        let (mut best, mut is_later, mut busy) = (None::<(u64, usize, Quality)>, false, None);
        let zone = given.servers.zone(given.zone);
        for (number, candidate) in self.addresses.iter().enumerate() {
            let server = &candidate.address;
            if candidate.is_out || candidate.tried >= TRIES_MAX {
                continue;
            }
            let quality = given.servers.read(server);
            let timeouts = quality.timeouts_for(zone);
            let window = candidate.window(&quality, timeouts);
            if given.network.is_down(server, given.now) {
                is_later = true;
                continue;
            }
            if in_flight(server) >= window {
                busy = busy.or(Some(number));
                continue;
            }
            let round_trip_ms = u64::from(quality.rtt_us) / 1000;
            let mut value = match quality.is_measured() {
                _ if explores => draw(TIMEOUT_PENALTY_MS),
                true => round_trip_ms + draw(round_trip_ms / 8 + 2),
                false => 1 + draw(UNKNOWN_MS_MAX),
            };
            value += TIMEOUT_PENALTY_MS * u64::from(timeouts.min(8));
            // Within one visit each is asked once before any is asked again.
            value += TIMEOUT_PENALTY_MS * u64::from(candidate.tried);
            let is_better = |value: u64| best.as_ref().is_none_or(|(least, ..)| value < *least);
            if !is_better(value) {
                continue;
            }
            let is_suspect = given.network.is_suspect(server, given.now);
            if quality.is_backed_off(zone, given.now)
                || is_suspect
                || given.servers.is_lame(server, given.zone, given.now)
            {
                value += LAST_CHOICE_MS;
            }
            if is_better(value) {
                best = Some((value, number, quality));
            }
        }
        match best {
            Some((_, number, quality)) => Choice::Ask(number, quality),
            None if is_later || busy.is_some() => Choice::Later(busy),
            None => Choice::None,
        }
    }

    /// Octets that it has on the heap.
    #[cfg(test)]
    pub(crate) fn octets(&self) -> usize {
        self.addresses.capacity() * size_of::<Candidate>()
            + self.names.capacity()
            + self.unknown.capacity() * size_of::<Unknown>()
    }
}

/// The address that RDATA of A or AAAA is.
pub(crate) fn address_of(rtype: u16, rdata: &[u8]) -> Option<IpAddr> {
    match rtype {
        rtype::A => <[u8; 4]>::try_from(rdata).ok().map(IpAddr::from),
        rtype::AAAA => <[u8; 16]>::try_from(rdata).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

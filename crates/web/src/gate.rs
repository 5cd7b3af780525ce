//! Who has a place among the connections.
//!
//! A connection is *incomplete* until the head of a request is there, and *idle* once one was answered, where it may have more. When all places are taken, or all that a
//! client network may have, the oldest incomplete one makes room, and if there is none the oldest idle one: whoever sends slowly goes before whoever asks. Those that
//! wait for numbers leave some places free, so that a probe is answered whatever happens to these.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// At a time.
    pub(crate) places: usize,
    /// Of one client network.
    pub(crate) places_a_client: usize,
    /// That those who wait for numbers leave to probes.
    pub(crate) places_of_probes: usize,
}

/// Bits that make an IPv6 client network: what one customer has as a rule. Of IPv4 it is one address.
const CLIENT_BITS_V6: u32 = 56;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not known yet.
    Incomplete,
    /// Nothing, after a request that was answered.
    Idle,
    /// Numbers.
    Numbers,
    /// Anything else, which is answered at once.
    Other,
}

#[derive(Debug)]
struct Place {
    number: u64,
    client: IpAddr,
    state: State,
}

/// The places, in the order in which they were taken.
#[derive(Debug)]
pub(crate) struct Gate {
    bounds: Bounds,
    places: Vec<Place>,
    taken: u64,
}

/// A place that was given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// Of the connection.
    pub(crate) number: u64,
    /// The connection that has lost its place for that.
    pub(crate) displaced: Option<u64>,
}

impl Gate {
    pub(crate) fn new(bounds: Bounds) -> Gate {
        Gate { bounds, places: Vec::new(), taken: 0 }
    }

    /// Gives a connection a place. `None`: there is none.
    pub(crate) fn admit(&mut self, address: IpAddr) -> Option<Admitted> {
        let client = client(address);
        let of_client = self.places.iter().filter(|place| place.client == client).count();
        let displaced = if of_client >= self.bounds.places_a_client {
            Some(self.displace(|place| place.client == client)?)
        } else if self.places.len() >= self.bounds.places {
            Some(self.displace(|_| true)?)
        } else {
            None
        };
        self.taken += 1;
        self.places.push(Place { number: self.taken, client, state: State::Incomplete });
        Some(Admitted { number: self.taken, displaced })
    }

    /// The head of a connection's request is there. `false`: numbers are wanted, and too many wait for these.
    pub(crate) fn complete(&mut self, number: u64, are_numbers_wanted: bool) -> bool {
        let waiting = self.places.iter().filter(|place| place.state == State::Numbers).count();
        let waiting_max = self.bounds.places - self.bounds.places_of_probes;
        let Some(place) = self.places.iter_mut().find(|place| place.number == number) else { return false };
        let may_wait = are_numbers_wanted && waiting < waiting_max;
        place.state = if may_wait { State::Numbers } else { State::Other };
        may_wait || !are_numbers_wanted
    }

    /// Its request is answered, and another may come.
    pub(crate) fn idle(&mut self, number: u64) {
        self.places
            .iter_mut()
            .filter(|place| place.number == number)
            .for_each(|place| place.state = State::Idle);
    }

    /// A connection is over.
    pub(crate) fn leave(&mut self, number: u64) {
        self.places.retain(|place| place.number != number);
    }

    /// Takes the place of the oldest incomplete connection of these, else of the oldest idle one.
    fn displace(&mut self, is_one: impl Fn(&Place) -> bool) -> Option<u64> {
        let oldest = |state| self.places.iter().position(|place| place.state == state && is_one(place));
        let at = oldest(State::Incomplete).or_else(|| oldest(State::Idle))?;
        Some(self.places.remove(at).number)
    }
}

/// The network of a client, by its first address.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !(u128::MAX >> CLIENT_BITS_V6))),
    }
}

/// Whether an address is in a network: its first address, and how many of its bits count.
pub(crate) fn is_in(address: IpAddr, (network, length): (IpAddr, u8)) -> bool {
    let differ = match (address.to_canonical(), network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => leading(address, network),
        (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits() ^ network.to_bits()).leading_zeros(),
        _ => return false,
    };
    differ >= u32::from(length)
}

/// How many of the first bits are the same.
fn leading(one: Ipv4Addr, other: Ipv4Addr) -> u32 {
    (one.to_bits() ^ other.to_bits()).leading_zeros()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PLACES: usize = 64;
    const PLACES_A_CLIENT: usize = 8;
    const PLACES_OF_PROBES: usize = 8;

    fn gate() -> Gate {
        Gate::new(Bounds {
            places: PLACES,
            places_a_client: PLACES_A_CLIENT,
            places_of_probes: PLACES_OF_PROBES,
        })
    }

    fn v4(last: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0xc000_0200 + last))
    }

    /// Slow clients, from however many addresses, do not keep others out.
    #[test]
    fn the_oldest_incomplete_makes_room() {
        let mut gate = gate();
        let admitted: Vec<Admitted> = (0..PLACES as u32).map(|at| gate.admit(v4(at)).unwrap()).collect();
        assert!(admitted.iter().all(|admitted| admitted.displaced.is_none()));
        assert!(gate.complete(admitted[0].number, false));
        assert_eq!(gate.admit(v4(1000)).unwrap().displaced, Some(admitted[1].number));
        assert_eq!(gate.places.len(), PLACES);
        assert!(!gate.complete(admitted[1].number, false), "it has none any more");
    }

    #[test]
    fn a_client_has_its_share() {
        let mut gate = gate();
        let first = gate.admit(v4(1)).unwrap();
        (1..PLACES_A_CLIENT).for_each(|_| assert!(gate.admit(v4(1)).unwrap().displaced.is_none()));
        assert_eq!(gate.admit(v4(1)).unwrap().displaced, Some(first.number));
        assert!(gate.admit(v4(2)).unwrap().displaced.is_none());
        // All of them ask: the next one has to wait for its turn.
        let numbers: Vec<u64> = gate.places.iter().map(|place| place.number).collect();
        numbers.into_iter().for_each(|number| assert!(gate.complete(number, true)));
        assert_eq!(gate.admit(v4(1)), None);
        // Of IPv6 a network.
        let v6 = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(client(v6("2001:db8:0:ab::1")), client(v6("2001:db8:0:cd::2")));
        assert_ne!(client(v6("2001:db8:0:ab::1")), client(v6("2001:db8:0:100::1")));
        assert_eq!(client(v6("::ffff:192.0.2.1")), v4(1));
    }

    #[test]
    fn numbers_leave_places_to_probes() {
        let mut gate = gate();
        let all: Vec<u64> = (0..PLACES as u32).map(|at| gate.admit(v4(at)).unwrap().number).collect();
        let admitted = all.iter().filter(|number| gate.complete(**number, true)).count();
        assert_eq!(admitted, PLACES - PLACES_OF_PROBES);
        all[admitted..].iter().for_each(|number| gate.leave(*number));
        assert!(gate.admit(v4(1000)).unwrap().displaced.is_none());
    }

    /// Who asks is never cut off for who does not; who is idle goes after who sends slowly.
    #[test]
    fn idle_ones_make_room_last() {
        let mut gate = gate();
        let all: Vec<u64> = (0..PLACES as u32).map(|at| gate.admit(v4(at)).unwrap().number).collect();
        all[..PLACES - 1].iter().for_each(|number| assert!(gate.complete(*number, false)));
        gate.idle(all[3]);
        gate.idle(all[2]);
        let displaced = [1000, 1001].map(|at| gate.admit(v4(at)).unwrap());
        assert_eq!(
            displaced.each_ref().map(|one| one.displaced),
            [Some(all[PLACES - 1]), Some(displaced[0].number)]
        );
        assert!(gate.complete(displaced[1].number, false));
        let displaced = [1002, 1003].map(|at| {
            let admitted = gate.admit(v4(at)).unwrap();
            assert!(gate.complete(admitted.number, false));
            admitted.displaced
        });
        assert_eq!(displaced, [Some(all[2]), Some(all[3])]);
        assert_eq!(gate.admit(v4(1004)), None);
    }

    #[test]
    fn networks() {
        let network = |text: &str, length| (text.parse::<IpAddr>().unwrap(), length);
        assert!(is_in(v4(129), network("192.0.2.128", 25)) && !is_in(v4(127), network("192.0.2.128", 25)));
        assert!(is_in(v4(1), network("0.0.0.0", 0)) && !is_in(v4(1), network("::", 0)));
        assert!(is_in("::ffff:192.0.2.1".parse().unwrap(), network("192.0.2.1", 32)));
        assert!(is_in("::1".parse().unwrap(), network("::1", 128)));
        assert!(!is_in("::2".parse().unwrap(), network("::1", 128)));
    }
}

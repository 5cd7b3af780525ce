//! Requests that wait for their signature to be verified: how many there may be, and whose turn it is.
//!
//! ```text
//! enter: places of all, of unproved clients, of one client network      no place: refused
//! next:  the oldest of whom there is a verification left in this second: of all, of unproved clients, of its network
//! ```
//!
//! Knows neither requests nor clocks: moments are arguments, and never go backwards.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// Requests that wait: half a second of verifications, so that nobody waits longer than clients do before they ask again. With messages of the largest kind
/// they take 16 MiB.
pub(super) const WAITING_MAX: usize = 256;
/// Of these, for clients that have not shown that they receive at their addresses: whoever forges addresses leaves room for those that came over TCP or have a cookie.
pub(super) const WAITING_UNPROVED_MAX: usize = WAITING_MAX / 2;
/// Of one client network: what a client sends at once that has many names to register.
pub(super) const WAITING_PER_NETWORK_MAX: usize = 32;
/// Verifications a second: with keys of 4,096 bits (RSA) or P-384 some 0.2 ms each, so a tenth of a processor at most.
pub(super) const PER_SECOND: u32 = 500;
/// Of these, for clients that are not proved.
pub(super) const PER_SECOND_UNPROVED: u32 = PER_SECOND / 2;
/// Of one client network.
pub(super) const PER_SECOND_NETWORK: u32 = 100;
/// How much of a second's verifications may be done at once, after a pause.
const BURST: Duration = Duration::from_millis(200);
/// Networks that are remembered before those are forgotten that could do all again: as many as can be verified for within a burst, some times over.
const NETWORKS_KEPT: usize = 4 * WAITING_MAX;

/// There is no place; of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    All,
    Unproved,
    Network,
}

/// Whose turn it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<T> {
    /// It is to be verified now.
    Turn(T),
    /// Nobody's before this time has passed.
    After(Duration),
    /// Nobody waits.
    Nobody,
}

/// See the module.
pub(super) struct Waiting<T> {
    /// The oldest first.
    queue: VecDeque<Entry<T>>,
    unproved: usize,
    all_pace: Pace,
    unproved_pace: Pace,
    networks: HashMap<IpAddr, Network>,
}

struct Entry<T> {
    network: IpAddr,
    is_proved: bool,
    thing: T,
}

struct Network {
    waiting: usize,
    pace: Pace,
}

/// At most so many a second: each takes its part of the second, and a burst may run ahead of the time.
#[derive(Clone, Copy, Debug)]
struct Pace {
    each: Duration,
    /// When all that was taken is paid for.
    until: Duration,
}

impl Pace {
    fn new(per_second: u32) -> Pace {
        Pace { each: Duration::from_secs(1) / per_second, until: Duration::ZERO }
    }

    /// How long nothing may be taken.
    fn wait(&self, now: Duration) -> Duration {
        (self.until + self.each).saturating_sub(now + BURST)
    }

    fn take(&mut self, now: Duration) {
        self.until = self.until.max(now) + self.each;
    }

    /// Whether it is as it was at first.
    fn is_rested(&self, now: Duration) -> bool {
        self.until <= now
    }
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Waiting<T> {
        let (all_pace, unproved_pace) = (Pace::new(PER_SECOND), Pace::new(PER_SECOND_UNPROVED));
        Waiting { queue: VecDeque::new(), unproved: 0, all_pace, unproved_pace, networks: HashMap::new() }
    }

    /// Whether there is no place for something of a client network, and of whom.
    pub(super) fn full(&self, network: IpAddr, is_proved: bool) -> Option<Full> {
        let of_network = self.networks.get(&network).map_or(0, |network| network.waiting);
        if self.queue.len() >= WAITING_MAX {
            Some(Full::All)
        } else if !is_proved && self.unproved >= WAITING_UNPROVED_MAX {
            Some(Full::Unproved)
        } else {
            (of_network >= WAITING_PER_NETWORK_MAX).then_some(Full::Network)
        }
    }

    /// Takes something of a client network in, which has a place.
    pub(super) fn enter(&mut self, network: IpAddr, is_proved: bool, thing: T, now: Duration) {
        debug_assert_eq!(self.full(network, is_proved), None, "a place");
        if self.networks.len() >= NETWORKS_KEPT {
            self.networks.retain(|_, network| network.waiting > 0 || !network.pace.is_rested(now));
        }
        let of_network = self.networks.entry(network);
        of_network.or_insert_with(|| Network { waiting: 0, pace: Pace::new(PER_SECOND_NETWORK) }).waiting +=
            1;
        self.unproved += usize::from(!is_proved);
        self.queue.push_back(Entry { network, is_proved, thing });
    }

    /// Whose turn it is; that one waits no more. Looks at each that waits at most once.
    pub(super) fn next(&mut self, now: Duration) -> Next<T> {
        if self.queue.is_empty() {
            return Next::Nobody;
        }
        let wait = self.all_pace.wait(now);
        if !wait.is_zero() {
            return Next::After(wait);
        }
        let mut least = Duration::MAX;
        let turn = self.queue.iter().position(|entry| {
            let wait = self.wait_of(entry, now);
            least = least.min(wait);
            wait.is_zero()
        });
        let Some(entry) = turn.and_then(|at| self.queue.remove(at)) else { return Next::After(least) };
        self.all_pace.take(now);
        if !entry.is_proved {
            self.unproved -= 1;
            self.unproved_pace.take(now);
        }
        if let Some(network) = self.networks.get_mut(&entry.network) {
            network.waiting -= 1;
            network.pace.take(now);
        }
        Next::Turn(entry.thing)
    }

    fn wait_of(&self, entry: &Entry<T>, now: Duration) -> Duration {
        let of_network = self.networks.get(&entry.network).map_or(Duration::ZERO, |each| each.pace.wait(now));
        match entry.is_proved {
            true => of_network,
            false => of_network.max(self.unproved_pace.wait(now)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn network(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from(number).into()
    }

    /// Takes something in, if there is a place.
    fn offer<T>(
        waiting: &mut Waiting<T>,
        number: u32,
        is_proved: bool,
        thing: T,
        now: Duration,
    ) -> Result<(), Full> {
        if let Some(full) = waiting.full(network(number), is_proved) {
            return Err(full);
        }
        waiting.enter(network(number), is_proved, thing, now);
        Ok(())
    }

    /// Takes what may be taken at each millisecond of some seconds, while `offer` refills the places; says how many turns there were of each network.
    fn run(seconds: u64, mut offer: impl FnMut(&mut Waiting<u32>, Duration)) -> HashMap<u32, usize> {
        let (mut waiting, mut turns) = (Waiting::new(), HashMap::new());
        for millis in 0..seconds * 1000 {
            let now = Duration::from_millis(millis);
            offer(&mut waiting, now);
            while let Next::Turn(number) = waiting.next(now) {
                *turns.entry(number).or_default() += 1;
            }
        }
        turns
    }

    /// The most that there can be in a time: the rate, and what may be done at once.
    fn most(per_second: u32, seconds: u64) -> usize {
        (f64::from(per_second) * (seconds as f64 + BURST.as_secs_f64())) as usize
    }

    #[test]
    fn no_more_a_second_than_there_may_be() {
        let one = run(4, |waiting, now| while offer(waiting, 1, true, 1, now).is_ok() {});
        let expected = most(PER_SECOND_NETWORK, 4);
        assert!((expected - 2..=expected).contains(&one[&1]), "{one:?}");
        let many = run(4, |waiting, now| {
            for number in 0..WAITING_MAX as u32 {
                let _ = offer(waiting, number, true, number, now);
            }
        });
        let (sum, expected) = (many.values().sum::<usize>(), most(PER_SECOND, 4));
        assert!((expected - 2..=expected).contains(&sum), "{sum}");
    }

    /// Whoever forges addresses, however many, leaves half to those that are proved; and one network leaves most to the others.
    #[test]
    fn floods_leave_room() {
        let mut forged = 1000;
        let turns = run(4, |waiting, now| {
            while offer(waiting, forged, false, 0, now).is_ok() {
                forged += 1;
            }
            let _ = offer(waiting, 1, true, 1, now);
            let _ = offer(waiting, 2, true, 2, now);
        });
        let (unproved, network) = (most(PER_SECOND_UNPROVED, 4), most(PER_SECOND_NETWORK, 4));
        assert!((unproved - 2..=unproved).contains(&turns[&0]), "{turns:?}");
        assert!((network - 2..=network).contains(&turns[&1]) && turns[&1] == turns[&2], "{turns:?}");
    }

    #[test]
    fn places_are_bounded_and_the_oldest_goes_first() {
        let (mut waiting, now) = (Waiting::new(), Duration::ZERO);
        for number in 0..WAITING_PER_NETWORK_MAX {
            offer(&mut waiting, 1, true, number, now).unwrap();
        }
        assert_eq!(offer(&mut waiting, 1, true, 7, now), Err(Full::Network));
        for number in 0..WAITING_UNPROVED_MAX as u32 {
            offer(&mut waiting, 2 + number, false, 0, now).unwrap();
        }
        assert_eq!(offer(&mut waiting, 9999, false, 7, now), Err(Full::Unproved));
        let mut number = 10_000;
        while waiting.queue.len() < WAITING_MAX {
            offer(&mut waiting, number, true, 0, now).unwrap();
            number += 1;
        }
        assert_eq!(offer(&mut waiting, 8888, true, 7, now), Err(Full::All));
        // The first network has its burst, then others come before what it has left.
        let of_burst = (BURST.as_millis() as u32 * PER_SECOND_NETWORK / 1000) as usize;
        for number in 0..of_burst {
            assert_eq!(waiting.next(now), Next::Turn(number));
        }
        assert_eq!(waiting.next(now), Next::Turn(0));
    }

    #[test]
    fn networks_are_forgotten() {
        let turns = run(40, |waiting, now| {
            let number = now.as_millis() as u32;
            let _ = offer(waiting, number, true, 0, now);
            assert!(waiting.networks.len() <= NETWORKS_KEPT);
        });
        assert!(turns[&0] >= 19_000, "{turns:?}");
        let mut waiting = Waiting::new();
        assert_eq!(waiting.next(Duration::ZERO), Next::Nobody);
        waiting.enter(network(1), true, 1, Duration::ZERO);
        assert_eq!(waiting.next(Duration::ZERO), Next::Turn(1));
        assert_eq!(waiting.unproved + waiting.queue.len(), 0);
    }
}

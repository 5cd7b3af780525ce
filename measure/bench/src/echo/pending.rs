//! Queries that wait for their reply from the upstream: who asked, and with which ID.
//!
//! Upstream IDs are given out one after the other, so the table is a ring over them:
//!
//! ```text
//! places[upstream ID % PENDING_MAX]     oldest .. next, in the order of sending; answered ones are empty
//! ```
//!
//! An ID comes back after 65,536 queries, its place after [`PENDING_MAX`]: who still waits there by then has
//! waited longest and makes room. So the table is bounded, and one lost query holds up nothing.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

/// Queries that wait at most, for one thread. At 100,000 relayed a second they last for 160 ms, some hundred times
/// what an upstream on the same network takes; four times as many would leave a late reply's ID ambiguous.
pub(super) const PENDING_MAX: usize = 16_384;

const _: () = assert!(65_536 % PENDING_MAX == 0 && PENDING_MAX < 65_536);

/// One query that waits.
#[derive(Clone, Copy)]
struct Waiting {
    upstream_id: u16,
    id: u16,
    asker: SocketAddr,
    until: Instant,
}

/// The table of one thread.
pub(super) struct Pending {
    places: Box<[Option<Waiting>]>,
    /// The first upstream ID that may still wait.
    oldest: u16,
    /// The upstream ID to be given out next.
    next: u16,
    timeout: Duration,
}

impl Pending {
    /// An empty table whose queries wait for `timeout` at most.
    pub(super) fn new(timeout: Duration) -> Pending {
        Pending { places: vec![None; PENDING_MAX].into(), oldest: 0, next: 0, timeout }
    }

    /// Takes a query in. Returns its upstream ID and whether another had to make room for it.
    pub(super) fn insert(&mut self, id: u16, asker: SocketAddr, now: Instant) -> (u16, bool) {
        let upstream_id = self.next;
        self.next = self.next.wrapping_add(1);
        let place = &mut self.places[usize::from(upstream_id) % PENDING_MAX];
        let displaced = place.is_some();
        *place = Some(Waiting { upstream_id, id, asker, until: now + self.timeout });
        if usize::from(self.next.wrapping_sub(self.oldest)) > PENDING_MAX {
            self.oldest = self.next.wrapping_sub(PENDING_MAX as u16);
        }
        (upstream_id, displaced)
    }

    /// Takes the query with this upstream ID out: its own ID and who asked. None where nobody waits for it.
    pub(super) fn take(&mut self, upstream_id: u16) -> Option<(u16, SocketAddr)> {
        let place = &mut self.places[usize::from(upstream_id) % PENDING_MAX];
        let waiting = place.take_if(|waiting| waiting.upstream_id == upstream_id)?;
        Some((waiting.id, waiting.asker))
    }

    /// Forgets those that have waited too long; returns how many. Looks at each query once in all.
    pub(super) fn expire(&mut self, now: Instant) -> u64 {
        let mut expired = 0;
        while self.oldest != self.next {
            let place = &mut self.places[usize::from(self.oldest) % PENDING_MAX];
            match place {
                Some(waiting) if waiting.until > now => break,
                Some(_) => expired += 1,
                None => {}
            }
            *place = None;
            self.oldest = self.oldest.wrapping_add(1);
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(2);

    fn asker(number: usize) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 1000 + number as u16).into()
    }

    #[test]
    fn replies_find_their_asker_once() {
        let (mut pending, now) = (Pending::new(TIMEOUT), Instant::now());
        let ids: Vec<u16> = (0..10).map(|number| pending.insert(77, asker(number), now).0).collect();
        for (number, &id) in ids.iter().enumerate().rev() {
            assert_eq!(pending.take(id), Some((77, asker(number))));
            assert_eq!(pending.take(id), None);
        }
        assert_eq!(pending.expire(now + TIMEOUT), 0);
    }

    #[test]
    fn who_waits_too_long_is_forgotten() {
        let (mut pending, start) = (Pending::new(TIMEOUT), Instant::now());
        let second = Duration::from_secs(1);
        let (first, _) = pending.insert(1, asker(1), start);
        let (answered, _) = pending.insert(2, asker(2), start);
        let (last, _) = pending.insert(3, asker(3), start + second);
        assert!(pending.take(answered).is_some());
        assert_eq!(pending.expire(start + second), 0);
        assert_eq!(pending.expire(start + TIMEOUT), 1);
        assert_eq!(pending.take(first), None);
        assert_eq!(pending.take(last), Some((3, asker(3))));
    }

    #[test]
    fn a_full_table_gives_up_the_oldest() {
        let (mut pending, now) = (Pending::new(TIMEOUT), Instant::now());
        let mut displaced = 0;
        // More than there are IDs, so that both rings go round.
        for number in 0..70_000 {
            displaced += usize::from(pending.insert(number as u16, asker(number % 50), now).1);
        }
        assert_eq!(displaced, 70_000 - PENDING_MAX);
        let oldest = 70_000 - PENDING_MAX;
        assert_eq!(pending.take((oldest - 1) as u16), None);
        assert_eq!(pending.take(oldest as u16), Some((oldest as u16, asker(oldest % 50))));
        assert_eq!(pending.expire(now + TIMEOUT), PENDING_MAX as u64 - 1);
        assert_eq!(pending.expire(now + TIMEOUT), 0);
    }
}

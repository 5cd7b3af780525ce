//! How many queries a closed loop has outstanding: a fixed number, or one that paces itself.
//!
//! A loss is known when the time-out of a query has passed, so the rule of self-pacing goes by time-outs:
//!
//! * Until the first loss the window doubles once a time-out.
//! * From then on it grows by an eighth, at least by one, in each time-out in which nothing was lost.
//! * A loss makes it three quarters, at most once in two time-outs: what was sent before the window shrank may be
//!   lost too, and is known a time-out later.
//! * It stays from 1 to [`WINDOW_MAX`], and does not grow where it was never full.
//!
//! A shorter time-out therefore paces faster: on a local network 50 ms are plenty.

/// Most queries outstanding: what the flows have places for.
pub const WINDOW_MAX: u64 = 1 << 20;

/// The window of one worker.
pub struct Window {
    size: u64,
    self_paced: bool,
    timeout_ns: u64,
    /// No query was lost yet.
    is_first: bool,
    /// It was full since it last changed.
    was_full: bool,
    grows_ns: u64,
    shrinks_ns: u64,
}

impl Window {
    /// A window of `size`, at least 1, at the start of a trial.
    pub fn new(size: u64, self_paced: bool, timeout_ns: u64) -> Window {
        Window {
            size: size.clamp(1, WINDOW_MAX),
            self_paced,
            timeout_ns,
            is_first: true,
            was_full: false,
            grows_ns: timeout_ns,
            shrinks_ns: 0,
        }
    }

    /// Queries that may be outstanding.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Looks at the clock: `lost` queries were given up since the last look, `outstanding` wait.
    pub fn turn(&mut self, now_ns: u64, lost: u64, outstanding: u64) {
        if !self.self_paced {
            return;
        }
        self.was_full |= outstanding >= self.size;
        if lost > 0 {
            self.is_first = false;
            if now_ns >= self.shrinks_ns {
                self.size = (self.size - self.size.div_ceil(4)).max(1);
                self.shrinks_ns = now_ns + 2 * self.timeout_ns;
            }
            (self.grows_ns, self.was_full) = (now_ns + self.timeout_ns, false);
        } else if now_ns >= self.grows_ns {
            let growth = if self.is_first { self.size } else { self.size.div_ceil(8) };
            if self.was_full {
                self.size = (self.size + growth).min(WINDOW_MAX);
            }
            (self.grows_ns, self.was_full) = (now_ns + self.timeout_ns, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_shrinks() {
        let mut window = Window::new(20, true, 100);
        let mut sizes = Vec::new();
        for (now, lost, outstanding) in [
            (50, 0, 20),
            (100, 0, 20), // doubled
            (199, 0, 40),
            (200, 0, 40), // doubled
            (250, 3, 80), // three quarters
            (260, 9, 60), // known already
            (360, 0, 60), // an eighth
            (460, 0, 10), // was full before it grew only
            (560, 0, 68),
            (661, 1, 68),
        ] {
            window.turn(now, lost, outstanding);
            sizes.push(window.size());
        }
        assert_eq!(sizes, [20, 40, 40, 80, 60, 60, 68, 68, 77, 57]);
    }

    #[test]
    fn stays_in_bounds() {
        let mut window = Window::new(0, true, 1);
        assert_eq!(window.size(), 1);
        (1..1000).for_each(|now| window.turn(now, 0, u64::MAX));
        assert_eq!(window.size(), WINDOW_MAX);
        (1000..9000).for_each(|now| window.turn(now, 1, 0));
        assert_eq!(window.size(), 1);
        let mut fixed = Window::new(7, false, 1);
        (1..1000).for_each(|now| fixed.turn(now, now % 2, 7));
        assert_eq!(fixed.size(), 7);
    }
}

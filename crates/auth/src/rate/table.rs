//! Accounts by their hash, in memory of a fixed size: how far each has used its limit.
//!
//! ```text
//! hash (64 bits)    line = upper half & (lines - 1)    tag = lower half
//!
//! line: | tag u32 x 8 | time u32 x 8 |     64 octets
//!
//!  empty for long     has some              full: refused
//!  <---- time ------|----- time ---------|---- time -----|
//!                  now                  now + SECOND     now + AHEAD_MAX
//! ```
//!
//! `time`: when the account will be empty (GCRA). What it is charged moves it on, from now at the earliest, and never beyond a second from now. What is
//! refused costs a part, up to another second, so that who asks for several times what it may gets nothing. A new
//! account takes the place of the one of its line whose time is the furthest in the past, so that those that are full stay.

/// Units of time in a second. A finer unit comes round sooner than every 18 hours, a coarser one cannot tell limits above some thousands.
pub(super) const SECOND: u32 = 1 << 16;

/// Accounts of a line: what a cache line holds.
pub(super) const WAYS: usize = 8;

/// How far ahead of now a time can be: a second's answers, and as much for what was refused, so that a flood that stops for a moment is none of less.
pub(super) const AHEAD_MAX: u32 = 2 * SECOND;

/// What is refused costs an account a part of an answer, of so many. Then one that is asked for less than so many times its limit gets the less of it the
/// more it is asked for, and above that nothing: nothing is what a flood must get, and most of its limit who is somewhat above that. 1 would be
/// nothing for all above their limits, none at all the limit for any flood.
pub(super) const REFUSED_PART: u32 = 4;

/// Octets of a line.
pub(super) const LINE_OCTETS: usize = 64;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    tags: [u32; WAYS],
    /// Beyond [`AHEAD_MAX`] from now: in the past.
    times: [u32; WAYS],
}

const _: () = assert!(size_of::<Line>() == LINE_OCTETS, "a line is a cache line");

/// The accounts of one worker.
pub(super) struct Table {
    /// A power of two of them.
    lines: Box<[Line]>,
}

impl Table {
    /// As many whole lines as fit into `octets`, down to a power of two, one at least.
    pub(super) fn new(octets: usize) -> Table {
        let lines = (octets / LINE_OCTETS).max(1);
        let count = 1 << lines.ilog2();
        Table { lines: vec![Line { tags: [0; WAYS], times: [0; WAYS] }; count].into() }
    }

    /// Charges `cost` to the account of a hash, 1 to [`SECOND`] of a second; says whether it had so much. If not, a part of it is charged.
    #[inline(always)]
    pub(super) fn charge(&mut self, hash: u64, now: u32, cost: u32) -> bool {
        self.charge_and_tell(hash, now, (cost, SECOND)).0
    }

    /// The same for an account that may use `most` of its second; also says how much it has used. Less than a second: nothing is charged beyond that.
    #[inline(always)]
    pub(super) fn charge_and_tell(&mut self, hash: u64, now: u32, (cost, most): (u32, u32)) -> (bool, u32) {
        let at = (hash >> 32) as usize & (self.lines.len() - 1);
        // Never fails: there is a line.
        let Some(line) = self.lines.get_mut(at) else { return (true, 0) };
        let tag = hash as u32;
        let Some(way) = line.tags.iter().position(|own| *own == tag) else {
            line.take(tag, now, cost);
            return (true, cost);
        };
        let time = &mut line.times[way];
        let used = ahead(*time, now);
        if used + cost > most {
            let highest = if most == SECOND { AHEAD_MAX } else { most };
            *time = now.wrapping_add(used.max(highest.min(used + cost / REFUSED_PART)));
            return (false, used);
        }
        *time = now.wrapping_add(used + cost);
        (true, used + cost)
    }
}

/// How much of an account is used up.
#[inline(always)]
fn ahead(time: u32, now: u32) -> u32 {
    let ahead = time.wrapping_sub(now);
    if ahead > AHEAD_MAX { 0 } else { ahead }
}

impl Line {
    /// Makes a new account, which is charged `cost`.
    #[inline(never)]
    fn take(&mut self, tag: u32, now: u32, cost: u32) {
        // From just beyond what can be, all the way round, to the most that can.
        let age = |time: u32| time.wrapping_sub(now).wrapping_sub(AHEAD_MAX + 1);
        let mut oldest = 0;
        for way in 1..WAYS {
            if age(self.times[way]) < age(self.times[oldest]) {
                oldest = way;
            }
        }
        self.tags[oldest] = tag;
        self.times[oldest] = now.wrapping_add(cost);
    }
}

#[cfg(test)]
mod tests;

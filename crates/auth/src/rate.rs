//! How often clients get answers whose addresses are not proved: the same answer, any answers, with their neighbours, with all others.
//!
//! ```text
//! account                  key                       lies in
//! same answer              prefix, kind, token       table
//! a network                prefix                    table
//! networks together        wider prefix              table
//! all unproved clients     kind                      an array
//! ```
//!
//! A [`Limiter`] belongs to one worker and has its share of each limit. It knows neither messages nor the time, which it is told. Design:
//! `docs/design/rate-limit.md`.

mod table;
#[cfg(test)]
mod tests;
mod told;

use crate::access::Rule;
use std::sync::Arc;
use std::time::Duration;
use table::{AHEAD_MAX, LINE_OCTETS, REFUSED_PART, SECOND, Table};
use told::Rows;
use wire::Address;

pub use told::{Account, Kind, Level, Limited, LiveLimited, ROWS, Told};

/// What is limited, for the whole server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The same answer to a network; of this and the others 0 is no limit, and [`Limits::PER_SECOND_MAX`] the highest.
    pub responses_per_second: u32,
    /// Answers to a network.
    pub network_per_second: u32,
    /// Answers to a wider one.
    pub wide_per_second: u32,
    /// Answers of a kind to all unproved clients, at most [`Limits::TOTAL_MAX`].
    pub total_per_second: u32,
    /// Bits of a network's prefix, IPv4 and IPv6: at most 32 and 64.
    pub prefixes: [u8; 2],
    /// Those of a wider one.
    pub wide_prefixes: [u8; 2],
    /// Of the octets that came beyond a limit one in so many leaves without records; 0: none.
    pub slip: u32,
    /// Count and say, and answer all the same.
    pub log_only: bool,
    /// Whom nothing limits.
    pub exempt: Rule,
    /// Octets of the table of a worker.
    pub table_octets: usize,
}

impl Limits {
    /// What the unit of time can tell.
    pub const PER_SECOND_MAX: u32 = SECOND - 1;
    /// More than a machine answers.
    pub const TOTAL_MAX: u32 = 100_000_000;
    /// Least octets of a table: 1,024 lines.
    pub const TABLE_OCTETS_MIN: usize = 1024 * LINE_OCTETS;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            responses_per_second: 20,
            network_per_second: 500,
            wide_per_second: 2000,
            total_per_second: 0,
            prefixes: [24, 56],
            wide_prefixes: [16, 32],
            slip: 3,
            log_only: false,
            exempt: Rule::Nobody,
            table_octets: 1 << 20,
        }
    }
}

/// How long a row of those that are told stays with an account that refuses no more.
const ROW_IDLE: u32 = SECOND;
/// Of two to this power answers one is charged to networks for all of them, while none is near its limit: two accounts more each time would cost as much as all the rest.
const SAMPLED_LOG: u32 = 3;
/// How long each answer is charged to networks after one was near its limit.
const EXACT_FOR: u64 = SECOND as u64;
/// Most octets that are saved up for answers without records while little is refused.
const CREDIT_OCTETS_MAX: u64 = 64 << 10;
/// Units of time in a second where all clients are counted together: the others' and 16 bits more.
const FINE_SECOND: u64 = (SECOND as u64) << FINE_BITS;
const FINE_BITS: u32 = 16;
const FINE_AHEAD_MAX: u64 = (AHEAD_MAX as u64) << FINE_BITS;

/// Limits as one worker holds them, and the accounts.
pub(crate) struct Limiter {
    /// What it was made for; `None` before there were limits.
    limits: Option<Arc<Limits>>,
    workers: u32,
    table: Table,
    keys: [u64; 2],
    /// What the first 64 bits of an address are masked with, IPv4 and IPv6: a network, a wider one.
    masks: [[u64; 2]; 2],
    /// What an answer costs, in units of time; 0: nothing is counted.
    same_cost: u32,
    network_cost: u32,
    wide_cost: u32,
    all_cost: u64,
    /// When the accounts of all clients will be empty.
    all: [u64; Kind::ALL.len()],
    /// Octets that may leave without records, times `slip`.
    credit: u64,
    slip: u64,
    is_log_only: bool,
    exempts_some: bool,
    /// Units since a moment that is the same for the life of the worker.
    now: u64,
    /// Decides which answers are charged to networks.
    dice: u64,
    /// Until then all are.
    exact_until: u64,
    counts: Limited,
    rows: Rows,
    told: Arc<Told>,
}

/// Where a client is, see [`Address::leading_bits`].
#[derive(Clone, Copy)]
struct Place {
    is_v4: bool,
    bits: u64,
}

impl Place {
    /// The prefix that a mask for IPv4 or one for IPv6 leaves.
    #[inline(always)]
    fn masked(&self, masks: &[u64; 2]) -> u64 {
        self.bits & masks[usize::from(!self.is_v4)]
    }
}

impl Default for Limiter {
    fn default() -> Limiter {
        Limiter::new(1, Arc::default())
    }
}

impl Limiter {
    /// One that limits nobody yet. `workers`: how many share the limits; `told`: where it shows what it does, going on from the counts there.
    pub(crate) fn new(workers: u32, told: Arc<Told>) -> Limiter {
        Limiter {
            limits: None,
            workers: workers.max(1),
            table: Table::new(0),
            keys: [0; 2],
            masks: [[0; 2]; 2],
            same_cost: 0,
            network_cost: 0,
            wide_cost: 0,
            all_cost: 0,
            all: [0; Kind::ALL.len()],
            credit: 0,
            slip: 0,
            is_log_only: false,
            exempts_some: false,
            now: 0,
            dice: 0,
            exact_until: 0,
            counts: told.counts.read(),
            rows: Rows::new(),
            told,
        }
    }

    /// Tells the time, since a moment that is the same for the life of the worker.
    pub(crate) fn set_time(&mut self, elapsed: Duration) {
        self.now = elapsed.as_secs() * u64::from(SECOND)
            + u64::from(elapsed.subsec_nanos()) * u64::from(SECOND) / 1_000_000_000;
    }

    /// Shows what was counted.
    pub(crate) fn show(&self) {
        self.told.counts.write(&self.counts);
    }

    /// Takes up these limits unless it has them. Accounts are kept where only who is exempt, or what comes of a refusal, has changed.
    #[inline(always)]
    pub(crate) fn prepare(&mut self, limits: &Arc<Limits>) -> &mut Limiter {
        if !self.limits.as_ref().is_some_and(|own| Arc::ptr_eq(own, limits)) {
            self.take_up(limits);
        }
        self
    }

    #[cold]
    fn take_up(&mut self, limits: &Arc<Limits>) {
        let old = self.limits.replace(Arc::clone(limits));
        self.slip = u64::from(limits.slip);
        self.is_log_only = limits.log_only;
        self.exempts_some = limits.exempt != Rule::Nobody;
        self.credit = 0;
        let counted = |limits: &Limits| {
            let Limits {
                responses_per_second, network_per_second, wide_per_second, total_per_second, ..
            } = *limits;
            let rates = [responses_per_second, network_per_second, wide_per_second, total_per_second];
            (rates, limits.prefixes, limits.wide_prefixes, limits.table_octets)
        };
        if old.is_some_and(|old| counted(&old) == counted(limits)) {
            return;
        }
        // A share of nothing is none; any other lets one answer a second through at least.
        let share = |limit: u32| limit.div_ceil(self.workers);
        let cost = |limit: u32| SECOND.checked_div(share(limit)).map_or(0, |cost| cost.max(1));
        self.same_cost = cost(limits.responses_per_second);
        self.network_cost = cost(limits.network_per_second);
        self.wide_cost = cost(limits.wide_per_second);
        self.all_cost = FINE_SECOND.checked_div(u64::from(share(limits.total_per_second))).unwrap_or(0);
        self.all = [0; Kind::ALL.len()];
        self.masks = [limits.prefixes, limits.wide_prefixes]
            .map(|lengths| lengths.map(|bits| u64::MAX.checked_shl(64 - u32::from(bits)).unwrap_or(0)));
        self.table = Table::new(limits.table_octets);
        let mut octets = [0; 16];
        // Without them accounts that meet can be computed, and no more than that.
        if sync::random::fill_from_system(&mut octets).is_ok() {
            let both = u128::from_ne_bytes(octets);
            self.keys = [both as u64, (both >> 64) as u64];
            self.dice = self.keys[0] ^ self.keys[1].rotate_left(32);
        }
    }

    #[inline(always)]
    fn hash_network(&self, masked: u64, is_v4: bool) -> u64 {
        fold_multiply(masked ^ self.keys[0], 0x9e37_79b9_7f4a_7c15 ^ u64::from(is_v4) << 8)
    }

    /// Charges an answer to a client and says whether it must not be given. `token`: what tells answers of the kind apart. `is_exempt`: whether the client is not
    /// limited; asked only where somebody is.
    #[inline(always)]
    pub(crate) fn refuses(
        &mut self,
        address: &Address,
        kind: Kind,
        token: u64,
        is_exempt: impl FnOnce() -> bool,
    ) -> bool {
        if self.exempts_some && is_exempt() {
            return false;
        }
        let (is_v4, bits) = address.leading_bits();
        let place = Place { is_v4, bits };
        let network = self.hash_network(place.masked(&self.masks[0]), is_v4);
        let same = fold_multiply(network ^ token ^ (kind as u64) << 56, self.keys[1]);
        if self.same_cost > 0 && !self.table.charge(same, self.now as u32, self.same_cost) {
            return self.refuse(Level::Same, kind, place, network);
        }
        // Nobody foretells which: the hash is keyed.
        self.dice = self.dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(same | 1);
        let is_drawn = self.dice >> (64 - SAMPLED_LOG) == 0;
        if (is_drawn || self.now < self.exact_until)
            && let Some(is_refused) = self.refuses_networks(kind, place, network)
        {
            return is_refused;
        }
        // Last, so that nobody's flood takes of what all have more than its network may.
        if self.all_cost > 0 {
            let now = self.now << FINE_BITS;
            let time = &mut self.all[kind as usize];
            let moved = (*time).max(now) + self.all_cost;
            if moved > now + FINE_SECOND {
                let part = self.all_cost / u64::from(REFUSED_PART);
                *time = (moved - self.all_cost + part).min(now + FINE_AHEAD_MAX);
                return self.refuse(Level::All, kind, place, 0);
            }
            *time = moved;
        }
        false
    }

    /// The same for the accounts of networks; `None` where none is full. One answer of several (see [`SAMPLED_LOG`]) is charged for all of them and never refused, until a
    /// network has used half a second of its limit: from then on each is charged for itself.
    #[inline(never)]
    fn refuses_networks(&mut self, kind: Kind, place: Place, network: u64) -> Option<bool> {
        let is_exact = self.now < self.exact_until;
        // Another hash than that of networks, whose prefixes may be as long.
        let wide = self.hash_network(!place.masked(&self.masks[1]), place.is_v4);
        for (level, hash, cost) in
            [(Level::Network, network, self.network_cost), (Level::Wide, wide, self.wide_cost)]
        {
            if cost == 0 {
                continue;
            }
            let now = self.now as u32;
            let (passes, used) = match is_exact {
                true => self.table.charge_and_tell(hash, now, (cost, SECOND)),
                false => {
                    self.table.charge_and_tell(hash, now, ((cost << SAMPLED_LOG).min(SECOND / 2), SECOND / 2))
                }
            };
            if !passes || used > SECOND / 2 {
                self.exact_until = self.now + EXACT_FOR;
            }
            if is_exact && !passes {
                return Some(self.refuse(level, kind, place, hash));
            }
        }
        None
    }

    /// Counts and tells a refusal; says whether it is one.
    #[cold]
    fn refuse(&mut self, level: Level, kind: Kind, place: Place, hash: u64) -> bool {
        *self.counts.kind(kind) += 1;
        let (network, is_v4) = match level {
            Level::Same | Level::Network => (place.masked(&self.masks[0]), place.is_v4),
            Level::Wide => (place.masked(&self.masks[1]), place.is_v4),
            Level::All => (0, true),
        };
        // A network's accounts are for all kinds.
        let kind = if matches!(level, Level::Network | Level::Wide) { Kind::Answer } else { kind };
        let account = Account { network, is_v4, level, kind };
        // All tokens of a network and kind are one row.
        let hash = hash ^ (kind as u64) << 40 ^ (level as u64) << 43;
        self.rows.note(&self.told, (hash, account), self.now as u32, ROW_IDLE);
        !self.is_log_only
    }

    /// Whether a refused query of so many octets is answered without records, by so many.
    pub(crate) fn slips(&mut self, query_octets: usize, response_octets: usize) -> bool {
        if self.slip == 0 {
            return false;
        }
        self.credit = (self.credit + query_octets as u64).min(CREDIT_OCTETS_MAX * self.slip);
        match self.credit.checked_sub(response_octets as u64 * self.slip) {
            Some(left) => {
                self.credit = left;
                self.counts.limited_slipped += 1;
                true
            }
            None => false,
        }
    }
}

/// The two halves of a product, folded together.
#[inline(always)]
fn fold_multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

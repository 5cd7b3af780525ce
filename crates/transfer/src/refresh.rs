//! When which zone is asked for: the states of secondary zones and of their primaries (RFC 1034 4.3.5, RFC 1996, RFC 7314).
//!
//! ```text
//! zones, NOTIFY, commands, what came of jobs, time, random numbers --> Schedule --> jobs to start | zones that expire | when to ask again
//! ```
//!
//! Times are seconds (u32) of a clock that only goes forwards, during sleep too, and begins anywhere below 2^31; time of day only passes
//! through [`Kept`]. Nothing is started here: whoever holds the [`Schedule`] takes [`Action`]s from it, and tells it what came of them.
//! The design is in `docs/design/secondary.md` 2 and 3.

mod answer;
mod due;
mod kept;
mod primary;
mod schedule;
mod times;
mod words;
mod zone;

pub use answer::{Answer, Told};
pub use kept::Kept;
pub use primary::PrimaryState;
pub use schedule::{ARRIVED_MAX, Action, Job, PRIMARIES_OF_ZONE_MAX, Schedule, Settings, ZoneNumber};
pub use times::{Bounds, Intervals, spread};
pub use words::{Span, Words};
pub use zone::{Last, State, Trouble};

/// Random numbers, any 32 bits each; for spreading only, so that they need not be secret.
pub type Random<'r> = dyn FnMut() -> u32 + 'r;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

//! Zones that change in place: one thread, the *changer*, owns all that changes them. `docs/design/dynamic.md` is its design.
//!
//! ```text
//! worker --Update--> Queue --all that waits--> Changer: drafts -> deltas -> log -> publish -> replies
//! ```
//!
//! * [`handle`]: how others ask; [`queue`]: what waits for it; [`update`]: one request; [`recent`]: those that come again.
//! * [`changer`]: the thread; [`rounds`]: what it has taken and not done; [`versions`]: what it makes of updates; [`written`]: what comes of writes; [`group`]: what becomes durable together.
//! * [`zone`]: one zone that changes; [`base`]: what its log begins with; [`storing`]: packs for that; [`incoming`]: what secondary zones get from their primaries.
//! * [`history`]: versions kept for IXFR, beside all that; [`condensed`]: many as one. [`renewal`]: deltas made anew, copied or [`merge`]d, in steps ([`taking`]); [`resting`]: zones that have none any more; [`bounds`]: what they may have.
//! * [`proving`]: signatures that updates bring to signed zones, and [`prover`], the thread that looks at them.
//! * [`imaging`]: deltas as files, which a start takes ([`images`]) in place of the changes that made them, by the record that made the state ([`origin`]); [`imaged`]: looked at by people.
//! * [`alter`]: what the HTTP API has changed, in one zone or in several at once; [`repeats`]: what of that may be asked for again. [`edit`]: what operators have edited; [`leaving`]: zones that go. [`log`]: begun, closed; [`outline`]: how it is, for others; [`checkpoint`]: kept short; [`recover`], [`beginnings`], [`replay`], on several threads ([`shares`]): at a start.

mod alter;
mod base;
mod beginnings;
mod bounds;
mod changer;
mod checkpoint;
mod condensed;
mod edit;
mod group;
mod handle;
pub(crate) mod history;
mod imaged;
mod images;
mod imaging;
mod incoming;
mod leaving;
mod log;
mod merge;
mod once;
mod origin;
mod outline;
mod prover;
mod proving;
mod queue;
mod recent;
mod recover;
mod renewal;
pub(crate) mod repeats;
mod replay;
mod resting;
mod rounds;
mod shares;
mod storing;
mod taking;
mod update;
mod versions;
mod written;
mod zone;

pub(crate) use alter::{Alter, AlterDone, NotAltered, Outcome};
pub(crate) use base::pack_of;
pub(crate) use edit::{EditDone, EditJob, NotEdited};
pub(crate) use handle::Dynamic;
pub(crate) use history::Historian;
pub(crate) use imaged::verify_images;
pub(crate) use incoming::{Incoming, NotTaken, Told, What};
pub(crate) use once::{Once, WhyNot};
pub(crate) use prover::Proof;
pub(crate) use queue::Queue;
pub(crate) use recover::{has_log, journal_of, start};
pub(crate) use repeats::Repeat;
pub(crate) use update::Said;

//! A running server is replaced by another program without a lost query.
//!
//! The old server starts the new one, hands it its sockets, and leaves once that one answers from them. Who holds what when, and what
//! happens if one of them dies at any step, is in `docs/design/upgrade.md`.
//!
//! * `channel`: messages with descriptors over a socket pair; `words`: what is said over it.
//! * `give`: the side of the old server; `take`: that of the new one.

mod channel;
pub(crate) mod give;
pub(crate) mod take;
mod words;

use std::time::Duration;

/// Environment variable with the process number of the old server.
const FROM: &str = "ZONDA_UPGRADE_FROM";

/// Longest time from the start of the new program until it is ready, unless said otherwise: ten million zones from text take minutes, and
/// changes of zones wait meanwhile.
pub const WAIT: Duration = Duration::from_secs(300);

/// Longest such time that can be asked for: a load that takes longer is better looked into.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Longest time for each other step: nothing is left to be loaded then.
const STEP_WAIT: Duration = Duration::from_secs(5);

/// How long the old server goes on with what was asked of it over TCP, which is transfers as a rule. What is left then is closed in order, and its client asks
/// the new one: a transfer that takes longer begins anew.
pub(crate) const UPGRADE_DRAIN: Duration = Duration::from_secs(30);

//! Everything slow: settings, files, timers, operators.
//!
//! ```text
//! settings -> wanted zones -> load (read, packs) -> Catalog -> handler of each worker
//!                                ^
//! SIGHUP, control socket -> reload -> controller
//! ```
//!
//! * [`settings`]: each setting once; [`wanted`]: the zones they ask for; [`sources`]: their files, with paths from a [`pattern`].
//! * [`read`], [`load`], [`packs`]: from text to packs, and packs kept for the next start; [`progress`]: how far it is; [`effort`]: what it
//!   leaves to workers.
//! * [`controller`], [`reload`]: what is served and how it changes.
//! * [`command`], [`socket`], [`client`]: what operators can ask a running server; [`order`]: zones in lists for them.
//! * [`findings`]: what is wrong with zones that load; `expiry`: when their signatures expire.
//! * `commanded`: zones that are not as the settings say; [`here`]: what this machine lacks for the settings.
//! * [`secondary`]: asks primaries for zones; `secondaries`: zones that are transferred from them, when and what becomes of that.
//! * `catalogs`: zones that catalog zones list, and the catalogs that are made here.
//! * `stores`: zones that come from databases, by processes that read these; `child`: such a process; `joined`: what came of zones from others, put together.
//! * `requests`: what is no query, handed on to who carries it out; `sig0`: updates whose signatures are dear to verify; `forward`: those for a primary.
//! * `recursion`: the recursive server: where cache, resolver, clients and upstream sockets meet.
//! * `observing`: what others are told of queries: dnstap and the query log, and who asks most.
//! * [`metrics`]: each number that others are told, once; `http`: the process that tells them.
//! * `why`: the way to an answer from zones, in words.
//! * `api`: zones over HTTP: who may do what, and what comes of it.
//! * [`upgrade`]: one server hands over to the next.
//! * [`journal`]: log and history of zones that change, as people look at them without the server.
//! * `disk`: what makes files survive a crash; `mappings`: packs whose files are cut off while they are mapped.
//! * [`log`]: events; `fault`: what is wrong, as such; `repeated`: what is said once a while, `limited`: of clients that are limited; `memory`: what takes how much.
//! * [`serve`]: the order of a start; [`handler`]: what workers call.

mod access;
mod answer;
mod api;
mod catalogs;
mod child;
pub mod client;
pub mod command;
mod commanded;
pub mod controller;
mod disk;
mod dynamic;
pub mod effort;
mod expiry;
mod fault;
pub mod findings;
mod forward;
pub mod handler;
pub mod here;
mod http;
mod identity;
mod joined;
pub mod journal;
mod limited;
pub mod load;
mod locks;
pub mod log;
mod made;
mod mappings;
mod memory;
pub mod metrics;
mod notices;
mod observing;
pub mod order;
pub mod packs;
mod parallel;
pub mod pattern;
pub mod progress;
pub mod read;
mod recursion;
pub mod reload;
mod repeated;
mod requests;
mod secondaries;
pub mod secondary;
pub mod serve;
pub mod settings;
mod sig0;
pub mod socket;
pub mod sources;
pub mod stamp;
mod stores;
pub mod system;
pub mod text;
mod texts;
mod transfers;
pub mod upgrade;
pub mod wanted;
mod why;

pub use self::api::new_api_key;
pub use settings::Settings;

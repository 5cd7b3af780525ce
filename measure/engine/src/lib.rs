//! A small name server in the shape of BIND 9, for experiments with locks: zone table, zones, nodes in lock buckets, RRsets
//! with counters, and a cache of the same shape; written once against [`sync::protection`] and once with snapshots.
//!
//! * [`settings`]: what an experiment is made of; [`outcome`]: what it brought.
//! * [`content`]: zones and questions; [`rrset`], [`tree`]: how they are stored; [`locked`], [`copied`]: under locks, and as
//!   snapshots.
//! * [`database`]: what answering needs of either, and answering; [`message`]: queries and responses; [`memory`]: where
//!   memory for answers comes from; [`few`]: values without an allocation.
//! * [`server`]: either as threads use it; `run`: threads that ask in process, `writer`: changes at a rate, `serve`: over UDP;
//!   [`tally`]: what they count.
//!
//! Not a part of the server: that has no locks to compare.

pub mod content;
pub mod copied;
pub mod database;
pub mod few;
pub mod locked;
pub mod memory;
pub mod message;
pub mod outcome;
pub mod rrset;
mod run;
mod serve;
pub mod server;
pub mod settings;
pub mod tally;
pub mod tree;
mod words;
mod writer;

use std::sync::atomic::AtomicBool;

use bench::Error;
use sync::protection::{Bind9, ByMutex, Paper, PaperPortable, SystemAtomic, SystemOrdinary, Unshared};

pub use content::Content;
pub use memory::MemoryKind;
pub use outcome::Outcome;
pub use settings::{Data, Names, ProtectionKind, Service, Settings};

use locked::Locked;
use server::Snapshots;

/// Evaluates an expression with `$build` making a server of the protection in the settings.
macro_rules! with_protection {
    ($settings:expr, $content:expr, |$build:ident| $act:expr) => {{
        let (settings, content): (&Settings, &Content) = ($settings, $content);
        macro_rules! locked {
            ($protection:ty) => {{
                let $build = || Locked::<$protection>::new(content, settings.bucket_count(), settings.quota);
                $act
            }};
        }
        match settings.protection {
            ProtectionKind::Unshared => locked!(Unshared),
            ProtectionKind::Bind9 => locked!(Bind9),
            ProtectionKind::Mutex => locked!(ByMutex),
            ProtectionKind::SystemOrdinary => locked!(SystemOrdinary),
            ProtectionKind::SystemAtomic => locked!(SystemAtomic),
            ProtectionKind::Paper => locked!(Paper),
            ProtectionKind::PaperPortable => locked!(PaperPortable),
            ProtectionKind::Snapshot => {
                let $build = || Snapshots::new(content);
                $act
            }
        }
    }};
}

/// Asks and answers in process for as long as the settings say.
pub fn measure(settings: &Settings, content: &Content) -> Result<Outcome, Error> {
    settings.check()?;
    if content.asked().is_empty() {
        return Err(Error::Option {
            option: "--zone",
            rule: "a zone with delegations or addresses, to ask for",
        });
    }
    Ok(with_protection!(settings, content, |build| run::run(settings, content, build)))
}

/// Answers over UDP until `stop`; tells `ready` when sockets are bound. Returns how many queries were answered.
pub fn serve(
    settings: &Settings,
    content: &Content,
    service: Service,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<u64, Error> {
    settings.check()?;
    with_protection!(settings, content, |build| serve::serve(settings, service, stop, build, ready))
}

#[cfg(test)]
mod tests;

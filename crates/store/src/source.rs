//! What a feeder needs of a database that it follows, whichever that is: the seam between who pushes zones and what they are kept in.
//!
//! | | a file of SQLite | a database over the network | tables of others, without history |
//! |---|---|---|---|
//! | [`Source::look`] | makes versions of what others changed; versions beyond the last | transactions that were not seen | seldom, and all of the list |
//! | [`Moment::prepare`] | nothing: each question costs next to nothing | one round trip for many zones | likewise |
//! | marks | random, of the version | random, of the version | a hash of the contents: nothing is ever known to lead from one to another |
//! | [`Source::is_another`] | another file by that name | another system, server's start or timeline | as of what it is in |
//!
//! An error ends what is under way: the source is dropped, and opened anew later. It is not `Send`: one thread has it.

use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use wire::NameBuf;
use zonefile::RecordBuf;

use crate::alter::{NotCommitted, Write, Wrote};
use crate::fault::Fault;
use crate::read::What;
use crate::sqlite::snapshot::Head;
use crate::version::Version;

/// What is to be asked again after how long: while something comes, and when nothing has come for a while.
pub type Pauses = (Duration, Duration);

/// A database that is followed, from when it was opened until it is another one or cannot be read.
pub trait Source {
    /// 32 hexadecimal digits by which it is known, wherever it is.
    fn identity(&self) -> &str;

    /// Whether it may be written: what others changed by plain SQL can be made versions of, and serials raised.
    fn is_writable(&self) -> bool;

    /// From look to look. The second is not more than some seconds: between two looks it is heard what the server says. A source that looks less often says
    /// [`Found::Nothing`] in between.
    fn pauses(&self) -> Pauses;

    /// Whether it is not the one any more that was opened. Called before each look, and while nothing is looked at.
    fn is_another(&mut self) -> Result<bool, Fault>;

    /// Looks what is new since the look before. `at`: the time, in seconds since 1970, for versions that are made.
    fn look(&mut self, at: u64) -> Result<Look, Fault>;

    /// Whether it is heard when the database says that something is new; the error: why not, though it says so. `None`: it does not, or that is not known yet.
    fn notices(&self) -> Option<Result<(), String>> {
        None
    }

    /// Waits until something may be new, or `other` can be read, but no longer than this. Says whether it has waited: who hears nothing has not.
    fn await_news(&mut self, other: BorrowedFd<'_>, wait: Duration) -> bool {
        let _ = (other, wait);
        false
    }

    /// Hands over the newest version of each zone, each zone once; what comes later is found by looks from then on.
    fn list(&mut self, each: &mut dyn FnMut(&Head<'_>)) -> Result<(), Fault>;

    /// What is there now.
    fn moment(&mut self) -> Result<Box<dyn Moment + '_>, Fault>;

    /// Makes a version of each of these zones, as it is, above a serial: of all or of none, so that they cost one flush. Who holds a zone is not waited for long. `at`: the time.
    fn raise(&mut self, raises: &[Raise], at: u64) -> Result<(), Fault>;

    /// Changes zones, each once: all of them or none, so that they cost one flush. What came of each, in their order. Who holds a zone is not waited for long. `at`: the time.
    fn write(&mut self, writes: &[Write], at: u64) -> Result<Vec<Wrote>, NotCommitted>;
}

/// A zone that is to have a version above a serial.
pub type Raise = (NameBuf, u32);

/// What a look found.
#[derive(Debug)]
pub struct Look {
    /// What is new.
    pub found: Found,
    /// All zones whose changes can be no version, each a fault of a zone; `None`: that was not looked at.
    pub unfit: Option<Vec<Fault>>,
    /// Why what others changed is no version yet, where all else can be read.
    pub waits: Option<Fault>,
}

/// What is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// These zones have other versions, or are gone.
    Zones(Vec<String>),
    /// What is new is not known: the whole list is to be looked at.
    List,
    /// It is not what was opened, or has another history.
    Another,
}

/// A zone that is about to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// Its name, as text.
    pub zone: String,
    /// The mark of the version that is held; `None`: it is not known, or all of the zone is wanted.
    pub held: Option<String>,
}

/// Takes a record, and says whether there is to be another one.
pub type Each<'e> = &'e mut dyn FnMut(&RecordBuf) -> ControlFlow<()>;

/// Takes the version that all records are of, before the first of them.
pub type BeginWhole<'e> = &'e mut dyn FnMut(&Version) -> ControlFlow<()>;

/// The same of what changed.
pub type EachChange<'e> = &'e mut dyn FnMut(What, &RecordBuf) -> ControlFlow<()>;

/// One moment of a source.
pub trait Moment {
    /// Says which zones are asked for next, so that one question may be for all. Those before are asked for no more.
    fn prepare(&mut self, next: &[Next]) -> Result<(), Fault> {
        let _ = next;
        Ok(())
    }

    /// Whether what is asked of a zone next is here already: who asks waits for nobody.
    fn has(&self, zone: &str) -> bool {
        let _ = zone;
        false
    }

    /// The newest version of a zone, also of one that is gone.
    fn newest(&mut self, zone: &str) -> Result<Option<Version>, Fault>;

    /// The versions of a zone after the one with this mark, oldest first; `None`: there is none with it.
    fn since(&mut self, zone: &str, mark: &str) -> Result<Option<Vec<Version>>, Fault>;

    /// Whether the rows of a zone are not those of its newest version.
    fn is_pending(&mut self, zone: &str) -> Result<bool, Fault>;

    /// Hands over what changed in a version, what went first, and each time the SOA record first. Says how many records that were.
    fn changed(&mut self, version: &Version, each: EachChange<'_>) -> Result<u64, Fault>;

    /// Hands over all records of a zone, the SOA record first, and before them the version that they are: the newest one, or one that came since. What is wrong is known once all rows
    /// were read.
    fn records(&mut self, zone: &str, begin: BeginWhole<'_>, each: Each<'_>) -> Result<(), Fault>;

    /// What of the zone that was asked for last is not served, though it is a zone, in words; empty: all of it is. `None`: there is nothing of the kind.
    fn without(&mut self) -> Option<String> {
        None
    }

    /// Whether it is time for another moment, as each zone that is asked for takes its time.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether it may not have heard yet of zones that others have, as a replica.
    fn may_lag(&self) -> bool {
        false
    }
}

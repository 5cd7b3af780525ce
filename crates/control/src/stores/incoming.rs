//! A push from its begin until it is whole: what comes is believed as far as a primary is.

use std::sync::Arc;

use feed::frame::Version;
use transfer::incoming::{Done, Incoming, Kind, Limits, Outcome, Question, Spool, Step, Times};
use wire::NameBuf;
use zone::{Change, Contents};

use crate::controller::Controller;
use crate::secondaries::shares;
use crate::secondary::runs::{FileRuns, Share};
use crate::secondary::{Clock, Room};

/// What pushes of a store may take: as much as transfers from primaries.
pub(super) struct Means {
    limits: Limits,
    room: Room,
    /// What is left of the octets of files, of all stores and transfers.
    pub(super) files: Arc<Share>,
}

impl Means {
    /// By the settings that there are now. Waits for a change that is under way.
    pub(super) fn of(controller: &Controller) -> Means {
        let settings = controller.change().settings.secondary.clone();
        let folder = controller.folder().map_or_else(std::env::temp_dir, |folder| folder.path().to_owned());
        let room = shares::room(&settings, folder.into());
        // The process may be slow, and is not far away.
        let own = shares::limits(&settings);
        let limits = Limits { window_octets: 0, idle: own.time, ..own };
        Means { limits, files: controller.secondaries.files(&room), room }
    }
}

/// A push that has begun.
pub(super) struct Push {
    pub(super) zone: NameBuf,
    pub(super) from: Option<Version>,
    pub(super) to: Version,
    incoming: Incoming<'static>,
    spool: Spool<FileRuns>,
    done: Option<Done>,
    /// Why nothing of it counts.
    fault: Option<String>,
    /// Octets of memory of all of the zone, at most.
    zone_octets: u64,
    octets: usize,
}

/// What came of a push.
pub(super) enum Came {
    /// Differences that lead from its first version to its last.
    Changes(Vec<Change>),
    /// All of the zone, and how many records were not of it.
    Whole(Box<Contents>, u64),
}

impl Push {
    /// Begins one.
    pub(super) fn begin((zone, from, to): (NameBuf, Option<Version>, Version), means: &Means) -> Push {
        let kind = if from.is_some() { Kind::Ixfr } else { Kind::Axfr };
        let ours = from.map(|from| from.serial);
        let question = Question { zone: zone.clone(), kind, ours, id: 0, has_edns: false, is_udp: false };
        let storage = FileRuns::new(Arc::clone(&means.room.folder), Arc::clone(&means.files));
        Push {
            incoming: Incoming::new(question, None, means.limits, Clock.millis()),
            spool: Spool::new(&zone, means.room.arena_octets, storage),
            zone,
            from,
            to,
            done: None,
            fault: None,
            zone_octets: means.room.zone_octets,
            octets: 0,
        }
    }

    /// Octets that came.
    pub(super) fn octets(&self) -> usize {
        self.octets
    }

    /// Takes the next message.
    pub(super) fn message(&mut self, octets: &[u8]) {
        self.octets += octets.len();
        if self.fault.is_some() {
            return;
        }
        let times = Times { millis: Clock.millis(), unix: Clock.unix() };
        let step = self.incoming.received(octets.len(), times.millis);
        match step.and_then(|()| self.incoming.message(octets, times, &mut self.spool)) {
            Ok(Step::More) => {}
            Ok(Step::Done(done)) => self.done = Some(done),
            Err(stop) => self.fault = Some(stop.to_string()),
        }
    }

    /// That was the last message. The error: why nothing of it counts.
    pub(super) fn finish(self) -> Result<Came, String> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let unfinished = || "it ends before its last record".to_owned();
        let done = self.done.ok_or_else(unfinished)?;
        let serial = done.soa.map(|soa| soa.serial);
        if serial != Some(self.to.serial) {
            return Err(format!(
                "it has serial {}, and says that it is {}",
                serial.unwrap_or_default(),
                self.to.serial
            ));
        }
        match done.outcome {
            Outcome::Changes(changes) => Ok(Came::Changes(changes)),
            Outcome::Whole => {
                let contents = self.spool.finish(self.zone_octets).map_err(|fault| fault.to_string())?;
                Ok(Came::Whole(Box::new(contents), done.counts.out_of_zone))
            }
            Outcome::Current | Outcome::Behind | Outcome::Newer => Err(unfinished()),
        }
    }
}

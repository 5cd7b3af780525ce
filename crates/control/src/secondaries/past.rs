//! What came of asking for a zone, for operators: how often, the last transfer, and what each of its primaries said last that was wrong.
//!
//! "Why does it not transfer" is what they ask most. A zone that was never transferred costs nothing but the counts.

use std::time::Duration;

use transfer::incoming::{Counts, Kind, Outcome};
use transfer::refresh::{Answer, Job, Last, PRIMARIES_OF_ZONE_MAX, Trouble};

use crate::command::{PrimaryLine, TransferIn, TransfersIn};
use crate::secondary::Report;

/// What was transferred.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// Differences that came; `None`: all of the zone.
    versions: Option<usize>,
    counts: Counts,
    took: Duration,
}

impl Came {
    /// Of a report; `None` where nothing was transferred.
    pub(super) fn of(report: &Report) -> Option<Came> {
        let done = report.result.as_ref().ok()?;
        let versions = match &done.outcome {
            Outcome::Changes(changes) => Some(changes.len()),
            Outcome::Whole => None,
            _ => return None,
        };
        Some(Came { versions, counts: done.counts, took: report.took })
    }
}

/// The last transfer.
struct Transferred {
    came: Came,
    /// Whether differences were asked for.
    is_ixfr: bool,
    primary: u16,
    serial: u32,
    at: u32,
}

/// See the module. Times are those of the schedule.
#[derive(Default)]
pub(super) struct Past {
    checks: u32,
    whole: u32,
    differences: u32,
    in_vain: u32,
    last: Option<Box<Transferred>>,
    /// What primaries said that was wrong and was not followed by something better.
    troubles: Vec<Trouble>,
}

impl Past {
    /// Takes what came of a job.
    pub(super) fn take(&mut self, job: &Job, answer: &Answer, came: Option<Came>, now: u32) {
        let last = match *answer {
            Answer::Transferred { soa, .. } => {
                let is_ixfr = job.kind == Kind::Ixfr;
                if let Some(came) = came {
                    let counted =
                        if came.versions.is_some() { &mut self.differences } else { &mut self.whole };
                    *counted = counted.saturating_add(1);
                    let (primary, serial) = (job.primary, soa.serial);
                    self.last = Some(Box::new(Transferred { came, is_ixfr, primary, serial, at: now }));
                }
                None
            }
            Answer::Current { .. } | Answer::Newer => {
                self.checks = self.checks.saturating_add(1);
                None
            }
            Answer::Behind { serial } => Some(Last::Behind { serial }),
            Answer::Stopped(stop) => Some(Last::Stop(stop)),
        };
        self.troubles.retain(|trouble| trouble.primary != job.primary);
        if let Some(last) = last {
            self.in_vain = self.in_vain.saturating_add(1);
            if self.troubles.len() == PRIMARIES_OF_ZONE_MAX {
                self.troubles.remove(0);
            }
            self.troubles.push(Trouble { last, primary: job.primary, at: now });
        }
    }

    /// The same for operators. `primaries`: number, name and how it stands with each.
    pub(super) fn lines(
        &self,
        now: u32,
        primaries: impl Iterator<Item = (u16, String, String)>,
        name: impl Fn(u16) -> String,
    ) -> TransfersIn {
        let ago = |at: u32| u64::from(now.saturating_sub(at));
        let last = self.last.as_ref().map(|last| TransferIn {
            what: match (last.came.versions, last.is_ixfr) {
                (Some(_), _) => "IXFR",
                (None, true) => "AXFR in place of IXFR",
                (None, false) => "AXFR",
            }
            .into(),
            primary: name(last.primary),
            serial: last.serial,
            versions: last.came.versions.unwrap_or(1) as u64,
            records: last.came.counts.records,
            left_out: last.came.counts.out_of_zone,
            octets: last.came.counts.octets,
            millis: u64::try_from(last.came.took.as_millis()).unwrap_or(u64::MAX),
            seconds: ago(last.at),
        });
        let line = |(number, name, state): (u16, String, String)| {
            let trouble = self.troubles.iter().find(|trouble| trouble.primary == number);
            PrimaryLine {
                name,
                state,
                problem: trouble.map(|trouble| trouble.last.to_string()),
                advice: trouble.and_then(|trouble| trouble.last.advice()).map(str::to_owned),
                seconds: trouble.map_or(0, |trouble| ago(trouble.at)),
            }
        };
        TransfersIn {
            checks: self.checks.into(),
            axfr: self.whole.into(),
            ixfr: self.differences.into(),
            in_vain: self.in_vain.into(),
            last,
            primaries: primaries.map(line).collect(),
        }
    }
}

//! What a stream of updates brought.

use std::{collections::BTreeMap, fmt};

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use wire::iana::rcode;
use wire::tsig::{BADSIG, Fault};

use crate::percentiles;

/// Latencies up to ten minutes are told apart: a server that commits by the minute is one to measure.
const LATENCY_SECONDS_MAX: u32 = 600;

/// Why a server refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// Response code.
    pub rcode: u16,
    /// The error in the TSIG record; 0 for none.
    pub tsig: u16,
}

/// Result of a stream. Counts are of messages unless they say otherwise.
#[derive(Clone)]
pub struct Outcome {
    /// Asked for by the plan; with a window those sent.
    pub planned: u64,
    /// Sent.
    pub sent: u64,
    /// Answered with NOERROR, the signature checked.
    pub accepted: u64,
    /// Records in the update sections of the accepted ones.
    pub changes: u64,
    /// Answered with another code, or with an error of TSIG.
    pub refused: BTreeMap<Refusal, u64>,
    /// Answered, but who answered is not known: the signature is missing or wrong.
    pub unverified: BTreeMap<Fault, u64>,
    /// Not answered in time.
    pub lost: u64,
    /// Replies to nothing that waits.
    pub stray: u64,
    /// Connections that the server closed.
    pub closed: u64,
    /// Length of the sending phase; with a window up to the last reply.
    pub seconds: f64,
    /// The file ended before the time did.
    pub ran_out: bool,
    /// Most updates outstanding, where that was the plan.
    pub window: Option<u64>,
    /// Times a second that the server's directory can make a write durable, where it was measured.
    pub commits_per_second: Option<f64>,
    /// From the planned time of an update (with a window: its sending) to the reply, in nanoseconds; of all replies
    /// that are accepted or refused.
    pub latency: Histogram<u64>,
    /// From the planned time to the sending, in nanoseconds.
    pub lateness: Histogram<u64>,
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome {
            planned: 0,
            sent: 0,
            accepted: 0,
            changes: 0,
            refused: BTreeMap::new(),
            unverified: BTreeMap::new(),
            lost: 0,
            stray: 0,
            closed: 0,
            seconds: 0.0,
            ran_out: false,
            window: None,
            commits_per_second: None,
            latency: percentiles::histogram(LATENCY_SECONDS_MAX),
            lateness: percentiles::histogram(LATENCY_SECONDS_MAX),
        }
    }
}

impl Outcome {
    /// Accepted updates a second.
    pub fn accepted_per_second(&self) -> f64 {
        self.accepted as f64 / self.seconds.max(1e-9)
    }

    /// Refused ones of all reasons.
    pub fn refused_count(&self) -> u64 {
        self.refused.values().sum()
    }

    /// Replies came faster than the server's directory can make writes durable, one after the other: then the server
    /// answered before the update was kept, which RFC 2136 3.5 forbids. Only a window of one tells: with more, a server
    /// may commit several at once.
    pub fn outran_disk(&self) -> bool {
        self.window == Some(1)
            && self.commits_per_second.is_some_and(|commits| self.accepted_per_second() > commits)
    }

    /// As a JSON object; times in microseconds.
    pub fn to_json(&self) -> Value {
        let refused: serde_json::Map<_, _> =
            self.refused.iter().map(|(refusal, &count)| (refusal.to_string(), count.into())).collect();
        let unverified: serde_json::Map<_, _> =
            self.unverified.iter().map(|(fault, &count)| (fault.to_string(), count.into())).collect();
        json!({
            "planned": self.planned, "sent": self.sent, "accepted": self.accepted, "changes": self.changes,
            "refused": refused, "unverified": unverified, "lost": self.lost, "stray": self.stray,
            "closed": self.closed, "seconds": self.seconds, "ran_out": self.ran_out, "window": self.window,
            "accepted_per_second": self.accepted_per_second(),
            "commits_per_second": self.commits_per_second, "outran_disk": self.outran_disk(),
            "latency_us": percentiles::json(&self.latency), "lateness_us": percentiles::json(&self.lateness),
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |f: &mut fmt::Formatter<'_>, code: u16| match rcode::mnemonic(code) {
            Some(name) => f.write_str(name),
            None => write!(f, "RCODE{code}"),
        };
        name(f, self.rcode)?;
        match self.tsig {
            0 => return Ok(()),
            BADSIG => f.write_str(" (BADSIG"),
            code => {
                f.write_str(" (")?;
                name(f, code)
            }
        }?;
        f.write_str(")")
    }
}

impl Refusal {
    /// What an operator may look at.
    fn advice(&self) -> &'static str {
        match (self.tsig, self.rcode) {
            (BADSIG, _) => ": the server has another secret for this key",
            (rcode::BADKEY, _) => ": the server has no key of this name and algorithm",
            (rcode::BADTIME, _) => ": the clocks are more than five minutes apart",
            (_, rcode::REFUSED) => ": does the server allow updates of this zone with this key?",
            (_, rcode::NOTAUTH) => ": is the server the primary of this zone?",
            (_, rcode::NXDOMAIN | rcode::YXDOMAIN | rcode::NXRRSET | rcode::YXRRSET) => {
                ": a prerequisite does not hold; a file of updates holds once"
            }
            _ => "",
        }
    }
}

/// A table for people.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "updates   {} of {} planned in {:.3} s", self.sent, self.planned, self.seconds)?;
        let (accepted, rate) = (self.accepted, self.accepted_per_second());
        writeln!(f, "accepted  {accepted} ({rate:.1}/s), {} records", self.changes)?;
        for (refusal, count) in &self.refused {
            writeln!(f, "refused   {count} with {refusal}{}", refusal.advice())?;
        }
        for (fault, count) in &self.unverified {
            writeln!(f, "unproven  {count} answered {fault}")?;
        }
        writeln!(f, "lost      {}", self.lost)?;
        for (what, histogram) in [("latency  ", &self.latency), ("lateness ", &self.lateness)] {
            writeln!(f, "{what}{}", percentiles::Words(histogram))?;
        }
        for (what, count) in
            [("replies late or to nothing", self.stray), ("connections closed by the server", self.closed)]
        {
            if count > 0 {
                writeln!(f, "note: {count} {what}")?;
            }
        }
        if self.ran_out {
            writeln!(f, "note: the file of updates ended before the time did")?;
        }
        if let Some(commits) = self.commits_per_second {
            writeln!(f, "note: the directory makes {commits:.0} writes/s durable, one after the other")?;
        }
        if self.outran_disk() {
            writeln!(
                f,
                "warning: replies came faster than this directory can commit: the server answered before the update \
                 was kept (RFC 2136 3.5), or keeps it elsewhere"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_went_wrong() {
        let mut outcome = Outcome { sent: 9, planned: 9, seconds: 2.0, ..Outcome::default() };
        outcome.refused.insert(Refusal { rcode: rcode::NOTAUTH, tsig: BADSIG }, 3);
        outcome.refused.insert(Refusal { rcode: rcode::NOTAUTH, tsig: rcode::BADKEY }, 2);
        outcome.refused.insert(Refusal { rcode: rcode::REFUSED, tsig: 0 }, 1);
        outcome.unverified.insert(Fault::Unsigned, 3);
        let text = outcome.to_string();
        for line in [
            "refused   3 with NOTAUTH (BADSIG): the server has another secret",
            "refused   2 with NOTAUTH (BADKEY): the server has no key",
            "refused   1 with REFUSED: does the server allow",
            "unproven  3 answered not signed",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(outcome.to_json()["refused"]["NOTAUTH (BADSIG)"], 3);
    }

    #[test]
    fn faster_than_the_disk() {
        let outcome = |window, commits_per_second| Outcome {
            accepted: 100,
            seconds: 1.0,
            window,
            commits_per_second,
            ..Outcome::default()
        };
        assert!(outcome(Some(1), Some(99.0)).outran_disk());
        assert!(!outcome(Some(1), Some(101.0)).outran_disk());
        assert!(!outcome(Some(2), Some(99.0)).outran_disk(), "committed together");
        assert!(!outcome(None, Some(99.0)).outran_disk());
        assert!(!outcome(Some(1), None).outran_disk());
        assert!(outcome(Some(1), Some(9.0)).to_string().contains("faster than this directory can commit"));
    }
}

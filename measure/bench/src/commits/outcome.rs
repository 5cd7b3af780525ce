//! What a loop of changes brought.

use std::{collections::BTreeMap, fmt};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::percentiles;

/// Latencies up to a minute are told apart: longer than any request is waited for.
const LATENCY_SECONDS_MAX: u32 = 60;

/// Result of a loop. Counts are of requests unless they say otherwise.
#[derive(Clone)]
pub struct Outcome {
    /// Clients, each with a request in flight.
    pub connections: usize,
    /// Sent, those that were sent again counted once.
    pub sent: u64,
    /// Answered, by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Not answered in time, or the connection ended first.
    pub lost: u64,
    /// Answered by what is no reply.
    pub unreadable: u64,
    /// Sent again, as the server had closed the connection meanwhile.
    pub again: u64,
    /// Connections that were made.
    pub opened: u64,
    /// Done by the end of the plan.
    pub in_time: u64,
    /// From the first request to the end of the plan, or to the last reply where that came before.
    pub planned_seconds: f64,
    /// From the first request to the last reply.
    pub seconds: f64,
    /// From the beginning of a request, a connection for it included, to its reply, in nanoseconds.
    pub latency: Histogram<u64>,
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome {
            connections: 0,
            sent: 0,
            statuses: BTreeMap::new(),
            lost: 0,
            unreadable: 0,
            again: 0,
            opened: 0,
            in_time: 0,
            planned_seconds: 0.0,
            seconds: 0.0,
            latency: percentiles::histogram(LATENCY_SECONDS_MAX),
        }
    }
}

impl Outcome {
    /// Those that were done: a status of 200 to 299.
    pub fn accepted(&self) -> u64 {
        self.statuses.iter().filter(|(status, _)| is_done(**status)).map(|(_, count)| count).sum()
    }

    /// The rate: those that were done by the end of the plan in its time, or all of them until the last reply, whichever is more. The first
    /// leaves out what a server had begun, which may be all where it takes longer than the plan is long; the second has it wait for the slowest.
    pub fn accepted_per_second(&self) -> f64 {
        let in_time = self.in_time as f64 / self.planned_seconds.max(1e-9);
        in_time.max(self.accepted() as f64 / self.seconds.max(1e-9))
    }

    fn refused(&self) -> impl Iterator<Item = (u16, u64)> {
        self.statuses.iter().map(|(&status, &count)| (status, count)).filter(|(status, _)| !is_done(*status))
    }

    /// As a JSON object; times in microseconds.
    pub fn to_json(&self) -> Value {
        let refused: serde_json::Map<_, _> =
            self.refused().map(|(status, count)| (status.to_string(), count.into())).collect();
        json!({
            "connections": self.connections, "sent": self.sent, "accepted": self.accepted(), "refused": refused,
            "lost": self.lost, "unverified": { "no reply": self.unreadable }, "again": self.again,
            "opened": self.opened, "in_time": self.in_time, "seconds": self.seconds, "accepted_per_second": self.accepted_per_second(),
            "latency_us": percentiles::json(&self.latency),
        })
    }
}

pub(super) fn is_done(status: u16) -> bool {
    (200..300).contains(&status)
}

/// What an operator may look at.
fn advice(status: u16) -> &'static str {
    match status {
        401 => ": is it the key that the server has?",
        403 => ": may the key change A records there, by its rules and those of the zone?",
        404 => ": is the API there, has the server the zone, and is it one of the key's?",
        429 | 503 => ": the server has no more places",
        _ => "",
    }
}

/// A table for people.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "changes   {} in {:.3} s, {} in flight", self.sent, self.seconds, self.connections)?;
        writeln!(f, "done      {} ({:.1}/s)", self.accepted(), self.accepted_per_second())?;
        for (status, count) in self.refused() {
            writeln!(f, "refused   {count} with {status}{}", advice(status))?;
        }
        writeln!(f, "lost      {}", self.lost)?;
        writeln!(f, "latency  {}", percentiles::Words(&self.latency))?;
        if self.opened > self.connections as u64 {
            writeln!(f, "note: {} connections were made, as the server closed them", self.opened)?;
        }
        for (what, count) in [("answered by no reply", self.unreadable), ("sent again", self.again)] {
            if count > 0 {
                writeln!(f, "note: {count} {what}")?;
            }
        }
        Ok(())
    }
}

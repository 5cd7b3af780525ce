//! What a trial brought, as a table and as JSON.

use std::fmt;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use wire::iana::rcode;

use super::{Outcome, expect::Mismatch};
use crate::percentiles;

impl Outcome {
    /// As a JSON object; times in microseconds.
    pub fn to_json(&self) -> Value {
        let times = |histogram: &Histogram<u64>| -> Value {
            let mut times = percentiles::json(histogram);
            times.insert("mean".to_owned(), json!(histogram.mean() / 1000.0));
            // One more for programs: too far out for most runs.
            times.insert(
                "p99.99".to_owned(),
                json!(percentiles::micros(histogram.value_at_percentile(99.99))),
            );
            times.into()
        };
        let rcodes: serde_json::Map<_, _> =
            self.rcodes_seen().map(|(name, count)| (name, json!(count))).collect();
        let mut value = json!({
            "planned": self.planned, "sent": self.sent, "received": self.received, "lost": self.lost(),
            "late": self.late, "stray": self.stray, "wrong": self.wrong, "truncated": self.truncated,
            "refused": self.refused, "blocked": self.blocked, "overrun": self.overrun,
            "connections": self.connections, "connections_failed": self.connections_failed,
            "connections_closed": self.connections_closed, "renewed": self.renewed, "window": self.window,
            "workers_limited": self.workers_limited, "own_drops": self.own_drops,
            "seconds": self.seconds, "overtime_seconds": self.overtime(),
            "stolen_share": self.stolen_share,
            "rcodes": rcodes,
            "answers_per_second": self.answers_per_second(),
            "octets_per_answer": self.octets as f64 / self.received.max(1) as f64,
            "kept_schedule": self.kept_schedule(),
            "latency_us": times(&self.latency), "lateness_us": times(&self.lateness),
        });
        if self.compared > 0 {
            value["compared"] = json!(self.compared);
            value["different"] = json!(self.different);
            value["mismatches"] = self.mismatches.iter().map(mismatch_json).collect();
        }
        if !self.receipt.is_empty() {
            value["receipt_us"] = times(&self.receipt);
        }
        value
    }

    fn rcodes_seen(&self) -> impl Iterator<Item = (String, u64)> {
        let seen = self.rcodes.iter().enumerate().filter(|&(_, &count)| count > 0);
        seen.map(|(code, &count)| match rcode::mnemonic(code as u16) {
            Some(name) => (name.to_owned(), count),
            None => (format!("RCODE{code}"), count),
        })
    }
}

fn mismatch_json(mismatch: &Mismatch) -> Value {
    json!({ "query": mismatch.query, "expected": mismatch.expected, "found": mismatch.found })
}

/// A table for people.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sent      {} of {} planned in {:.3} s", self.sent, self.planned, self.seconds)?;
        writeln!(f, "answered  {} ({:.0}/s)", self.received, self.answers_per_second())?;
        writeln!(f, "lost      {} ({:.4} %)", self.lost(), self.lost_share() * 100.0)?;
        write!(f, "rcodes   ")?;
        for (name, count) in self.rcodes_seen() {
            write!(f, " {name} {:.1} %", count as f64 * 100.0 / self.received.max(1) as f64)?;
        }
        writeln!(f, "; mean reply {:.0} octets", self.octets as f64 / self.received.max(1) as f64)?;
        let times =
            [("latency  ", &self.latency), ("lateness ", &self.lateness), ("receipt  ", &self.receipt)];
        for (what, histogram) in times {
            if self.receipt.is_empty() && what.starts_with("receipt") {
                continue;
            }
            writeln!(f, "{what}{}", percentiles::Words(histogram))?;
        }
        if self.connections + self.connections_failed + self.connections_closed > 0 {
            let Outcome { connections, connections_failed, connections_closed, .. } = self;
            writeln!(
                f,
                "connections {connections} opened, {connections_failed} failed, {connections_closed} closed by the server"
            )?;
        }
        for (what, count) in [
            ("late", self.late),
            ("stray", self.stray),
            ("wrong", self.wrong),
            ("truncated", self.truncated),
            ("refused", self.refused),
            ("overrun", self.overrun),
            ("dropped by this machine's own buffers", self.own_drops),
        ] {
            if count > 0 {
                writeln!(f, "note: {count} {what}")?;
            }
        }
        if self.compared > 0 {
            writeln!(f, "compared  {} answers, {} differ", self.compared, self.different)?;
        }
        for Mismatch { query, expected, found } in &self.mismatches {
            writeln!(f, "different {query}\n  expected {expected}\n  found    {found}")?;
        }
        if self.workers_limited > 0 {
            writeln!(
                f,
                "warning: {} threads were busy all the time with room in their window; they are the limit, not the \
                 server: more of them (--cpus), or fewer system calls (--trains)",
                self.workers_limited
            )?;
        }
        // A closed loop has no schedule to keep.
        if !self.kept_schedule() && (self.window == 0 || self.own_drops > 0) {
            writeln!(
                f,
                "warning: the generator did not keep its schedule; it may be the limit, not the server"
            )?;
        }
        Ok(())
    }
}

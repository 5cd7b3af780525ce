//! What a trial brought: counts, latencies, and how well the generator itself kept its plan.

use std::{
    fmt,
    io::{self, Write},
};

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use wire::iana::rcode;

use super::expect::{Mismatch, SHOWN_MAX};

/// Times from a nanosecond to a minute, to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("bounds and digits within what the type allows")
}

/// Percentiles shown.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)];
/// By default the generator kept its schedule where 99 % of its queries left within a millisecond of their planned
/// time: no more than a burst of a few hundred queries at the highest rates.
pub const LATENESS_NS_MAX: u64 = 1_000_000;

/// Result of a trial.
#[derive(Clone)]
pub struct Outcome {
    /// Queries the plan asked for; in a closed loop those sent.
    pub planned: u64,
    /// Queries sent.
    pub sent: u64,
    /// Replies to them within the time-out.
    pub received: u64,
    /// Replies after the time-out, counted as lost too.
    pub late: u64,
    /// Replies that belong to no query in flight.
    pub stray: u64,
    /// Replies whose header or question is not that of the query (of a sample).
    pub wrong: u64,
    /// Replies with TC set.
    pub truncated: u64,
    /// Replies by response code, the four bits of the header.
    pub rcodes: [u64; 16],
    /// Octets of all replies.
    pub octets: u64,
    /// Times the system refused a connection (nobody listens).
    pub refused: u64,
    /// Times the system could not take a query at once.
    pub blocked: u64,
    /// Queries that made room for newer ones; see [`super::flows`].
    pub overrun: u64,
    /// Connections that came about.
    pub connections: u64,
    /// Connections that did not come about.
    pub connections_failed: u64,
    /// Connections that the server closed.
    pub connections_closed: u64,
    /// Sockets given another source port.
    pub renewed: u64,
    /// Replies held against what they are to be.
    pub compared: u64,
    /// Of these, those that differ.
    pub different: u64,
    /// The first of those.
    pub mismatches: Vec<Mismatch>,
    /// Workers that were busy all the time in a closed loop while their window was hardly ever full.
    pub workers_limited: u64,
    /// In a closed loop: queries that might be outstanding in the end.
    pub window: u64,
    /// Replies that this machine received and dropped for want of buffer: the generator's own loss.
    pub own_drops: u64,
    /// Length of the sending phase.
    pub seconds: f64,
    /// When the plan's last query was due; in a closed loop the length of the sending phase.
    pub planned_seconds: f64,
    /// When the last reply came that counts as received.
    pub finished_seconds: f64,
    /// Share of the machine's processor time that a hypervisor took away meanwhile.
    pub stolen_share: f64,
    /// Lateness up to which the schedule counts as kept.
    pub lateness_ns_max: u64,
    /// From the planned time of a query to its reply, in nanoseconds.
    pub latency: Histogram<u64>,
    /// From the planned time of a query to its sending, in nanoseconds.
    pub lateness: Histogram<u64>,
    /// From the moment the system got a reply to its reading, in nanoseconds; only with
    /// [`super::Settings::check_latency`].
    pub receipt: Histogram<u64>,
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome {
            planned: 0,
            sent: 0,
            received: 0,
            late: 0,
            stray: 0,
            wrong: 0,
            truncated: 0,
            rcodes: [0; 16],
            octets: 0,
            refused: 0,
            blocked: 0,
            overrun: 0,
            connections: 0,
            connections_failed: 0,
            connections_closed: 0,
            renewed: 0,
            compared: 0,
            different: 0,
            mismatches: Vec::new(),
            workers_limited: 0,
            window: 0,
            own_drops: 0,
            seconds: 0.0,
            planned_seconds: 0.0,
            finished_seconds: 0.0,
            stolen_share: 0.0,
            lateness_ns_max: LATENESS_NS_MAX,
            latency: histogram(),
            lateness: histogram(),
            receipt: histogram(),
        }
    }
}

impl Outcome {
    /// Adds what another worker, process or host brought in the same trial. Counts and times of queries add up; of
    /// lengths, shares and limits the larger one counts.
    pub fn merge(&mut self, other: &Outcome) {
        // Taken apart, so that no field can be forgotten here.
        let Outcome {
            planned,
            sent,
            received,
            late,
            stray,
            wrong,
            truncated,
            octets,
            refused,
            blocked,
            overrun,
            connections,
            connections_failed,
            connections_closed,
            renewed,
            compared,
            different,
            mismatches,
            workers_limited,
            window,
            own_drops,
            rcodes,
            seconds,
            planned_seconds,
            finished_seconds,
            stolen_share,
            lateness_ns_max,
            latency,
            lateness,
            receipt,
        } = other;
        self.planned += planned;
        self.sent += sent;
        self.received += received;
        self.late += late;
        self.stray += stray;
        self.wrong += wrong;
        self.truncated += truncated;
        self.octets += octets;
        self.refused += refused;
        self.blocked += blocked;
        self.overrun += overrun;
        self.connections += connections;
        self.connections_failed += connections_failed;
        self.connections_closed += connections_closed;
        self.renewed += renewed;
        self.compared += compared;
        self.different += different;
        let room = SHOWN_MAX.saturating_sub(self.mismatches.len());
        self.mismatches.extend(mismatches.iter().take(room).cloned());
        self.workers_limited += workers_limited;
        self.window += window;
        self.own_drops += own_drops;
        self.rcodes.iter_mut().zip(rcodes).for_each(|(all, count)| *all += count);
        self.seconds = self.seconds.max(*seconds);
        self.planned_seconds = self.planned_seconds.max(*planned_seconds);
        self.finished_seconds = self.finished_seconds.max(*finished_seconds);
        self.stolen_share = self.stolen_share.max(*stolen_share);
        self.lateness_ns_max = self.lateness_ns_max.max(*lateness_ns_max);
        self.latency.add(latency).expect("all histograms have the same bounds");
        self.receipt.add(receipt).expect("all histograms have the same bounds");
        self.lateness.add(lateness).expect("all histograms have the same bounds");
    }

    /// Queries sent and not answered in time.
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }

    /// Lost queries as share of those sent.
    pub fn lost_share(&self) -> f64 {
        self.lost() as f64 / self.sent.max(1) as f64
    }

    /// Answers a second of the sending phase.
    pub fn answers_per_second(&self) -> f64 {
        self.received as f64 / self.seconds.max(1e-9)
    }

    /// Whether the generator sent all it was to send, nearly all in time, and lost no reply itself.
    pub fn kept_schedule(&self) -> bool {
        self.sent == self.planned
            && self.own_drops == 0
            && self.lateness.value_at_percentile(99.0) <= self.lateness_ns_max
    }

    /// How much longer than planned the sending took.
    pub fn sending_overtime(&self) -> f64 {
        (self.seconds - self.planned_seconds).max(0.0)
    }

    /// How long after the plan's last query the last reply came: queries that waited in buffers at the end.
    pub fn overtime(&self) -> f64 {
        (self.finished_seconds - self.planned_seconds).max(0.0)
    }

    /// As a JSON object; times in microseconds.
    pub fn to_json(&self) -> Value {
        let times = |histogram: &Histogram<u64>| -> Value {
            let of = |&(name, at): &(&str, f64)| {
                (name.to_owned(), json!(micros(histogram.value_at_percentile(at))))
            };
            PERCENTILES.iter().map(of).collect::<serde_json::Map<_, _>>().into()
        };
        let rcodes: serde_json::Map<_, _> =
            self.rcodes_seen().map(|(name, count)| (name, json!(count))).collect();
        let mut value = json!({
            "planned": self.planned, "sent": self.sent, "received": self.received, "lost": self.lost(),
            "late": self.late, "stray": self.stray, "wrong": self.wrong, "truncated": self.truncated,
            "refused": self.refused, "blocked": self.blocked, "overrun": self.overrun,
            "connections": self.connections, "connections_failed": self.connections_failed,
            "connections_closed": self.connections_closed, "renewed": self.renewed, "window": self.window, "workers_limited": self.workers_limited, "own_drops": self.own_drops, "seconds": self.seconds, "overtime_seconds": self.overtime(),
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

/// Steps of the percentile file for each halving of what is left to 100 %, as HdrHistogram's own tools have it.
const TICKS: u32 = 5;

/// Writes a histogram of nanoseconds as the text that HdrHistogram's tools print and plot: percentiles, in microseconds.
pub fn write_percentiles(histogram: &Histogram<u64>, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    for step in histogram.iter_quantiles(TICKS) {
        let value = micros(step.value_iterated_to());
        let quantile = step.quantile_iterated_to();
        let below = histogram.count_between(0, step.value_iterated_to());
        match quantile < 1.0 {
            true => writeln!(to, "{value:12.3} {quantile:2.12} {below:10} {:14.2}", 1.0 / (1.0 - quantile))?,
            false => writeln!(to, "{value:12.3} {quantile:2.12} {below:10}")?,
        }
    }
    writeln!(
        to,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]",
        histogram.mean() / 1e3,
        histogram.stdev() / 1e3
    )?;
    writeln!(to, "#[Max     = {:12.3}, Total count    = {:12}]", micros(histogram.max()), histogram.len())?;
    writeln!(
        to,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        histogram.buckets(),
        (2 * 10u64.pow(histogram.sigfig().into())).next_power_of_two()
    )
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
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
            write!(f, "{what}")?;
            for (name, at) in PERCENTILES {
                write!(f, " {name} {:.1}", micros(histogram.value_at_percentile(at)))?;
            }
            writeln!(f, " us")?;
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

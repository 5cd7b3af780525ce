//! What a trial brought: counts, latencies, and how well the generator itself kept its plan.

use hdrhistogram::Histogram;

use super::expect::{Mismatch, SHOWN_MAX};
use crate::percentiles;

/// Longer times count as a minute: no query is waited for so long.
fn histogram() -> Histogram<u64> {
    percentiles::histogram(60)
}

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
}

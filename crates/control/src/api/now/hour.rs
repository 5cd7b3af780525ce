//! How the server was in the last hour, for who comes because something happened.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Serialize;
use wire::iana::rcode;

use crate::api::views::json;
use crate::metrics::Readings;

/// How long a span is.
const SPAN: Duration = Duration::from_secs(10);
/// Spans that are kept: an hour. 24 KiB.
const SPANS: usize = 360;

/// What is kept of each span.
type Values = [u64; SERIES.len()];

type ReadOne = fn(&Readings) -> u64;

/// What is read of it: its name, whether it counts, and where it is. Of what counts it is kept what came in a span; else what there was at its end.
const SERIES: [(&str, bool, ReadOne); 8] = [
    ("udp-queries", true, |readings| readings.transport.udp_queries),
    ("tcp-queries", true, |readings| readings.transport.tcp_queries),
    ("noerror", true, |readings| readings.rcodes()[usize::from(rcode::NOERROR)]),
    ("nxdomain", true, |readings| readings.rcodes()[usize::from(rcode::NXDOMAIN)]),
    ("servfail", true, |readings| readings.rcodes()[usize::from(rcode::SERVFAIL)]),
    ("other-responses", true, others),
    ("dropped", true, |readings| {
        readings.transport.udp_receive_overflows + readings.transport.udp_send_overflows
    }),
    ("resident-octets", false, |readings| readings.process.resident_octets.unwrap_or_default()),
];

/// Responses with any other code.
fn others(readings: &Readings) -> u64 {
    let told = [rcode::NOERROR, rcode::NXDOMAIN, rcode::SERVFAIL];
    let codes = readings.rcodes().into_iter().enumerate();
    codes
        .filter(|(code, _)| !told.iter().any(|told| usize::from(*told) == *code))
        .map(|(_, count)| count)
        .sum()
}

/// See the module.
pub(super) struct Hour {
    /// When the span that has begun is over.
    due: Instant,
    /// What was read at the end of the last one; none before the first.
    last: Option<Values>,
    /// The oldest first; none: nobody looked then.
    spans: VecDeque<Option<Values>>,
    /// When the last one was over, in seconds since 1970.
    until: u64,
}

/// As it is told.
#[derive(Serialize)]
struct Told {
    /// Seconds of a span.
    every: u64,
    /// When the last one was over, in seconds since 1970.
    until: u64,
    series: Vec<Series>,
}

#[derive(Serialize)]
struct Series {
    name: &'static str,
    /// Whether values are what came in a span; else what there was at its end.
    counts: bool,
    /// The oldest first.
    values: Vec<Option<u64>>,
}

impl Hour {
    /// Nothing is known yet: the first reading is due at once.
    pub(super) fn new(at: Instant) -> Hour {
        Hour { due: at, last: None, spans: VecDeque::new(), until: 0 }
    }

    /// When the next reading is due.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Takes a reading if one is due. `now`: in seconds since 1970.
    pub(super) fn note(&mut self, readings: &Readings, at: Instant, now: u64) {
        let Some(late) = at.checked_duration_since(self.due) else { return };
        let values = SERIES.map(|(.., read)| read(readings));
        // Who was kept from looking does not know in which of the spans it came.
        let missed = (late.as_nanos() / SPAN.as_nanos()) as u32;
        let came = self.last.filter(|_| missed == 0).map(|last| {
            let came = |series: usize| match SERIES[series].1 {
                true => values[series].saturating_sub(last[series]),
                false => values[series],
            };
            std::array::from_fn(came)
        });
        if self.last.is_some() {
            let unknown = (missed as usize).min(SPANS);
            self.spans.extend(std::iter::repeat_n(None, unknown).chain([came]));
            let excess = self.spans.len().saturating_sub(SPANS);
            self.spans.drain(..excess);
        }
        self.due += SPAN * (missed + 1);
        (self.last, self.until) = (Some(values), now);
    }

    /// All of it as JSON.
    pub(super) fn text(&self) -> Vec<u8> {
        let series = SERIES.iter().enumerate().map(|(at, (name, counts, _))| Series {
            name,
            counts: *counts,
            values: self.spans.iter().map(|span| span.map(|values| values[at])).collect(),
        });
        json(&Told { every: SPAN.as_secs(), until: self.until, series: series.collect() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn readings(udp: u64, failed: u64, memory: u64) -> Readings {
        let mut readings = Readings::default();
        readings.transport.udp_queries = udp;
        readings.answers.rcodes[usize::from(rcode::SERVFAIL)] = failed;
        readings.answers.rcodes[usize::from(rcode::REFUSED)] = 2 * failed;
        readings.process.resident_octets = Some(memory);
        readings
    }

    fn values(hour: &Hour, name: &str) -> Vec<Option<u64>> {
        let told: serde_json::Value = serde_json::from_slice(&hour.text()).unwrap();
        let series = told["series"].as_array().unwrap().iter().find(|series| series["name"] == name).unwrap();
        serde_json::from_value(series["values"].clone()).unwrap()
    }

    #[test]
    fn what_came_in_each_span() {
        let begin = Instant::now();
        let mut hour = Hour::new(begin);
        for (seconds, udp, failed, memory) in
            [(0, 100, 1, 9), (5, 120, 1, 9), (10, 150, 3, 8), (21, 151, 3, 7)]
        {
            hour.note(&readings(udp, failed, memory), begin + Duration::from_secs(seconds), 1_000 + seconds);
        }
        assert_eq!(values(&hour, "udp-queries"), [Some(50), Some(1)]);
        assert_eq!(values(&hour, "servfail"), [Some(2), Some(0)]);
        assert_eq!(values(&hour, "other-responses"), [Some(4), Some(0)]);
        assert_eq!(values(&hour, "resident-octets"), [Some(8), Some(7)]);
        let told: serde_json::Value = serde_json::from_slice(&hour.text()).unwrap();
        assert_eq!((&told["every"], &told["until"]), (&10.into(), &1_021.into()));
        // It keeps its pace, however late it was.
        assert_eq!(hour.due(), begin + Duration::from_secs(30));
    }

    /// Of spans in which nobody looked nothing is known, nor of the one in which somebody looked again.
    #[test]
    fn spans_that_nobody_saw() {
        let begin = Instant::now();
        let mut hour = Hour::new(begin);
        for (seconds, udp) in [(0, 0), (10, 10), (45, 99), (50, 100)] {
            hour.note(&readings(udp, 0, 0), begin + Duration::from_secs(seconds), seconds);
        }
        assert_eq!(values(&hour, "udp-queries"), [Some(10), None, None, None, Some(1)]);
        // A whole day, and a counter that was read as less than before.
        hour.note(&readings(5, 0, 0), begin + Duration::from_secs(86_400), 86_400);
        let all = values(&hour, "udp-queries");
        assert!(all.len() == SPANS && all.iter().all(Option::is_none));
        hour.note(&readings(3, 0, 0), begin + Duration::from_secs(86_410), 86_410);
        let all = values(&hour, "udp-queries");
        assert_eq!((all.len(), all[SPANS - 1]), (SPANS, Some(0)));
    }
}

//! The server's numbers by the names that PowerDNS has for them: those that mean the same here. All others are told by `/metrics`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api::frame::{Item, Number};
use wire::iana::rcode;

use crate::answer::rcode_name;
use crate::controller::Controller;
use crate::metrics::Readings;

/// So long they are told as they were: who asks without a pause costs one look a second at what all workers count.
const KEPT: Duration = Duration::from_secs(1);

/// What was told, which counters are never less than: see [`crate::metrics`].
#[derive(Default)]
pub(super) struct Numbers {
    kept: Option<(Instant, Arc<[u8]>)>,
    told: HashMap<(&'static str, String), u64>,
}

impl Numbers {
    /// All numbers as they are now or were within [`KEPT`], one behind the other as frames have them: some 4 KiB, as 72 types at most are told apart.
    pub(super) fn of(&mut self, controller: &Controller) -> Arc<[u8]> {
        if let Some((at, octets)) = &self.kept
            && at.elapsed() < KEPT
        {
            return Arc::clone(octets);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let octets: Arc<[u8]> = self.write(&Readings::of(controller), now).into();
        self.kept = Some((Instant::now(), Arc::clone(&octets)));
        octets
    }

    /// `now`: in seconds since 1970.
    fn write(&mut self, readings: &Readings, now: f64) -> Vec<u8> {
        let mut octets = Vec::new();
        for (name, value) in gauges(readings) {
            Number { name, label: "", value }.write(&mut octets);
        }
        for (name, value) in counters(readings, now) {
            self.put(name, "", value, &mut octets);
        }
        for (label, value) in &readings.types {
            self.put("response-by-qtype", label, *value, &mut octets);
        }
        for (code, value) in readings.rcodes().into_iter().enumerate().filter(|(_, value)| *value > 0) {
            self.put("response-by-rcode", &rcode_name(code), value, &mut octets);
        }
        octets
    }

    fn put(&mut self, name: &'static str, label: &str, value: u64, octets: &mut Vec<u8>) {
        let told = self.told.entry((name, label.to_owned())).or_default();
        *told = value.max(*told);
        Number { name, label, value: *told }.write(octets);
    }
}

/// What is as it is now.
fn gauges(readings: &Readings) -> impl Iterator<Item = (&'static str, u64)> {
    let process = &readings.process;
    let gauges = [
        ("open-tcp-connections", Some(readings.transport.tcp_open)),
        ("real-memory-usage", process.resident_octets),
        ("fd-usage", process.open_descriptors),
    ];
    gauges.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

/// What only grows.
fn counters(readings: &Readings, now: f64) -> [(&'static str, u64); 14] {
    let (counts, rcodes) = (&readings.transport, readings.rcodes());
    // A batch may be seen partly added.
    let udp4 = counts.udp_queries.saturating_sub(counts.udp_ipv6_queries);
    let tcp4 = counts.tcp_queries.saturating_sub(counts.tcp_ipv6_queries);
    let responses = |code: u16| rcodes[usize::from(code)];
    [
        ("uptime", (now - readings.started).max(0.0) as u64),
        ("udp-queries", counts.udp_queries),
        ("udp4-queries", udp4),
        ("udp6-queries", counts.udp_ipv6_queries),
        ("udp-answers", counts.udp_responses),
        ("tcp-queries", counts.tcp_queries),
        ("tcp4-queries", tcp4),
        ("tcp6-queries", counts.tcp_ipv6_queries),
        ("tcp-answers", counts.tcp_responses),
        ("udp-recvbuf-errors", counts.udp_receive_overflows),
        ("udp-sndbuf-errors", counts.udp_send_overflows),
        ("noerror-packets", responses(rcode::NOERROR)),
        ("nxdomain-packets", responses(rcode::NXDOMAIN)),
        ("servfail-packets", responses(rcode::SERVFAIL)),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::frame::Run;

    /// All that is told, a line each: name, label, value.
    fn lines(octets: &[u8]) -> Vec<String> {
        let run: Run<'_, Number<'_>> = Run::read(octets).unwrap();
        run.iter().map(|number| format!("{} {} {}", number.name, number.label, number.value)).collect()
    }

    fn readings(udp: u64, ipv6: u64) -> Readings {
        let mut readings = Readings { started: 100.0, ..Readings::default() };
        (readings.transport.udp_queries, readings.transport.udp_ipv6_queries) = (udp, ipv6);
        readings.transport.tcp_open = udp;
        readings.answers.rcodes[usize::from(rcode::SERVFAIL)] = 7;
        readings.types = vec![("A".into(), 3), ("others".into(), 1)];
        readings
    }

    #[test]
    fn each_by_its_name() {
        let told = lines(&Numbers::default().write(&readings(5, 2), 107.5));
        for line in [
            "uptime  7",
            "udp-queries  5",
            "udp4-queries  3",
            "udp6-queries  2",
            "servfail-packets  7",
            "noerror-packets  0",
            "open-tcp-connections  5",
            "response-by-qtype A 3",
            "response-by-qtype others 1",
            "response-by-rcode SERVFAIL 7",
        ] {
            assert!(told.iter().any(|told| told == line), "{line}: {told:?}");
        }
        // What the system does not say is left out, as is what was never answered.
        assert!(
            !told.iter().any(|told| told.starts_with("fd-usage") || told.contains("NOERROR")),
            "{told:?}"
        );
        // Those of one map come one behind the other.
        let maps = told.iter().filter(|told| told.starts_with("response-by-qtype")).count();
        let first = told.iter().position(|told| told.starts_with("response-by-qtype")).unwrap();
        assert!(maps == 2 && told[first + 1] == "response-by-qtype others 1");
    }

    /// A counter that was read as less than before is told as it was; a gauge as it is. So is the time, where the clock was set back.
    #[test]
    fn counters_never_go_down() {
        let mut numbers = Numbers::default();
        numbers.write(&readings(5, 2), 150.0);
        let told = lines(&numbers.write(&readings(4, 2), 20.0));
        for line in ["uptime  50", "udp-queries  5", "udp4-queries  3", "open-tcp-connections  4"] {
            assert!(told.iter().any(|told| told == line), "{line}: {told:?}");
        }
    }
}

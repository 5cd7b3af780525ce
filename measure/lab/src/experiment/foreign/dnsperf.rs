//! dnsperf (DNS-OARC): its command line, and what it counted.

use super::{Counts, Foreign, Format, Lab, Offer, Tool, number, words_behind};
use crate::process;

/// Sockets over UDP: with two workers that have a socket each, more than 60 of 100 flows seldom come to one of them. More cost it rate.
const SOCKETS: &str = "100";
/// Most outstanding. At 100,000 a second, about what it can, they have left within 40 ms: fewer, and it would stand still while a server does for a
/// moment, and offer less; more, and they wait for longer than the time-out where it is the limit.
const OUTSTANDING: &str = "4000";
/// What each socket shall hold, KiB: replies to all that is outstanding, with what the kernel adds, so that it drops none of them itself.
const BUFFER_KIB: &str = "4096";
/// Most pairs of threads: each has sockets of its own.
const THREADS_MAX: usize = 8;

/// Says its version and that there is nothing to ask: the help of newer ones (2.16) does not have it.
const NOTHING_ASKED: [&str; 9] = ["dnsperf", "-d", "/dev/null", "-n", "1", "-l", "1", "-s", "127.0.0.1"];

/// The installed one.
pub(super) fn tool() -> Option<Tool> {
    let program = Foreign::Dnsperf.program();
    let help = process::said(&[program, "-h"])?;
    let long = process::said(&[program, "-H"]).unwrap_or_default();
    let version = version_in(&help).or_else(|| version_in(&process::said(&NOTHING_ASKED)?));
    let has_packets = words_behind(&help, "-B").is_some();
    // A line for each query that was lost costs it time.
    let options =
        if words_behind(&long, "suppress:").is_some() { vec!["-O", "suppress=timeout"] } else { Vec::new() };
    Some(Tool {
        which: Foreign::Dnsperf,
        version: version.unwrap_or_else(|| "unknown".to_owned()),
        format: if has_packets { Format::Packets } else { Format::Plain },
        options,
    })
}

fn version_in(said: &str) -> Option<String> {
    words_behind(said, "Version")?.next().map(str::to_owned)
}

/// The command line of an offer.
pub(super) fn command(tool: &Tool, lab: &Lab, offer: &Offer<'_>) -> Vec<String> {
    let (ip, port) = (offer.server.ip().to_string(), offer.server.port().to_string());
    let (file, seconds) = (offer.queries.path.display().to_string(), offer.seconds.to_string());
    let timeout = (lab.effort.timeout_ms as f64 / 1000.0).to_string();
    let threads = lab.load_cores.len().clamp(1, THREADS_MAX).to_string();
    let sockets = if offer.tcp { crate::recipe::CONNECTIONS } else { SOCKETS };
    let rate = offer.rate.map(|rate| format!("{:.0}", rate.max(1.0)));
    let mut words = vec![tool.which.program(), "-s", &ip, "-p", &port, "-d", &file, "-l", &seconds];
    words.extend(["-c", sockets, "-T", &threads, "-q", OUTSTANDING, "-b", BUFFER_KIB, "-t", &timeout]);
    words.extend(rate.iter().flat_map(|rate| ["-Q", rate]));
    if offer.tcp {
        words.extend(["-m", "tcp"]);
    }
    if tool.format == Format::Packets {
        words.push("-B");
    }
    words.extend(offer.queries.common.iter().copied());
    words.extend(&tool.options);
    words.into_iter().map(str::to_owned).collect()
}

/// What it counted, from its statistics. Those of connections, which come later, have lines of the same names.
pub fn read(said: &str) -> Option<Counts> {
    let value = |head: &str| number(words_behind(said, head)?.next()?);
    let counts = Counts {
        sent: value("Queries sent:")?,
        answered: value("Queries completed:")?,
        seconds: value("Run time (s):")?,
        latency_us: value("Average Latency (s):").map(|seconds| seconds * 1e6).filter(|&micros| micros > 0.0),
    };
    (counts.seconds > 0.0 && counts.answered <= counts.sent).then_some(counts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// As version 2.10 has it over UDP.
    const UDP: &str = "DNS Performance Testing Tool\nVersion 2.10.0\n\n[Status] Command line: dnsperf -s 10.99.0.2\n[Status] Testing complete (time limit)\n\n\
        Statistics:\n\n  Queries sent:         2000\n  Queries completed:    1990 (99.50%)\n  Queries lost:         10 (0.50%)\n\n  \
        Response codes:       NOERROR 1990 (100.00%)\n  Average packet size:  request 32, response 32\n  Run time (s):         0.500000\n  \
        Queries per second:   3980.000000\n\n  Average Latency (s):  0.001079 (min 0.000017, max 0.018816)\n  Latency StdDev (s):   0.001461\n\n";
    /// What it adds over TCP.
    const CONNECTIONS: &str = "Connection Statistics:\n\n  Reconnections:        0\n\n  Average Latency (s):  0.004342 (min 0.000905, max 0.007360)\n  \
        Latency StdDev (s):   0.001535\n\n";

    #[track_caller]
    fn check(said: &str, expected: Option<(f64, f64, f64, Option<f64>)>) {
        let read = read(said).map(|counts| {
            (counts.sent, counts.answered, counts.seconds, counts.latency_us.map(|micros| micros.round()))
        });
        assert_eq!(read, expected);
    }

    #[test]
    fn version() {
        assert_eq!(version_in(UDP).as_deref(), Some("2.10.0"));
        assert_eq!(version_in("Usage: dnsperf [-f family]"), None);
        // Installed by the gate; whichever it is, it says it somewhere.
        assert!(tool().is_none_or(|tool| tool.version.starts_with("2.")));
    }

    #[test]
    fn what_it_counted() {
        let expected = Some((2000.0, 1990.0, 0.5, Some(1079.0)));
        check(UDP, expected);
        check(&format!("{UDP}{CONNECTIONS}"), expected);
        // Ended by a signal, or without its latency, as others of its versions may be.
        check(&UDP.replace("\n\n  Response", "\n  Queries interrupted:  5 (0.25%)\n\n  Response"), expected);
        check(UDP.split("\n  Average Latency").next().unwrap(), Some((2000.0, 1990.0, 0.5, None)));
        // Nothing was answered: no latency, and none of 0.
        let silent = UDP.replace("1990 (99.50%)", "0 (0.00%)").replace("(s):  0.001079", "(s):  0.000000");
        check(&silent, Some((2000.0, 0.0, 0.5, None)));
    }

    #[test]
    fn what_it_did_not_count() {
        check("", None);
        check("dnsperf: invalid option -- 'Z'", None);
        check(&UDP.replace("1990 (99.50%)", "many"), None);
        check(&UDP.replace("         2000", "         -1"), None);
        check(&UDP.replace("         2000", "         NaN"), None);
        check(&UDP.replace("         2000", "         1000"), None);
        check(&UDP.replace("0.500000", "0.000000"), None);
        check(UDP.split("  Run time").next().unwrap(), None);
    }
}

//! kxdpgun (Knot DNS): its command line, and what it counted. It sends and receives past the kernel's sockets, at a link of its own address.

use super::{Counts, Foreign, Format, Lab, Offer, Tool, number, words_behind};
use crate::process;

/// As many a second as no machine can: it sends what it can.
const RATE_MAX: f64 = 1e8;

/// Versions up to 3.5 reckon how many queries they send in whole seconds, and of less than one take the file to be empty.
const SECONDS_MIN: f64 = 1.0;

/// The installed one.
pub(super) fn tool() -> Option<Tool> {
    let program = Foreign::Kxdpgun.program();
    let help = process::said(&[program, "--help"])?;
    let first = process::first_line(&[program, "-V"]).unwrap_or_default();
    // `kxdpgun (Knot DNS), version 3.2.6`, `kxdpgun, Knot DNS 3.5.8`.
    let version = first.split_whitespace().next_back().unwrap_or("unknown").to_owned();
    let has_packets = words_behind(&help, "-B,").is_some();
    let format = if has_packets { Format::Packets } else { Format::Lettered };
    Some(Tool { which: Foreign::Kxdpgun, version, format, options: Vec::new() })
}

/// The command line of an offer over UDP.
pub(super) fn command(tool: &Tool, lab: &Lab, offer: &Offer<'_>) -> Vec<String> {
    words(tool, lab.load_cores.first().copied().unwrap_or(0), offer)
}

/// `core`: the generator's.
fn words(tool: &Tool, core: usize, offer: &Offer<'_>) -> Vec<String> {
    let first = core.to_string();
    let (ip, port) = (offer.server.ip().to_string(), offer.server.port().to_string());
    let file = offer.queries.path.display().to_string();
    let seconds = offer.seconds.max(SECONDS_MIN).ceil().to_string();
    let rate = format!("{:.0}", offer.rate.unwrap_or(RATE_MAX).max(1.0));
    let mut words = vec![tool.which.program(), "-t", &seconds, "-Q", &rate, "-p", &port, "-F", &first];
    if tool.format == Format::Packets {
        words.push("-B");
    }
    words.extend(["-i", &file, &ip]);
    words.into_iter().map(str::to_owned).collect()
}

/// What it counted: `total queries:  N (R pps)` and `total replies:  N …`. It waits a second for what comes late, and knows no latency.
pub(super) fn read(said: &str) -> Option<Counts> {
    let mut queries = words_behind(said, "total queries:")?;
    let sent = number(queries.next()?)?;
    // `(19,989` since 3.5.
    let rate = number(&queries.next()?.trim_start_matches('(').replace(',', ""))?;
    let answered = number(words_behind(said, "total replies:")?.next()?)?;
    // Replies are not matched to queries: duplicates would be answers of something.
    let is_sound = sent > 0.0 && rate > 0.0 && answered <= sent;
    is_sound.then(|| Counts { sent, answered, seconds: sent / rate, latency_us: None })
}

#[cfg(test)]
mod tests {
    use super::{super::QueryFile, *};

    const SAID: &str = "using interface xa, XDP threads 1, UDP, native mode\nthread#00: sent 40010, received 39990\n\
        total queries:     40010 (20005 pps)\ntotal replies:     39990 (19995 pps) (99%)\naverage DNS reply size: 32 B\nduration: 2 s\n";

    #[test]
    fn it_sends_for_whole_seconds() {
        let tool = Tool {
            which: Foreign::Kxdpgun,
            version: String::new(),
            format: Format::Packets,
            options: Vec::new(),
        };
        let queries = QueryFile { path: "q".into(), common: Vec::new() };
        let command = |seconds, rate| {
            let server = ([192, 0, 2, 1], 53).into();
            words(&tool, 1, &Offer { server, queries: &queries, tcp: false, rate, seconds }).join(" ")
        };
        assert_eq!(command(0.3, Some(1000.4)), "kxdpgun -t 1 -Q 1000 -p 53 -F 1 -B -i q 192.0.2.1");
        assert_eq!(command(2.0, None), "kxdpgun -t 2 -Q 100000000 -p 53 -F 1 -B -i q 192.0.2.1");
    }

    #[test]
    fn what_it_counted() {
        let counts = read(SAID);
        assert_eq!(counts, Some(Counts { sent: 40010.0, answered: 39990.0, seconds: 2.0, latency_us: None }));
        // More in the line, as others of its versions may have.
        assert_eq!(read(&SAID.replace("(20005 pps)", "(20005 pps) (100.02% of target)")), counts);
        assert_eq!(read(&SAID.replace("39990 (", "0 (")).map(|counts| counts.share()), Some(0.0));
        assert_eq!(read(&SAID.replace("(20005 pps)", "(20,005 pps) (99.945244 %)")), counts);
    }

    #[test]
    fn what_it_did_not_count() {
        for said in [
            "",
            "error: failed to get remote MAC of target/gateway '127.0.0.1' (No such file or directory)",
            &SAID.replace("40010 (20005", "0 (0"),
            &SAID.replace("20005 pps", "fast"),
            &SAID.replace("total replies:     39990", "total replies:     50000"),
            &SAID.replace("total replies", "replies"),
        ] {
            assert_eq!(read(said), None, "{said}");
        }
    }
}

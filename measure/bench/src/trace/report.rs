//! The characterisation of a trace as ISC-TN-2008-1 section 5 prints it, with the names of today's registries.

use std::fmt;

use wire::iana::{class, opcode, rcode, rtype};

use super::{
    Packets, Reader,
    capture::{Nanoseconds, SECOND},
    rates::Seconds,
    tally::{Count, Direction, Kind, Tally},
    tcp,
};

/// What a trace is made of. As [`fmt::Display`] the text, one part a line.
pub struct Report {
    /// Packets, their times among them.
    pub packets: Packets,
    /// Requests, and failed responses.
    pub requests: Count,
    /// Responses.
    pub responses: u64,
    /// Requests were not counted but rebuilt: every response stands for one.
    pub is_rebuilt: bool,
    /// Of requests; all zero where there are none.
    pub rates: Rates,
    /// Requests with RD set.
    pub recursive: Count,
    /// Requests over TCP.
    pub requests_tcp: u64,
    /// Responses with AA set.
    pub authoritative: u64,
    /// Responses with TC set.
    pub truncated: u64,
    /// TCP.
    pub tcp: tcp::Counts,
    /// By question, most frequent first.
    pub kinds: Vec<(Kind, Count)>,
    /// By class, most frequent first.
    pub classes: Vec<(u16, Count)>,
    /// Responses by code, most frequent first.
    pub rcodes: Vec<(u16, u64)>,
    /// Requests by operation code, most frequent first.
    pub opcodes: Vec<(u8, u64)>,
    /// What was not whole.
    pub damage: Damage,
    /// What kept files from being read to their ends.
    pub faults: Vec<String>,
}

/// Requests per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Rates {
    pub average: f64,
    pub burst_95: u64,
    pub burst_max: u64,
}

/// What was not whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Messages too short for a header, not counted otherwise.
    pub short: u64,
    /// Messages of which a part cannot be read.
    pub damaged: u64,
    /// Messages cut by the capture.
    pub cut: u64,
    /// Fragments.
    pub fragments: u64,
    /// Packets made whole from them.
    pub fragmented: u64,
    /// Packets of which fragments are missing.
    pub fragmented_given_up: u64,
}

impl Report {
    /// `rebuild`: take every response for a request; done too where there are only responses.
    pub fn new(reader: &Reader, tally: &Tally, rebuild: bool, faults: Vec<String>) -> Report {
        let is_rebuilt = rebuild || tally.requests.all.count == 0 && tally.responses.all.count > 0;
        let asked = asked(tally, is_rebuilt);
        let answered = &tally.responses;
        let count = |asked: Count, answered: Count| Count { count: asked.count, failed: answered.failed };
        let mut kinds: Vec<_> = asked
            .kinds
            .iter()
            .map(|(kind, asked)| {
                (*kind, count(*asked, answered.kinds.get(kind).copied().unwrap_or_default()))
            })
            .collect();
        let only_answered = answered.kinds.iter().filter(|(kind, _)| !asked.kinds.contains_key(kind));
        kinds.extend(only_answered.map(|(kind, answered)| (*kind, count(Count::default(), *answered))));
        kinds.retain(|(_, count)| count.count + count.failed > 0);
        kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(count.count), *kind));
        let mut rcodes: Vec<_> = tally.rcodes.iter().map(|(code, count)| (*code, *count)).collect();
        rcodes.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let mut opcodes: Vec<_> = (0..16).zip(asked.opcodes).filter(|(_, count)| *count > 0).collect();
        opcodes.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let mut report = Report {
            packets: reader.packets,
            requests: count(asked.all, answered.all),
            responses: answered.all.count,
            is_rebuilt,
            rates: Rates::default(),
            recursive: count(asked.recursive, answered.recursive),
            requests_tcp: asked.tcp,
            authoritative: tally.authoritative,
            truncated: tally.truncated,
            tcp: reader.streams.counts,
            classes: classes(&kinds),
            kinds,
            rcodes,
            opcodes,
            damage: Damage {
                short: tally.short,
                damaged: tally.damaged,
                cut: tally.cut,
                fragments: reader.fragments.seen,
                fragmented: reader.fragments.whole,
                fragmented_given_up: reader.fragments.given_up,
            },
            faults,
        };
        report.rates = report.rates(&Seconds::new(&asked.seconds, &reader.packets));
        report
    }

    /// Length of the trace, from its first packet to its last.
    pub fn duration_seconds(&self) -> f64 {
        (self.packets.last - self.packets.first) as f64 / SECOND as f64
    }

    fn rates(&self, seconds: &Seconds<'_>) -> Rates {
        let duration = self.duration_seconds();
        Rates {
            average: if duration > 0.0 { self.requests.count as f64 / duration } else { 0.0 },
            burst_95: seconds.percentile_95(),
            burst_max: seconds.max(),
        }
    }
}

/// What stands for the requests.
pub fn asked(tally: &Tally, is_rebuilt: bool) -> &Direction {
    if is_rebuilt { &tally.responses } else { &tally.requests }
}

fn classes(kinds: &[(Kind, Count)]) -> Vec<(u16, Count)> {
    let mut classes: Vec<(u16, Count)> = Vec::new();
    for (kind, count) in kinds {
        let Kind::Question { class, .. } = *kind else { continue };
        match classes.iter_mut().find(|(other, _)| *other == class) {
            Some((_, sum)) => {
                sum.count += count.count;
                sum.failed += count.failed;
            }
            None => classes.push((class, *count)),
        }
    }
    classes.sort_by_key(|(class, count)| (std::cmp::Reverse(count.count), *class));
    classes
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        let share = |part: u64| percent(part, self.requests.count);
        let line = |f: &mut fmt::Formatter<'_>, name: &str, count: &Count| {
            let head = format!("{:>12}/{:>5.1}%  {name:<16}", count.count, share(count.count));
            match (count.failed, count.count) {
                (0, _) => writeln!(f, "{}", head.trim_end()),
                (failed, 0) => writeln!(f, "{head}{failed:>12} failed"),
                (failed, all) => writeln!(f, "{head}{failed:>12} failed ({:.1}%)", percent(failed, all)),
            }
        };
        writeln!(f, "\nBy type of query in default class:")?;
        for (kind, count) in &self.kinds {
            if is_listed(*kind) {
                line(f, &kind_name(*kind), count)?;
            }
        }
        for (class, count) in self.classes.iter().filter(|(class, _)| *class != class::IN) {
            writeln!(f, "\nClass {}:", class_name(*class))?;
            line(f, "", count)?;
        }
        writeln!(f, "\nReturn codes (percentages are of total query count):")?;
        for (code, count) in &self.rcodes {
            writeln!(f, "{count:>12} {:>5.1}%  {}", share(*count), rcode_name(*code))?;
        }
        writeln!(f, "\nOperation codes (likewise):")?;
        for (code, count) in &self.opcodes {
            writeln!(f, "{count:>12} {:>5.1}%  {}", share(*count), opcode_name(*code))?;
        }
        self.write_damage(f)
    }
}

impl Report {
    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { requests, recursive, tcp, rates, .. } = self;
        writeln!(
            f,
            "Start: {}, duration: {:.2} seconds.",
            date(self.packets.first),
            self.duration_seconds()
        )?;
        let failed = percent(requests.failed, requests.count);
        let rebuilt = if self.is_rebuilt { ", rebuilt from the replies" } else { "" };
        writeln!(f, "{} requests ({failed:.1}% failed){rebuilt}", requests.count)?;
        let Rates { average, burst_95, burst_max } = rates;
        writeln!(
            f,
            "Avg rate (requests/second) = {average:.1}, 95%ile burst = {burst_95}, Max burst = {burst_max}"
        )?;
        let failed = percent(recursive.failed, recursive.count);
        let count = recursive.count;
        writeln!(
            f,
            "{count} recursive queries ({failed:.1}% failed); {} authoritative replies",
            self.authoritative
        )?;
        writeln!(f, "{} replies, {} of them truncated", self.responses, self.truncated)?;
        writeln!(
            f,
            "{} TCP packets in {} sessions ({} never closed), {} not analyzed ({:.1}% of total packets)",
            tcp.packets,
            tcp.sessions,
            tcp.never_closed,
            tcp.not_analysed,
            percent(tcp.not_analysed, self.packets.all)
        )
    }

    fn write_damage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packets { all, datagrams, unknown_link, .. } = self.packets;
        writeln!(
            f,
            "\n{all} packets, of which {datagrams} UDP datagrams and {} TCP packets of the DNS",
            self.tcp.packets
        )?;
        let Damage { short, damaged, cut, fragments, fragmented, fragmented_given_up } = self.damage;
        for (count, what) in [
            (damaged, "messages are damaged"),
            (short, "messages are too short for a header and not counted"),
            (cut, "messages were cut by the capture"),
            (self.tcp.retransmitted, "TCP packets are retransmissions"),
            (fragments, "packets are fragments"),
            (fragmented, "packets were put together from fragments"),
            (fragmented_given_up, "packets lack fragments"),
            (unknown_link, "packets have a link layer that is not read"),
        ] {
            if count > 0 {
                writeln!(f, "{count} {what}")?;
            }
        }
        self.faults.iter().try_for_each(|fault| writeln!(f, "Not read to its end: {fault}"))
    }
}

/// Whether a kind stands in the list of types: other classes have lines of their own.
fn is_listed(kind: Kind) -> bool {
    !matches!(kind, Kind::Question { class, .. } if !matches!(class, class::IN | class::CH | class::HS))
}

fn kind_name(kind: Kind) -> String {
    match kind {
        Kind::Question { class: class::IN, rtype } => rtype_name(rtype),
        Kind::Question { class, rtype } => format!("{} {}", rtype_name(rtype), class_name(class)),
        Kind::Nothing => "(no question)".to_owned(),
        Kind::Unreadable => "(not readable)".to_owned(),
        Kind::Other => "(others)".to_owned(),
    }
}

/// `A`, or `TYPE65280` (RFC 3597 5).
pub fn rtype_name(rtype: u16) -> String {
    rtype::Text(rtype).to_string()
}

/// `IN`, or `CLASS2` (RFC 3597 5).
pub fn class_name(class: u16) -> String {
    class::mnemonic(class).map_or_else(|| format!("CLASS{class}"), str::to_owned)
}

/// `NXDOMAIN`, or `RCODE12`.
pub fn rcode_name(rcode: u16) -> String {
    rcode::mnemonic(rcode).map_or_else(|| format!("RCODE{rcode}"), str::to_owned)
}

/// `UPDATE`, or `OPCODE7`.
pub fn opcode_name(opcode: u8) -> String {
    opcode::mnemonic(opcode).map_or_else(|| format!("OPCODE{opcode}"), str::to_owned)
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// A moment as mail has it: `Wed, 15 Nov 2006 06:00:00 +0000` (RFC 5322 3.3).
pub fn date(time: Nanoseconds) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = time / SECOND;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let (weekday, month) = (DAYS[(days % 7) as usize], MONTHS[month]);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} +0000")
}

/// Year, month from 0 and day from 1 of a day since 1970-01-01: year by year and month by month, as there are few.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000"),
            (1_163_570_400, "Wed, 15 Nov 2006 06:00:00 +0000"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 +0000"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 +0000"),
        ] {
            assert_eq!(date(seconds * SECOND), text);
        }
        assert!(date(u64::MAX).contains("2554"));
    }
}

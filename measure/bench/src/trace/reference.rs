//! A trace beside the one that ISC-TN-2008-1 (section 5) is built on: 48 hours of the F root server in Palo Alto.

use std::fmt;

use wire::iana::{class, rcode, rtype};

use super::{report::Report, tally::Kind};

/// Types of queries that the note lists with more than a tenth of a percent, but for one that it does not name: share of all requests, and of those the share that failed, in percent.
const TYPES: [(u16, f64, f64); 11] = [
    (rtype::A, 60.7, 42.5),
    (rtype::PTR, 10.0, 16.5),
    (rtype::AAAA, 8.2, 21.5),
    (rtype::SOA, 5.7, 91.5),
    (rtype::MX, 5.6, 26.9),
    (rtype::A6, 5.0, 0.8),
    (rtype::SRV, 1.8, 96.9),
    (rtype::TXT, 1.1, 34.1),
    (rtype::NS, 0.9, 14.5),
    (rtype::ANY, 0.5, 45.2),
    (rtype::CNAME, 0.2, 19.0),
];
/// Requests of the reference, what of them failed, and what of them was NXDOMAIN or FORMERR, in percent.
const FAILED: f64 = 38.8;
const NXDOMAIN: f64 = 38.5;
const FORMERR: f64 = 0.1;
/// Requests a second: mean, 95 % of all seconds, and the fullest second.
const RATES: [f64; 3] = [2401.2, 3011.0, 3921.9];
/// With RD set, of all 414,931,073; authoritative replies, of the same; packets over TCP, of all.
const RECURSIVE: f64 = 414_342_756.0 * 100.0 / 414_931_073.0;
const AUTHORITATIVE: f64 = 171_887_553.0 * 100.0 / 414_931_073.0;
const TCP: f64 = 5.7;

/// As [`fmt::Display`] the table.
pub struct Beside<'r>(pub &'r Report);

impl fmt::Display for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Beside(report) = self;
        let share = |part: u64| percent(part, report.requests.count);
        writeln!(f, "\nBeside 48 hours of the F root server in 2006 (ISC-TN-2008-1, 414931073 requests):")?;
        writeln!(f, "{:<34} {:>10} {:>10}", "", "F root", "here")?;
        let rates = [report.rates.average, report.rates.burst_95 as f64, report.rates.burst_max as f64];
        let names = ["requests a second, mean", "95 % of the seconds", "fullest second"];
        for ((name, theirs), ours) in names.into_iter().zip(RATES).zip(rates) {
            writeln!(f, "{name:<34} {theirs:>10.1} {ours:>10.1}")?;
        }
        let code = |wanted: u16| {
            share(report.rcodes.iter().find(|(code, _)| *code == wanted).map_or(0, |(_, count)| *count))
        };
        let shares = [
            ("failed", FAILED, share(report.requests.failed)),
            ("with RD", RECURSIVE, share(report.recursive.count)),
            ("authoritative replies", AUTHORITATIVE, share(report.authoritative)),
            ("NXDOMAIN", NXDOMAIN, code(rcode::NXDOMAIN)),
            ("FORMERR", FORMERR, code(rcode::FORMERR)),
            ("TCP packets, of all", TCP, percent(report.tcp.packets, report.packets.all)),
        ];
        for (name, theirs, ours) in shares {
            writeln!(f, "{name:<34} {theirs:>9.1}% {ours:>9.1}%")?;
        }
        for (wanted, theirs, failed) in TYPES {
            let kind = Kind::Question { class: class::IN, rtype: wanted };
            let found = report.kinds.iter().find(|(known, _)| *known == kind).map(|(_, count)| *count);
            let count = found.unwrap_or_default();
            let name = super::report::rtype_name(wanted);
            writeln!(f, "{name:<34} {theirs:>9.1}% {:>9.1}%", share(count.count))?;
            let failed_here = percent(count.failed, count.count);
            writeln!(f, "{:<34} {failed:>9.1}% {failed_here:>9.1}%", "  of them failed")?;
        }
        Ok(())
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

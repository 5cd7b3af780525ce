//! How commands look at a zone that was read, and print it: `check-zone`, and `store`, which takes nothing that `check-zone` finds errors in.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use control::read::ZoneText;
use zone::Contents;
use zone::check::{self, Check, Finding, Level, Severity, Summary};

/// How deep to look, and as of when.
#[derive(clap::Args)]
pub struct Depth {
    /// Time to hold signatures against: seconds since 1970, or YYYYMMDDHHmmSS (UTC); `none` skips that
    #[arg(long, value_name = "TIME", value_parser = time)]
    now: Option<Now>,
    /// How deep to look: what a server needs to load it, all but DNSSEC, what a server looks at when it loads it, all but cryptography, or everything
    #[arg(long, default_value = "full", value_parser = ["load", "no-dnssec", "quick", "semantic", "full"])]
    level: String,
}

#[derive(Clone, Copy)]
enum Now {
    At(u64),
    Unchecked,
}

fn time(text: &str) -> Result<Now, String> {
    if text == "none" {
        return Ok(Now::Unchecked);
    }
    let number: u64 = text.parse().map_err(|_| "expected digits".to_owned())?;
    if text.len() != 14 {
        return Ok(Now::At(number));
    }
    let part = |at: u32, width: u32| number / 10u64.pow(at) % 10u64.pow(width);
    let (year, month, day) = (part(10, 4), part(8, 2), part(6, 2));
    let (hour, minute, second) = (part(4, 2), part(2, 2), part(0, 2));
    if year < 1970
        || !(1..=12).contains(&month)
        || !(1..=days_of_month(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return Err("expected YYYYMMDDHHmmSS".into());
    }
    // Days since 1970, in years that begin on 1 March so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Ok(Now::At(((days * 24 + hour) * 60 + minute) * 60 + second))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Depth {
    fn options(&self) -> check::Options {
        check::Options {
            level: match self.level.as_str() {
                "load" => Level::Load,
                "no-dnssec" => Level::NoDnssec,
                "quick" => Level::Quick,
                "semantic" => Level::Semantic,
                _ => Level::Full,
            },
            now: match self.now {
                None => SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs()),
                Some(Now::At(seconds)) => Some(seconds),
                Some(Now::Unchecked) => None,
            },
            threads: net::worker_count_default(),
            ..check::Options::default()
        }
    }
}

/// What was found in a zone.
pub struct Found {
    /// Of each kind and severity so many at most, the worst first.
    pub findings: Vec<Finding>,
    /// How many errors there are in all, and warnings.
    pub errors: usize,
    pub warnings: usize,
    /// How many findings there are beyond those that are listed.
    pub unlisted: usize,
    summary: Summary,
}

impl Found {
    /// Whether signatures of the zone have run out.
    pub fn is_expired(&self) -> bool {
        self.summary.count_as(Check::RrsigExpired, Severity::Error) > 0
    }
}

/// Looks at a zone.
pub fn look(zone: &ZoneText, depth: &Depth) -> Found {
    let options = depth.options();
    let mut findings: Vec<Finding> = zone.out_of_zone.clone();
    let mut report = |finding: Finding| findings.push(zone.explained(finding));
    let mut summary = check::check(&zone.contents, &options, &mut report);
    if !summary.is_fatal() {
        summary.join(&check::fit(&zone.contents, &mut report));
    }
    if options.level > Level::Load {
        findings.extend(zone.text_words.iter().cloned());
    }
    findings.sort_by_key(|finding| Reverse(finding.severity));
    // Of each kind only the first are listed; all of them count.
    let count = |severities: &[Severity]| -> usize {
        let is_outside = severities.contains(&Check::OutOfZone.severity());
        let outside = if is_outside { zone.out_of_zone_count } else { 0 };
        let is_words = options.level > Level::Load && severities.contains(&Check::TextWords.severity());
        let outside = outside + if is_words { zone.text_words_count } else { 0 };
        let inside: u64 = severities.iter().map(|severity| summary.count_of(*severity)).sum();
        (outside + inside) as usize
    };
    let errors = count(&[Severity::Fatal, Severity::Error]);
    let warnings = count(&[Severity::Warning]);
    let all = errors + warnings + count(&[Severity::Notice]);
    let unlisted = all.saturating_sub(findings.len());
    Found { findings, errors, warnings, unlisted, summary }
}

/// Writes all records, the SOA record first so that the text can be read by any server.
pub fn write_records(contents: &Contents, output: &mut impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    for node in contents.nodes() {
        let owner = node.name();
        let is_soa = |rtype: u16| rtype == wire::iana::rtype::SOA;
        let (first, rest): (Vec<_>, Vec<_>) = node.rrsets().partition(|set| is_soa(set.rtype()));
        for set in first.into_iter().chain(rest) {
            for record in set.records() {
                line.clear();
                zonefile::print::line(&owner, record.ttl, set.rtype(), record.rdata, &mut line);
                output.write_all(&line)?;
            }
        }
    }
    output.flush()
}

/// Prints them to standard output; says whether that went well.
pub fn print_records(contents: &Contents) -> bool {
    match write_records(contents, &mut io::BufWriter::new(io::stdout().lock())) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            super::complain([format!("standard output: {error}").as_str()]);
            false
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let seconds = |text| match time(text) {
            Ok(Now::At(seconds)) => Some(seconds),
            _ => None,
        };
        assert_eq!(seconds("20260802000000"), Some(1_785_628_800));
        assert_eq!(seconds("20240229000000"), Some(1_709_164_800));
        assert_eq!(seconds("12"), Some(12));
        for text in ["20260231000000", "20250229000000", "20260431000000", "20261301000000", "x"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}

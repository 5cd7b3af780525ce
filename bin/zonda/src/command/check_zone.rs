//! `zonda check-zone`

use std::cmp::Reverse;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use control::read::{self, Unread, ZoneText};
use control::stamp::Stamp;
use control::text::{count, grouped};
use wire::NameBuf;
use zone::check::{self, Check, Finding, Level, Severity};

use super::{TODAYS_ROOT_ZONE, complain, print};

/// Check a zone file and show all its problems at once.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the zone
    #[arg(value_parser = name)]
    origin: NameBuf,
    /// Zone file; `-` reads standard input
    file: PathBuf,
    /// Print the zone in canonical order, one record a line
    #[arg(long)]
    print: bool,
    /// Time to hold signatures against: seconds since 1970, or YYYYMMDDHHmmSS (UTC); `none` skips that
    #[arg(long, value_name = "TIME", value_parser = time)]
    now: Option<Now>,
    /// How deep to look: what a server needs to load it, all but DNSSEC, what a server looks at when it loads it, all but cryptography, or everything
    #[arg(long, default_value = "full", value_parser = ["load", "no-dnssec", "quick", "semantic", "full"])]
    level: String,
    /// Print one JSON object for each finding, and one for the zone
    #[arg(long, conflicts_with = "print")]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  zonda check-zone example.com example.com.zone
  zonda check-zone example.com example.com.zone --print >canonical.zone
  zonda check-zone . root.zone --now 20260802000000
  dig @192.0.2.1 example.com AXFR | zonda check-zone example.com - --level semantic

Exit status: 0 no errors (there may be warnings), 1 errors, 2 wrong usage.";

#[derive(Clone, Copy)]
enum Now {
    At(u64),
    Unchecked,
}

fn name(text: &str) -> Result<NameBuf, String> {
    control::wanted::zone_name(text)
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

/// Checks; says whether there were no errors.
pub fn run(arguments: &Arguments) -> bool {
    let zone = match read(arguments) {
        Ok(zone) => zone,
        Err(unread) => {
            report_unread(arguments, &unread);
            return false;
        }
    };
    let options = check::Options {
        level: match arguments.level.as_str() {
            "load" => Level::Load,
            "no-dnssec" => Level::NoDnssec,
            "quick" => Level::Quick,
            "semantic" => Level::Semantic,
            _ => Level::Full,
        },
        now: match arguments.now {
            None => SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs()),
            Some(Now::At(seconds)) => Some(seconds),
            Some(Now::Unchecked) => None,
        },
        threads: net::worker_count_default(),
        ..check::Options::default()
    };
    // Of each kind and severity so many at most.
    let mut findings: Vec<Finding> = zone.out_of_zone.clone();
    let mut report = |finding: Finding| findings.push(zone.explained(finding));
    let mut summary = check::check(&zone.contents, &options, &mut report);
    if !summary.is_fatal() {
        summary.join(&check::fit(&zone.contents, &mut report));
    }
    if options.level > Level::Load {
        findings.extend(zone.text_words.iter().cloned());
    }
    let mut ok = show(arguments, &zone, &mut findings);
    if zone.contents.apex().is_root()
        && summary.count_as(Check::RrsigExpired, Severity::Error) > 0
        && !arguments.json
    {
        complain([TODAYS_ROOT_ZONE]);
    }
    let shown = findings.len();
    // Of each kind only the first are shown; all of them count.
    let found = |severities: &[Severity]| -> usize {
        let is_outside = severities.contains(&Check::OutOfZone.severity());
        let outside = if is_outside { zone.out_of_zone_count } else { 0 };
        let is_words = options.level > Level::Load && severities.contains(&Check::TextWords.severity());
        let outside = outside + if is_words { zone.text_words_count } else { 0 };
        let inside: u64 = severities.iter().map(|severity| summary.count_of(*severity)).sum();
        (outside + inside) as usize
    };
    let errors = found(&[Severity::Fatal, Severity::Error]);
    let warnings = found(&[Severity::Warning]);
    let found = errors + warnings + found(&[Severity::Notice]);
    if found > shown && !arguments.json {
        complain([format!("{} more of the kinds shown", grouped((found - shown) as u64)).as_str()]);
    }
    if arguments.print {
        ok &= print_zone(&zone);
    } else {
        ok &= print(&conclusion(arguments, &zone, errors, warnings));
    }
    ok && errors == 0
}

/// Shows findings, the worst first; says whether that went well.
fn show(arguments: &Arguments, zone: &ZoneText, findings: &mut [Finding]) -> bool {
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let mut ok = true;
    for finding in findings {
        match arguments.json {
            true => ok &= print(&json(zone, finding)),
            false => complain([zone.line(finding).as_str()]),
        }
    }
    ok
}

fn read(arguments: &Arguments) -> Result<ZoneText, Unread> {
    let (origin, path) = (&arguments.origin, &arguments.file);
    let octets = AtomicU64::new(0);
    if path == Path::new("-") {
        let input = Box::new(std::io::stdin().lock());
        return read::read_text(
            origin,
            "standard input".into(),
            Path::new("-"),
            input,
            Stamp::default(),
            &octets,
        );
    }
    // A pipe is fine here: there is nobody else to keep waiting.
    let file = std::fs::File::open(path).map_err(|error| {
        Unread::Other(format!("{}: {}", path.display(), control::text::cannot("open", &error)))
    })?;
    read::read_text(origin, path.display().to_string(), path, Box::new(file), Stamp::default(), &octets)
}

fn report_unread(arguments: &Arguments, unread: &Unread) {
    let lines = unread.lines();
    if !arguments.json {
        return complain(lines.iter().map(String::as_str));
    }
    let diagnostics = match unread {
        Unread::Syntax(report) => report.diagnostics.as_slice(),
        Unread::Other(_) => &[],
    };
    for diagnostic in diagnostics {
        let (file, line, column) = (&*diagnostic.file, diagnostic.line, diagnostic.column);
        let whole = diagnostic.to_string();
        let object = serde_json::json!({
            "finding": "syntax", "severity": "error", "file": file, "line": line, "column": column,
            "text": whole.strip_prefix(&format!("{file}:{line}:{column}: ")).unwrap_or(&whole),
        });
        print(&format!("{object}\n"));
    }
    // That reading stopped is a line of its own.
    for line in lines.iter().skip(diagnostics.len()) {
        let object = serde_json::json!({ "finding": "unreadable", "severity": "error", "text": line });
        print(&format!("{object}\n"));
    }
}

fn json(zone: &ZoneText, finding: &Finding) -> String {
    let position = finding.position.filter(|position| position.line > 0);
    let object = serde_json::json!({
        "finding": finding.check.id(),
        "severity": finding.severity.to_string(),
        "owner": finding.owner.to_string(),
        "type": finding.rtype.map(|rtype| wire::iana::rtype::Text(rtype).to_string()),
        "file": position.and_then(|position| zone.files.get(position.file as usize)).map(|file| &**file),
        "line": position.map(|position| position.line),
        "text": finding.to_string(),
    });
    format!("{object}\n")
}

fn conclusion(arguments: &Arguments, zone: &ZoneText, errors: usize, warnings: usize) -> String {
    let (records, names) = (zone.contents.record_count(), zone.contents.node_count());
    if arguments.json {
        let origin = arguments.origin.to_string();
        let object = serde_json::json!({
            "zone": origin, "ok": errors == 0, "errors": errors, "warnings": warnings, "records": records, "names": names,
        });
        return format!("{object}\n");
    }
    let verdict = match (errors, warnings) {
        (0, 0) => "fine".into(),
        (0, warnings) => count(warnings, "warning"),
        (errors, 0) => count(errors, "error"),
        (errors, warnings) => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
    };
    format!("zone {}: {verdict}; {}, {}\n", arguments.origin, count(records, "record"), count(names, "name"))
}

/// Prints all records, the SOA record first so that the text can be read by any server.
fn print_zone(zone: &ZoneText) -> bool {
    let mut output = BufWriter::new(std::io::stdout().lock());
    let mut line = Vec::new();
    let mut write = || -> std::io::Result<()> {
        for node in zone.contents.nodes() {
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
    };
    match write() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            complain([format!("standard output: {error}").as_str()]);
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

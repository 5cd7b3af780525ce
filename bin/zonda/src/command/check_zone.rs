//! `zonda check-zone`

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use control::read::{self, Unread, ZoneText};
use control::stamp::Stamp;
use control::text::{count, grouped};
use wire::NameBuf;
use zone::check::Finding;

use super::checked::{self, Depth, print_records};
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
    #[command(flatten)]
    depth: Depth,
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

fn name(text: &str) -> Result<NameBuf, String> {
    control::wanted::zone_name(text)
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
    let found = checked::look(&zone, &arguments.depth);
    let mut ok = show(arguments, &zone, &found.findings);
    if zone.contents.apex().is_root() && found.is_expired() && !arguments.json {
        complain([TODAYS_ROOT_ZONE]);
    }
    if found.unlisted > 0 && !arguments.json {
        complain([format!("{} more of the kinds shown", grouped(found.unlisted as u64)).as_str()]);
    }
    if arguments.print {
        ok &= print_records(&zone.contents);
    } else {
        ok &= print(&conclusion(arguments, &zone, found.errors, found.warnings));
    }
    ok && found.errors == 0
}

/// Shows findings; says whether that went well.
fn show(arguments: &Arguments, zone: &ZoneText, findings: &[Finding]) -> bool {
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

//! A zone's text that is to go into a store: read, and looked at as `check-zone` does.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use control::read::{self, ZoneText};
use control::text::count;
use control::wanted::Source;
use wire::Name;
use zone::check::Severity;
use zonefile::Buffers;

use super::Lines;
use crate::command::checked::{self, Depth};
use crate::command::complain;

/// Reads the zone `apex` from a file; errors are why it is not taken, warnings are said.
pub fn read(apex: &Name, path: &Path, depth: &Depth, buffers: &mut Buffers) -> Result<ZoneText, Lines> {
    let source = Source::File(PathBuf::from(path));
    let opened = read::open_source(&source).map_err(|line| vec![line])?;
    let zone =
        read::read_opened(apex, opened, buffers, &AtomicU64::new(0)).map_err(|unread| unread.lines())?;
    look(apex, &zone, depth).map(|()| zone)
}

/// Looks at a zone that was read; errors are why it is not taken, warnings are said.
pub fn look(apex: &Name, zone: &ZoneText, depth: &Depth) -> Result<(), Lines> {
    let found = checked::look(zone, depth);
    let (errors, others): (Vec<_>, Vec<_>) =
        found.findings.iter().partition(|finding| finding.severity >= Severity::Error);
    for finding in others.iter().filter(|finding| finding.severity == Severity::Warning) {
        complain([zone.line(finding).as_str()]);
    }
    if found.errors == 0 {
        return Ok(());
    }
    let mut lines: Lines = errors.iter().map(|finding| zone.line(finding)).collect();
    lines.push(format!("zone {apex}: {}: not taken", count(found.errors, "error")));
    Err(lines)
}

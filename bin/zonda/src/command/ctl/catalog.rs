//! What is printed of a catalog.

use std::time::SystemTime;

use control::command::CatalogLine;
use control::text::{Seconds, count, grouped};

/// A catalog as a line, and what there is to say of it below.
pub(super) fn catalog_text(line: &CatalogLine) -> String {
    let serial = line.serial.map_or_else(|| "-".into(), |serial| serial.to_string());
    let members = match line.members == line.served {
        true => count(line.members as usize, "member"),
        false => {
            format!("{}, {} of them served", count(line.members as usize, "member"), grouped(line.served))
        }
    };
    let mut text = format!("{:<8} {serial:>10} {:<40} {members}\n", line.state, line.catalog);
    let mut add = |title: &str, lines: &[String]| {
        lines.iter().for_each(|line| text += &format!("  {title:<11} {line}\n"));
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let ago = line.done_at.map_or(0, |at| now.saturating_sub(at));
    let done = line.done.iter().map(|done| format!("{done}, {} ago", Seconds(ago)));
    add("problem", &line.problems);
    add("waits", &Vec::from_iter(line.waits.clone()));
    add("last", &done.collect::<Vec<_>>());
    add("not served", &line.clashes);
    add("member", &line.zones);
    text
}

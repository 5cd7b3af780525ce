//! What is printed of a store.

use std::time::SystemTime;

use control::command::StoreLine;
use control::text::{Seconds, count, grouped};

/// A store as a line, and what there is to say of it below.
pub(super) fn store_text(line: &StoreLine) -> String {
    let zones = match line.refused {
        0 => count(line.zones as usize, "zone"),
        refused => {
            format!("{}, {} not served as it has them", count(line.zones as usize, "zone"), grouped(refused))
        }
    };
    let mut text = format!("{:<8} {:<20} {zones:<30} {}\n", line.state, line.store, line.url);
    let mut add = |title: &str, line: &str| text += &format!("  {title:<11} {line}\n");
    line.problems.iter().for_each(|problem| add("problem", problem));
    line.waits.iter().for_each(|waits| add("waits", waits));
    if line.read_only {
        // Triggers of PostgreSQL make versions, whoever reads them.
        let what = match line.url.starts_with("postgres") {
            true => {
                "of an older copy that is put back zones are served once somebody gives them serials above those that are served"
            }
            false => {
                "what others change by plain SQL is served once `zonda store history` has made versions of it"
            }
        };
        add("read-only", what);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let ago = line.last_at.map_or(0, |at| now.saturating_sub(at));
    line.last.iter().for_each(|last| add("last", &format!("{last}, {} ago", Seconds(ago))));
    line.identity.iter().for_each(|identity| add("identity", identity));
    line.notify.iter().for_each(|notify| add("notify", notify));
    line.pid.iter().for_each(|pid| add("process", &pid.to_string()));
    line.refusals.iter().for_each(|refusal| add("not served", refusal));
    line.without.iter().for_each(|without| add("without", without));
    text
}

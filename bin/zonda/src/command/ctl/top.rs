//! What is printed of a look at the server: who asks most, and for what.

use control::command::{Count, Frequent, Percentile, Took, Top};
use control::text::{Seconds, grouped, octets, time_text};

use super::server::with_shares;

/// Lines of each kind: a screen has no more of some kinds. `--json` has all.
const LINES: usize = 20;

pub(super) fn top_text(top: &Top) -> String {
    let memory = top.resident_octets.map_or_else(|| "unknown".into(), octets);
    let mut text = format!(
        "process {}, version {}, up {}, processor time {:.1} s, memory {memory}\n",
        top.pid,
        top.version,
        Seconds(top.uptime_seconds),
        top.cpu_seconds
    );
    let mut add = |title: &str, counts: &[Count]| {
        text += &format!("\n{title}\n");
        for Count { name, count, help } in with_shares(counts) {
            text += &format!("  {name:<24} {:>17}  {help}\n", grouped(count));
        }
    };
    add("queries by transport", &top.queries);
    add("queries by type", &top.types);
    add("responses by code", &top.rcodes);
    let asked = &top.asked;
    text += &format!(
        "\nof {} samples, one in {}, counted for {}\n",
        grouped(asked.samples),
        grouped(u64::from(asked.one_in)),
        Seconds(asked.seconds as u64)
    );
    if asked.samples == 0 {
        return text
            + "no query has come: it is counted while somebody looks, `--seconds` looks for longer\n";
    }
    for (title, most) in [
        ("names", &asked.names),
        ("names above those that do not exist", &asked.missing),
        ("names that got SERVFAIL", &asked.failed),
        ("clients", &asked.clients),
        ("zones", &asked.zones),
    ] {
        text += &most_text(title, most, asked.clients.sum);
    }
    text + &took_text(&asked.took)
}

/// How long so many of a hundred answers took at most.
fn took_text(took: &Took) -> String {
    if took.answers == 0.0 {
        return String::new();
    }
    let mut text = "\n   share  at most  time in the server, of answers that waited for nobody\n".to_owned();
    for Percentile { percent, microseconds } in &took.percentiles {
        text += &format!("{percent:>6} % {:>8}\n", time_text(*microseconds));
    }
    text
}

/// Shares of all that was asked, and by how much each may be too high.
fn most_text(title: &str, most: &Frequent, all: f64) -> String {
    if most.most.is_empty() {
        return String::new();
    }
    let mut text = format!("\n   share   error  {title}\n");
    let share = |count: f64| count * 100.0 / all.max(f64::MIN_POSITIVE);
    for one in most.most.iter().take(LINES) {
        text += &format!("{:>6.1} % {:>5.1} %  {}\n", share(one.count), share(one.error), one.key);
    }
    text
}

//! The manual's page of numbers, made from their table.

use super::table::table;

const INTRODUCTION: &str = "\
# Numbers

<!-- Made by `zonda settings --metrics` from the table in `crates/control/src/metrics/table.rs`. -->

What `/metrics` tells, see [Monitoring](monitoring.md#over-http): each number with what it does and where it comes from. Counters begin at 0 when the server starts, also when
another one [takes over](upgrade.md), and never go down; `_total` at their ends is left out of families in OpenMetrics. *From* is the part of `zonda ctl stats` that has the same,
or what else. Numbers of the resolver are there where there is one, those of [the last look](#from-the-last-look-at-all-zones) after the first.

With `type` and `rcode` and `worker` there are as many series as types were asked for (72 at most), as there are response codes (25) and as there are workers; of all others one for
each line. There are none by zone, name or client: `zonda ctl` shows these.
";

/// The page as Markdown.
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    let table = table();
    let mut parts: Vec<&str> = Vec::new();
    for family in &table {
        if !parts.contains(&family.from) {
            parts.push(family.from);
        }
    }
    for from in parts {
        page += &format!("\n## From {from}\n\n| number | kind | labels | what it is |\n|---|---|---|---|\n");
        for family in table.iter().filter(|family| family.from == from) {
            let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
            let (sample, kind, labels) = (family.sample(), family.kind.word(), labels.join(", "));
            page += &format!("| `{sample}` | {kind} | {labels} | {} |\n", family.help);
        }
    }
    page
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    #[test]
    fn the_manual_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/src/metrics.md");
        let stored = std::fs::read_to_string(path).unwrap();
        let fresh = super::markdown();
        assert!(stored == fresh, "{path} is stale: run `zonda settings --metrics >{path}`");
    }
}

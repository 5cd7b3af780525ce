//! What the sources of the recipes published, to be shown beside what is measured here.
//!
//! Values are those of tables and of texts. Where a source only draws a value, its text is all there is: nothing is read
//! off a plot.

use serde::Deserialize;

use crate::record::Published;

/// Files by the name of their recipe.
const FILES: [(&str, &str); 22] = [
    ("allocators", include_str!("../published/allocators.toml")),
    ("caching", include_str!("../published/caching.toml")),
    ("caching-signed", include_str!("../published/caching.toml")),
    ("caching-threads", include_str!("../published/caching.toml")),
    ("client-limit", include_str!("../published/client-limit.toml")),
    ("ddns-rate", include_str!("../published/updates.toml")),
    ("dynamic", include_str!("../published/updates.toml")),
    ("echo-pin", include_str!("../published/echo-pin.toml")),
    ("echo-sweep", include_str!("../published/echo-sweep.toml")),
    ("ixfr-secondary", include_str!("../published/ixfr-secondary.toml")),
    ("lock-profile", include_str!("../published/lock-profile.toml")),
    ("locks", include_str!("../published/locks.toml")),
    ("locks-net", include_str!("../published/locks.toml")),
    ("many", include_str!("../published/many.toml")),
    ("memory", include_str!("../published/memory.toml")),
    ("net", include_str!("../published/net.toml")),
    ("root", include_str!("../published/root.toml")),
    ("scaling", include_str!("../published/smp-2004.toml")),
    ("signed", include_str!("../published/signed.toml")),
    ("smp-2004", include_str!("../published/smp-2004.toml")),
    ("start", include_str!("../published/start.toml")),
    ("threads", include_str!("../published/smp-2004.toml")),
];

#[derive(Deserialize)]
struct File {
    published: Vec<Published>,
}

/// What was published about the matter of `recipe`; nothing for recipes that no source has.
pub fn of(recipe: &str) -> Vec<Published> {
    FILES.iter().find(|(name, _)| *name == recipe).map_or_else(Vec::new, |(_, text)| parse(text))
}

fn parse(text: &str) -> Vec<Published> {
    toml::from_str::<File>(text).expect("the files are part of the program, and a test reads all").published
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::data;

    #[test]
    fn all_are_whole() {
        for (recipe, _) in FILES {
            let all = of(recipe);
            assert!(!all.is_empty(), "{recipe}");
            for published in &all {
                assert!(published.source.contains("20") && !published.note.is_empty(), "{recipe}");
                for table in &published.tables {
                    assert!(!table.rows.is_empty(), "{recipe}: {}", table.title);
                    for row in &table.rows {
                        assert_eq!(row.len(), table.columns.len(), "{recipe}: {row:?}");
                    }
                }
                for chart in &published.charts {
                    assert_eq!(data::drawn(chart).len(), chart.series.len(), "{recipe}: {}", chart.title);
                }
            }
        }
        assert!(of("my-own").is_empty());
    }

    /// A chart of published values shows what the tables beside it say.
    #[test]
    fn charts_hold_values_of_their_tables() {
        for published in FILES.iter().flat_map(|(recipe, _)| of(recipe)) {
            let cells: Vec<_> =
                published.tables.iter().flat_map(|table| table.rows.iter().flatten()).collect();
            let series = published.charts.iter().flat_map(|chart| &chart.series);
            for point in series
                .filter(|series| series.role == crate::record::Role::Published)
                .flat_map(|series| &series.points)
            {
                let text = crate::number::long(point.y);
                assert!(cells.contains(&&text), "{}: {text} is in no table", published.source);
            }
        }
    }
}

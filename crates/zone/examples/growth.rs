//! How long a catalog takes for a zone that makes its table grow, beside one that does not.
//!
//! ```text
//! cargo run --release -p zone --example growth -- 1000000
//! ```

use std::time::Instant;

use wire::NameBuf;
use zone::Catalog;
use zone::catalog::{Absence, ViewSource};

fn name(number: usize) -> NameBuf {
    // Two labels as most zones have, and one in ten with three.
    let text =
        if number.is_multiple_of(10) { format!("z.n{number}.example") } else { format!("n{number}.example") };
    text.parse().expect("a name")
}

fn main() {
    let zones = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let source = ViewSource::Absent(Absence::NotLoaded);
    let catalog = Catalog::new(7);
    let list: Vec<(NameBuf, ViewSource)> = (0..zones).map(|number| (name(number), source)).collect();
    let started = Instant::now();
    catalog.insert(&list);
    println!("{zones} zones at once: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    // A table has room for a quarter more than there were when it was made.
    let mut took: Vec<(f64, usize)> = (zones..zones + zones * 3 / 10)
        .map(|number| {
            let zone = [(name(number), source)];
            let started = Instant::now();
            catalog.insert(&zone);
            let took = started.elapsed().as_secs_f64() * 1e3;
            if number.is_multiple_of(1000) {
                catalog.domain().collect();
            }
            (took, number)
        })
        .collect();
    took.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("one more: median {:.4} ms, the four longest:", took[took.len() / 2].0);
    took.iter().take(4).for_each(|(took, number)| println!("  {took:.2} ms, of zone {number}"));
}

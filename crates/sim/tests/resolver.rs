//! All scenarios with the product's resolver. `ZONDA_SCENARIO=poison/` runs those whose path has that, and shows the stories of all that fail.

mod product;

use product::Product;
use sim::scenario::{files, run_all};
use std::path::Path;

#[test]
fn scenarios() {
    let part = std::env::var("ZONDA_SCENARIO").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenario/resolver");
    let report = run_all(&files(&folder, &part), &Product::boxed);
    let stories = if part.is_empty() { 0 } else { usize::MAX };
    eprintln!("{}", report.text(stories));
    assert!(report.is_good(), "see above; ZONDA_SCENARIO=PART shows what happened");
}

//! All scenarios with the product's resolver. `ZONDA_SCENARIO=poison/` runs those whose path has that, and shows the stories of all that fail.

mod product;

use product::Product;
use sim::scenario::{Scenario, files, run_all, story_of};
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

/// The same seed gives the same story, message for message: a failure can be seen again. The octets of signatures and random cases of letters
/// are of the seed too.
#[test]
fn the_same_seed_is_the_same_story() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenario/resolver");
    for path in files(&folder, "/iteration/") {
        let text = std::fs::read_to_string(&path).expect("a file");
        let scenario = Scenario::read(&path.to_string_lossy(), &text).expect("a scenario");
        let story = || match story_of(&scenario, &Product::boxed) {
            Ok(story) => story,
            Err(failure) => failure.story,
        };
        assert_eq!(story(), story(), "{}", path.display());
    }
}

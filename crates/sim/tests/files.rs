//! The scenario files: all can be read, their zones served; and what the small resolver, which has no care at all, makes of them.

use sim::naive::Naive;
use sim::scenario::{Scenario, files, run_all};
use std::path::Path;

fn all() -> Vec<std::path::PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenario/resolver"), "")
}

/// Every file can be read, and its zones can be completed, signed and served.
#[test]
fn files_are_sound() {
    let files = all();
    assert!(files.len() > 150, "{}", files.len());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.starts_with('#'), "{}: says nothing of itself", path.display());
        let scenario = match Scenario::read(&path.to_string_lossy(), &text) {
            Ok(scenario) => scenario,
            Err(error) => panic!("{error}"),
        };
        if let Err(error) = scenario.plan.internet() {
            panic!("{}: {error}", path.display());
        }
    }
}

/// Files that need nothing but RFC 1034 pass with a resolver that has nothing else: so what they say of the model is right.
#[test]
fn the_small_resolver_passes_what_is_simple() {
    let report = run_all(&all(), &Naive::boxed);
    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
    for part in ["iteration/first", "transport/truncated", "alias/to-data", "iteration/lame-rcode-refused"] {
        assert!(
            report.passed.iter().any(|name| name.contains(part)),
            "{part} fails: {}",
            report.text(usize::MAX)
        );
    }
    eprintln!("{} of {}", report.passed.len(), all().len());
    if std::env::var_os("ZONDA_SCENARIO_SHOW").is_some() {
        eprintln!("{}", report.text(usize::MAX));
    }
}

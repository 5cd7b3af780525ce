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

/// Scenarios that the page about attacks names are there, and those of attacks stand there.
#[test]
fn attacks_have_their_scenarios() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/design/attacks.md")).expect("the page");
    let folder = root.join("tests/scenario/resolver");
    let is_word = |text: &str| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !text.is_empty() && text.chars().all(is_part)
    };
    let mut named = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let ticked = line.split('`').skip(1).step_by(2);
        let paths = ticked.filter(|text| text.split_once('/').is_some_and(|(a, b)| is_word(a) && is_word(b)));
        named.extend(paths.map(|path| folder.join(path).with_extension("scn")));
    }
    assert!(named.len() > 80, "{}", named.len());
    let gone: Vec<_> = named.iter().filter(|path| !path.is_file()).collect();
    assert!(gone.is_empty(), "{gone:?}");
    let of_attacks = files(&folder.join("attack"), "");
    let unnamed: Vec<_> = of_attacks.iter().filter(|path| !named.contains(path)).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}

use super::*;

#[test]
fn counts_of_cores() {
    let numbers = |word, cores| Count::Word(word).numbers(cores);
    assert_eq!(numbers(CountWord::ToCores, 1), [1]);
    assert_eq!(numbers(CountWord::ToCores, 2), [1, 2]);
    assert_eq!(numbers(CountWord::ToCores, 5), [1, 2, 3, 4, 5]);
    assert_eq!(numbers(CountWord::ToCores, 16), [1, 2, 3, 4, 6, 8, 12, 16]);
    assert_eq!(numbers(CountWord::Cores, 16), [16]);
    assert_eq!(Count::Number(8).number(2), 8);
    assert_eq!(Count::Word(CountWord::ToCores).number(6), 6);
}

const RECIPE: &str = r#"
title = ""
method = ""
measure = "engine"
[[variant]]
name = "none"
options = { protection = "unshared" }
[[variant]]
name = "paper"
options = { protection = "paper", quota = 16 }
[[panel]]
name = "Root"
at = "root"
options = { data = "root", quota = 1 }
values = [0, "to-cores", 4, 2]
quick-values = ["cores"]
shows = ["rate"]
[[panel]]
name = "Writes"
at = "writes"
options = { threads = "cores" }
variants = ["paper"]
axis = "writes"
values = [10, 1000]
quick-values = []
shows = ["rate"]
"#;

#[test]
fn cells_of_panels() {
    let recipe = Recipe::from_text("own", "own", RECIPE).expect("it is right");
    let places = |is_quick, cores| {
        let cell = |cell: Cell| {
            let threads = cell.options.threads.map(|threads| threads.number(cores));
            assert_eq!(cell.options.quota, Some(if cell.variant == "paper" { 16 } else { 1 }));
            (cell.variant, recipe.panels[cell.panel].place(cell.value), threads)
        };
        cells(&recipe, is_quick, cores).into_iter().map(cell).collect::<Vec<_>>()
    };
    let expected = [
        ("none", "root, no threads", 0),
        ("paper", "root, 1 thread", 1),
        ("paper", "root, 2 threads", 2),
        ("paper", "root, 3 threads", 3),
        ("paper", "root, 4 threads", 4),
        ("paper", "writes, 10 writes/s", 3),
        ("paper", "writes, 1,000 writes/s", 3),
    ];
    let expected = expected.map(|(variant, at, threads)| (variant.to_owned(), at.to_owned(), Some(threads)));
    assert_eq!(places(false, 3), expected);
    assert_eq!(places(true, 2), [("paper".to_owned(), "root, 2 threads".to_owned(), Some(2))]);
}

/// The manual's example is one.
#[test]
fn the_manuals_recipe() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/src/lab-locks.md");
    let manual = std::fs::read_to_string(manual).expect("the manual is in the repository");
    let text = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let recipe = Recipe::from_text("own", "lab-locks.md", text.expect("it has an example"));
    let recipe = recipe.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((cells(&recipe, false, 2).len(), cells(&recipe, true, 2).len()), (2, 1));
}

#[test]
fn what_is_not_there_is_named() {
    for (from, to, said) in [
        ("variants = [\"paper\"]", "variants = [\"papr\"]", "panel writes: no variant papr"),
        ("at = \"writes\"", "at = \"root\"", "another one has the same `at`"),
        ("shows = [\"rate\"]", "shows = [\"ratio\"]", "a ratio needs a baseline"),
        ("values = [10, 1000]", "values = []", "values and shows are needed"),
        ("threads = \"cores\"", "threads = \"kores\"", "own:"),
        ("axis = \"writes\"", "axis = \"rites\"", "unknown variant `rites`"),
    ] {
        let text = RECIPE.replacen(from, to, 1);
        let error = Recipe::from_text("own", "own", &text).expect_err(to).to_string();
        assert!(error.contains(said), "{error}");
    }
    let order =
        "[[order]]\npanel = \"root\"\none = \"paper\"\nother = \"mutex\"\nexpected = \"faster\"\nsaid = \"\"";
    let error = Recipe::from_text("own", "own", &(RECIPE.to_owned() + order)).expect_err(order).to_string();
    assert!(error.contains("in panel root: no variant mutex"), "{error}");
}

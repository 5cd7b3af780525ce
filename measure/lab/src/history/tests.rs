use super::*;
use crate::{file, sample};

/// Three records of one recipe in a folder: the second one quick, the third of another machine.
fn folder() -> tempfile::TempDir {
    let all = tempfile::tempdir().unwrap();
    for (number, name) in ["first", "second", "third"].into_iter().enumerate() {
        let mut record = sample::record();
        record.quick = number == 1;
        record.started = format!("2026-01-0{}T00:00:00Z", number + 1);
        record.machine["host"]["processor"]["model"] = if number == 0 { "Old CPU" } else { "New CPU" }.into();
        record.machine["commit"] = format!("{number}123456789abcdef-dirty").into();
        record.figures.iter_mut().for_each(|figure| figure.median *= 1.0 + number as f64);
        std::fs::create_dir(all.path().join(name)).unwrap();
        file::write_record(&all.path().join(name), &record).unwrap();
    }
    all
}

fn wanted(all: &tempfile::TempDir) -> Wanted {
    Wanted { recipe: "root".to_owned(), folders: vec![all.path().to_owned()], ..Wanted::default() }
}

#[test]
fn a_figure_by_time() {
    let all = folder();
    let history = history(&Wanted { contender: Some("zonda".to_owned()), ..wanted(&all) }).unwrap();
    assert_eq!((history.lines.len(), history.records.len()), (1, 3));
    let line = &history.lines[0];
    let medians: Vec<f64> = line.values.iter().map(|value| value.unwrap().median).collect();
    assert_eq!((medians[1] / medians[0], medians[2] / medians[0]), (2.0, 3.0));
    let text = history.to_string();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(
        lines[0].contains("2026-01-01 00:00 UTC  0123456789+") && lines[0].ends_with("first   other machine"),
        "{text}"
    );
    assert!(lines[1].ends_with("second  quick") && lines[2].ends_with("third"), "{text}");
    assert!(text.contains("other metrics (--metric): ") && text.contains("user CPU"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&history.json()).unwrap();
    assert_eq!(json["lines"][0]["values"][2]["median"], medians[2]);
}

#[test]
fn a_page_without_markup_of_others() {
    let all = folder();
    let mut history = history(&wanted(&all)).unwrap();
    history.records[0].name = "<script>".to_owned();
    history.lines[0].contender = "<img>".to_owned();
    let page = page(&history);
    assert!(!page.contains("<script>") && !page.contains("<img>"));
    assert!(page.contains("<svg") && page.contains("other machine") && page.contains("default-src 'none'"));
}

#[test]
fn what_is_not_there_is_said() {
    let all = folder();
    let said = |wanted: Wanted| history(&wanted).unwrap_err().to_string();
    let metric = said(Wanted { metric: Some("speed".to_owned()), ..wanted(&all) });
    assert!(
        metric.starts_with("no metric `speed`; there are: `") && metric.contains("`user CPU`"),
        "{metric}"
    );
    let contender = said(Wanted { contender: Some("bind4".to_owned()), ..wanted(&all) });
    assert!(contender.starts_with("no contender `bind4`; there are: `zonda`"), "{contender}");
    let at = said(Wanted { at: Some("9 workers".to_owned()), ..wanted(&all) });
    assert!(at.starts_with("no place `9 workers`; there are: `"), "{at}");
    let recipe = said(Wanted { recipe: "net".to_owned(), ..wanted(&all) });
    assert!(recipe.starts_with("no record of net in "), "{recipe}");
}

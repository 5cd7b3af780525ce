//! `lab compare` and `lab report` as a user runs them, on records written by hand.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

fn lab(words: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_zonda-bench")).arg("lab").args(words).output().unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A folder with a record in which zonda's rates are about `rate`.
fn result(folder: &Path, name: &str, rate: f64) -> String {
    let values = [0.99, 0.995, 1.0, 1.0, 1.0, 1.005, 1.01].map(|factor| factor * rate);
    let record = json!({
        "format": 1, "recipe": "root", "title": "made up", "method": "None.", "started": "2026-01-02T03:04:05Z",
        "seconds": 10.0, "command": ["zonda-bench", "lab", "root"], "quick": false,
        "machine": {"processor": {"model": "Sample CPU", "cores": 2}}, "agreement": [],
        "contenders": [{"name": "zonda", "version": "zonda 1", "command": [], "settings": ""}],
        "blocks": {"kept": 7, "discarded": []},
        "figures": [{"contender": "zonda", "at": "", "metric": "rate", "unit": "/s", "more_is_better": true,
                     "values": values, "median": rate, "interval": [rate * 0.99, rate * 1.01]}],
        "tables": [], "charts": [], "published": [], "notes": [], "raw": [],
    });
    let folder = folder.join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("record.json"), record.to_string()).unwrap();
    folder.display().to_string()
}

#[test]
fn compares() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (result(folder.path(), "a", 100_000.0), result(folder.path(), "b", 120_000.0));
    let (status, text, _) = lab(&["compare", &a, &format!("{b}/record.json")]);
    assert_eq!(status, 0);
    let row = text.lines().find(|line| line.starts_with("zonda")).unwrap();
    assert!(row.contains("100,000  120,000  1.200") && row.ends_with("better"), "{text}");
    let (status, text, _) = lab(&["compare", &b, &a, "--json"]);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &value["figures"][0]["verdict"]), (0, &json!("worse")));
}

#[test]
fn writes_a_report_anew() {
    let folder = tempfile::tempdir().unwrap();
    let result = result(folder.path(), "a", 100_000.0);
    let (status, text, errors) = lab(&["report", &result]);
    assert_eq!((status, &*errors), (0, ""));
    assert!(text.contains("100,000 [99,000, 101,000]") && text.contains("report.html"), "{text}");
    let page = fs::read_to_string(format!("{result}/report.html")).unwrap();
    assert!(page.contains("<h1>made up</h1>"));
}

#[test]
fn complains() {
    let folder = tempfile::tempdir().unwrap();
    let whole = result(folder.path(), "a", 1.0);
    let absent = folder.path().join("absent").display().to_string();
    let (status, _, errors) = lab(&["compare", &whole, &absent]);
    assert!(status == 1 && errors.contains("cannot open") && errors.contains("absent"), "{errors}");
    fs::write(folder.path().join("record.json"), r#"{"format": 1, "recipe": "root"}"#).unwrap();
    let (status, _, errors) = lab(&["report", &folder.path().display().to_string()]);
    assert!(status == 1 && errors.contains("missing field `title`"), "{errors}");
    assert_eq!(lab(&["compare", &whole]).0, 2);
}

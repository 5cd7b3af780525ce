use super::*;
use crate::sample;

/// Two records of a full run, the second with all values of zonda's `metric` times `factor`.
fn pair(metric: &str, factor: f64) -> (Record, Record) {
    let a = Record { quick: false, ..sample::record() };
    let mut b = a.clone();
    for figure in b.figures.iter_mut().filter(|figure| figure.contender == "zonda" && figure.metric == metric)
    {
        figure.median *= factor;
        figure.values.iter_mut().for_each(|value| *value *= factor);
    }
    (a, b)
}

#[track_caller]
fn check(metric: &str, factor: f64, expected: Verdict) {
    let (a, b) = pair(metric, factor);
    let comparison = compare(&a, &b);
    let of = |figure: &&Compared| figure.contender == "zonda" && figure.metric == metric;
    let figure = comparison.figures.iter().find(of).unwrap();
    assert_eq!(figure.verdict, expected, "{figure:?}");
    assert!((figure.ratio.unwrap() - factor).abs() < 1e-9);
    let (low, high) = figure.interval.unwrap();
    assert!(low < factor && factor < high, "{figure:?}");
    let others = comparison.figures.iter().filter(|figure| !of(figure));
    assert!(others.into_iter().all(|figure| figure.verdict == Verdict::NoClaim));
}

#[test]
fn verdicts() {
    check("rate", 1.0, Verdict::NoClaim);
    check("rate", 1.10, Verdict::Better);
    check("rate", 0.90, Verdict::Worse);
    // Values vary by 1.5 % either way: the interval excludes 1, and that is not enough for a rate.
    check("rate", 1.045, Verdict::NoClaim);
    check("share of echo", 1.045, Verdict::NoClaim);
    check("share of echo", 1.10, Verdict::Better);
    check("user CPU", 1.045, Verdict::Worse);
    check("user CPU", 1.01, Verdict::NoClaim);
    check("user CPU", 1.2, Verdict::Worse);
    check("user CPU", 0.8, Verdict::Better);
}

#[test]
fn too_few_values_claim_nothing() {
    let (mut a, b) = pair("rate", 2.0);
    a.figures.iter_mut().for_each(|figure| figure.values.truncate(2));
    let comparison = compare(&a, &b);
    assert!(
        comparison
            .figures
            .iter()
            .all(|figure| figure.interval.is_none() && figure.verdict == Verdict::NoClaim)
    );
    assert!(comparison.to_string().contains("too few"));
}

#[test]
fn odd_values_claim_nothing() {
    for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let (a, mut b) = pair("rate", 2.0);
        for figure in &mut b.figures {
            (figure.median, figure.values) = (odd, vec![odd; 5]);
        }
        let comparison = compare(&a, &b);
        assert!(
            comparison
                .figures
                .iter()
                .all(|figure| figure.verdict == Verdict::NoClaim && figure.ratio.is_none())
        );
        comparison.json();
    }
}

#[test]
fn what_differs_is_said() {
    let (a, mut b) = pair("rate", 2.0);
    b.machine["host"]["kernel"] = "6.2.0".into();
    b.contenders[0].version = "zonda 2".to_owned();
    b.contenders[1].settings = "# sample\nlisten 127.0.0.1@5300\nworkers 2\nzone . root.zone\n".to_owned();
    b.contenders.pop();
    let comparison = compare(&a, &b);
    assert!(comparison.obstacles.is_empty());
    assert_eq!(comparison.figures.iter().filter(|figure| figure.verdict == Verdict::Better).count(), 1);
    let text = comparison.to_string();
    for line in [
        "kernel: 6.1.0-sample -> 6.2.0",
        "version of zonda: zonda 1.2.3 (sample) -> zonda 2",
        "settings of knot: workers 1 -> workers 2",
        "echo: takes part -> does not",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[test]
fn other_machines_recipes_and_quick_runs_claim_nothing() {
    let change: [fn(&mut Record); 4] = [
        |b| b.machine["host"]["processor"]["model"] = "Other CPU".into(),
        |b| b.machine = serde_json::Value::Null,
        |b| b.recipe = "net".to_owned(),
        |b| b.quick = true,
    ];
    for change in change {
        let (a, mut b) = pair("rate", 2.0);
        change(&mut b);
        let comparison = compare(&a, &b);
        assert!(comparison.figures.iter().all(|figure| figure.verdict == Verdict::NoClaim));
        assert!(comparison.to_string().contains("! nothing is claimed: "), "{comparison}");
        let value: serde_json::Value = serde_json::from_str(&comparison.json()).unwrap();
        assert!(!value["obstacles"].as_array().unwrap().is_empty());
    }
}

#[test]
fn figures_of_one_record_are_named() {
    let (mut a, mut b) = pair("rate", 1.0);
    a.figures.remove(0);
    b.figures[1].unit = "us".to_owned();
    let comparison = compare(&a, &b);
    assert_eq!(comparison.only_a, ["zonda: user CPU (ns)"]);
    assert_eq!(comparison.only_b, ["zonda: share of echo", "zonda: user CPU (us)"]);
}

#[test]
fn records_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file::RECORD);
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        run(folder.path(), folder.path(), false).unwrap_err().to_string()
    };
    let place = path.display().to_string();
    assert!(refused("{").starts_with(&format!("{place}: not JSON: ")), "{}", refused("{"));
    assert!(refused("[1]").ends_with("it has no number called `format`"));
    assert!(
        refused(r#"{"format": 9}"#)
            .contains("format 9, written by a later zonda-bench; this one reads formats up to 2")
    );
    assert!(
        refused(r#"{"format": 2}"#).contains("missing field `recipe` at line 1"),
        "{}",
        refused(r#"{"format": 2}"#)
    );
    let whole = serde_json::to_value(sample::record()).unwrap();
    // Rules are counted since the second format.
    let names = whole.as_object().unwrap().keys();
    for name in names.filter(|name| !["format", "validity"].contains(&name.as_str())) {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(name);
        assert!(refused(&less.to_string()).contains(&format!("missing field `{name}`")), "{name}");
    }
    let absent = run(&folder.path().join("absent"), folder.path(), false).unwrap_err();
    assert!(
        absent.to_string().starts_with("cannot open ") && absent.to_string().contains("absent"),
        "{absent}"
    );
    std::fs::remove_file(&path).unwrap();
    let empty = run(folder.path(), folder.path(), true).unwrap_err().to_string();
    assert!(empty.contains("record.json: No such file"), "{empty}");
}

#[test]
fn a_record_compared_with_itself() {
    let folder = tempfile::tempdir().unwrap();
    file::write_record(folder.path(), &Record { quick: false, ..sample::record() }).unwrap();
    let text = run(folder.path(), &folder.path().join(file::RECORD), false).unwrap();
    assert!(text.contains("no claim") && !text.contains("better") && !text.contains("WORSE"), "{text}");
    let json = run(folder.path(), folder.path(), true).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["figures"][0]["verdict"], "no-claim");
    assert_eq!(value["figures"][0]["ratio"], 1.0);
}

use bench::random::Random;

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
    let comparison = compare(&a, &b, &[]);
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
    // Values vary by 1.5 % either way: the interval excludes 1, and that is not enough where nothing is known of other runs.
    for metric in ["rate", "share of echo", "p99 latency"] {
        check(metric, 1.1, Verdict::NoClaim);
    }
    check("rate", 1.2, Verdict::Better);
    check("rate", 0.8, Verdict::Worse);
    check("share of echo", 1.2, Verdict::Better);
    check("user CPU", 1.1, Verdict::NoClaim);
    check("user CPU", 1.2, Verdict::Worse);
    check("user CPU", 0.8, Verdict::Better);
}

/// What is counted needs a small margin alone: it is the same on another day, but for how queries come together.
#[test]
fn what_is_counted() {
    for (unit, expected) in
        [("an answer", Verdict::Worse), ("octets", Verdict::NoClaim), ("ns", Verdict::NoClaim)]
    {
        let (mut a, mut b) = pair("user CPU", 1.04);
        a.figures.iter_mut().chain(&mut b.figures).for_each(|figure| figure.unit = unit.to_owned());
        let comparison = compare(&a, &b, &[]);
        let found = comparison
            .figures
            .iter()
            .find(|figure| figure.contender == "zonda" && figure.metric == "user CPU");
        assert_eq!(found.unwrap().verdict, expected, "{unit}");
    }
}

#[test]
fn too_few_values_claim_nothing() {
    let (mut a, b) = pair("rate", 2.0);
    a.figures.iter_mut().for_each(|figure| figure.values.truncate(2));
    let comparison = compare(&a, &b, &[]);
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
        let comparison = compare(&a, &b, &[]);
        assert!(
            comparison
                .figures
                .iter()
                .all(|figure| figure.verdict == Verdict::NoClaim && figure.ratio.is_none())
        );
        comparison.json();
    }
}

/// A record with one rate of zonda's and nothing that takes time to copy.
fn little() -> Record {
    let mut record = Record { quick: false, charts: Vec::new(), published: Vec::new(), ..sample::record() };
    record.figures.retain(|figure| figure.contender == "zonda" && figure.metric == "rate");
    record
}

/// A run of a program: values of nine rounds, which spread by 1 % around `centre`.
fn run_of(like: &Record, commit: &str, number: usize, centre: f64, random: &mut Random) -> Record {
    let mut record = Record { seconds: number as f64, ..like.clone() };
    record.machine["programs"] = serde_json::json!({ "zonda": { "commit": commit } });
    let figure = &mut record.figures[0];
    figure.values = (0..9).map(|_| centre * (0.01 * normal(random)).exp()).collect();
    figure.median = statistics::median(&figure.values);
    record
}

/// A draw from the normal distribution, by the sum of twelve even ones.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.index(1 << 30) as f64 / f64::from(1 << 30)).sum::<f64>() - 6.0
}

/// Of many pairs of runs that differ by `factor`, the share of which something is claimed: each run has an effect of its own, drawn by
/// `effect`, and so have the runs of older programs, `groups`, each of so many, at rates of their own.
fn claimed(groups: &[usize], factor: f64, effect: impl Fn(&mut Random) -> f64) -> f64 {
    const PAIRS: usize = 500;
    let (mut random, like) = (Random::new(7), little());
    let mut is_claimed = || {
        let mut number = 0;
        let mut run = |commit: &str, rate: f64| {
            number += 1;
            let centre = rate * effect(&mut random).exp();
            run_of(&like, commit, number, centre, &mut random)
        };
        let (a, b) = (run("a", 1e5), run("b", 1e5 * factor));
        let of_group = |(group, &runs): (usize, &usize)| {
            let (commit, rate) = (format!("older {group}"), 5e4 * (1.0 + group as f64));
            (0..runs).map(|_| run(&commit, rate)).collect::<Vec<_>>()
        };
        let others: Vec<Record> = groups.iter().enumerate().flat_map(of_group).collect();
        compare(&a, &b, &others).figures[0].verdict != Verdict::NoClaim
    };
    (0..PAIRS).filter(|_| is_claimed()).count() as f64 / PAIRS as f64
}

/// An effect of 8 % on each run, which no round within it shows: by rounds alone most pairs would differ.
#[test]
fn what_runs_have_of_their_own_is_not_claimed() {
    let even = |random: &mut Random| 0.08 * normal(random);
    for groups in [&[3][..], &[6], &[2, 2, 3]] {
        let share = claimed(groups, 1.0, even);
        assert!(share <= 0.05, "{groups:?}: {share}");
    }
    // What is presumed holds for 5 %, with no other runs or too few.
    let presumed = |random: &mut Random| 0.05 * normal(random);
    for groups in [&[][..], &[2], &[1, 1, 1]] {
        let share = claimed(groups, 1.0, presumed);
        assert!(share <= 0.05, "{groups:?}: {share}");
    }
}

/// Runs of which a fifth are slower by a fifth, as where the machine has other guests for hours, are not log-normal: three that were all made
/// in quiet hours know nothing of others. That is what rules for runs are for; many records do without.
#[test]
fn hours_that_few_records_know_nothing_of() {
    let hours = |random: &mut Random| if random.index(5) == 0 { -0.2 } else { 0.01 * normal(random) };
    let (few, many) = (claimed(&[3], 1.0, hours), claimed(&[20], 1.0, hours));
    assert!((0.05..0.2).contains(&few) && many <= 0.05, "{few} {many}");
}

/// And what is so is claimed: 12 % where runs are 1 % apart and six tell so, and not where none do.
#[test]
fn what_is_beyond_the_spread_of_runs_is_claimed() {
    let quiet = |random: &mut Random| 0.01 * normal(random);
    assert!(claimed(&[6], 1.12, quiet) > 0.95);
    assert!(claimed(&[], 1.12, quiet) < 0.05);
    assert!(claimed(&[], 1.25, quiet) > 0.95);
}

#[test]
fn other_records_that_tell_nothing() {
    let (mut random, like) = (Random::new(1), little());
    let mut run = |commit: &str, number| run_of(&like, commit, number, 1e5, &mut random);
    let (a, b) = (run("a", 1), run("b", 2));
    let runs: Vec<Record> = (3..7).map(|number| run("c", number)).collect();
    let known = |others: &[Record]| {
        let comparison = compare(&a, &b, others);
        (comparison.runs, comparison.figures[0].between.map(|between| between.degrees))
    };
    assert_eq!(known(&runs), (4, Some(3)));
    let changed = |change: fn(&mut Record)| {
        let mut runs = runs.clone();
        runs.iter_mut().for_each(change);
        known(&runs)
    };
    let each = |record: &mut Record| {
        record.machine["programs"]["zonda"]["commit"] = record.seconds.to_string().into()
    };
    assert_eq!(changed(each), (4, None), "of a program each");
    assert_eq!(changed(|record| record.machine["programs"] = serde_json::Value::Null), (4, None));
    assert_eq!(changed(|record| record.quick = true), (0, None));
    assert_eq!(changed(|record| record.recipe = "net".to_owned()), (0, None));
    assert_eq!(changed(|record| record.machine["host"]["processor"]["cores"] = 4.into()), (0, None));
    assert_eq!(changed(|record| record.figures[0].at_least = 1), (4, None));
    assert_eq!(changed(|record| record.seconds = 3.0), (1, None), "copies of one");
    assert_eq!(known(&[a.clone(), b.clone(), a.clone()]), (0, None), "the two themselves");
    let text = compare(&a, &b, &runs[..2]).to_string();
    let said = [
        "between runs: 2 other records of this recipe and machine; spread known of 0 of 1 measured figures",
        "nothing below 15 %",
    ];
    assert!(said.iter().all(|said| text.contains(said)), "{text}");
}

#[test]
fn what_differs_is_said() {
    let (a, mut b) = pair("rate", 2.0);
    b.machine["host"]["kernel"] = "6.2.0".into();
    b.contenders[0].version = "zonda 2".to_owned();
    b.contenders[1].settings = "# sample\nlisten 127.0.0.1@5300\nworkers 2\nzone . root.zone\n".to_owned();
    b.contenders.pop();
    let comparison = compare(&a, &b, &[]);
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
        let comparison = compare(&a, &b, &[]);
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
    let comparison = compare(&a, &b, &[]);
    assert_eq!(comparison.only_a, ["zonda: user CPU (ns)"]);
    assert_eq!(comparison.only_b, ["zonda: share of echo", "zonda: user CPU (us)"]);
}

#[test]
fn records_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file::RECORD);
    let refused = |text: &str| {
        std::fs::write(&path, text).unwrap();
        run(folder.path(), folder.path(), &[], false).unwrap_err().to_string()
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
    let absent = run(&folder.path().join("absent"), folder.path(), &[], false).unwrap_err();
    assert!(
        absent.to_string().starts_with("cannot open ") && absent.to_string().contains("absent"),
        "{absent}"
    );
    std::fs::remove_file(&path).unwrap();
    let empty = run(folder.path(), folder.path(), &[], true).unwrap_err().to_string();
    assert!(empty.contains("record.json: No such file"), "{empty}");
}

#[test]
fn a_record_compared_with_itself() {
    let folder = tempfile::tempdir().unwrap();
    file::write_record(folder.path(), &Record { quick: false, ..sample::record() }).unwrap();
    let text = run(folder.path(), &folder.path().join(file::RECORD), &[], false).unwrap();
    assert!(text.contains("no claim") && !text.contains("better") && !text.contains("WORSE"), "{text}");
    let json = run(folder.path(), folder.path(), &[], true).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["figures"][0]["verdict"], "no-claim");
    assert_eq!(value["figures"][0]["ratio"], 1.0);
}

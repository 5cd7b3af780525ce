//! Rates and latencies in README.md and the manual: each says where it is from, and one that was measured here is what the
//! record says.
//!
//! ```text
//! 505,000/s<!-- record: allocators-20261121; areas; root, 2 threads; rate -->    folder; contender; place; metric
//! 7 ms<!-- record: locks-quota-20261121; paper; quota, Q = 1; p99 write; high --> an end of its interval: low, high
//! from 10 to 20 ms<!-- said: setting -->                                          the last number before it was not measured here
//! ```
//!
//! The number before a `record` comment is that of the figure's median, rounded as it is written, in the newest record of that recipe. Code is left alone: it
//! shows the form of what programs say. Seconds are too: most are settings. What stands in `benches/README.md` beside each record is not looked at.
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use lab::{file, number, record::Record, records};

/// Units of rates and latencies, as they are written behind a number, with up to a word between for rates.
const LATENCIES: [&str; 6] = ["ms", "us", "µs", "ns", "milliseconds", "microseconds"];
const RATES: [&str; 4] = ["/s", "a second", "per second", "q/s"];
/// What may stand between a number and what is counted.
const THOUSANDS: [&str; 3] = ["million", "M", "k"];
/// Words that may stand between a number and `a second`.
const COUNTED: [&str; 6] = ["queries", "answers", "updates", "changes", "replies", "records"];
/// Nothing was measured here, for one of these reasons.
const SAID: [&str; 5] = ["setting", "bound", "published", "example", "method"];
/// Made from the declarations of the settings: what stands there holds for all machines.
const DECLARED: &str = "settings.md";
/// By how much a number that ends in zeros may be off beyond its last other digit: `200,000` of 200,400.
const ROUNDED_MOST: f64 = 0.005;

/// Top of the repository.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn each_says_where_it_is_from() {
    let mut texts = vec![top().join("README.md")];
    let pages = fs::read_dir(top().join("docs/manual/src")).unwrap().map(|page| page.unwrap().path());
    let is_text =
        |page: &PathBuf| page.extension().is_some_and(|end| end == "md") && !page.ends_with(DECLARED);
    texts.extend(pages.filter(is_text));
    let (mut checked, mut wrong) = (Checker::default(), Vec::new());
    for path in &texts {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        wrong.extend(checked.faults(&text).into_iter().map(|fault| format!("{name}:{fault}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked.figures >= 10, "{} figures", checked.figures);
}

#[test]
fn what_is_wrong_is_found() {
    let mut checker = Checker::default();
    let mut said = |text: &str| checker.faults(text).join("\n");
    assert_eq!(said("`5 ms`\n```\n7,000/s\n```\nin 20 s, version 9.20\n"), "");
    assert!(said("It takes 7 ms.").contains("1: `7 ms` has no source"));
    assert!(said("at 200,000 queries a second").contains("has no source"));
    assert_eq!(said("at 32 updates a second <!-- said: published -->"), "");
    assert!(said("7 ms <!-- said: because -->").contains("because"));
    assert!(said("3 ms of 7 ms <!-- said: bound -->").contains("1: `3 ms` has no source"));
    assert!(said("6.8 million records a second").contains("has no source"));
    assert!(said("2.05 M/s").contains("has no source"));
    let of = |number: &str, figure: &str| format!("{number}<!-- record: locks-quota-20261121; {figure} -->");
    let figure = "paper; quota, Q = 1; p99 write";
    assert_eq!(said(&of("7 ms", figure)), "");
    assert!(said(&of("8 ms", figure)).contains("the record has"));
    assert!(said(&of("7 ms", "paper; quota, Q = 9; p99 write")).contains("no such figure"));
    assert!(said(&of("7 ms", "paper; p99 write")).contains("expected folder; contender; place; metric"));
    assert!(said("9 ms<!-- record: no-such; a; b; c -->").contains("cannot open"));
    let old = "9<!-- record: allocators-20261121; areas; root, 2 threads; rate -->";
    assert!(said(old).contains("the newest record of that recipe is allocators-"));
}

/// Looks at texts, and keeps the records that it has read.
#[derive(Default)]
struct Checker {
    records: BTreeMap<String, Record>,
    /// Figures that were held against a record.
    figures: usize,
}

impl Checker {
    /// What is wrong in a text, each with its line.
    fn faults(&mut self, text: &str) -> Vec<String> {
        let (mut faults, mut is_code) = (Vec::new(), false);
        for (line, number) in text.lines().zip(1..) {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                faults.extend(self.line(line).into_iter().map(|fault| format!("{number}: {fault}")));
            }
        }
        faults
    }

    fn line(&mut self, line: &str) -> Vec<String> {
        let (mut faults, mut rest, mut bare) = (Vec::new(), line, Vec::new());
        while let Some((before, (comment, after))) =
            rest.split_once("<!--").and_then(|(before, after)| Some((before, after.split_once("-->")?)))
        {
            let mut measured = without_code(before);
            match comment.trim().split_once(": ") {
                Some(("record", figure)) => {
                    faults.extend(self.figure(&measured, figure).err());
                    measured.truncate(last_number(&measured).map_or(0, |(start, _)| start));
                }
                Some(("said", why)) if SAID.contains(&why) => {
                    measured.truncate(last_number(&measured).map_or(0, |(start, _)| start));
                }
                Some(("said", why)) => {
                    faults.push(format!("said: {why}: expected one of {}", SAID.join(", ")))
                }
                _ => {}
            }
            bare.push(measured);
            rest = after;
        }
        bare.push(without_code(rest));
        let claims = bare.iter().flat_map(|text| claims(text));
        faults.extend(claims.map(|claim| format!("`{claim}` has no source")));
        faults
    }

    /// Holds the last number of `before` against a figure.
    fn figure(&mut self, before: &str, named: &str) -> Result<(), String> {
        let fields: Vec<&str> = named.split(';').map(str::trim).collect();
        let (folder, contender, at, metric, end) = match fields[..] {
            [folder, contender, at, metric] => (folder, contender, at, metric, "median"),
            [folder, contender, at, metric, end] => (folder, contender, at, metric, end),
            _ => return Err(format!("{named}: expected folder; contender; place; metric")),
        };
        let newest = newest(folder);
        if newest.as_deref().is_some_and(|newest| newest > folder) {
            return Err(format!(
                "{named}: the newest record of that recipe is {}",
                newest.unwrap_or_default()
            ));
        }
        if !self.records.contains_key(folder) {
            let record =
                file::read(&top().join(records::KEPT).join(folder)).map_err(|error| error.to_string())?;
            self.records.insert(folder.to_owned(), record);
        }
        let record = &self.records[folder];
        let is_it = |figure: &&lab::record::Figure| {
            figure.contender == contender && figure.at == at && figure.metric == metric
        };
        let figure = record.figures.iter().find(is_it).ok_or_else(|| format!("{named}: no such figure"))?;
        let (low, high) = figure.interval.unwrap_or((figure.median, figure.median));
        let value = match end {
            "median" => figure.median,
            "low" => low,
            "high" => high,
            end => return Err(format!("{named}: {end}: expected low or high")),
        };
        let (start, length) = last_number(before).ok_or_else(|| format!("{named}: no number before it"))?;
        let written = &before[start..start + length];
        let factor = factor(&figure.unit, before[start + length..].trim());
        self.figures += 1;
        match is_rounded(written, value * factor) {
            true => Ok(()),
            false => Err(format!("{written}: the record has {} ({named})", number::long(value * factor))),
        }
    }
}

/// The newest folder of the recipe that a folder's record is of, whose name ends with the day.
fn newest(folder: &str) -> Option<String> {
    let (recipe, _) = folder.rsplit_once('-')?;
    let kept = fs::read_dir(top().join(records::KEPT)).unwrap();
    let names = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.rsplit_once('-').is_some_and(|(of, _)| of == recipe)).max()
}

/// From the unit of a figure to the one that is written.
fn factor(unit: &str, written: &str) -> f64 {
    let seconds = |unit: &str| match unit {
        "s" => Some(1.0),
        "ms" => Some(1e-3),
        "us" | "µs" => Some(1e-6),
        "ns" => Some(1e-9),
        _ => None,
    };
    let first = written.split([' ', ',', '.', ')', '*']).next().unwrap_or_default();
    match (seconds(unit), seconds(first)) {
        (Some(of), Some(to)) => of / to,
        _ if first == "%" && unit.is_empty() => 100.0,
        _ => 1.0,
    }
}

/// Whether `written` is `value` rounded to the digits that it has.
fn is_rounded(written: &str, value: f64) -> bool {
    let Some(number) = number::parsed(written) else { return false };
    let digits = written.replace(',', "");
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len()) as i32;
    let zeros = if behind > 0 { 0 } else { (digits.len() - digits.trim_end_matches('0').len()) as i32 };
    let half_of_last = 0.5 * 10f64.powi(-behind);
    let half_of_zeros = (0.5 * 10f64.powi(zeros)).min(ROUNDED_MOST * value.abs());
    (number - value).abs() <= half_of_last.max(half_of_zeros) * (1.0 + 1e-9)
}

/// Where the last number of a text begins, and how long it is.
fn last_number(text: &str) -> Option<(usize, usize)> {
    let end = text.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let start = text[..end].rfind(|letter: char| !letter.is_ascii_digit() && letter != ',' && letter != '.');
    let start = start.map_or(0, |place| place + text[place..].chars().next().map_or(1, char::len_utf8));
    Some((start, end - start))
}

/// Numbers with the unit of a rate or a latency.
fn claims(text: &str) -> Vec<String> {
    let mut claims = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let length = rest[start..].find(|letter: char| !letter.is_ascii_digit() && !",.".contains(letter));
        let (number, after) = rest[start..].split_at(length.unwrap_or(rest.len() - start));
        if let Some(unit) = unit(after) {
            claims.push(format!("{} {unit}", number.trim_end_matches([',', '.'])));
        }
        rest = after;
    }
    claims
}

/// The unit that a text begins with.
fn unit(after: &str) -> Option<&'static str> {
    let after = after.trim_start();
    let is_word = |unit: &str, text: &str| {
        let next = text.strip_prefix(unit).map(|rest| rest.chars().next());
        next.is_some_and(|next| next.is_none_or(|letter| !letter.is_alphanumeric()))
    };
    let behind = |words: &[&str], text: &'_ str| -> usize {
        let found = words.iter().find(|word| text.starts_with(**word)).map_or(0, |word| word.len());
        text.len() - text[found..].trim_start().len()
    };
    let ones = &after[behind(&THOUSANDS, after)..];
    let counted = &ones[behind(&COUNTED, ones)..];
    let latency = LATENCIES.into_iter().find(|unit| is_word(unit, after));
    latency.or_else(|| RATES.into_iter().find(|unit| is_word(unit, counted)))
}

/// A text without what stands between backquotes.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

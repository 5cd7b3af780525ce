use super::*;
use crate::{
    record::{Beside, Figure, Published, Text},
    sample,
};

/// The sample as a file to look at, where `SAMPLE_REPORT` names a directory for it.
#[test]
fn sample_to_look_at() {
    let folder = tempfile::tempdir().unwrap();
    let directory = std::env::var_os("SAMPLE_REPORT").map_or_else(|| folder.path().to_owned(), Into::into);
    let record = sample::record();
    file::write_record(&directory, &record).unwrap();
    write(&directory, &record).unwrap();
    let first = std::fs::read_to_string(directory.join(file::REPORT)).unwrap();
    std::fs::remove_file(directory.join(file::REPORT)).unwrap();
    assert_eq!(rewrite(&directory).unwrap().title, record.title);
    assert_eq!(rewrite(&directory.join(file::RECORD)).unwrap().title, record.title);
    assert_eq!(
        std::fs::read_to_string(directory.join(file::REPORT)).unwrap(),
        first,
        "a record holds all of a report"
    );
}

#[test]
fn all_parts_are_there() {
    let page = page(&sample::record());
    for part in [
        "quick run: shows that all works, not how fast",
        "Read this first",
        "Sample CPU @ 2.60GHz, 2 cores (2 threads a core), 2600 MHz",
        "L1d 48 KiB, L1i 32 KiB",
        "15.6 GiB",
        "veth0 (software, 1 rx and 1 tx queues)",
        "knot 1.2.3 (sample)",
        "workers 1",
        "12 of 14 blocks count",
        "7.3 %",
        "HINFO instead",
        "Engine alone",
        "0.9120</span><small>0.9010 – 0.9190</small>",
        "≥ 210,000",
        "at most 0.5 % of the used cores&#39; time",
        "core 0 (servers) 31.4 s, core 1 (generator) 28.9 s",
        "the hypervisor took 0.08 % (at most 0.42 %)",
        "USENIX",
        "record.json",
        "zonda-bench lab root --quick",
        "1 h 23 min",
        "2026-01-02 03:04 UTC",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
}

#[test]
fn markup_of_others_is_text() {
    let mut record = sample::record();
    let hostile = "<img src=x onerror=alert(1)>\"'&";
    for text in [&mut record.recipe, &mut record.title, &mut record.method, &mut record.started] {
        *text = hostile.to_owned();
    }
    record.command = vec![hostile.to_owned()];
    record.notes = vec![hostile.to_owned()];
    record.machine["host"]["hypervisor"] = hostile.into();
    record.blocks.discarded = vec![hostile.to_owned()];
    for figure in &mut record.figures {
        (figure.contender, figure.at, figure.metric) =
            (hostile.to_owned(), hostile.to_owned(), hostile.to_owned());
        figure.unit = hostile.to_owned();
    }
    for agreement in &mut record.agreement {
        agreement.contender = hostile.to_owned();
        agreement.differences = vec![hostile.to_owned()];
    }
    for table in &mut record.tables {
        table.title = hostile.to_owned();
        table.note = hostile.to_owned();
        table.columns = vec![hostile.to_owned()];
        table.rows = vec![vec![hostile.to_owned()]];
    }
    for chart in &mut record.charts {
        chart.title = hostile.to_owned();
        chart.categories = vec![hostile.to_owned()];
        chart.series[0].name = hostile.to_owned();
    }
    let published = |text: &str| Published {
        source: text.to_owned(),
        note: text.to_owned(),
        tables: record.tables.clone(),
        charts: record.charts.clone(),
        beside: record.published[0].beside.clone(),
    };
    record.published = vec![published(hostile)];
    let [title, text, note] = [(); 3].map(|()| hostile.to_owned());
    record.texts = vec![Text { title, text, note }];
    let page = page(&record);
    assert!(!page.contains("<img") && !page.contains("<script"));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"));
    assert!(page.chars().all(|character| character == '\n' || character == '\t' || !character.is_control()));
    well_formed(&page);
}

#[test]
fn nothing_comes_from_elsewhere() {
    let page = page(&sample::record());
    for word in ["<script", "@import", "url(", " src=", "javascript:", "onload=\""] {
        assert!(!page.contains(word), "{word}");
    }
    let links: Vec<_> = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(links, ["record.json"]);
    well_formed(&page);
}

#[test]
fn an_empty_record_is_a_page() {
    let mut record = sample::record();
    record.machine = serde_json::Value::Null;
    (record.figures, record.tables, record.charts) = (vec![], vec![], vec![]);
    (record.contenders, record.agreement, record.published) = (vec![], vec![], vec![]);
    (record.notes, record.quick, record.seconds) = (vec![], false, f64::NAN);
    let page = page(&record);
    well_formed(&page);
    assert!(!page.contains("Read this first") && !page.contains("quick run"));
    assert!(page.contains("does not say what machine"));
}

#[test]
fn times() {
    assert_eq!(date("2026-01-02T03:04:05Z"), "2026-01-02 03:04 UTC");
    assert_eq!(date("yesterday"), "yesterday");
    assert_eq!([0.25, 75.0, 3720.0].map(duration), ["0.2 s", "1 min 15 s", "1 h 2 min"]);
    duration(f64::INFINITY);
}

/// That every element that is opened is closed in its turn.
fn well_formed(page: &str) {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open = Vec::new();
    for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.split([' ', '\n']).next().unwrap();
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') || VOID.contains(&name) => (),
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn ours_and_published_in_a_row() {
    let mut record = sample::record();
    let key = |metric: &str, unit: &str| Beside {
        what: format!("published {metric}"),
        value: 2.0,
        unit: unit.to_owned(),
        metric: metric.to_owned(),
        at: String::new(),
        contenders: vec!["zonda".to_owned()],
    };
    record.figures.iter_mut().for_each(|figure| figure.at.clear());
    record.published[0].beside = vec![key("share of echo", ""), key("rate", "ms"), key("no such", "")];
    let page = page(&record);
    let row = |metric: &str| page.lines().find(|line| line.contains(&format!("published {metric}<")));
    let share = row("share of echo").unwrap();
    assert!(share.contains("<td>2.000</td>") && share.ends_with("<td>0.4560</td></tr>"), "{share}");
    assert!(row("rate").unwrap().ends_with("<td>units differ</td></tr>"));
    assert!(row("no such").is_none());
}

#[test]
fn quietness_and_limit_of_each_figure() {
    let mut record = sample::record();
    let share = |figure: &&mut Figure| figure.contender == "zonda" && figure.metric == "share of echo";
    record.figures.iter_mut().find(share).unwrap().at_most = 3;
    let page = page(&record);
    assert!(page.contains(">≤ 0.9120</span>"));
    let part = page.split("How quiet the machine was for each figure").nth(1).unwrap();
    let row = part.lines().find(|line| line.contains("zonda")).unwrap();
    assert!(row.contains("0.04 %, 0.21 %") && row.contains("share of echo"), "{row}");
    assert!(row.ends_with("<td>3 of 7 at most</td></tr>"), "{row}");
    assert!(part.contains("<td>2 of 7 at least</td></tr>"), "the echo server's rate");
}

use std::{fs, path::Path};

use super::{
    super::{rounds::SPARE_MAX, tests::lab},
    finding::verdict,
    *,
};
use crate::{
    recipe::{Expected, Shown, find, names},
    record::{ChartKind, Record},
};

/// What stands in for the engine: rates by protection and threads.
const ENGINE: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo 'stand-in 1'
all="$*"
value() { echo "$all" | sed -n "s/.*--$1 \([^ ]*\).*/\1/p"; }
threads=$(value threads)
locks=
writes=
case "$all" in *--profile-locks*) locks=',"locks":{"share_waited":0.4,"causes":[{"name":"memory","share":0.75},{"name":"bucket","share":0.25}],
 "locks":[{"name":"bucket","file":"src/zone.rs","line":72,"count":10,"held_s":1.0,"waited_s":0.25,"lockers":[]},
 {"name":"memory","file":"src/area.rs","line":7,"count":20,"held_s":2.0,"waited_s":0.75,
  "lockers":[{"file":"src/answer.rs","line":3,"count":20,"held_s":2.0,"waited_s":0.75}]}]}';; esac
case "$all" in *--writes*) writes=',"writes":{"asked":1000,"done":900,"us":{"p50":1,"p90":2,"p99":3,"p99.9":4,"max":5}}';; esac
case "$(value protection)" in
    bind9) rate=$((1000 / threads));;
    mutex) rate=2000;;
    paper) rate=$((3000 * threads));;
    unshared) rate=1500;;
    *) echo 'out of cheese' >&2; exit 3;;
esac
cat <<END
{"protection":"x","threads":$threads,"answered":1,"seconds":2.0,"rate":$rate,"cpu_us_per_query":1.5,"per_thread":[1],
 "query_us":{"p50":1,"p90":2,"p99":3,"p99.9":4,"max":5},"wait_us":{"p50":0.001,"p90":0.001,"p99":0.001,"p99.9":0.001,"max":5}$locks$writes}
END
"#;

const RECIPE: &str = r#"
title = "Engine"
method = "None."
measure = "engine"
variant = [
  { name = "none", options = { protection = "unshared" } },
  { name = "bind9", options = { protection = "bind9", memory = "shared", own = true } },
  { name = "mutex", options = { protection = "mutex" } },
  { name = "paper", options = { protection = "paper" } },
  { name = "broken", options = { protection = "snapshot" } },
]
[[panel]]
name = "Root zone"
at = "root"
options = { data = "root", names = "skewed" }
values = [0, 1, 2, 8]
shows = ["rate", "ratio", "cpu", "wait"]
baseline = "mutex"
alarm = true
[[panel]]
name = "Changes"
at = "changes"
options = { data = "cache", hits = 0.5, threads = 1, waits = true }
variants = ["paper"]
axis = "writes"
values = [10, 1000]
shows = ["query", "write", "written"]
[[panel]]
name = "Profile"
at = "profile"
options = { data = "root", profile-locks = true }
variants = ["bind9", "paper"]
values = [2]
shows = ["waited", "lines"]
runs = 1
[[order]]
panel = "root"
value = 2
one = "paper"
other = "mutex"
expected = "faster"
said = "So they said."
profile = "profile"
[[order]]
panel = "root"
value = 2
one = "bind9"
other = "mutex"
expected = "not-slower"
said = ""
[[target]]
panel = "root"
of = ["paper", 8]
over = ["paper", 2]
least = 3.5
[full]
runs = 6
run-seconds = 0.1
stolen-share = 1.0
others-share = 1.0
"#;

/// The same for the recipes that ship: takes all that they ask for, and says what might be.
const PLAUSIBLE: &str = r#"#!/bin/sh
[ "$1" = --version ] && exec echo 'stand-in 1'
exec awk -v all="$* " 'function option(name,  at) {
    at = index(all, "--" name " "); if (!at) return ""
    split(substr(all, at), parts, " "); return parts[2]
}
BEGIN {
    srand(); p = option("protection"); n = option("threads"); m = option("memory")
    base["mutex"] = 310; base["system-ordinary"] = 340; base["system-atomic"] = 460; base["paper"] = 500
    base["paper-portable"] = 490; base["paper-published"] = 495; base["snapshot-parts"] = 700; base["bind9"] = 280; base["snapshot"] = 900; base["unshared"] = 950
    if (!(p in base)) { print "no protection " p > "/dev/stderr"; exit 2 }
    loss = p == "snapshot" || index(all, "--own") ? 0.05 : p == "bind9" ? 0.8 : 0.3
    if (m == "shared") loss += 0.15
    gain = n / (1 + loss * (n - 1)); if (gain > 1.9) gain = 1.9
    rate = base[p] * gain * 1000 * (1 + rand() * 0.06)
    if (option("data") == "cache") rate = rate * 0.6
    printf "{\"seconds\": 1.0, \"rate\": %f, \"cpu_us_per_query\": %f", rate, n * 1e6 / rate
    wait = p == "snapshot" ? 0 : (1 + rand()) * (1 + option("writes") / 100)
    if (index(all, "--waits")) printf ", \"query_us\": {\"p99\": %f, \"p99.9\": %f}, \"wait_us\": {\"p99\": 0, \"p99.9\": %f}",
        2 + wait, 3 + 2 * wait, wait
    if (option("writes")) printf ", \"writes\": {\"asked\": %d, \"done\": %d, \"us\": {\"p99\": %f, \"p99.9\": 99}}", option("writes"),
        option("writes"), 20 + wait * 3
    if (index(all, "--profile-locks")) {
        lock = "\"file\": \"src/a/locked.rs\", \"line\": 72, \"count\": 1909760, \"held_s\": 7.2, \"waited_s\": 24.67"
        printf ", \"locks\": {\"share_waited\": %f, \"causes\": [{\"name\": \"memory\", \"share\": 0.5}, {\"name\": \"counter\",", loss / 2
        printf " \"share\": 0.3}, {\"name\": \"rwlock internals\", \"share\": 0.2}], \"locks\": ["
        for (i = 0; i < 9; i++) printf "%s{\"name\": \"zone data\", %s, \"lockers\": [{%s}, {%s}]}", i ? ", " : "", lock, lock, lock
        printf "]}"
    }
    print "}"
}'
"#;

fn median(record: &Record, contender: &str, metric: &str, at: &str) -> Option<f64> {
    let mut figures = record.figures.iter();
    let figure = figures.find(|figure| {
        (figure.contender.as_str(), figure.metric.as_str(), figure.at.as_str()) == (contender, metric, at)
    });
    figure.map(|figure| (figure.median * 1000.0).round() / 1000.0)
}

#[test]
fn a_recipe_from_runs_to_report() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = lab(folder.path(), RECIPE, ENGINE);
    run(&mut lab).unwrap();
    let record = &lab.record;
    // 1 of `none`, 3 of three others, twice one of `paper`, all in six rounds; profiles in one.
    assert_eq!((record.blocks.kept, record.blocks.discarded.len()), (6 * (1 + 9 + 2) + 2, 0));
    assert_eq!(median(record, "none", "rate", "root, no threads"), Some(1500.0));
    assert_eq!(median(record, "none", "rate", "root, 1 thread"), None);
    assert_eq!(median(record, "paper", "rate", "root, 8 threads"), Some(24_000.0));
    assert_eq!(median(record, "paper", "rate over mutex", "root, 2 threads"), Some(3.0));
    assert_eq!(median(record, "mutex", "rate over mutex", "root, 2 threads"), None);
    assert_eq!(median(record, "bind9", "rate over one thread", "root, 8 threads"), Some(0.125));
    assert_eq!(median(record, "paper", "p99 write", "changes, 1,000 writes/s"), Some(3.0));
    assert_eq!(median(record, "paper", "writes", "changes, 10 writes/s"), Some(450.0));
    assert_eq!(median(record, "bind9", "waiting", "profile, 2 threads"), Some(0.4));
    let figure = record.figures.iter().find(|figure| figure.metric == "rate over mutex").unwrap();
    assert_eq!((figure.values.len(), figure.interval.is_some()), (6, true));

    let note = |parts: &[&str]| {
        let is_it = |note: &&String| parts.iter().all(|part| note.contains(part));
        assert_eq!(record.notes.iter().filter(is_it).count(), 1, "{parts:?}: {:?}", record.notes);
    };
    note(&[
        "broken is left out at root, 1 thread; root, 2 threads; root, 8 threads: ",
        "exit status: 3",
        "out of cheese",
    ]);
    note(&["ALARM, root: bind9", "2 threads 0.50, 8 threads 0.1"]);
    note(&["paper, changes, 10 writes/s: 90 % of the changes asked for were made"]);
    note(&["paper, changes, 1,000 writes/s: 90 % of the changes asked for were made"]);
    let notes = record.notes.iter().filter(|note| !note.starts_with("other programs had "));
    assert_eq!(notes.count(), 4, "{:?}", record.notes);
    assert!(record.raw.iter().all(|raw| raw["conditions"]["others_share"].is_f64()));

    let [target] = &record.targets[..] else { panic!("{:?}", record.targets) };
    assert_eq!((target.median.round(), target.verdict()), (4.0, "met"));
    assert_eq!(target.what, "root: rate of paper, 8 threads over paper, 2 threads");
    let words = record.contenders[1].command.join(" ");
    assert!(
        words.starts_with("bench engine --json --data root --protection bind9 --memory shared --threads 1")
    );
    assert!(words.ends_with("--names skewed --seconds 0.1 --warm 1 --own"), "{words}");
    orders_and_profile(record);
    charts(record);
}

fn orders_and_profile(record: &Record) {
    let [orders, profile] = &record.tables[..] else { panic!("{:?}", record.tables) };
    assert_eq!(orders.title, "What others found, and what is found here: root, 2 threads");
    let row = &orders.rows[0];
    assert_eq!(row[0], "paper faster than mutex. So they said.");
    assert_eq!((row[1].as_str(), row[2].as_str()), ("3.000 (3.00 to 3.00)", "reproduced"));
    assert!(row[3].contains("paper waits 40.0 % of its time, 75 % of it for memory"), "{row:?}");
    assert_eq!(
        (orders.rows[1][2].as_str(), orders.rows[1][3].as_str()),
        ("differs: the first is slower", "")
    );
    assert!(orders.note.contains("paper 6k/s > mutex 2k/s > bind9 500/s"), "{}", orders.note);
    assert_eq!(profile.columns, ["%", "bind9", "paper"]);
    let rows: Vec<&str> = profile.rows.iter().map(|row| row[1].as_str()).collect();
    assert_eq!(rows, ["40.0", "75.0", "0.0", "25.0", "0.0"], "the paper's order");
    let text = &record.texts[0].text;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "area.rs             7:         20   2.000000   0.750000  memory");
    assert_eq!(lines[1], "  answer.rs           3:         20   2.000000   0.750000");
    assert_eq!((lines.len(), record.texts.len()), (3, 2));
    assert!(record.raw.iter().all(|raw| raw["result"]["locks"]["locks"].is_null()));
}

fn charts(record: &Record) {
    let titled = |title: &str| record.charts.iter().find(|chart| chart.title == title);
    let rates = titled("Root zone: rate").unwrap();
    assert_eq!((rates.kind, rates.series.len()), (ChartKind::Lines, 4));
    assert_eq!(rates.series[3].points.last().map(|point| (point.x, point.y)), Some((8.0, 24_000.0)));
    let ratios = titled("Root zone: ratio").unwrap();
    assert_eq!(
        (ratios.series[1].name.as_str(), ratios.series[1].points[0].y),
        ("mutex", 1.0),
        "the baseline"
    );
    let waits = titled("Root zone: waiting for locks").unwrap();
    assert!(waits.y_log && waits.y_label.ends_with("0 is not drawn"));
    assert_eq!(titled("Changes: changes made").unwrap().categories, ["10 writes/s", "1,000 writes/s"]);
    let one = titled("Profile, 2 threads: time waited").unwrap();
    assert_eq!(
        (one.categories.as_slice(), one.series.len()),
        (&["bind9".to_owned(), "paper".to_owned()][..], 1)
    );
}

/// Our own recipes from runs to report; where `SAMPLE_REPORT` names a directory, in full, as files to look at.
#[test]
fn our_recipes() {
    let engines = names().into_iter().filter(|name| !find(name).unwrap().panels.is_empty());
    for name in engines.collect::<Vec<_>>() {
        let folder = tempfile::tempdir().unwrap();
        let mut lab = lab(folder.path(), crate::recipe::text(name).unwrap(), PLAUSIBLE);
        let shown = std::env::var_os("SAMPLE_REPORT");
        lab.record.quick = shown.is_none();
        (lab.effort.runs, lab.effort.stolen_share) = (if lab.record.quick { 1 } else { 3 }, 1.0);
        run(&mut lab).unwrap();
        let record = &mut lab.record;
        let failed: Vec<&String> = record.notes.iter().filter(|note| note.contains("left out")).collect();
        assert!(failed.is_empty(), "{name}: {failed:?}");
        let measured = lab.recipe.panels.iter().filter(|panel| !panel.numbers(record.quick, 2).is_empty());
        for panel in measured {
            assert!(
                record.figures.iter().any(|figure| figure.at.starts_with(&panel.at)),
                "{name}: {}",
                panel.at
            );
        }
        assert_eq!(
            lab.recipe.orders.is_empty(),
            !record.tables.iter().any(|table| table.title.starts_with("What others"))
        );
        assert_eq!(record.targets.len(), lab.recipe.targets.len(), "{name}");
        (record.recipe, record.title, record.method) =
            (name.to_owned(), lab.recipe.title.clone(), lab.recipe.method.clone());
        record.published = crate::published::of(name);
        let directory = shown.map_or_else(|| folder.path().to_owned(), |shown| Path::new(&shown).join(name));
        fs::create_dir_all(&directory).unwrap();
        crate::report::write(&directory, record).unwrap();
    }
}

#[test]
fn where_nothing_runs_there_is_no_record() {
    let folder = tempfile::tempdir().unwrap();
    for script in ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho '{\"rate\": 0}'\n", "#!/bin/sh\necho nonsense\n"] {
        let mut lab = lab(folder.path(), RECIPE, script);
        assert!(matches!(run(&mut lab), Err(Error::Nobody)), "{script}");
        assert!(lab.record.notes.iter().any(|note| note.starts_with("paper is left out at ")));
    }
}

#[test]
fn one_that_does_not_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let lab = lab(folder.path(), RECIPE, "#!/bin/sh\necho waiting >&2\nexec sleep 600\n");
    let command = [lab.programs.bench.display().to_string()];
    let error = engine(&lab, &command, Duration::from_millis(300)).unwrap_err().to_string();
    assert!(error.contains("did not end within 0 s"), "{error}");
}

#[test]
fn disturbed_runs_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = lab(folder.path(), RECIPE, ENGINE);
    lab.effort.runs = 1;
    // Less than nothing can be stolen.
    lab.effort.stolen_share = -1.0;
    lab.measure().unwrap();
    // A round, and two spare ones, in which the panel of one run has no part.
    let runs = (1 + 9 + 2 + 2) + SPARE_MAX * (1 + 9 + 2);
    assert_eq!((lab.record.blocks.kept, lab.record.blocks.discarded.len()), (0, runs));
    // A third of them may be made again, and each says how often it was made.
    let stolen = &lab.record.validity.rules[0];
    assert_eq!((stolen.rule.as_str(), stolen.discarded), ("stolen", runs));
    let all = lab.record.validity.runs;
    assert!(
        (runs / 3..=all / 3).contains(&stolen.again) && stolen.broken >= runs + stolen.again,
        "{stolen:?}"
    );
    assert!(lab.record.blocks.discarded[0].contains("attempt 2: "), "{:?}", lab.record.blocks.discarded);
    assert!(lab.record.figures.is_empty() && lab.record.charts.is_empty());
}

#[test]
fn verdicts_of_orders() {
    for (expected, three, said) in [
        (Expected::Faster, [1.1, 1.2, 1.3], "reproduced"),
        (Expected::Faster, [0.9, 1.2, 1.3], "differs: not told apart"),
        (Expected::Faster, [0.9, 0.8, 0.7], "differs: the first is slower"),
        (Expected::NotSlower, [0.95, 0.96, 0.97], "reproduced"),
        (Expected::NotSlower, [0.8, 0.8, 0.8], "differs: the first is slower"),
        (Expected::Alike, [1.05, 0.95, 1.0], "reproduced"),
        (Expected::Alike, [1.2, 1.3, 1.2], "differs: the first is faster"),
        (Expected::Alike, [0.8, 0.7, 0.8], "differs: the first is slower"),
    ] {
        assert_eq!(verdict(expected, &three), "not decided, by too few runs");
        let ratios = &[three, three].concat()[..];
        assert_eq!(verdict(expected, ratios), said, "{expected:?} {ratios:?}");
    }
}

/// What orders and targets of our recipes speak of is measured, in all forms and on machines of all sizes.
#[test]
fn orders_and_targets_are_measured() {
    for recipe in
        names().into_iter().map(|name| find(name).unwrap()).filter(|recipe| !recipe.panels.is_empty())
    {
        for (is_quick, cores) in [(false, 1), (true, 1), (false, 2), (true, 2), (false, 16), (true, 16)] {
            let found = Found::new(cells(&recipe, is_quick, cores));
            let panel = |at: &str| recipe.panels.iter().position(|panel| panel.at == at).unwrap();
            let has = |at: &str, name: &str, value: u64| {
                let place =
                    format!("{}: {at}, {name}, {value}; quick {is_quick}, {cores} cores", recipe.name);
                assert!(found.cell(panel(at), name, value).is_some(), "{place}");
            };
            for order in &recipe.orders {
                // A panel may have no place in a short form, and then has its orders in the full one.
                if recipe.panels[panel(&order.panel)].numbers(is_quick, cores).is_empty() {
                    assert!(is_quick, "{}: {}", recipe.name, order.panel);
                    continue;
                }
                let value = order.value.map_or(cores as u64, |value| value.number(cores));
                has(&order.panel, &order.one, value);
                has(&order.panel, &order.other, order.other_value.map_or(value, |other| other.number(cores)));
                let profile = order.profile.as_ref().map(|at| &recipe.panels[panel(at)]);
                assert!(profile.is_none_or(|panel| panel.shows.contains(&Shown::Waited)));
            }
            for target in &recipe.targets {
                for (name, value) in [&target.of, &target.over] {
                    has(&target.panel, name, value.number(cores));
                }
            }
        }
    }
}

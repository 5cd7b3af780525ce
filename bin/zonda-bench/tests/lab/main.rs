//! The laboratory as a user runs it: the self-check of one recipe of each kind, and complaints. `long` has those of all others
//! (`make test-long`).
//!
//! * `resolvers`: recipes of resolvers. * `changes`: of zones that change. * `generators`: of echo servers, generators and locks, without name servers.
#![allow(clippy::unwrap_used)]

mod changes;
mod generators;
mod long;
mod resolvers;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Mutex,
};

use serde_json::Value;

/// One experiment at a time: they share the cores.
static TURN: Mutex<()> = Mutex::new(());

/// The server, where it was built (`make unit` does so first, and says where).
fn zonda() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_zonda-bench")).with_file_name("zonda");
    let named = std::env::var_os("ZONDA").map(PathBuf::from);
    named.into_iter().chain([beside]).find(|path| path.is_file())
}

fn lab(folder: &Path, words: &[&str]) -> Output {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut command = Command::new(env!("CARGO_BIN_EXE_zonda-bench"));
    command.arg("lab").args(words).current_dir(folder).output().unwrap()
}

/// Runs the self-check of a recipe over the loopback interface; `contenders` but for recipes without any.
#[track_caller]
fn checked(recipe: &str, contenders: &str) -> Option<Value> {
    checked_text(recipe, None, contenders)
}

/// The same of another text under the name of a recipe.
#[track_caller]
fn checked_text(recipe: &str, text: Option<&str>, contenders: &str) -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    // Of root's servers some are nobody's, who is to get through.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = format!("{recipe}.toml");
    let from = text.map_or(recipe, |text| {
        fs::write(folder.path().join(&file), text).unwrap();
        &file
    });
    let mut words = vec![from, "--check", "--bed", "loopback", "--out", "out"];
    let program = zonda();
    if contenders.contains("zonda") {
        let Some(program) = &program else {
            assert!(std::env::var_os("CI").is_none(), "zonda is not built");
            return None;
        };
        words.extend(["--zonda", program.to_str().unwrap()]);
    }
    if !contenders.is_empty() {
        words.extend(["--contenders", contenders]);
    }
    let output = lab(folder.path(), &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{recipe}: {said}");
    assert!(folder.path().join("out/report.html").is_file() && !folder.path().join("out/work").exists());
    let record: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/record.json")).unwrap()).unwrap();
    assert_eq!((&record["recipe"], &record["quick"]), (&recipe.into(), &true.into()));
    let is_in_process = lab::recipe::find(recipe).unwrap().measure.is_in_process();
    assert_eq!(record["machine"]["bed"], if is_in_process { "none" } else { "loopback" });
    assert!(!record["raw"].as_array().unwrap().is_empty(), "{recipe}: {said}");
    Some(record)
}

/// Values of a figure.
fn values(record: &Value, contender: &str, metric: &str) -> Vec<f64> {
    values_where(record, |figure| figure["contender"] == contender && figure["metric"] == metric)
}

/// Of one place among several.
fn values_at(record: &Value, contender: &str, metric: &str, at: &str) -> Vec<f64> {
    values_where(record, |figure| {
        figure["contender"] == contender && figure["metric"] == metric && figure["at"] == at
    })
}

fn values_where(record: &Value, is_meant: impl Fn(&Value) -> bool) -> Vec<f64> {
    let figures = record["figures"].as_array().unwrap().iter();
    figures
        .filter(|figure| is_meant(figure))
        .flat_map(|figure| figure["values"].as_array().unwrap())
        .map(|value| value.as_f64().unwrap())
        .collect()
}

/// A block of a machine that stands still may be discarded, and then there are no figures: what must be there is either.
#[track_caller]
fn has_rates(record: &Value, contender: &str) {
    let discarded = !record["blocks"]["discarded"].as_array().unwrap().is_empty();
    assert!(discarded || values(record, contender, "rate").iter().all(|&rate| rate > 0.0));
    assert!(discarded || !values(record, contender, "rate").is_empty(), "{record}");
}

/// The recipe `root` with these ways of asking alone, beside the usual one.
fn root_with(rows: &[&str]) -> String {
    let text = lab::recipe::text("root").unwrap();
    let (before, after) = text.split_at(text.find("[[row]]").unwrap());
    let (all, after) = after.split_at(after.find("[full]").unwrap());
    let is_wanted = |row: &&str| rows.iter().any(|name| row.contains(&format!("name = {name:?}")));
    let kept: String = all.split("[[row]]").filter(is_wanted).map(|row| format!("[[row]]{row}")).collect();
    format!("{before}{kept}{after}")
}

#[test]
fn root_beside_all_that_are_installed() {
    let rows = ["TCP", "answers made anew"];
    root_beside_all(&rows);
}

fn root_beside_all(rows: &[&str]) {
    let text = root_with(rows);
    let all = "zonda,knot,nsd,named,unbound,pdns";
    let Some(record) = checked_text("root", Some(&text), all) else { return };
    has_rates(&record, "zonda");
    has_rates(&record, "echo");
    let zonda = &record["contenders"][0];
    assert!(zonda["name"] == "zonda" && zonda["version"].as_str().unwrap().contains("zonda"));
    assert!(zonda["settings"].as_str().unwrap().contains("minimal-responses = true"));
    for (name, program) in [
        ("knot", "knotd"),
        ("nsd", "nsd"),
        ("named", "named"),
        ("unbound", "unbound"),
        ("pdns", "pdns_server"),
    ] {
        if lab::process::find(program).is_some() {
            let asked = record["agreement"].as_array().unwrap().iter();
            assert!(asked.clone().any(|asked| asked["contender"] == name), "{name}: {}", record["notes"]);
        }
    }
    let discarded = !record["blocks"]["discarded"].as_array().unwrap().is_empty();
    for at in [""].iter().chain(rows) {
        let is_there = values_at(&record, "zonda", "rate", at).first().is_some_and(|&rate| rate > 0.0);
        assert!(discarded || is_there, "{at}: {}", record["notes"]);
    }
    for metric in ["answered of 0.5 times the rate", "answered of 2 times the rate"] {
        assert!(discarded || values(&record, "zonda", metric).len() == 1, "{metric}: {}", record["notes"]);
    }
    if !discarded {
        are_checked_by_dnsperf(&record, &[&[""], rows].concat());
    }
    assert!(discarded || zonda_beyond(&record).is_some_and(|trial| trial["dropped"].is_u64()));
    for agreement in record["agreement"].as_array().unwrap() {
        let (asked, equal) = (agreement["asked"].as_u64().unwrap(), agreement["equal"].as_u64().unwrap());
        assert!(asked == 40 && equal * 10 >= asked * 8, "{agreement}");
    }
}

/// What another program's generator saw is beside what ours did, in each way of asking.
#[track_caller]
fn are_checked_by_dnsperf(record: &Value, places: &[&str]) {
    if lab::process::find("dnsperf").is_none() {
        assert!(std::env::var_os("CI").is_none(), "dnsperf is missing: run tests/setup.sh");
        assert!(record["notes"].to_string().contains("rates are not checked by dnsperf: it is missing"));
        return;
    }
    assert!(record["machine"]["generators"]["dnsperf"].is_string(), "{}", record["machine"]);
    for at in places {
        assert!(values_at(record, "echo", "rate that dnsperf can offer", at)[0] > 0.0, "{at}");
        for metric in ["answered, as dnsperf counts", "answered, beside dnsperf"] {
            let shares = values_at(record, "zonda", metric, at);
            assert!(shares.len() == 1 && (0.0..=1.0).contains(&shares[0]), "{at}: {metric}: {shares:?}");
        }
    }
    let raw = record["raw"].as_array().unwrap().iter();
    let mut checks = raw.filter(|raw| raw["cross_of"] == "zonda");
    let is_sound = |check: &Value| {
        let [sent, answered] = ["sent", "answered"].map(|what| check["counted"][what].as_f64());
        sent > Some(0.0) && answered <= sent && check["rate"].as_f64() <= check["held"].as_f64()
    };
    assert!(checks.all(is_sound), "{}", record["raw"]);
    let tables = record["tables"].as_array().unwrap().iter();
    let titles = tables.filter(|table| table["title"].as_str().unwrap().starts_with("Checked by dnsperf"));
    assert_eq!(titles.count(), places.len());
}

/// A trial beyond the rate.
fn zonda_beyond(record: &Value) -> Option<&Value> {
    record["raw"].as_array()?.iter().find(|raw| raw["beyond_of"] == "zonda" && raw["share"] == 2.0)
}

#[test]
fn memory_and_start() {
    let Some(record) = checked("memory", "zonda") else { return };
    assert!(values(&record, "zonda", "PSS after load").iter().all(|&octets| octets > 0.0));
    let Some(record) = checked("start", "zonda") else { return };
    for from in ["zonda", "zonda, pack"] {
        assert_eq!(values(&record, from, "time to first answer").len(), 1);
    }
}

/// Whether servers are there that take updates.
fn has_peers() -> bool {
    let missing = ["knotd", "named"].into_iter().find(|program| lab::process::find(program).is_none());
    if let Some(program) = missing {
        assert!(std::env::var_os("CI").is_none(), "{program} is missing: run tests/setup.sh");
    }
    missing.is_none()
}

/// Another build of the server is one that is there, and has others beside it.
#[test]
fn before_needs_a_program() {
    let folder = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (["root", "--check", "--before", "no/such/program"], "--before: no/such/program is no file"),
        (["root", "--check", "--contenders", "before"], "--before: the contender before needs PATH"),
        (["locks", "--check", "--before", "no/such/program"], "--before: no servers take part in locks"),
    ] {
        let output = lab(folder.path(), &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{said}");
    }
}

/// Every rate of a recipe without contenders is there.
#[track_caller]
fn has_rates_only(recipe: &str) {
    let record = checked(recipe, "").unwrap();
    let figures = record["figures"].as_array().unwrap().iter();
    let rates: Vec<&Value> = figures.filter(|figure| figure["metric"] == "rate").collect();
    let is_measured = |rate: &&Value| rate["median"].as_f64().unwrap() > 0.0;
    assert!(!rates.is_empty() && rates.iter().all(is_measured), "{recipe}");
}

/// All panels have values, and no variant is left out.
#[track_caller]
fn has_all_in_process(recipe: &str, contender: &str, metric: &str, at: &str) {
    let record = checked(recipe, "").unwrap();
    for note in record["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()) {
        // Of all allocators it is the one that is not part of the program.
        assert!(!note.contains("left out") || note.contains("install libjemalloc.so.2"), "{recipe}: {note}");
    }
    assert_eq!(values_at(&record, contender, metric, at).len(), 1, "{recipe}: {record}");
    assert!(record["figures"].as_array().unwrap().len() > 10);
    let has = |part: &str, title: &str| record[part].to_string().contains(title);
    assert_eq!(has("tables", "What others found"), recipe != "lock-profile", "{recipe}");
    assert_eq!(has("texts", "the profiler's lines"), recipe == "lock-profile");
    assert_eq!(record["targets"].as_array().map_or(0, Vec::len), usize::from(recipe == "locks"));
}

fn has_target(record: &Value, what: &str) -> bool {
    record["targets"].as_array().unwrap().iter().any(|target| target["what"] == what)
}

#[test]
fn a_users_own_recipe_and_its_faults() {
    let folder = tempfile::tempdir().unwrap();
    let shown = lab(folder.path(), &["--show", "echo-pin"]);
    let text = String::from_utf8(shown.stdout).unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, text.replace("name = \"two", "nome = \"two")).unwrap();
    let output = lab(folder.path(), &["mine.toml", "--check"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().position(|line| line.contains("name = \"two")).unwrap() + 1;
    assert!(output.status.code() == Some(2) && said.contains(&format!("mine.toml:{line}:")), "{said}");
    assert!(said.contains("unknown field `nome`"), "{said}");
    fs::write(&path, text).unwrap();
    let output = lab(folder.path(), &["mine.toml", "--check", "--bed", "loopback"]);
    assert!(output.status.success() && folder.path().join("lab-results").is_dir());
}

#[test]
fn complaints_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for (words, status, expected) in [
        (&["no-such"][..], 2, "no recipe no-such: expected the path of a file or one of root, net"),
        (&["root", "--zonda", "/no/zonda"], 1, "/no/zonda is missing: build it with `cargo build"),
        (&["root", "--contenders", "bind4"], 2, "expected some of zonda, before, limited, zonda-sqlite"),
        (&["root", "--cpus-server", "1000"], 2, "--cpus-server: core 1000 is not there"),
        (&["root", "--scale", "0"], 2, "--scale: must be from"),
        (&[], 2, "RECIPE"),
    ] {
        let output = lab(folder.path(), words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && said.contains(expected), "{words:?}: {said}");
    }
    let list = lab(folder.path(), &["--list"]);
    assert_eq!(String::from_utf8_lossy(&list.stdout).lines().count(), 46);
}

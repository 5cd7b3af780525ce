//! The laboratory as a user runs it: the self-check of one recipe of each kind, and complaints. `long` has those of all others
//! (`make test-long`).
#![allow(clippy::unwrap_used)]

use std::{
    fs,
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
    assert!(discarded || zonda_beyond(&record).is_some_and(|trial| trial["dropped"].is_u64()));
    for agreement in record["agreement"].as_array().unwrap() {
        let (asked, equal) = (agreement["asked"].as_u64().unwrap(), agreement["equal"].as_u64().unwrap());
        assert!(asked == 40 && equal * 10 >= asked * 8, "{agreement}");
    }
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

/// Rates of resolvers by hits, with what arrived at the servers that they asked. Those servers have port 53, which needs root.
#[test]
fn resolvers_by_hits() {
    let is_free = std::net::UdpSocket::bind("127.0.53.1:53").is_ok();
    if !is_free {
        assert!(std::env::var_os("CI").is_none(), "port 53 of 127.0.53.1 is taken, or needs root");
        return;
    }
    // Two of the cases are enough.
    let text = lab::recipe::text("caching").unwrap();
    let (cases, rest) = text.split_once("[[changes.target]]").unwrap();
    let cases: Vec<&str> = cases.split("[[case]]").collect();
    let cases = [cases[0], cases[1], cases[3]].join("[[case]]");
    let text = format!("{cases}[[changes.target]]{rest}");
    let Some(record) = checked_text("caching", Some(&text), "zonda,unbound,named,nsd") else { return };
    let notes = record["notes"].to_string();
    assert!(notes.contains("nsd is left out: it resolves nothing"), "{notes}");
    let agreed = record["agreement"].as_array().unwrap();
    assert!(!agreed.is_empty() && agreed.iter().all(|one| one["asked"] == one["equal"]), "{agreed:?}");
    for block in record["raw"].as_array().unwrap() {
        let (at, results) = (block["at"].as_str().unwrap(), block["results"].as_object().unwrap());
        for (who, result) in results {
            let sum = |name: &str| -> u64 {
                let steps =
                    ["approach", "steps"].into_iter().flat_map(|part| result[part].as_array().unwrap());
                steps.map(|step| step[name].as_u64().unwrap()).sum()
            };
            let (sent, asked) = (sum("sent"), result["arrived"]["children"].as_u64().unwrap());
            assert_eq!(sum("failed"), 0, "{who} at {at}: {result}");
            // So short a run may have more or fewer misses than the mean; but some, and not all.
            let expected = if at.starts_with("100") { 0..=0 } else { 1..=sent - 1 };
            assert!(expected.contains(&asked), "{who} at {at}: {asked} of {sent}");
        }
        assert!(results.contains_key("zonda") && results.contains_key("relay"), "{at}: {notes}");
    }
    let tables = record["tables"].as_array().unwrap();
    let beside = tables.iter().find(|table| table["title"].as_str().unwrap().contains("beside the paper's"));
    let row =
        |hits: &str| beside.unwrap()["rows"].as_array().unwrap().iter().find(|row| row[0] == hits).cloned();
    assert!(row("80 %").unwrap().as_array().unwrap().contains(&"15,915".into()));
}

/// Resolvers in trouble: what a restart leaves of a warm cache, over the loopback interface; floods and dead servers, which need namespaces.
#[test]
fn resolvers_in_trouble() {
    if std::net::UdpSocket::bind("127.0.53.1:53").is_err() {
        assert!(std::env::var_os("CI").is_none(), "port 53 of 127.0.53.1 is taken, or needs root");
        return;
    }
    let Some(record) = checked("restart", "zonda,named") else { return };
    for who in ["zonda", "named"] {
        assert_eq!(values(&record, who, "hits after over before").len(), 1, "{who}: {}", record["notes"]);
    }
    let kept = values(&record, "zonda", "hits after over before")[0];
    assert!(kept > 0.9 && values(&record, "zonda", "first hit").len() == 1, "{kept}");
    assert!(values(&record, "named", "first hit").is_empty(), "it keeps nothing");
}

/// What names cost resolvers that know nothing, in a model Internet at addresses of the loopback interface.
#[test]
fn resolvers_that_know_nothing() {
    if std::net::UdpSocket::bind("127.53.0.2:53").is_err() {
        assert!(std::env::var_os("CI").is_none(), "port 53 of 127.53.0.2 is taken, or needs root");
        return;
    }
    // Both ways to make an Internet, and validation, are in two of the cases.
    let text = lab::recipe::text("cold-cache").unwrap();
    let (cases, rest) = text.split_once("[[changes.target]]").unwrap();
    let cases: Vec<&str> = cases.split("[[case]]").collect();
    let text = format!("{}[[changes.target]]{rest}", [cases[0], cases[1], cases[3]].join("[[case]]"));
    let Some(record) = checked_text("cold-cache", Some(&text), "zonda,unbound") else { return };
    let agreed = record["agreement"].as_array().unwrap();
    assert!(!agreed.is_empty() && agreed.iter().all(|one| one["asked"] == one["equal"]), "{agreed:?}");
    for at in ["a tenth signed", "all signed, validating"] {
        let [questions, trips, failed] =
            ["questions", "round trips", "failed"].map(|metric| values_at(&record, "zonda", metric, at));
        // An answer takes one at least, and the first name of a TLD three.
        assert!(questions.iter().all(|&count| count > 1.0 && count < 10.0), "{at}: {questions:?}");
        assert!(trips.iter().all(|&count| count >= 1.0), "{at}: {trips:?}");
        assert_eq!(failed, [0.0], "{at}");
    }
    let verified = values_at(&record, "zonda", "signatures", "all signed, validating");
    assert!(verified.iter().all(|&count| count >= 1.0), "{verified:?}");
    assert!(values_at(&record, "zonda", "signatures", "a tenth signed").iter().all(|&count| count == 0.0));
    let kinds = record["tables"].as_array().unwrap().iter();
    let mut kinds = kinds.filter(|table| table["title"].as_str().unwrap().contains("by server and type"));
    assert!(kinds.all(|table| table["rows"].to_string().contains("TLDs: A")), "{}", record["tables"]);
}

/// Whether servers are there that take updates.
fn has_peers() -> bool {
    let missing = ["knotd", "named"].into_iter().find(|program| lab::process::find(program).is_none());
    if let Some(program) = missing {
        assert!(std::env::var_os("CI").is_none(), "{program} is missing: run tests/setup.sh");
    }
    missing.is_none()
}

/// Rates of those that take updates beside the limit program, and whether they keep them.
#[test]
fn updates_as_fast_as_they_are_accepted() {
    if !has_peers() {
        return;
    }
    let record = checked("ddns-rate", "knot,named,nsd").unwrap();
    for who in ["knot", "named", "limit"] {
        for at in ["one zone, 1 in flight", "1,000 zones, 64 in flight", "one zone, 64 in flight, unsigned"] {
            let rates = values_at(&record, who, "rate", at);
            assert!(rates.len() == 1 && rates[0] > 0.0, "{who} at {at}: {rates:?}");
        }
    }
    assert!(record["notes"].to_string().contains("nsd is left out: it takes no dynamic updates"));
    let raw = record["raw"].as_array().unwrap().iter();
    let checked: Vec<&Value> = raw.filter(|one| one["kept_by"].is_string()).collect();
    assert!(checked.len() == 4 || lab::process::find("strace").is_none(), "{}", record["notes"]);
    for one in checked {
        assert!(one["replies"] == 20 && one["is_honest"] == true && one["syncs"] != Value::Null, "{one}");
    }
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

/// Of a recipe of one's own: with one worker and two rates it is short.
#[test]
fn queries_beside_updates() {
    if !has_peers() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = lab::recipe::text("dynamic").unwrap();
    let text = text.replace("rates = [10, 100, 1000, 10000]", "rates = [50, 200]").replace("[1, 2]", "[1]");
    fs::write(folder.path().join("mine.toml"), text).unwrap();
    let words = ["mine.toml", "--check", "--bed", "loopback", "--contenders", "named,nsd", "--out", "out"];
    let output = lab(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = fs::read(folder.path().join("out/record.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let places = ["no updates", "50 updates/s", "200 updates/s"];
    for at in places {
        let rates = values_at(&record, "named", "rate", at);
        assert!(rates.len() == 1 && rates[0] > 0.0, "{at}: {rates:?}");
        assert_eq!(values_at(&record, "named", "lost at half load", at).len(), 1);
    }
    let (one, other) =
        (values_at(&record, "named", "rate", places[1]), values_at(&record, "named", "rate", places[0]));
    let ratio = values_at(&record, "named", "rate over none", places[1]);
    assert!((ratio[0] - one[0] / other[0]).abs() < 1e-9, "{ratio:?}");
    let cpu = values_at(&record, "limit", "CPU an update", places[2]);
    assert!(cpu.len() == 1 && cpu[0] > 0.0, "{cpu:?}");
    let accepted = values_at(&record, "named", "updates accepted", places[2]);
    assert!(accepted.len() == 1 && accepted[0] > 0.0, "{accepted:?}");
}

/// Zones out, changes out, zones in and again, of those that can.
#[test]
fn zones_out_and_in() {
    if !has_peers() {
        return;
    }
    let record = checked("transfer", "knot,named").unwrap();
    for who in ["knot", "named"] {
        for (metric, at) in [
            ("AXFR out", "1 M records"),
            ("AXFR out", "10,000 zones"),
            ("IXFR out", "1 M records"),
            ("in until served", "10,000 zones"),
            ("all current again", "1 M records"),
        ] {
            let found = values_at(&record, who, metric, at);
            assert!(found.len() == 1 && found[0] > 0.0, "{who}, {metric}, {at}: {}", record["notes"]);
        }
    }
    assert_eq!(values_at(&record, "limit", "AXFR out", "10,000 zones").len(), 1);
    // What came in is what the primary has: by transfers of all zones, and changes of each.
    for one in record["raw"].as_array().unwrap().iter().filter(|one| one["in_to"].is_string()) {
        let zones = if one["at"] == "1 M records" { 1 } else { 20 };
        assert!(one["axfr"] == zones && one["ixfr"].as_u64() >= Some(zones), "{one}");
    }
}

/// Every version that a secondary serves is the one that was published.
#[test]
fn a_history_replayed() {
    if !has_peers() {
        return;
    }
    let record = checked("root-history", "knot,named").unwrap();
    let raw = record["raw"].as_array().unwrap();
    assert_eq!(raw.len(), 2, "{}", record["notes"]);
    for one in raw {
        assert!(one["versions"] == 5 && one["equal"] == 5 && one["different"] == 0, "{one}");
        assert!(one["ixfr"].as_u64() >= Some(4), "{one}");
    }
}

/// Of a recipe of one's own with two rates. Changes come in while queries are answered, and all of them are served in the end, or else it
/// would not end.
#[test]
fn queries_beside_transfers() {
    if !has_peers() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = lab::recipe::text("ixfr-secondary").unwrap();
    let text = text.replace("rates = [4, 8, 10, 32, 100, 1000, 10000]", "rates = [20, 200]");
    fs::write(folder.path().join("mine.toml"), text).unwrap();
    let words = ["mine.toml", "--check", "--bed", "loopback", "--contenders", "knot", "--out", "out"];
    let output = lab(folder.path(), &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = fs::read(folder.path().join("out/record.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    for at in ["DNSSEC off, kept, 200 changes/s", "DNSSEC on, not kept, 20 changes/s"] {
        let [rate, ratio, served] = ["rate", "rate over none", "served at the end"]
            .map(|metric| values_at(&record, "knot", metric, at));
        assert!(rate.len() == 1 && rate[0] > 0.0 && ratio.len() == 1, "{at}: {}", record["notes"]);
        assert!(served.len() == 1 && served[0] <= 1.0, "{at}: {served:?}");
    }
    let raw = record["raw"].as_array().unwrap();
    assert_eq!(raw.len(), 8);
    assert!(raw.iter().all(|one| one["published"].as_u64() >= Some(1)), "{raw:?}");
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

#[test]
fn echo_servers() {
    has_rates_only("echo-pin");
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

#[test]
fn locks_in_process() {
    has_all_in_process("lock-profile", "BIND 9.3's locks", "waiting", "profiled, 4 threads");
}

/// Measured, simulated and the seeds' curves; each simulated line says what it is.
#[test]
fn scaling_beyond_the_cores() {
    let record = checked("scaling", "").unwrap();
    let cores = std::thread::available_parallelism().unwrap().get();
    for protection in ["bind9", "mutex", "system-atomic", "paper", "snapshot"] {
        let rates = values(&record, protection, "rate");
        assert!(rates.len() >= 3 && rates.iter().all(|&rate| rate > 0.0), "{protection}: {rates:?}");
    }
    let crowded = format!("snapshot: rate of {} threads over {cores} thread", 4 * cores);
    let targets = record["targets"].as_array().unwrap();
    assert!(
        targets.iter().any(|target| target["what"].as_str().unwrap().starts_with(&crowded)),
        "{targets:?}"
    );
    let series =
        record["charts"].as_array().unwrap().iter().flat_map(|chart| chart["series"].as_array().unwrap());
    let mut simulated = 0;
    for one in series.filter(|one| one["role"] == "simulated") {
        assert!(one["name"].as_str().unwrap().contains("simulated"), "{}", one["name"]);
        simulated += 1;
    }
    assert!(simulated > 20, "{simulated}");
    let tables: Vec<&str> =
        record["tables"].as_array().unwrap().iter().map(|table| table["title"].as_str().unwrap()).collect();
    for title in
        ["parameters of the law", "every published point", "beside what was measured", "what the models know"]
    {
        assert!(tables.iter().any(|table| table.contains(title)), "{title}: {tables:?}");
    }
}

/// Rows that others are compared with, and targets in summary and record.
#[test]
fn ratios_and_targets_of_the_generator() {
    let record = checked("client-limit", "").unwrap();
    let has_dnsperf = lab::process::find("dnsperf").is_some();
    assert!(has_dnsperf || std::env::var_os("CI").is_none(), "dnsperf is missing: run tests/setup.sh");
    for at in ["echo", "echo with trains"] {
        let values = |contender: &str, metric: &str| values_at(&record, contender, metric, at);
        let single = "single socket, as queryperf";
        assert_eq!(values(&format!("best over {single}"), "rate ratio").len(), 1);
        // Processor time is counted in ticks of 10 ms: of a short run it may be 0, and then there is no ratio.
        assert_eq!(values(single, "generator CPU an answer").len(), 1);
        assert!(has_target(&record, &format!("{at}: best rate over {single}")), "{}", record["targets"]);
        for row in ["dnsperf -c 8 -q 500", "dnsperf -q 100"] {
            let target = format!("{at}: best rate over {row}");
            assert_eq!(has_target(&record, &target), has_dnsperf, "{}", record["targets"]);
            if !has_dnsperf {
                let left_out = format!("{row} is left out: dnsperf is missing");
                assert!(record["notes"].to_string().contains(&left_out));
                continue;
            }
            let rate = values(row, "rate")[0];
            assert!(rate > 0.0 && values(row, "generator CPU an answer").len() == 1);
            let ratio = values(&format!("best over {row}"), "rate ratio")[0];
            let figures = record["figures"].as_array().unwrap().iter();
            let rates = figures.filter(|figure| figure["metric"] == "rate" && figure["at"] == at);
            let is_of = |best: &Value| (best["median"].as_f64().unwrap() / rate - ratio).abs() < 1e-9;
            assert!(rates.into_iter().any(is_of), "{ratio} of {rate}");
        }
    }
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
        (&["root", "--contenders", "bind4"], 2, "expected some of zonda, before, limited, named"),
        (&["root", "--cpus-server", "1000"], 2, "--cpus-server: core 1000 is not there"),
        (&["root", "--scale", "0"], 2, "--scale: must be from"),
        (&[], 2, "RECIPE"),
    ] {
        let output = lab(folder.path(), words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && said.contains(expected), "{words:?}: {said}");
    }
    let list = lab(folder.path(), &["--list"]);
    assert_eq!(String::from_utf8_lossy(&list.stdout).lines().count(), 39);
}

/// Recipes of kinds that have been checked with another.
mod long {
    use super::*;

    #[test]
    #[ignore = "long: make test-long"]
    fn root_in_packets_and_trains() {
        root_beside_all(&["single packets", "single packets, Poisson"]);
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn zones_of_all_kinds() {
        for recipe in ["net", "many", "signed"] {
            let Some(record) = checked(recipe, "zonda") else { return };
            has_rates(&record, "zonda");
        }
    }

    /// Under callgrind, beside another build of the server: here a copy of the same, and with its rate limits.
    #[test]
    #[ignore = "long: make test-long"]
    fn what_an_answer_executes() {
        let Some(program) = zonda() else { return };
        if lab::process::find("valgrind").is_none() || lab::process::find("objdump").is_none() {
            assert!(std::env::var_os("CI").is_none(), "valgrind or objdump is missing: run tests/setup.sh");
            return;
        }
        let program = program.to_str().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let measured = |recipe: &str, contenders: &str| -> Value {
            // One case is enough, with a zone that is read in a moment there too.
            let text = lab::recipe::text(recipe).unwrap();
            let (cases, forms) = (text.find("[[case]]").unwrap(), text.find("[full]").unwrap());
            let case = "[[case]]\nname = \"small\"\nzone = \"flat\"\nsize = 200\n";
            let text = format!("{}{case}{}", &text[..cases], &text[forms..]);
            fs::write(folder.path().join(format!("{recipe}.toml")), text).unwrap();
            let file = format!("{recipe}.toml");
            let words = [
                &*file,
                "--check",
                "--bed",
                "loopback",
                "--out",
                recipe,
                "--contenders",
                contenders,
                "--zonda",
                program,
            ];
            let output = lab(folder.path(), &[&words[..], &["--before", program]].concat());
            assert!(output.status.success(), "{recipe}: {}", String::from_utf8_lossy(&output.stderr));
            serde_json::from_slice(&fs::read(folder.path().join(recipe).join("record.json")).unwrap())
                .unwrap()
        };
        let record = measured("instructions", "zonda,limited");
        let counted = |who: &str| values(&record, who, "instructions")[0];
        let [zonda, limited, before] = ["zonda", "limited", "before"].map(counted);
        assert!(zonda > 100.0 && limited > zonda, "{zonda}, with limits {limited}");
        // With so few queries the starts of two processes are the greater part of the difference.
        assert!((before / zonda - 1.0).abs() < 0.5, "{before} and {zonda} of the same program");
        let ratio = values(&record, "zonda", "instructions over before")[0];
        assert!((ratio - zonda / before).abs() < 1e-9, "{ratio}");
        let record = measured("allocations", "zonda");
        assert!(values(&record, "zonda", "allocations")[0].abs() < 1.0, "{}", record["tables"]);
        let counts = &record["raw"][0]["counts"];
        assert!(counts[0][0].as_u64().unwrap() > 1000 && counts[0][2].as_u64().unwrap() > 1000, "{counts}");
    }

    /// Zonda from text and from folders of packs, beside the same program as another build.
    #[test]
    #[ignore = "long: make test-long"]
    fn start_with_many_zones() {
        let Some(program) = zonda() else { return };
        let folder = tempfile::tempdir().unwrap();
        let program = program.to_str().unwrap();
        let words = [
            "start-zones",
            "--check",
            "--bed",
            "loopback",
            "--out",
            "out",
            "--zonda",
            program,
            "--before",
            program,
        ];
        let output = lab(folder.path(), &[&words[..], &["--contenders", "zonda,before"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let record = fs::read(folder.path().join("out/record.json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        for who in ["zonda", "zonda, packs", "before", "before, packs"] {
            let [first, rest] =
                ["time to first answer", "time to rest"].map(|metric| values(&record, who, metric));
            assert!(first.len() == 1 && rest.len() == 1 && first[0] <= rest[0], "{who}: {first:?}, {rest:?}");
            let [pss, peak] = ["PSS at rest", "peak resident"].map(|metric| values(&record, who, metric)[0]);
            assert!(pss > 0.0 && peak > 0.0, "{who}: {pss}, {peak}");
        }
        let settings = record["contenders"][0]["settings"].as_str().unwrap();
        assert!(settings.contains("pack-directory"), "{settings}");
    }

    /// Floods with made-up sources of all that limit answers.
    #[test]
    #[ignore = "long: make test-long"]
    fn floods_with_made_up_sources() {
        let Some(program) = zonda() else { return };
        let folder = tempfile::tempdir().unwrap();
        let words =
            ["rate-limit", "--check", "--bed", "veth", "--out", "out", "--zonda", program.to_str().unwrap()];
        let output = lab(folder.path(), &[&words[..], &["--contenders", "zonda,named,unbound"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("unbound is left out: it does not limit answers by network"), "{said}");
        let record = fs::read(folder.path().join("out/record.json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        let ratio = |who: &str, at: &str| values_at(&record, who, "octets out over in", at)[0];
        let alone = "1 network, 3 x";
        assert!(ratio("zonda", alone) < 1.0 && ratio("named", alone) < 1.0, "{}", record["figures"]);
        // Of networks that get one query each named limits none.
        let spread = "65,536 far apart, 0.8 x";
        assert!(ratio("zonda", spread) < ratio("named", spread), "{}", record["figures"]);
        assert!(
            values(&record, "zonda", "client answered").iter().any(|&share| share > 0.5),
            "{}",
            record["raw"]
        );
    }

    /// Every kind of flood, and every way to be out of reach.
    #[test]
    #[ignore = "long: make test-long"]
    fn resolvers_flooded_and_cut_off() {
        let Some(program) = zonda() else { return };
        for (recipe, metric) in [("flood", "hits answered"), ("stale", "answered")] {
            let folder = tempfile::tempdir().unwrap();
            let program = program.to_str().unwrap();
            let words = [
                recipe,
                "--check",
                "--bed",
                "veth",
                "--out",
                "out",
                "--zonda",
                program,
                "--contenders",
                "zonda",
            ];
            let output = lab(folder.path(), &words);
            assert!(output.status.success(), "{recipe}: {}", String::from_utf8_lossy(&output.stderr));
            let record = fs::read(folder.path().join("out/record.json")).unwrap();
            let record: Value = serde_json::from_slice(&record).unwrap();
            let found = values(&record, "zonda", metric);
            assert!(found.len() >= 3 && found.iter().all(|&share| share > 0.0), "{recipe}: {found:?}");
        }
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn resolvers_with_more_and_more_workers() {
        let Some(record) = checked("caching-threads", "zonda") else { return };
        has_rates(&record, "zonda");
        has_rates(&record, "relay");
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn validating_resolvers() {
        let Some(record) = checked("caching-signed", "zonda,unbound") else { return };
        has_rates(&record, "zonda");
        assert!(record["contenders"][0]["settings"].as_str().unwrap().contains("trust-anchor-file"));
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn threads_from_one_up() {
        let Some(record) = checked("threads", "zonda") else { return };
        has_rates(&record, "zonda");
        let charts = record["charts"].as_array().unwrap();
        assert!(
            charts.iter().any(|chart| chart["kind"] == "lines")
                || std::thread::available_parallelism().unwrap().get() == 1
        );
    }

    /// With the models that others are compared with.
    #[test]
    #[ignore = "long: make test-long"]
    fn echo_models_and_settings_of_the_generator() {
        has_rates_only("client-limit");
        has_rates_only("echo-sweep");
        let record = checked("echo-sweep", "").unwrap();
        assert_eq!(values(&record, "mmsg", "rate over blocking").len(), 1);
        assert!(has_target(&record, "rate of mmsg over blocking, 1 process"), "{}", record["targets"]);
        assert!(values(&record, "blocking", "rate over blocking").is_empty());
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn locks_and_memory_in_process() {
        for (recipe, contender, metric, at) in [
            ("locks", "snapshot", "p99.9 query", "changes, timed, 1,000 writes/s"),
            ("smp-2004", "no threads", "rate", "root, no threads"),
            ("allocators", "snmalloc", "rate over areas", "cache, 8 threads"),
            ("figure-3", "nothread", "rate", "root, no threads"),
            ("cache-hits", "snapshot-parts", "rate over paper-published", "all cores, 50 % hits"),
        ] {
            has_all_in_process(recipe, contender, metric, at);
        }
    }

    /// At rates that they do not all accept, and with two workers.
    #[test]
    #[ignore = "long: make test-long"]
    fn queries_beside_more_updates() {
        if !has_peers() {
            return;
        }
        let record = checked("dynamic", "named,knot").unwrap();
        assert!(values(&record, "knot", "rate").len() >= 5, "{}", record["notes"]);
        assert_eq!(values_at(&record, "named", "rate", "1 worker, 10000 updates/s").len(), 1);
    }

    /// Of all servers that can be secondaries.
    #[test]
    #[ignore = "long: make test-long"]
    fn secondaries() {
        if !has_peers() {
            return;
        }
        let record = checked("gov-history", "knot,named,nsd").unwrap();
        let raw = record["raw"].as_array().unwrap();
        assert!(raw.iter().all(|one| one["equal"] == 5), "{raw:?}");
        let record = checked("ixfr-secondary", "knot,named,nsd").unwrap();
        let ratios = values_at(&record, "knot", "rate over none", "DNSSEC on, kept, 10000 changes/s");
        assert_eq!(ratios.len(), 1, "{}", record["notes"]);
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn locks_over_the_network() {
        let names = ["mutex", "system-ordinary", "system-atomic", "paper", "snapshot"]
            .map(|name| format!("engine-{name}"));
        let Some(record) = checked("locks-net", &names.join(",")) else { return };
        names.iter().for_each(|name| has_rates(&record, name));
        for agreement in record["agreement"].as_array().unwrap() {
            assert_eq!(agreement["asked"], agreement["equal"], "{agreement}");
        }
        let contenders = record["contenders"].as_array().unwrap();
        let mutex = contenders.iter().find(|known| known["name"] == "engine-mutex").unwrap();
        assert!(mutex["command"].to_string().contains(r#""--protection","mutex","--threads""#), "{mutex}");
    }
}

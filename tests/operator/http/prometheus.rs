//! Prometheus as the reader: what `promtool` says of the numbers, and that a server of it gets them.

use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use zonda_tests::patience::await_some;
use zonda_tests::server::{Guarded, free_address, write};
use zonda_tests::zone::repository;

use super::client::get;
use super::fixture;
use crate::kit::zonda;

/// Runs `promtool` with this on its standard input.
fn promtool(arguments: &[&str], input: &str) -> Output {
    let mut tool = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool, of Debian's package prometheus");
    tool.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("a reader");
    tool.wait_with_output().expect("an end")
}

#[test]
fn numbers_are_as_it_wants_them() {
    let fixture = fixture();
    let output = promtool(&["check", "metrics"], &fixture.get("/metrics").text);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// It asks by itself, in the format that it prefers, and answers questions about what it got.
#[test]
fn it_reads_them() {
    let fixture = fixture();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let settings = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: zonda\n    static_configs:\n      - targets: ['{}']\n",
        fixture.at
    );
    let settings = write(folder.path(), "prometheus.yml", &settings);
    let at = free_address();
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", settings.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address={at}"));
    let _prometheus = Guarded::spawn(command, folder.path());
    let ask = |query: &str| -> Option<serde_json::Value> {
        let reply = get(at, &format!("/api/v1/query?query={query}"))?;
        serde_json::from_str(&reply.text).ok()
    };
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let found = |query: &str| {
        await_some(log, || {
            let result = ask(query)?["data"]["result"].clone();
            result.as_array().filter(|series| !series.is_empty()).cloned()
        })
    };
    let served = found("zonda_zones%7Bstate%3D%22served%22%7D");
    assert_eq!(served[0]["value"][1], "1");
    assert_eq!(found("up%7Bjob%3D%22zonda%22%7D")[0]["value"][1], "1");
    assert!(
        found("count(%7B__name__%3D~%22zonda_.%2B%22%7D)")[0]["value"][1]
            .as_str()
            .is_some_and(|count| { count.parse::<u32>().is_ok_and(|count| count > 100) })
    );
    // What was said of each came too.
    let metadata = get(at, "/api/v1/metadata").expect("a reply").text;
    assert!(
        metadata.contains("\"zonda_queries") && metadata.contains("Queries by how they came."),
        "{metadata}"
    );
}

/// Names of all series, from the manual's page as the program makes it.
fn names() -> HashSet<String> {
    let page = zonda(&["settings", "--metrics"]).assert_fine().output.clone();
    let of_line = |line: &str| {
        let (name, rest) = line.strip_prefix("| `")?.split_once('`')?;
        let ends: &[&str] =
            if rest.starts_with(" | histogram") { &["_bucket", "_sum", "_count"] } else { &[""] };
        Some(ends.iter().map(|end| format!("{name}{end}")).collect::<Vec<_>>())
    };
    page.lines().filter_map(of_line).flatten().collect()
}

/// What an expression names of this server.
fn named(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("zonda_") || word.starts_with("process_"))
}

/// All texts of `key`, wherever they are.
fn texts<'v>(value: &'v serde_json::Value, key: &str, found: &mut Vec<&'v str>) {
    match value {
        serde_json::Value::Object(fields) => {
            found.extend(fields.get(key).and_then(serde_json::Value::as_str));
            fields.values().for_each(|value| texts(value, key, found));
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| texts(value, key, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_names_what_there_is() {
    let path = repository().join("packaging/grafana/zonda.json");
    let dashboard = std::fs::read_to_string(path).expect("the dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("an object");
    let mut expressions = Vec::new();
    texts(&dashboard["panels"], "expr", &mut expressions);
    assert!(expressions.len() > 40, "{}", expressions.len());
    let names = names();
    assert!(names.len() > 150, "{}", names.len());
    let mut rules = String::from("groups:\n  - name: dashboard\n    rules:\n");
    for (at, expression) in expressions.iter().enumerate() {
        for name in named(expression) {
            assert!(names.contains(name), "{name} in {expression}");
        }
        // As the dashboard fills them in.
        let filled = expression.replace("$__rate_interval", "5m").replace("$instance", ".*");
        rules += &format!("      - record: panel:{at}\n        expr: '{filled}'\n");
    }
    assert!(names.contains("zonda_build_info"), "the variable's");
    check_rules(&rules, expressions.len());
}

#[test]
fn alerts_name_what_there_is() {
    let path = repository().join("packaging/prometheus/zonda.rules.yml");
    let rules = std::fs::read_to_string(path).expect("the rules");
    let names = names();
    let expressions: Vec<&str> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    for expression in &expressions {
        for name in named(expression) {
            assert!(names.contains(name), "{name} in {expression}");
        }
    }
    check_rules(&rules, expressions.len());
}

/// Each rule parses.
fn check_rules(rules: &str, count: usize) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = write(folder.path(), "rules.yml", rules);
    let output = promtool(&["check", "rules", path.to_str().expect("text")], "");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(&format!("SUCCESS: {count} rules found")), "{output:?}");
}

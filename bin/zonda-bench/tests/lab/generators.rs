//! Recipes without name servers: echo servers, locks, the generator beside others.

use super::*;

#[test]
fn echo_servers() {
    has_rates_only("echo-pin");
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

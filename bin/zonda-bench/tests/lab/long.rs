//! Recipes of kinds that have been checked with another.

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

#[test]
#[ignore = "long: make test-long"]
fn a_large_zone_read_again() {
    let Some(record) = checked("reload-large", "zonda") else { return };
    assert_eq!(values(&record, "zonda", "time to new serial").len(), 1, "{}", record["notes"]);
    let waited = "waited with reloads of zonda at a million names";
    assert!(has_target(&record, waited), "{}", record["targets"]);
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
        let text = match recipe {
            "instructions-watched" => {
                text.replace("zone = \"root\"\nrecorded = true\n", "zone = \"flat\"\nsize = 200\n")
            }
            _ => format!("{}{case}{}", &text[..cases], &text[forms..]),
        };
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
        serde_json::from_slice(&fs::read(folder.path().join(recipe).join("record.json")).unwrap()).unwrap()
    };
    let record = measured("instructions", "zonda,limited");
    let counted = |who: &str| values(&record, who, "instructions")[0];
    let [zonda, limited, before] = ["zonda", "limited", "before"].map(counted);
    assert!(zonda > 100.0 && limited > zonda, "{zonda}, with limits {limited}");
    // With so few queries the starts of two processes are the greater part of the difference.
    assert!((before / zonda - 1.0).abs() < 0.5, "{before} and {zonda} of the same program");
    let ratio = values(&record, "zonda", "instructions over before")[0];
    assert!((ratio - zonda / before).abs() < 1e-9, "{ratio}");
    // With so few queries it is not looked at how many they are; dnstap of all is more than nothing all the same.
    let record = measured("instructions-watched", "zonda");
    let more = |at: &str| values_at(&record, "zonda", "more than unwatched", at)[0];
    let [_, _, told] = ["numbers each second", "query log, one in a hundred", "dnstap, all"].map(more);
    assert!(told > 50.0, "{told}: {}", record["tables"]);
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
        let words =
            [recipe, "--check", "--bed", "veth", "--out", "out", "--zonda", program, "--contenders", "zonda"];
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

//! Recipes of zones that change: updates, transfers, histories, and queries beside them.

use lab::contender::Database;

use super::*;

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

/// Changes over HTTP beside PowerDNS with databases, and the statements of these alone.
#[test]
fn changes_over_http() {
    let databases = [Database::Sqlite, Database::Postgresql];
    if let Some(missing) = databases.into_iter().find_map(Database::missing) {
        assert!(std::env::var_os("CI").is_none(), "{missing}: run tests/setup.sh");
        return;
    }
    let Some(record) =
        checked("api-commits", "zonda,zonda-sqlite,zonda-postgresql,pdns-sqlite,pdns-postgresql,knot")
    else {
        return;
    };
    let servers = ["zonda", "zonda-sqlite", "zonda-postgresql", "pdns-sqlite", "pdns-postgresql"];
    for at in [
        "one zone, 1 in flight",
        "one zone, 64 in flight",
        "1,000 zones, 1 in flight",
        "1,000 zones, 64 in flight",
    ] {
        for who in servers.into_iter().chain(["sqlite alone", "postgresql alone", "limit"]) {
            let rates = values_at(&record, who, "rate", at);
            assert!(rates.len() == 1 && rates[0] > 0.0, "{who} at {at}: {rates:?}, {}", record["notes"]);
        }
        for who in servers {
            let ratio = values_at(&record, who, "rate over the faster database", at);
            let rate = values_at(&record, who, "rate", at)[0];
            let best = ["sqlite alone", "postgresql alone"].map(|who| values_at(&record, who, "rate", at)[0]);
            assert!((ratio[0] - rate / best[0].max(best[1])).abs() < 1e-9, "{who} at {at}: {ratio:?}");
        }
        for (who, alone) in [
            ("zonda-sqlite", "sqlite alone"),
            ("pdns-sqlite", "sqlite alone"),
            ("zonda-postgresql", "postgresql alone"),
            ("pdns-postgresql", "postgresql alone"),
        ] {
            let ratio = values_at(&record, who, "rate over its own database", at);
            let rates = [who, alone].map(|who| values_at(&record, who, "rate", at)[0]);
            assert!((ratio[0] - rates[0] / rates[1]).abs() < 1e-9, "{who} at {at}: {ratio:?}");
        }
        assert!(values_at(&record, "zonda", "rate over its own database", at).is_empty(), "{at}");
        let target = format!("rate of zonda at {at} over the best of pdns-sqlite, pdns-postgresql");
        assert!(has_target(&record, &target), "{}", record["targets"]);
    }
    assert!(record["notes"].to_string().contains("knot is left out: it has no API over HTTP"));
    let raw = record["raw"].as_array().unwrap().iter();
    // One in flight is never refused, whatever the database.
    for one in raw.clone().filter(|one| one["at"].as_str().is_some_and(|at| at.ends_with(", 1 in flight"))) {
        assert!(one["changes"]["refused"].as_object().is_none_or(|refused| refused.is_empty()), "{one}");
    }
    let kept: Vec<&Value> = raw.filter(|one| one["kept_by"].is_string()).collect();
    assert!(kept.len() >= 5 || lab::process::find("strace").is_none(), "{}", record["notes"]);
    for one in kept {
        // Transactions that meet in SQLite fail: those are answered, and not done.
        let is_whole = one["kept_by"] != "pdns-sqlite" || one["in_flight"] == 1;
        let least = if is_whole { 50 } else { 1 };
        assert!(one["replies"].as_u64() >= Some(least) && one["is_honest"] == true, "{one}");
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

/// Each server answers the serial that was written into the file of one of its zones.
#[test]
fn zones_read_again() {
    if !has_peers() {
        return;
    }
    let Some(record) = checked("reload", "zonda,knot,nsd,named,unbound") else { return };
    for who in ["zonda", "knot", "nsd", "named"] {
        let found = values(&record, who, "time to new serial");
        assert!(found.len() == 1 && found[0] > 0.0, "{who}: {}", record["notes"]);
        for metric in ["queries lost", "queries lost without reloads", "p99 over that without reloads"] {
            assert_eq!(values(&record, who, metric).len(), 1, "{who}, {metric}: {}", record["notes"]);
        }
        let waited = values(&record, who, "waited with reloads");
        assert_eq!(waited.len(), usize::from(who == "zonda"), "{who}");
        assert!(waited.iter().all(|share| (0.0..=1.0).contains(share)), "{waited:?}");
    }
    for turn in record["raw"].as_array().unwrap() {
        let times = |side: &str| turn[side]["reloads_ms"].as_array().unwrap().len();
        assert!(times("without") == 0 && times("with") > 0, "{turn}");
    }
    assert!(record["notes"].to_string().contains("unbound is left out: it is not set up here to read"));
    assert!(has_target(&record, "queries lost of zonda at 10,000 zones"), "{}", record["targets"]);
}

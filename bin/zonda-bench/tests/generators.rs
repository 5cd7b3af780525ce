//! The generators as a user runs them: zones that peers accept, updates that named takes, slices, the host report.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use common::{Named, bench, check_zone, complaint, peer};

#[track_caller]
fn done(words: &[&str]) -> String {
    String::from_utf8(common::done(bench(words)).stdout).unwrap()
}

#[test]
fn zones_that_peers_accept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let zones: [(&str, &str, &[&str]); 6] = [
        ("root-like", ".", &["--delegations", "200"]),
        ("net", "net.", &["--records", "3001"]),
        ("com", "com.", &["--delegations", "1000"]),
        ("com", "com.", &["--delegations", "1000", "--unique", "--ds", "1", "--style", "absolute"]),
        ("com", "co.example.", &["--delegations", "300", "--glue", "1", "--origin", "CO.example"]),
        ("dynamic", "dynamic.example.", &["--records", "700"]),
    ];
    for (number, (kind, origin, words)) in zones.into_iter().enumerate() {
        let (one, two) = (path(&format!("{number}.zone")), path("again.zone"));
        done(&[&["gen", "zone", kind, "-o", &one], words].concat());
        done(&[&["gen", "zone", kind, "-o", &two], words].concat());
        assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "same options, same octets: {kind}");
        check_zone(origin, &one);
    }
    let output = bench(&["gen", "zone", "net", "--records", "3001", "-o", &path("net.zone")]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("3001 records: "));
    let many = path("many");
    done(&["gen", "zone", "many", "--zones", "3", "--records", "5", "-o", &many]);
    for apex in fs::read_to_string(folder.path().join("many/zones.txt")).unwrap().lines() {
        let file = format!("{many}/zones/{apex}zone");
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 7);
        check_zone(apex, &file);
    }
}

#[test]
fn caching_bed() {
    let folder = tempfile::tempdir().unwrap();
    let bed = folder.path().join("bed").to_str().unwrap().to_owned();
    done(&["gen", "zone", "caching", "--zones", "4", "--hosts", "10", "-o", &bed]);
    check_zone("bed.example.", &format!("{bed}/parent/zones/bed.example.zone"));
    for apex in fs::read_to_string(format!("{bed}/children/zones.txt")).unwrap().lines() {
        check_zone(apex, &format!("{bed}/children/zones/{apex}zone"));
    }
    let zones = format!("{bed}/children/zones");
    let lines = done(&["gen", "queries", "--zone", &zones, "--hits", "0.5", "--count", "100"]);
    assert_eq!(lines.lines().filter(|line| line.ends_with(" A rd")).count(), 100);
}

#[test]
fn internet() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("internet");
    let options = ["--names", "60", "--signed", "100", "--first-address", "127.53.0.0"];
    done(&[&["gen", "internet", "-o", to.to_str().unwrap()][..], &options].concat());
    let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
    assert!(read("anchor").contains(" DS ") && read("names").lines().count() >= 60);
    assert!(read("groups").lines().count() == 5 && read("groups").starts_with("0 127.53.0."));
    for number in 0..5 {
        let of_group = read(&format!("group-{number}"));
        let (apex, file) = of_group.lines().last().unwrap().split_once(' ').unwrap();
        assert!(fs::read_to_string(to.join("zones").join(file)).unwrap().contains("RRSIG"), "{apex}");
        check_zone(apex, to.join("zones").join(file).to_str().unwrap());
    }
}

#[test]
fn mixes_of_queries() {
    let folder = tempfile::tempdir().unwrap();
    let zone = folder.path().join("root").to_str().unwrap().to_owned();
    done(&["gen", "zone", "root-like", "--delegations", "100", "-o", &zone]);
    let queries = ["gen", "queries", "--zone", &zone, "--count", "2000"];
    let root = done(&[&queries[..], &["--types", "f-root", "--skew", "paper", "--below", "1"]].concat());
    assert_eq!(root.lines().count(), 2000);
    assert!(root.lines().filter(|line| line.contains(".br. ")).count() > 350);
    assert!(root.contains(".in-addr.arpa. PTR"));
    let flood = done(&[&queries[..], &["--flood", "1", "--victim", "victim.test"]].concat());
    assert!(flood.lines().all(|line| line.ends_with(".victim.test. A")));
    let zipf = done(&[&queries[..], &["--types", "a", "--skew", "zipf", "--nxdomain", "0"]].concat());
    assert!(zipf.lines().all(|line| line.ends_with(" A")));
}

#[test]
fn slices() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (zone, queries) = (path("net.zone"), path("net.txt"));
    done(&["gen", "zone", "net", "--records", "2000", "-o", &zone]);
    done(&["gen", "queries", "--zone", &zone, "--count", "500", "--nxdomain", "0", "-o", &queries]);
    let prefix = path("part");
    done(&["gen", "slice", "--thirds", "--zone", &zone, "--queries", &queries, "-o", &prefix]);
    let mut lines = 0;
    for range in ["a-f", "g-n", "o-z"] {
        check_zone("net.", &format!("{prefix}.{range}.zone"));
        let text = fs::read_to_string(format!("{prefix}.{range}.queries")).unwrap();
        lines += text.lines().filter(|line| !line.starts_with("net. ")).count();
    }
    let apex = fs::read_to_string(&queries).unwrap().lines().filter(|line| line.starts_with("net. ")).count();
    assert_eq!(lines + apex, 500);
}

/// Owner names of the zone.
fn names(named: &Named, zone: &str) -> BTreeSet<String> {
    let owner = |line: String| line.split_whitespace().next().map(str::to_owned);
    named.records(zone).into_iter().filter_map(owner).collect()
}

#[test]
fn updates_that_named_takes() {
    for (kind, origin, size) in
        [("dynamic", "dynamic.example.", ["--records", "600"]), ("net", "net.", ["--records", "900"])]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (zone, updates) = (path("zone"), path("updates"));
        done(&[&["gen", "zone", kind, "-o", &zone], &size[..]].concat());
        // named writes into its file; updates are made from another.
        let original = path("original");
        fs::copy(&zone, &original).unwrap();
        let Some(named) = Named::start(folder.path(), origin, &zone, "", "127.0.0.1;") else { return };
        let before = names(&named, origin);
        let server = format!("127.0.0.1:{}", named.port);
        let words = ["gen", "updates", "--zone", &original, "--count", "200", "--group", "7"];
        let output = bench(&[&words[..], &["--prerequisites", "--server", &server, "-o", &updates]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let number = |word: &str| {
            let words: Vec<_> = said.split([' ', ',']).filter(|word| !word.is_empty()).collect();
            let at = words.iter().position(|&found| found == word).unwrap();
            words[..at].iter().rev().find_map(|word| word.parse::<usize>().ok()).unwrap()
        };
        let (added, deleted) = (number("added"), number("deleted"));
        assert_eq!(added + deleted, 200);
        // named syncs its journal for each group, which a busy disk makes it wait for.
        let patient = ["-u", "60", "-t", "240", &updates];
        let Some(output) = peer("nsupdate", &patient) else { return };
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && complaints.is_empty(), "{complaints}");
        let after = names(&named, origin);
        assert_eq!(after.len(), before.len() + added - deleted, "{kind}");
        // The same again cannot hold: what was added is there.
        let again = peer("nsupdate", &patient).unwrap();
        assert!(String::from_utf8_lossy(&again.stderr).contains("update failed"), "{kind}");
    }
}

#[test]
fn updates_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let zone = folder.path().join("zone");
    fs::write(&zone, "@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS ns.test.\nhost 60 A 192.0.2.1\n").unwrap();
    let zone = zone.to_str().unwrap();
    let words = ["gen", "updates", "--zone", zone, "--origin", "example", "--count", "1", "--add", "0"];
    assert_eq!(done(&words), "zone example.\nupdate delete host.example.\nsend\n");
}

#[test]
fn host_report() {
    let start = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let text = done(&["host", "--quick", "--json", "--directory", directory]);
    // The promise is two seconds; tests run beside others and with less optimisation.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(report["processor"]["cores"].as_u64() >= Some(1));
    assert!(report["latency"].as_array().unwrap().len() >= 2);
    assert!(report["bandwidth"][0]["triad"].as_f64() > Some(0.0));
    assert!(report["directory"]["rate"].as_f64() > Some(0.0));
    assert!(report["timer"]["cost_ns"].as_f64() > Some(0.0));
    let text = done(&["host", "--quick"]);
    for word in
        ["processor", "caches", "hypervisor", "kernel", "network", "triad", "not measured: --directory"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn complaints() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let no_soa = file("no-soa", "a.example. 5 A 192.0.2.1\n");
    let broken = file("broken", "a.example. 5 A 192.0.2\n");
    let small = file("small", "example. 5 SOA a. b. 1 2 3 4 5\nhost.example. 5 A 192.0.2.1\n");
    complaint(&["gen", "updates", "--zone", &no_soa], 1, "no SOA record");
    complaint(&["gen", "updates", "--zone", &broken], 1, "broken:1:");
    complaint(&["gen", "updates", "--zone", "/nonexistent"], 1, "cannot open /nonexistent");
    complaint(&["gen", "updates", "--zone", &small, "--count", "2", "--add", "0"], 1, "could be deleted");
    complaint(&["gen", "updates", "--zone", &small, "--group", "0"], 2, "--group: must be");
    complaint(&["gen", "slice", "--zone", &small, "--range", "f-a", "-o", "x"], 2, "--range: must be");
    complaint(&["gen", "zone", "net", "--records", "5", "-o", "x"], 2, "--records: must be");
    complaint(&["gen", "zone", "com", "--origin", ".", "-o", "x"], 2, "--origin: must not");
    complaint(&["gen", "zone", "many", "--records", "2", "-o", "x"], 2, "--records: must be");
    complaint(&["gen", "queries", "--zone", &small, "--hits", "0.5"], 1, "a TTL of 1");
    complaint(&["gen", "queries", "--zone", &small, "--flood", "2"], 2, "--flood: must be");
    complaint(
        &["gen", "queries", "--zone", &small, "--flood", "1", "--victim", "a..b"],
        2,
        "--victim: must be",
    );
    complaint(&["host", "--quick", "--directory", "/nonexistent"], 1, "cannot create /nonexistent/");
}

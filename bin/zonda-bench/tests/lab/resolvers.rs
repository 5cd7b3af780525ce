//! Recipes of resolvers: by hits, in trouble, without knowledge.

use super::*;

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
    let once = || checked_text("caching", Some(&text), "zonda,unbound,named,nsd");
    let Some(mut record) = once() else { return };
    // On a busy machine a server may get no turn in all the time that such a check has.
    for _ in 0..2 {
        if record["notes"].to_string().contains(" in 0.9 s and not one reply") {
            record = once().unwrap();
        }
    }
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

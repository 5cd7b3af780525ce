//! PowerDNS makes tables and transfers what is in them; the same is read of them here, record for record.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod odd;
mod server;

use std::collections::BTreeMap;

use odd::{Both, ROWS, Refuse, RefusedHere, SOAS, Take, TakenHere};
use server::{Tables, contents, file, lines};
use store::powerdns::{Refusal, Rules, Sqlite, Zone, zones};
use wire::NameBuf;

const TYPES: &str = include_str!("types.zone");

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

/// All zones of the tables.
fn read(tables: &Tables, rules: Rules) -> BTreeMap<String, Result<Zone, Refusal>> {
    let mut read = BTreeMap::new();
    zones(&tables.path(), rules, &mut |listed, zone| {
        read.insert(listed.name().unwrap().to_string(), zone);
    })
    .unwrap();
    read
}

/// Reads a zone that has to be one.
fn one(tables: &Tables, zone: &str, rules: Rules) -> Zone {
    let mut read = read(tables, rules);
    read.remove(zone).unwrap().unwrap_or_else(|refusal| panic!("{zone}: {refusal}"))
}

fn refusal(tables: &Tables, zone: &str) -> String {
    match read(tables, Rules::default()).remove(zone).unwrap() {
        Ok(_) => panic!("{zone} is taken"),
        Err(refusal) => refusal.to_string(),
    }
}

/// Lines of some types with another TTL, in order again.
fn with_ttl(lines: Vec<String>, types: &[&str], from: &str, to: &str) -> Vec<String> {
    let is_of = |line: &String| types.iter().any(|word| line.contains(&format!(" IN {word} ")));
    let mut lines: Vec<String> =
        lines.into_iter().map(|line| if is_of(&line) { line.replacen(from, to, 1) } else { line }).collect();
    lines.sort();
    lines
}

/// A zone file that PowerDNS's tool puts into tables is the same zone as PowerDNS transfers, and, where nothing is left out, as the file has.
#[test]
fn every_type() {
    let tables = Tables::new();
    let zone = name("types.test.");
    let origin = "$ORIGIN types.test.\n".to_owned() + TYPES;
    tables.tool(&["load-zone", "types.test", &file(tables.folder.path(), "types.zone", &origin)]);
    // Of keys that are in the tables themselves.
    let served = tables.serve("direct-dnskey=yes\n");
    let transferred = lines(&served.transferred(&zone).unwrap());
    // It transfers these with another TTL than it answers with (the SOA record's minimum), and than they have.
    let transferred = with_ttl(transferred, &["DNSKEY", "CDS", "CDNSKEY"], " 60 ", " 300 ");
    drop(served);
    let rules = Rules { direct_dnskey: true, ..Rules::default() };
    let taken = one(&tables, "types.test.", rules);
    assert_eq!(taken.left_out.lines(), [] as [&str; 0]);
    assert_eq!(lines(&taken.contents), transferred);
    assert_eq!(transferred, lines(&contents(&zone, &origin)));
    // As PowerDNS does unless told.
    let served = tables.serve("");
    let taken = one(&tables, "types.test.", Rules::default());
    assert_eq!(lines(&taken.contents), lines(&served.transferred(&zone).unwrap()));
    assert_eq!((taken.left_out.of_keys, transferred.len() - taken.contents.record_count()), (3, 3));
}

/// Rows in forms that PowerDNS makes itself seldom, but takes, or refuses: the same is done here, or the table says otherwise.
#[test]
fn odd_rows() {
    let tables = Tables::new();
    let mut sql = String::from("BEGIN;");
    let usual = "'%','SOA','ns1.% host.% 7 3600 600 86400 60',300,0,0";
    let quoted = |content: &str| format!("'%','SOA','{content}',300,0,0");
    let soas = SOAS.iter().map(|(zone, both, content)| (*zone, *both, vec![quoted(content)]));
    let rows = ROWS.iter().map(|(zone, both, rows)| {
        let rows = rows.iter().map(|row| (*row).to_owned());
        (*zone, *both, rows.chain([usual.to_owned()]).collect::<Vec<String>>())
    });
    let cases: Vec<(&str, Both, Vec<String>)> = rows.chain(soas).collect();
    for (number, (zone, _, rows)) in cases.iter().enumerate() {
        let (id, name) = (number + 1, format!("{zone}.test"));
        sql += &format!("INSERT INTO domains (id, name, type) VALUES ({id}, '{name}', 'NATIVE');");
        for row in rows.iter().map(String::as_str).chain(["'%','NS','ns1.%',300,0,0"]) {
            let row = row.replace('%', &name);
            sql += &format!(
                "INSERT INTO records (domain_id, name, type, content, ttl, prio, disabled) VALUES ({id}, {row});"
            );
        }
    }
    tables.sql(&(sql + "COMMIT"));
    let served = tables.serve("");
    let mut taken = read(&tables, Rules::default());
    let mut wrong = Vec::new();
    for (zone, both, _) in &cases {
        let zone = name(&format!("{zone}.test."));
        let transferred = served.transferred(&zone).map(|contents| lines(&contents));
        let taken = taken.remove(&zone.to_string()).unwrap().map(|zone| lines(&zone.contents));
        let found = match (&transferred, &taken) {
            (Some(transferred), Ok(taken)) if transferred == taken => Take,
            (Some(_), Err(_)) => RefusedHere,
            (None, Err(_)) => Refuse,
            (None, Ok(_)) => TakenHere,
            (Some(transferred), Ok(taken)) => {
                wrong.push(format!("{zone}: transferred {transferred:#?}, taken {taken:#?}"));
                continue;
            }
        };
        if found != *both {
            wrong.push(format!("{zone}: {found:?}: {taken:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What PowerDNS's tool does to zones, and what becomes of them here.
#[test]
fn zones_of_the_tool() {
    let tables = Tables::new();
    for zone in [
        "plain.test",
        "signed.test",
        "nsec3.test",
        "presigned.test",
        "secondary.test",
        "primary.test",
        "edited.test",
    ] {
        tables.tool(&["create-zone", zone, "ns1.example"]);
        tables.tool(&["add-record", zone, "www", "A", "600", "192.0.2.1"]);
        tables.tool(&["add-record", zone, "@", "MX", "10 mail.example"]);
        // That of a new zone is 0 with some versions.
        tables.tool(&["increase-serial", zone]);
    }
    tables.tool(&["secure-zone", "signed.test"]);
    tables.tool(&["set-nsec3", "nsec3.test", "1 0 0 -"]);
    tables.tool(&["set-presigned", "presigned.test"]);
    tables.tool(&["set-kind", "secondary.test", "slave"]);
    tables.tool(&["set-kind", "primary.test", "master"]);
    tables.tool(&["set-meta", "edited.test", "SOA-EDIT", "EPOCH"]);
    for (zone, words) in [
        ("signed.test.", "refused: PowerDNS signs it with 1 active key of"),
        ("nsec3.test.", "refused: it has parameters of NSEC3"),
        ("presigned.test.", "refused: it was signed elsewhere"),
        ("edited.test.", "refused: PowerDNS answers with another serial than"),
        ("secondary.test.", "left out: a zone of another server"),
    ] {
        let said = refusal(&tables, zone);
        assert!(said.starts_with(words), "{zone}: {said}");
    }
    // What they say to do.
    tables.tool(&["disable-dnssec", "signed.test"]);
    tables.tool(&["unset-nsec3", "nsec3.test"]);
    tables.tool(&["unset-presigned", "presigned.test"]);
    tables.tool(&["set-meta", "edited.test", "SOA-EDIT"]);
    let served = tables.serve("");
    for zone in
        ["plain.test.", "signed.test.", "nsec3.test.", "presigned.test.", "primary.test.", "edited.test."]
    {
        let taken = lines(&one(&tables, zone, Rules::default()).contents);
        assert_eq!(taken, lines(&served.transferred(&name(zone)).unwrap()), "{zone}");
        assert_eq!(taken.len(), 4);
    }
}

/// The statement that is said for an SOA record mends it, for PowerDNS too.
#[test]
fn an_soa_record_that_is_mended() {
    let tables = Tables::new();
    tables.tool(&["create-zone", "mend.test", "ns1.example"]);
    for content in ["ns1.example host.example 0 1 2 3 4", "ns1.example host.example 5"] {
        tables.sql(&format!("UPDATE records SET content = '{content}' WHERE type = 'SOA'"));
        let said = refusal(&tables, "mend.test.");
        tables.sql(&said[said.find("UPDATE").unwrap()..]);
        let taken = lines(&one(&tables, "mend.test.", Rules::default()).contents);
        let served = tables.serve("");
        assert_eq!(taken, lines(&served.transferred(&name("mend.test.")).unwrap()));
    }
}

/// Beside a server that runs, changes of its tool are seen at once, and no file is made in its folder.
#[test]
fn beside_a_server_that_runs() {
    let tables = Tables::new();
    tables.tool(&["create-zone", "live.test", "ns1.example"]);
    tables.tool(&["increase-serial", "live.test"]);
    let served = tables.serve("");
    let mut reader = store::powerdns::Tables::of(Sqlite::open(&tables.path()).unwrap()).unwrap();
    let id = reader.find(&name("live.test.")).unwrap().id;
    let mut marks = Vec::new();
    for number in 1..=3 {
        tables.tool(&["add-record", "live.test", "www", "A", &format!("192.0.2.{number}")]);
        let zone = reader.zone(id, Rules::default(), &mut || ()).unwrap().unwrap();
        assert_eq!(zone.contents.record_count(), 2 + number);
        marks.push(zone.mark);
    }
    marks.dedup();
    assert_eq!(marks.len(), 3);
    assert_eq!(
        lines(&reader.zone(id, Rules::default(), &mut || ()).unwrap().unwrap().contents),
        lines(&served.transferred(&name("live.test.")).unwrap())
    );
}

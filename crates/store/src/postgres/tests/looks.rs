//! Who follows a store sees each version once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::postgres::fetch::Told;
use crate::postgres::look::{HEADS_MAX, LOOK, News};

fn zones_of(store: &Store, seen: &mut look::Seen) -> Vec<String> {
    let (now, news) = store.look(Some(seen)).unwrap();
    *seen = now;
    let News::Zones(mut zones) = news else { panic!("{news:?}") };
    zones.sort();
    zones.dedup();
    zones
}

#[test]
fn a_look_finds_what_was_committed_since() {
    let bed = Bed::with_zone();
    let follower = Store::open(&target(&bed.database), Access::Read).unwrap();
    let (mut seen, news) = follower.look(None).unwrap();
    assert_eq!(news, News::List);
    assert!(zones_of(&follower, &mut seen).is_empty());
    // One that stays open while others come and go.
    let long = other(&bed.database);
    long.link.batch("BEGIN; INSERT INTO zonda.zone (name) VALUES ('long.'); INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 2 3 4 5' FROM zonda.zone WHERE name = 'long.'").unwrap();
    bed.database.sql("UPDATE zonda.record SET ttl = 5");
    assert_eq!(zones_of(&follower, &mut seen), ["example."]);
    assert!(zones_of(&follower, &mut seen).is_empty());
    bed.database.sql("BEGIN; UPDATE zonda.record SET ttl = 6; ROLLBACK");
    bed.database.sql(
        "BEGIN; UPDATE zonda.record SET ttl = 6; SAVEPOINT one; UPDATE zonda.record SET ttl = 7; COMMIT",
    );
    assert_eq!(zones_of(&follower, &mut seen), ["example."]);
    long.link.batch("COMMIT").unwrap();
    assert_eq!(zones_of(&follower, &mut seen), ["long."]);
    bed.database.sql("DELETE FROM zonda.zone");
    assert_eq!(zones_of(&follower, &mut seen), ["example.", "long."]);
    assert!(zones_of(&follower, &mut seen).is_empty());
    // Another connection is told to read the whole list.
    let another = Store::open(&target(&bed.database), Access::Read).unwrap();
    let (now, news) = another.look(Some(&seen)).unwrap();
    assert_eq!(news, News::Another);
    assert_ne!(now.server, seen.server);
    assert_eq!(now.server.started, seen.server.started);
}

#[test]
fn the_whole_list_by_pages() {
    let bed = Bed::new();
    let count = HEADS_MAX + 7;
    bed.database.sql(&format!(
        "BEGIN; INSERT INTO zonda.zone (name) SELECT 'z' || n || '.test.' FROM generate_series(1, {count}) n;
         INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 2 3 4 5' FROM zonda.zone; COMMIT;"
    ));
    bed.database.sql("DELETE FROM zonda.zone WHERE name = 'z5.test.'");
    bed.database.sql("UPDATE zonda.record SET ttl = 5 WHERE owner LIKE 'z1%'");
    let first = bed.store.heads("").unwrap();
    assert_eq!(first.len(), HEADS_MAX);
    assert!(first.windows(2).all(|pair| pair[0].zone < pair[1].zone));
    let second = bed.store.heads(&first.last().unwrap().zone).unwrap();
    assert_eq!(second.len(), 7);
    assert!(bed.store.heads(&second.last().unwrap().zone).unwrap().is_empty());
    let all: Vec<_> = first.into_iter().chain(second).collect();
    for head in &all {
        assert_eq!(head.is_removed, head.zone == "z5.test.");
        assert_eq!(head.serial, if head.zone.starts_with("z1") { 2 } else { 1 }, "{}", head.zone);
        assert_eq!(head.mark.len(), 32);
    }
}

/// What is told, as lines.
fn told(store: &Store, asked: &[(&str, Option<&str>)]) -> Vec<String> {
    let mut lines = Vec::new();
    store
        .changes_of::<Fault>(asked, u64::MAX, &mut |told| {
            lines.push(match told {
                Told::Known(version) => format!("{} {} known", version.zone, version.serial),
                Told::Record(record) => panic!("{record:?}"),
                Told::Version(version, leads_on) => {
                    format!("{} {} {} {leads_on}", version.zone, version.serial, version.kind.word())
                }
                Told::Changed(what, record) => {
                    let mut line = Vec::new();
                    zonefile::print::line(&record.owner, record.ttl, record.rtype, &record.rdata, &mut line);
                    let sign = if what == What::Added { '+' } else { '-' };
                    format!("{sign}{}", String::from_utf8(line).unwrap().trim_end())
                }
                Told::Unfit(refusal) => format!("unfit {refusal}"),
            });
            Ok(())
        })
        .unwrap();
    lines
}

#[test]
fn many_zones_at_once() {
    let mut bed = Bed::with_zone();
    bed.put("b.test.", &SOA.replace("7 3600", "70 3600")).unwrap();
    bed.put("c.test.", SOA).unwrap();
    let mark = |bed: &Bed, zone: &str| bed.versions(zone).pop().unwrap().mark;
    let (a, b, c) = (mark(&bed, "example."), mark(&bed, "b.test."), mark(&bed, "c.test."));
    bed.database.sql("UPDATE zonda.record SET ttl = 5 WHERE owner = 'ns.example.'");
    bed.database.sql("UPDATE zonda.record SET ttl = 6 WHERE owner IN ('ns.example.', 'ns.b.test.')");
    bed.database.sql("INSERT INTO zonda.record SELECT id, 'x.b.test.', 'AAAA', 60, '2001:DB8::1' FROM zonda.zone WHERE name = 'b.test.'");
    let unknown = "00000000000000000000000000000000";
    let asked = [
        ("example.", Some(&*a)),
        ("b.test.", Some(&b)),
        ("c.test.", Some(&c)),
        ("no.", None),
        ("no.", Some(unknown)),
    ];
    assert_eq!(
        told(&bed.store, &asked),
        [
            "b.test. 70 known",
            "b.test. 71 change true",
            "-b.test. 60 IN SOA ns.b.test. host.b.test. 70 3600 600 86400 60",
            "-ns.b.test. 60 IN A 192.0.2.1",
            "+b.test. 60 IN SOA ns.b.test. host.b.test. 71 3600 600 86400 60",
            "+ns.b.test. 6 IN A 192.0.2.1",
            "b.test. 72 change true",
            "-b.test. 60 IN SOA ns.b.test. host.b.test. 71 3600 600 86400 60",
            "+b.test. 60 IN SOA ns.b.test. host.b.test. 72 3600 600 86400 60",
            "unfit x.b.test. AAAA \"2001:DB8::1\": rdata: there is one text for it: 2001:db8::1",
            "c.test. 7 known",
            "example. 7 known",
            "example. 8 change true",
            "-example. 60 IN SOA ns.example. host.example. 7 3600 600 86400 60",
            "-ns.example. 60 IN A 192.0.2.1",
            "+example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+ns.example. 5 IN A 192.0.2.1",
            "example. 9 change true",
            "-example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "-ns.example. 5 IN A 192.0.2.1",
            "+example. 60 IN SOA ns.example. host.example. 9 3600 600 86400 60",
            "+ns.example. 6 IN A 192.0.2.1",
        ]
    );
    // Rows of a zone up to a bound.
    let mut told_of = Vec::new();
    bed.store
        .changes_of::<Fault>(&[("example.", Some(&a))], 7, &mut |told| {
            told_of.push(match told {
                Told::Known(_) => 'k',
                Told::Version(..) => 'v',
                _ => 'c',
            });
            Ok(())
        })
        .unwrap();
    assert_eq!(told_of, ['k', 'v', 'c', 'c', 'c', 'c', 'v']);
    bed.database.sql("DELETE FROM zonda.zone WHERE name = 'c.test.'");
    let asked = [("example.", Some(unknown)), ("b.test.", None), ("c.test.", Some(&*c))];
    assert_eq!(
        told(&bed.store, &asked),
        ["b.test. 72 change false", "c.test. 7 known", "c.test. 7 removed true", "example. 9 change false"]
    );
}

#[test]
fn all_records_of_one_moment() {
    let mut bed = Bed::with_zone();
    bed.database.sql("INSERT INTO zonda.record SELECT id, 'h' || n || '.example.', 'A', 60, '192.0.2.1' FROM zonda.zone, generate_series(1, 25000) n");
    let records = |bed: &Bed, zone: &str| {
        let (mut serial, mut types) = (0, Vec::new());
        bed.store.records::<Fault>(
            zone,
            &mut |version| {
                serial = version.serial;
                Ok(())
            },
            &mut |record| {
                types.push(record.rtype);
                Ok(())
            },
        )?;
        Ok::<_, Fault>((serial, types))
    };
    let (serial, types) = records(&bed, "example.").unwrap();
    assert_eq!((serial, types.len(), types[0]), (8, 25_003, wire::iana::rtype::SOA));
    assert!(matches!(records(&bed, "no."), Err(Fault::NoZone(_))));
    bed.put("b.test.", SOA).unwrap();
    bed.database.sql("INSERT INTO zonda.record SELECT id, 'x.b.test.', 'AAAA', 60, '2001:DB8::1' FROM zonda.zone WHERE name = 'b.test.'");
    assert!(matches!(records(&bed, "b.test."), Err(Fault::Rows { count: 1, .. })));
}

/// Eight who write transactions of any length, some of them rolled back, while one looks: it sees each version once, each zone's in order, and what changed adds
/// up to what is there.
#[test]
fn each_version_is_seen_once() {
    const WRITERS: u32 = 8;
    const TRANSACTIONS: u32 = 40;
    let bed = Bed::new();
    bed.database.sql(
        "BEGIN; INSERT INTO zonda.zone (name) SELECT 'z' || n || '.test.' FROM generate_series(0, 4) n;
         INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 2 3 4 5' FROM zonda.zone; COMMIT",
    );
    let follower = Store::open(&target(&bed.database), Access::Read).unwrap();
    let (mut seen, _) = follower.look(None).unwrap();
    let mut known: BTreeMap<String, String> =
        follower.heads("").unwrap().into_iter().map(|head| (head.zone, head.mark)).collect();
    let (mut told, mut records): (Vec<i64>, BTreeMap<String, i64>) = Default::default();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let store = other(&bed.database);
                scope.spawn(move || {
                    for turn in 0..TRANSACTIONS {
                        // Numbers that look like chance and are the same each time.
                        let chance = (number * TRANSACTIONS + turn).wrapping_mul(2_654_435_761) >> 8;
                        let (zone, sleep) = (chance % 5, (chance / 5) % 7);
                        let end = if chance.is_multiple_of(4) { "ROLLBACK" } else { "COMMIT" };
                        let insert = |zone: u32, host: String| {
                            format!("INSERT INTO zonda.record SELECT id, '{host}.' || name, 'A', 60, '192.0.2.1' FROM zonda.zone WHERE name = 'z{zone}.test.'")
                        };
                        let host = format!("w{number}t{turn}");
                        let sql = format!(
                            "BEGIN; SELECT zonda.lock('z{zone}.test.'); {}; SAVEPOINT one; {}; ROLLBACK TO one; SELECT pg_sleep(0.00{sleep}); {}; {end}",
                            insert(zone, host.clone()),
                            insert(zone, format!("{host}x")),
                            insert(zone, format!("{host}y")),
                        );
                        store.link.batch(&sql).unwrap();
                    }
                })
            })
            .collect();
        let is_over = &is_over;
        scope.spawn(move || {
            for writer in writers {
                writer.join().unwrap();
            }
            is_over.store(true, Ordering::SeqCst);
        });
        loop {
            let is_last = is_over.load(Ordering::SeqCst);
            let zones = zones_of(&follower, &mut seen);
            let asked: Vec<(&str, Option<&str>)> =
                zones.iter().map(|zone| (&**zone, known.get(zone).map(|mark| &**mark))).collect();
            let mut news = BTreeMap::new();
            follower
                .changes_of::<Fault>(&asked, u64::MAX, &mut |news_of| {
                    match news_of {
                        Told::Known(_) => {}
                        Told::Record(record) => panic!("{record:?}"),
                        Told::Version(version, leads_on) => {
                            assert!(leads_on, "a mark that is gone");
                            told.push(version.id);
                            news.insert(version.zone.clone(), version.mark.clone());
                        }
                        Told::Changed(what, record) => {
                            let zone = record.owner.to_string();
                            let zone = zone.split_once('.').map_or("", |(_, zone)| zone).to_owned();
                            *records.entry(zone).or_default() += if what == What::Added { 1 } else { -1 };
                        }
                        Told::Unfit(refusal) => panic!("{refusal}"),
                    }
                    Ok(())
                })
                .unwrap();
            // A zone is told of because something of it is new; a fetch of the look before may have had it already.
            known.extend(news);
            if is_last {
                break;
            }
        }
    });
    let mut expected: Vec<i64> = Vec::new();
    bed.store
        .versions(None, &mut |version| {
            expected.push(version.id);
            Ok(())
        })
        .unwrap();
    told.sort_unstable();
    assert_eq!(told, expected[5..]);
    for zone in 0..5 {
        let count: i64 = bed
            .database
            .sql(&format!("SELECT count(*) FROM zonda.record WHERE owner LIKE 'w%.z{zone}.test.'"))
            .parse()
            .unwrap();
        assert_eq!(records.get(&format!("z{zone}.test.")).copied().unwrap_or_default(), count);
    }
}

/// A million zones that changed at once are one row, which does not say each time who answered; and are all told.
#[test]
fn one_row_whatever_changed() {
    let bed = Bed::new();
    let follower = Store::open(&target(&bed.database), Access::Read).unwrap();
    let (mut seen, _) = follower.look(None).unwrap();
    bed.database.sql(
        "BEGIN; INSERT INTO zonda.zone (name) SELECT 'z' || n || '.test.' FROM generate_series(1, 2000) n;
         INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 2 3 4 5' FROM zonda.zone; COMMIT",
    );
    assert_eq!(follower.link.query(LOOK, &[&"0", &Vec::<String>::new()]).unwrap().len(), 1);
    assert_eq!(zones_of(&follower, &mut seen).len(), 2000);
}

/// Records may be long: how many are in memory at once goes by octets, not by rows alone.
#[test]
fn long_records_are_not_all_in_memory() {
    let bed = Bed::with_zone();
    let (count, length) = (400, 500_000);
    bed.database.sql(&format!(
        "INSERT INTO zonda.record SELECT id, 'x' || n || '.example.', 'TXT', 60, repeat('y', {length}) FROM zonda.zone, generate_series(1, {count}) n"
    ));
    let peak = || -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let before = peak();
    let fault = bed.store.records::<Fault>("example.", &mut |_| Ok(()), &mut |_| Ok(())).unwrap_err();
    assert!(matches!(&fault, Fault::Rows { count: found, .. } if *found == count), "{fault}");
    let (grown, all) = (peak() - before, count * length / 1024);
    // Other tests run beside it.
    assert!(grown < all / 2, "{grown} kB of {all}");
    // Who has enough stops, and the connection is of use after it.
    let mut told = 0;
    let stopped = bed.store.changes_of(&[("example.", Some("x"))], 9, &mut |_| Err::<(), Fault>(Fault::Full));
    assert!(stopped.is_err());
    let first = bed.versions("example.").remove(0).mark;
    let stopped = bed.store.changes_of(&[("example.", Some(&first))], u64::MAX, &mut |_| {
        told += 1;
        if told > 3 { Err(Fault::Full) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(Fault::Full)), "{stopped:?}");
    assert_eq!(bed.versions("example.").len(), 2);
}

/// All of many zones by one statement, each with the version that it is; of those that have too many records some.
#[test]
fn all_of_many_zones() {
    let mut bed = Bed::with_zone();
    bed.put("b.test.", SOA).unwrap();
    bed.put("c.test.", SOA).unwrap();
    bed.database.sql("DELETE FROM zonda.zone WHERE name = 'c.test.'");
    bed.database.sql("INSERT INTO zonda.record SELECT id, 'x.b.test.', 'AAAA', 60, '2001:DB8::1' FROM zonda.zone WHERE name = 'b.test.'");
    let told = |rows_max: u64| {
        let mut counts: BTreeMap<String, (u32, usize, usize)> = BTreeMap::new();
        let mut zone = String::new();
        bed.store
            .wholes_of::<Fault>(&["example.", "b.test.", "c.test.", "no."], rows_max, &mut |told| {
                match told {
                    Told::Version(version, false) => {
                        zone.clone_from(&version.zone);
                        counts.insert(zone.clone(), (version.serial, 0, 0));
                    }
                    Told::Record(_) => counts.get_mut(&zone).unwrap().1 += 1,
                    Told::Unfit(_) => counts.get_mut(&zone).unwrap().2 += 1,
                    other => panic!("{other:?}"),
                }
                Ok(())
            })
            .unwrap();
        counts
    };
    let counts = told(100);
    let of = |zone: &str| counts.get(zone).copied();
    assert_eq!(
        [of("example."), of("b.test."), of("c.test."), of("no.")],
        [Some((7, 3, 0)), Some((8, 3, 1)), Some((7, 0, 0)), None]
    );
    assert!(told(2).values().all(|(_, records, unfit)| records + unfit <= 2));
}

/// Rows that come by no trigger, such as those of a dump, have the numbers of transactions of old: that there are any is seen all the same.
#[test]
fn versions_that_are_restored() {
    let bed = Bed::with_zone();
    let follower = Store::open(&target(&bed.database), Access::Read).unwrap();
    let (mut seen, _) = follower.look(None).unwrap();
    bed.database.sql(
        "SET session_replication_role = replica;
         INSERT INTO zonda.version (id, zone, follows, serial, transaction, open, kind) OVERRIDING SYSTEM VALUE
              VALUES (1000, 'old.test.', 0, 5, '3', false, 'whole')",
    );
    let (now, news) = follower.look(Some(&seen)).unwrap();
    assert_eq!(news, News::List);
    seen = now;
    assert!(zones_of(&follower, &mut seen).is_empty());
    // So is a table in place of the one of before.
    bed.database.sql("ALTER TABLE zonda.version SET UNLOGGED");
    assert_eq!(follower.look(Some(&seen)).unwrap().1, News::Another);
}

/// Who follows may read, and raise serials where it has the right.
#[test]
fn who_follows() {
    let mut bed = Bed::with_zone();
    bed.put("b.test.", SOA).unwrap();
    bed.database.sql(
        "CREATE ROLE follower LOGIN; GRANT USAGE ON SCHEMA zonda TO follower; GRANT SELECT ON ALL TABLES IN SCHEMA zonda TO follower",
    );
    let follow = || {
        let target = Target::parse(&bed.database.address_of("follower")).unwrap();
        Store::follow(&target, std::time::Duration::from_secs(9), Box::new(|| true)).unwrap()
    };
    let raises = [(name("example."), 40), (name("b.test."), 3)];
    let (follower, may_raise) = follow();
    assert!(!may_raise && follower.look(None).is_ok() && follower.heads("").unwrap().len() == 2);
    let fault = follower.raise(&raises).unwrap_err();
    assert!(matches!(&fault, Fault::Postgres { code, .. } if code == "42501"), "{fault:?}");
    bed.database.sql("GRANT EXECUTE ON FUNCTION zonda.touch(text, bigint) TO follower");
    let (follower, may_raise) = follow();
    assert!(may_raise);
    follower.raise(&raises).unwrap();
    assert_eq!(bed.after("example.", 1), [(Kind::Whole, 41)]);
    assert_eq!(bed.after("b.test.", 1), [(Kind::Whole, 8)]);
    // All of them or none.
    let fault = follower.raise(&[(name("example."), 50), (name("no."), 1)]).unwrap_err();
    assert_eq!(fault.zone(), Some("no."));
    assert_eq!(bed.after("example.", 2), []);
    bed.database.sql("DROP OWNED BY follower; DROP ROLE follower");
}

/// Who waits for a statement is asked now and then whether to go on.
#[test]
fn who_waits_may_have_enough() {
    let bed = Bed::with_zone();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = std::sync::Arc::clone(&asked);
    let beat = Box::new(move || count.fetch_add(1, Ordering::SeqCst) < 40);
    let limit = std::time::Duration::from_secs(9);
    let (follower, _) = Store::follow(&target(&bed.database), limit, beat).unwrap();
    asked.store(38, Ordering::SeqCst);
    let begun = std::time::Instant::now();
    let fault = follower.link.batch("SELECT pg_sleep(8)").unwrap_err();
    assert!(matches!(&fault, Fault::Away(said) if said.contains("nobody waits")), "{fault:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(6));
}

/// On a replica, too, nothing is lost and nothing comes twice, though its snapshots do not say what is at work; that it is none any more is seen.
#[test]
fn a_replica_is_followed() {
    let database = Scratch::of_a_primary();
    let store = Store::create(&target(&database)).unwrap();
    let mut bed = Bed { database, store };
    bed.put("example.", SOA).unwrap();
    bed.put("b.test.", SOA).unwrap();
    let replica = bed.database.replicated();
    let limit = std::time::Duration::from_secs(9);
    let (follower, may_raise) = Store::follow(&target(&replica), limit, Box::new(|| true)).unwrap();
    assert!(!may_raise && follower.heads("").unwrap().len() == 2);
    let (mut seen, _) = follower.look(None).unwrap();
    assert!(seen.server.is_replica);
    // What it has is what was written before this, once it is there.
    let await_replay = || {
        let end = bed.database.sql("SELECT pg_current_wal_lsn()");
        let is_there = format!("SELECT pg_last_wal_replay_lsn() >= '{end}'");
        while replica.sql(&is_there) != "t" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    let mut long = bed.database.session();
    long.sql("BEGIN; UPDATE zonda.record SET ttl = 7 WHERE owner = 'ns.b.test.'");
    for ttl in 1..4 {
        bed.database.sql(&format!("UPDATE zonda.record SET ttl = {ttl} WHERE owner = 'ns.example.'"));
        await_replay();
        assert_eq!(zones_of(&follower, &mut seen), ["example."]);
        assert!(zones_of(&follower, &mut seen).is_empty());
    }
    long.sql("COMMIT");
    await_replay();
    assert_eq!(zones_of(&follower, &mut seen), ["b.test."]);
    assert!(zones_of(&follower, &mut seen).is_empty());
    replica.sql("SELECT pg_promote()");
    assert_eq!(follower.look(Some(&seen)).unwrap().1, News::Another);
}

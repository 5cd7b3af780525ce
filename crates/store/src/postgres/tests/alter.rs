//! Records that go and come over a version.

use super::*;
use crate::alter::{NotCommitted, Once, Write, Wrote};
use crate::sqlite::tests::alter::write;

const WWW: &str = "WWW 60 MX 10 Mail.Example.\n";

fn newest(bed: &Bed) -> Version {
    bed.versions("example.").pop().unwrap()
}

#[track_caller]
fn alter(bed: &Bed, write: Write) -> Wrote {
    bed.store.write(&[write]).unwrap().pop().unwrap()
}

#[test]
fn records_go_and_come() {
    let bed = Bed::with_zone();
    let first = newest(&bed);
    let came = format!("ns 90 A 192.0.2.1\n{WWW}");
    let Wrote::Made(made) = alter(&bed, write(&first, "ns 60 A 192.0.2.1\n", &came)) else {
        panic!("nothing")
    };
    assert_eq!((made.serial, made.kind), (8, Kind::Change));
    assert!(
        made.who.as_deref().is_some_and(|who| who.starts_with("api:me as ")) && made.why.is_none(),
        "{made:?}"
    );
    let mut changes = bed.newest_changes();
    changes.sort();
    assert_eq!(
        changes,
        [
            "+example. 60 IN SOA ns.example. host.example. 8 3600 600 86400 60",
            "+ns.example. 90 IN A 192.0.2.1",
            "+www.example. 60 IN MX 10 mail.example.",
            "-example. 60 IN SOA ns.example. host.example. 7 3600 600 86400 60",
            "-ns.example. 60 IN A 192.0.2.1",
        ]
    );
    assert_eq!(alter(&bed, write(&made, "www 7 MX 10 MAIL.example.\n", WWW)), Wrote::Same);
    let soa = |serial: u32| format!("@ 60 SOA ns host {serial} 3600 600 86400 60\n");
    let Wrote::Made(brought) = alter(&bed, write(&made, &soa(8), &soa(20))) else { panic!("nothing") };
    assert_eq!((brought.serial, brought.rows), (20, 2));
    // Over another version nothing is changed.
    assert_eq!(alter(&bed, write(&made, "", "x 60 A 192.0.2.9\n")), Wrote::Moved);
    assert_eq!(alter(&bed, Write { zone: name("other."), ..write(&brought, "", WWW) }), Wrote::Moved);
    bed.database.sql("UPDATE zonda.zone SET enabled = false");
    assert_eq!(alter(&bed, write(&brought, "", "x 60 A 192.0.2.9\n")), Wrote::Moved);
}

/// Of several zones each has who asked for it, and what cannot be keeps all from being done.
#[test]
fn several_zones() {
    let mut bed = Bed::with_zone();
    bed.put("other.", SOA).unwrap();
    let (first, other) = (newest(&bed), bed.versions("other.").pop().unwrap());
    let fine = write(&first, "", WWW);
    let of_other =
        |removed: &str| Write { zone: name("other."), who: "api:you".into(), ..write(&other, removed, "") };
    let why = bed.store.write(&[of_other("gone 60 A 192.0.2.9\n"), fine.clone()]).unwrap_err();
    assert!(matches!(&why, NotCommitted::Nothing(fault) if fault.zone() == Some("other.")), "{why:?}");
    assert_eq!(newest(&bed), first);
    let wrote = bed.store.write(&[of_other(""), fine]).unwrap();
    assert!(
        matches!(&wrote[..], [Wrote::Same, Wrote::Made(made)] if made.zone == "example." && made.serial == 8),
        "{wrote:?}"
    );
    assert!(newest(&bed).who.is_some_and(|who| who.starts_with("api:me as ")));
    // A rule of somebody's own, in its words.
    bed.database.sql(
        "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a rule'; END $$;
         CREATE TRIGGER own BEFORE INSERT ON zonda.record FOR EACH ROW EXECUTE FUNCTION public.own()",
    );
    let why = bed.store.write(&[write(&newest(&bed), "", "x 60 A 192.0.2.9\n")]).unwrap_err();
    assert!(
        matches!(why.fault(), Fault::Postgres { code, words } if code == "P0001" && words == "a rule"),
        "{why:?}"
    );
    // Nothing of it is left open.
    bed.database.sql("DROP TRIGGER own ON zonda.record");
    assert!(matches!(alter(&bed, write(&newest(&bed), "", "x 60 A 192.0.2.9\n")), Wrote::Made(_)));
}

#[test]
fn a_request_is_done_once() {
    let bed = Bed::with_zone();
    let first = newest(&bed);
    let of = |over: &Version, request: u8| Write {
        once: Some(Once { name: [1; 16], request: [request; 16] }),
        ..write(over, "", WWW)
    };
    assert!(matches!(alter(&bed, of(&first, 1)), Wrote::Made(made) if made.serial == 8));
    for over in [first.clone(), newest(&bed)] {
        assert_eq!(alter(&bed, of(&over, 1)), Wrote::Before(7, 8));
        assert_eq!(alter(&bed, of(&over, 2)), Wrote::OtherRequest);
    }
    assert_eq!(newest(&bed).serial, 8);
}

/// Who holds a zone is not waited for long.
#[test]
fn a_zone_that_is_held() {
    let bed = Bed::with_zone();
    let mut held = bed.database.session();
    held.sql("BEGIN; SELECT zonda.lock('example.')");
    let began = std::time::Instant::now();
    let why = bed.store.write(&[write(&newest(&bed), "", WWW)]).unwrap_err();
    assert!(why.fault().is_held() && began.elapsed() < std::time::Duration::from_secs(3), "{why:?}");
    held.sql("COMMIT");
    assert!(matches!(alter(&bed, write(&newest(&bed), "", WWW)), Wrote::Made(_)));
    // What is answered is on the disk, also where that is not usual; who only reads changes nothing.
    let name = bed.database.sql("SELECT current_database()");
    bed.database.sql(&format!("ALTER DATABASE {} SET synchronous_commit = off", name.trim()));
    let store = other(&bed.database);
    assert!(
        matches!(store.write(&[write(&newest(&bed), "", "y 60 A 192.0.2.9\n")]), Ok(wrote) if matches!(wrote[0], Wrote::Made(_)))
    );
}

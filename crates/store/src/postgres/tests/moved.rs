//! Databases that are no store, or one of before, later or elsewhere.

use super::*;

#[test]
fn what_is_no_store() {
    let database = Scratch::new();
    let open = |access| Store::open(&target(&database), access).map(|_| ()).unwrap_err();
    assert!(matches!(open(Access::Read), Fault::NotAStore));
    database.sql("CREATE SCHEMA zonda");
    assert!(matches!(open(Access::Read), Fault::NotAStore));
    assert!(matches!(Store::create(&target(&database)).map(|_| ()), Err(Fault::Exists)));
    database.sql("CREATE TABLE zonda.store (number integer)");
    assert!(matches!(open(Access::Write), Fault::NotAStore));
    database.sql("DROP SCHEMA zonda CASCADE");
    let store = Store::create(&target(&database)).unwrap();
    assert_eq!(store.identity().len(), 32);
    assert_eq!(Store::open(&target(&database), Access::Read).unwrap().identity(), store.identity());
    // By TCP as well.
    Store::open(&Target::parse(&database.tcp_address(server::USER, "127.0.0.1")).unwrap(), Access::Write)
        .unwrap();
    // Of a later program.
    database.sql("UPDATE zonda.store SET written_by = 9");
    assert!(Store::open(&target(&database), Access::Read).is_ok());
    assert!(matches!(open(Access::Write), Fault::NotOurs { written_by: 9 }));
    database.sql("UPDATE zonda.store SET readable_from = 8");
    assert!(matches!(open(Access::Read), Fault::TooNew { written_by: 9, readable_from: 8 }));
}

#[test]
fn who_may_not_or_is_not_there() {
    let database = Scratch::new();
    Store::create(&target(&database)).unwrap();
    let fault =
        |address: &str| Store::open(&Target::parse(address).unwrap(), Access::Read).map(|_| ()).unwrap_err();
    let nobody = fault(&database.address_of("nobody-of-that-name"));
    assert!(matches!(&nobody, Fault::Away(said) if said.contains("nobody-of-that-name")), "{nobody:?}");
    let nowhere = fault("postgres://me@%2Fno%2Fsuch%2Ffolder/dns");
    assert!(
        matches!(&nowhere, Fault::Away(said) if said.to_lowercase().contains("no such file")),
        "{nowhere:?}"
    );
    let closed = fault("postgres://me@127.0.0.1:1/dns");
    assert!(matches!(&closed, Fault::Away(said) if said.to_lowercase().contains("refused")), "{closed:?}");
    // Who only reads changes nothing.
    let mut store = Store::open(&target(&database), Access::Read).unwrap();
    let mut writer = store.writer().unwrap();
    let fault = writer.put(&contents_of("example.", SOA), None, &Meta::default()).unwrap_err();
    assert!(matches!(&fault, Fault::Postgres { code, .. } if code == "25006"), "{fault:?}");
}

/// Over TLS the server proves who it is, by the authority and its name; then it gets the password, bound to that.
#[test]
fn who_it_is_and_who_we_are() {
    let database = Scratch::new();
    Store::create(&target(&database)).unwrap();
    database.sql(
        "DO $$ BEGIN CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
    );
    let open = |host: &str, more: &str, password: &str| {
        let target = Target::parse(&(database.tcp_address("locked", host) + more)).unwrap();
        Store::open(&target.with_password(password), Access::Read).map(|_| ())
    };
    let verified = format!("?sslmode=verify-full&sslrootcert={}", database.roots().display());
    open("127.0.0.1", &verified, "secret").unwrap();
    open("127.0.0.1", &format!("{verified}&channel_binding=require"), "secret").unwrap();
    open("127.0.0.1", "?sslmode=disable", "secret").unwrap();
    // Of any name; and whoever it is.
    let of_any_name = format!("?sslmode=verify-ca&sslrootcert={}", database.roots().display());
    open("localhost", &of_any_name, "secret").unwrap();
    open("localhost", "?sslmode=require&channel_binding=require", "secret").unwrap();
    open("localhost", "?sslmode=prefer&channel_binding=require", "secret").unwrap();
    for (host, more, password, word) in [
        ("127.0.0.1", &*verified, "wrong", "password authentication failed"),
        ("127.0.0.1", "?sslmode=disable", "wrong", "password authentication failed"),
        // Of an authority that nobody knows, and with another name.
        ("127.0.0.1", "?sslmode=verify-full", "secret", "certificate"),
        ("127.0.0.1", "?sslmode=verify-ca", "secret", "certificate"),
        ("localhost", &verified, "secret", "certificate"),
    ] {
        let fault = open(host, more, password).unwrap_err();
        assert!(matches!(&fault, Fault::Away(said) if said.contains(word)), "{host} {more}: {fault:?}");
    }
    let none = Target::parse(
        &(database.tcp_address("locked", "127.0.0.1") + "?sslmode=verify-full&sslrootcert=/no/such/file"),
    );
    assert!(matches!(Store::open(&none.unwrap(), Access::Read), Err(Fault::File(..))));
}

/// A copy says that it is one, and is the store after `adopt`: with all versions, and no new one.
#[test]
fn a_copy_is_adopted() {
    let mut bed = Bed::with_zone();
    for ttl in 1..4 {
        bed.database.sql(&format!("UPDATE zonda.record SET ttl = {ttl} WHERE type = 'A'"));
    }
    let copy = bed.database.restored();
    let open = |access| Store::open(&target(&copy), access).map(|_| ());
    for access in [Access::Read, Access::Write] {
        assert!(matches!(open(access), Err(Fault::Elsewhere { noted, found }) if noted != found));
    }
    let adopted = Store::adopt(&target(&copy)).unwrap();
    assert_eq!(adopted.identity(), bed.store.identity());
    open(Access::Write).unwrap();
    let mut copy = Bed { database: copy, store: adopted };
    assert_eq!(copy.versions("example."), bed.versions("example."));
    assert_eq!(copy.lines("example."), bed.lines("example."));
    // Both go on alike, with marks of their own.
    for bed in [&bed, &copy] {
        bed.database.sql("UPDATE zonda.record SET ttl = 9 WHERE type = 'A'");
        assert_eq!(bed.after("example.", 4), [(Kind::Change, 11)]);
    }
    let (one, other) = (bed.versions("example.").pop().unwrap(), copy.versions("example.").pop().unwrap());
    assert_eq!(one.id, other.id);
    assert_ne!(one.mark, other.mark);
    // One that was adopted already is as it was.
    Store::adopt(&target(&bed.database)).unwrap();
}

/// A statement that takes too long is ended by the server, and the connection is of use after it.
#[test]
fn a_statement_that_takes_too_long() {
    let bed = Bed::with_zone();
    let store =
        Store::open_within(&target(&bed.database), Access::Write, std::time::Duration::from_millis(300))
            .unwrap();
    let fault = store.link.batch("SELECT pg_sleep(20)").unwrap_err();
    assert!(matches!(&fault, Fault::Postgres { code, .. } if code == "57014"), "{fault:?}");
    store.link.batch("SELECT 1").unwrap();
}

/// A server that says nothing more is waited for once, not for the end of the transaction again.
#[test]
fn a_server_that_says_nothing() {
    let bed = Bed::with_zone();
    let (limit, begun) = (std::time::Duration::from_millis(300), std::time::Instant::now());
    let mut store = Store::open_within(&target(&bed.database), Access::Write, limit).unwrap();
    let backend: i32 = store.link.query("SELECT pg_backend_pid()", &[]).unwrap()[0].get(0);
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &backend.to_string()]).status();
        assert!(sent.unwrap().success());
    };
    let mut writer = store.writer().unwrap();
    signal("-STOP");
    let fault = writer.put(&contents_of("b.test.", SOA), None, &Meta::default()).unwrap_err();
    drop(writer);
    let taken = begun.elapsed();
    signal("-CONT");
    assert!(matches!(&fault, Fault::Away(said) if said.contains("no word")), "{fault:?}");
    assert!(taken < std::time::Duration::from_secs(9), "{taken:?}");
    assert_eq!(bed.versions("b.test.").len(), 0);
}

/// NOTIFY is sent by who wants it.
#[test]
fn who_waits_is_woken() {
    let bed = Bed::with_zone();
    let listen = |more: &str| {
        bed.database.sql(&format!(
            "LISTEN zonda; COMMIT; {more} UPDATE zonda.record SET ttl = ttl + 1 WHERE type = 'A'; COMMIT"
        ))
    };
    assert!(!listen("").contains("zonda"));
    bed.database.sql("UPDATE zonda.store SET notify = true");
    assert!(listen("BEGIN;").contains("notification \"zonda\""), "{}", listen("BEGIN;"));
}

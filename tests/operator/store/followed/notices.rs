//! What the database says by NOTIFY: it wakes the feeder, which loses nothing where it does not arrive.

use std::time::{Duration, Instant};

use super::*;
use crate::store::postgres::server;

/// A store that says when something is new.
fn noisy(database: server::Scratch) -> Bed {
    let bed = Bed::of(database);
    bed.database.sql("UPDATE zonda.store SET notify = true");
    bed
}

/// Transactions that the database has seen the end of.
fn transactions(bed: &Bed) -> u64 {
    // Each process says so once a second at most.
    std::thread::sleep(Duration::from_millis(1_500));
    let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    bed.database.sql(sql).parse().expect("a number")
}

/// Where it is looked each minute a change is served at once, and a flood of notices is no flood of looks.
#[test]
fn a_commit_wakes_it() {
    let (bed, home) = (noisy(server::Scratch::alone()), Home::new());
    let server = home.start(&bed.database.address(), "poll-ms = 60000");
    await_serial(&server, "example.", 1);
    await_told(&server, &["store"], "notify      heard");
    let began = Instant::now();
    for number in 2..12 {
        bed.database.sql(&add("example.", &format!("n{number}.example.")));
        await_serial(&server, "example.", number);
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let (before, began) = (transactions(&bed), Instant::now());
    const SENT: u64 = 2_000;
    bed.database.sql(&format!(
        "DO $$ BEGIN FOR number IN 1..{SENT} LOOP PERFORM pg_notify('zonda', ''); COMMIT; PERFORM pg_sleep(0.0005); END LOOP; END $$"
    ));
    let took = began.elapsed();
    let looks = transactions(&bed) - before - SENT;
    assert!(looks > 10, "{looks} looks");
    assert!(u128::from(looks) < took.as_millis() / 5 + 100, "{looks} looks in {took:?}");
    assert!(looks < SENT, "{looks} looks in {took:?}");
    bed.database.sql(&add("example.", "last.example."));
    await_serial(&server, "example.", 12);
    // Switched off, it is looked as often as is set.
    bed.database.sql("UPDATE zonda.store SET notify = false");
    bed.database.sql("NOTIFY zonda");
    await_that("no notices", || !told(&server, &["store"]).1.contains("notify"));
}

/// A connection that dies is made again, and what is committed meanwhile is found by looking.
#[test]
fn a_connection_that_dies() {
    let (bed, home) = (noisy(server::Scratch::alone()), Home::new());
    let server = home.start(&bed.database.address(), "poll-ms = 500");
    await_serial(&server, "example.", 1);
    await_told(&server, &["store"], "notify      heard");
    let kill =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'zonda notices'";
    for number in 2..5 {
        bed.database.sql(kill);
        bed.database.sql(&add("example.", &format!("n{number}.example.")));
        await_serial(&server, "example.", number);
        await_told(&server, &["store"], "notify      heard");
    }
    server
        .await_log("store own: its NOTIFY is not heard: the server cannot be asked: terminating connection");
    assert!(told(&server, &["store"]).0, "nothing is wrong with that");
    assert!(!server.log().contains("own: away"), "{}", server.log());
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'zonda%'";
    assert_eq!(bed.database.sql(connections), "2");
}

/// Where it cannot be proved that they arrive all is followed as before.
#[test]
fn a_role_that_may_not_notify() {
    let (bed, home) = (noisy(server::Scratch::alone()), Home::new());
    bed.database.sql(
        "CREATE ROLE quiet LOGIN; GRANT USAGE ON SCHEMA zonda TO quiet; GRANT SELECT ON ALL TABLES IN SCHEMA zonda TO quiet;
         REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC",
    );
    let server = home.start(&bed.database.address_of("quiet"), "poll-ms = 50");
    await_serial(&server, "example.", 1);
    let text =
        await_told(&server, &["store"], "not heard: it is not known whether they arrive: permission denied");
    assert!(text.contains("followed"), "{text}");
    bed.database.sql(&add("example.", "new.example."));
    await_serial(&server, "example.", 2);
    assert!(told(&server, &["store"]).0 && !server.log().contains("away"), "{}", server.log());
}

/// A replica takes no LISTEN: it is looked, and that is said once.
#[test]
fn a_replica() {
    let (bed, home) = (noisy(server::Scratch::of_a_primary()), Home::new());
    let replica = bed.database.replicated();
    let server = home.start(&replica.address(), "poll-ms = 50");
    await_serial(&server, "example.", 1);
    await_told(&server, &["store"], "not heard: cannot execute LISTEN during recovery");
    for number in 2..5 {
        bed.database.sql(&add("example.", &format!("n{number}.example.")));
        await_serial(&server, "example.", number);
    }
    assert_eq!(server.log().matches("its NOTIFY is not heard").count(), 1, "{}", server.log());
}

//! How old a zone is, whatever becomes of its section of the settings: neither given up too early nor served too long.

use std::time::SystemTime;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::{free_address, write};

use super::fake::{Does, Fake};
use super::*;
use crate::secondary::ZONE;

/// Waits until so much time of day has passed since `since`.
fn sleep_until(since: SystemTime, seconds: f64) {
    let until = Duration::from_secs_f64(seconds);
    std::thread::sleep(until.saturating_sub(since.elapsed().unwrap_or_default()));
}

/// Ends a server that has taken note of the zone, whose age the log has then.
fn end(mut server: Server) {
    await_words(&server, &["secondary serial"]);
    assert!(ctl(&server, &["stop"]).status.success());
    server.process.wait(Duration::from_secs(10)).expect("an end");
}

/// Another primary makes a zone no older than it is, and no younger.
#[test]
fn of_a_zone_whose_primaries_change() {
    const EXPIRE: u32 = 5;
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Fake::start(Does { serial: 7, expire: Some(EXPIRE), ..Does::default() });
    let settings = unsigned(folder.path(), primary.address, "");
    let server = start(folder.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(7));
    let came = SystemTime::now();
    end(server);
    // What it was at the start is in the log.
    let server = start(folder.path(), address, &settings);
    assert_eq!(serial(address), Some(7));
    await_words(&server, &["secondary serial 7"]);
    for seconds in 1..=EXPIRE + 1 {
        sleep_until(came, f64::from(seconds));
        check(&server, &primary);
    }
    let away = free_address();
    let checked = Instant::now();
    reconfigure(&server, folder.path(), |text| text.replace(&primary.address.to_string(), &away.to_string()));
    let words = await_words(&server, &[&away.to_string()]);
    assert_eq!(serial(address), Some(7), "{words}");
    assert!(words.contains("expires in"), "{words}");
    await_that("the end of its time", || rcode(address) == 2);
    assert!(checked.elapsed() > Duration::from_secs(2), "{:?}", checked.elapsed());
    await_words(&server, &["serial 7, ", ", expired "]);
}

/// A zone that has become a primary here is not too old at any start, and what it was updated with is not lost.
#[test]
fn of_a_zone_that_is_a_primary_by_now() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Fake::start(Does { serial: 7, expire: Some(2), ..Does::default() });
    let settings = unsigned(folder.path(), primary.address, "");
    let mut server = start(folder.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(7));
    let came = SystemTime::now();
    let text = write(folder.path(), "own", &ZONE.replace("host 1 ", "host 9 "));
    let own = format!("file = \"{}\"\nallow-update = \"all\"", text.display());
    let settings = settings.replace("primaries = [\"there\"]", &own);
    reconfigure(&server, folder.path(), |text| text.replace("primaries = [\"there\"]", &own));
    await_that("the text", || serial(address) == Some(9));
    update(address, &format!("update add n1.{ORIGIN} 60 A 192.0.2.77"));
    kill(&mut server.process);
    drop(server);
    sleep_until(came, 3.0);
    let server = start(folder.path(), address, &settings);
    let has = || {
        let response = ask(address, Transport::Udp, &Query::new(&format!("n1.{ORIGIN}"), rtype::A));
        response.answer.len() == 1
    };
    assert!(has(), "at once");
    server.await_zones();
    update(address, &format!("update add n2.{ORIGIN} 60 A 192.0.2.78"));
    assert!(has() && serial(address) == Some(11));
}

/// Where lists say who may ask, zones are shown after these were read: they have the age that they had all the same.
#[test]
fn of_a_zone_with_access_lists() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Fake::start(Does { serial: 7, expire: Some(5), ..Does::default() });
    let settings = unsigned(folder.path(), primary.address, "") + "allow-query = \"all\"\n";
    let server = start(folder.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(7));
    end(server);
    drop(primary);
    let server = start(folder.path(), address, &settings);
    await_that("the zone as stored", || serial(address) == Some(7));
    await_words(&server, &["secondary serial 7, checked"]);
    await_that("the end of its time", || rcode(address) == 2);
}

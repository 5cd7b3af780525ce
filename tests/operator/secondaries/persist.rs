//! Secondaries that keep nothing: zones are served and follow their primary, and nothing of them is on the disk.

use super::*;
use crate::secondary::{Primary, ZONE};
use zonda_tests::server::{Kind, free_address};

/// Files of packs and of the log, which has some from its first record on.
fn files(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for folder in [folder.to_owned(), folder.join("journal")] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            files.extend((is_file && name != "lock").then_some(name));
        }
    }
    files
}

/// Zones come, follow by differences, and are gone after a kill until the primary is back.
#[track_caller]
fn check(change: impl Fn(String) -> String) {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Primary::new(Kind::Named, ZONE, address);
    let settings = change(of_secondary(folder.path(), primary.address, ""));
    let mut process = primary.start();
    let mut server = start(folder.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(1));
    for number in 2..5 {
        update(primary.address, &format!("update add n{number}.{ORIGIN} 60 A 192.0.2.{number}"));
        let expected = serial(primary.address);
        await_that("the change", || serial(address) == expected);
    }
    assert_eq!(records(address), records(primary.address));
    await_words(&server, &["by IXFR"]);
    assert_eq!(files(&folder.path().join("packs")), [""; 0]);
    kill(&mut process);
    kill(&mut server.process);
    drop(server);
    let server = start(folder.path(), address, &settings);
    assert_eq!(rcode(address), 2, "SERVFAIL");
    let _process = primary.start();
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("the zone again", || serial(address) == serial(primary.address));
    assert_eq!(records(address), records(primary.address));
    drop(server);
}

#[test]
fn by_the_settings() {
    check(|settings| settings.replace("[secondary]\n", "[secondary]\npersist = false\n"));
}

#[test]
fn without_a_folder() {
    check(|settings| {
        settings
            .lines()
            .filter(|line| !line.starts_with("pack-directory"))
            .map(|line| format!("{line}\n"))
            .collect()
    });
}

/// What was kept before, as a whole and in the log, is not what a start begins with once a zone is not to be kept.
#[test]
fn no_longer() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let primary = Primary::new(Kind::Named, ZONE, address);
    let kept = of_secondary(folder.path(), primary.address, "");
    let passing = kept.replace("primaries = [\"there\"]", "primaries = [\"there\"]\npersist = false");
    let mut process = primary.start();
    let mut server = start(folder.path(), address, &kept);
    await_that("the zone", || serial(address) == Some(1));
    let change = |number: u32| {
        update(primary.address, &format!("update add n{number}.{ORIGIN} 60 A 192.0.2.{number}"));
        let expected = serial(primary.address);
        await_that("the change", || serial(address) == expected);
    };
    change(2);
    assert!(!files(&folder.path().join("packs")).is_empty());
    reconfigure(&server, folder.path(), |text| text.replace(&kept, &passing));
    change(3);
    // The names of what is not to be served are written a moment later.
    await_that("the list", || files(&folder.path().join("packs")).contains(&"removed".to_owned()));
    kill(&mut process);
    kill(&mut server.process);
    drop(server);
    let server = start(folder.path(), address, &passing);
    assert_eq!(rcode(address), 2, "SERVFAIL");
    let _process = primary.start();
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("the zone again", || serial(address) == serial(primary.address));
    drop(server);
}

//! What comes at the wrong moment: of a primary that was taken out, beside an upgrade, for a zone whose changes were lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use zonda_tests::server::{free_address, program, write};

use super::fake::{Does, Fake};
use super::*;

/// What a primary sends that is none any more by then is not served: who took it out wants nothing of it.
#[track_caller]
fn check_taken_out(has_differences: bool) {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let does = Does { serial: 7, has_differences, ..Does::default() };
    let (old, new) = (Fake::start(does.clone()), Fake::start(does));
    let settings = unsigned(folder.path(), old.address, "");
    let server = start(folder.path(), address, &settings);
    await_that("the zone", || serial(address) == Some(7));
    let asked = old.asked().1;
    old.change(|does| (does.serial, does.is_holding) = (8, true));
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("a transfer", || old.asked().1 > asked);
    reconfigure(&server, folder.path(), |text| {
        text.replace(&old.address.to_string(), &new.address.to_string())
    });
    await_words(&server, &[&new.address.to_string()]);
    check(&server, &new);
    old.change(|does| does.is_holding = false);
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        assert_eq!(serial(address), Some(7));
        std::thread::sleep(Duration::from_millis(10));
    }
    new.change(|does| does.serial = 9);
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("what the primary has", || serial(address) == Some(9));
}

#[test]
fn a_primary_that_was_taken_out_sends_all_of_a_zone() {
    check_taken_out(false);
}

#[test]
fn a_primary_that_was_taken_out_sends_differences() {
    check_taken_out(true);
}

/// A server of the zone with a change in its log, which its primary has sent as a difference.
fn with_a_change(folder: &Path, address: SocketAddr) -> (Fake, String, Server) {
    let primary = Fake::start(Does { has_differences: true, ..Does::default() });
    let settings = unsigned(folder, primary.address, "");
    let server = start(folder, address, &settings);
    await_that("the zone", || serial(address) == Some(1));
    for number in 2..=4 {
        follow(&primary, &server, address, number);
    }
    (primary, settings, server)
}

/// Has the primary have the next version, and the server take it.
#[track_caller]
fn follow(primary: &Fake, server: &Server, address: SocketAddr, number: u32) {
    primary.change(|does| does.serial = number);
    assert!(ctl(server, &["refresh", ORIGIN]).status.success());
    await_that("the next version", || serial(address) == Some(number));
    await_words(server, &[&format!("serial {number}, checked")]);
}

/// Ends whichever server has the control socket.
struct Ends<'s>(&'s Server);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let _ = ctl(self.0, &["stop"]);
    }
}

/// While a new server takes over nothing is served that it cannot know of: no version goes back.
#[test]
fn all_of_a_zone_beside_an_upgrade() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let (primary, _, server) = with_a_change(folder.path(), address);
    let _ends = Ends(&server);
    let script = format!(
        "#!/bin/sh\ntouch {}/began\nsleep 1.5\nexec {} \"$@\"\n",
        folder.path().display(),
        program().display()
    );
    let path = write(folder.path(), "program", &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    let seen = std::thread::scope(|scope| {
        let upgrade = scope.spawn(|| ctl(&server, &["upgrade", "--program", path.to_str().expect("a path")]));
        await_that("the new program", || folder.path().join("began").exists());
        let asked = primary.asked().1;
        primary.change(|does| (does.serial, does.has_differences) = (5, false));
        assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
        await_that("a transfer", || primary.asked().1 > asked);
        std::thread::sleep(Duration::from_millis(100));
        // The new one hears nothing of it.
        primary.change(|does| does.rcode = 5);
        let (mut seen, mut over) = (Vec::new(), None);
        // The first one answers for a moment still.
        while over.is_none_or(|over: Instant| over.elapsed() < Duration::from_millis(500)) {
            if upgrade.is_finished() {
                over.get_or_insert_with(Instant::now);
            }
            seen.extend(serial(address));
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = upgrade.join().expect("a reply");
        assert!(output.status.success(), "{output:?}");
        seen
    });
    assert!(seen.is_sorted(), "{seen:?}");
    let words = words(&server);
    assert!(!words.contains("fault"), "{words}");
    primary.change(|does| (does.rcode, does.serial) = (0, 6));
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("the next version", || serial(address) == Some(6));
}

/// A zone whose changes the log has lost is had from its primary as a whole, and is as any other then.
#[test]
fn a_zone_whose_changes_were_lost() {
    let (address, folder) = (free_address(), tempfile::tempdir().expect("a scratch folder"));
    let (primary, settings, mut server) = with_a_change(folder.path(), address);
    kill(&mut server.process);
    drop(server);
    // Serial 3, and refresh.
    let (third, mut is_damaged) = ([0, 0, 0, 3, 0, 0, 14, 16], false);
    let files = fs::read_dir(folder.path().join("packs/journal")).expect("the log").flatten();
    for entry in files.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "seg")) {
        let mut octets = fs::read(entry.path()).expect("a segment");
        if let Some(at) = octets.windows(8).position(|window| window == third) {
            octets[at + 7] ^= 1;
            fs::write(entry.path(), octets).expect("a segment");
            is_damaged = true;
        }
    }
    assert!(is_damaged);
    primary.change(|does| does.rcode = 5);
    let server = start(folder.path(), address, &settings);
    assert_eq!(serial(address), Some(2), "{}", server.log());
    await_words(&server, &["fault     the log lost changes of it", "secondary serial 2"]);
    primary.change(|does| (does.rcode, does.serial) = (0, 5));
    assert!(ctl(&server, &["refresh", ORIGIN]).status.success());
    await_that("all of it", || serial(address) == Some(5));
    let words = await_words(&server, &["received last by AXFR"]);
    assert!(!words.contains("fault"), "{words}");
    follow(&primary, &server, address, 6);
    await_words(&server, &["received last by IXFR"]);
}

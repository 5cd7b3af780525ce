//! A log that cannot be written: lines are lost, and nothing else.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::{Duration, Instant};

use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program, signal};

use crate::kit::{SOUND, folder, text};

/// Runs `zonda serve` of `zone` by a shell line, which sets its environment and standard error up.
fn serve(scratch: &tempfile::TempDir, line: &str) -> (Guarded, std::net::SocketAddr) {
    let address = free_address();
    let zone = format!("example.={}", text(&scratch.path().join("example.zone")));
    let mut command = Command::new("sh");
    let script = format!("{line} exec \"$0\" \"$@\" 2>\"$ERRORS\"");
    let errors = if line.contains("ERRORS=") { String::new() } else { "ERRORS=errors; ".into() };
    command.args(["-c", &format!("{errors}{script}")]).arg(program());
    command.args(["serve", "--listen", &address.to_string(), "--workers", "1", "--zone", &zone]);
    command.current_dir(scratch.path());
    (Guarded::spawn(command, scratch.path()), address)
}

/// Waits until `www.example.` has this last octet in its address.
fn wait_for(process: &Guarded, address: std::net::SocketAddr, last: u8) {
    let query = Query::new("www.example.", rtype::A).octets();
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        assert!(process.is_running() && Instant::now() < until, "192.0.2.{last} is not answered");
        match udp_within(address, &query, Duration::from_millis(200)) {
            Ok(Some(answer)) if answer.windows(4).any(|octets| octets == [192, 0, 2, last]) => return,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn a_full_disk_changes_nothing() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let (mut process, address) = serve(&scratch, "ERRORS=/dev/full;");
    wait_for(&process, address, 2);
    for last in [12, 13, 14, 15] {
        let zone = SOUND.replace("192.0.2.2", &format!("192.0.2.{last}"));
        fs::write(scratch.path().join("example.zone"), zone).expect("a zone file");
        signal(process.pid(), "HUP");
        wait_for(&process, address, last);
    }
    signal(process.pid(), "TERM");
    assert_eq!(process.wait(Duration::from_secs(10)).expect("an end").code(), Some(0));
}

#[test]
fn the_watchdog_is_fed_however_many_signals_come() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let path = scratch.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_millis(100))).expect("a time limit");
    let environment = format!("export NOTIFY_SOCKET='{}' WATCHDOG_USEC=1000000;", path.display());
    let (process, address) = serve(&scratch, &environment);
    wait_for(&process, address, 2);
    // A signal each tenth of a second, where the watchdog is to be told each half.
    let (mut heard, mut message) = (0, [0; 256]);
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        signal(process.pid(), "HUP");
        let due = Instant::now() + Duration::from_millis(100);
        while Instant::now() < due {
            if let Ok(octets) = manager.recv(&mut message) {
                heard += usize::from(message[..octets].starts_with(b"WATCHDOG=1"));
            }
        }
    }
    // Six times on an idle machine.
    assert!(heard >= 2, "heard {heard} times in three seconds");
}

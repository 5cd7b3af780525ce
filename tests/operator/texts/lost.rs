//! Changes that the log has lost: known from start to start, however often the log was shortened in between, until an operator accepts it.

use super::*;

/// The shortest log there is, so that little fills it.
const JOURNAL: &str = "journal-octets = 25165824\n";

/// The number of the anchor: it grows with each time that the log is shortened.
fn shortened(bed: &Bed) -> u64 {
    let octets = std::fs::read(bed.path("packs/journal/anchor")).expect("an anchor");
    let numbers = octets.chunks(4096).filter_map(|page| page.get(16..24)?.first_chunk().copied());
    numbers.map(u64::from_le_bytes).max().expect("a page")
}

/// Has the log be shortened, by changes of another zone.
fn shorten(bed: &Bed, server: &Server) {
    let before = shortened(bed);
    for round in 0..60 {
        if shortened(bed) > before {
            return;
        }
        let mut script = String::new();
        for part in 0..5 {
            for name in 0..180 {
                let text = format!("{round:02}{part}-").repeat(60);
                let _ = writeln!(
                    script,
                    "update delete n{name}.b.test. TXT\nupdate add n{name}.b.test. 60 TXT \"{text}\""
                );
            }
            script += if part < 4 { "send\n" } else { "" };
        }
        done(server, "b.test.", &script);
    }
    panic!("the log was not shortened\n{}", server.log());
}

/// Changes an octet of the log, within the record that adds a name of one label of two letters.
fn damage(bed: &Bed, label: &[u8; 2]) {
    let files = std::fs::read_dir(bed.path("packs/journal")).expect("the log").flatten();
    let mut count = 0;
    for entry in files.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "seg")) {
        let mut octets = std::fs::read(entry.path()).expect("a segment");
        if let Some(at) = octets.windows(3).position(|window| window == [2, label[0], label[1]]) {
            octets[at + 1] ^= 1;
            std::fs::write(entry.path(), octets).expect("a segment");
            count += 1;
        }
    }
    assert_eq!(count, 1);
}

/// So many changes of `a.test.`, of which that of `label` is lost; `there`: which of three are served then.
#[track_caller]
fn check(changes: usize, label: &[u8; 2], there: [bool; 3]) {
    let bed = Bed::with_journal(JOURNAL);
    let server = bed.start();
    (1..=changes)
        .for_each(|at| done(&server, "a.test.", &format!("update add x{at}.a.test. 60 A 192.0.2.{at}")));
    done(&server, "b.test.", "update add new.b.test. 60 A 192.0.2.9");
    kill(server);
    damage(&bed, label);
    let add = "zone a.test.\nupdate add x4.a.test. 60 A 192.0.2.4";
    let served = |server: &Server| {
        ["x1", "x2", "x3"].map(|name| address(server, &format!("{name}.a.test.")).is_some())
    };
    for _ in 0..2 {
        let server = bed.start();
        assert_eq!(served(&server), there);
        assert!(update(&server, add).1.contains("SERVFAIL"));
        assert!(told(&server, &["zones", "a.test."]).contains("fault     "));
        shorten(&bed, &server);
        assert!(told(&server, &["zones", "a.test."]).contains("fault     "));
        kill(server);
    }
    let server = bed.start();
    told(&server, &["thaw", "--accept-loss", "a.test."]);
    done(&server, "a.test.", "update add x4.a.test. 60 A 192.0.2.4");
    kill(server);
    // Accepted for good, through the log that says so and one that does not any more.
    for round in 0..2 {
        let server = bed.start();
        assert_eq!(served(&server), there);
        assert_eq!(address(&server, "x4.a.test."), Some([192, 0, 2, 4]));
        assert!(!told(&server, &["zones", "a.test."]).contains("fault     "));
        done(
            &server,
            "a.test.",
            "update add x5.a.test. 60 A 192.0.2.5\nupdate add x5.a.test. 60 A 192.0.2.6",
        );
        done(&server, "a.test.", "update delete x5.a.test.");
        if round == 0 {
            shorten(&bed, &server);
        }
        kill(server);
    }
}

#[test]
fn a_lost_change_is_known_after_the_log_was_shortened() {
    check(3, b"x2", [true, false, false]);
}

/// The group that says what the zone's changes begin from, too: nothing of them can be read.
#[test]
fn a_lost_beginning_is_known_after_the_log_was_shortened() {
    check(3, b"x1", [false, false, false]);
}

/// All that the log had of the zone.
#[test]
fn a_lost_zone_is_known_after_the_log_was_shortened() {
    check(1, b"x1", [false, false, false]);
}

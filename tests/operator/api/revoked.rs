//! Keys that are revoked by a command: at once, for good, and whatever lies on the disk.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::client::{Client, body, rrset};
use super::{Bed, Fixture, SERVER, replace};

impl Fixture<'_> {
    fn statuses(&self, keys: [&str; 2]) -> [u16; 2] {
        keys.map(|key| self.get("/zones", key).status)
    }
}

#[test]
fn a_key_goes_at_once_and_stays_away() {
    let bed = Bed::new();
    let fixture = bed.start();
    let keys = [&*bed.acme, &*bed.reader];
    assert_eq!(fixture.statuses(keys), [200, 200]);
    let (said, is_well) = fixture.told(&["api-key", "revoke", "nobody"]);
    assert!(!is_well && said.contains("there is no [[api-key]] \"nobody\""), "{said}");
    let mut kept = Client::new(fixture.at).expect("a connection");
    assert_eq!(kept.ask("GET", "/api", &bed.acme, "", "").expect("a reply").status, 200);
    let (said, is_well) = fixture.told(&["api-key", "revoke", "acme"]);
    assert!(is_well && said.starts_with("key acme is revoked: "), "{said}");
    assert_eq!(kept.ask("GET", "/api", &bed.acme, "", "").expect("a reply").status, 401);
    assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace("x.a.test.", "192.0.2.1")]).status, 401);
    assert_eq!(fixture.statuses(keys), [401, 200]);
    // Though the settings have it: it is said that they do.
    assert!(fixture.told(&["reconfigure"]).1);
    let (status, is_well) = fixture.told(&["status"]);
    assert!(is_well && status.contains("revoked   acme: "), "{status}");
    assert_eq!(fixture.statuses(keys), [401, 200]);
    let fixture = fixture.kill_and_start_again();
    assert_eq!(fixture.statuses(keys), [401, 200]);
    // Revoked twice it is so, and once its section was gone another one is another key.
    assert!(fixture.told(&["api-key", "revoke", "acme"]).1);
    let settings = fixture.server.path("zonda.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    let hash = bed.keys.lines().find(|line| line.starts_with("hash")).expect("a hash");
    let without = text
        .replace(hash, "hash = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"");
    for (text, expected) in [(without, [401, 200]), (text, [200, 200])] {
        fs::write(&settings, text).expect("the settings");
        assert!(fixture.told(&["reconfigure"]).1);
        assert_eq!(fixture.statuses(keys), expected);
        assert!(!fixture.told(&["status"]).0.contains("revoked "));
    }
}

/// Of who changes without a pause: nothing is changed once the command has returned, and what was answered is on the disk.
#[test]
fn nothing_follows_a_key_that_was_revoked() {
    const CLIENTS: usize = 4;
    let bed = Bed::new();
    let fixture = bed.start();
    let is_revoked = AtomicBool::new(false);
    let (at, is_revoked) = (fixture.at, &is_revoked);
    let path = format!("{SERVER}/zones/a.test.");
    let last: Vec<(usize, u32)> = std::thread::scope(|scope| {
        let change = |client: usize| {
            let (path, acme) = (&path, &bed.acme);
            scope.spawn(move || {
                let mut connection = Client::new(at).expect("a connection");
                // What was answered last.
                let mut last = 0;
                for number in 1.. {
                    let was_revoked = is_revoked.load(Ordering::SeqCst);
                    let set = rrset(
                        &format!("c{client}.a.test."),
                        "TXT",
                        "REPLACE",
                        60,
                        &[&format!("\"{number}\"")],
                    );
                    let reply = connection.ask("PATCH", path, acme, "", &body(&[set])).expect("a reply");
                    match reply.status {
                        204 if !was_revoked => last = number,
                        401 => break,
                        _ => panic!("{reply:?}, revoked before: {was_revoked}"),
                    }
                }
                (client, last)
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(change).collect();
        std::thread::sleep(Duration::from_millis(300));
        assert!(fixture.told(&["api-key", "revoke", "acme"]).1);
        is_revoked.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().expect("a client")).collect()
    });
    let serial = fixture.serial("a.test.");
    assert!(last.iter().any(|(_, last)| *last > 0), "{last:?}");
    let text = |fixture: &Fixture<'_>| fixture.get("/zones/a.test./export", &bed.reader).text;
    let before = text(&fixture);
    let fixture = fixture.kill_and_start_again();
    assert_eq!((fixture.serial("a.test."), text(&fixture)), (serial, before.clone()));
    for (client, last) in last.into_iter().filter(|(_, last)| *last > 0) {
        // Or the one behind it, which was carried out before the key was none and not answered for.
        let is_there = |number: u32| before.contains(&format!("c{client}.a.test. 60 IN TXT \"{number}\""));
        assert!(is_there(last) || is_there(last + 1), "{client} {last}: {before}");
    }
}

/// A file that may have lost a key lets none in; and where none can be written the key is dead all the same.
#[test]
fn whatever_lies_on_the_disk() {
    let bed = Bed::new();
    let keys = [&*bed.acme, &*bed.reader];
    let fixture = bed.start();
    assert!(fixture.told(&["api-key", "revoke", "acme"]).1);
    let file = bed.files.path().join("packs/revoked");
    let whole = fs::read_to_string(&file).expect("a file");
    fs::write(&file, whole.lines().take(2).map(|line| format!("{line}\n")).collect::<String>())
        .expect("a file");
    // Read at a start alone.
    assert_eq!(fixture.statuses(keys), [401, 200]);
    let fixture = fixture.kill_and_start_again();
    assert_eq!(fixture.statuses(keys), [401, 401]);
    let (status, is_well) = fixture.told(&["status"]);
    assert!(!is_well && status.contains("packs/revoked: is damaged"), "{status}");
    let (said, is_well) = fixture.told(&["api-key", "confirm"]);
    assert!(is_well && said.contains("but acme"), "{said}");
    assert_eq!(fixture.statuses(keys), [401, 200]);
    assert_eq!(fs::read_to_string(&file).expect("a file"), whole);
    // Nothing can be written where its temporary file would be.
    let way = bed.files.path().join("packs/.revoked.tmp");
    fs::create_dir(&way).expect("a folder");
    fs::write(way.join("file"), "").expect("a file in it");
    let (said, is_well) = fixture.told(&["api-key", "revoke", "reader"]);
    assert!(
        !is_well
            && said.contains("key reader is revoked; ")
            && said.contains("a start would let it in again"),
        "{said}"
    );
    assert_eq!(fixture.statuses(keys), [401, 401]);
    fs::remove_dir_all(way).expect("a way");
    assert!(fixture.told(&["api-key", "revoke", "reader"]).1);
    assert_eq!(fixture.kill_and_start_again().statuses(keys), [401, 401]);
}

//! What a feeder may have the server take.

use super::super::incoming::Means;
use super::*;
use crate::secondaries::shares;

/// A feeder that was taken over has a bound on what it enters; what is there goes on.
#[test]
fn zones_beyond_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let controller = start(folder.path(), "zones-max = 2\n");
    let (mut feeder, _) = Feeder::opened(&controller);
    // Several in one batch, and one after it.
    for zone in ["a.test.", "b.test.", "c.test.", "d.test."] {
        feeder.push(zone, None, 1, &all(1, ""));
        assert_eq!(feeder.hear(), Frame::Arrived(name(zone)));
        let expected = match zone {
            "a.test." | "b.test." => Frame::Served(name(zone), version(1)),
            _ => Frame::Refused(name(zone)),
        };
        assert_eq!(feeder.hear(), expected);
    }
    feeder.push("b.test.", None, 2, &all(2, ""));
    assert_eq!(feeder.hear(), Frame::Arrived(name("b.test.")));
    assert_eq!(feeder.hear(), Frame::Served(name("b.test."), version(2)));
    assert_eq!(controller.serial_of(&name("c.test.")), None);
    let words = controller.store_words(&name("c.test."));
    assert!(
        words.iter().any(|line| line.contains("the store has 2 zones, which is its `zones-max`")),
        "{words:?}"
    );
    end(feeder, controller);
}

/// Large zones of several stores, and those of primaries, are in files of one share of the disk.
#[test]
fn one_share_of_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let controller = start(folder.path(), "");
    let (one, other) = (Means::of(&controller), Means::of(&controller));
    assert!(Arc::ptr_eq(&one.files, &other.files));
    let room = shares::room(&controller.change().settings.secondary, folder.path().into());
    assert!(Arc::ptr_eq(&one.files, &controller.secondaries.files(&room)));
}

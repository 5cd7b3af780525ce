//! The log closed while changes wait for it, as an upgrade does, and opened again.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use super::*;

/// Gives a change to the changer; what comes of it is told later.
fn send(bed: &Bed, zone: usize, change: Change) -> Receiver<Result<(), NotTaken>> {
    let (sender, receiver) = channel();
    let told = Told::new(move |result: Result<(), NotTaken>| {
        let _ = sender.send(result);
    });
    let what = What::Changes(vec![change], told);
    bed.controller.dynamic.incoming(Incoming { zone: apex(zone), what });
    receiver
}

/// Has the changer take a change as soon as the log can be written again: where no segment is free, one is made first, which a busy disk takes its time for.
fn update_once_open(bed: &Bed, zone: usize, change: &Change) {
    let until = Instant::now() + PATIENCE;
    while let Err(why) = bed.try_update(zone, vec![change.clone()]) {
        assert!(why == NotTaken::NotNow && Instant::now() < until, "{why:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What the segments of the log have.
fn segments(bed: &Bed) -> Vec<(PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(bed.folder.path().join("packs/journal")).unwrap().flatten();
    let files = files.map(|entry| entry.path());
    let segments = files.filter(|path| path.extension().is_some_and(|extension| extension == "seg"));
    let mut all: Vec<_> = segments.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
    all.sort();
    all
}

/// Who waits when the log is closed hears what became of it: done, and then it is there after a start, or not, and then it never is. While it is closed nothing is
/// written, as another server may have it.
#[test]
fn what_waits_is_done_or_refused() {
    let mut random = Random::new(9);
    let mut bed = Bed::new(ZONES, rules());
    let (mut done, mut refused) = (0, 0);
    for round in 0..16 {
        let before = bed.models.clone();
        let waiting: Vec<_> = (0..ZONES)
            .map(|zone| {
                let change = bed.change(zone, &mut random);
                send(&bed, zone, change)
            })
            .collect();
        std::thread::sleep(Duration::from_micros(random.below(1 + round * 200)));
        let controller = Arc::clone(&bed.controller);
        let held = controller.dynamic.hold().unwrap();
        for (zone, told) in waiting.into_iter().enumerate() {
            match told.recv_timeout(PATIENCE).unwrap() {
                Ok(()) => done += 1,
                Err(why) => {
                    assert_eq!(why, NotTaken::NotNow);
                    bed.models[zone] = before[zone].clone();
                    refused += 1;
                }
            }
        }
        bed.check();
        let (there, model) = (segments(&bed), bed.models[0].clone());
        let change = bed.change(0, &mut random);
        assert_eq!(bed.try_update(0, vec![change]), Err(NotTaken::NotNow));
        bed.models[0] = model;
        assert!(segments(&bed) == there, "nothing is written");
        drop(held);
        // Its lock is that of the folder.
        drop(controller);
        let change = bed.change(1, &mut random);
        update_once_open(&bed, 1, &change);
        bed.check();
        if round % 8 == 7 {
            bed.restart(rules());
            bed.check();
        }
    }
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
}

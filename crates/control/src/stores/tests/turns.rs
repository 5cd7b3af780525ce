//! Changes that come at once: what is kept of them, and when.

use std::ffi::OsString;
use std::io;
use std::sync::Mutex as SystemMutex;

use journal::disk::File;

use super::super::outcome::{Outcome, Outcomes};
use super::super::tell::Line;
use super::super::turn::TURN_MAX;
use super::*;

/// Sees what is to be written into the file `followed`.
type Look = Box<dyn FnMut(&str) + Send>;

/// This machine's disk, and somebody who sees that before it is written.
#[derive(Clone)]
struct Watched(Arc<SystemMutex<Look>>);

struct WatchedFile(Arc<dyn File>, Watched);

impl Watched {
    fn new() -> Watched {
        Watched(Arc::new(SystemMutex::new(Box::new(|_| {}))))
    }

    /// From now on this one sees it.
    fn look(&self, look: impl FnMut(&str) + Send + 'static) {
        *self.0.lock().unwrap() = Box::new(look);
    }
}

impl Disk for Watched {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        System.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = System.open(path)?;
        Ok(if path.ends_with("followed") { Arc::new(WatchedFile(file, self.clone())) } else { file })
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        System.names(folder)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        System.make_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        System.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        System.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        System.sync_folder(folder)
    }

    fn sync_all(&self, folder: &Path) -> io::Result<()> {
        System.sync_all(folder)
    }
}

impl File for WatchedFile {
    fn read_at(&self, octets: &mut [u8], at: u64) -> io::Result<()> {
        self.0.read_at(octets, at)
    }

    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<()> {
        let WatchedFile(file, Watched(look)) = self;
        (*look.lock().unwrap())(std::str::from_utf8(octets).unwrap());
        file.write_at(octets, at)
    }

    fn octets(&self) -> io::Result<u64> {
        self.0.octets()
    }

    fn set_octets(&self, octets: u64) -> io::Result<()> {
        self.0.set_octets(octets)
    }

    fn reserve(&self, octets: u64) -> io::Result<()> {
        self.0.reserve(octets)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

fn zone(number: usize) -> String {
    format!("z{number}.test.")
}

/// A server on such a disk, and a feeder whose zones it serves, with serial 1.
fn served(folder: &Path, zones: usize) -> (Watched, Arc<Controller>, Feeder) {
    let disk = Watched::new();
    let controller = start_on(Arc::new(disk.clone()), folder, "");
    let (mut feeder, _) = Feeder::opened(&controller);
    let mut frames: Vec<Frame> =
        (0..zones).flat_map(|number| pushed(&zone(number), None, 1, &all(1, ""))).collect();
    frames.push(Frame::Looked);
    feeder.say(&frames);
    for _ in 0..2 * zones {
        assert!(matches!(feeder.hear(), Frame::Arrived(_) | Frame::Served(..)));
    }
    (disk, controller, feeder)
}

/// What is answered to so many pushes, by zone.
fn answers(feeder: &mut Feeder, count: usize) -> Vec<(NameBuf, Frame)> {
    let answer = |frame: Frame| match &frame {
        Frame::Served(zone, _) | Frame::Whole(zone) | Frame::Refused(zone) => (zone.clone(), frame),
        frame => panic!("{frame:?}"),
    };
    (0..count).map(|_| answer(feeder.hear())).collect()
}

/// All that came is noted by few writes, and what cannot be served holds up nothing else.
#[test]
fn many_changes_at_once() {
    const ZONES: usize = 300;
    let folder = tempfile::tempdir().unwrap();
    let (disk, controller, mut feeder) = served(folder.path(), ZONES);
    let writes: Arc<SystemMutex<Vec<usize>>> = Arc::default();
    let noted = Arc::clone(&writes);
    disk.look(move |text| noted.lock().unwrap().push(text.lines().count()));
    let push = |number| {
        let zone = zone(number);
        match number {
            // What is not there, what cannot be beside what is, and what leads on from another version.
            7 => pushed(&zone, Some(1), 2, &changes(1, "none 60 A 192.0.2.2\n", "")),
            8 => pushed(&zone, Some(1), 2, &changes(1, "", "ns 60 CNAME other\n")),
            9 => pushed(&zone, Some(5), 6, &changes(5, "", "new 60 A 192.0.2.2\n")),
            _ => pushed(&zone, Some(1), 2, &changes(1, "", "new 60 A 192.0.2.2\n")),
        }
    };
    feeder.say(&(0..ZONES).flat_map(push).collect::<Vec<Frame>>());
    let answers: HashMap<NameBuf, Frame> = answers(&mut feeder, ZONES).into_iter().collect();
    for number in 0..ZONES {
        let own = name(&zone(number));
        let (answer, serial) = match number {
            7 | 9 => (Frame::Whole(own.clone()), 1),
            8 => (Frame::Refused(own.clone()), 1),
            _ => (Frame::Served(own.clone(), version(2)), 2),
        };
        assert_eq!((answers.get(&own), controller.serial_of(&own)), (Some(&answer), Some(serial)));
    }
    let writes = writes.lock().unwrap().clone();
    assert_eq!(writes.iter().sum::<usize>(), ZONES - 3, "a line each: {writes:?}");
    // How many reads it takes is the system's.
    assert!(writes.len() < 50 && writes.iter().all(|lines| *lines <= TURN_MAX.0), "{writes:?}");
    assert_eq!(controller.store_numbers()[0].served, (2 * ZONES - 3) as u64);
    // What is held is what was served.
    drop(feeder);
    let (feeder, held) = Feeder::opened(&controller);
    for frame in held {
        let Frame::Held(own, held) = frame else { panic!("{frame:?}") };
        assert_eq!(held, controller.serial_of(&own).map(version), "{own}");
    }
    end(feeder, controller);
}

/// Nobody serves a version whose mark is not in the file.
#[test]
fn marks_are_written_before_anybody_serves() {
    const ZONES: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let (disk, controller, mut feeder) = served(folder.path(), ZONES);
    // Serials that are noted, and those that are served then.
    let seen: Arc<SystemMutex<Vec<[u32; 2]>>> = Arc::default();
    let (noted, owner) = (Arc::clone(&seen), Arc::downgrade(&controller));
    disk.look(move |text| {
        // Who has it by now serves it in that time.
        std::thread::sleep(Duration::from_millis(200));
        let controller = owner.upgrade().unwrap();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let served = controller.serial_of(&name(words[0])).unwrap();
            noted.lock().unwrap().push([words[1].parse().unwrap(), served]);
        }
    });
    for serial in 1..4 {
        let push = |number| pushed(&zone(number), Some(serial), serial + 1, &changes(serial, "", ""));
        feeder.say(&(0..ZONES).flat_map(push).collect::<Vec<Frame>>());
        for (zone, answer) in answers(&mut feeder, ZONES) {
            assert_eq!(answer, Frame::Served(zone, version(serial + 1)));
        }
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen.len(), 3 * ZONES);
    assert!(seen.iter().all(|[noted, served]| *served == noted - 1), "{seen:?}");
    end(feeder, controller);
}

/// Of two changes of one zone the second is looked at once the first is on its way, and never is anything served by another version's mark.
#[test]
fn two_changes_of_a_zone_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_, controller, mut feeder) = served(folder.path(), 1);
    let own = name(&zone(0));
    let pushes = [1, 2].map(|serial| {
        let added = format!("n{serial} 60 A 192.0.2.2\n");
        pushed(&zone(0), Some(serial), serial + 1, &changes(serial, "", &added))
    });
    feeder.say(&pushes.concat());
    let mut answers: Vec<Frame> = answers(&mut feeder, 2).into_iter().map(|(_, answer)| answer).collect();
    // That all of it is wanted is known before the first is served.
    answers.sort_by_key(|answer| !matches!(answer, Frame::Served(_, to) if to.serial == 2));
    assert_eq!(answers[0], Frame::Served(own.clone(), version(2)));
    let serial = match &answers[1] {
        Frame::Whole(_) => 2,
        answer => {
            assert_eq!(*answer, Frame::Served(own.clone(), version(3)));
            3
        }
    };
    assert_eq!(controller.serial_of(&own), Some(serial));
    drop(feeder);
    let (feeder, held) = Feeder::opened(&controller);
    assert_eq!(held, [Frame::Held(own, Some(version(serial)))]);
    end(feeder, controller);
}

/// What the settings have no more by the time that it is noted is not served.
#[test]
fn a_store_that_goes_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, controller, feeder) = served(folder.path(), 3);
    let owner = Arc::downgrade(&controller);
    disk.look(move |_| owner.upgrade().unwrap().stores.state.write().stores.clear());
    let push = |number| pushed(&zone(number), Some(1), 2, &changes(1, "", "new 60 A 192.0.2.2\n"));
    feeder.say(&(0..3).flat_map(push).collect::<Vec<Frame>>());
    let Feeder { session, stream, .. } = feeder;
    assert!(matches!(session.join().unwrap(), Ended::NotWanted));
    // It takes all that it was given before.
    controller.dynamic.stop();
    for number in 0..3 {
        assert_eq!(controller.serial_of(&name(&zone(number))), Some(1));
    }
    drop(stream);
    await_alone(controller);
}

/// What became of changes is noted after the end of their feeder, too.
#[test]
fn what_nobody_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let controller = start(folder.path(), "");
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let key = (StoreName::new("own").unwrap(), 1);
    let outcomes = Outcomes::of(Arc::downgrade(&controller.stores), key);
    let tell = Tell::start(outcomes, Line::new(ours).unwrap(), Arc::default()).unwrap();
    for serial in 1..4 {
        let (from, to) = (version(serial), version(serial + 1));
        tell.outcome(Outcome { zone: name("a.test."), from, to, result: Ok(()) });
        let until = Instant::now() + PATIENCE;
        while controller.store_numbers()[0].served < u64::from(serial) {
            assert!(Instant::now() < until, "{serial} is noted");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    controller.dynamic.stop();
}

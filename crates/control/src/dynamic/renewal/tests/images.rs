//! Starts that take images of deltas: whatever has become of the images, the zone is what the log says.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::*;

/// Images every few rows; of a zone that nobody merges.
fn rules() -> Rules {
    Rules {
        image_rows_min: 30,
        look: Duration::from_millis(1),
        pause: Duration::from_millis(5),
        ..Rules::default()
    }
}

/// A zone whose pack is stored, as others have no images; in a log that is not shortened meanwhile.
fn bed(rules: Rules) -> Bed {
    bed_of(1, rules, 8 * SHORT_LOG_OCTETS)
}

/// The same of the first of some zones.
fn bed_of(zones: usize, rules: Rules, log_octets: u64) -> Bed {
    let bed = Bed::with_log(zones, rules, log_octets);
    let pack = bed.controller.catalog.reader().with(|view| {
        let slot = view.slot_named(&apex(0)).unwrap();
        bed.controller.pack_of_slot(view, slot).unwrap().0
    });
    assert!(bed.controller.store_base(&pack));
    bed
}

impl Bed {
    fn images(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join("packs/journal/images");
        let all = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut all: Vec<PathBuf> =
            all.filter(|path| path.extension().is_some_and(|end| end == "delta")).collect();
        all.sort_by_key(|path| journal::checkpoint::number_of(&path.file_name().unwrap().to_string_lossy()));
        all
    }

    fn step(&mut self, random: &mut Random) {
        let changes = (0..3).map(|_| self.change(0, random)).collect();
        self.update(0, changes);
    }

    /// Changes until there are so many images.
    fn change_until(&mut self, images: usize, random: &mut Random) {
        let until = Instant::now() + PATIENCE;
        while self.images().len() < images {
            assert!(Instant::now() < until, "{:?}", self.images());
            self.step(random);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until no image is being made.
    fn wait_for_image(&self) {
        let folder = self.folder.path().join("packs/journal/images");
        let until = Instant::now() + PATIENCE;
        loop {
            let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let is_done =
                |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "delta");
            if names.into_iter().all(is_done) {
                return;
            }
            assert!(Instant::now() < until, "an image that does not come to its end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The number of the anchor: it grows with each time that the log is shortened.
    fn shortened(&self) -> u64 {
        let octets = std::fs::read(self.folder.path().join("packs/journal/anchor")).unwrap();
        let numbers = octets.chunks(4096).filter_map(|page| page.get(16..24)?.first_chunk().copied());
        numbers.map(u64::from_le_bytes).max().unwrap()
    }

    /// Ends, and waits until nobody writes into the folder any more.
    fn close(&mut self) {
        self.controller.dynamic.stop();
        let scratch = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.server.pack_directory = scratch.path().join("packs");
        let other = Arc::new(Controller::new(settings, Overrides::default()).unwrap());
        let old = Arc::downgrade(&std::mem::replace(&mut self.controller, other));
        let until = Instant::now() + PATIENCE;
        while old.strong_count() > 0 {
            assert!(Instant::now() < until, "something holds the server before");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A start, and how many zones it made of images; what is served is what is to be.
    fn start_again(&mut self) -> usize {
        self.restart(rules());
        self.check();
        self.controller.dynamic.from_images.load(Ordering::Relaxed)
    }
}

fn flip(path: &PathBuf, part: usize) {
    let mut octets = std::fs::read(path).unwrap();
    let at = octets.len() * part / 16;
    octets[at] ^= 0x40;
    std::fs::write(path, octets).unwrap();
}

#[test]
fn starts_take_images_and_go_on() {
    let (mut random, mut bed) = (Random::new(11), bed(rules()));
    for step in 0..20 {
        bed.step(&mut random);
        assert!(step > 0 || bed.images().is_empty());
    }
    for images in [2, 3, 4] {
        bed.change_until(images, &mut random);
        bed.step(&mut random);
        assert_eq!(bed.start_again(), 1);
        assert_eq!(bed.start_again(), 1, "a start changes nothing of it");
        bed.step(&mut random);
    }
    // What is written again takes the place of many.
    let until = Instant::now() + PATIENCE;
    let mut before = bed.images().len();
    while bed.images().len() >= before {
        assert!(Instant::now() < until, "{before} images");
        before = bed.images().len();
        bed.step(&mut random);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(bed.start_again(), 1);
}

#[test]
fn damage_costs_time_alone() {
    let (mut random, mut bed) = (Random::new(12), bed(rules()));
    for part in [0, 1, 3, 8, 15] {
        bed.change_until(3, &mut random);
        bed.close();
        let images = bed.images();
        flip(images.last().unwrap(), part);
        // Those before are sound, if it is not one that has all.
        let expected = usize::from(images.len() > 1);
        assert_eq!(bed.start_again(), expected, "the last of {images:?} is damaged in part {part}");
        bed.step(&mut random);
        bed.close();
        bed.images().iter().for_each(|path| flip(path, part));
        assert_eq!(bed.start_again(), 0, "all are damaged in part {part}");
        bed.step(&mut random);
        bed.close();
        bed.images().iter().for_each(|path| std::fs::remove_file(path).unwrap());
        assert_eq!(bed.start_again(), 0);
        bed.step(&mut random);
    }
}

/// Another zone fills the log, which is shortened: what the zone begins from anew, image and all, is taken by starts, and images go on behind it.
#[test]
fn images_outlive_checkpoints() {
    let (mut random, mut bed) = (Random::new(14), bed_of(2, rules(), SHORT_LOG_OCTETS));
    bed.step(&mut random);
    for _ in 0..3 {
        let there = bed.images().len();
        bed.change_until(there + 1, &mut random);
        bed.wait_for_image();
        let (shortened, last) = (bed.shortened(), bed.images().pop());
        bed.value_octets = 60_000;
        while bed.shortened() == shortened {
            let change = bed.change(1, &mut random);
            bed.update(1, vec![change]);
        }
        bed.value_octets = 60;
        let until = Instant::now() + PATIENCE;
        while bed.images().pop() == last {
            assert!(Instant::now() < until, "no image of what the log says anew");
            std::thread::sleep(Duration::from_millis(1));
        }
        bed.wait_for_image();
        assert_eq!(bed.start_again(), 1, "what was said anew");
        let change = bed.change(0, &mut random);
        bed.update(0, vec![change]);
        assert_eq!(bed.start_again(), 1, "and a change behind it");
    }
    // Of what a start applied there is one soon, though nothing changes.
    bed.close();
    bed.images().iter().for_each(|path| std::fs::remove_file(path).unwrap());
    bed.restart(Rules { image_rows_min: 5, ..rules() });
    bed.check();
    let until = Instant::now() + PATIENCE;
    while bed.images().is_empty() {
        assert!(Instant::now() < until, "no image after a start without one");
        std::thread::sleep(Duration::from_millis(1));
    }
    bed.wait_for_image();
    assert_eq!(bed.start_again(), 1);
}

/// An older copy of packs and log with newer images beside it: what these have is not of this log, though serials become the same.
#[test]
fn images_of_another_past_are_not_taken() {
    let (mut random, mut bed) = (Random::new(13), bed(rules()));
    // Fewer rows than an image needs: one of this state would be of both.
    let change = bed.change(0, &mut random);
    bed.update(0, vec![change]);
    let never = || Rules { image_rows_min: u64::MAX, ..rules() };
    bed.restart(never());
    bed.close();
    let (packs, copy) = (bed.folder.path().join("packs"), tempfile::tempdir().unwrap());
    let copied = |from: &Path, to: &Path| {
        let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
        assert!(status.success());
    };
    copied(&packs, copy.path());
    let then = bed.models.clone();
    bed.restart(rules());
    bed.change_until(2, &mut random);
    let now = bed.models.clone();
    bed.close();
    // The older copy is there again, and goes on in another way to the same serial and beyond.
    std::fs::rename(packs.join("journal/images"), copy.path().join("images")).unwrap();
    std::fs::remove_dir_all(&packs).unwrap();
    copied(&copy.path().join("packs"), &packs);
    copied(&copy.path().join("images"), &packs.join("journal"));
    bed.models = then;
    bed.restart(never());
    bed.check();
    assert_eq!(bed.controller.dynamic.from_images.load(Ordering::Relaxed), 0);
    let mut other = Random::new(99);
    while bed.models[0].serial < now[0].serial + 9 {
        let change = bed.change(0, &mut other);
        bed.update(0, vec![change]);
        if bed.models[0].serial.is_multiple_of(7) {
            bed.restart(never());
            bed.check();
            assert_eq!(bed.controller.dynamic.from_images.load(Ordering::Relaxed), 0);
        }
    }
}

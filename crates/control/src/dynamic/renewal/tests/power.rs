//! The power fails at any call to the disk while zones change, are stored anew, come to rest and change again. After the next start each is as it was acknowledged last, or
//! as the change would make it that was not answered.

use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;

use journal::disk::simulated::Faults;

use super::*;
use crate::controller::crash::disk::Mirrored;
use crate::packs::PackFolder;

/// How long a client waits for an answer from a server without power.
const GIVEN_UP: Duration = Duration::from_millis(100);
/// Changes until the power fails at the latest.
const CHANGES_MAX: usize = 300;

fn restful() -> Rules {
    Rules { zones_max: 0, takes_from_anybody: true, ..rules() }
}

/// A start on what a disk has. The error: the power failed meanwhile.
fn start_on(disk: &Mirrored, path: &Path) -> Result<Arc<Controller>, String> {
    let mut settings = Settings::default();
    settings.server.pack_directory = path.to_owned();
    settings.server.journal_octets = SHORT_LOG_OCTETS;
    let folder = PackFolder::open_on(Arc::new(disk.clone()), path, None)?;
    let controller = Controller::with_folder(settings, Overrides::default(), Some(folder), None)?;
    let controller = Arc::new(controller);
    assert!(controller.dynamic.rules.set(restful()).is_ok());
    controller.serve_stored(&Progress::default());
    crate::dynamic::start(&controller, false)?;
    Ok(controller)
}

/// What became of a change.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Refused,
    /// None came.
    Unknown,
}

fn ask(bed: &Bed, disk: &Mirrored, zone: usize, change: Change) -> Answer {
    let (sender, receiver) = channel();
    let told = Told::new(move |result: Result<(), NotTaken>| {
        let _ = sender.send(result);
    });
    let what = What::Changes(vec![change], told);
    bed.controller.dynamic.incoming(Incoming { zone: apex(zone), what });
    let until = Instant::now() + PATIENCE;
    loop {
        match receiver.recv_timeout(GIVEN_UP) {
            Ok(Ok(())) => return Answer::Done,
            Ok(Err(_)) => return Answer::Refused,
            Err(RecvTimeoutError::Timeout) if !disk.has_failed() => assert!(Instant::now() < until),
            Err(_) => return Answer::Unknown,
        }
    }
}

/// What happened in a run.
#[derive(Debug, Default)]
struct Seen {
    crashes: usize,
    /// How often zones came to rest.
    rested: u64,
    /// Crashes after which a zone was at rest that had changed since the start.
    at_rest: usize,
    starts_failed: usize,
}

fn run_with_crashes(seed: u64, crashes: usize) -> Seen {
    let mut random = Random::new(seed);
    let scratch = tempfile::tempdir().unwrap();
    let path = |number: usize| {
        let path = scratch.path().join(format!("packs{number}"));
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let mut number = 0;
    let mut disk = Mirrored::of(&path(number), random.next_u64(), Faults::default()).unwrap();
    let controller = start_on(&disk, &path(number)).unwrap();
    let texts = tempfile::tempdir().unwrap();
    for zone in 0..ZONES {
        let file = texts.path().join(format!("text{zone}"));
        std::fs::write(&file, text(zone)).unwrap();
        assert_eq!(crate::reload::add_zone(&controller, apex(zone), &file, None).loaded, 1);
    }
    let models = vec![model(); ZONES];
    let mut bed = Bed { folder: texts, controller, models, value_octets: 60, log_octets: SHORT_LOG_OCTETS };
    // A zone that never changed is nowhere but in its text, which no start here reads.
    for zone in 0..ZONES {
        let change = bed.change(zone, &mut random);
        assert_eq!(ask(&bed, &disk, zone, change), Answer::Done);
    }
    let mut seen = Seen::default();
    for _ in 0..crashes {
        disk.fail_after(random.index(400));
        let mut unanswered = vec![None; ZONES];
        for _ in 0..CHANGES_MAX {
            if disk.has_failed() {
                break;
            }
            let zone = random.index(ZONES);
            let before = bed.models[zone].clone();
            let change = bed.change(zone, &mut random);
            match ask(&bed, &disk, zone, change) {
                Answer::Done => {}
                // It may be that it is not to come: what is told, and what the disk has, is one thing only where all went well.
                Answer::Refused | Answer::Unknown => {
                    unanswered[zone] = Some(std::mem::replace(&mut bed.models[zone], before));
                    break;
                }
            }
            if random.index(3) == 0 {
                std::thread::sleep(Duration::from_millis(random.below(12)));
            }
        }
        disk.fail_after(0);
        seen.rested += bed.controller.dynamic.rested.load(Ordering::Relaxed);
        bed.controller.dynamic.stop();
        loop {
            seen.crashes += 1;
            number += 1;
            disk.put_what_is_left(&path(number)).unwrap();
            disk = Mirrored::of(&path(number), random.next_u64(), Faults::default()).unwrap();
            if random.index(4) == 0 {
                disk.fail_after(random.index(60));
            }
            match start_on(&disk, &path(number)) {
                Ok(controller) if !disk.has_failed() => {
                    bed.controller = controller;
                    break;
                }
                Ok(controller) => controller.dynamic.stop(),
                Err(_) => assert!(disk.has_failed(), "seed {seed}, crash {}", seen.crashes),
            }
            seen.starts_failed += 1;
        }
        for (zone, unanswered) in unanswered.into_iter().enumerate() {
            let (served, (pack, _)) = bed.served(zone);
            let place = format!("seed {seed}, crash {}, zone {zone} from pack {pack}", seen.crashes);
            if unanswered.as_ref() == Some(&served) {
                bed.models[zone] = served;
            } else {
                assert_eq!(served, bed.models[zone], "{place}");
            }
            seen.at_rest += usize::from(bed.is_at_rest(zone));
        }
    }
    bed.controller.dynamic.stop();
    seen
}

#[test]
fn nothing_that_was_acknowledged_is_lost() {
    let seen = run_with_crashes(1, 12);
    assert!(seen.rested > 6 && seen.at_rest > 1, "{seen:?}");
}

mod long {
    use super::*;

    /// `ZONDA_SEED` repeats one.
    #[test]
    #[ignore = "long: make test-long"]
    fn through_hundreds_of_crashes() {
        let given = std::env::var("ZONDA_SEED").ok().and_then(|seed| seed.parse().ok());
        let seeds = given.map_or(0..40, |seed: u64| seed..seed + 1);
        for seed in seeds {
            eprintln!("seed {seed}: {:?}", run_with_crashes(seed, 40));
        }
    }
}

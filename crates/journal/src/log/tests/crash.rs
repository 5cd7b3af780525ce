//! Power failures, kills, failed syncs and full disks, again and again, on the simulated disk.
//!
//! | a change | after any start |
//! |---|---|
//! | acknowledged | is there |
//! | refused: said to be void | is not there, and never will be |
//! | neither | is there as a whole or not at all; from the first start that has decided on it always the same |

use super::*;
use crate::disk::simulated::Faults;
use sync::Random;

/// Zones that change.
const ZONES: usize = 5;

/// What is known of one zone.
#[derive(Clone, Default)]
struct Zone {
    /// Contents of the versions that must be there; the serial is their number.
    kept: Vec<Vec<u8>>,
    /// One more that may be.
    open: Option<Vec<u8>>,
    /// Versions that a checkpoint has, and the group of the last of them.
    packed: usize,
    packed_group: u64,
}

/// What a run does wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    ForgetSync,
    ForgetSyncFolder,
}

struct Model {
    zones: Vec<Zone>,
    random: Random,
    start: Start,
    plant: Plant,
    count: u64,
    /// Numbers of groups that were appended.
    commits: Vec<u64>,
    /// What happened, so that a run that tests nothing is seen.
    acknowledged: usize,
    refused: usize,
    failed: usize,
    survived: usize,
}

impl Model {
    fn new(seed: u64, plant: Plant) -> Model {
        Model {
            zones: vec![Zone::default(); ZONES],
            random: Random::part(seed, 1),
            start: Start::default(),
            plant,
            count: 0,
            commits: Vec::new(),
            acknowledged: 0,
            refused: 0,
            failed: 0,
            survived: 0,
        }
    }

    fn faults(&self, share: f64) -> Faults {
        Faults {
            sync: share,
            write: share,
            names: share,
            forget_sync: self.plant == Plant::ForgetSync,
            forget_sync_folder: self.plant == Plant::ForgetSyncFolder,
        }
    }

    /// Compares what a start finds with what must be there, and learns of what was open.
    fn check(&mut self, recovery: &Recovery) -> Result<(), String> {
        if let Some(lost) = recovery.lost().first() {
            return Err(format!("nothing was damaged, but: {lost}"));
        }
        let mut found: Vec<Vec<(u64, u32, Vec<u8>)>> = vec![Vec::new(); ZONES];
        for (group, zone, serial, content) in records(recovery) {
            let zone = (0..ZONES).find(|number| name(*number).to_string() == zone).expect("one of them");
            found[zone].push((group, serial, content));
        }
        for (number, (zone, found)) in self.zones.iter_mut().zip(found).enumerate() {
            let mut versions = zone.kept[..zone.packed].to_vec();
            for (group, serial, content) in found {
                if group <= zone.packed_group {
                    continue;
                }
                if serial as usize != versions.len() + 1 {
                    return Err(format!("z{number}: version {serial} follows {}", versions.len()));
                }
                versions.push(content);
            }
            match versions.strip_prefix(&zone.kept[..]) {
                Some([]) => {}
                Some([last]) if Some(last) == zone.open.as_ref() => self.survived += 1,
                Some(_) => return Err(format!("z{number}: has what was never acknowledged, or was refused")),
                None => return Err(format!("z{number}: {} of {} versions", versions.len(), zone.kept.len())),
            }
            // It is decided on when the start is.
            zone.open = (versions.len() > zone.kept.len()).then(|| versions.pop()).flatten();
        }
        Ok(())
    }

    /// What a start has decided on stays.
    fn note_decided(&mut self) {
        for zone in &mut self.zones {
            zone.kept.extend(zone.open.take());
        }
    }

    /// Appends a group of changes of some zones. Whether the log can still be used.
    fn append(&mut self, log: &mut Log) -> bool {
        let mut entries = Vec::new();
        let mut changed = Vec::new();
        for zone in 0..ZONES {
            if !self.random.chance(0.4) {
                continue;
            }
            self.count += 1;
            let length = if self.random.chance(0.05) { 14_000 } else { self.random.index(5_000) };
            let mut content = vec![self.count as u8; length];
            content.extend(self.count.to_le_bytes());
            let serial = self.zones[zone].kept.len() as u32;
            entries.push(entry(zone, serial, serial + 1, &content));
            changed.push((zone, content));
        }
        let entries: Vec<&Entry> = entries.iter().collect();
        match log.append(&entries, Urgency::Ordinary) {
            Ok(number) => {
                self.commits.push(number);
                self.acknowledged += changed.len();
                changed.into_iter().for_each(|(zone, content)| self.zones[zone].kept.push(content));
                true
            }
            Err(AppendError::Full) => true,
            Err(_) => {
                self.failed += 1;
                changed.into_iter().for_each(|(zone, content)| self.zones[zone].open = Some(content));
                false
            }
        }
    }

    /// A checkpoint: zones up to the last group are elsewhere, and the anchor says so.
    fn checkpoint(&mut self, log: &mut Log) {
        let last = log.status().next - 1;
        for zone in &mut self.zones {
            // Some are in the checkpoint with later groups than the anchor names.
            (zone.packed, zone.packed_group) = (zone.kept.len(), last);
        }
        let back = self.random.index(4);
        let first = self.commits.iter().rev().nth(back).map_or(1, |commit| commit + 1);
        let status = log.status();
        let first = first.max(self.start.first);
        self.start = Start { identity: Some(log.identity()), first, known: last, epoch: status.epoch };
        log.release(first);
    }

    /// One life of a server, up to a crash. The error: a promise that was broken.
    fn live(&mut self, disk: &Simulated) -> Result<(), String> {
        disk.set_faults(self.faults(0.0));
        let recovery = Recovery::open(Arc::new(disk.clone()), &folder(), OPTIONS, self.start);
        let Ok(recovery) = recovery else {
            return if disk.has_failed() { Ok(()) } else { Err("the log cannot be opened".to_owned()) };
        };
        if recovery.is_new() && self.start.identity.is_none() {
            self.start =
                Start { identity: Some(recovery.identity()), first: recovery.next(), ..Start::default() };
        }
        self.check(&recovery)?;
        let share = if self.random.chance(0.5) { 0.04 } else { 0.0 };
        disk.set_faults(self.faults(share));
        let mut log = recovery.begin();
        let steps = self.random.index(60);
        let mut is_decided = false;
        for _ in 0..steps {
            if disk.has_failed() {
                return Ok(());
            }
            let _ = log.prepare();
            if log.is_undecided() {
                if log.decide().is_err() {
                    continue;
                }
                if is_decided {
                    // Clients are told now.
                    for zone in &mut self.zones {
                        self.refused += usize::from(zone.open.take().is_some());
                    }
                } else {
                    self.note_decided();
                    is_decided = true;
                }
            }
            self.append(&mut log);
            if !log.is_undecided() && self.random.chance(0.1) {
                self.checkpoint(&mut log);
            }
        }
        Ok(())
    }
}

/// Lives and crashes in a row.
fn run(seed: u64, lives: usize, plant: Plant) -> Result<Model, String> {
    let mut model = Model::new(seed, plant);
    let mut disk = Simulated::new(seed);
    for life in 0..lives {
        if model.random.chance(0.7) {
            disk.fail_after(model.random.index(200));
        }
        model.live(&disk).map_err(|fault| format!("seed {seed}, life {life}: {fault}"))?;
        disk = if model.random.chance(0.7) { disk.crash() } else { disk.kill() };
    }
    Ok(model)
}

#[test]
fn lives_and_crashes_at_random() {
    let (mut acknowledged, mut refused, mut failed, mut survived) = (0, 0, 0, 0);
    for seed in 0..60 {
        let model = run(seed, 12, Plant::Nothing).unwrap_or_else(|fault| panic!("{fault}"));
        acknowledged += model.acknowledged;
        refused += model.refused;
        failed += model.failed;
        survived += model.survived;
    }
    assert!(
        acknowledged > 1000 && refused > 50 && failed > 100 && survived > 20,
        "all of it happens: {acknowledged} {refused} {failed} {survived}"
    );
}

#[test]
fn what_forgets_to_sync_is_found() {
    for plant in [Plant::ForgetSync, Plant::ForgetSyncFolder] {
        assert!((0..40).any(|seed| run(seed, 8, plant).is_err()), "{plant:?}");
    }
}

/// One group and another, and the power fails after each call and within it.
#[test]
fn at_every_call_of_a_short_life() {
    for calls in 0..60 {
        for seed in 0..8 {
            let mut model = Model::new(seed * 1000 + calls as u64, Plant::Nothing);
            let mut disk = Simulated::new(seed);
            for life in 0..3 {
                disk.fail_after(calls + life * 7);
                model
                    .live(&disk)
                    .unwrap_or_else(|fault| panic!("{calls} calls, seed {seed}, life {life}: {fault}"));
                disk = disk.crash();
            }
        }
    }
}

mod long {
    use super::*;

    /// `ZONDA_SEED` repeats one.
    #[test]
    #[ignore = "long: make test-long"]
    fn ten_thousand_lives() {
        let given = std::env::var("ZONDA_SEED").ok().and_then(|seed| seed.parse().ok());
        let first: u64 =
            given.unwrap_or_else(|| Random::from_system().expect("random numbers").next_u64() >> 16);
        for seed in first..first + if given.is_some() { 1 } else { 400 } {
            run(seed, 25, Plant::Nothing).unwrap_or_else(|fault| panic!("ZONDA_SEED={seed}: {fault}"));
        }
    }
}

//! A cache line that several cores change: one after the other, and dearer from another core.

use crate::model::Machine;

/// Picoseconds since the beginning.
pub type Time = u64;

/// Picoseconds of nanoseconds within the bounds of a model.
pub fn picoseconds(ns: f64) -> Time {
    (ns * 1000.0).round() as Time
}

/// Costs of a machine in the simulation's unit.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    pub atomic: Time,
    pub transfer: Time,
    pub spin: Time,
    pub sleep: Time,
    pub wake: Time,
    pub resume: Time,
    pub crowd: f64,
}

impl Costs {
    pub fn of(machine: &Machine) -> Costs {
        Costs {
            atomic: picoseconds(machine.atomic_ns),
            transfer: picoseconds(machine.transfer_ns),
            spin: picoseconds(machine.spin_ns),
            sleep: picoseconds(machine.sleep_ns),
            wake: picoseconds(machine.wake_ns),
            resume: picoseconds(machine.resume_ns),
            crowd: machine.crowd,
        }
    }
}

/// A line: whose it is, and until when it is being changed.
#[derive(Clone, Debug, Default)]
pub struct Line {
    owner: Option<usize>,
    free_at: Time,
}

impl Line {
    /// A core changes it: waits its turn, has it brought where another changed it last. When it is done.
    pub fn change(&mut self, core: usize, now: Time, costs: &Costs) -> Time {
        let is_elsewhere = self.owner.is_some_and(|owner| owner != core);
        let cost = costs.atomic + if is_elsewhere { costs.transfer } else { 0 };
        self.free_at = self.free_at.max(now) + cost;
        self.owner = Some(core);
        self.free_at
    }
}

//! What other programs take of the machine meanwhile. No run is discarded for it, as there may be no other; but who reads
//! the figures should know.

use std::{fs, time::Instant};

use crate::{place, process::Process};

/// Ticks a second in `/proc/stat` (USER_HZ of the kernel's interface).
const TICKS: f64 = 100.0;
/// Fields of its first line in which some program runs: user, nice, system, interrupts.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];

/// From its making on.
pub struct Others {
    began: Instant,
    busy: f64,
    ours: f64,
}

impl Others {
    /// Starts now.
    pub fn new() -> Others {
        Others { began: Instant::now(), busy: busy(), ours: ours() }
    }

    /// Share of all cores' time that programs had which are not children of this one that have ended; 0 where the system
    /// does not tell.
    pub fn share(&self) -> f64 {
        let others = (busy() - self.busy) - (ours() - self.ours);
        let all = self.began.elapsed().as_secs_f64() * place::cores().len() as f64;
        (others / all.max(1.0 / TICKS)).clamp(0.0, 1.0)
    }
}

fn busy() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<f64> = stat
        .lines()
        .next()
        .into_iter()
        .flat_map(|line| line.split_whitespace().skip(1))
        .map_while(|field| field.parse().ok())
        .collect();
    BUSY.iter().filter_map(|&at| fields.get(at)).sum::<f64>() / TICKS
}

fn ours() -> f64 {
    let cpu = Process::cpu_of_ended();
    cpu.user + cpu.system
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share() {
        let others = Others::new();
        assert!(busy() > 0.0);
        assert!((0.0..=1.0).contains(&others.share()));
        // Somebody who ran before we began to look: all of it is theirs.
        let others = Others { busy: others.busy - 1e6, ..others };
        assert_eq!(others.share(), 1.0);
    }
}

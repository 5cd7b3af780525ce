//! What a machine is and how fast its parts are: what every measurement must be read with.
//!
//! * [`describe`]: a head of a few lines that costs nothing, for reports.
//! * [`cores`], [`memory`], [`network`]: what the system tells (sysfs and procfs).
//! * [`latency`], [`bandwidth`], [`timer`], [`directory`]: what is measured here, as the hardware table of
//!   ISC-TN-2008-1 has it for its candidates. * [`sharing`]: what cores pay for lines and sleep that they share.
//! * [`report`]: all of it as JSON and as text.
//!
//! What the system does not tell is `None`, `null` in JSON, and *not told* in text; it is never an error.

pub mod bandwidth;
pub mod candidates;
pub mod cores;
pub mod directory;
pub mod latency;
pub mod memory;
pub mod network;
pub mod report;
pub mod sharing;
pub mod system;
pub mod timer;

use std::fmt;

use serde_json::{Value, json};

use cores::{Cache, Processor};
use memory::Memory;
use network::Interface;
use system::System;

/// The head of a report: what the system tells at once.
pub struct Head {
    /// The processor.
    pub processor: Processor,
    /// Its caches, each once.
    pub caches: Vec<Cache>,
    /// Main memory.
    pub memory: Memory,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// What the clock is read from.
    pub clock_source: Option<String>,
    /// Who runs this machine, if it is a virtual one.
    pub hypervisor: Option<String>,
    /// Share of all processor time since the start that a hypervisor gave to others.
    pub steal_share: Option<f64>,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
}

/// Reads the head of this machine.
pub fn describe() -> Head {
    Head::read(&System::this())
}

impl Head {
    /// Reads the head of a machine whose files are below `system`.
    pub fn read(system: &System) -> Head {
        Head {
            processor: Processor::read(system),
            caches: cores::caches(system),
            memory: Memory::read(system),
            kernel: system.line("proc/sys/kernel/osrelease"),
            clock_source: timer::source(system),
            hypervisor: cores::hypervisor(system),
            steal_share: cores::steal_share(system),
            interfaces: network::interfaces(system),
        }
    }

    /// The head as a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "processor": self.processor.json(),
            "caches": self.caches.iter().map(Cache::json).collect::<Vec<_>>(),
            "memory": self.memory.json(),
            "kernel": self.kernel,
            "clock_source": self.clock_source,
            "hypervisor": self.hypervisor,
            "steal_share": self.steal_share,
            "interfaces": self.interfaces.iter().map(Interface::json).collect::<Vec<_>>(),
        })
    }
}

/// A few lines, without a final newline.
impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "processor   {}", self.processor)?;
        let caches: Vec<_> = self.caches.iter().map(Cache::to_string).collect();
        writeln!(
            f,
            "caches      {}",
            if caches.is_empty() { NOT_TOLD.to_owned() } else { caches.join(", ") }
        )?;
        writeln!(f, "memory      {}", self.memory)?;
        let steal = self.steal_share.map(|share| format!("{:.2} % stolen since the start", share * 100.0));
        writeln!(f, "hypervisor  {}; {}", told(&self.hypervisor), told(&steal))?;
        writeln!(f, "kernel      {}, clock source {}", told(&self.kernel), told(&self.clock_source))?;
        let interfaces: Vec<_> = self.interfaces.iter().map(Interface::to_string).collect();
        let interfaces = if interfaces.is_empty() { NOT_TOLD.to_owned() } else { interfaces.join("; ") };
        write!(f, "network     {interfaces}")
    }
}

/// What stands for what the system keeps to itself.
pub const NOT_TOLD: &str = "not told";

/// The value as text, or *not told*.
pub(crate) fn told<T: fmt::Display>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| NOT_TOLD.to_owned(), T::to_string)
}

/// Octets with a unit of 1024: `36608K` is 35.8 MiB.
pub(crate) fn octets_text(octets: u64) -> String {
    let mut value = octets as f64;
    let mut unit = 0;
    const UNITS: [&str; 5] = ["octets", "KiB", "MiB", "GiB", "TiB"];
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(value.fract() > 0.05 && value < 100.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

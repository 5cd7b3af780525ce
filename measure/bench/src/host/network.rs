//! Network interfaces, their queues and interrupts, and which cores these go to.

use std::fmt;

use serde_json::{Value, json};

use super::{system::System, told};

/// One interface.
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The driver; none for those that are software only.
    pub driver: Option<String>,
    /// `up`, `down`, `unknown`.
    pub state: Option<String>,
    /// Megabits a second.
    pub speed_mbit: Option<i64>,
    /// Largest packet.
    pub mtu: Option<u64>,
    /// Queues that receive, and that send.
    pub receive_queues: usize,
    /// Queues that send.
    pub transmit_queues: usize,
    /// Cores that receive queues hand packets on to (RPS), as masks; empty where all are off.
    pub receive_steering: Vec<String>,
    /// Its interrupts.
    pub interrupts: Vec<Interrupt>,
}

/// One interrupt.
#[derive(Clone, Debug)]
pub struct Interrupt {
    /// Its number.
    pub number: u64,
    /// What it is for.
    pub action: String,
    /// How often it came, for each core.
    pub counts: Vec<u64>,
    /// Cores it may go to, as a list.
    pub cores: Option<String>,
}

/// All interfaces but loopback, those with a device first.
pub fn interfaces(system: &System) -> Vec<Interface> {
    let interrupts = interrupts(system);
    let names = system.names("sys/class/net");
    let mut interfaces: Vec<_> = names
        .into_iter()
        .filter(|name| name != "lo")
        .filter(|name| system.real(&format!("sys/class/net/{name}")).is_some_and(|path| path.is_dir()))
        .map(|name| interface(system, name, &interrupts))
        .collect();
    interfaces.sort_by_key(|interface| interface.driver.is_none());
    interfaces
}

fn interface(system: &System, name: String, interrupts: &[Interrupt]) -> Interface {
    let folder = format!("sys/class/net/{name}");
    let queues = system.names(&format!("{folder}/queues"));
    let count = |prefix: &str| queues.iter().filter(|queue| queue.starts_with(prefix)).count();
    let masks = queues.iter().filter_map(|queue| system.line(&format!("{folder}/queues/{queue}/rps_cpus")));
    // A virtual device hangs below the PCI device that has the interrupts; their names begin with its own.
    let device = system.real(&format!("{folder}/device"));
    let device = device.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let mut numbers = Vec::new();
    for place in ["device/msi_irqs", "device/../msi_irqs"] {
        numbers.extend(system.names(&format!("{folder}/{place}")));
    }
    let is_own = |interrupt: &&Interrupt| {
        let begins = |name: &str| {
            interrupt.action.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        numbers.contains(&interrupt.number.to_string())
            || begins(&name)
            || device.as_deref().is_some_and(begins)
    };
    Interface {
        driver: system
            .real(&format!("{folder}/device/driver"))
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
        state: system.line(&format!("{folder}/operstate")),
        // Where there is no link, drivers say -1.
        speed_mbit: system
            .line(&format!("{folder}/speed"))
            .and_then(|text| text.parse().ok())
            .filter(|&speed| speed > 0),
        mtu: system.number(&format!("{folder}/mtu")),
        receive_queues: count("rx-"),
        transmit_queues: count("tx-"),
        receive_steering: masks.filter(|mask| mask.contains(|digit| !matches!(digit, '0' | ','))).collect(),
        interrupts: interrupts.iter().filter(is_own).cloned().collect(),
        name,
    }
}

/// The numbered lines of `/proc/interrupts`.
pub fn interrupts(system: &System) -> Vec<Interrupt> {
    let text = system.text("proc/interrupts").unwrap_or_default();
    let mut lines = text.lines();
    let cores = lines.next().map_or(0, |head| head.split_whitespace().count());
    let read = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts: Vec<u64> = words.iter().take(cores).map_while(|word| word.parse().ok()).collect();
        Some(Interrupt {
            number,
            // Controller and kind of trigger come before it.
            action: words.get(counts.len()..)?.last().map_or_else(String::new, |&word| word.to_owned()),
            counts,
            cores: system.line(&format!("proc/irq/{number}/smp_affinity_list")),
        })
    };
    lines.filter_map(read).collect()
}

impl Interface {
    /// As a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "driver": self.driver,
            "state": self.state,
            "speed_mbit": self.speed_mbit,
            "mtu": self.mtu,
            "receive_queues": self.receive_queues,
            "transmit_queues": self.transmit_queues,
            "receive_steering": self.receive_steering,
            "interrupts": self.interrupts.iter().map(Interrupt::json).collect::<Vec<_>>(),
        })
    }
}

impl Interrupt {
    fn json(&self) -> Value {
        json!({
            "number": self.number,
            "action": self.action,
            "counts": self.counts,
            "cores": self.cores,
        })
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let driver = self.driver.as_deref().unwrap_or("software");
        write!(f, "{} ({driver}) {} rx, {} tx queues", self.name, self.receive_queues, self.transmit_queues)?;
        match self.speed_mbit {
            Some(speed) => write!(f, ", {speed} Mbit/s"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.number, self.action)?;
        let busy: Vec<_> = self
            .counts
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(core, count)| format!("{count} on core {core}"))
            .collect();
        f.write_str(&if busy.is_empty() { "never yet".to_owned() } else { busy.join(", ") })?;
        write!(f, "; may go to {}", told(&self.cores))
    }
}

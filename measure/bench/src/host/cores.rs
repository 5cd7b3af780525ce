//! Cores, caches and who shares them, the hypervisor and what it takes.

use std::{collections::BTreeSet, fmt};

use serde_json::{Value, json};

use super::{octets_text, system::System, told};

/// The processor.
pub struct Processor {
    /// What it calls itself.
    pub model: Option<String>,
    /// Cores that run.
    pub cores: usize,
    /// Packages they are in.
    pub packages: Option<usize>,
    /// Threads that share one physical core.
    pub threads_per_core: Option<usize>,
    /// Memory nodes.
    pub nodes: Option<usize>,
    /// Frequency now, and the highest, in MHz.
    pub mhz: Option<f64>,
    /// Highest frequency in MHz.
    pub mhz_max: Option<f64>,
    /// Who sets the frequency.
    pub governor: Option<String>,
}

const CPU: &str = "sys/devices/system/cpu";

impl Processor {
    /// Reads it.
    pub fn read(system: &System) -> Processor {
        let cpuinfo = system.text("proc/cpuinfo").unwrap_or_default();
        let field = |wanted: &str| {
            let value = cpuinfo.lines().find_map(|line| line.strip_prefix(wanted)?.split_once(':'));
            value.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        let numbers = core_numbers(system);
        let of_each = |file: &str| -> Option<Vec<String>> {
            numbers.iter().map(|core| system.line(&format!("{CPU}/cpu{core}/topology/{file}"))).collect()
        };
        let packages = of_each("physical_package_id").filter(|ids| !ids.is_empty());
        let siblings = of_each("thread_siblings_list").filter(|lists| !lists.is_empty());
        let kilohertz = |file: &str| {
            system.number(&format!("{CPU}/cpu0/cpufreq/{file}")).map(|value| value as f64 / 1000.0)
        };
        let nodes = system.names("sys/devices/system/node");
        let nodes = nodes.iter().filter(|name| numbered(name, "node").is_some()).count();
        Processor {
            model: field("model name").or_else(|| field("Model")).or_else(|| field("cpu model")),
            cores: if numbers.is_empty() {
                std::thread::available_parallelism().map_or(1, usize::from)
            } else {
                numbers.len()
            },
            packages: packages.map(|ids| ids.into_iter().collect::<BTreeSet<_>>().len()),
            threads_per_core: siblings.map(|lists| {
                let groups = lists.iter().collect::<BTreeSet<_>>().len();
                lists.len() / groups.max(1)
            }),
            nodes: (nodes > 0).then_some(nodes),
            mhz: kilohertz("scaling_cur_freq").or_else(|| field("cpu MHz")?.parse().ok()),
            mhz_max: kilohertz("cpuinfo_max_freq"),
            governor: system.line(&format!("{CPU}/cpu0/cpufreq/scaling_governor")),
        }
    }

    /// As a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "model": self.model,
            "cores": self.cores,
            "packages": self.packages,
            "threads_per_core": self.threads_per_core,
            "nodes": self.nodes,
            "mhz": self.mhz,
            "mhz_max": self.mhz_max,
            "governor": self.governor,
        })
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} cores", told(&self.model), self.cores)?;
        write!(f, ", packages {}", told(&self.packages))?;
        write!(f, ", threads a core {}", told(&self.threads_per_core))?;
        write!(f, ", {} MHz", told(&self.mhz.map(|mhz| format!("{mhz:.0}"))))?;
        if let Some(most) = self.mhz_max {
            write!(f, " of {most:.0}")?;
        }
        match &self.governor {
            Some(governor) => write!(f, " ({governor})"),
            None => Ok(()),
        }
    }
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is next to the core.
    pub level: u64,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size.
    pub octets: Option<u64>,
    /// Octets of a line.
    pub line_octets: Option<u64>,
    /// The cores that share it, as a list such as `0-3,8`.
    pub cores: String,
}

impl Cache {
    /// As a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "level": self.level,
            "kind": self.kind,
            "octets": self.octets,
            "line_octets": self.line_octets,
            "cores": self.cores,
        })
    }

    /// Whether data goes through it.
    pub fn holds_data(&self) -> bool {
        self.kind != "Instruction"
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        write!(f, "L{}{kind} {} (cores {})", self.level, told(&self.octets.map(octets_text)), self.cores)
    }
}

/// Every cache once, by level, then by cores; empty where the system does not tell.
pub fn caches(system: &System) -> Vec<Cache> {
    let mut caches = Vec::new();
    for core in core_numbers(system) {
        let folder = format!("{CPU}/cpu{core}/cache");
        for index in system.names(&folder) {
            let file = |name: &str| system.line(&format!("{folder}/{index}/{name}"));
            let Some(level) = file("level").and_then(|text| text.parse().ok()) else { continue };
            let cache = Cache {
                level,
                kind: file("type").unwrap_or_else(|| "Unified".to_owned()),
                octets: file("size").and_then(|text| octets(&text)),
                line_octets: file("coherency_line_size").and_then(|text| text.parse().ok()),
                cores: file("shared_cpu_list").unwrap_or_else(|| core.to_string()),
            };
            if !caches.contains(&cache) {
                caches.push(cache);
            }
        }
    }
    caches.sort_by(|one, two| (one.level, &one.kind).cmp(&(two.level, &two.kind)));
    caches
}

/// The size of the largest cache that holds data, and of the first level.
pub fn data_cache_octets(caches: &[Cache], level: u64) -> Option<u64> {
    caches
        .iter()
        .filter(|cache| cache.level == level && cache.holds_data())
        .filter_map(|cache| cache.octets)
        .max()
}

/// `48K`, `2M`, as the kernel writes sizes.
fn octets(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let unit = match text.strip_prefix(digits)? {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Who runs this machine: from the type that it tells, its clock, or its board; `None` where nothing speaks of one.
pub fn hypervisor(system: &System) -> Option<String> {
    let clocks = system.line("sys/devices/system/clocksource/clocksource0/available_clocksource");
    let by_clock = clocks.and_then(|clocks| {
        let known = [("kvm-clock", "KVM"), ("xen", "Xen"), ("hyperv_clocksource", "Hyper-V")];
        known.into_iter().find(|(clock, _)| clocks.contains(clock)).map(|(_, name)| name.to_owned())
    });
    let told = system.line("sys/hypervisor/type").or(by_clock);
    let board = system.line("sys/class/dmi/id/product_name");
    let cpuinfo = system.text("proc/cpuinfo").unwrap_or_default();
    let flag = cpuinfo
        .lines()
        .any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    match (told, board) {
        (Some(told), Some(board)) => Some(format!("{told} ({board})")),
        (Some(told), None) => Some(told),
        (None, Some(board)) if flag => Some(board),
        (None, None) if flag => Some("there is one, of a kind not told".to_owned()),
        _ => None,
    }
}

/// Share of all processor time since the start that a hypervisor gave to others (`steal` of proc_stat(5)).
pub fn steal_share(system: &System) -> Option<f64> {
    let text = system.line("proc/stat")?;
    let ticks: Vec<u64> =
        text.split_whitespace().skip(1).take(8).map_while(|field| field.parse().ok()).collect();
    // The fields after `steal` repeat time that `user` and `nice` have counted.
    Some(*ticks.get(7)? as f64 / ticks.iter().sum::<u64>().max(1) as f64)
}

/// The numbers of the cores that run.
pub fn core_numbers(system: &System) -> Vec<usize> {
    match system.line(&format!("{CPU}/online")) {
        Some(list) => numbers(&list),
        None => system.names(CPU).iter().filter_map(|name| numbered(name, "cpu")).collect(),
    }
}

/// The number after a prefix: of `cpu7`, but not of `cpufreq`.
fn numbered(name: &str, prefix: &str) -> Option<usize> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// A list such as `0-3,8`.
fn numbers(list: &str) -> Vec<usize> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) {
            all.extend(first..=last.min(first + 65_535));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_sizes() {
        assert_eq!(numbers("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(numbers("nonsense"), [0; 0]);
        assert_eq!(octets("48K"), Some(49_152));
        assert_eq!(octets("36608K"), Some(37_486_592));
        assert_eq!((octets("2T"), octets("")), (None, None));
    }
}

//! Main memory and its pages.

use std::fmt;

use serde_json::{Value, json};

use super::{octets_text, system::System, told};

/// What the system tells of its memory.
pub struct Memory {
    /// All of it.
    pub octets: Option<u64>,
    /// What programs could get now.
    pub available_octets: Option<u64>,
    /// When memory comes in huge pages by itself: `always`, `madvise`, `never`.
    pub transparent_huge_pages: Option<String>,
    /// What a page fault does to get one.
    pub defrag: Option<String>,
    /// Size of reserved huge pages, and how many there are.
    pub huge_page_octets: Option<u64>,
    /// Reserved huge pages.
    pub huge_pages: Option<u64>,
}

impl Memory {
    /// Reads it.
    pub fn read(system: &System) -> Memory {
        let text = system.text("proc/meminfo").unwrap_or_default();
        let number = |wanted: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(wanted)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let octets = |wanted: &str| number(wanted).map(|kib| kib << 10);
        const FOLDER: &str = "sys/kernel/mm/transparent_hugepage";
        Memory {
            octets: octets("MemTotal"),
            available_octets: octets("MemAvailable"),
            transparent_huge_pages: system.choice(&format!("{FOLDER}/enabled")),
            defrag: system.choice(&format!("{FOLDER}/defrag")),
            huge_page_octets: octets("Hugepagesize"),
            huge_pages: number("HugePages_Total"),
        }
    }

    /// As a JSON object.
    pub fn json(&self) -> Value {
        json!({
            "octets": self.octets,
            "available_octets": self.available_octets,
            "transparent_huge_pages": self.transparent_huge_pages,
            "defrag": self.defrag,
            "huge_page_octets": self.huge_page_octets,
            "huge_pages": self.huge_pages,
        })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} available; transparent huge pages: {}",
            told(&self.octets.map(octets_text)),
            told(&self.available_octets.map(octets_text)),
            told(&self.transparent_huge_pages)
        )
    }
}

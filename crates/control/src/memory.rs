//! Where the memory of the process is, by what it is for.
//!
//! What is mapped and how much of it is in memory the system tells for each range of addresses (`/proc/self/smaps`). Which range is a pack, and what of the
//! rest is for what, the program knows.

use std::ops::Range;

use crate::command::{Count, Memory};
use crate::controller::Controller;

/// What a range of addresses is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A pack in a file.
    Pack,
    /// The program and its libraries.
    Program,
    /// Memory without a file.
    Anonymous,
}

/// Octets in memory of each kind of range.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ranges {
    packs: u64,
    program: u64,
    anonymous: u64,
}

impl Ranges {
    /// Reads what the system tells. `packs`: where packs are mapped.
    fn read(smaps: &str, packs: &[Range<usize>]) -> Ranges {
        let (mut ranges, mut what) = (Ranges::default(), What::Anonymous);
        for line in smaps.lines() {
            if let Some(kibibytes) = line.strip_prefix("Rss:") {
                let number =
                    kibibytes.trim().strip_suffix("kB").and_then(|number| number.trim().parse().ok());
                let octets = number.unwrap_or(0_u64) * 1024;
                match what {
                    What::Pack => ranges.packs += octets,
                    What::Program => ranges.program += octets,
                    What::Anonymous => ranges.anonymous += octets,
                }
            } else if let Some(of) = what_of(line, packs) {
                what = of;
            }
        }
        ranges
    }
}

/// What the range is that a line begins: `START-END RIGHTS OFFSET DEVICE INODE PATH`. `None`: the line begins none.
fn what_of(line: &str, packs: &[Range<usize>]) -> Option<What> {
    let mut words = line.split_ascii_whitespace();
    let (start, _) = words.next()?.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let has_file = words.nth(4).is_some_and(|path| path.starts_with('/'));
    Some(match packs.iter().any(|pack| pack.contains(&start)) {
        // One in memory can be in a range with other memory.
        true if has_file => What::Pack,
        _ if has_file => What::Program,
        _ => What::Anonymous,
    })
}

/// The memory of the server; `None` where the system does not tell.
pub(crate) fn memory(controller: &Controller) -> Option<Memory> {
    let (mapped, packs_in_memory, zones) = {
        let zones = controller.zones.read();
        let (mapped, in_memory) = zones.pack_memory();
        (mapped, in_memory, zones.kept_octets())
    };
    let ranges = Ranges::read(&std::fs::read_to_string("/proc/self/smaps").ok()?, &mapped);
    let catalog = (controller.catalog.octets() + zones) as u64;
    let kept = controller.shown.read().iter().map(|shown| shown.tally.kept_octets()).sum::<u64>();
    let (buffers, system_max) = controller
        .running
        .lock()
        .as_ref()
        .map_or((0, 0), |running| (running.buffer_octets() as u64, running.system_octets_max() as u64));
    let told = controller.observing.octets() as u64;
    let changed = controller.dynamic.changed_octets();
    let known = packs_in_memory + catalog + kept + buffers + told + changed;
    let part = |name: &str, octets, help: &str| Count { name: name.into(), count: octets, help: help.into() };
    let parts = vec![
        part("packs-mapped", ranges.packs, "Packs in files, as much of them as is in memory."),
        part("packs-in-memory", packs_in_memory, "Packs that are in no file, or not yet."),
        part("catalog", catalog, "Which zones there are, and where."),
        part("changes", changed, "What has changed in zones since they were stored."),
        part("kept-answers", kept, "Answers that workers keep."),
        part("buffers", buffers, "Buffers of workers for datagrams and connections, at most."),
        part(
            "told",
            told,
            "What workers tell for dnstap, the query log and `top`, and what waits to be written of it.",
        ),
        part(
            "rest",
            ranges.anonymous.saturating_sub(known),
            "Everything else that is allocated, and stacks.",
        ),
        part("program", ranges.program, "The program and its libraries."),
    ];
    let sum = parts.iter().map(|part| part.count).sum();
    let resident = ranges.packs + ranges.program + ranges.anonymous;
    Some(Memory { parts, sum, resident, system_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_apart() {
        let smaps = "\
555555554000-555555556000 r-xp 00000000 08:01 42                         /usr/bin/zonda
Size:                  8 kB
Rss:                   8 kB
Pss:                   4 kB
VmFlags: rd ex mr mw me
7ffff0000000-7ffff0100000 r--s 00000000 08:01 43                         /var/lib/zonda/a b.zpack
Rss:                1024 kB
7ffff0100000-7ffff0200000 rw-p 00000000 00:00 0
Rss:                 512 kB
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]
Rss:                  12 kB
";
        let pack = 0x7fff_f000_0000..0x7fff_f00f_ff00;
        let ranges = Ranges::read(smaps, std::slice::from_ref(&pack));
        assert_eq!(ranges, Ranges { packs: 1024 << 10, program: 8 << 10, anonymous: 524 << 10 });
        assert_eq!(Ranges::read("", &[]), Ranges::default());
    }
}

//! A machine in a few lines, from the JSON that `zonda-bench host` and `load` write. What is missing there is left out:
//! a record may come from an older program.

use serde_json::Value;

/// Interfaces that are named; a host of containers has hundreds.
const INTERFACES_MAX: usize = 6;
/// Digits of a commit that are shown; the record has all.
const COMMIT_DIGITS: usize = 12;

/// Headings and what is known below each.
pub fn facts(machine: &Value) -> Vec<(&'static str, String)> {
    let host = host(machine);
    let facts = [
        ("Processor", processor(machine)),
        ("Caches", caches(&host["caches"])),
        ("Memory", memory(&host["memory"])),
        ("Hypervisor", hypervisor(host)),
        ("Kernel", kernel(machine)),
        ("Network", network(&host["interfaces"])),
        ("Built from", programs(&machine["programs"])),
        ("Other servers", text(&machine["peers"]).unwrap_or_default()),
        ("Other generators", versions(&machine["generators"])),
    ];
    facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Processor, cores, memory and kernel in one line.
pub fn line(machine: &Value) -> String {
    let memory = host(machine)["memory"]["octets"].as_u64().map(octets_text).unwrap_or_default();
    let parts = [processor(machine), memory, kernel(machine)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What makes a machine another one, each with its name: figures compare only where all of these are alike.
pub fn identity(machine: &Value) -> Vec<(&'static str, String)> {
    let host = host(machine);
    // A kernel keeps some of the memory to itself, and each release another bit of it.
    let gibibytes = |octets: u64| format!("{} GiB", (octets as f64 / f64::from(1 << 30)).round());
    vec![
        ("processor", text(&host["processor"]["model"]).or(text(&machine["cpu"])).unwrap_or_default()),
        ("cores", cores(machine).map_or_else(String::new, |cores| cores.to_string())),
        ("memory", host["memory"]["octets"].as_u64().map(gibibytes).unwrap_or_default()),
        ("hypervisor", text(&host["hypervisor"]).unwrap_or_default()),
    ]
}

/// Release of the kernel; empty where it is not told.
pub fn kernel_release(machine: &Value) -> String {
    text(&host(machine)["kernel"]).or(text(&machine["kernel"])).unwrap_or_default()
}

/// The head of `host`, which `load` has one level down.
fn host(machine: &Value) -> &Value {
    if machine["host"].is_object() { &machine["host"] } else { machine }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn cores(machine: &Value) -> Option<u64> {
    host(machine)["processor"]["cores"].as_u64().or(machine["cores"].as_u64())
}

fn processor(machine: &Value) -> String {
    let value = &host(machine)["processor"];
    let mut parts: Vec<String> = text(&value["model"]).or(text(&machine["cpu"])).into_iter().collect();
    let number = |name: &str| value[name].as_u64();
    if let Some(cores) = cores(machine) {
        let mut cores = format!("{cores} core{}", if cores == 1 { "" } else { "s" });
        if let Some(threads) = number("threads_per_core").filter(|&threads| threads > 1) {
            cores += &format!(" ({threads} threads a core)");
        }
        parts.push(cores);
    }
    if let Some(packages) = number("packages").filter(|&packages| packages > 1) {
        parts.push(format!("{packages} packages"));
    }
    if let Some(mhz) = value["mhz_max"].as_f64().or(value["mhz"].as_f64()) {
        parts.push(format!("{mhz:.0} MHz"));
    }
    parts.extend(text(&value["governor"]).map(|governor| format!("governor {governor}")));
    parts.join(", ")
}

/// Caches of one kind and size once, with how many there are.
fn caches(value: &Value) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for cache in value.as_array().map_or(&[][..], Vec::as_slice) {
        let kind = match cache["kind"].as_str() {
            Some("Data") => "d",
            Some("Instruction") => "i",
            _ => "",
        };
        let level = cache["level"].as_u64().map_or_else(|| "?".to_owned(), |level| level.to_string());
        let size =
            cache["octets"].as_u64().map_or_else(String::new, |octets| format!(" {}", octets_text(octets)));
        let name = format!("L{level}{kind}{size}");
        match kinds.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((name, 1)),
        }
    }
    let kinds =
        kinds.into_iter().map(|(name, count)| if count > 1 { format!("{count} × {name}") } else { name });
    kinds.collect::<Vec<_>>().join(", ")
}

fn memory(value: &Value) -> String {
    let mut parts: Vec<String> = value["octets"].as_u64().map(octets_text).into_iter().collect();
    parts.extend(
        value["available_octets"].as_u64().map(|octets| format!("{} available", octets_text(octets))),
    );
    parts.extend(text(&value["transparent_huge_pages"]).map(|pages| format!("huge pages {pages}")));
    parts.join(", ")
}

fn hypervisor(host: &Value) -> String {
    let mut parts: Vec<String> = text(&host["hypervisor"]).into_iter().collect();
    let share = host["steal_share"].as_f64().filter(|share| *share > 0.0);
    parts.extend(share.map(|share| format!("{:.2} % of the time stolen since the start", share * 100.0)));
    parts.join(", ")
}

fn kernel(machine: &Value) -> String {
    let mut parts = vec![kernel_release(machine)];
    parts.extend(text(&host(machine)["clock_source"]).map(|source| format!("clock source {source}")));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn network(value: &Value) -> String {
    let all = value.as_array().map_or(&[][..], Vec::as_slice);
    let named = all.iter().take(INTERFACES_MAX).map(|interface| {
        let driver = interface["driver"].as_str().unwrap_or("software");
        let queues =
            |name: &str| interface[name].as_u64().map_or_else(|| "?".to_owned(), |count| count.to_string());
        let speed =
            interface["speed_mbit"].as_u64().map_or_else(String::new, |speed| format!(", {speed} Mbit/s"));
        format!(
            "{} ({driver}, {} rx and {} tx queues{speed})",
            interface["name"].as_str().unwrap_or("?"),
            queues("receive_queues"),
            queues("transmit_queues")
        )
    });
    let mut named: Vec<_> = named.collect();
    if all.len() > INTERFACES_MAX {
        named.push(format!("and {} more", all.len() - INTERFACES_MAX));
    }
    named.join(", ")
}

/// The programs of this project, each with its commit where that is known, and the digest of its file.
fn programs(value: &Value) -> String {
    let of = |(name, origin): (&String, &Value)| {
        let commit = text(&origin["commit"]).map(|commit| {
            let (digits, dirty) =
                commit.strip_suffix("-dirty").map_or((&*commit, ""), |digits| (digits, "-dirty"));
            format!(" at {}{dirty}", digits.get(..COMMIT_DIGITS).unwrap_or(digits))
        });
        let digest = text(&origin["sha256"]).unwrap_or_default();
        format!("{name}{} (SHA-256 {digest})", commit.unwrap_or_default())
    };
    let all: Vec<String> = value.as_object().into_iter().flatten().map(of).collect();
    all.join(", ")
}

/// Programs with their versions.
fn versions(value: &Value) -> String {
    let of = |(name, version): (&String, &Value)| Some(format!("{name} {}", text(version)?));
    let all: Vec<String> = value.as_object().into_iter().flatten().filter_map(of).collect();
    all.join(", ")
}

/// Octets with a unit of 1024.
fn octets_text(octets: u64) -> String {
    const UNITS: [&str; 5] = ["octets", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (octets as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(value.fract() > 0.05 && value < 100.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

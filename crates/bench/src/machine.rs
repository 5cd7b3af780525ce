//! What a result must say about the machine and the command it comes from.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

/// Kernel, processor, cores, command line and time of this run, as a JSON object.
pub fn describe() -> Value {
    let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpuinfo = line("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    json!({
        "kernel": line("/proc/sys/kernel/osrelease"),
        "cpu": model.map_or("unknown", |(_, model)| model),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "command": std::env::args().collect::<Vec<_>>(),
        "unix_time": seconds,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_the_essentials() {
        let machine = super::describe();
        assert!(machine["cores"].as_u64() > Some(0));
        assert!(machine["command"].as_array().is_some_and(|words| !words.is_empty()));
        assert!(machine["unix_time"].as_u64() > Some(1_700_000_000));
    }
}

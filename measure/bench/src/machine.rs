//! What a result must say about the machine and the command it comes from.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Kernel, processor, cores, command line and time of this run, as a JSON object, with the head of the
/// [host](crate::host) report.
pub fn describe() -> Value {
    let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpuinfo = line("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    json!({
        "kernel": line("/proc/sys/kernel/osrelease"),
        "cpu": model.map_or("unknown", |(_, model)| model),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "command": command(std::env::args()),
        "unix_time": seconds,
        "host": crate::host::describe().json(),
    })
}

/// A command line without the secret of a TSIG key.
fn command(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_key = false;
    let hide = |word: String| {
        let key = word.strip_prefix("--tsig=").or(is_key.then_some(word.as_str()));
        let hidden = match key.map(|key| (key, key.splitn(3, ':').nth(2))) {
            Some((_, Some(secret))) => format!("{}...", &word[..word.len() - secret.len()]),
            _ => word.clone(),
        };
        is_key = word == "--tsig";
        hidden
    };
    words.map(hide).collect()
}

/// Processor time of the calling thread so far.
pub fn thread_time() -> Duration {
    // A clock that only rises and begins with the thread.
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Measures how much of the processor time since it was made a hypervisor gave to others (`steal` of proc_stat(5)).
pub struct Steal {
    before: (u64, u64),
}

impl Steal {
    /// Starts now.
    pub fn new() -> Steal {
        Steal { before: Steal::ticks().unwrap_or_default() }
    }

    /// Share of the time of all cores that was taken away; 0 where the system does not tell.
    pub fn share(&self) -> f64 {
        self.share_until(Steal::ticks().unwrap_or_default())
    }

    fn share_until(&self, (stolen, all): (u64, u64)) -> f64 {
        let passed = all.saturating_sub(self.before.1);
        stolen.saturating_sub(self.before.0) as f64 / passed.max(1) as f64
    }

    fn ticks() -> Option<(u64, u64)> {
        ticks_of(&fs::read_to_string("/proc/stat").ok()?)
    }
}

/// Ticks stolen and ticks in all. The fields after `steal` repeat time counted as `user` and `nice` already.
fn ticks_of(stat: &str) -> Option<(u64, u64)> {
    let fields = stat.lines().next()?.split_whitespace().skip(1).take(8);
    let fields: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    Some((*fields.get(7)?, fields.iter().sum()))
}

impl Default for Steal {
    fn default() -> Steal {
        Steal::new()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn stolen_time_is_a_share() {
        let steal = super::Steal::new();
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!((0.0..=1.0).contains(&steal.share()));
        let before = super::ticks_of("cpu  100 5 50 800 5 0 0 40 7 7\ncpu0 1 1 1 1 1 1 1 1\n");
        assert_eq!(before, Some((40, 1000)));
        let steal = super::Steal { before: before.unwrap_or_default() };
        let after = super::ticks_of("cpu  130 5 50 850 5 0 0 60 7 7\n").unwrap_or_default();
        assert_eq!(steal.share_until(after), 0.2);
        assert_eq!((super::ticks_of("cpu 1 2 3"), super::ticks_of("")), (None, None));
    }

    #[test]
    fn secrets_are_left_away() {
        let words =
            ["x", "--tsig", "k:hmac-sha256:AAAA", "--tsig=k:hmac-sha256:BBBB", "--tsig", "/k.key", "a:b:c"];
        let shown = super::command(words.into_iter().map(str::to_owned)).join(" ");
        assert_eq!(shown, "x --tsig k:hmac-sha256:... --tsig=k:hmac-sha256:... --tsig /k.key a:b:c");
    }

    #[test]
    fn names_the_essentials() {
        let machine = super::describe();
        assert!(machine["cores"].as_u64() > Some(0));
        assert!(machine["command"].as_array().is_some_and(|words| !words.is_empty()));
        assert!(machine["host"]["memory"].is_object());
        assert!(machine["unix_time"].as_u64() > Some(1_700_000_000));
    }
}

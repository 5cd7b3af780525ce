//! Whether contenders keep what they are told before they answer, by their system calls ([`super::honesty`]), as a table and notes: in
//! runs under strace, which are not timed.

use std::{fs, path::Path, thread, time::Duration};

use rustix::process::Signal;
use serde_json::json;

use super::{
    Taker,
    honesty::{self, Replies, Seen},
};
use crate::{
    Error, error,
    experiment::{Lab, table},
    process,
    recipe::Name,
};

/// What is sent in such a run, and how many of it in flight: one shows every reply that came too early, more show those who cheat
/// under load.
pub const COUNT: &str = "50";
const WINDOWS: [u64; 2] = [1, 8];
/// How long such a run may take: every call costs many times its time.
pub const SECONDS: &str = "60";

/// Looks at each contender with each number in flight; `one` makes such a run. One that fails is named in a note.
pub fn check(
    lab: &mut Lab,
    names: &[Name],
    note: &str,
    mut one: impl FnMut(&mut Lab, Name, u64) -> Result<Seen, Error>,
) -> Result<(), Error> {
    if process::find("strace").is_none() {
        lab.note("whether updates are kept is not checked: on Debian install strace".to_owned());
        return Ok(());
    }
    lab.say("looking whether updates are kept before they are answered, under strace");
    let mut rows = Vec::new();
    for (&name, window) in names.iter().flat_map(|name| WINDOWS.map(|window| (name, window))) {
        lab.go_on()?;
        let who = name.text();
        let seen = match one(lab, name, window) {
            Err(error @ (Error::Server { .. } | Error::Program { .. })) => {
                lab.note(format!("{who} is not checked: {error}"));
                continue;
            }
            seen => seen?,
        };
        if !seen.is_honest(window) {
            let (most, verdict) = (seen.unkept_max, seen.verdict(window));
            lab.note(format!(
                "{who}: {verdict}: of {} updates, {window} in flight, up to {most} were answered without a sync before",
                seen.replies
            ));
        }
        lab.record.raw.push(json!({
            "kept_by": who, "in_flight": window, "replies": seen.replies, "syncs": seen.syncs,
            "sync_file_range": seen.ranges, "unkept_max": seen.unkept_max, "is_honest": seen.is_honest(window),
        }));
        rows.push(vec![
            who.to_owned(),
            window.to_string(),
            seen.replies.to_string(),
            seen.syncs_text(),
            seen.unkept_max.to_string(),
            seen.verdict(window).to_owned(),
        ]);
    }
    let columns = ["server", "in flight", "replies", "syncs", "replies between two syncs, most", "verdict"];
    lab.record.tables.push(table("Kept before the reply?", &columns, rows, note));
    Ok(())
}

/// Reads what was traced into a file.
pub fn read(trace: &Path, replies: Replies) -> Result<Seen, Error> {
    let text = fs::read_to_string(trace).map_err(error::file(trace, "read"))?;
    Ok(honesty::read(&text, replies))
}

/// Ends the server below the tracer, which ends by itself then; what it traced is whole.
pub fn end_traced(taker: &mut Taker) {
    let process = taker.process();
    let (_, below) =
        process.pids().split_first().map_or((0, Vec::new()), |(first, rest)| (*first, rest.to_vec()));
    below.iter().for_each(|&pid| process::signal(pid, Signal::TERM));
    // Ending is in the tracer's hands: look for as long as a server may take by itself.
    for _ in 0..400 {
        if process.ended().is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

//! What resolvers say of themselves: how many signatures they verified, and all else that they count.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use serde_json::Value;

use super::Lab;
use crate::{
    contender::{Server, UNBOUND_CONTROL},
    place::Place,
    process,
    recipe::Name,
};

/// How long an answer of Unbound is waited for.
const WAIT: Duration = Duration::from_secs(5);
/// What Zonda and Unbound call signatures that were verified: every one that was tried, whatever came of it.
const SIGNATURES: [&str; 2] = ["signatures", "num.valops"];
/// Where Unbound has the sum of its threads.
const TOTAL: &str = "total.";

/// Counts by name.
pub type Counts = BTreeMap<String, u64>;

/// All counts since the start; none of those that do not tell.
pub fn counts(lab: &Lab, server: &Server) -> Counts {
    let found = match (server.name.of_zonda(&lab.programs), server.name) {
        (Some(program), _) => zonda(lab, program, server),
        (None, Name::Unbound) => unbound(&server.folder.join(UNBOUND_CONTROL)).map(|text| of_text(&text)),
        _ => None,
    };
    found.unwrap_or_default()
}

/// What was counted between two looks.
pub fn since(before: &Counts, after: &Counts) -> Counts {
    let more = |(name, &count): (&String, &u64)| {
        (name.clone(), count.saturating_sub(before.get(name).copied().unwrap_or(0)))
    };
    after.iter().map(more).filter(|(_, count)| *count > 0).collect()
}

/// Signatures among counts; `None` where they are not counted.
pub fn signatures(after: &Counts, counts: &Counts) -> Option<u64> {
    let name = SIGNATURES.into_iter().find(|name| after.contains_key(*name))?;
    Some(counts.get(name).copied().unwrap_or(0))
}

/// The part about the resolver of `zonda ctl stats`.
fn zonda(lab: &Lab, program: &Path, server: &Server) -> Option<Counts> {
    let socket = server.folder.join("control.sock");
    let [program, socket] = [program, &socket].map(|path| path.to_string_lossy().into_owned());
    let command = [&program, "ctl", "--socket", &socket, "stats", "--json"].map(str::to_owned);
    let text = process::run(&command, &Place::default(), &lab.folder("stats").ok()?, &lab.stop).ok()?;
    serde_json::from_str(&text).ok().and_then(|stats| of_stats(&stats))
}

/// The counts of the list called `resolver`, wherever it is. Some names are there twice, of serving and of resolving: the later is meant.
fn of_stats(stats: &Value) -> Option<Counts> {
    let Value::Object(fields) = stats else { return None };
    if let Some(Value::Array(all)) = fields.get("resolver") {
        let count = |one: &Value| Some((one["name"].as_str()?.to_owned(), one["count"].as_u64()?));
        return Some(all.iter().filter_map(count).collect());
    }
    fields.values().find_map(of_stats)
}

/// Asks as `unbound-control stats_noreset` does, which is not always installed where Unbound is.
fn unbound(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(WAIT)).ok()?;
    stream.write_all(b"UBCT1 stats_noreset\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok().map(|_| text)
}

/// Whole numbers of lines `NAME=COUNT`: sums of all threads, and what there is one of.
fn of_text(text: &str) -> Counts {
    let line = |line: &str| {
        let (name, count) = line.split_once('=')?;
        Some((name.strip_prefix(TOTAL).unwrap_or(name).to_owned(), count.trim().parse().ok()?))
    };
    text.lines().filter(|line| !line.starts_with("thread")).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counts<const N: usize>(all: [(&str, u64); N]) -> Counts {
        all.map(|(name, count)| (name.to_owned(), count)).into()
    }

    #[test]
    fn what_both_tell() {
        let stats = json!({ "stats": { "queries": [{ "name": "queries", "count": 9 }], "resolver": [
            { "name": "hits", "count": 3 }, { "name": "signatures", "count": 7, "help": "" },
        ] } });
        assert_eq!(of_stats(&stats), Some(counts([("hits", 3), ("signatures", 7)])));
        assert_eq!(of_stats(&json!({ "signatures": 7 })), None);
        let text = "thread0.num.queries=3\ntotal.num.queries=5\nnum.valops=4\ntime.up=1.5\n";
        assert_eq!(of_text(text), counts([("num.queries", 5), ("num.valops", 4)]));
    }

    #[test]
    fn signatures_of_a_turn() {
        let (before, after) =
            (counts([("signatures", 2), ("hits", 1)]), counts([("signatures", 9), ("hits", 1)]));
        let turn = since(&before, &after);
        assert_eq!((&turn, signatures(&after, &turn)), (&counts([("signatures", 7)]), Some(7)));
        assert_eq!(signatures(&after, &since(&after, &after)), Some(0), "none, but counted");
        assert_eq!(signatures(&counts([("num.queries", 5)]), &Counts::new()), None);
    }
}

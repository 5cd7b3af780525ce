//! What resolvers say of themselves: how many signatures they verified.

use std::{
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
/// What Unbound calls them: every one that it tried, whatever came of it.
const UNBOUND: &str = "num.valops=";
/// What Zonda calls them.
const ZONDA: &str = "signatures";

/// Signatures verified since the start; `None` of those that do not tell.
pub fn signatures(lab: &Lab, server: &Server) -> Option<u64> {
    match server.name {
        Name::Zonda => count(&zonda(lab, server)?, ZONDA),
        Name::Unbound => unbound(&server.folder.join(UNBOUND_CONTROL)),
        _ => None,
    }
}

/// The answer of `zonda ctl stats`.
fn zonda(lab: &Lab, server: &Server) -> Option<Value> {
    let socket = server.folder.join("control.sock");
    let [program, socket] = [&lab.programs.zonda, &socket].map(|path| path.to_string_lossy().into_owned());
    let command = [&program, "ctl", "--socket", &socket, "stats", "--json"].map(str::to_owned);
    let text = process::run(&command, &Place::default(), &lab.folder("stats").ok()?, &lab.stop).ok()?;
    serde_json::from_str(&text).ok()
}

/// The count of that name, wherever in the answer it is.
fn count(stats: &Value, wanted: &str) -> Option<u64> {
    match stats {
        Value::Object(fields) if fields.get("name").is_some_and(|name| name == wanted) => {
            fields.get("count")?.as_u64()
        }
        Value::Object(fields) => fields.values().find_map(|value| count(value, wanted)),
        Value::Array(all) => all.iter().find_map(|value| count(value, wanted)),
        _ => None,
    }
}

/// Asks as `unbound-control stats_noreset` does, which the newest Unbound does not always bring.
fn unbound(socket: &Path) -> Option<u64> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(WAIT)).ok()?;
    stream.write_all(b"UBCT1 stats_noreset\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    total(&text)
}

/// The sum of all threads, or what there is one of.
fn total(text: &str) -> Option<u64> {
    let after = |head: &str| {
        text.lines().find_map(|line| line.strip_prefix(head)?.strip_prefix(UNBOUND)?.trim().parse().ok())
    };
    after("total.").or_else(|| after(""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_count_is_found() {
        let stats = json!({ "stats": { "resolver": [
            { "name": "proofs", "count": 3 }, { "name": "signatures", "count": 7, "help": "" },
        ] } });
        assert_eq!(count(&stats, ZONDA), Some(7));
        assert_eq!(count(&json!({ "signatures": 7 }), ZONDA), None);
        assert_eq!(total("thread0.num.valops=3\ntotal.num.valops=5\n"), Some(5));
        assert_eq!(total("thread0.num.queries=3\nnum.valops=4\n"), Some(4));
        assert_eq!(total("total.num.queries=3\n"), None);
    }
}

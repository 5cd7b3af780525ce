//! What was counted since the start.

use std::cmp::Reverse;
use std::iter;

use auth::Asked;
use net::WorkerCounters;
use recursive::waiting::WAITED_MS;
use wire::iana::{rcode, rtype};

use super::status::uptime_seconds;
use crate::command::{Count, Stats};
use crate::controller::Controller;
use crate::handler::Shown;
use crate::memory::memory;
use crate::recursion::Recursion;

pub(crate) fn stats(controller: &Controller) -> Stats {
    let (answers, limited, types) = {
        let shown = controller.shown.read();
        let answers = shown.iter().map(|shown| shown.counts.read()).reduce(|a, b| a.sum(b));
        let limited = shown.iter().map(|shown| shown.told.counts.read()).reduce(|a, b| a.sum(b));
        (answers.unwrap_or_default(), limited.unwrap_or_default(), types(&shown))
    };
    let workers = controller.running.lock().as_ref().map(|running| running.counters()).unwrap_or_default();
    let transport = workers.into_iter().reduce(|a, b| a.sum(b)).unwrap_or_default();
    let counted = |(name, help, count): (&str, &str, u64)| Count {
        name: name.replace('_', "-"),
        count,
        help: help.into(),
    };
    let queries = types.iter().map(|(_, count)| count).sum();
    let all = counted(("queries", "Messages received.", queries));
    let by_type = types.into_iter().map(|(name, count)| counted((&name, "", count)));
    let recursed = controller.recursion.as_ref().map(|recursion| Recursed::of(recursion));
    let others = recursed.as_ref().map_or([0; auth::Counters::RCODES], |recursed| recursed.answers.rcodes);
    let rcodes = answers.rcodes.iter().zip(others).map(|(ours, others)| ours + others);
    let rcodes = rcodes.enumerate().filter(|(_, responses)| *responses > 0);
    Stats {
        uptime_seconds: uptime_seconds(controller),
        answers: iter::once(all).chain(answers.each().map(counted)).collect(),
        types: by_type.collect(),
        queries: paths(&transport).map(counted).to_vec(),
        rcodes: rcodes.map(|(code, responses)| counted((&rcode_name(code), "", responses))).collect(),
        resolver: recursed.iter().flat_map(Recursed::lines).collect(),
        observed: controller.observing.counts(),
        limited: limited.each().map(counted).collect(),
        transport: transport.each().map(counted).collect(),
        zones: pins(controller).map(counted).into_iter().chain(of_threads(controller)).collect(),
        memory: memory(controller),
    }
}

/// What is counted by threads that work beside the workers.
pub(crate) fn of_threads(controller: &Controller) -> impl Iterator<Item = Count> {
    (controller.transfers.counts().into_iter())
        .chain(controller.telling.counts())
        .chain(controller.historian.counts())
        .chain(controller.dynamic.counts())
        .chain(controller.verifier.counts())
        .chain(controller.forwarder.counts())
}

/// What the resolver answered, did, and has waiting, of all workers.
#[derive(Default)]
pub(crate) struct Recursed {
    /// What clients got.
    pub(crate) answers: recursive::Counters,
    /// What was done for that.
    pub(crate) done: resolve::Counters,
    /// As [`WAITING`] names them.
    pub(crate) waiting: [u64; 5],
    /// Answers by how long they were waited for, and milliseconds of all of them.
    pub(crate) waited: [u64; WAITED_MS.len() + 1],
    /// See `waited`.
    pub(crate) waited_ms: u64,
}

/// What is counted of clients that wait.
pub(crate) const WAITING: [(&str, &str); 5] = [
    ("waiting", "Clients that wait for the resolver now."),
    ("evicted", "Clients that had to go for others to wait."),
    ("sent_again", "Queries of clients that waited for the same already."),
    ("late", "Answers that came too late to be sent."),
    ("pulses_cut", "Answers sent as TC, as too many were held back for one network."),
];

const _: () = assert!(recursive::Counters::RCODES == auth::Counters::RCODES, "the same are told apart");

impl Recursed {
    /// Reads what all workers count.
    pub(crate) fn of(recursion: &Recursion) -> Recursed {
        let mut sum = Recursed::default();
        for counts in recursion.counts() {
            sum.answers = sum.answers.sum(counts.answers);
            sum.done = sum.done.sum(counts.resolver);
            let of = counts.waiting;
            let evicted =
                of.evicted_for_prefix + of.evicted_for_zone + of.evicted_culprits + of.evicted_oldest;
            let numbers = [of.waiting, evicted, of.joined, of.late, of.truncated];
            sum.waiting.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
            sum.waited.iter_mut().zip(of.waited).for_each(|(sum, count)| *sum += count);
            sum.waited_ms += of.waited_ms;
        }
        sum
    }

    /// All that is counted: name, help, count.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let Recursed { answers, done, waiting, .. } = self;
        let waiting = WAITING.into_iter().zip(*waiting).map(|((name, help), count)| (name, help, count));
        answers.each().chain(waiting).chain(done.each())
    }

    fn lines(&self) -> Vec<Count> {
        self.each()
            .map(|(name, help, count)| Count {
                name: name.replace('_', "-"),
                count,
                help: help.trim().into(),
            })
            .collect()
    }
}

/// How often each type was asked for that was asked for, those that were most often first.
pub(crate) fn types(shown: &[Shown]) -> Vec<(String, u64)> {
    let mut types: Vec<(Asked, u64)> = Vec::new();
    for shown in shown {
        types.resize(types.len().max(shown.tally.each().count()), (Asked::Others, 0));
        for (sum, (asked, count)) in types.iter_mut().zip(shown.tally.each()) {
            *sum = (asked, sum.1 + count);
        }
    }
    types.retain(|(_, count)| *count > 0);
    types.sort_by_key(|(asked, count)| (Reverse(*count), *asked));
    let name = |asked| match asked {
        Asked::Type(qtype) => rtype::Text(qtype).to_string(),
        Asked::Others => "others".into(),
        Asked::Nothing => "none".into(),
    };
    types.into_iter().map(|(asked, count)| (name(asked), count)).collect()
}

/// Queries by how they came.
pub(super) fn paths(counts: &WorkerCounters) -> [(&'static str, &'static str, u64); 4] {
    let (udp6, tcp6) = (counts.udp_ipv6_queries, counts.tcp_ipv6_queries);
    // Readers may see a batch partly added.
    let (udp4, tcp4) = (counts.udp_queries.saturating_sub(udp6), counts.tcp_queries.saturating_sub(tcp6));
    [("udp_ipv4", "", udp4), ("udp_ipv6", "", udp6), ("tcp_ipv4", "", tcp4), ("tcp_ipv6", "", tcp6)]
}

/// Zones that are held in one state for what takes long.
fn pins(controller: &Controller) -> [(&'static str, &'static str, u64); 6] {
    let pins = controller.catalog.pins();
    [
        (
            "pinned_now",
            "Zones held in one state for what takes long, such as a transfer, now.",
            pins.now as u64,
        ),
        ("pinned_most", "The most zones held so at one time.", pins.most as u64),
        ("pinned", "Times that a zone was held so.", pins.made),
        ("pins_refused", "Times that it could not be, as a bound was reached.", pins.refused),
        ("pins_cut", "Times that it ended early, as too much was held that is served no more.", pins.cut),
        ("pinned_octets", "Octets of packs and changes that are held so and served no more.", pins.octets),
    ]
}

/// A response code as text.
pub(crate) fn rcode_name(code: usize) -> String {
    match rcode::mnemonic(code as u16) {
        Some(mnemonic) => mnemonic.into(),
        None => format!("RCODE{code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clients got and what was done for them are counted apart, under names of their own.
    #[test]
    fn each_name_once() {
        let mut names: Vec<String> =
            Recursed::default().lines().into_iter().map(|count| count.name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "{names:?}");
    }
}

//! What is printed of the resolver's cache and servers.

use std::time::{SystemTime, UNIX_EPOCH};

use control::command::{AnchorLine, CacheEntry, CacheStats, Explanation, RequestLine, ServerLine};
use control::text::{Seconds, grouped, octets};

pub(super) fn cache_stats_text(stats: &CacheStats) -> String {
    let CacheStats {
        entries,
        entry_octets,
        hits,
        misses,
        puts,
        refused,
        evicted_unread,
        evicted,
        expired,
        ..
    } = *stats;
    let rows = [
        ("hits", hits, "answers from it"),
        ("misses", misses, "questions that had to be found out"),
        ("restored", stats.restored, "entries kept from before the start"),
        ("put", puts, "entries since the start, those among them"),
        ("refused", refused, "as something was believed more, or flushed meanwhile"),
        ("left unread", evicted_unread, "for room, never read a second time"),
        ("left", evicted, "for room, read before"),
        ("expired", expired, "when their turn came"),
    ];
    let mut text =
        format!("entries      {}, {} of {}\n", grouped(entries), octets(entry_octets), octets(stats.octets));
    let share = stats.resident_octets as f64 * 100.0 / stats.octets.max(1) as f64;
    text += &format!("resident     {}, {share:.1} % of that\n", octets(stats.resident_octets));
    for (what, number, why) in rows {
        text += &format!("{what:<12} {} {why}\n", grouped(number));
    }
    text + &waited_text(stats)
}

/// How long clients waited for what was not in it.
fn waited_text(stats: &CacheStats) -> String {
    let answers: u64 = stats.waited.iter().map(|range| range.answers).sum();
    if answers == 0 {
        return String::new();
    }
    let within = |percent: f64| match stats.waited_at_most(percent) {
        Some(ms) => format!("{percent} % within {} ms", grouped(ms)),
        None => format!("{percent} % in more than 2 s"),
    };
    let mean = stats.waited_ms as f64 / answers as f64;
    let [half, nine, most] = [50.0, 90.0, 99.0].map(within);
    format!("waited for   {} answers, {mean:.1} ms each: {half}, {nine}, {most}\n", grouped(answers))
}

pub(super) fn cache_entry_text(entry: &CacheEntry) -> String {
    let CacheEntry { subject, kind, security, rank, .. } = entry;
    let is_failure = kind == "failure";
    let ttl = match entry.ttl {
        None if is_failure => "over: it is asked again".into(),
        None => "expired".into(),
        Some(ttl) if is_failure => format!("not asked again for {ttl} s"),
        Some(ttl) => format!("{ttl} s left"),
    };
    let why = entry.extended_error.as_ref().map(|error| format!(", EDE {error}")).unwrap_or_default();
    let mut text = match is_failure {
        true => format!("; {subject}: {kind}{why}, {ttl}\n"),
        false => format!("; {subject}: {kind}, {security}{why}, {rank}, {ttl}\n"),
    };
    entry.records.iter().for_each(|line| text += &format!("{line}\n"));
    text
}

pub(super) fn explanation_text(explanation: &Explanation) -> String {
    let Explanation { lines, rcode, security, extended_errors, reason, answer, authority, kept } =
        explanation;
    let mut text = String::new();
    lines.iter().for_each(|line| text += &format!("{line}\n"));
    text += &format!("\n{rcode}");
    let errors = extended_errors.iter().map(|error| format!("EDE {error}"));
    let more = security.iter().cloned().chain(errors).chain(reason.iter().cloned());
    more.for_each(|part| text += &format!(", {part}"));
    text += "\n";
    answer.iter().chain(authority).for_each(|line| text += &format!("{line}\n"));
    if !kept.is_empty() {
        text += "\nkept\n";
        kept.iter().for_each(|entry| text += &cache_entry_text(entry));
    }
    text
}

/// What stands over the lines of [`server_text`].
pub(super) fn server_heads() -> String {
    format!("{:<24} {:<28} {:<24} {:<14} marks\n", "zone", "server", "address", "round trip")
}

pub(super) fn server_text(server: &ServerLine) -> String {
    let ServerLine { zone, name, address, rtt_us, timeouts, backoff_seconds, marks } = server;
    if address.is_empty() {
        return format!("{zone:<24} {name:<28} no address is known\n");
    }
    let rtt = match rtt_us {
        0 => "not measured".into(),
        us => format!("{:.1} ms", f64::from(*us) / 1000.0),
    };
    let mut more = marks.clone();
    if *timeouts > 0 {
        more.push(format!("{timeouts} time-out{}", if *timeouts == 1 { "" } else { "s" }));
    }
    if *backoff_seconds > 0 {
        more.push(format!("left alone for {backoff_seconds} s"));
    }
    format!("{zone:<24} {name:<28} {address:<24} {rtt:<14} {}\n", more.join(", ")).replace(" \n", "\n")
}

pub(super) fn anchor_text(anchor: &AnchorLine) -> String {
    let AnchorLine { zone, kind, tag, algorithm, state, since, until, checked, next } = anchor;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut text = format!("{zone:<24} {kind:<3} {tag:<5} algorithm {algorithm:<3} {state}");
    if let Some(since) = since {
        text += &format!(" for {}", Seconds(now.saturating_sub(*since)));
    }
    if let Some(until) = until {
        text += &format!(", trusted in {} if it stays", Seconds(until.saturating_sub(now)));
    }
    if let Some(checked) = checked {
        text += &format!("; looked at {} ago", Seconds(now.saturating_sub(*checked)));
    }
    if let Some(next) = next {
        text += &format!("; next look in {}", Seconds(next.saturating_sub(now)));
    }
    text + "\n"
}

pub(super) fn request_text(request: &RequestLine) -> String {
    let RequestLine { name, rtype, at, purpose, state, server, milliseconds, clients, .. } = request;
    let mut text = format!("{name} {rtype}: {state}");
    if let Some(server) = server {
        text += &format!(" {server}");
    }
    if at != name {
        text += &format!(", at {at}");
    }
    text += &format!(", for {milliseconds} ms ({purpose}");
    match clients {
        0 => {}
        1 => text += ", 1 client waits",
        _ => text += &format!(", {clients} clients wait"),
    }
    for (number, names, what) in [
        (request.tasks, &request.wanted_for, "wanted for"),
        (request.waits_for, &request.waits_for_names, "waits for"),
    ] {
        if number > 0 {
            text += &format!(", {what} {}", names.join(", "));
        }
        if number > names.len() {
            text += &format!(" and {} more", number - names.len());
        }
    }
    text + ")\n"
}

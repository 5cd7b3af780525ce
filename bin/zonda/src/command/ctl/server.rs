//! What is printed of the server: its state, what it counted, its limits and locks.

use std::time::{Duration, SystemTime};

use control::command::{
    Count, Locks, LogLine, LogNumbers, Memory, RateLimit, Reloaded, ResolverStatus, Stats, Status, Upgraded,
};
use control::text::{Seconds, Span, count, grouped, octets};
use zone::check::Timestamp;

/// With fewer records the program itself takes more memory than its zones.
const RECORDS_TELLING: u64 = 100_000;

pub(super) fn status_text(status: &Status) -> String {
    let mut zones = format!("{} loaded", grouped(status.zones_loaded as u64));
    for (number, what) in
        [(status.zones_absent, "absent"), (status.zones_stale, "stale"), (status.zones_expired, "expired")]
    {
        if number > 0 {
            zones += &format!(", {} {what}", grouped(number as u64));
        }
    }
    if status.zones_made > 0 {
        zones += &format!(", {} made over the API", grouped(status.zones_made as u64));
    }
    let found = [(status.zones_with_errors, "with errors"), (status.zones_with_warnings, "with warnings")];
    let found: Vec<String> = found
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(*number, "zone")))
        .collect();
    let mut more = String::new();
    if !found.is_empty() {
        more += &format!("findings  {}\n", found.join(", "));
    }
    if let Some(next) = &status.next_expiry {
        more += &format!("expiry    {} {}\n", next.zone, expiry(next.expires));
    }
    if let Some(resolver) = &status.resolver {
        more += &resolver_text(resolver);
    }
    if let Some(reload) = &status.reload {
        more += &reload_text(reload);
    }
    more += &lately_text(&status.log).unwrap_or_default();
    if !status.api_keys_revoked.is_empty() {
        let names = status.api_keys_revoked.join(", ");
        more += &format!("revoked   {names}: keys of the API that are still in the settings\n");
    }
    let problems: String = status.problems.iter().map(|problem| format!("problem   {problem}\n")).collect();
    let memory = match status.memory_octets {
        None => "unknown".into(),
        Some(memory) if status.records < RECORDS_TELLING => octets(memory),
        Some(memory) => {
            format!("{}, {:.1} octets a record", octets(memory), memory as f64 / status.records as f64)
        }
    };
    format!(
        "version   {}\nprocess   {}\nuptime    {}\nlisten    {}\nworkers   {}\nzones     {zones}\nrecords   {}\n\
         {more}packs     {}, {}\nmemory    {memory}\nsettings  {}\n{problems}",
        status.version,
        status.pid,
        Seconds(status.uptime_seconds),
        status.listen.join(", "),
        status.workers,
        status.looked_at.map_or_else(|| "not counted yet".into(), |_| grouped(status.records)),
        status.packs,
        octets(status.pack_octets),
        status.settings.as_deref().unwrap_or("none"),
    )
}

/// A line of the log that was kept: `2026-11-28T12:49:20Z error  it is full (17 times since 2026-11-28T12:31:02Z)`
pub(super) fn log_text(line: &LogLine) -> String {
    let LogLine { level, message, count, first_at, last_at } = line;
    let [first, last] = [first_at, last_at].map(|at| Timestamp(*at as u32));
    let often = match count {
        0..=1 => String::new(),
        _ => format!(" ({} times since {first:#})", grouped(*count)),
    };
    format!("{last:#} {level:<6} {message}{often}\n")
}

/// How much the log had, if anything.
fn lately_text(log: &LogNumbers) -> Option<String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let ago = Seconds(now.saturating_sub(log.last_at?));
    let (errors, warnings) = (count(log.errors as usize, "error"), count(log.warnings as usize, "warning"));
    Some(format!("log       {errors}, {warnings} since the start, the last {ago} ago; `zonda ctl log`\n"))
}

/// What the last reload did, and what was wrong with it.
fn reload_text(reload: &Reloaded) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let did = if reload.refused { "refused, all stays as it was" } else { reload.summary.as_str() };
    let mut text = format!("reload    {did}, {} ago\n", Seconds(now.saturating_sub(reload.at)));
    reload.errors.iter().for_each(|line| text += &format!("          {line}\n"));
    if reload.more_errors > 0 {
        text += &format!("          and {} more\n", grouped(reload.more_errors as u64));
    }
    text
}

/// Whom the resolver answers, and how full its cache is.
fn resolver_text(resolver: &ResolverStatus) -> String {
    let clients = match &resolver.clients[..] {
        [] => "nobody".into(),
        lists => lists.join(", "),
    };
    let validates = if resolver.validates { "validates" } else { "does not validate" };
    let elsewhere = match &resolver.asks_elsewhere[..] {
        [] => String::new(),
        names @ [_, _, _, _, ..] => format!(", asks elsewhere for {} zones", names.len()),
        names => format!(", asks elsewhere for {}", names.join(", ")),
    };
    let share = resolver.cache_entry_octets as f64 * 100.0 / resolver.cache_octets.max(1) as f64;
    let network = if resolver.is_network_out { "resolver  no network\n" } else { "" };
    format!(
        "resolver  for {clients}; {validates}{elsewhere}\ncache     {} entries, {} of {} ({share:.1} %)\n{network}",
        grouped(resolver.cache_entries),
        octets(resolver.cache_entry_octets),
        octets(resolver.cache_octets),
    )
}

/// `in 3 d 2 h, at 2026-11-25T12:00:00Z`
pub(super) fn expiry(expires: u64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let at = Timestamp(expires as u32);
    match expires.checked_sub(now) {
        Some(left) => format!("in {}, at {at:#}", Seconds(left)),
        None => format!("expired {} ago, at {at:#}", Seconds(now - expires)),
    }
}

pub(super) fn stats_text(stats: &Stats) -> String {
    let mut text = format!("since the start {} ago\n", Seconds(stats.uptime_seconds));
    let mut add = |title: &str, counts: &[Count]| {
        text += &format!("\n{title}\n");
        if counts.is_empty() {
            text += "  none yet\n";
        }
        for Count { name, count, help } in counts {
            text += format!("  {name:<24} {:>17}  {help}", grouped(*count)).trim_end();
            text += "\n";
        }
    };
    add("answers", &stats.answers);
    add("queries by type", &with_shares(&stats.types));
    add("queries by transport", &with_shares(&stats.queries));
    add("responses by code", &with_shares(&stats.rcodes));
    let of_resolver: Vec<Count> = stats.resolver.iter().filter(|count| count.count > 0).cloned().collect();
    if !of_resolver.is_empty() {
        add("resolver", &of_resolver);
    }
    if stats.limited.iter().any(|limited| limited.count > 0) {
        add("beyond rate limits", &stats.limited);
    }
    if !stats.observed.is_empty() {
        add("dnstap and query log", &stats.observed);
    }
    add("transport", &stats.transport);
    add("zones", &stats.zones);
    stats.memory.iter().for_each(|memory| text += &memory_text(memory));
    text
}

/// Counts with their shares of all instead of their help.
pub(super) fn with_shares(counts: &[Count]) -> Vec<Count> {
    let all: u64 = counts.iter().map(|count| count.count).sum();
    let share = |count: &Count| match all {
        0 => String::new(),
        _ => format!("{:>5.1} %", count.count as f64 * 100.0 / all as f64),
    };
    counts.iter().map(|count| Count { help: share(count), ..count.clone() }).collect()
}

fn memory_text(memory: &Memory) -> String {
    let mut text = "\nmemory\n".to_owned();
    let mut add = |name: &str, count: u64, help: &str| {
        text += format!("  {name:<24} {:>17}  {help}", octets(count)).trim_end();
        text += "\n";
    };
    memory.parts.iter().for_each(|part| add(&part.name, part.count, &part.help));
    add("sum", memory.sum, "");
    add("resident", memory.resident, "What the system says that the process has.");
    add("system-max", memory.system_max, "What the system may keep beside, of datagrams that wait.");
    text
}

pub(super) fn limited_text(limited: &RateLimit) -> String {
    if limited.accounts.is_empty() {
        return format!("rate limits are {}; nobody is limited\n", limited.state);
    }
    let mut text = format!(
        "rate limits are {}\n{:<24} {:<12} {:>15} {:>15} {:>9}  limit\n",
        limited.state, "clients", "answers", "refused/s", "refused", "seconds"
    );
    for account in &limited.accounts {
        let [now, all, seconds] = [account.refused_per_second, account.refused, account.seconds].map(grouped);
        let (clients, answers) = (&account.clients, &account.answers);
        text += &format!("{clients:<24} {answers:<12} {now:>15} {all:>15} {seconds:>9}  {}\n", account.limit);
    }
    text
}

pub(super) fn locks_text(locks: &Locks) -> String {
    let turn = if locks.on { "on" } else { "off; `zonda ctl locks --on` turns it on" };
    let counted = Span(Duration::try_from_secs_f64(locks.seconds).unwrap_or_default());
    match locks.seconds > 0.0 {
        true => format!("{locks}counted for {counted}; the lock profiler is {turn}\n"),
        false => format!("nothing is counted; the lock profiler is {turn}\n"),
    }
}

pub(super) fn upgraded_text(upgraded: &Upgraded) -> String {
    let Upgraded { pid, version, old_pid, milliseconds } = upgraded;
    let after = Span(Duration::from_millis(*milliseconds));
    format!(
        "process {pid} (version {version}) is the server now, after {after}; process {old_pid} ends once its TCP connections do\n"
    )
}

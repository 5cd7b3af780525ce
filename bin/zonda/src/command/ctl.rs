//! `zonda ctl`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use control::Settings;
use control::client::ask;
use control::command::{
    ByCommand, CatalogLine, ChangeLine, Count, Locks, LogLevel, Memory, NoticeLine, PrimaryLine, RateLimit,
    Reply, Request, Stats, Status, TransferIn, TransferLine, TransfersIn, TransfersOut, Upgraded, ZoneLine,
    ZoneState,
};
use control::findings::summary;
use control::text::{Seconds, Span, count, grouped, octets};
use std::time::{Duration, SystemTime};
use zone::check::Timestamp;

use super::{complain, print};

/// Ask or tell a running server.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Control socket of the server; default: that of the settings file, else where servers have it
    #[arg(short, long, value_name = "PATH", global = true)]
    socket: Option<PathBuf>,
    /// Settings file of the server, to find its control socket
    #[arg(short, long, value_name = "FILE", global = true, conflicts_with = "socket")]
    config: Option<PathBuf>,
    /// Print replies as JSON objects, one a line
    #[arg(long, global = true)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  zonda ctl status
  zonda ctl reload example.com example.net
  zonda ctl zones --state stale
  zonda ctl --config /etc/zonda/zonda.toml zones
  zonda ctl --socket /run/zonda/control.sock stats --json
  zonda ctl log-level debug
  zonda ctl locks --on
  zonda ctl catalog confirm catalog.example
  zonda ctl upgrade

Exit status: 0 all went well, 1 the server could not be reached or something is wrong, 2 wrong usage. For `status` something is wrong where a
zone is absent or stale, signatures have expired, or packs cannot be stored; for `zones` where a zone that it shows is so, for
`catalog` where one is broken, has no data, or waits.";

#[derive(Subcommand)]
enum Command {
    /// Version, uptime, addresses, zones, memory
    Status,
    /// List zones, or show one with its problems
    Zones {
        /// Show only this one
        #[arg(conflicts_with = "state")]
        zone: Option<String>,
        /// List only those that are served, stale, absent, with expired signatures, or with findings
        #[arg(long, value_parser = ZoneState::WORDS)]
        state: Option<String>,
    },
    /// What was counted since the start
    Stats,
    /// Which clients are limited now by `[rate-limit]`
    RateLimit,
    /// Who takes which lock, for how long, and who waits, as counted until now
    Locks {
        /// Count from now on
        #[arg(long, conflicts_with = "off")]
        on: bool,
        /// Count no longer
        #[arg(long)]
        off: bool,
        /// Begin anew
        #[arg(long)]
        clear: bool,
    },
    /// Which messages the log has; with LEVEL: from now on, until the next start or until the settings say another
    LogLevel {
        /// Least important messages that are written
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(control::log::LEVELS))]
        level: Option<String>,
    },
    /// Read settings and zones again as far as they have changed, or some zones
    Reload {
        /// Read only these
        zones: Vec<String>,
        /// Read also what has not changed
        #[arg(long)]
        force: bool,
    },
    /// Read the settings again, and of the zones only those that are new in them
    Reconfigure,
    /// Ask the primaries of a zone now whether they have a newer version
    Refresh {
        /// A zone that is transferred from others
        zone: String,
    },
    /// Transfer all of a zone now, whatever the serial that its primary has
    Retransfer {
        /// A zone that is transferred from others
        zone: String,
    },
    /// Catalogs that are followed (RFC 9432): state, members, what waits
    Catalog {
        #[command(subcommand)]
        command: Option<CatalogCommand>,
    },
    /// Serve one more zone, until the next start
    AddZone {
        /// Its name
        zone: String,
        /// Its text or pack
        file: PathBuf,
        /// The catalog that is to list it, a zone of the settings with `make-catalog`
        #[arg(long, value_name = "CATALOG")]
        catalog: Option<String>,
        /// A group of it there; several times for several
        #[arg(long, value_name = "GROUP", requires = "catalog")]
        group: Vec<String>,
    },
    /// Serve a zone no longer, until the next start
    RemoveZone {
        /// Its name
        zone: String,
    },
    /// Start the program anew and hand it all sockets: the server ends once that one answers, and no query is lost
    Upgrade {
        /// Program to start; default: that which the server was started from. For root and the server's own user
        #[arg(long, value_name = "PATH")]
        program: Option<PathBuf>,
        /// How long it may take until it is ready; changes of zones wait meanwhile
        #[arg(long, value_name = "SECONDS", default_value_t = control::upgrade::WAIT.as_secs(),
              value_parser = clap::value_parser!(u64).range(1..=control::upgrade::WAIT_MAX.as_secs()))]
        wait: u64,
    },
    /// End the server
    Stop,
}

#[derive(Subcommand)]
enum CatalogCommand {
    /// Show one with its first members, and which of them are not served and why
    Show {
        /// A catalog of the settings
        catalog: String,
    },
    /// Let go on what waits, as it is more than `remove-max` of the catalog allows: data of those zones are forgotten
    Confirm {
        /// A catalog of the settings
        catalog: String,
    },
}

/// Asks; says whether all went well.
pub fn run(arguments: &Arguments) -> bool {
    match socket(arguments).and_then(|path| converse(arguments, &path)) {
        Ok(ok) => ok,
        Err(problem) => {
            complain(problem.lines());
            false
        }
    }
}

fn socket(arguments: &Arguments) -> Result<PathBuf, String> {
    if let Some(path) = &arguments.socket {
        return Ok(path.clone());
    }
    let settings = match &arguments.config {
        None => Settings::default(),
        Some(file) => Settings::read(file)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?,
    };
    control::socket::path(&settings).ok_or_else(|| "which server? Give --socket or --config".into())
}

fn request(command: &Command) -> Result<Request, String> {
    Ok(match command {
        Command::Status => Request::Status,
        Command::Zones { zone, state } => {
            Request::Zones { zone: zone.clone(), state: state.as_deref().and_then(ZoneState::named) }
        }
        Command::Stats => Request::Stats,
        Command::RateLimit => Request::RateLimit,
        Command::Locks { on, off, clear } => {
            Request::Locks { on: (*on || *off).then_some(*on), clear: *clear }
        }
        Command::LogLevel { level } => Request::LogLevel { level: level.clone() },
        Command::Reload { zones, force } => match &zones[..] {
            // As servers of before know it.
            [zone] => Request::Reload { zone: Some(zone.clone()), zones: Vec::new(), force: *force },
            zones => Request::Reload { zone: None, zones: zones.to_vec(), force: *force },
        },
        Command::Reconfigure => Request::Reconfigure,
        Command::Refresh { zone } => Request::Refresh { zone: zone.clone() },
        Command::Retransfer { zone } => Request::Retransfer { zone: zone.clone() },
        Command::Catalog { command: None } => Request::Catalogs { catalog: None },
        Command::Catalog { command: Some(CatalogCommand::Show { catalog }) } => {
            Request::Catalogs { catalog: Some(catalog.clone()) }
        }
        Command::Catalog { command: Some(CatalogCommand::Confirm { catalog }) } => {
            Request::ConfirmCatalog { catalog: catalog.clone() }
        }
        Command::AddZone { zone, file, catalog, group } => Request::AddZone {
            zone: zone.clone(),
            file: absolute(file)?,
            catalog: catalog.clone(),
            groups: group.clone(),
        },
        Command::Upgrade { program, wait } => Request::Upgrade {
            program: program.as_deref().map(absolute).transpose()?,
            wait_seconds: Some(*wait),
        },
        Command::RemoveZone { zone } => Request::RemoveZone { zone: zone.clone() },
        Command::Stop => Request::Stop,
    })
}

/// A path for the server, whose current folder is another.
fn absolute(path: &Path) -> Result<String, String> {
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = path.to_str().ok_or_else(|| format!("{}: expected a path in UTF-8", path.display()))?;
    Ok(text.to_owned())
}

fn converse(arguments: &Arguments, path: &Path) -> Result<bool, String> {
    let request = request(&arguments.command)?;
    let is_listing = matches!(request, Request::Zones { zone: None, .. });
    let mut printed = true;
    // Only above something that a server said.
    let mut is_headed = !is_listing || arguments.json;
    let heading = || {
        let (state, serial, records, signed, zone) = ("state", "serial", "records", "signed", "zone");
        print(&format!("{state:<7} {serial:>10} {records:>12} {signed:<6} {zone:<40} source\n"))
    };
    let ok = ask(path, &request, &mut |line, reply| {
        if !is_headed && matches!(reply, Reply::Zone(_)) {
            is_headed = true;
            printed &= heading();
        }
        printed &= match (arguments.json, reply) {
            (true, _) => print(&format!("{line}\n")),
            (false, Reply::Status(status)) => print(&status_text(&status)),
            (false, Reply::Stats(stats)) => print(&stats_text(&stats)),
            (false, Reply::RateLimit(limited)) => print(&limited_text(&limited)),
            (false, Reply::Locks(locks)) => print(&locks_text(&locks)),
            (false, Reply::LogLevel(LogLevel { level, was })) => print(&match level == was {
                true => format!("the log level is {level}\n"),
                false => format!("the log level is {level}, was {was}\n"),
            }),
            (false, Reply::Zone(zone)) if is_listing => print(&zone_row(&zone)),
            (false, Reply::Zone(zone)) => print(&zone_text(&zone)),
            (false, Reply::Catalog(catalog)) => print(&catalog_text(&catalog)),
            (false, Reply::Confirmed { text }) => print(&format!("{text}\n")),
            (false, Reply::Change(change)) => show_change(&change),
            (false, Reply::Upgraded(upgraded)) => print(&upgraded_text(&upgraded)),
            (false, Reply::Error { message }) => {
                complain([message.as_str()]);
                true
            }
            (false, Reply::End { .. }) => true,
        };
    })?;
    if !is_headed && ok {
        printed &= heading();
    }
    if request == Request::Stop && ok && !arguments.json {
        printed &= print("stopping\n");
    }
    Ok(ok && printed)
}

/// With fewer records the program itself takes more memory than its zones.
const RECORDS_TELLING: u64 = 100_000;

fn status_text(status: &Status) -> String {
    let mut zones = format!("{} loaded", grouped(status.zones_loaded as u64));
    for (number, what) in
        [(status.zones_absent, "absent"), (status.zones_stale, "stale"), (status.zones_expired, "expired")]
    {
        if number > 0 {
            zones += &format!(", {} {what}", grouped(number as u64));
        }
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
        grouped(status.records),
        status.packs,
        octets(status.pack_octets),
        status.settings.as_deref().unwrap_or("none"),
    )
}

/// `in 3 d 2 h, at 2026-11-25T12:00:00Z`
fn expiry(expires: u64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let at = Timestamp(expires as u32);
    match expires.checked_sub(now) {
        Some(left) => format!("in {}, at {at:#}", Seconds(left)),
        None => format!("expired {} ago, at {at:#}", Seconds(now - expires)),
    }
}

/// A catalog as a line, and what there is to say of it below.
fn catalog_text(line: &CatalogLine) -> String {
    let serial = line.serial.map_or_else(|| "-".into(), |serial| serial.to_string());
    let members = match line.members == line.served {
        true => count(line.members as usize, "member"),
        false => {
            format!("{}, {} of them served", count(line.members as usize, "member"), grouped(line.served))
        }
    };
    let mut text = format!("{:<8} {serial:>10} {:<40} {members}\n", line.state, line.catalog);
    let mut add = |title: &str, lines: &[String]| {
        lines.iter().for_each(|line| text += &format!("  {title:<11} {line}\n"));
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let ago = line.done_at.map_or(0, |at| now.saturating_sub(at));
    let done = line.done.iter().map(|done| format!("{done}, {} ago", Seconds(ago)));
    add("problem", &line.problems);
    add("waits", &Vec::from_iter(line.waits.clone()));
    add("last", &done.collect::<Vec<_>>());
    add("not served", &line.clashes);
    add("member", &line.zones);
    text
}

fn stats_text(stats: &Stats) -> String {
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
    if stats.limited.iter().any(|limited| limited.count > 0) {
        add("beyond rate limits", &stats.limited);
    }
    add("transport", &stats.transport);
    add("zones", &stats.zones);
    stats.memory.iter().for_each(|memory| text += &memory_text(memory));
    text
}

/// Counts with their shares of all instead of their help.
fn with_shares(counts: &[Count]) -> Vec<Count> {
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

fn limited_text(limited: &RateLimit) -> String {
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

fn locks_text(locks: &Locks) -> String {
    let turn = if locks.on { "on" } else { "off; `zonda ctl locks --on` turns it on" };
    let counted = Span(Duration::try_from_secs_f64(locks.seconds).unwrap_or_default());
    match locks.seconds > 0.0 {
        true => format!("{locks}counted for {counted}; the lock profiler is {turn}\n"),
        false => format!("nothing is counted; the lock profiler is {turn}\n"),
    }
}

fn serial(zone: &ZoneLine) -> String {
    zone.serial.map_or_else(|| "-".into(), |serial| serial.to_string())
}

fn zone_row(zone: &ZoneLine) -> String {
    let signed = zone.signed.as_deref().unwrap_or("-");
    let (records, name) = (grouped(zone.records), &zone.zone);
    let (source, notes) = (source(zone), notes(zone));
    format!("{:<7} {:>10} {records:>12} {signed:<6} {name:<40} {source}{notes}\n", zone.state, serial(zone))
}

/// Where a zone comes from, and whether that is what the settings say.
fn source(zone: &ZoneLine) -> String {
    match zone.by_command {
        None => zone.source.clone(),
        Some(ByCommand::Added) => format!("{} (added by command)", zone.source),
        Some(ByCommand::Removed) => "settings (removed by command)".into(),
    }
}

/// What a list says of a zone behind its source.
fn notes(zone: &ZoneLine) -> String {
    let expired = zone.expired.then(|| "signatures expired".to_owned());
    let notes: Vec<String> = expired.into_iter().chain(summary(zone.errors, zone.warnings)).collect();
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}

fn zone_text(zone: &ZoneLine) -> String {
    let state = match zone.state.as_str() {
        "stale" => "stale: served as it was before its file became broken",
        "removed" => "removed by command until the next start; the settings have it",
        "absent" => "absent: queries for it get SERVFAIL, or the answers of the zone above it if it is new",
        state => state,
    };
    let mut text = format!(
        "zone      {}\nstate     {state}\nserial    {}\nnames     {}\nrecords   {}\nsigned    {}\nsource    {}\n",
        zone.zone,
        serial(zone),
        grouped(u64::from(zone.names)),
        grouped(zone.records),
        zone.signed.as_deref().unwrap_or("no"),
        source(zone)
    );
    if let Some(expires) = zone.expires {
        text += &format!("expiry    {}\n", expiry(expires));
    }
    for problem in &zone.problems {
        text += &format!("problem   {problem}\n");
    }
    if let Some(summary) = summary(zone.errors, zone.warnings) {
        text += &format!("found     {summary}\n");
    }
    for finding in &zone.findings {
        text += &format!("finding   {finding}\n");
    }
    if let Some(catalog) = &zone.member_of {
        text += &format!("member of {catalog}\n");
    }
    if let Some(secondary) = &zone.secondary {
        text += &format!("secondary {secondary}\n");
    }
    text += &zone.transfers_in.as_deref().map_or_else(String::new, transfers_in_text);
    text += &zone.transfers.as_ref().map_or_else(String::new, transfers_text);
    for NoticeLine { remote, serial, state, seconds } in &zone.notices {
        text += &format!("notify    {remote}: serial {serial}, {state}, {} ago\n", Seconds(*seconds));
    }
    text
}

/// What came of asking others for a zone.
fn transfers_in_text(transfers: &TransfersIn) -> String {
    let TransfersIn { checks, axfr, ixfr, in_vain, last, primaries } = transfers;
    let mut text = format!(
        "received  {}: {} by AXFR, {} by IXFR; {} answered, {} in vain\n",
        count((*axfr + *ixfr) as usize, "transfer"),
        grouped(*axfr),
        grouped(*ixfr),
        count(*checks as usize, "check"),
        grouped(*in_vain)
    );
    if let Some(TransferIn {
        what,
        primary,
        serial,
        versions,
        records,
        left_out,
        octets: came,
        millis,
        seconds,
    }) = last
    {
        let versions = if *versions > 1 { format!(", {versions} versions") } else { String::new() };
        let left =
            if *left_out > 0 { format!(" ({} not of the zone)", grouped(*left_out)) } else { String::new() };
        text += &format!(
            "received last by {what} from {primary} {} ago: serial {serial}{versions}, {}{left}, {}, {}.{:03} s\n",
            Seconds(*seconds),
            count(*records as usize, "record"),
            octets(*came),
            millis / 1000,
            millis % 1000
        );
    }
    for PrimaryLine { name, state, problem, advice, seconds } in primaries {
        let problem = problem.as_ref().map_or_else(String::new, |problem| {
            let advice = advice.as_ref().map_or_else(String::new, |advice| format!(" ({advice})"));
            format!("; {} ago it {problem}{advice}", Seconds(*seconds))
        });
        text += &format!("primary   {name}: {state}{problem}\n");
    }
    text
}

/// Who got a zone.
fn transfers_text(transfers: &TransfersOut) -> String {
    let TransfersOut { now, begun, completed, broken, refused, octets: sent, last } = transfers;
    let mut text = format!(
        "sent      {}: {} complete, {} broken off, {now} under way; {}; {} refused\n",
        count(*begun as usize, "transfer"),
        grouped(*completed),
        grouped(*broken),
        octets(*sent),
        grouped(*refused)
    );
    if let Some(last) = last {
        let at = Timestamp(last.at as u32);
        let key = last.key.as_ref().map_or_else(String::new, |key| format!(", key {key}"));
        let problem =
            last.problem.as_ref().map_or_else(String::new, |problem| format!("; broken off: {problem}"));
        let TransferLine { client, what, serial, records, .. } = last;
        text += &format!(
            "sent last {what} of serial {serial}, {}, to {client}{key} at {at:#}{problem}\n",
            count(*records as usize, "record")
        );
    }
    text
}

fn upgraded_text(upgraded: &Upgraded) -> String {
    let Upgraded { pid, version, old_pid, milliseconds } = upgraded;
    let after = Span(Duration::from_millis(*milliseconds));
    format!(
        "process {pid} (version {version}) is the server now, after {after}; process {old_pid} ends once its TCP connections do\n"
    )
}

fn show_change(change: &ChangeLine) -> bool {
    complain(change.warnings.iter().chain(&change.errors).map(String::as_str));
    let is_refused = !change.errors.is_empty() && change.failed.is_empty() && change.loaded == 0;
    is_refused || print(&format!("{} ({:.1} ms)\n", change.summary, change.milliseconds))
}

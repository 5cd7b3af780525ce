//! `zonda ctl`

mod cache;
mod catalog;
mod commands;
mod server;
mod store;
mod top;
mod transfers;
mod zone;

use std::path::{Path, PathBuf};

use control::Settings;
use control::client::ask;
use control::command::{
    CacheCommand, ChangeLine, LogLevel, PageAddress, Reply, Request, Response, TextLine, Why,
};
use control::text::{Seconds, grouped};

use self::cache::{
    anchor_text, cache_entry_text, cache_stats_text, explanation_text, request_text, server_heads,
    server_text,
};
use self::catalog::catalog_text;
use self::commands::{Command, request};
use self::server::{limited_text, locks_text, log_text, stats_text, status_text, upgraded_text};
use self::store::store_text;
use self::top::top_text;
use self::zone::{zone_row, zone_text};
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
  zonda ctl top --seconds 10
  zonda ctl log
  zonda ctl log-level debug
  zonda ctl query-log off
  zonda ctl locks --on
  zonda ctl catalog confirm catalog.example
  zonda ctl store confirm customers
  zonda ctl api-key revoke acme
  zonda ctl page
  zonda ctl freeze dyn.example
  zonda ctl explain-update dyn.example --from 192.0.2.7 --key dhcp. host.dyn.example A AAAA
  zonda ctl cache flush --tree example.com
  zonda ctl servers www.example.com
  zonda ctl upgrade

Exit status: 0 all went well, 1 the server could not be reached or something is wrong, 2 wrong usage. For `status` something is wrong where a
zone is absent or stale, signatures have expired, or packs cannot be stored; for `zones` where a zone that it shows is so, for
`catalog` where one is broken, has no data, or waits; for `store` where one cannot be read, has zones that cannot be served, or waits.";

/// Asks; says whether all went well.
pub fn run(arguments: &Arguments) -> bool {
    let path = socket(arguments.socket.as_deref(), arguments.config.as_deref());
    match path.and_then(|path| converse(arguments, &path)) {
        Ok(ok) => ok,
        Err(problem) => {
            complain(problem.lines());
            false
        }
    }
}

/// Where the server is found: its control socket, or a file of settings that says where that is.
pub(super) fn socket(path: Option<&Path>, config: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = path {
        return Ok(path.to_owned());
    }
    let settings = match config {
        None => Settings::default(),
        Some(file) => Settings::read(file)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?,
    };
    control::socket::path(&settings).ok_or_else(|| "which server? Give --socket or --config".into())
}

/// Asks the server, and prints what it says.
fn converse(arguments: &Arguments, path: &Path) -> Result<bool, String> {
    let request = request(&arguments.command)?;
    let is_listing = matches!(request, Request::Zones { zone: None, .. });
    let mut printed = true;
    let mut is_kept = false;
    // Only above something that a server said.
    let mut is_headed = !is_listing || arguments.json;
    let heading = || {
        let (state, serial, records, signed, zone) = ("state", "serial", "records", "signed", "zone");
        print(&format!("{state:<7} {serial:>10} {records:>12} {signed:<6} {zone:<40} source\n"))
    };
    let mut has_servers = false;
    let ok = ask(path, &request, &mut |line, reply| {
        if !is_headed && matches!(reply, Reply::Zone(_)) {
            is_headed = true;
            printed &= heading();
        }
        printed &= match (arguments.json, reply) {
            (true, _) => print(&format!("{line}\n")),
            (false, Reply::Status(status)) => print(&status_text(&status)),
            (false, Reply::Stats(stats)) => print(&stats_text(&stats)),
            (false, Reply::Top(top)) => print(&top_text(&top)),
            (false, Reply::RateLimit(limited)) => print(&limited_text(&limited)),
            (false, Reply::Locks(locks)) => print(&locks_text(&locks)),
            (false, Reply::LogLine(line)) => {
                is_kept = true;
                print(&log_text(&line))
            }
            (false, Reply::LogLevel(LogLevel { level, was })) => print(&match level == was {
                true => format!("the log level is {level}\n"),
                false => format!("the log level is {level}, was {was}\n"),
            }),
            (false, Reply::Zone(zone)) if is_listing => print(&zone_row(&zone)),
            (false, Reply::Zone(zone)) => print(&zone_text(&zone)),
            (false, Reply::Catalog(catalog)) => print(&catalog_text(&catalog)),
            (false, Reply::Store(store)) => print(&store_text(&store)),
            (false, Reply::Confirmed { text }) => print(&format!("{text}\n")),
            (false, Reply::Page(page)) => print(&page_text(&page)),
            (false, Reply::Change(change)) => show_change(&change),
            (false, Reply::Text(TextLine { zone, message, .. })) => {
                print(&format!("zone {zone}: {message}\n"))
            }
            (false, Reply::Explained(explained)) => print(&(explained.lines.join("\n") + "\n")),
            (false, Reply::CacheStats(stats)) => print(&cache_stats_text(&stats)),
            (false, Reply::CacheEntry(entry)) => {
                is_kept = true;
                print(&cache_entry_text(&entry))
            }
            (false, Reply::Flushed { entries }) => print(&format!(
                "{} {} forgotten\n",
                grouped(entries),
                if entries == 1 { "entry" } else { "entries" }
            )),
            (false, Reply::Written { entries }) => print(&format!("{} entries written\n", grouped(entries))),
            (false, Reply::NegativeAnchor { name, seconds }) => {
                print(&format!("{name} for {}\n", Seconds(seconds)))
            }
            (false, Reply::Anchor(anchor)) => print(&anchor_text(&anchor)),
            (false, Reply::Request(request)) => print(&request_text(&request)),
            (false, Reply::Explanation(explanation)) => print(&explanation_text(&explanation)),
            (false, Reply::Why(why)) => print(&why_text(&why)),
            (false, Reply::Server(server)) => {
                let heads =
                    if std::mem::replace(&mut has_servers, true) { String::new() } else { server_heads() };
                print(&(heads + &server_text(&server)))
            }
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
    if let Request::Cache { cache: CacheCommand::Show { name } } = &request
        && ok
        && !is_kept
        && !arguments.json
    {
        printed &= print(&format!("nothing is kept of {name}\n"));
    }
    if request == Request::Log && ok && !is_kept && !arguments.json {
        printed &= print("no warnings and no errors since the start\n");
    }
    if request == Request::Stop && ok && !arguments.json {
        printed &= print("stopping\n");
    }
    Ok(ok && printed)
}

/// The way step by step, then the response as `dig` writes it.
fn why_text(why: &Why) -> String {
    let mut text = String::new();
    why.steps.iter().for_each(|step| text += &format!("{:<10} {}\n", step.about, step.words));
    let Some(Response { status, octets, flags, answer, authority, additional }) = &why.response else {
        return text;
    };
    let flags = if flags.is_empty() { String::new() } else { format!(", {flags}") };
    text += &format!("{:<10} {status}{flags}, {octets} octets\n", "response");
    for (name, lines) in [("answer", answer), ("authority", authority), ("additional", additional)] {
        if !lines.is_empty() {
            text += &format!("\n{name}\n{}\n", lines.join("\n"));
        }
    }
    text
}

/// Where the page is, the address on a line of its own.
fn page_text(page: &PageAddress) -> String {
    let PageAddress { address, tunnel, seconds } = page;
    match tunnel {
        Some(line) => format!(
            "first, where the browser is:\n  {line}\nthen in the browser, once, within {seconds} s:\n  {address}\n"
        ),
        None => format!("in a browser, once, within {seconds} s:\n  {address}\n"),
    }
}

fn show_change(change: &ChangeLine) -> bool {
    complain(change.warnings.iter().chain(&change.errors).map(String::as_str));
    let is_refused = !change.errors.is_empty() && change.failed.is_empty() && change.loaded == 0;
    is_refused || print(&format!("{} ({:.1} ms)\n", change.summary, change.milliseconds))
}

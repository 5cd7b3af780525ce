//! `zonda store`

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use control::text::count;
use serde_json::{Value, json};
use store::{Access, Database, Fault, Meta, Version};
use wire::NameBuf;

use super::{complain, print};

mod at;
mod edit;
mod editor;
mod export;
mod given;
mod history;
mod import;
mod kept;
mod powerdns;
mod source;
mod trim;

use at::At;

/// Keep zones in a database, with all their versions: a file of SQLite, or a server of PostgreSQL.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  zonda store init zones.db
  zonda store import zones.db example.com=example.com.zone
  zonda store import zones.db --folder /etc/zonda/zones
  zonda store import zones.db --from-config /etc/zonda/zonda.toml
  zonda store import zones.db --from-powerdns /var/lib/powerdns/pdns.sqlite3
  zonda store edit zones.db example.com --why \"ticket 4711\"
  zonda store history zones.db example.com --diff
  zonda store export zones.db example.com >example.com.zone
  zonda store trim zones.db --days 90 --octets-max 1073741824
  zonda store init postgres://zonda@db.example.net/dns --password-file /etc/zonda/store.password

Exit status: 0 fine, 1 a finding or failure, 2 wrong usage.

Notes: a server serves a store that it has as a [[store]].";

#[derive(Subcommand)]
enum Command {
    /// Make a store without zones
    Init {
        #[command(flatten)]
        at: At,
    },
    /// Have a copy of a store, or one that was moved to another cluster or database, be the store from here on
    Adopt {
        #[command(flatten)]
        at: At,
    },
    Import(import::Arguments),
    Export(export::Arguments),
    Edit(edit::Arguments),
    History(history::Arguments),
    /// Make a version of a zone that says that all of it is to be read, whatever is known to have changed
    Touch {
        #[command(flatten)]
        at: At,
        /// Name of the zone
        #[arg(value_parser = name)]
        zone: NameBuf,
        #[command(flatten)]
        said: Said,
    },
    Trim(trim::Arguments),
}

/// What a version says of itself.
#[derive(clap::Args)]
struct Said {
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Print one JSON object for each zone
    #[arg(long)]
    json: bool,
}

/// What could not be done, as lines.
type Lines = Vec<String>;

fn name(text: &str) -> Result<NameBuf, String> {
    control::wanted::zone_name(text)
}

/// Does it; says whether all went well.
pub fn run(arguments: &Arguments) -> bool {
    let done = match &arguments.command {
        Command::Init { at } => init(at),
        Command::Adopt { at } => adopt(at),
        Command::Import(arguments) => import::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Edit(arguments) => edit::run(arguments),
        Command::History(arguments) => history::run(arguments),
        Command::Touch { at, zone, said } => touch(at, zone, said),
        Command::Trim(arguments) => trim::run(arguments),
    };
    done.unwrap_or_else(|lines| {
        complain(lines.iter().map(String::as_str));
        false
    })
}

fn init(at: &At) -> Result<bool, Lines> {
    let store = at.with(Database::create)?;
    Ok(print(&format!("{at}: a store without zones, identity {}\n", store.identity())))
}

fn adopt(at: &At) -> Result<bool, Lines> {
    let store = at.with(Database::adopt)?;
    Ok(print(&format!("{at}: the store {} from here on\n", store.identity())))
}

fn touch(at: &At, zone: &NameBuf, said: &Said) -> Result<bool, Lines> {
    let (mut store, who) = (open(at)?, who());
    let version = again(|| {
        let mut writer = store.writer()?;
        let version = writer.touch(zone, &meta(&who, said.why.as_deref()))?;
        writer.commit()?;
        Ok(version)
    })
    .map_err(|fault| at.told(&fault))?;
    Ok(print(&match said.json {
        true => format!("{}\n", as_json(&version)),
        false => format!("zone {zone}: serial {}, to be read as a whole\n", version.serial),
    }))
}

/// How often what crossed with somebody else's transaction is done once more: others have gone on each time, so that it ends.
const AGAIN_MAX: u32 = 10;

/// Does something that others may cross, until it went well or failed for another reason.
fn again<T>(mut act: impl FnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    for _ in 0..AGAIN_MAX {
        match act() {
            Err(Fault::Crossed(_)) => {}
            done => return done,
        }
    }
    act()
}

/// Opens a store to write.
fn open(at: &At) -> Result<Database, Lines> {
    at.open(Access::Write)
}

/// Opens a store to read, with what others changed by plain SQL made into versions as far as that may be: of one zone or of all.
fn open_to_read(at: &At, zone: Option<&wire::Name>) -> Result<(Database, bool), Lines> {
    let opened = at.with(|place| match Database::open(place, Access::Write) {
        Err(Fault::NotOurs { .. }) => Database::open(place, Access::Read),
        other => other,
    });
    let (told, mut store) = (|fault: &Fault| at.told(fault), opened?);
    let is_fine = match store.close_pending(zone, now()) {
        Ok(closing) => {
            closing.refused.iter().for_each(|fault| complain(told(fault).iter().map(String::as_str)));
            closing.refused.is_empty()
        }
        Err(fault) if store::open::is_for_want_of_rights(&fault) => {
            let pending = store.pending_count().map_err(|fault| told(&fault))?;
            let zones = count(pending, "zone");
            complain([format!(
                "{at}: {zones} changed by plain SQL: no versions of that yet, as the file cannot be written"
            )
            .as_str()]);
            true
        }
        Err(fault) => return Err(told(&fault)),
    };
    Ok((store, is_fine))
}

/// Text of a database, for a terminal: who wrote it by SQL may have switched off the constraints that keep control characters out.
fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown.into()
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Who runs this: the user's name, by `sudo` that of who asked for it.
fn who() -> String {
    let uid = nix::unistd::Uid::current();
    let by_sudo = std::env::var("SUDO_USER").ok().filter(|name| uid.is_root() && !name.is_empty());
    let named = || nix::unistd::User::from_uid(uid).ok().flatten().map(|user| user.name);
    by_sudo.or_else(named).unwrap_or_else(|| uid.to_string())
}

fn meta<'m>(who: &'m str, why: Option<&'m str>) -> Meta<'m> {
    Meta { at: now(), who: Some(who), why }
}

fn as_json(version: &Version) -> Value {
    json!({
        "version": version.id, "zone": version.zone, "serial": version.serial, "mark": version.mark,
        "kind": version.kind.word(), "rows": version.rows, "at": version.at, "who": version.who, "why": version.why,
    })
}

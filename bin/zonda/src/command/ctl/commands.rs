//! The commands of `zonda ctl`, and what each asks of the server.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use control::command::{self, Request, Switch, ZoneState};

#[derive(Subcommand)]
pub(super) enum Command {
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
    /// Who asks most and for what, and the counts that `zonda top` makes rates of
    Top {
        /// How long to look before the answer
        #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=60))]
        seconds: u64,
    },
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
    /// The last warnings and errors of the log, the latest at the end; one that came again is one line with how often
    Log,
    /// Which messages the log has; with LEVEL: from now on, until the next start or until the settings say another
    LogLevel {
        /// Least important messages that are written
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(control::log::LEVELS))]
        level: Option<String>,
    },
    /// Put the copy of queries for collectors (`[dnstap]`) off or on, until its settings change, or close and open what it is written to
    Dnstap {
        /// What becomes of it
        #[arg(value_parser = Switch::WORDS)]
        switch: String,
    },
    /// The same of the lines about queries (`[query-log]`)
    QueryLog {
        /// What becomes of them
        #[arg(value_parser = Switch::WORDS)]
        switch: String,
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
    /// Stores whose zones are served: state, zones, what waits
    Store {
        #[command(subcommand)]
        command: Option<StoreCommand>,
    },
    /// Keys of the HTTP API: letting one in no more
    ApiKey {
        #[command(subcommand)]
        command: ApiKeyCommand,
    },
    /// Print where the page of the HTTP API is, an address that lets its reader in: once, within two minutes
    Page {
        /// Sign everybody out instead, whoever has signed in, and have no code that was printed let anybody in
        #[arg(long)]
        end: bool,
    },
    /// The cache of the resolver: how much it holds, what it knows of a name, forgetting
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Names that the resolver does not validate for a while, as they are broken (RFC 7646); lists them all
    NegativeAnchor {
        /// One more: from this name on downwards
        name: Option<String>,
        /// For how long
        #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=604_800), requires = "name")]
        seconds: u64,
        /// Validate it again
        #[arg(long, requires = "name", conflicts_with = "seconds")]
        remove: bool,
    },
    /// The trust anchors of the resolver: which keys are trusted, and which may be (RFC 5011)
    Anchors,
    /// What the resolver is finding out now, for whom, and whom it asks
    Requests,
    /// Find something out anew from the root on, and say who said what, what was validated by which key and what breaks; status 1 if it fails
    Explain {
        /// The name
        name: String,
        /// The type
        #[arg(value_name = "TYPE", default_value = "A")]
        rtype: String,
    },
    /// Why a question is answered as it is from the zones of this server: zone, names, wildcards, cuts, proofs, signatures, and the response; status 1 if that is SERVFAIL
    Why {
        /// The name
        name: String,
        /// The type
        #[arg(value_name = "TYPE", default_value = "A")]
        rtype: String,
        /// As if it came over TCP
        #[arg(long)]
        tcp: bool,
        /// With DO, as resolvers that validate ask
        #[arg(long)]
        dnssec: bool,
        /// Say too whether access lists let a client at this address ask, unsigned
        #[arg(long, value_name = "ADDRESS")]
        from: Option<IpAddr>,
    },
    /// The servers that the resolver asks about a name, and how they do
    Servers {
        /// The name
        name: String,
    },
    /// Write the texts of zones that updates have changed, each as a whole or not at all
    Sync {
        /// Write these
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        zones: Vec<String>,
        /// Write those of all zones that have changed
        #[arg(long)]
        all: bool,
        /// Write also what includes other files, which it does not any more then, and what was edited in a way that cannot be taken in, which is kept as FILE.replaced
        #[arg(long)]
        force: bool,
    },
    /// Refuse updates of a zone from now on, also after a restart, and write its text, so that it can be edited
    Freeze {
        /// A zone that has a text
        zone: String,
        /// As for `sync`
        #[arg(long)]
        force: bool,
    },
    /// Read the text of a zone that is frozen, serve what was edited with a new serial, and let updates in again
    Thaw {
        /// The zone
        zone: String,
        /// Instead: go on with a zone that takes no updates as its log is damaged, as it is served now
        #[arg(long)]
        accept_loss: bool,
    },
    /// Say whether an update would be let in, and which lists and rules say so; status 1 if not
    ExplainUpdate {
        /// The zone
        zone: String,
        /// Address that it comes from
        #[arg(long, value_name = "ADDRESS")]
        from: String,
        /// Key that signs it
        #[arg(long, value_name = "NAME")]
        key: Option<String>,
        /// It comes over TCP
        #[arg(long)]
        tcp: bool,
        /// Name that is to be changed
        name: String,
        /// Types of what is to be changed there
        #[arg(required = true)]
        types: Vec<String>,
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
pub(super) enum CatalogCommand {
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

#[derive(Subcommand)]
pub(super) enum StoreCommand {
    /// Show one, with the zones that are not served as it has them and why
    Show {
        /// A store of the settings
        store: String,
    },
    /// Let go on what waits, as it is more than `remove-max` allows: zones that the store has no more are served no more, and older ones are. Or take another
    /// database for the store
    Confirm {
        /// A store of the settings
        store: String,
    },
}

#[derive(Subcommand)]
pub(super) enum ApiKeyCommand {
    /// Let a key in no more, at once and also after a restart, though the settings have it: once this returns nothing more comes of what is asked with it, and what came of it before is on stable storage
    Revoke {
        /// The name of an [[api-key]] of the settings
        name: String,
    },
    /// Let keys in again, where none is as the file of those that were revoked is damaged: there are no more than it shows, and those revoked since
    Confirm,
}

/// What of the cache.
#[derive(Subcommand)]
pub(super) enum CacheCommand {
    /// Entries, memory, what left it and why
    Stats,
    /// All that it knows of a name, with what is left of each TTL
    Show {
        /// The name
        name: String,
    },
    /// Write it to `state-directory` now, as the end of the server does
    Write,
    /// Forget what it knows of a name, at once for all clients
    Flush {
        /// The name
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        name: Option<String>,
        /// Forget also what is below the name
        #[arg(long, conflicts_with = "all")]
        tree: bool,
        /// Forget everything
        #[arg(long)]
        all: bool,
    },
}

fn cache_request(command: &CacheCommand) -> Request {
    let cache = match command {
        CacheCommand::Stats => command::CacheCommand::Stats,
        CacheCommand::Write => command::CacheCommand::Write,
        CacheCommand::Show { name } => command::CacheCommand::Show { name: name.clone() },
        CacheCommand::Flush { name, tree, .. } => {
            command::CacheCommand::Flush { name: name.clone(), tree: *tree }
        }
    };
    Request::Cache { cache }
}

/// What is asked of the server.
pub(super) fn request(command: &Command) -> Result<Request, String> {
    Ok(match command {
        Command::Status => Request::Status,
        Command::Zones { zone, state } => {
            Request::Zones { zone: zone.clone(), state: state.as_deref().and_then(ZoneState::named) }
        }
        Command::Stats => Request::Stats,
        Command::Top { seconds } => Request::Top { seconds: Some(*seconds) },
        Command::RateLimit => Request::RateLimit,
        Command::Locks { on, off, clear } => {
            Request::Locks { on: (*on || *off).then_some(*on), clear: *clear }
        }
        Command::Log => Request::Log,
        Command::LogLevel { level } => Request::LogLevel { level: level.clone() },
        Command::Dnstap { switch } => Request::Dnstap { switch: switched(switch)? },
        Command::QueryLog { switch } => Request::QueryLog { switch: switched(switch)? },
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
        Command::Store { command: None } => Request::Stores { store: None },
        Command::Store { command: Some(StoreCommand::Show { store }) } => {
            Request::Stores { store: Some(store.clone()) }
        }
        Command::Store { command: Some(StoreCommand::Confirm { store }) } => {
            Request::ConfirmStore { store: store.clone() }
        }
        Command::ApiKey { command: ApiKeyCommand::Revoke { name } } => {
            Request::RevokeApiKey { key: name.clone() }
        }
        Command::ApiKey { command: ApiKeyCommand::Confirm } => Request::ConfirmApiKeys,
        Command::Page { end: true } => Request::EndPageSessions,
        Command::Page { end: false } => Request::Page,
        Command::Cache { command } => cache_request(command),
        Command::NegativeAnchor { name, seconds, remove } => {
            let anchor = match name.clone() {
                None => command::NegativeCommand::List,
                Some(name) if *remove => command::NegativeCommand::Remove { name },
                Some(name) => command::NegativeCommand::Add { name, seconds: *seconds },
            };
            Request::NegativeAnchor { anchor }
        }
        Command::Anchors => Request::Anchors,
        Command::Requests => Request::Requests,
        Command::Explain { name, rtype } => Request::Explain { name: name.clone(), rtype: rtype.clone() },
        Command::Why { name, rtype, tcp, dnssec, from } => {
            Request::Why { name: name.clone(), rtype: rtype.clone(), tcp: *tcp, dnssec: *dnssec, from: *from }
        }
        Command::Servers { name } => Request::Servers { name: name.clone() },
        Command::AddZone { zone, file, catalog, group } => Request::AddZone {
            zone: zone.clone(),
            file: absolute(file)?,
            catalog: catalog.clone(),
            groups: group.clone(),
        },
        Command::Sync { zones, all, force } => {
            Request::Sync { zones: zones.clone(), all: *all, force: *force }
        }
        Command::Freeze { zone, force } => Request::Freeze { zone: zone.clone(), force: *force },
        Command::Thaw { zone, accept_loss } => {
            Request::Thaw { zone: zone.clone(), accept_loss: *accept_loss }
        }
        Command::ExplainUpdate { zone, from, key, tcp, name, types } => Request::ExplainUpdate {
            zone: zone.clone(),
            from: from.clone(),
            key: key.clone(),
            tcp: *tcp,
            name: name.clone(),
            types: types.clone(),
        },
        Command::Upgrade { program, wait } => Request::Upgrade {
            program: program.as_deref().map(absolute).transpose()?,
            wait_seconds: Some(*wait),
        },
        Command::RemoveZone { zone } => Request::RemoveZone { zone: zone.clone() },
        Command::Stop => Request::Stop,
    })
}

/// A word that was looked at when it was read.
fn switched(word: &str) -> Result<Switch, String> {
    Switch::named(word).ok_or_else(|| format!("{word}: expected one of {}", Switch::WORDS.join(", ")))
}

/// A path for the server, whose current folder is another.
fn absolute(path: &Path) -> Result<String, String> {
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = path.to_str().ok_or_else(|| format!("{}: expected a path in UTF-8", path.display()))?;
    Ok(text.to_owned())
}

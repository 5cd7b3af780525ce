//! Zonda, the server of this project, and other builds of it.

use std::{
    collections::BTreeSet,
    fmt::Write,
    path::{Path, PathBuf},
};

use super::{
    ANCHOR, ANSWERS_A_SECOND, ANSWERS_IN_ALL, HINTS, Job, KEY_ALGORITHM, KEY_NAME, KEY_SECRET, Resolving,
    Role, SLIP, Setup, Source, named,
    resolving::{STALE_AFTER_MS, STALE_SECONDS},
    rights,
    role::{API_ADDRESS, API_KEY_HASH},
};
use crate::{data::Zones, recipe::Watched};

/// Where it keeps what changes, in its folder.
pub const PACKS: &str = "packs";

/// Queries of which one is logged.
const LOGGED_ONE_IN: u32 = 100;

/// Limits that nobody reaches: every answer is counted, and none is held back.
const LIMITS: &str = r"[rate-limit]
enabled = true
responses-per-second = 65535
network-per-second = 65535
wide-multiple = 1
total-per-second = 100000000
";

/// With rate limits that nobody reaches.
pub fn limited(job: &Job<'_>) -> Setup {
    let setup = setup(&job.programs.zonda, job);
    Setup { head: format!("{}{LIMITS}\n", setup.head), ..setup }
}

/// A build of it.
pub fn setup(program: &Path, job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        r#"[server]
listen = ["{}"]
workers = {}
minimal-responses = true
receive-buffer-octets = {}
{}{}
[control]
socket = "{folder}/control.sock"

[log]
level = "{}"

{}{}{}"#,
        job.address,
        job.workers,
        job.receive_octets,
        if job.bounds.answers_anew { "keep-answers = false\n" } else { "" },
        kept(job),
        if job.bounds.merge_percent.is_some() { "info" } else { "warn" },
        role(job),
        limits(job),
        watched(job)
    );
    let mut zones = names_file(job).or_else(|| store(job)).unwrap_or_default();
    let list = if zones.is_empty() { &job.zones.list[..] } else { &[] };
    for (apex, path) in list {
        let source = match (job.source, job.role) {
            (Some(Source::Pack(pack)), _) => format!("pack = \"{}\"", pack.display()),
            (_, Role::Secondary { .. }) => "primaries = [\"primary\"]".to_owned(),
            _ => format!("file = \"{}\"", path.display()),
        };
        let _ = writeln!(zones, "[[zone]]\nname = \"{apex}\"\n{source}");
        if job.role == Role::Api {
            let _ = writeln!(zones, "update-policy = \"lab\"");
        }
        if let Some(octets) = job.bounds.history_octets {
            let _ = writeln!(zones, "ixfr-octets = {octets}");
        }
        zones.push('\n');
    }
    let program = program.to_string_lossy();
    let command = Setup::words(&[&program, "serve", "--config", &format!("{folder}/zonda.toml")]);
    let reload = Setup::words(&[&program, "ctl", "--socket", &format!("{folder}/control.sock"), "reload"]);
    Setup { file: "zonda.toml", head, zones, command, reload, ..Setup::default() }
}

/// Whom it tells of queries.
fn watched(job: &Job<'_>) -> String {
    let folder = job.folder.display();
    match job.bounds.watched {
        None | Some(Watched::Nothing | Watched::Numbers) => String::new(),
        Some(Watched::QueryLog) => {
            format!("[query-log]\noutput = \"file:{folder}/queries\"\none-in = {LOGGED_ONE_IN}\n\n")
        }
        Some(Watched::Dnstap) => format!("[dnstap]\noutput = \"file:{folder}/dnstap\"\n\n"),
    }
}

/// How often a network gets the same answer, and all together one kind of them.
fn limits(job: &Job<'_>) -> String {
    if !job.bounds.limits_answers {
        return String::new();
    }
    format!(
        "[rate-limit]\nenabled = true\nresponses-per-second = {ANSWERS_A_SECOND}\ntotal-per-second = {ANSWERS_IN_ALL}\nslip = {SLIP}\n\n"
    )
}

/// Zones of a list of names, where there are so many that they have one.
fn names_file(job: &Job<'_>) -> Option<String> {
    let is_static = job.role == Role::Static && !matches!(job.source, Some(Source::Store(..)));
    listed(job.zones).filter(|_| is_static)
}

fn listed(zones: &Zones) -> Option<String> {
    let names = zones.names.as_ref()?;
    let (list, file) = (names.list.display(), names.file.display());
    Some(format!("[[zone]]\nnames-file = \"{list}\"\nfile = \"{file}\"\n\n"))
}

/// Sections of settings that have zones in their files, and nothing else.
pub fn in_files(zones: &Zones) -> String {
    let one = |(apex, path): &(String, PathBuf)| {
        format!("[[zone]]\nname = \"{apex}\"\nfile = \"{}\"\n\n", path.display())
    };
    listed(zones).unwrap_or_else(|| zones.list.iter().map(one).collect())
}

/// Most zones of a store that settings name.
const STORE_NAMES_MAX: usize = 64;

/// Zones of a store: a few by their names, as those of one label are left out else, or all.
fn store(job: &Job<'_>) -> Option<String> {
    let Some(Source::Store(file, _)) = job.source else { return None };
    let names: Vec<String> = job.zones.list.iter().map(|(apex, _)| format!("\"{apex}\"")).collect();
    let zones = match names.len() {
        0..=STORE_NAMES_MAX => format!("zones = [{}]\n", names.join(", ")),
        _ => String::new(),
    };
    Some(format!("[[store]]\nname = \"lab\"\nurl = \"sqlite:{}\"\n{zones}\n", file.display()))
}

/// Where what changes is kept. What does not change is read anew each time, as by the others, unless packs are what is measured.
fn kept(job: &Job<'_>) -> String {
    match job.source {
        Some(Source::Packs(folder) | Source::Store(_, Some(folder))) => {
            return format!("pack-directory = \"{}\"\n", folder.display());
        }
        Some(Source::Store(_, None)) => {
            return format!("pack-directory = \"{}/{PACKS}\"\n", job.folder.display());
        }
        Some(Source::Pack(_)) | None => {}
    }
    match job.role {
        Role::Dynamic { .. } | Role::Api | Role::Secondary { keeps: true, .. } => {
            let log = job.bounds.log_octets.map(|octets| format!("journal-octets = {octets}\n"));
            let merge = job.bounds.merge_percent.map(|percent| format!("merge-percent = {percent}\n"));
            let bounds = log.unwrap_or_default() + &merge.unwrap_or_default();
            let user = match job.role {
                Role::Api if rights::is_root() => {
                    let number = rights::NOBODY;
                    format!("user = \"{number}\"\ngroup = \"{number}\"\n")
                }
                _ => String::new(),
            };
            format!("{user}pack-directory = \"{}/{PACKS}\"\n{bounds}", job.folder.display())
        }
        Role::Static
        | Role::Reloaded
        | Role::Primary
        | Role::Resolver { .. }
        | Role::Secondary { keeps: false, .. } => String::new(),
    }
}

/// What a role asks for of the server.
fn role(job: &Job<'_>) -> String {
    match job.role {
        Role::Static | Role::Reloaded => String::new(),
        Role::Resolver { .. } => resolver(job),
        Role::Primary => "[access]\ntransfer = \"all\"\n\n".to_owned(),
        Role::Api => api(job),
        Role::Dynamic { is_signed: false } => "[access]\ntransfer = \"all\"\nupdate = \"all\"\n\n".to_owned(),
        Role::Dynamic { is_signed: true } => format!(
            "[[key]]\nname = \"{KEY_NAME}\"\nalgorithm = \"{KEY_ALGORITHM}\"\nsecret = \"{KEY_SECRET}\"\n\n\
             [[acl]]\nname = \"lab\"\nkeys = [\"{KEY_NAME}\"]\n\n[access]\ntransfer = \"all\"\nupdate = \"lab\"\n\n"
        ),
        Role::Secondary { primary, .. } => {
            format!(
                "[access]\ntransfer = \"all\"\n\n[[remote]]\nname = \"primary\"\naddresses = [\"{primary}\"]\n\n"
            )
        }
    }
}

/// What it is told of its API: one key, which may change all.
fn api(job: &Job<'_>) -> String {
    // All below the names that they are in, as a list of a thousand says no more.
    let above = |(apex, _): &(String, _)| {
        named::bare(apex).split_once('.').map(|(_, above)| format!("\"*.{above}.\""))
    };
    let zones: BTreeSet<String> = job.zones.list.iter().filter_map(above).collect();
    let zones = zones.into_iter().collect::<Vec<_>>().join(", ");
    format!(
        "[api]\nlisten = [\"{API_ADDRESS}:{}\"]\n\n[[api-key]]\nname = \"lab\"\nhash = \"{API_KEY_HASH}\"\nverbs = [\"change\"]\n\
         zones = [{zones}]\nrules = [\"grant zonesub ANY\"]\n\n[[update-policy]]\nname = \"lab\"\n\
         rules = [\"grant api:lab zonesub ANY\"]\n\n",
        job.address.port()
    )
}

/// What it is told as a resolver. Servers may be on the loopback interface here.
fn resolver(job: &Job<'_>) -> String {
    let Resolving { cache_octets, waiting, serves_stale, keeps, .. } = job.bounds.resolving;
    let validate = match job.role.anchor() {
        Some(_) => format!("trust-anchor-file = \"{ANCHOR}\""),
        None => "validate = false".to_owned(),
    };
    let mut text = format!(
        "[access]\nrecursion = \"all\"\n\n[resolver]\nenabled = true\nroot-hints = \"{HINTS}\"\nnever-ask = []\n\
         {validate}\nipv6 = false\ncache-octets = {cache_octets}\nwaiting = {waiting}\n"
    );
    if serves_stale {
        let _ = writeln!(text, "stale-seconds = {STALE_SECONDS}\nstale-after-ms = {STALE_AFTER_MS}");
    }
    if keeps {
        let _ = writeln!(text, "state-directory = \"{}/state\"", job.folder.display());
    }
    text + "\n"
}

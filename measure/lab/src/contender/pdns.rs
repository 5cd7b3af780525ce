//! PowerDNS with its BIND backend and all of its caches, as its performance chapter advises: packets, queries, the list of
//! zones, their metadata and keys. A thread a worker asks the backend itself, without a queue between them.
//!
//! The backend knows from a database alone which zones are signed already: its own tool makes one for those, or, as Debian's of
//! version 5 cannot load that backend, `sqlite3` does.

use std::{fmt::Write, sync::OnceLock};

use super::{Job, Role, Setup, named};
use crate::{
    data::{Signatures, Zones},
    peers::{self, Folder},
    process,
};

/// How long all stays in its caches: longer than any run.
const CACHE_SECONDS: u32 = 86_400;
/// The same of a secondary: what is asked for while a new version comes in may be kept from the old one, however long that is.
const CACHE_SECONDS_SECONDARY: u32 = 1;
/// What makes the database, of the same package.
const TOOL: &str = "pdnsutil";
/// The tables of the database, as the backend makes and asks them.
const TABLES: &str = "\
CREATE TABLE domainmetadata (id INTEGER PRIMARY KEY, domain VARCHAR(255) COLLATE NOCASE, kind VARCHAR(32) COLLATE NOCASE, content TEXT);
CREATE INDEX domainmetanameindex ON domainmetadata(domain);
CREATE TABLE cryptokeys (id INTEGER PRIMARY KEY, domain VARCHAR(255) COLLATE NOCASE, flags INT NOT NULL, active BOOL, published BOOL DEFAULT 1, content TEXT);
CREATE INDEX domainnameindex ON cryptokeys(domain);
CREATE TABLE tsigkeys (id INTEGER PRIMARY KEY, name VARCHAR(255) COLLATE NOCASE, algorithm VARCHAR(50) COLLATE NOCASE, secret VARCHAR(255));
CREATE UNIQUE INDEX namealgoindex ON tsigkeys(name, algorithm);
";
/// Name of the file with what `sqlite3` is told.
const STATEMENTS: &str = "dnssec.sql";
/// Parameters of NSEC3 as the laboratory signs: SHA-1, no flags, no further iterations, no salt (RFC 9276 3.1).
const NSEC3_PARAMETERS: &str = "1 0 0 -";

/// Why its answers differ, in versions up to 5.1: found by asking 4.7.3 and 5.1.5.
pub const OTHERWISE: &str = "no setting keeps it from answering SERVFAIL for names with octets that host names do not have, and from \
                             adding DS records to referrals that nobody asked signatures for, of which some are then truncated";

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let mut head =
        format!("launch=bind\nbind-config={folder}/zones.conf\n{}{}", common(job), options(job.role));
    let settings = format!("--config-dir={folder}");
    // Of a zone that is `native` nobody is told; `primary` is a word of its later versions only.
    let (mut before, mut files) = (Vec::new(), vec![("zones.conf", zones(job))]);
    if job.zones.signatures != Signatures::None {
        let database = format!("{folder}/dnssec.db");
        let _ = writeln!(head, "bind-dnssec-db={database}");
        if has_tool() {
            before = with_tool(&settings, &database, job.zones);
        } else {
            files.push((STATEMENTS, statements(job.zones)));
            before.push(Setup::words(&["sqlite3", "-batch", &database, &format!(".read {STATEMENTS}")]));
        }
    }
    Setup {
        file: "pdns.conf",
        head,
        files,
        before,
        command: Setup::words(&["pdns_server", &settings]),
        ..Setup::default()
    }
}

/// What holds whichever backend it has.
pub fn common(job: &Job<'_>) -> String {
    let folder = job.folder.display();
    let seconds = match job.role {
        Role::Secondary { .. } => CACHE_SECONDS_SECONDARY,
        _ => CACHE_SECONDS,
    };
    // Of the seven this one keeps whole answers; of what they are made from the others keep parts.
    let packets = if job.bounds.answers_anew { 0 } else { seconds };
    let caches: String = [
        "query-cache-ttl",
        "negquery-cache-ttl",
        "zone-cache-refresh-interval",
        "zone-metadata-cache-ttl",
        "domain-metadata-cache-ttl",
        "dnssec-key-cache-ttl",
    ]
    .map(|cache| format!("{cache}={seconds}\n"))
    .concat();
    let caches = format!("cache-ttl={packets}\n{caches}");
    let mut text = format!(
        "local-address={}
local-port={}
receiver-threads={}
distributor-threads=1
reuseport={}
consistent-backends=yes
{caches}any-to-tcp=no
socket-dir={folder}
daemon=no
guardian=no
disable-syslog=yes
loglevel=4
log-dns-queries=no
version-string=anonymous
security-poll-suffix=
",
        job.address.ip(),
        job.address.port(),
        job.workers,
        if job.workers > 1 { "yes" } else { "no" }
    );
    if let Some(modules) = peers::chosen().and_then(Folder::powerdns_modules) {
        let _ = writeln!(text, "module-dir={}", modules.display());
    }
    text
}

/// Whether its tool can make the database, as those before 5 can; of one that does not tell its version an old one is taken.
fn has_tool() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let version = process::said(&["pdns_server", "--no-config", "--version"]).unwrap_or_default();
        let number = version.split("Authoritative Server ").nth(1).and_then(|rest| rest.split('.').next());
        number.and_then(|number| number.parse::<u32>().ok()).is_none_or(|number| number < 5)
    })
}

/// Has the tool make the database and say of each zone that it is signed.
fn with_tool(settings: &str, database: &str, zones: &Zones) -> Vec<Vec<String>> {
    let mut before = Vec::new();
    let mut tool = |words: &[&str]| before.push(Setup::words(&[&[TOOL, settings], words].concat()));
    tool(&["create-bind-db", database]);
    for (apex, _) in &zones.list {
        if zones.signatures == Signatures::Nsec3 {
            tool(&["set-nsec3", apex, NSEC3_PARAMETERS]);
        }
        tool(&["set-presigned", apex]);
    }
    before
}

/// Statements that do the same.
fn statements(zones: &Zones) -> String {
    let mut text = format!("BEGIN;\n{TABLES}");
    for (apex, _) in &zones.list {
        let mut add = |kind: &str, content: &str| {
            let _ = writeln!(
                text,
                "INSERT INTO domainmetadata (domain, kind, content) VALUES ('{}', '{kind}', '{content}');",
                named::bare(apex).replace('\'', "''")
            );
        };
        if zones.signatures == Signatures::Nsec3 {
            add("NSEC3PARAM", NSEC3_PARAMETERS);
        }
        add("PRESIGNED", "1");
    }
    text + "COMMIT;\n"
}

/// What a role asks for of the server.
fn options(role: Role) -> &'static str {
    match role {
        Role::Static | Role::Reloaded | Role::Api | Role::Resolver { .. } => "",
        Role::Dynamic { .. } | Role::Primary => "allow-axfr-ips=0.0.0.0/0\n",
        Role::Secondary { .. } => "allow-axfr-ips=0.0.0.0/0\nsecondary=yes\nxfr-cycle-interval=1\n",
    }
}

/// The zones in BIND's words.
fn zones(job: &Job<'_>) -> String {
    let Role::Secondary { primary, .. } = job.role else { return named::zones(job, "native") };
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let (bare, file) = (named::bare(apex), path.display());
        let _ =
            writeln!(zones, "zone \"{bare}\" {{ type slave; file \"{file}\"; masters {{ {primary}; }}; }};");
    }
    zones
}

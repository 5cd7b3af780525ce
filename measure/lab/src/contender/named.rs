//! BIND 9: as many threads as workers, no recursion; `rrset-order none` and minimal responses as its performance notes
//! advise. As a resolver it has a place for each query that may wait. Where zones come in, as many transfers and questions about serials as there are zones to ask for.

use std::{fmt::Write, net::SocketAddr, sync::OnceLock};

use super::{
    ANSWERS_A_SECOND, HINTS, Job, KEY_ALGORITHM, KEY_NAME, KEY_SECRET, Resolving, Role, SLIP, Setup,
    resolving::STALE_SECONDS,
};
use crate::process;

/// The program that gives it commands, and Debian's package of that.
pub const CONTROL: &str = "rndc";
/// See [`CONTROL`].
pub const CONTROL_PACKAGE: &str = "bind9-utils";
/// Where it takes them: on Linux the loopback interface has all of 127.0.0.0/8.
const CONTROL_ADDRESS: &str = "127.0.0.2";
/// The file that has the key for it.
const KEY_FILE: &str = "rndc.key";

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    // Without, one named keeps the next from starting; from 9.20 on there are neither locks nor the option.
    let lock = if has_locks() { "  lock-file none;\n" } else { "" };
    let head = format!(
        r#"options {{
  directory "{folder}";
  pid-file "{folder}/named.pid";
  session-keyfile "{folder}/session.key";
{lock}{}  recursion {};
  minimal-responses yes;
  rrset-order {{ order none; }};
  notify no;
  dnssec-validation {};
  querylog no;
  empty-zones-enable no;
  check-integrity no;
  statistics-file "{folder}/stats";
{}{}}};
{}
logging {{ category default {{ null; }}; category unmatched {{ null; }}; }};
"#,
        listen(job.address),
        if matches!(job.role, Role::Resolver { .. }) { "yes" } else { "no" },
        if job.role.anchor().is_some() { "yes" } else { "no" },
        options(job),
        limits(job),
        controls(job)
    );
    let (port, secret) = (job.address.port().to_string(), format!("{folder}/{KEY_FILE}"));
    let reload = [CONTROL, "-k", &secret, "-y", KEY_NAME, "-s", CONTROL_ADDRESS, "-p", &port, "reload"];
    let files = if job.role == Role::Reloaded { vec![(KEY_FILE, key(job.role))] } else { Vec::new() };
    let command = ["named", "-f", "-n", &job.workers.to_string(), "-c", &format!("{folder}/named.conf")];
    Setup {
        file: "named.conf",
        head,
        zones: key(job.role) + &changing(job),
        files,
        command: Setup::words(&command),
        reload: Setup::words(&reload),
        ..Setup::default()
    }
}

/// Where it takes commands, if there are to be any: it does so over TCP only. The port is that of its answers, at an address of
/// the loopback interface where it gives none.
fn controls(job: &Job<'_>) -> String {
    match job.role {
        Role::Reloaded => format!(
            "controls {{ inet {CONTROL_ADDRESS} port {} allow {{ 127.0.0.0/8; }} keys {{ \"{KEY_NAME}\"; }}; }};",
            job.address.port()
        ),
        _ => "controls { };".to_owned(),
    }
}

/// How often a network gets the same answer. Clients with a good cookie are not limited by themselves.
fn limits(job: &Job<'_>) -> String {
    if !job.bounds.limits_answers {
        return String::new();
    }
    format!("  rate-limit {{ responses-per-second {ANSWERS_A_SECOND}; slip {SLIP}; }};\n")
}

/// Where it listens: at one address, of one of the two families.
fn listen(address: SocketAddr) -> String {
    let own = format!("port {} {{ {}; }}", address.port(), address.ip());
    let (four, six) =
        if address.is_ipv4() { (own.as_str(), "{ none; }") } else { ("{ none; }", own.as_str()) };
    format!("  listen-on {four};\n  listen-on-v6 {six};\n")
}

/// Whether this named takes a lock, as those before 9.19 do; one that does not tell its version is taken for an old one.
fn has_locks() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let version = process::first_line(&["named", "-v"]).unwrap_or_default();
        let minor = version.strip_prefix("BIND 9.").and_then(|rest| rest.split('.').next());
        minor.and_then(|minor| minor.parse::<u32>().ok()).is_none_or(|minor| minor < 19)
    })
}

/// What a role asks for of the server.
fn options(job: &Job<'_>) -> String {
    let more = match job.role {
        Role::Static | Role::Reloaded | Role::Api => return String::new(),
        Role::Resolver { .. } => {
            let Resolving { cache_octets, waiting, serves_stale, .. } = job.bounds.resolving;
            let waiting = waiting * job.workers;
            let mut text = format!(
                "  allow-recursion {{ any; }};\n  allow-query-cache {{ any; }};\n  max-cache-size {cache_octets};\n  recursive-clients {waiting};\n"
            );
            if serves_stale {
                // It cannot be told to wait: what has expired is given where asking failed, and at once for 30 s after.
                let _ = writeln!(
                    text,
                    "  stale-cache-enable yes;\n  stale-answer-enable yes;\n  max-stale-ttl {STALE_SECONDS};\n  stale-answer-ttl 30;"
                );
            }
            return text;
        }
        Role::Dynamic { .. } | Role::Primary => "  transfers-out 1000;\n",
        Role::Secondary { .. } => {
            "  transfers-in 100;\n  transfers-per-ns 100;\n  serial-query-rate 10000;\n"
        }
    };
    let journal = job.bounds.history_octets.map_or_else(|| "1g".to_owned(), |octets| octets.to_string());
    format!("  allow-transfer {{ any; }};\n{more}  max-journal-size {journal};\n")
}

fn key(role: Role) -> String {
    match role {
        Role::Dynamic { is_signed: true } | Role::Reloaded => {
            format!("key \"{KEY_NAME}\" {{ algorithm {KEY_ALGORITHM}; secret \"{KEY_SECRET}\"; }};\n")
        }
        _ => String::new(),
    }
}

/// The zones with what their role asks for.
fn changing(job: &Job<'_>) -> String {
    let more = match job.role {
        Role::Static | Role::Reloaded | Role::Api | Role::Primary => return zones(job, "primary"),
        Role::Resolver { anchor, .. } => {
            let hints = format!("zone \".\" {{ type hint; file \"{}/{HINTS}\"; }};\n", job.folder.display());
            let words = anchor.map(|anchor| anchor.words());
            let anchor =
                words.as_deref().and_then(|words| words.rsplit_once(' ')).map(|(numbers, digest)| {
                    format!("trust-anchors {{ \".\" static-ds {numbers} \"{digest}\"; }};\n")
                });
            return hints + &anchor.unwrap_or_default();
        }
        Role::Dynamic { is_signed: false } => "type primary; allow-update { any; };".to_owned(),
        Role::Dynamic { is_signed: true } => {
            format!("type primary; allow-update {{ key \"{KEY_NAME}\"; }};")
        }
        Role::Secondary { primary, .. } => {
            format!("type secondary; primaries {{ {} port {}; }};", primary.ip(), primary.port())
        }
    };
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let file = match job.role {
            // Without a file nothing is kept.
            Role::Secondary { keeps: false, .. } => String::new(),
            _ => format!(" file \"{}\";", path.display()),
        };
        let _ = writeln!(zones, "zone \"{}\" {{ {more}{file} }};", bare(apex));
    }
    zones
}

/// A name as BIND's settings have it: without its final dot.
pub fn bare(apex: &str) -> &str {
    Some(apex.trim_end_matches('.')).filter(|bare| !bare.is_empty()).unwrap_or(".")
}

/// The zones in BIND's words, which PowerDNS reads too, if of another `kind`.
pub fn zones(job: &Job<'_>, kind: &str) -> String {
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let _ = writeln!(zones, "zone \"{}\" {{ type {kind}; file \"{}\"; }};", bare(apex), path.display());
    }
    zones
}

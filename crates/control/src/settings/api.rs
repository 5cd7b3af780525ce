//! `[api]` and `[[api-key]]`: zones over HTTP, where, and for whom.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use api::frame::SESSION_NAME_OCTETS_MAX;
use change::Policy;
use change::policy::{API_NAME_OCTETS_MAX, is_api_name, of_api_key};
use observe::Output;
use toml::de::DeTable;
use transfer::catalog_zone::Allowed;
use web::pair::{LISTENERS_MAX, Terms};
use wire::NameBuf;

use super::Settings;
use super::access::{Place, prefix};
use super::catalogs::allowed;
use super::declare::section;
use super::http::{Wrong, check_clients};
use super::lasting::Lasting;
use super::problem::Report;
use super::sections::ZoneSettings;
use super::value::{Names, Range};
use crate::api::{Key, hash_from_text, time_of_date, verb};
use crate::sources::Rules;

/// Keys: each is a customer's or a program's.
const KEYS_MAX: usize = 1024;

/// Rules of a key: each is looked at for each RRset.
const RULES_MAX: usize = 64;

/// What `verbs` may have.
const VERBS: &str =
    "\"read\", \"change\", \"act\", \"make\", \"set\", \"drop\", \"explain\", \"server\" or \"observe\"";

/// Name servers that zones are made with: as many as a client may name.
const NAMESERVERS_MAX: usize = 64;

/// How long a session of the page may last: below a minute it would be over before that could be said, and beyond a month nobody knows any more who has signed in.
const PAGE_TIME_MIN: Lasting = Lasting::seconds(60);
const PAGE_TIME_MAX: Lasting = Lasting::seconds(30 * 86_400);

/// Characters of the page's name: more has no place in a title, and so many fit into what sessions are told, whatever their alphabet.
const PAGE_NAME_MAX: usize = 63;
const _: () = assert!(PAGE_NAME_MAX * 4 <= SESSION_NAME_OCTETS_MAX);

/// Zones of a key, as they are written.
const ZONES_MAX: usize = 1024;

/// Networks of a key: looked through one by one for each ask.
const FROM_MAX: usize = 64;

section! {
    /// Zones over HTTP, read and changed by programs: an API as PowerDNS has it, given by a process of its own. In clear text on addresses of this machine alone, with a certificate over TLS
    /// on any. Zones that are changed need an `update-policy`. A server that runs as root has none, so set `user` in `[server]` where one starts as root.
    pub struct ApiSettings in "api" {
        /// Addresses to listen on, each with its port; without `certificate` of this machine alone (127.0.0.0/8, ::1). Empty: there is no API.
        listen: Vec<SocketAddr> = Vec::new(), Range::Any, start;
        /// File with the certificate that clients are shown, in PEM: the server's own first, then those that lead to an authority. With it all is over TLS 1.2 or 1.3, and nothing in clear text. What is
        /// in it is read again by `zonda ctl reconfigure` and each minute; connections go on. Empty: no TLS.
        certificate: PathBuf = PathBuf::new(), Range::Any, start;
        /// File with its private key, in PEM and not encrypted, closed to others. Empty: it is in the file of the certificate.
        certificate_key: PathBuf = PathBuf::new(), Range::Any, start;
        /// File with authorities, in PEM, of which one has to have signed the certificate that a client shows (TLS with client certificates), besides its key: with others nobody speaks. Read again
        /// as `certificate` is; connections go on. What an authority has revoked is not asked for. Empty: clients need no certificate.
        client_ca: PathBuf = PathBuf::new(), Range::Any, start;
        /// Clients that are read from; others are not.
        allow: Names = Names::from(vec!["127.0.0.0/8".into(), "::1".into()]), Range::Texts("an address or prefix such as \"192.0.2.0/24\""), start;
        /// Names that a request may be for (`Host`), beside addresses and the names of the certificate: others are refused, so that no page in a browser can have it ask this server.
        names: Names = Names::one("localhost"), Range::TextsOrNone("a name such as \"ns1.example.com\""), start;
        /// Where it is written who changed what: `file:PATH`, a line of JSON for each ask of a key that would change something, done or refused. Ten files of 64 MiB are kept. Empty: nowhere.
        audit: String = String::new(), Range::Any, start;
        /// Names of zones that may be made over it, by keys that may `make`; `*.example.` are all below that name. None: none are made.
        zones: Names = Names::default(), Range::TextsOrNone("a domain name such as \"*.example.\""), live;
        /// The `[[template]]` with the rules of zones that are made: who may query, transfer and change them (`update-policy`), who is told of changes. It has to stay as long as there are any.
        template: String = String::new(), Range::Any, live;
        /// Name servers of a zone that is made without any.
        default_ns: Names = Names::default(), Range::TextsOrNone("the name of a server such as \"ns1.example.com.\""), live;
        /// Whether keys may make a zone below one that is served here though their rules, and those of that zone, do not let them delegate its name there.
        below: bool = false, Range::Any, live;
        /// How many zones may be made: each is a file, and some hundred octets of memory.
        zones_max: u32 = 100_000, Range::Number("zones", 1, 1_000_000), live;
        /// Whether there is a page at `/`, to look at what this server does in a browser. `zonda ctl page` says where, and lets its reader in; keys do too, for what they read.
        page: bool = false, Range::Any, start;
        /// What the page calls this server, in its title and above each view. Empty: by the name of the host.
        page_name: String = String::new(), Range::Any, start;
        /// How long somebody stays signed in at the page without doing anything.
        page_idle: Lasting = Lasting::seconds(3_600), Range::Lasting(PAGE_TIME_MIN, PAGE_TIME_MAX), start;
        /// How long at the most. A screen on a wall has both times long.
        page_session: Lasting = Lasting::seconds(12 * 3_600), Range::Lasting(PAGE_TIME_MIN, PAGE_TIME_MAX), start;
    }
}

/// What holds for zones that are made over the API.
#[derive(Clone, Debug)]
pub(crate) struct MadeTerms {
    /// Which may be made.
    pub(crate) zones: Allowed,
    /// What they have.
    pub(crate) rules: Rules,
    /// Name servers of those that come without.
    pub(crate) default_ns: Vec<NameBuf>,
    /// Whether the zone above has nothing to say.
    pub(crate) below: bool,
    /// How many there may be.
    pub(crate) zones_max: usize,
}

section! {
    /// Who may do what over the API. `zonda api-key new NAME` prints such a section with a new secret, which is shown once and kept nowhere. A change needs the rules of the key and those of the
    /// zone's `update-policy`, where the key is `api:NAME`.
    pub struct ApiKeySettings in "api-key" {
        /// Its name, for rules and the log: letters, digits, `-`, `_` and `.`.
        name: String = String::new(), Range::Any, live;
        /// `sha256:` and the hash of its secret.
        hash: String = String::new(), Range::Any, live;
        /// What it may do: `read` zones and records, `change` records and tell secondaries (`notify`), `act` (ask primaries, `axfr-retrieve`); `make` zones with all that is in them, `set` the fields of
        /// these, `drop` them; `explain`: be told which rules of its own and of zones decide what it may change; `server`: see how the server is, its numbers
        /// (`statistics`) and names of TSIG keys; `observe`: see what others ask.
        verbs: Names = Names::one("read"), Range::Texts(VERBS), live;
        /// Of which zones; `*.example.` are all below that name. Others are not there for it.
        zones: Names = Names::default(), Range::Texts("a domain name such as \"*.example.\""), live;
        /// What it may change: rules as those of `[[update-policy]]` without the name of a key, of which the first that fits decides. None: nothing.
        rules: Names = Names::default(), Range::TextsOrNone("a rule such as \"grant label _acme-challenge TXT\""), live;
        /// Networks that it is a key for, as `allow` of `[api]` has them: from elsewhere it is as one that nobody knows. None: wherever it comes from. Behind a proxy all come from there.
        from: Names = Names::default(), Range::TextsOrNone("an address or prefix such as \"192.0.2.0/24\""), live;
        /// The day (UTC) from whose beginning on it is no key any more, such as "2027-06-01". Empty: none.
        expires: String = String::new(), Range::Any, live;
    }
}

impl ApiSettings {
    /// Who is answered.
    pub(crate) fn terms(&self) -> Terms {
        let is_secure = !self.certificate.as_os_str().is_empty();
        Terms { is_secure, page: self.page, ..super::http::terms(&self.allow, &self.names) }
    }

    /// What the page calls the server.
    pub(crate) fn called(&self) -> String {
        if self.page_name.is_empty() { host_name() } else { self.page_name.clone() }
    }
}

/// The name of the host, without what no host's name has: it stands in commands to be copied.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_of_hosts = |one: &char| one.is_ascii_alphanumeric() || matches!(one, '-' | '.' | '_');
    let name: String = name.chars().filter(is_of_hosts).take(PAGE_NAME_MAX).collect();
    let name = name.trim_start_matches('-');
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// Whether a character is seen as what it is: neither controls nor what turns or hides others is.
fn is_of_a_name(character: &char) -> bool {
    character.is_alphanumeric() || character.is_ascii_punctuation() || *character == ' '
}

/// What is wrong with a section: its key, the item of a list, the text.
type Fault = (&'static str, Option<usize>, String);

impl Settings {
    /// The keys of settings without faults.
    pub(crate) fn compiled_api_keys(&self) -> Vec<Key> {
        self.api_keys.iter().filter_map(|key| compile(key).ok()).collect()
    }

    /// Reports what is wrong with the API. `table`: of the whole file, for the places.
    pub(super) fn check_api(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let ApiSettings { listen, certificate, certificate_key, allow, names, audit, .. } = &self.api;
        let ApiSettings { page, page_name, .. } = &self.api;
        let place = Place { table, section: "api", at: None };
        let mut wrong: Wrong<'_> = Box::new(|key, item, text| place.report(report, key, item, text));
        check_clients((listen, allow, names), &mut wrong);
        let is_secure = !certificate.as_os_str().is_empty();
        for (at, address) in listen.iter().enumerate().take(LISTENERS_MAX) {
            if !is_secure && !address.ip().to_canonical().is_loopback() {
                let text = format!(
                    "expected `certificate` too, or an address of this machine alone, such as \"127.0.0.1:8081\", found {address}: keys and zones would pass in clear text"
                );
                wrong("listen", Some(at), text);
            }
        }
        if !audit.is_empty() && !matches!(Output::parse(audit), Some(Output::File(_))) {
            wrong("audit", None, format!("expected \"file:PATH\", found {audit:?}"));
        }
        if !is_secure && !certificate_key.as_os_str().is_empty() {
            wrong("certificate-key", None, "expected `certificate` too, found none".into());
        }
        if !is_secure && !self.api.client_ca.as_os_str().is_empty() {
            wrong("client-ca", None, "expected `certificate` too, found none".into());
        }
        if *page && listen.is_empty() {
            wrong("page", None, "expected `listen` too, found none".into());
        }
        let is_name =
            page_name.chars().count() <= PAGE_NAME_MAX && page_name.chars().all(|one| is_of_a_name(&one));
        if !is_name {
            let text = format!(
                "expected at most {PAGE_NAME_MAX} letters, digits, blanks and signs of ASCII, found {page_name:?}"
            );
            wrong("page-name", None, text);
        }
        drop(wrong);
        for (key, item, text) in self.made_terms().err().unwrap_or_default() {
            place.report(report, key, item, text);
        }
        self.check_api_keys(table, report);
    }

    /// What holds for zones that are made; `None`: none are. The error: all that is wrong with it.
    pub(crate) fn made_terms(&self) -> Result<Option<MadeTerms>, Vec<Fault>> {
        let ApiSettings { zones, template, default_ns, below, zones_max, .. } = &self.api;
        let mut faults: Vec<Fault> = Vec::new();
        if zones.texts().len() > ZONES_MAX {
            let text = format!("expected at most {ZONES_MAX}, found {}", zones.texts().len());
            faults.push(("zones", None, text));
        }
        let (allowed, wrong) = allowed(zones.texts(), ZONES_MAX);
        faults.extend(wrong.into_iter().map(|(at, text)| ("zones", Some(at), text)));
        let mut servers = Vec::new();
        for (at, text) in default_ns.texts().iter().enumerate() {
            match NameBuf::from_text(text).ok().filter(|_| !text.is_empty() && at < NAMESERVERS_MAX) {
                Some(name) => servers.push(name),
                None => {
                    let text = format!("expected {NAMESERVERS_MAX} names of servers at most, found {text:?}");
                    faults.push(("default-ns", Some(at), text));
                }
            }
        }
        if template.is_empty() {
            if !zones.is_empty() {
                let text = "expected `template` beside it: the rules of zones that are made";
                faults.push(("zones", None, text.into()));
            }
            return if faults.is_empty() { Ok(None) } else { Err(faults) };
        }
        let of_template = self.templates.iter().find(|(_, other)| other.own.name == *template);
        let Some((_, of_template)) = of_template else {
            faults.push((
                "template",
                None,
                format!("expected the name of a [[template]], found {template:?}"),
            ));
            return Err(faults);
        };
        faults.extend(template_fault(self, &of_template.zone).map(|text| ("template", None, text.into())));
        match faults.is_empty() {
            true => Ok(Some(MadeTerms {
                zones: allowed,
                rules: of_template.zone.rules(),
                default_ns: servers,
                below: *below,
                zones_max: *zones_max as usize,
            })),
            false => Err(faults),
        }
    }

    fn check_api_keys(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let (mut names, mut hashes) = (HashSet::new(), HashSet::new());
        for (at, key) in self.api_keys.iter().enumerate() {
            let place = Place { table, section: "api-key", at: Some(at) };
            if at == KEYS_MAX {
                let text = format!("expected at most {KEYS_MAX} keys, found {}", self.api_keys.len());
                place.report(report, "name", None, text);
                break;
            }
            for (key, item, text) in compile(key).err().unwrap_or_default() {
                place.report(report, key, item, text);
            }
            let changes = key.verbs.texts().iter().position(|word| &**word == "change");
            if changes.is_some() && self.server.pack_directory.as_os_str().is_empty() {
                let text =
                    "expected `pack-directory` in [server] too, found none: what is changed is kept there";
                place.report(report, "verbs", changes, text.into());
            }
            if !names.insert(key.name.as_str()) {
                place.report(
                    report,
                    "name",
                    None,
                    format!("expected each name once, found {:?} twice", key.name),
                );
            }
            if !hashes.insert(key.hash.to_ascii_lowercase()) {
                place.report(
                    report,
                    "hash",
                    None,
                    "expected each secret once, found one of another key".into(),
                );
            }
        }
    }
}

/// What is wrong with a template for zones that are made.
fn template_fault(settings: &Settings, zone: &ZoneSettings) -> Option<&'static str> {
    if !zone.primaries.is_empty() {
        return Some(
            "expected a [[template]] without `primaries`: zones that are made come from nobody else",
        );
    }
    if zone.mirror || zone.forward_updates {
        return Some(
            "expected a [[template]] without `mirror` and `forward-updates`: they are about zones of others",
        );
    }
    if zone.update_policy.is_empty() {
        return Some("expected a [[template]] with `update-policy`: who may change zones once they are made");
    }
    let has_folder = !settings.server.pack_directory.as_os_str().is_empty();
    (!has_folder).then_some("expected `pack-directory` in [server] too: what is made is kept there")
}

/// A key of the section, or all that is wrong with it.
fn compile(key: &ApiKeySettings) -> Result<Key, Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    if !is_api_name(&key.name) {
        let text = format!(
            "expected 1 to {API_NAME_OCTETS_MAX} letters, digits, `-`, `_` and `.`, found {:?}",
            key.name
        );
        faults.push(("name", None, text));
    }
    let hash = hash_from_text(&key.hash);
    if hash.is_none() {
        let text =
            "expected \"sha256:\" and 64 hexadecimal digits, as `zonda api-key new` prints them".into();
        faults.push(("hash", None, text));
    }
    let mut verbs = 0;
    for (at, word) in key.verbs.texts().iter().enumerate() {
        match verb(word) {
            Some(verb) => verbs |= verb.0,
            None => {
                faults.push(("verbs", Some(at), format!("expected {VERBS}, found {word:?}")));
            }
        }
    }
    if key.zones.is_empty() {
        faults.push(("zones", None, "expected a domain name such as \"*.example.\", found none".into()));
    }
    for (what, most, found) in
        [("zones", ZONES_MAX, key.zones.texts().len()), ("rules", RULES_MAX, key.rules.texts().len())]
    {
        if found > most {
            faults.push((what, None, format!("expected at most {most}, found {found}")));
        }
    }
    let (zones, wrong) = allowed(key.zones.texts(), ZONES_MAX);
    faults.extend(wrong.into_iter().map(|(at, text)| ("zones", Some(at), text)));
    let mut rules = Vec::new();
    for (at, rule) in key.rules.texts().iter().enumerate() {
        match of_api_key(rule) {
            Ok(rule) => rules.push(rule),
            Err(fault) => faults.push(("rules", Some(at), format!("{fault}, found {rule:?}"))),
        }
    }
    let mut from = Vec::new();
    for (at, text) in key.from.texts().iter().enumerate() {
        match prefix(text) {
            Ok((_, true)) => faults.push(("from", Some(at), format!("expected no \"!\", found {text:?}"))),
            Ok((prefix, false)) => from.push(prefix),
            Err(fault) => faults.push(("from", Some(at), fault)),
        }
    }
    if from.len() > FROM_MAX {
        faults.push(("from", None, format!("expected at most {FROM_MAX}, found {}", from.len())));
    }
    let expires = (!key.expires.is_empty()).then(|| time_of_date(&key.expires));
    if expires == Some(None) {
        let text = format!("expected a day such as \"2027-06-01\", found {:?}", key.expires);
        faults.push(("expires", None, text));
    }
    let policy = Policy::new(rules.iter().map(String::as_str)).unwrap_or_default();
    match hash {
        Some(hash) if faults.is_empty() => {
            let verbs = api::frame::Verbs(verbs);
            let expires = expires.flatten();
            Ok(Key { settings: key.clone(), hash, verbs, zones, policy, from, expires })
        }
        _ => Err(faults),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::Path;

    fn problems(text: &str) -> Vec<String> {
        let problems = Settings::parse(Path::new("f"), text).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_wrong_is_told_where_it_is() {
        let hash = format!("sha256:{}", "0".repeat(64));
        for (text, place, word) in [
            ("[api]\nlisten = [\"192.0.2.1:8081\"]", "f:2:11", "clear text"),
            ("[api]\nlisten = [\"127.0.0.1:8081\", \"0.0.0.0:8081\"]", "f:2:29", "this machine"),
            ("[api]\nlisten = [\"127.0.0.1\"]", "f:2:11", "port"),
            ("[api]\ncertificate-key = \"x\"", "f:2:19", "certificate"),
            ("[api]\nclient-ca = \"x\"", "f:2:13", "certificate"),
            ("[api]\naudit = \"syslog\"", "f:2:9", "file:PATH"),
            ("[api]\npage = 1", "f:2:8", "true or false"),
            ("[api]\npage = true", "f:2:8", "`listen` too"),
            ("[api]\npage-name = \"ns1\u{202e}\"", "f:2:13", "at most 63 letters"),
            ("[api]\npage-idle = \"59s\"", "f:2:13", "from \"1m\" to \"30d\""),
            ("[api]\npage-idle = 3600", "f:2:13", "such as \"90s\""),
            ("[api]\npage-session = \"31d\"", "f:2:16", "from \"1m\" to \"30d\""),
            ("[api]\nclient-cert = \"x\"", "f:2:1", "unknown key"),
            ("[[api-key]]\nname = \"a b\"\nhash = HASH\nzones = \"x\"", "f:2:8", "letters"),
            ("[[api-key]]\nname = \"a\"\nhash = \"md5:00\"\nzones = \"x\"", "f:3:8", "sha256"),
            (
                "[[api-key]]\nname = \"a\"\nhash = HASH\nzones = \"x\"\nverbs = [\"read\", \"write\"]",
                "f:5:18",
                "read",
            ),
            (
                "[[api-key]]\nname = \"a\"\nhash = HASH\nzones = \"x\"\nverbs = [\"read\", \"change\"]",
                "f:5:18",
                "pack-directory",
            ),
            ("[[api-key]]\nname = \"a\"\nhash = HASH", "f:1:1", "zones: expected a domain name"),
            (
                "[[api-key]]\nname = \"a\"\nhash = HASH\nzones = \"x\"\nrules = [\"grant self\"]",
                "f:5:10",
                "no name",
            ),
            (
                "[[api-key]]\nname = \"a\"\nhash = HASH\nzones = \"x\"\nexpires = \"2027-02-30\"",
                "f:5:11",
                "a day",
            ),
            (
                "[[api-key]]\nname = \"a\"\nhash = HASH\nzones = \"x\"\nfrom = \"127.0.0.1/8\"",
                "f:5:8",
                "127.0.0.0/8",
            ),
            (
                "[[api-key]]\nname = \"a\"\nhash = HASH\nzones = \"x\"\nfrom = \"!10.0.0.0/8\"",
                "f:5:8",
                "no \"!\"",
            ),
        ] {
            let found = problems(&text.replace("HASH", &format!("{hash:?}")));
            assert!(
                matches!(&*found, [one] if one.starts_with(place) && one.contains(word)),
                "{text}: {found:?}"
            );
        }
        let twice = format!("[[api-key]]\nname = \"a\"\nhash = \"{hash}\"\nzones = \"x\"\n").repeat(2);
        assert_eq!(problems(&twice).len(), 2);
    }

    /// With a certificate nothing passes in clear text, wherever it listens.
    #[test]
    fn with_tls_any_address_is_one() {
        let settings = |text: &str| Settings::parse(Path::new("/etc/f"), text).unwrap();
        let secure =
            settings("[api]\nlisten = [\"192.0.2.1:8443\", \"[::]:8443\"]\ncertificate = \"api.pem\"");
        assert!(secure.api.terms().is_secure);
        assert_eq!(secure.path(&secure.api.certificate), Path::new("/etc/api.pem"));
        assert!(!settings("[api]\nlisten = [\"127.0.0.1:8081\"]").api.terms().is_secure);
    }

    #[test]
    fn the_page() {
        let settings = |text: &str| Settings::parse(Path::new("f"), text).unwrap().api;
        let usual = settings("");
        assert_eq!(
            (usual.page, usual.page_idle, usual.page_session),
            (false, Lasting::seconds(3_600), Lasting::seconds(43_200))
        );
        assert!(!usual.terms().page && !usual.called().is_empty());
        let wall = settings(
            "[api]\nlisten = [\"127.0.0.1:8081\"]\npage = true\npage-name = \"ns1 (Zürich)\"\npage-idle = \"30d\"\npage-session = \"720h\"\n",
        );
        assert!(wall.terms().page && wall.page_idle == wall.page_session);
        assert_eq!(wall.called(), "ns1 (Zürich)");
    }

    #[test]
    fn what_zones_that_are_made_need() {
        const TEMPLATE: &str = "[[template]]\nname = \"t\"\n";
        const POLICY: &str =
            "update-policy = \"p\"\n[[update-policy]]\nname = \"p\"\nrules = [\"grant * zonesub\"]\n";
        const FOLDER: &str = "[server]\npack-directory = \"p\"\n";
        let api = "[api]\nzones = [\"*.x.\"]\ntemplate = \"t\"\n";
        for (text, word) in [
            ("[api]\nzones = [\"*.x.\"]\n".to_owned(), "expected `template` beside it"),
            (api.to_owned(), "expected the name of a [[template]]"),
            (format!("{FOLDER}{api}{TEMPLATE}"), "with `update-policy`"),
            (format!("{FOLDER}{api}{TEMPLATE}mirror = true\n"), "without `mirror`"),
            (
                format!(
                    "{FOLDER}{api}{TEMPLATE}primaries = \"r\"\n[[remote]]\nname = \"r\"\naddresses = [\"192.0.2.1\"]\n"
                ),
                "without `primaries`",
            ),
            (format!("{FOLDER}{}{TEMPLATE}{POLICY}", api.replace("*.x.", "a..b")), "a domain name"),
            (format!("{FOLDER}{api}default-ns = [\"\"]\n{TEMPLATE}{POLICY}"), "names of servers"),
        ] {
            let found = problems(&text);
            assert!(matches!(&*found, [one] if one.contains(word)), "{text}: {found:?}");
        }
        let text = format!("{FOLDER}{api}default-ns = [\"ns.x.\"]\n{TEMPLATE}{POLICY}");
        let terms = Settings::parse(Path::new("f"), &text).unwrap().made_terms().unwrap().unwrap();
        let name = |text: &str| text.parse::<NameBuf>().unwrap();
        assert!(terms.zones.allows(&name("a.X.")) && !terms.zones.allows(&name("x.")) && !terms.below);
        assert_eq!((terms.default_ns, terms.zones_max), (vec![name("ns.x.")], 100_000));
        // A template with a policy is for no zones that come from others.
        let more = format!("{text}[[catalog]]\nzone = \"c.\"\ntemplates = \"t\"\n");
        assert!(problems(&more).iter().any(|line| line.contains("expected no `update-policy`")));
        assert!(Settings::default().made_terms().unwrap().is_none());
    }

    /// None of the zones of a key is cut off: more than other lists have are read of its own.
    #[test]
    fn keys_of_many_zones() {
        let zones: Vec<String> = (0..ZONES_MAX).map(|number| format!("\"z{number}.\"")).collect();
        let text = format!(
            "[[api-key]]\nname = \"a\"\nhash = \"sha256:{}\"\nzones = [{}]\n",
            "ab".repeat(32),
            zones.join(", ")
        );
        let keys = Settings::parse(Path::new("f"), &text).unwrap().compiled_api_keys();
        let last = format!("z{}.", ZONES_MAX - 1).parse::<NameBuf>().unwrap();
        assert!(keys[0].may_see(&last));
    }

    #[test]
    fn keys_are_compiled() {
        let hash = format!("sha256:{}", "ab".repeat(32));
        let text = format!(
            "[server]\npack-directory = \"p\"\n[[api-key]]\nname = \"acme\"\nhash = \"{hash}\"\nverbs = [\"read\", \"change\"]\nzones = [\"*.x.\"]\n\
             rules = [\"grant label _acme-challenge TXT\"]\nexpires = \"1970-01-03\"\n"
        );
        let keys = Settings::parse(Path::new("f"), &text).unwrap().compiled_api_keys();
        let [key] = &keys[..] else { panic!("one key") };
        assert_eq!((key.hash, key.expires, key.verbs.0), ([0xab; 32], Some(2 * 86_400), 3));
        assert!(key.may_see(&"a.b.X.".parse::<wire::NameBuf>().unwrap()));
        assert!(!key.may_see(&"x.".parse::<wire::NameBuf>().unwrap()));
    }
}

//! The settings file: read as a whole, with all its problems at once.
//!
//! [`sections`] declares each setting once; [`declare`] makes structs, reading and the manual of it.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) mod access;
mod api;
mod catalogs;
mod declare;
mod http;
pub(crate) mod keys;
mod lasting;
mod manual;
mod problem;
mod remotes;
pub(crate) mod resolver;
mod sections;
mod stores;
mod update;
mod value;
mod zones;

pub use self::api::{ApiKeySettings, ApiSettings};
pub(crate) use self::api::{MadeTerms, host_name};
pub use access::OwnLists;
pub(crate) use access::machine_addresses;
pub use catalogs::CatalogSettings;
pub use http::HttpSettings;
pub(crate) use keys::closed_text;
pub use lasting::Lasting;
pub use manual::{man_page, markdown};
pub use problem::Problem;
pub(crate) use resolver::pin;
pub use resolver::{ForwardSettings, LocalZoneSettings, ResolverSettings, StubSettings};
pub use sections::{
    AccessSettings, AclSettings, ControlSettings, CookieSettings, DnstapSettings, KeySettings, LogSettings,
    QueryLogSettings, RateLimitSettings, RemoteSettings, SecondarySettings, ServerSettings, TcpSettings,
    UpdatePolicySettings, ZoneSettings,
};
pub use stores::StoreSettings;
pub(crate) use stores::{Listens, PostgresAddress, PostgresTerms, StorePlace, StoreTerms};
use update::WRITE_TEXT;
pub use update::{IxfrRules, UpdatePolicies, UpdateRules, UpdateTerms};
pub use value::{Names, Pinning, Secret, address};
pub use zones::{FolderSettings, OfZones, TemplateName, TemplateSettings, ZoneDirectorySettings};

use access::Place;
use declare::{Section, unknown};
use problem::Report;

use crate::observing;
use crate::read::read_bounded;

/// A settings file longer than this is none: a million `[[zone]]` entries take some 60 MB.
const FILE_OCTETS_MAX: u64 = 1 << 28;

/// Everything a settings file says, defaults filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The file they were read from, if any.
    pub file: Option<PathBuf>,
    /// `[server]`
    pub server: ServerSettings,
    /// `[tcp]`
    pub tcp: TcpSettings,
    /// `[cookies]`
    pub cookies: CookieSettings,
    /// `[access]`
    pub access: AccessSettings,
    /// `[[acl]]`
    pub acls: Vec<AclSettings>,
    /// `[[key]]`
    pub keys: Vec<KeySettings>,
    /// `[[update-policy]]`
    pub update_policies: Vec<UpdatePolicySettings>,
    /// `[[remote]]`
    pub remotes: Vec<RemoteSettings>,
    /// `[rate-limit]`
    pub rate_limit: RateLimitSettings,
    /// `[secondary]`
    pub secondary: SecondarySettings,
    /// `[resolver]`
    pub resolver: ResolverSettings,
    /// `[[forward]]`, each with its line.
    pub forwards: Vec<(usize, ForwardSettings)>,
    /// `[[stub]]`, each with its line.
    pub stubs: Vec<(usize, StubSettings)>,
    /// `[[local-zone]]`, each with its line.
    pub local_zones: Vec<(usize, LocalZoneSettings)>,
    /// `[control]`
    pub control: ControlSettings,
    /// `[http]`
    pub http: HttpSettings,
    /// `[api]`
    pub api: ApiSettings,
    /// `[[api-key]]`
    pub api_keys: Vec<ApiKeySettings>,
    /// `[log]`
    pub log: LogSettings,
    /// `[dnstap]`
    pub dnstap: DnstapSettings,
    /// `[query-log]`
    pub query_log: QueryLogSettings,
    /// `[[zone]]`, each with its line.
    pub zones: Vec<(usize, ZoneSettings)>,
    /// `[[zone-directory]]`, each with its line.
    pub zone_directories: Vec<(usize, ZoneDirectorySettings)>,
    /// `[[template]]`, each with its line.
    pub templates: Vec<(usize, TemplateSettings)>,
    /// `[[catalog]]`, each with its line.
    pub catalogs: Vec<(usize, CatalogSettings)>,
    /// `[[store]]`, each with its line.
    pub stores: Vec<(usize, StoreSettings)>,
}

impl Settings {
    /// Reads a file. Zone files are not looked at.
    pub fn read(file: &Path) -> Result<Settings, Vec<Problem>> {
        let whole = |text: String| vec![Problem { file: file.to_owned(), place: None, text }];
        let text = read_bounded(file, FILE_OCTETS_MAX).map_err(whole)?;
        Settings::parse(file, &text)
    }

    /// Reads the text of a file.
    pub fn parse(file: &Path, text: &str) -> Result<Settings, Vec<Problem>> {
        let mut report = Report { file, text, problems: Vec::new() };
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            report.add(error.span().unwrap_or(0..0), error.message().trim_end());
        }
        if !report.problems.is_empty() {
            // What follows a syntax error is guesswork; complaints about it would mislead.
            report.problems.sort_by_key(|problem| problem.place);
            return Err(report.problems);
        }
        let settings = Settings::from_table(table.get_ref(), &mut report);
        if report.problems.is_empty() {
            Ok(Settings { file: Some(file.to_owned()), ..settings })
        } else {
            report.problems.sort_by_key(|problem| problem.place);
            Err(report.problems)
        }
    }

    /// How the log is to be according to a file that may be broken elsewhere; as far as that can be told.
    pub(crate) fn log_of(file: &Path) -> LogSettings {
        let text = read_bounded(file, FILE_OCTETS_MAX).unwrap_or_default();
        let (table, _) = DeTable::parse_recoverable(&text);
        let mut report = Report { file, text: &text, problems: Vec::new() };
        let section = table.get_ref().get("log");
        section.map_or_else(LogSettings::default, |section| Section::read(section, &mut report))
    }

    fn from_table(table: &DeTable<'_>, report: &mut Report<'_>) -> Settings {
        const SECTIONS: [&str; 26] = [
            "server",
            "tcp",
            "cookies",
            "access",
            "acl",
            "key",
            "update-policy",
            "remote",
            "rate-limit",
            "secondary",
            "resolver",
            "forward",
            "stub",
            "local-zone",
            "control",
            "http",
            "api",
            "api-key",
            "log",
            "dnstap",
            "query-log",
            "zone",
            "zone-directory",
            "template",
            "catalog",
            "store",
        ];
        let mut settings = Settings::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "server" => {
                    settings.server = Section::read(value, report);
                    for (key, text) in settings.server.problems() {
                        let table = value.get_ref().as_table();
                        let place = table.and_then(|table| table.get(key)).unwrap_or(value);
                        report.add(place.span(), format!("{key}: {text}"));
                    }
                }
                "tcp" => settings.tcp = Section::read(value, report),
                "cookies" => settings.cookies = Section::read(value, report),
                "access" => settings.access = Section::read(value, report),
                "acl" => {
                    let acls = read_each(value, report, |_| Ok(()));
                    settings.acls = acls.into_iter().map(|(_, acl)| acl).collect();
                }
                "key" => {
                    let keys = read_each(value, report, keys::check);
                    settings.keys = keys.into_iter().map(|(_, key)| key).collect();
                }
                "update-policy" => {
                    let policies = read_each(value, report, |_| Ok(()));
                    settings.update_policies = policies.into_iter().map(|(_, policy)| policy).collect();
                }
                "remote" => {
                    let remotes = read_each(value, report, remotes::check);
                    settings.remotes = remotes.into_iter().map(|(_, remote)| remote).collect();
                }
                "rate-limit" => settings.rate_limit = Section::read(value, report),
                "secondary" => settings.secondary = Section::read(value, report),
                "resolver" => settings.resolver = Section::read(value, report),
                "forward" => settings.forwards = read_each(value, report, resolver::check_forward),
                "stub" => settings.stubs = read_each(value, report, resolver::check_stub),
                "local-zone" => settings.local_zones = read_each(value, report, resolver::check_local),
                "control" => settings.control = Section::read(value, report),
                "http" => settings.http = Section::read(value, report),
                "api" => settings.api = Section::read(value, report),
                "api-key" => {
                    let keys = read_each(value, report, |_| Ok(()));
                    settings.api_keys = keys.into_iter().map(|(_, key)| key).collect();
                }
                "log" => settings.log = Section::read(value, report),
                "dnstap" => settings.dnstap = Section::read(value, report),
                "query-log" => settings.query_log = Section::read(value, report),
                "zone" => settings.zones = read_each(value, report, zones::check_zone),
                "zone-directory" => {
                    settings.zone_directories = read_each(value, report, zones::check_directory)
                }
                "template" => settings.templates = read_each(value, report, zones::check_template),
                "catalog" => settings.catalogs = read_each(value, report, |_| Ok(())),
                "store" => settings.stores = read_each(value, report, |_| Ok(())),
                other => report.add(key.span(), unknown(other, "", SECTIONS.iter().copied())),
            }
        }
        settings.check_access(table, report);
        settings.check_keys(table, report);
        settings.check_updates(table, report);
        settings.check_remotes(table, report);
        settings.check_catalogs(table, report);
        settings.check_stores(table, report);
        settings.check_resolver(table, report);
        settings.check_observing(table, report);
        settings.check_http(table, report);
        settings.check_api(table, report);
        settings.close_catalogs();
        settings
    }

    /// Reports what is wrong with what others are told of queries.
    fn check_observing(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        for (section, key, text) in observing::problems(self) {
            Place { table, section, at: None }.report(report, key, None, text);
        }
    }

    /// A path of the settings: relative ones begin at the folder of the file.
    pub fn path(&self, path: &Path) -> PathBuf {
        match self.file.as_deref().and_then(Path::parent) {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }
}

impl ServerSettings {
    /// What is wrong although each value is of its kind: the key, and what was expected.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.listen.is_empty() {
            let text =
                "expected at least one address, found none; leave it out to use those of the service manager";
            problems.push(("listen", text.into()));
        }
        for (at, address) in self.listen.iter().enumerate() {
            if address.port() != 0 && self.listen[..at].contains(address) {
                problems.push(("listen", format!("expected each address once, found {address} twice")));
            }
        }
        let wildcard = self.listen.iter().find(|address| address.ip().is_unspecified());
        if let Some(address) = wildcard.filter(|_| self.backend == "portable") {
            let text = format!(
                "expected \"mmsg\" for {address}, which is all addresses, found \"portable\", which cannot answer \
                 from the one that was asked"
            );
            problems.push(("backend", text));
        }
        if !self.group.is_empty() && self.user.is_empty() {
            problems.push(("group", "expected `user` too, found none: they change together only".into()));
        }
        if self.steer == "cpu" && self.pin == Pinning::Switch(false) {
            let text =
                "expected \"hash\" without `pin`, found \"cpu\": a worker that moves belongs to no processor";
            problems.push(("steer", text.into()));
        }
        if self.nsid.starts_with("0x") && hexadecimal(&self.nsid).is_none() {
            let text = format!("expected pairs of hexadecimal digits after 0x, found {:?}", self.nsid);
            problems.push(("nsid", text));
        }
        problems
    }
}

/// The octets of `0x…`.
pub(crate) fn hexadecimal(text: &str) -> Option<Box<[u8]>> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.is_empty() && digits.len() % 2 == 0)?;
    let digits = digits.bytes().map(|digit| char::from(digit).to_digit(16)).collect::<Option<Vec<u32>>>()?;
    Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

/// Reads an array of tables, `[[heading]]`.
fn read_each<S: Section>(
    value: &Spanned<DeValue<'_>>,
    report: &mut Report<'_>,
    check: impl Fn(&S) -> Result<(), &'static str>,
) -> Vec<(usize, S)> {
    let Some(tables) = value.get_ref().as_array() else {
        let heading = S::HEADING;
        report
            .add(value.span(), format!("expected [[{heading}]] with two brackets, as there can be several"));
        return Vec::new();
    };
    let mut sections = Vec::with_capacity(tables.len());
    // Lines are counted on from table to table: there can be a million.
    let (mut line, mut counted) = (1, 0);
    for table in tables {
        let start = table.span().start.max(counted);
        line += report.text[counted..start].matches('\n').count();
        counted = start;
        let before = report.problems.len();
        let section = S::read(table, report);
        if report.problems.len() == before
            && let Err(text) = check(&section)
        {
            report.add(table.span(), format!("[[{}]]: {text}", S::HEADING));
        }
        sections.push((line, section));
    }
    sections
}

#[cfg(test)]
mod tests;

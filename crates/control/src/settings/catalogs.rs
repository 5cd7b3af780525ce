//! Catalogs that are taken from others, and what their members have: `[[catalog]]` and `[[template]]` (RFC 9432); catalogs that are made here, and whom they list.

use std::collections::HashSet;

use toml::de::DeTable;
use transfer::catalog_zone::{self, Allowed, CATALOGS_MAX, GROUPS_MAX, RemoveMax, TEMPLATES_MAX};
use wire::NameBuf;

use super::Settings;
use super::access::Place;
use super::declare::section;
use super::problem::{Report, nearest};
use super::sections::ZoneSettings;
use super::value::{Names, Range};
use super::zones::{TemplateSettings, fault_of_others};
use crate::sources::Rules;

/// Octets of a template's name: a group is one string of a TXT record.
const TEMPLATE_OCTETS_MAX: usize = 255;
/// Names in `members`: each member is compared with all of them.
pub(super) const MEMBERS_MAX: usize = 64;
/// What `remove-max` may be.
pub(super) const REMOVE_MAX: &str = "a percentage such as \"10%\", a number such as \"250\", or \"any\"";
/// Octets of a catalog's name: above it stand `group`, a label of 32 letters and `zones`.
const MADE_OCTETS_MAX: usize = 255 - 51;

section! {
    /// A catalog zone (RFC 9432): a list of zones that others make and that is transferred like a zone. The zones that it lists are served. A catalog
    /// that is broken or has expired changes nothing.
    pub struct CatalogSettings in "catalog" {
        /// The name of the catalog, which a `[[zone]]` has too.
        zone: Option<NameBuf> = None, Range::Any, live;
        /// The templates that groups of members may name; the first is for members whose groups name none of them. Members are transferred from the
        /// `primaries` of their template, or where it has none from those of the catalog's own `[[zone]]`.
        templates: Names = Names::default(), Range::Texts("the name of a [[template]]"), live;
        /// Which zones may be members: `*.example.` are all below that name. Left out: all but the root and names of one label.
        members: Names = Names::default(), Range::TextsOrNone("a domain name such as \"*.example.\""), live;
        /// How many zones may be removed or reset in an hour: a percentage of the members (ten at least, but not all of them), a number, or `any`. More wait
        /// until they are confirmed with `zonda ctl catalog confirm`.
        remove_max: String = "10%".into(), Range::Any, live;
    }
}

/// What is wrong with a zone that is a catalog made here, or is listed by one.
pub(super) fn made_fault(zone: &ZoneSettings) -> Option<&'static str> {
    let is_updated = !zone.allow_update.is_empty() || !zone.update_policy.is_empty();
    let octets = zone.name.as_ref().map_or(0, |name| name.octets().len());
    match (zone.make_catalog, &zone.catalog) {
        (true, Some(_)) => Some("expected no `catalog` beside `make-catalog`: no catalog lists one"),
        (true, None) if is_updated => {
            Some("expected no `allow-update` or `update-policy` beside `make-catalog`: it is what zones say")
        }
        (true, None) if octets > MADE_OCTETS_MAX => Some("name: expected a shorter one for a catalog"),
        (_, None) if !zone.group.is_empty() || zone.coo.is_some() => {
            Some("expected `catalog` beside `group` and `coo`, found none")
        }
        _ => None,
    }
}

/// What is wrong with the catalog and the groups of a section of zones. `made`: the catalogs that are made here, in lower case.
fn listing_faults(catalog: Option<&NameBuf>, groups: &Names, made: &HashSet<NameBuf>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(name) = catalog.filter(|name| !made.contains(&name.to_lowercase())) {
        faults.push(("catalog", None, format!("expected a [[zone]] {name} with `make-catalog`, found none")));
    }
    let texts = groups.texts();
    if texts.len() > GROUPS_MAX {
        faults.push(("group", None, format!("expected at most {GROUPS_MAX} groups, found {}", texts.len())));
    }
    let wrong = (0..).zip(texts).filter(|(_, text)| text.is_empty() || text.len() > 255);
    faults
        .extend(wrong.map(|(at, text)| {
            ("group", Some(at), format!("expected 1 to 255 octets, found {}", text.len()))
        }));
    faults
}

/// What is wrong with a section: its key, the item of a list, the text.
type Fault = (&'static str, Option<usize>, String);

/// Compiles a catalog, or says what is wrong with it.
fn compile(catalog: &CatalogSettings) -> Result<catalog_zone::CatalogSettings, Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    let zone = catalog.zone.clone().unwrap_or_else(|| {
        faults.push(("zone", None, "expected the name of the catalog, found none".into()));
        NameBuf::root()
    });
    let patterns = catalog.members.texts();
    if patterns.len() > MEMBERS_MAX {
        let text = format!("expected at most {MEMBERS_MAX} names, found {}", patterns.len());
        faults.push(("members", None, text));
    }
    let (members, wrong) = allowed(patterns, MEMBERS_MAX);
    faults.extend(wrong.into_iter().map(|(at, text)| ("members", Some(at), text)));
    let remove_max = remove_max(&catalog.remove_max).unwrap_or_else(|| {
        faults.push(("remove-max", None, format!("expected {REMOVE_MAX}, found {:?}", catalog.remove_max)));
        RemoveMax::default()
    });
    let templates = catalog.templates.texts().to_vec();
    if faults.is_empty() {
        Ok(catalog_zone::CatalogSettings { zone, templates, members, remove_max })
    } else {
        Err(faults)
    }
}

/// The names that patterns allow, the first `most` of them, and what is wrong with which.
pub(super) fn allowed(patterns: &[Box<str>], most: usize) -> (Allowed, Vec<(usize, String)>) {
    let (mut allowed, mut wrong) = (Allowed::default(), Vec::new());
    for (at, text) in patterns.iter().enumerate().take(most) {
        match NameBuf::from_text(text).ok().filter(|_| !text.is_empty()) {
            Some(pattern) => allowed.add(&pattern),
            None => wrong.push((at, format!("expected a domain name, found {text:?}"))),
        }
    }
    (allowed, wrong)
}

pub(super) fn remove_max(text: &str) -> Option<RemoveMax> {
    let number = |digits: &str| match digits.bytes().all(|digit| digit.is_ascii_digit()) {
        true => digits.parse::<u32>().ok(),
        false => None,
    };
    match (text, text.strip_suffix('%')) {
        ("any", _) => Some(RemoveMax::Any),
        (_, Some(digits)) => {
            let percent = u8::try_from(number(digits)?).ok().filter(|percent| *percent <= 100)?;
            Some(RemoveMax::Percent(percent))
        }
        (digits, None) => number(digits).map(RemoveMax::Members),
    }
}

impl Settings {
    /// The catalogs of settings without faults.
    pub fn catalogs(&self) -> Vec<catalog_zone::CatalogSettings> {
        self.catalogs.iter().filter_map(|(_, catalog)| compile(catalog).ok()).collect()
    }

    /// What the members of a catalog have, by the name of their template; the first is for those whose groups name none.
    pub(crate) fn member_rules(&self, catalog: &catalog_zone::CatalogSettings) -> Vec<(Box<str>, Rules)> {
        let own = self.zone_named(&catalog.zone).map(|zone| zone.primaries.clone()).unwrap_or_default();
        let rules = |template: Option<&TemplateSettings>| {
            let rules = template.map_or_else(Rules::default, |template| template.zone.rules());
            let primaries = if rules.primaries.is_empty() { own.clone() } else { rules.primaries };
            Rules { primaries, member_of: Some(catalog.zone.to_lowercase()), ..rules }
        };
        if catalog.templates.is_empty() {
            return vec![("".into(), rules(None))];
        }
        let named = |name: &str| self.templates.iter().find(|(_, template)| template.own.name == name);
        catalog
            .templates
            .iter()
            .map(|name| (name.clone(), rules(named(name).map(|(_, template)| template))))
            .collect()
    }

    /// Names of the catalogs that are made here, in lower case.
    pub(crate) fn made_catalogs(&self) -> HashSet<NameBuf> {
        let made = self.zones.iter().filter(|(_, zone)| zone.make_catalog);
        made.filter_map(|(_, zone)| Some(zone.name.as_ref()?.to_lowercase())).collect()
    }

    /// Lets those alone query a catalog who may transfer it, unless its section says otherwise: it is for servers (RFC 9432 7).
    pub(super) fn close_catalogs(&mut self) {
        let names: HashSet<NameBuf> = self
            .catalogs
            .iter()
            .filter_map(|(_, catalog)| Some(catalog.zone.as_ref()?.to_lowercase()))
            .collect();
        let is_catalog = |zone: &ZoneSettings| {
            zone.make_catalog
                || (!names.is_empty()
                    && zone.name.as_ref().is_some_and(|name| names.contains(&name.to_lowercase())))
        };
        for (_, zone) in &mut self.zones {
            if zone.allow_query.is_empty() && is_catalog(zone) {
                let own = &zone.allow_transfer;
                zone.allow_query = if own.is_empty() { self.access.transfer.clone() } else { own.clone() };
            }
        }
    }

    fn check_listings(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let made = self.made_catalogs();
        for (section, at, zone) in self.sections_of_zones() {
            for (key, item, text) in listing_faults(zone.catalog.as_ref(), &zone.group, &made) {
                Place { table, section, at: Some(at) }.report(report, key, item, text);
            }
        }
    }

    /// The section of one zone.
    fn zone_named(&self, name: &wire::Name) -> Option<&ZoneSettings> {
        let is_it = |zone: &&ZoneSettings| zone.name.as_deref().is_some_and(|own| own.eq_ignore_case(name));
        self.zones.iter().map(|(_, zone)| zone).find(is_it)
    }

    /// Where the members of a catalog would come from: what is missing, and the item of its list of templates.
    fn source_faults(&self, catalog: &CatalogSettings) -> Vec<Fault> {
        let Some(name) = &catalog.zone else { return Vec::new() };
        let Some(zone) = self.zone_named(name) else {
            return vec![("zone", None, format!("expected a [[zone]] {name} too, found none"))];
        };
        if zone.make_catalog {
            return vec![(
                "zone",
                None,
                format!("expected a catalog of others, found {name}, which is made here"),
            )];
        }
        if !zone.primaries.is_empty() {
            return Vec::new();
        }
        let missing = |template: &str| {
            let template = self.templates.iter().find(|(_, other)| *other.own.name == *template);
            template.is_some_and(|(_, template)| template.zone.primaries.is_empty())
        };
        let text = || format!("expected `primaries` in it, as [[zone]] {name} has none");
        let templates = catalog.templates.texts();
        if templates.is_empty() {
            return vec![("templates", None, "expected a [[template]] with `primaries`, found none".into())];
        }
        let faults = (0..).zip(templates).filter(|(_, template)| missing(template));
        faults.map(|(at, _)| ("templates", Some(at), text())).collect()
    }

    /// Whether a template is for zones that come from others: all are but those of zones that are made over the API, or of stores that it may write, unless others name them too.
    fn is_for_others(&self, template: &str) -> bool {
        let of_catalog = self.catalogs.iter().flat_map(|(_, catalog)| catalog.templates.texts());
        let written = self.stores.iter().any(|(_, store)| store.write && *store.template == *template);
        let of_store =
            self.stores.iter().filter(|(_, store)| !store.write).map(|(_, store)| &*store.template);
        !(written || *self.api.template == *template)
            || of_catalog.map(|name| &**name).chain(of_store).any(|name| name == template)
    }

    /// Reports what is wrong with catalogs and templates. `table`: of the whole file, for the places.
    pub(super) fn check_catalogs(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        self.check_listings(table, report);
        let mut known = HashSet::new();
        for (at, (_, template)) in self.templates.iter().enumerate() {
            let place = Place { table, section: "template", at: Some(at) };
            let name = &*template.own.name;
            let wrong = match name.len() {
                0 => Some("expected a name for the template, found none".into()),
                1..=TEMPLATE_OCTETS_MAX => {
                    (!known.insert(name)).then(|| format!("expected each name once, found {name:?} twice"))
                }
                octets => Some(format!("expected at most {TEMPLATE_OCTETS_MAX} octets, found {octets}")),
            };
            wrong.into_iter().for_each(|text| place.report(report, "name", None, text));
            if let Some((key, text)) = fault_of_others(&template.zone).filter(|_| self.is_for_others(name)) {
                place.report(report, key, None, text.into());
            }
        }
        // One is that without a name.
        if self.templates.len() >= TEMPLATES_MAX {
            let text =
                format!("expected less than {TEMPLATES_MAX} templates, found {}", self.templates.len());
            Place { table, section: "template", at: Some(TEMPLATES_MAX - 1) }
                .report(report, "name", None, text);
        }
        let mut zones = HashSet::new();
        for (at, (_, catalog)) in self.catalogs.iter().enumerate().take(CATALOGS_MAX) {
            let place = Place { table, section: "catalog", at: Some(at) };
            for (key, item, text) in compile(catalog).err().unwrap_or_default() {
                place.report(report, key, item, text);
            }
            if let Some(zone) = catalog.zone.as_ref().filter(|zone| !zones.insert(zone.to_lowercase())) {
                place.report(report, "zone", None, format!("expected each catalog once, found {zone} twice"));
            }
            for (item, text) in template_faults(&catalog.templates, &known) {
                place.report(report, "templates", Some(item), text);
            }
            for (key, item, text) in self.source_faults(catalog) {
                place.report(report, key, item, text);
            }
        }
        if self.catalogs.len() > CATALOGS_MAX {
            let text = format!("expected at most {CATALOGS_MAX} catalogs, found {}", self.catalogs.len());
            Place { table, section: "catalog", at: Some(CATALOGS_MAX) }.report(report, "zone", None, text);
        }
    }
}

/// What is wrong with the templates of a catalog, each with its place in the list.
fn template_faults(names: &Names, known: &HashSet<&str>) -> Vec<(usize, String)> {
    let (mut faults, mut seen) = (Vec::new(), HashSet::new());
    for (at, text) in names.texts().iter().enumerate() {
        if !seen.insert(text) {
            faults.push((at, format!("expected each template once, found {text:?} twice")));
        } else if !known.contains(&**text) {
            // In this order the nearest is always the same.
            let mut names: Vec<&str> = known.iter().copied().collect();
            names.sort_unstable();
            let near = nearest(text, names.into_iter());
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            faults.push((at, format!("unknown [[template]] {text:?}{hint}")));
        }
    }
    faults
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::settings::IxfrRules;
    use std::path::Path;

    /// Settings and their problems.
    fn read(text: &str) -> (Settings, Vec<String>) {
        let mut report = Report { file: Path::new("f"), text, problems: Vec::new() };
        let (table, errors) = DeTable::parse_recoverable(text);
        assert!(errors.is_empty(), "{errors:?}");
        let settings = Settings::from_table(table.get_ref(), &mut report);
        let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
        (settings, problems)
    }

    const TEMPLATES: &str = "[[acl]]\nname = \"us\"\naddresses = \"192.0.2.1\"\n\
        [[template]]\nname = \"plain\"\nprimaries = \"here\"\n[[template]]\nname = \"signed\"\nallow-query = \"us\"\n\
        [[remote]]\nname = \"here\"\naddresses = [\"192.0.2.1\"]\n[[remote]]\nname = \"there\"\naddresses = [\"192.0.2.2\"]\n\
        [[zone]]\nname = \"catalog.example\"\nprimaries = \"there\"\n[[zone]]\nname = \"a\"\nprimaries = \"here\"\n";

    #[test]
    fn a_catalog() {
        let text = format!(
            "{TEMPLATES}[[catalog]]\nzone = \"Catalog.example\"\ntemplates = [\"signed\", \"plain\"]\n\
             members = [\"*.example.\", \"example.org\"]\nremove-max = \"5%\"\n"
        );
        let (settings, problems) = read(&text);
        assert_eq!(problems, [""; 0]);
        let [catalog] = &settings.catalogs()[..] else { panic!() };
        assert_eq!(catalog.zone.to_string(), "Catalog.example.");
        assert_eq!(catalog.templates, ["signed".into(), "plain".into()]);
        assert_eq!(catalog.remove_max, RemoveMax::Percent(5));
        let allows = |zone: &str| catalog.members.allows(&zone.parse::<NameBuf>().unwrap());
        assert!(allows("a.example") && allows("example.org") && !allows("example"));
        assert_eq!(settings.templates[1].1.zone.allow_query, Names::one("us"));
        // A template's own primaries, or those of the catalog.
        let rules = settings.member_rules(catalog);
        let primaries: Vec<(&str, &[Box<str>])> =
            rules.iter().map(|(name, rules)| (&**name, rules.primaries.texts())).collect();
        assert_eq!(primaries, [("signed", &["there".into()][..]), ("plain", &["here".into()])]);
        assert!(rules.iter().all(|(_, rules)| rules.member_of == catalog.zone.to_lowercase().into()));
    }

    #[test]
    fn losses_that_need_no_confirmation() {
        let of = |text: &str| remove_max(text);
        assert_eq!(of("any"), Some(RemoveMax::Any));
        assert_eq!(of("0"), Some(RemoveMax::Members(0)));
        assert_eq!(of("250"), Some(RemoveMax::Members(250)));
        assert_eq!(of("100%"), Some(RemoveMax::Percent(100)));
        for wrong in ["", "%", "101%", "-1", "+1", "1 %", "10%%", "all", "5000000000", "1.5%"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong() {
        let (_, mut problems) = read(&format!(
            "{TEMPLATES}[[template]]\nname = \"plain\"\n[[template]]\nfile = \"x\"\nallow-query = \"them\"\n\
             [[catalog]]\nzone = \"a.\"\ntemplates = [\"plian\", \"signed\", \"signed\"]\nmembers = [\"a..b\", \"\"]\n\
             remove-max = \"many\"\n[[catalog]]\nzone = \"A.\"\n[[catalog]]\n"
        ));
        // What else is known is as many words as `[[zone]]` has.
        let unknown = "f:25:1: unknown key \"file\" in [template]; known are name, ";
        assert!(problems.remove(0).starts_with(unknown));
        let expected = [
            "f:26:15: allow-query: unknown [[acl]] \"them\"; known are all, local, nobody, us",
            "f:23:8: name: expected each name once, found \"plain\" twice",
            "f:24:1: name: expected a name for the template, found none",
            "f:30:12: members: expected a domain name, found \"a..b\"",
            "f:30:20: members: expected a domain name, found \"\"",
            &format!("f:31:14: remove-max: expected {REMOVE_MAX}, found \"many\""),
            "f:29:14: templates: unknown [[template]] \"plian\"; did you mean \"plain\"?",
            "f:29:33: templates: expected each template once, found \"signed\" twice",
            "f:33:8: zone: expected each catalog once, found A. twice",
            "f:34:1: zone: expected the name of the catalog, found none",
        ];
        assert_eq!(problems, expected);
    }

    /// Members must come from somewhere, and so must their catalog.
    #[test]
    fn where_members_come_from() {
        let of =
            |text: &str| read(&format!("[[remote]]\nname = \"r\"\naddresses = [\"192.0.2.1\"]\n{text}")).1;
        let catalog = "[[catalog]]\nzone = \"c.example\"\n";
        let zone = "[[zone]]\nname = \"c.example\"\nfile = \"c\"\n";
        let template = "[[template]]\nname = \"t\"\n";
        assert_eq!(of(catalog), ["f:5:8: zone: expected a [[zone]] c.example. too, found none"]);
        assert_eq!(
            of(&format!("{catalog}{zone}")),
            ["f:4:1: templates: expected a [[template]] with `primaries`, found none"]
        );
        assert_eq!(
            of(&format!("{catalog}templates = \"t\"\n{zone}{template}")),
            ["f:6:13: templates: expected `primaries` in it, as [[zone]] c.example. has none"]
        );
        let fine = [
            format!("{catalog}templates = \"t\"\n{zone}{template}primaries = \"r\"\n"),
            format!("{catalog}[[zone]]\nname = \"C.example\"\nprimaries = \"r\"\n"),
        ];
        assert!(fine.iter().all(|text| of(text).is_empty()));
        let updates =
            "[server]\npack-directory = \"p\"\n[[template]]\nname = \"t\"\nallow-update = \"all\"\n";
        assert!(of(updates)[0].contains("expected `forward-updates = true`"), "{:?}", of(updates));
        assert_eq!(of(&format!("{updates}forward-updates = true\n")), [""; 0]);
        let policy = "[[update-policy]]\nname = \"p\"\nrules = \"grant * zonesub\"\n[[template]]\nname = \"t\"\nupdate-policy = \"p\"\n";
        assert!(of(policy)[0].contains("expected no `update-policy`"), "{:?}", of(policy));
    }

    /// All that a zone of the settings can have and that is not about one zone alone, members have by their template.
    #[test]
    fn what_templates_say_members_have() {
        let text = format!(
            "{TEMPLATES}[[template]]\nname = \"all\"\npersist = false\nallow-transfer = \"us\"\nallow-notify = \"us\"\n\
             allow-update = \"us\"\nforward-updates = true\nnotify = \"there\"\nrefuse = \"error\"\nixfr-octets = 131072\n\
             ixfr-versions = 7\nixfr-condense = true\n[[catalog]]\nzone = \"catalog.example\"\ntemplates = [\"plain\", \"all\"]\n"
        );
        let (settings, problems) = read(&text);
        assert_eq!(problems, [""; 0]);
        let rules = settings.member_rules(&settings.catalogs()[0]);
        let [(_, plain), (_, all)] = &rules[..] else { panic!() };
        assert_eq!((plain.persist, plain.ixfr), (None, IxfrRules::default()));
        assert_eq!(all.persist, Some(false));
        assert_eq!(all.ixfr, IxfrRules { octets: 131_072, versions: 7, condense: true });
        assert_eq!((all.notify.texts(), all.refuse.is_some()), (&["there".into()][..], true));
        assert!(all.lists.forwards_updates() && !all.lists.has_queries());
        let named: Vec<usize> =
            all.lists.kinds().filter(|(_, names)| !names.is_empty()).map(|(kind, _)| kind).collect();
        assert_eq!(named.len(), 3, "transfer, update and notify");
        // The lists of templates are among those that are compiled.
        assert!(settings.own_lists().any(|own| own == all.lists));
    }
}

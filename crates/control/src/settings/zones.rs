//! Sections that say something of zones: `[[zone]]`, and `[[zone-directory]]` and `[[template]]`, which have settings of their own and most of those of `[[zone]]`.

use std::path::PathBuf;

use toml::Spanned;
use toml::de::DeValue;

use super::declare::{Row, Section, section};
use super::problem::Report;
use super::sections::ZoneSettings;
use super::value::Range;
use super::{Settings, catalogs};

/// What a section has beside the settings of `[[zone]]`.
pub(super) trait Own: Section {
    /// Keys of `[[zone]]` that it does not have.
    const LEFT_OUT: &'static [&'static str];
}

/// A section of several zones: its own settings, and those of `[[zone]]` that are not about one zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfZones<O> {
    /// What it says beside that.
    pub own: O,
    /// What its zones have.
    pub zone: ZoneSettings,
}

impl<O: Own> Section for OfZones<O> {
    const HEADING: &'static str = O::HEADING;
    const ABOUT: &'static str = O::ABOUT;

    fn rows() -> Vec<Row> {
        let of_zones = ZoneSettings::rows().into_iter().filter(|row| !O::LEFT_OUT.contains(&&*row.key));
        O::rows().into_iter().chain(of_zones).collect()
    }

    fn set(&mut self, key: &str, value: &Spanned<DeValue<'_>>, report: &mut Report<'_>) -> bool {
        self.own.set(key, value, report) || (!O::LEFT_OUT.contains(&key) && self.zone.set(key, value, report))
    }
}

section! {
    /// A folder in which every file of the right name is a zone. `zonda ctl reload` takes up new files and
    /// gives up those that are gone. What it says beside where they are holds for each of them.
    pub struct FolderSettings in "zone-directory" {
        /// The folder. Its sub-folders are not searched.
        path: PathBuf = PathBuf::new(), Range::Any, live;
        /// Which files: `{name}` stands for the zone's name, written as for `[[zone]]`. Other files are
        /// passed over.
        pattern: String = "{name}.zone".into(), Range::Any, live;
    }
}

impl Own for FolderSettings {
    const LEFT_OUT: &'static [&'static str] = &[
        "name",
        "names-file",
        "file",
        "pack",
        "primaries",
        "persist",
        "forward-updates",
        "coo",
        "make-catalog",
    ];
}

/// `[[zone-directory]]`
pub type ZoneDirectorySettings = OfZones<FolderSettings>;

section! {
    /// What zones have that a catalog lists: a name, and the keys of `[[zone]]` that are not about one zone.
    pub struct TemplateName in "template" {
        /// What catalogs call it, in their settings and in the groups of their members.
        name: String = String::new(), Range::Any, live;
    }
}

impl Own for TemplateName {
    const LEFT_OUT: &'static [&'static str] =
        &["name", "names-file", "file", "pack", "catalog", "group", "coo", "make-catalog"];
}

/// `[[template]]`
pub type TemplateSettings = OfZones<TemplateName>;

impl Settings {
    /// What sections say of zones, with the name of the section and its number among those of that name.
    pub(super) fn sections_of_zones(&self) -> impl Iterator<Item = (&'static str, usize, &ZoneSettings)> {
        let zones = self.zones.iter().enumerate().map(|(at, (_, zone))| ("zone", at, zone));
        let directories = self.zone_directories.iter().enumerate();
        let directories = directories.map(|(at, (_, of_zones))| ("zone-directory", at, &of_zones.zone));
        let templates = self.templates.iter().enumerate();
        let templates = templates.map(|(at, (_, of_zones))| ("template", at, &of_zones.zone));
        zones.chain(directories).chain(templates)
    }
}

/// What is wrong with a zone as a whole.
pub(super) fn check_zone(zone: &ZoneSettings) -> Result<(), &'static str> {
    let (named, listed) = (zone.name.is_some(), !zone.names_file.as_os_str().is_empty());
    let (file, pack) = (!zone.file.as_os_str().is_empty(), !zone.pack.as_os_str().is_empty());
    let is_secondary = !zone.primaries.is_empty();
    if is_secondary && !zone.update_policy.is_empty() {
        return Err(
            "expected no `update-policy` beside `primaries`: what may change is for the primary to say",
        );
    }
    if !is_secondary && zone.persist.is_some() {
        return Err("expected no `persist` without `primaries`: texts are files already");
    }
    if let Some(text) = mirror_fault(zone) {
        return Err(text);
    }
    if let Some(text) = catalogs::made_fault(zone) {
        return Err(text);
    }
    if is_secondary && !zone.allow_update.is_empty() && !zone.forward_updates {
        return Err(
            "expected `forward-updates = true` beside `allow-update` and `primaries`: updates are for the primary",
        );
    }
    if zone.forward_updates && !is_secondary {
        return Err("expected `primaries` beside `forward-updates`, found none");
    }
    match (named, listed, file, pack) {
        (true, false, false, false) if zone.make_catalog && !is_secondary => Ok(()),
        _ if zone.make_catalog => {
            Err("expected `name` alone beside `make-catalog`, found where the zone would come from")
        }
        (false, false, ..) => Err("expected `name` (or `names-file`), found neither"),
        (true, true, ..) => Err("expected either `name` or `names-file`, found both"),
        (_, _, false, false) if is_secondary => Ok(()),
        _ if is_secondary => Err("expected either `primaries` or `file` (or `pack`), found both"),
        (_, _, false, false) => Err("expected `file` (or `pack`), found neither"),
        (_, _, true, true) => Err("expected either `file` or `pack`, found both"),
        _ => Ok(()),
    }
}

/// What is wrong with a zone as a mirror.
fn mirror_fault(zone: &ZoneSettings) -> Option<&'static str> {
    let is_changed = !zone.allow_update.is_empty() || !zone.update_policy.is_empty() || zone.forward_updates;
    match zone.mirror {
        true if !zone.allow_query.is_empty() => Some(
            "expected no `allow-query` beside `mirror`: nobody is answered from it, and `recursion` in `[access]` says who may ask the resolver",
        ),
        true if is_changed => {
            Some("expected nothing about updates beside `mirror`: it is a copy of a zone of others")
        }
        true if zone.make_catalog => Some("expected no `make-catalog` beside `mirror`"),
        _ => None,
    }
}

/// What is wrong with a folder of zones as a whole.
pub(super) fn check_directory(directory: &ZoneDirectorySettings) -> Result<(), &'static str> {
    if let Some(text) = mirror_fault(&directory.zone) {
        return Err(text);
    }
    if directory.own.path.as_os_str().is_empty() {
        return Err("expected `path`, found none");
    }
    let pattern = &directory.own.pattern;
    if pattern.matches("{name}").count() != 1 || pattern.contains('/') {
        return Err("pattern: expected a file name with {name} once, such as \"{name}.zone\"");
    }
    Ok(())
}

/// What is wrong with a template as a whole.
pub(super) fn check_template(template: &TemplateSettings) -> Result<(), &'static str> {
    mirror_fault(&template.zone).map_or(Ok(()), Err)
}

/// What is wrong with a template as that of zones that come from others: its key, and what.
pub(super) fn fault_of_others(zone: &ZoneSettings) -> Option<(&'static str, &'static str)> {
    if !zone.update_policy.is_empty() {
        let text = "expected no `update-policy`: what may change is for the primary to say; zones that are made over the API, or of stores with `write`, have one";
        return Some(("update-policy", text));
    }
    let text = "expected `forward-updates = true` beside `allow-update`: updates are for the primary";
    (!zone.allow_update.is_empty() && !zone.forward_updates).then_some(("allow-update", text))
}

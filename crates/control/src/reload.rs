//! What an operator can change while the server runs, and what is said about it.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use wire::{Name, NameBuf};

use crate::command::Reloaded;
use crate::controller::{By, Change, Changing, Controller, Scope};
use crate::expiry;
use crate::fault::Faults;
use crate::identity::identity;
use crate::log::{self, milliseconds};
use crate::progress::Progress;
use crate::serve::{all_wanted, read_settings, tcp_limits};
use crate::settings::Settings;
use crate::text::{Seconds, Span, count};
use crate::wanted::{Listing, Source, Wanted, WantedZones};

/// Lines of errors of a reload that are kept for who asks later; of a thousand broken zones nobody reads more there, and `zonda ctl zones` has each.
const ERRORS_KEPT_MAX: usize = 16;
/// Characters of such a line: a path and what is wrong with it. With [`ERRORS_KEPT_MAX`] these bound what is kept.
const LINE_CHARACTERS_MAX: usize = 512;

/// Reads the settings and all zones whose files have changed; with `force` all zones.
pub fn reload_all(controller: &Controller, force: bool) -> Change {
    again(controller, scope(force))
}

fn scope(force: bool) -> Scope {
    if force { Scope::Force } else { Scope::All }
}

/// Reads the settings; of the zones only those that are new in them.
pub fn reconfigure(controller: &Controller) -> Change {
    again(controller, Scope::New)
}

fn again(controller: &Controller, scope: Scope) -> Change {
    let mut changing = controller.change();
    let progress = Progress::default();
    let (change, is_refused) =
        progress.show_while(|| again_shown(controller, &mut changing, scope, &progress));
    *controller.reloaded.lock() = Some(reloaded(&change, is_refused));
    change
}

/// What operators are told of a reload afterwards: whoever sent SIGHUP has the log alone, and whoever looks later not even that.
fn reloaded(change: &Change, is_refused: bool) -> Reloaded {
    let shown = |line: &String| line.chars().take(LINE_CHARACTERS_MAX).collect();
    Reloaded {
        at: expiry::now(),
        refused: is_refused,
        summary: summary(change),
        errors: change.errors.iter().take(ERRORS_KEPT_MAX).map(shown).collect(),
        more_errors: change.errors.len().saturating_sub(ERRORS_KEPT_MAX),
    }
}

impl Reloaded {
    /// What is wrong since then and not said of zones: the settings that are served by are not those of the file.
    pub(crate) fn problem(&self) -> Option<String> {
        let since = Seconds(expiry::now().saturating_sub(self.at));
        let first = self.errors.first().map_or("", String::as_str);
        self.refused.then(|| {
            format!(
                "the settings of the file were refused {since} ago, and those of before are in force: {first}"
            )
        })
    }
}

fn again_shown(
    controller: &Controller,
    changing: &mut Changing,
    scope: Scope,
    progress: &Progress,
) -> (Change, bool) {
    let started = Instant::now();
    let mut warnings = Vec::new();
    let wanted = match new_settings(controller, changing, &mut warnings, progress) {
        Ok(wanted) => wanted,
        Err(faults) => {
            faults.say();
            let line = "the settings stay as they were, and so do all zones";
            tracing::error!("{line}");
            let mut change = Change { errors: faults.lines(), ..Change::default() };
            change.errors.push(line.into());
            return (change, true);
        }
    };
    let unread = wanted.unread.iter();
    let mut errors: Vec<String> = unread
        .map(|unread| format!("{}; the zones that came from it stay as they were", unread.line))
        .collect();
    let mut change = controller.apply(changing, wanted, scope, progress);
    warnings.append(&mut change.warnings);
    change.warnings = warnings;
    errors.append(&mut change.errors);
    change.errors = errors;
    say(&change, &[], started);
    controller.look_at_expiry();
    (change, false)
}

/// Says what a reload did, of all zones or, where some are named, of these.
fn say(change: &Change, zones: &[&Name], started: Instant) {
    let (after, summary) = (started.elapsed(), summary(change));
    let Change { loaded, unchanged, added, removed, .. } = change;
    let (failed, duration_ms) = (change.failed.len(), milliseconds(after));
    let (zone, of) = match zones {
        [] => (None, String::new()),
        [zone] => (Some(tracing::field::display(zone)), format!(" of zone {zone}")),
        zones => (None, format!(" of {}", count(zones.len(), "zone"))),
    };
    let after = Span(after);
    tracing::info!(
        zone,
        loaded,
        unchanged,
        added,
        removed,
        failed,
        duration_ms,
        "reload{of}: {summary} in {after}"
    );
}

/// Reads the settings file and puts in force what can be while running. Returns the zones it asks for.
fn new_settings(
    controller: &Controller,
    changing: &mut Changing,
    warnings: &mut Vec<String>,
    progress: &Progress,
) -> Result<WantedZones, Faults> {
    let file = changing.settings.file.clone();
    let mut settings = read_settings(file.as_deref(), &controller.overrides)?;
    // What waits for a start keeps its old value, so that the next reload reminds of it again; before the resolver's terms are made of it.
    let of_resolver = settings.resolver.keep_until_start(&changing.settings.resolver);
    // Read each time, as the file of secrets may be another.
    let identity = identity(&settings, &mut changing.groups)?;
    let terms =
        controller.recursion.as_ref().map(|recursion| recursion.terms(&settings, &identity)).transpose()?;
    let mut wanted = controller.effort().run(|| all_wanted(&settings, &controller.overrides, progress))?;
    warnings.append(&mut wanted.warnings);
    for line in changing.commanded.apply(&mut wanted) {
        tracing::warn!("{line}");
        warnings.push(line);
    }
    controller.note_commanded(&changing.commanded);
    let old = &changing.settings;
    let mut waiting = settings.server.keep_until_start(&old.server);
    waiting.extend(settings.tcp.keep_until_start(&old.tcp));
    waiting.extend(settings.control.keep_until_start(&old.control));
    waiting.extend(settings.http.keep_until_start(&old.http));
    waiting.extend(settings.api.keep_until_start(&old.api));
    waiting.extend(settings.log.keep_until_start(&old.log));
    waiting.extend(settings.secondary.keep_until_start(&old.secondary));
    waiting.extend(settings.dnstap.keep_until_start(&old.dnstap));
    waiting.extend(of_resolver);
    for key in waiting {
        // The rights to become another user, or to give the control socket away, are gone.
        let how = match key.as_str() {
            "[server] user" | "[server] group" | "[control] group" => "",
            _ => ", or with `zonda ctl upgrade`",
        };
        let line = format!("{key}: the change takes effect at the next start{how}");
        tracing::warn!("{line}");
        warnings.push(line);
    }
    if let Some(running) = &*controller.running.lock() {
        running.set_tcp_limits(&tcp_limits(&settings));
    }
    if old.server.profile_locks != settings.server.profile_locks {
        sync::profile::set(settings.server.profile_locks);
    }
    // One that a command set stays as long as the settings say what they said.
    if old.log.level != settings.log.level {
        log::change_level(&settings.log.level)?;
    }
    controller.note_groups(&changing.groups);
    controller.note_refuse(&settings);
    controller.note_expiry(&settings);
    settings.warn_of_secrets();
    crate::stores::warn_of_folders(&settings);
    if let (Some(recursion), Some(terms)) = (&controller.recursion, terms) {
        recursion.publish(terms);
    }
    controller.identity.publish(identity);
    controller.note_remotes(&settings);
    controller.observing.note(controller, &settings);
    controller.api.note_keys(controller.folder(), &settings);
    if let Err(line) = controller.api.renew_certificate(&settings) {
        tracing::warn!("{line}");
        warnings.push(line);
    }
    for line in emptied(controller, &settings, &wanted) {
        tracing::warn!("{line}");
        warnings.push(line);
    }
    changing.settings = settings;
    Ok(wanted)
}

/// Folders of zones that have none any more, as lines: an unmounted disk looks like that.
fn emptied(controller: &Controller, settings: &Settings, wanted: &WantedZones) -> Vec<String> {
    let line = |folder: &Path| {
        let is_unread = wanted.unread.iter().any(|unread| unread.folder.as_deref() == Some(folder));
        if is_unread || wanted.has_in(folder) {
            return None;
        }
        let lost = controller.zones_in(folder);
        let path = folder.display();
        (lost > 0).then(|| {
            format!(
                "zone-directory {path}: no zone is in it any more; those it had are no longer served ({lost})"
            )
        })
    };
    let folders = settings.zone_directories.iter().map(|(_, directory)| settings.path(&directory.own.path));
    folders.filter_map(|folder| line(&folder)).collect()
}

/// Reads some zones again, each if its file has changed; with `force` all of them. What there is not is an error, and the others are read.
pub fn reload_zones(controller: &Controller, names: &[NameBuf], force: bool) -> Change {
    let started = Instant::now();
    let mut changing = controller.change();
    let (known, unknown): (Vec<&Name>, Vec<&Name>) =
        names.iter().map(|name| &**name).partition(|name| controller.has_zone(name));
    let mut seen = HashSet::new();
    let known: Vec<&Name> = known.into_iter().filter(|name| seen.insert(name.to_lowercase())).collect();
    let mut change = match known.is_empty() {
        true => Change::default(),
        false => controller.look_again(&mut changing, &known, scope(force), By::Reload),
    };
    let line = |name| format!("there is no zone {name}; `zonda ctl zones` lists those there are");
    change.errors.extend(unknown.into_iter().map(line));
    if !known.is_empty() {
        say(&change, &known, started);
    }
    drop(changing);
    change
}

/// Serves one more zone, until the next start. `listing`: how a catalog lists it.
pub fn add_zone(controller: &Controller, name: NameBuf, file: &Path, listing: Option<Listing>) -> Change {
    let mut changing = controller.change();
    if let Some(listing) = &listing
        && !controller.is_made(&listing.catalog)
    {
        return refused(format!(
            "there is no [[zone]] {} with `make-catalog` in the settings",
            listing.catalog
        ));
    }
    if controller.has_zone(&name) {
        return refused(format!("zone {name} is served already: {}", controller.owner_of(&name)));
    }
    let added = Wanted { name: name.clone(), source: Source::File(file.to_owned()), listing };
    let mut change = controller.add_wanted(&mut changing, &added);
    if change.failed.is_empty() {
        if added.listing.is_some() {
            controller.catalogs.make();
        }
        changing.commanded.add(added);
        controller.note_commanded(&changing.commanded);
    } else {
        // What cannot be loaded is not taken up: nobody wants SERVFAIL for a mistyped path.
        change.errors.retain(|line| !line.starts_with("zone "));
        change.errors.push(format!("zone {name} is not added"));
        change.added = 0;
    }
    change
}

/// Serves a zone no longer, until the next start.
pub fn remove_zone(controller: &Controller, name: &Name) -> Change {
    let mut changing = controller.change();
    if !controller.has_zone(name) {
        return refused(format!("there is no zone {name}; `zonda ctl zones` lists those there are"));
    }
    if controller.made.has(name) {
        return refused(format!(
            "zone {name} was made over the API, and is removed there: DELETE by a key that may `drop`"
        ));
    }
    if let Some(catalog) = controller.member_of(name) {
        return refused(format!("zone {name} is a member of catalog {catalog}: it goes when it leaves that"));
    }
    if let Err(line) = controller.expect_of_no_store(name) {
        return refused(line);
    }
    controller.catalogs.renew(name);
    controller.remove(&mut changing, name);
    changing.commanded.remove(name);
    controller.note_commanded(&changing.commanded);
    Change { removed: 1, ..Change::default() }
}

fn refused(line: String) -> Change {
    Change { errors: vec![line], ..Change::default() }
}

/// `2 zones loaded, 1 removed, 1 failed, 9,997 unchanged`
pub fn summary(change: &Change) -> String {
    let mut parts = vec![format!("{} loaded", count(change.loaded, "zone"))];
    let mut add = |number: usize, what: &str| {
        if number > 0 {
            parts.push(format!("{} {what}", crate::text::grouped(number as u64)));
        }
    };
    add(change.added, "added");
    add(change.removed, "removed");
    add(change.failed.len(), "failed");
    add(change.unchanged, "unchanged");
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept is bounded, whatever a reload has to say.
    #[test]
    fn what_is_kept_of_a_reload() {
        let errors = (0..20).map(|number| format!("{number}: {}", "\u{e9}".repeat(1_000))).collect();
        let change = Change { loaded: 2, errors, ..Change::default() };
        let kept = reloaded(&change, false);
        assert_eq!((kept.errors.len(), kept.more_errors, kept.problem()), (16, 4, None));
        assert!(kept.errors.iter().all(|line| line.chars().count() == LINE_CHARACTERS_MAX));
        assert_eq!(kept.summary, "2 zones loaded");
        let problem = reloaded(&change, true).problem().unwrap_or_default();
        assert!(
            problem.starts_with("the settings of the file were refused ") && problem.contains(": 0: "),
            "{problem}"
        );
    }
}

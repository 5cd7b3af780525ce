//! What an operator can change while the server runs, and what is said about it.

use std::path::Path;

use wire::{Name, NameBuf, SortKey};

use crate::controller::{Change, Changing, Controller, Scope};
use crate::identity::identity;
use crate::progress::Progress;
use crate::serve::{all_wanted, read_settings, tcp_limits};
use crate::settings::Settings;
use crate::text::count;
use crate::wanted::{Folders, Source, Wanted};

/// Reads the settings and all zones whose files have changed.
pub fn reload_all(controller: &Controller) -> Change {
    again(controller, Scope::All)
}

/// Reads the settings; of the zones only those that are new in them.
pub fn reconfigure(controller: &Controller) -> Change {
    again(controller, Scope::New)
}

fn again(controller: &Controller, scope: Scope) -> Change {
    let mut changing = controller.change();
    let progress = Progress::default();
    progress.show_while(|| again_shown(controller, &mut changing, scope, &progress))
}

fn again_shown(
    controller: &Controller,
    changing: &mut Changing,
    scope: Scope,
    progress: &Progress,
) -> Change {
    let mut warnings = Vec::new();
    let wanted = match new_settings(controller, changing, &mut warnings, progress) {
        Ok(wanted) => wanted,
        Err(errors) => {
            let mut change = Change { errors, ..Change::default() };
            change.errors.push("the settings stay as they were, and so do all zones".into());
            change.errors.iter().for_each(|line| tracing::error!("{line}"));
            return change;
        }
    };
    let mut change = controller.apply(changing, wanted, scope, progress);
    warnings.append(&mut change.warnings);
    change.warnings = warnings;
    tracing::info!("reload: {}", summary(&change));
    change
}

/// Reads the settings file and puts in force what can be while running. Returns the zones it asks for.
fn new_settings(
    controller: &Controller,
    changing: &mut Changing,
    warnings: &mut Vec<String>,
    progress: &Progress,
) -> Result<Vec<Wanted>, Vec<String>> {
    let file = changing.settings.file.clone();
    let mut settings = read_settings(file.as_deref(), &controller.overrides)?;
    // Read each time, as the file of secrets may be another.
    let identity = identity(&settings)?;
    let mut wanted = all_wanted(&settings, &controller.overrides, progress)?;
    let has = |wanted: &[Wanted], name: &Name| wanted.iter().any(|zone| zone.name.eq_ignore_case(name));
    // What the file says now goes before what was commanded and is no longer needed.
    changing.added.retain(|added| !has(&wanted, &added.name));
    wanted.extend(changing.added.iter().cloned());
    if !changing.removed.is_empty() {
        changing.removed.retain(|key| wanted.iter().any(|zone| SortKey::of(&zone.name).octets() == &**key));
        wanted.retain(|zone| !changing.removed.contains(&SortKey::of(&zone.name).octets().into()));
    }
    // What waits for a start keeps its old value, so that the next reload reminds of it again.
    let old = &changing.settings;
    let mut waiting = settings.server.keep_until_start(&old.server);
    waiting.extend(settings.tcp.keep_until_start(&old.tcp));
    waiting.extend(settings.control.keep_until_start(&old.control));
    waiting.extend(settings.log.keep_until_start(&old.log));
    for key in waiting {
        let line = format!("{key}: the change takes effect at the next start");
        tracing::warn!("{line}");
        warnings.push(line);
    }
    if let Some(running) = &*controller.running.lock() {
        running.set_tcp_limits(&tcp_limits(&settings));
    }
    if old.server.profile_locks != settings.server.profile_locks {
        sync::profile::set(settings.server.profile_locks);
    }
    controller.publish_identity(identity);
    for line in emptied(controller, &settings, &wanted) {
        tracing::warn!("{line}");
        warnings.push(line);
    }
    changing.settings = settings;
    Ok(wanted)
}

/// Folders of zones that have none any more, as lines: an unmounted disk looks like that.
fn emptied(controller: &Controller, settings: &Settings, wanted: &[Wanted]) -> Vec<String> {
    let is_in =
        |folder: &Path, source: &Source| matches!(source, Source::File(path) if path.folder() == folder);
    let zones = controller.zones.read();
    let line = |folder: &Path| {
        if wanted.iter().any(|zone| is_in(folder, &zone.source)) {
            return None;
        }
        let lost = zones.iter().filter(|zone| is_in(folder, &zone.source)).count();
        let path = folder.display();
        (lost > 0).then(|| {
            format!(
                "zone-directory {path}: no zone is in it any more; those it had are no longer served ({lost})"
            )
        })
    };
    let folders = settings.zone_directories.iter().map(|(_, directory)| settings.path(&directory.path));
    folders.filter_map(|folder| line(&folder)).collect()
}

/// Reads one zone again if its file has changed.
pub fn reload_zone(controller: &Controller, name: &Name) -> Change {
    let mut changing = controller.change();
    let Some(change) = controller.look_again(&mut changing, name) else {
        return refused(format!("there is no zone {name}; `zonda ctl zones` lists those there are"));
    };
    tracing::info!("reload of zone {name}: {}", summary(&change));
    drop(changing);
    change
}

/// Serves one more zone, until the next start.
pub fn add_zone(controller: &Controller, name: NameBuf, file: &Path) -> Change {
    let mut changing = controller.change();
    if controller.position(&name).is_some() {
        return refused(format!("zone {name} is served already"));
    }
    let source = Source::File(Folders::default().share(file));
    let added = Wanted { name: name.clone(), source };
    let mut zones = present(controller);
    zones.push(added.clone());
    let progress = Progress::default();
    let mut change = progress.show_while(|| controller.apply(&mut changing, zones, Scope::New, &progress));
    if change.failed.is_empty() {
        changing.removed.retain(|key| **key != *SortKey::of(&name).octets());
        changing.added.push(added);
        tracing::info!("zone {name} added by command");
    } else {
        // What cannot be loaded is not taken up: nobody wants SERVFAIL for a mistyped path.
        let rest = present(controller).into_iter().filter(|zone| !zone.name.eq_ignore_case(&name));
        controller.apply(&mut changing, rest.collect(), Scope::New, &progress);
        change.errors.retain(|line| !line.starts_with("zone "));
        change.errors.push(format!("zone {name} is not added"));
        (change.added, change.failed) = (0, vec![name]);
    }
    change.unchanged = 0;
    change
}

/// Serves a zone no longer, until the next start.
pub fn remove_zone(controller: &Controller, name: &Name) -> Change {
    let mut changing = controller.change();
    if controller.position(name).is_none() {
        return refused(format!("there is no zone {name}; `zonda ctl zones` lists those there are"));
    }
    let zones = present(controller).into_iter().filter(|zone| !zone.name.eq_ignore_case(name)).collect();
    let mut change = controller.apply(&mut changing, zones, Scope::New, &Progress::default());
    changing.added.retain(|zone| !zone.name.eq_ignore_case(name));
    changing.removed.push(SortKey::of(name).octets().into());
    tracing::info!("zone {name} removed by command");
    change.unchanged = 0;
    change
}

fn refused(line: String) -> Change {
    Change { errors: vec![line], ..Change::default() }
}

/// The zones there are, as they were asked for.
fn present(controller: &Controller) -> Vec<Wanted> {
    let zones = controller.zones.read();
    zones.iter().map(|zone| Wanted { name: zone.apex().to_owned(), source: zone.source.clone() }).collect()
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

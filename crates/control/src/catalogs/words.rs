//! Catalogs in words, for operators.

use std::time::Duration;
use transfer::catalog_zone::{CatalogNumber, Claim, Clash, Counts};
use wire::Name;

use super::About;
use crate::command::CatalogLine;
use crate::controller::Controller;
use crate::text::{count, grouped};

/// Names of one kind that a line has, beside the count.
const NAMES_SHOWN_MAX: usize = 8;
/// Members that are shown of a catalog: more are for `zonda ctl zones`.
const MEMBERS_SHOWN_MAX: usize = 100;

/// `3 added, 1 removed`; nothing, if nothing was done and nothing waits.
pub(super) fn counts_text(counts: &Counts, waits: bool) -> String {
    let mut parts = Vec::new();
    let mut add = |number: u32, what: &str, waits: bool| {
        if number > 0 {
            let waits = if waits { " (waits)" } else { "" };
            parts.push(format!("{} {what}{waits}", grouped(number.into())));
        }
    };
    add(counts.added, "added", false);
    add(counts.moved - counts.moved_and_reset, "moved", false);
    add(counts.regrouped, "regrouped", false);
    add(counts.removed, "removed", waits);
    add(counts.reset, "reset", waits);
    add(counts.moved_and_reset, "moved and reset", waits);
    parts.join(", ")
}

/// What waits, and what lets it go on.
pub(super) fn waits_text(name: &Name, counts: &Counts, held: u32) -> String {
    let zones: Vec<String> = counts.losses_named.iter().map(ToString::to_string).collect();
    let more = if (counts.losses() as usize) > zones.len() { " and others" } else { "" };
    format!(
        "the data of {} of its {} would be forgotten, which is more than `remove-max` lets go in an hour: {}{more}; they stay until \
         `zonda ctl catalog confirm {name}`",
        grouped(counts.losses().into()),
        count(held as usize, "member"),
        zones.join(", "),
    )
}

/// How long who asks what is wrong waits for who keeps something.
const PATIENCE: Duration = Duration::from_millis(50);

impl Controller {
    /// A line about members that are not served as their catalog says.
    pub(super) fn clash_line(&self, counts: &Counts) -> Option<String> {
        if counts.clashes == 0 {
            return None;
        }
        let state = self.catalogs.state.lock();
        let name_of = |number: CatalogNumber| state.claims.catalog_name(number).to_string();
        let zones: Vec<String> = counts
            .clashes_named
            .iter()
            .map(|(zone, clash)| format!("{zone} ({})", clash_text(*clash, &name_of)))
            .collect();
        let more = if (counts.clashes as usize) > zones.len() { " and others" } else { "" };
        let members = count(counts.clashes as usize, "member");
        Some(format!("{members} not served as it says: {}{more}", zones.join(", ")))
    }

    /// All catalogs, or one of them with its members.
    pub(crate) fn catalog_lines(&self, only: Option<&Name>) -> Vec<CatalogLine> {
        let is_taken = self.taken();
        let state = self.catalogs.state.lock();
        let mut all: Vec<_> = state
            .about
            .iter()
            .filter(|(name, _)| only.is_none_or(|only| only.eq_ignore_case(name)))
            .collect();
        all.sort_by_key(|(name, _)| name.to_string());
        let line = |(name, about): (&wire::NameBuf, &About)| {
            let number = state.claims.catalog(name)?;
            let (members, held) = state.claims.counts(number);
            let mut line = CatalogLine {
                catalog: name.to_string(),
                serial: self.serial_of(name),
                members: members.into(),
                served: held.into(),
                state: String::new(),
                waits: about.waits.as_ref().map(|counts| waits_text(name, counts, held)),
                done: about.done.as_ref().map(|(text, _)| text.clone()),
                done_at: about.done.as_ref().map(|(_, at)| *at),
                ..CatalogLine::default()
            };
            let (word, problem) = match (&about.broken, line.serial) {
                (_, None) => {
                    ("absent", Some("has no data, or they have expired; its members stay as they are".into()))
                }
                (Some(why), _) => ("broken", Some(format!("{why}; its members stay as they are"))),
                _ if line.waits.is_some() => ("waits", None),
                _ => ("followed", None),
            };
            line.state = word.into();
            line.problems.extend(problem);
            line.problems.extend(state.problem.clone());
            if only.is_some() || members != held {
                let name_of = |number: CatalogNumber| state.claims.catalog_name(number).to_string();
                let own = state.claims.iter().map(|(_, claim)| claim).filter(|claim| claim.catalog == number);
                for claim in own {
                    if !claim.holds && line.clashes.len() < NAMES_SHOWN_MAX {
                        let holder =
                            state.claims.holder(claim.zone).and_then(|holder| state.claims.claim(holder));
                        let why = match self.store_of(claim.zone) {
                            Some(store) => format!("store {store} has it"),
                            None if self.made.has(claim.zone) => "it was made over the API".to_owned(),
                            None => why_not(&claim, holder, &is_taken, &name_of),
                        };
                        line.clashes.push(format!("{}: {why}", claim.zone));
                    } else if claim.holds && only.is_some() && line.zones.len() < MEMBERS_SHOWN_MAX {
                        let template = claim.template;
                        let template =
                            if template.is_empty() { String::new() } else { format!(" ({template})") };
                        line.zones.push(format!("{}{template}", claim.zone));
                    }
                }
                line.zones.sort();
            }
            Some(line)
        };
        all.into_iter().filter_map(line).collect()
    }

    /// What is wrong with catalogs, as lines; what was, where somebody has the lock for long: it is held while what is kept of them is brought to the disk.
    pub(crate) fn catalog_problems(&self) -> Vec<String> {
        if !self.catalogs.is_any.load(std::sync::atomic::Ordering::Relaxed) {
            return Vec::new();
        }
        let Some(state) = self.catalogs.state.lock_within(PATIENCE) else {
            return self.catalogs.problems.lock().clone();
        };
        let mut lines: Vec<String> = state.problem.iter().cloned().collect();
        for (name, about) in &state.about {
            if let Some(why) = &about.broken {
                lines.push(format!("catalog {name} is broken: {why}; its members stay as they are"));
            }
            if let Some(counts) = &about.waits {
                let held = state.claims.catalog(name).map_or(0, |number| state.claims.counts(number).1);
                lines.push(format!("catalog {name}: {}", waits_text(name, counts, held)));
            }
        }
        lines.sort();
        self.catalogs.problems.lock().clone_from(&lines);
        lines
    }
}

fn clash_text(clash: Clash, name_of: &impl Fn(CatalogNumber) -> String) -> String {
    match clash {
        Clash::Settings => "the settings or a command have it".into(),
        Clash::Catalog(other) => format!("catalog {} has it, and does not offer it (coo)", name_of(other)),
        Clash::NotAllowed => "`members` of the catalog does not allow the name".into(),
    }
}

/// Why a claim does not hold its zone.
fn why_not(
    claim: &Claim<'_>,
    holder: Option<Claim<'_>>,
    is_taken: &impl Fn(&Name) -> bool,
    name_of: &impl Fn(CatalogNumber) -> String,
) -> String {
    let clash = match holder {
        Some(holder) if holder.coo == Some(claim.catalog) => {
            return format!(
                "catalog {} has it, and offers it: at the next state of this one",
                name_of(holder.catalog)
            );
        }
        Some(holder) => Clash::Catalog(holder.catalog),
        None if is_taken(claim.zone) => Clash::Settings,
        None => Clash::NotAllowed,
    };
    clash_text(clash, name_of)
}

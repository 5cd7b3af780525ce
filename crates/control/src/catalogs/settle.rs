//! After a start or other settings: which members there are to be, beside what settings and commands want.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use transfer::catalog_zone::{CatalogSettings, Event, Settle, kept};
use wire::{Name, NameBuf};

use super::file::MembersFile;
use super::{About, Catalogs, State};
use crate::controller::{Changing, Controller};
use crate::sources::{SourceId, Sources};
use crate::text::count;
use crate::wanted::WantedZones;

impl Controller {
    /// Adds the members of catalogs to what settings and commands want. Members whose data are to be forgotten are served no more from then on.
    pub(crate) fn settle_catalogs(&self, changing: &Changing, wanted: &mut WantedZones) -> Vec<NameBuf> {
        let configured = changing.settings.catalogs();
        let mut locked = self.catalogs.state.lock();
        let state = &mut *locked;
        if !state.is_read {
            state.is_read = true;
            self.read_members(state);
        }
        state.made = changing.settings.made_catalogs();
        if configured.is_empty() && state.claims.is_empty() {
            self.catalogs.note_names(&[]);
            state.about.clear();
            return Vec::new();
        }
        // Settings are checked before; as before, they stay what they were.
        if state.claims.configure(configured.clone()).is_err() {
            tracing::error!(
                "catalogs have had too many names or templates since the start; those that are new are left out until the next start"
            );
        }
        note_sources(state, changing, &configured, &mut wanted.sources);
        state.about.retain(|name, _| configured.iter().any(|one| one.zone.eq_ignore_case(name)));
        for one in &configured {
            // Looked at again, as groups and names may mean something else.
            state.about.entry(one.zone.to_lowercase()).or_default().seen = None;
        }
        let reset = self.settle(state, changing, wanted);
        for (_, claim) in state.claims.iter().filter(|(_, claim)| claim.holds) {
            let catalog = state.claims.catalog_name(claim.catalog);
            if let Some(source) = state.source(catalog, claim.template) {
                wanted.push(claim.zone, source);
            }
        }
        drop(locked);
        self.catalogs.note_names(&configured);
        reset
    }

    /// Brings claims into line with the settings; gives the zones whose data are to be forgotten though they are wanted.
    fn settle(&self, state: &mut State, changing: &Changing, wanted: &WantedZones) -> Vec<NameBuf> {
        let claims = &state.claims;
        let is_claimed = |name: &&Name| claims.of_zone(name).next().is_some();
        let own = wanted.iter().map(|(name, _)| name).chain(changing.commanded.removed());
        let own: HashSet<NameBuf> = own.filter(is_claimed).map(Name::to_lowercase).collect();
        // Of a list that cannot be read nobody knows what it has: who is served by it stays.
        let (has_unread, is_taken) = (!wanted.unread.is_empty(), self.taken());
        let is_configured =
            |name: &Name| own.contains(&name.to_lowercase()) || (has_unread && is_taken(name));
        let (mut settle, mut lines, mut reset) = (Settle::new(&is_configured), String::new(), Vec::new());
        while let Some(step) = settle.next_step(&mut state.claims) {
            kept::write_step(&state.claims, &step, &mut lines);
            if let Some(Event::Moved { is_reset: true, .. } | Event::Reset) = step.event {
                reset.push(step.zone);
            }
        }
        self.keep_lines(state, &lines);
        reset
    }

    /// Takes over what the file has.
    fn read_members(&self, state: &mut State) {
        let Some(folder) = self.folder() else { return };
        match MembersFile::read(folder.path(), &mut state.claims) {
            Ok((file, found)) => {
                state.file = file;
                let path = folder.path().display();
                if found.is_aside {
                    tracing::error!(
                        "members in {path}: a file that is not understood, set aside as members.damaged; members are served once their catalogs are there"
                    );
                }
                if found.unreadable > 0 {
                    let lines = count(found.unreadable, "line");
                    tracing::warn!(
                        "members in {path}: {lines} not understood; the next state of their catalogs mends that"
                    );
                }
                if !state.claims.is_empty() {
                    let members = state.claims.len();
                    tracing::info!(members, "{} of catalogs as they were", count(members, "member"));
                }
            }
            Err(error) => {
                state.file.tear();
                tracing::error!(%error, "members in {}: {error}; members are served once their catalogs are there", folder.path().display());
            }
        }
    }

    /// Keeps lines of steps. Where that cannot be, zones are served all the same, and the whole file is written as soon as it can.
    pub(super) fn keep_lines(&self, state: &mut State, lines: &str) {
        let Some(folder) = self.folder() else { return };
        if !folder.is_writable() {
            if !lines.is_empty() {
                state.file.tear();
            }
            return;
        }
        let kept = match state.file.is_due(&state.claims) {
            true => state.file.write_anew(folder.path(), &state.claims),
            false => state.file.append(folder.path(), lines).map_err(|error| {
                format!(
                    "{}: {}",
                    folder.path().join("members").display(),
                    crate::text::cannot("write", &error)
                )
            }),
        };
        let problem = kept.err().map(|line| format!("{line}; members of catalogs that are new since are not served after a start before their catalogs are there"));
        match &problem {
            Some(line) if state.problem.is_none() => tracing::error!("{line}"),
            None if state.problem.is_some() => tracing::info!("members of catalogs are kept again"),
            _ => {}
        }
        state.problem = problem;
    }
}

impl Catalogs {
    fn note_names(&self, configured: &[CatalogSettings]) {
        *self.names.lock() = configured.iter().map(|one| one.zone.to_lowercase()).collect();
        self.noted.lock().retain(|name| configured.iter().any(|one| one.zone.eq_ignore_case(name)));
        self.is_any.store(!configured.is_empty(), Ordering::Relaxed);
    }
}

/// Enters where members of each template come from.
fn note_sources(
    state: &mut State,
    changing: &Changing,
    configured: &[CatalogSettings],
    sources: &mut Sources,
) {
    state.sources.clear();
    for one in configured {
        let catalog = one.zone.to_lowercase();
        for (at, (template, rules)) in changing.settings.member_rules(one).into_iter().enumerate() {
            let source = sources.without_file(&rules);
            if at == 0 {
                state.sources.insert((catalog.clone(), "".into()), source);
            }
            state.sources.insert((catalog.clone(), template), source);
        }
    }
}

impl State {
    /// Where the members of a catalog with a template come from; those with one that it has no more, from where the first says.
    pub(super) fn source(&self, catalog: &Name, template: &str) -> Option<SourceId> {
        let catalog = catalog.to_lowercase();
        let own = self.sources.get(&(catalog.clone(), template.into()));
        own.or_else(|| self.sources.get(&(catalog, "".into()))).copied()
    }

    pub(super) fn about(&mut self, catalog: &Name) -> &mut About {
        self.about.entry(catalog.to_lowercase()).or_default()
    }
}

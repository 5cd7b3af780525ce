//! Stores in words, for operators.

use std::collections::HashMap;

use wire::{Name, NameBuf};

use super::{About, Stands, StoreName};
use crate::command::StoreLine;
use crate::controller::Controller;
use crate::text::{Seconds, count, grouped};

/// Zones that are named of a list of them.
const NAMES_SHOWN_MAX: usize = 8;
/// Zones of which it is shown why they are not served as their store has them.
const REFUSED_SHOWN_MAX: usize = 100;

/// What is told of a store as numbers.
#[derive(Clone, Debug)]
pub(crate) struct StoreNumbers {
    pub(crate) name: StoreName,
    pub(crate) zones: u64,
    /// Whether its database cannot be read.
    pub(crate) is_away: bool,
    /// Zones that are not served as it has them.
    pub(crate) refused: u64,
    /// Zones that are gone or went back, and are served as they were.
    pub(crate) waiting: u64,
    /// Versions that were served.
    pub(crate) served: u64,
}

impl Stands {
    fn word(&self) -> &'static str {
        match self {
            Stands::Starting => "starting",
            Stands::Listing => "listing",
            Stands::Following => "followed",
            Stands::Away(..) => "away",
            Stands::Another(_) => "another",
        }
    }

    /// What is wrong, if anything is.
    fn problem(&self, name: StoreName) -> Option<String> {
        match self {
            Stands::Away(words, since) => {
                let since = Seconds(crate::expiry::now().saturating_sub(*since));
                Some(format!(
                    "away for {since}, tried again by itself: {words}; its zones are served as they are"
                ))
            }
            Stands::Another(identity) => Some(format!(
                "another database is at its address (identity {identity}); its zones are served as they are until `zonda ctl store confirm {name}`"
            )),
            _ => None,
        }
    }
}

impl About {
    /// What waits, and what lets it go on.
    fn waits_text(&self, name: StoreName, is_powerdns: bool) -> Option<String> {
        if self.losses() == 0 {
            return None;
        }
        let zones = self.gone.iter().chain(self.back.keys());
        let mut names: Vec<String> = zones.take(NAMES_SHOWN_MAX).map(ToString::to_string).collect();
        names.sort();
        let more = if self.losses() > names.len() { " and others" } else { "" };
        let (gone, back) = (grouped(self.gone.len() as u64), grouped(self.back.len() as u64));
        let until = match self.waits {
            true => format!(
                "losses wait, as they are more than `remove-max` lets go in an hour, until `zonda ctl store confirm {name}`"
            ),
            false if is_powerdns && self.gone.is_empty() => {
                "they have other records, and no serial that is greater than the one that is served, which they need (`pdnsutil increase-serial`)"
                    .into()
            }
            false if self.is_read_only && self.gone.is_empty() => {
                "the server's user cannot write the store, so that whoever can has to give them serials above those that are served"
                    .into()
            }
            false => "they are looked at in a moment".into(),
        };
        Some(format!("{gone} gone, {back} went back: {}{more}; {until}", names.join(", ")))
    }
}

impl About {
    /// Zones that nobody knows by their names.
    fn misnamed_text(&self) -> Option<String> {
        let (number, words) = &self.misnamed;
        let more = if *number as usize > NAMES_SHOWN_MAX { " and others" } else { "" };
        (*number > 0).then(|| {
            format!(
                "{} with names that are not in their one form: {words}{more}",
                count(*number as usize, "zone")
            )
        })
    }
}

impl Controller {
    /// All stores, or one of them with the zones that are not served as it has them.
    pub(crate) fn store_lines(&self, only: Option<&str>) -> Vec<StoreLine> {
        let state = self.stores.state.read();
        let stores =
            state.stores.iter().filter(|store| only.is_none_or(|only| only == store.terms.name.as_str()));
        let line = |store: &super::Store| {
            let (about, name) = (&store.about, store.terms.name);
            let is_powerdns = store.terms.powerdns.is_some();
            let mut problems: Vec<String> = about.stands.problem(name).into_iter().collect();
            problems.extend(state.owned.problem().map(ToOwned::to_owned));
            let shown = if only.is_some() { REFUSED_SHOWN_MAX } else { 0 };
            let lines = |zones: &HashMap<NameBuf, String>| {
                let lines = zones.iter().take(shown).map(|(zone, why)| format!("{zone}: {why}"));
                let mut lines: Vec<String> = lines.collect();
                lines.sort();
                lines
            };
            let mut refusals = lines(&about.refused);
            refusals.extend(about.misnamed_text().filter(|_| only.is_some()));
            StoreLine {
                store: name.to_string(),
                url: store.terms.url.clone(),
                state: about.stands.word().into(),
                identity: store
                    .number
                    .and_then(|number| state.owned.known(number))
                    .map(|known| known.identity.to_string()),
                zones: store.number.map_or(0, |number| state.owned.count(number)) as u64,
                schema: if is_powerdns { "powerdns" } else { "zonda" }.into(),
                read_only: about.is_read_only && !is_powerdns,
                refused: about.refused_count(),
                refusals,
                without: lines(&about.without),
                waits: about.waits_text(name, is_powerdns),
                last: about.last.as_ref().map(|(zone, serial, _)| format!("{zone} serial {serial}")),
                last_at: about.last.as_ref().map(|(.., at)| *at),
                notify: about.notices.as_ref().map(|notices| match notices {
                    Ok(()) => "heard".into(),
                    Err(why) => format!("not heard: {why}; it is looked each `poll-ms`"),
                }),
                pid: about.pid,
                problems,
            }
        };
        stores.map(line).collect()
    }

    /// What is wrong with stores, as lines.
    pub(crate) fn store_problems(&self) -> Vec<String> {
        if !self.stores.is_any() {
            return Vec::new();
        }
        let state = self.stores.state.read();
        let mut lines: Vec<String> = state.owned.problem().map(ToOwned::to_owned).into_iter().collect();
        for store in &state.stores {
            let (about, name) = (&store.about, store.terms.name);
            let mut add = |line: String| lines.push(format!("store {name}: {line}"));
            about.stands.problem(name).into_iter().for_each(&mut add);
            if about.waits {
                about.waits_text(name, store.terms.powerdns.is_some()).into_iter().for_each(&mut add);
            }
            let refused = about.refused_count() as usize;
            if refused > 0 {
                add(format!(
                    "{} not served as it has them; `zonda ctl store show {name}`",
                    count(refused, "zone")
                ));
            }
        }
        lines
    }

    /// What stores say of one zone, as lines.
    pub(crate) fn store_words(&self, zone: &Name) -> Vec<String> {
        if !self.stores.is_any() {
            return Vec::new();
        }
        let lower = zone.to_lowercase();
        let state = self.stores.state.read();
        let mut lines = Vec::new();
        for store in &state.stores {
            let (about, name) = (&store.about, store.terms.name);
            if store.owns(&state.owned, zone) {
                lines.push(format!("{name}, {}", about.stands.word()));
                lines.extend(about.stands.problem(name));
            }
            if let Some(why) = about.refused.get(&lower) {
                lines.push(format!("{name} has another version, which is not served: {why}"));
            }
            if let Some(words) = about.without.get(&lower) {
                lines.push(format!("{name} has more than is served: {words}"));
            }
            if about.gone.contains(&lower) {
                lines.push(format!("{name} has it no more; it is served until that is confirmed"));
            }
            if about.back.contains_key(&lower) {
                lines.push(format!(
                    "{name} went back: it has an older version, or another one of this serial"
                ));
            }
        }
        lines
    }

    /// What is told of stores as numbers.
    pub(crate) fn store_numbers(&self) -> Vec<StoreNumbers> {
        let state = self.stores.state.read();
        let numbers = |store: &super::Store| StoreNumbers {
            name: store.terms.name,
            zones: store.number.map_or(0, |number| state.owned.count(number)) as u64,
            is_away: store.about.stands.problem(store.terms.name).is_some(),
            refused: store.about.refused_count(),
            waiting: store.about.losses() as u64,
            served: store.about.served,
        };
        state.stores.iter().map(numbers).collect()
    }

    /// Lets go on what waits of a store; says what that was. The error: why nothing did.
    pub(crate) fn confirm_store(&self, text: &str) -> Result<String, String> {
        let no_store = || format!("there is no [[store]] {text:?} in the settings");
        let name = StoreName::new(text).ok_or_else(no_store)?;
        let generation = self.stores.generation(name).ok_or_else(no_store)?;
        let key = (name, generation);
        let confirmed = self.stores.with(key, |store, _, _| {
            let about = &mut store.about;
            if let Stands::Another(identity) = &about.stands {
                about.accepted = Some(identity.clone());
                return Ok((Vec::new(), Vec::new(), true));
            }
            if about.losses() == 0 {
                return Err(format!("nothing waits of store {name}"));
            }
            about.waits = false;
            let gone = std::mem::take(&mut about.gone).into_iter().collect();
            let back = std::mem::take(&mut about.back).into_keys().collect();
            Ok((gone, back, false))
        });
        let (gone, back, is_another) = confirmed.ok_or_else(no_store)??;
        if is_another {
            return Ok(format!("the database that is there now is store {name} from now on"));
        }
        let said = format!("{} gone, {} went back", grouped(gone.len() as u64), grouped(back.len() as u64));
        self.let_go(key, gone, back);
        Ok(said)
    }
}

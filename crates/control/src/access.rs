//! Access lists while the server runs: names of lists to numbers of groups, and what is published of both.
//!
//! Zones whose sections name the same lists are of one group. Its number is what their slots have, and means the same names as long as the process
//! lives, whatever the lists of these names are: so workers see lists and groups change in any order, and never a number for another.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use auth::access::{Access, GroupRules, Kind, TooMany};
use zone::catalog::Group;

use crate::controller::{Changing, Controller};
use crate::settings::access::Lists;
use crate::settings::{OwnLists, Settings};

/// The groups that there ever were.
#[derive(Default)]
pub(crate) struct Groups {
    /// By number, group 1 first.
    names: Vec<OwnLists>,
    groups: HashMap<OwnLists, Group>,
    /// Zones may be in groups: settings name lists for some, or did until now.
    pub(crate) is_live: bool,
    /// The same with lists for queries.
    pub(crate) has_queries: bool,
    /// Zones were given their groups since the start. Before that only queries are let in: what else a zone does not allow is not known.
    is_known: bool,
}

impl Groups {
    /// None yet. `has_queries`: zones may be in some with lists for queries all the same, which are not known any more.
    pub(crate) fn new(has_queries: bool) -> Groups {
        Groups { is_live: has_queries, has_queries, ..Groups::default() }
    }

    /// The group of zones whose sections name these lists; 0 for none.
    pub(crate) fn group(&self, names: &OwnLists) -> Group {
        self.groups.get(names).copied().unwrap_or_default()
    }

    /// Gives numbers to what settings name. Errors are lines for the operator.
    fn enter(&mut self, settings: &Settings) -> Result<(), String> {
        for names in settings.own_lists() {
            self.is_live = true;
            self.has_queries |= names.has_queries();
            if self.groups.contains_key(&names) {
                continue;
            }
            if self.names.len() == Group::NUMBERS_MAX {
                return Err(format!(
                    "allow-query and the like: zones have had more than {} different lists since the start; start anew",
                    Group::NUMBERS_MAX
                ));
            }
            self.names.push(names.clone());
            let group = Group::new(self.names.len(), names.has_queries());
            let group = if names.is_mirror() { group.mirrored() } else { group };
            self.groups.insert(names, group);
        }
        Ok(())
    }

    /// What settings say, for all groups that zones may be in.
    pub(crate) fn access(&mut self, settings: &Settings) -> Result<Access, String> {
        self.enter(settings)?;
        let lists = Lists::of(settings);
        let defaults = settings.access.kinds().map(|(_, names)| lists.rule(names));
        let of_group = |own: &OwnLists| -> GroupRules {
            let mut rules: GroupRules = Default::default();
            // Without a zone that has lists for queries, none is looked at for them.
            let is_meant = |kind| kind != Kind::Query as usize || self.has_queries;
            for (kind, names) in own.kinds().filter(|(kind, names)| is_meant(*kind) && !names.is_empty()) {
                rules[kind] = Some(lists.rule(names));
            }
            rules
        };
        let names = if self.is_live { &self.names[..] } else { &[] };
        let has_mirrors = self.has_queries && names.iter().any(OwnLists::is_mirror);
        let forwards = names.iter().map(OwnLists::forwards_updates).collect();
        let groups = names.iter().map(of_group).collect();
        let limits = settings.limits(&lists);
        let access = Access::new(lists.lists, defaults, groups)
            .map(|access| access.limited(limits).forwarding(forwards).mirroring(has_mirrors))
            .map(|access| access.settled(self.is_known));
        access.map_err(|fault| {
            // Settings with more of the others are not read.
            match fault {
                TooMany::Lists => "too many [[acl]]",
                TooMany::ListsOfRule => "too many lists for one kind of request",
                TooMany::Groups => "too many different lists of zones",
            }
            .into()
        })
    }
}

impl Controller {
    /// Notes in the pack folder that zones may have lists of their own, if so: a start may not serve zones before it knows their lists. To be called
    /// before anything is published that says so.
    pub(crate) fn note_groups(&self, groups: &Groups) {
        let mut is_restricted = self.is_restricted.lock();
        *is_restricted |= groups.has_queries;
        if *is_restricted {
            self.store_restricted(true);
        }
    }

    /// Notes that no zone has any more, if so; to be called once it is stored which zones of packs are not to be served.
    pub(crate) fn note_no_groups(&self) {
        let is_restricted = self.is_restricted.lock();
        if !*is_restricted {
            self.store_restricted(false);
        }
    }

    fn store_restricted(&self, is_restricted: bool) {
        let Some(folder) = self.folder() else { return };
        if let Err(problem) = folder.set_restricted(is_restricted) {
            tracing::warn!(
                error = problem,
                "{problem}; the next start may answer from zones before it knows who may ask, or wait for that in vain"
            );
        }
    }

    /// Zones have their groups. Where no zone is in one any more, or in none with lists for queries, these are not looked at from now on.
    pub(crate) fn settle_groups(&self, changing: &mut Changing) {
        let (is_live, has_queries) =
            (changing.settings.own_lists().next().is_some(), changing.settings.has_own_queries());
        let groups = &mut changing.groups;
        if (is_live, has_queries, true) == (groups.is_live, groups.has_queries, groups.is_known) {
            return;
        }
        if groups.has_queries && !has_queries {
            *self.is_restricted.lock() = false;
            self.is_untidy.store(true, Ordering::SeqCst);
        }
        (groups.is_live, groups.has_queries, groups.is_known) = (is_live, has_queries, true);
        if let Ok(access) = groups.access(&changing.settings) {
            let identity = (*self.identity.current()).clone();
            self.identity.publish(auth::Server { access, ..identity });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::settings::Names;
    use auth::Transport;
    use auth::access::{Asker, Decision};
    use std::path::Path;

    fn settings(text: &str) -> Settings {
        Settings::parse(Path::new("f"), text).unwrap()
    }

    /// What becomes of a query from `address` for a zone of the group of `names`.
    fn decide(access: &Access, groups: &Groups, names: &str, address: &str) -> Decision {
        let asker = Asker {
            address: address.parse().unwrap(),
            transport: Transport::Udp,
            is_proved: false,
            key: None,
        };
        access.decide(Kind::Query, groups.group(&OwnLists::of_queries(&Names::one(names))), &asker)
    }

    const ZONE: &str = "[[zone]]\nname = \"a\"\nfile = \"x\"\n";

    #[test]
    fn groups_stay_what_they_were() {
        let mut groups = Groups::default();
        assert!(groups.access(&settings(ZONE)).unwrap().is_open() && !groups.is_live);
        let own = |list: &str, address: &str| {
            settings(&format!(
                "[[acl]]\nname = \"{list}\"\naddresses = \"{address}\"\n{ZONE}allow-query = \"{list}\"\n"
            ))
        };
        let first = groups.access(&own("one", "10.0.0.1")).unwrap();
        assert!(!first.is_open() && groups.is_live);
        assert_eq!(decide(&first, &groups, "one", "10.0.0.1"), Decision::Allowed);
        assert_eq!(decide(&first, &groups, "one", "10.0.0.2"), Decision::Denied);
        let number = groups.group(&OwnLists::of_queries(&Names::one("one")));
        assert!(number.number() == 1 && number.is_for_some());
        // Another list of the name: the same group. Another name: another group, and the one whose list is gone lets nobody in.
        let second = groups.access(&own("one", "10.0.0.2")).unwrap();
        assert_eq!(decide(&second, &groups, "one", "10.0.0.2"), Decision::Allowed);
        let third = groups.access(&own("two", "10.0.0.1")).unwrap();
        assert_eq!(groups.group(&OwnLists::of_queries(&Names::one("one"))), number);
        assert_eq!(decide(&third, &groups, "two", "10.0.0.1"), Decision::Allowed);
        assert_eq!(decide(&third, &groups, "one", "10.0.0.1"), Decision::Denied);
        // While zones may be in groups these are looked at; afterwards not.
        assert!(!groups.access(&settings(ZONE)).unwrap().is_open());
        (groups.is_live, groups.has_queries) = (false, false);
        assert!(groups.access(&settings(ZONE)).unwrap().is_open());
    }

    /// Lists for transfers alone cost queries nothing, and hold once zones are in their groups.
    #[test]
    fn lists_for_transfers() {
        let text = format!(
            "[[acl]]\nname = \"two\"\naddresses = \"10.0.0.1\"\n[access]\ntransfer = \"all\"\n\
             {ZONE}allow-transfer = \"two\"\nallow-notify = \"all\"\n"
        );
        let settings = settings(&text);
        let mut groups = Groups::default();
        let early = groups.access(&settings).unwrap();
        assert!(early.is_open() && !early.is_settled() && groups.is_live && !groups.has_queries);
        groups.is_known = true;
        let access = groups.access(&settings).unwrap();
        let group = groups.group(&settings.own_lists().next().unwrap());
        assert!(access.is_open() && access.is_settled() && !group.is_for_some() && group.number() == 1);
        let decide = |kind, group, address: &str| {
            let address = address.parse().unwrap();
            access.decide(
                kind,
                group,
                &Asker { address, transport: Transport::Tcp, is_proved: true, key: None },
            )
        };
        assert_eq!(decide(Kind::Transfer, group, "10.0.0.1"), Decision::Allowed);
        assert_eq!(decide(Kind::Transfer, group, "10.0.0.2"), Decision::Denied);
        assert_eq!(decide(Kind::Transfer, Group::default(), "10.0.0.2"), Decision::Allowed);
        assert_eq!(decide(Kind::Notify, group, "10.0.0.2"), Decision::Allowed);
        assert_eq!(decide(Kind::Update, group, "10.0.0.1"), Decision::Denied);
        assert_eq!(decide(Kind::Query, group, "10.0.0.2"), Decision::Allowed);
    }
}

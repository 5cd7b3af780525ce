//! Who may change what, as it is written: `[[update-policy]]` to policies, and what zones say of their updates.

use std::collections::HashMap;
use std::sync::Arc;

use change::policy::RULES_MAX;
use change::{Limits, Policy, SerialStyle};
use toml::de::{DeTable, DeValue};

use super::Settings;
use super::access::{NOBODY, Place, one_of};
use super::problem::Report;
use super::sections::{UpdatePolicySettings, ZoneSettings};
use super::value::{Names, Range, Value};

/// Most policies: one a customer, as there are most lists.
const POLICIES_MAX: usize = 4096;

/// What `write-text` of zones may be.
pub(super) const WRITE_TEXT: &[&str] = &["never", "stop"];

/// The policies of settings by name.
#[derive(Clone, Debug, Default)]
pub struct UpdatePolicies {
    policies: HashMap<Box<str>, Arc<Policy>>,
}

/// What a section says of the updates of its zones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UpdateRules {
    /// The name of a policy; empty: none.
    pub policy: Box<str>,
    /// How many records updates may make.
    pub limits: Limits,
    /// How serials go on.
    pub serial: SerialStyle,
    /// Whether texts are written at the end.
    pub writes_text: bool,
}

/// How much of its zones a section has kept for IXFR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IxfrRules {
    /// Octets of a zone.
    pub octets: u64,
    /// Versions of a zone.
    pub versions: u32,
    /// Whether several versions are sent as one difference, where that is shorter by half.
    pub condense: bool,
}

impl Default for IxfrRules {
    /// A week of a busy zone, and as many versions as are found in some milliseconds.
    fn default() -> IxfrRules {
        IxfrRules { octets: 64 << 20, versions: 4096, condense: false }
    }
}

/// What holds for the updates of a zone.
#[derive(Clone, Debug, Default)]
pub struct UpdateTerms {
    /// Who may change what; `None`: whoever the access lists let in may change all.
    pub policy: Option<Arc<Policy>>,
    /// How many records updates may make.
    pub limits: Limits,
    /// How serials go on.
    pub serial: SerialStyle,
}

impl UpdateTerms {
    /// Nobody may change anything.
    pub fn nobody() -> UpdateTerms {
        UpdateTerms { policy: Some(Arc::default()), ..UpdateTerms::default() }
    }
}

impl UpdatePolicies {
    /// The policies of settings without faults; one that has some grants nothing.
    pub fn of(settings: &Settings) -> UpdatePolicies {
        let compiled = settings.update_policies.iter().take(POLICIES_MAX).map(|policy| {
            let rules = policy.rules.texts().iter().map(|rule| &**rule);
            (policy.name.as_str().into(), Arc::new(Policy::new(rules).unwrap_or_default()))
        });
        UpdatePolicies { policies: compiled.collect() }
    }

    /// What holds for zones of which their section says this. A policy that is not known grants nothing.
    pub fn terms(&self, rules: &UpdateRules) -> UpdateTerms {
        let named = || self.policies.get(&rules.policy).cloned().unwrap_or_default();
        let policy = (!rules.policy.is_empty()).then(named);
        UpdateTerms { policy, limits: rules.limits, serial: rules.serial }
    }
}

impl ZoneSettings {
    /// What it says of updates.
    pub(super) fn update_rules(&self) -> UpdateRules {
        let limits =
            Limits { records_per_rrset: self.records_per_rrset, records_per_name: self.records_per_name };
        let (policy, writes_text) = (self.update_policy.as_str().into(), self.write_text == "stop");
        UpdateRules { policy, limits, serial: self.serial, writes_text }
    }

    /// What it says of IXFR.
    pub(super) fn ixfr_rules(&self) -> IxfrRules {
        IxfrRules { octets: self.ixfr_octets, versions: self.ixfr_versions, condense: self.ixfr_condense }
    }
}

impl Settings {
    /// Reports what is wrong with policies and with what names them. `table`: of the whole file, for the places.
    pub(super) fn check_updates(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let mut known: Vec<&str> = Vec::new();
        for (at, policy) in self.update_policies.iter().enumerate() {
            let place = Place { table, section: "update-policy", at: Some(at) };
            let name = &*policy.name;
            if at == POLICIES_MAX {
                let found = self.update_policies.len();
                let text = format!("expected at most {POLICIES_MAX} policies, found {found}");
                place.report(report, "name", None, text);
                break;
            }
            if name.is_empty() {
                place.report(report, "name", None, "expected a name for the policy, found none".into());
            } else if known.contains(&name) {
                let text = format!("expected each name once, found {name:?} twice");
                place.report(report, "name", None, text);
            }
            known.push(name);
            for (item, text) in rule_faults(policy) {
                place.report(report, "rules", Some(item), text);
            }
        }
        known.sort_unstable();
        for (section, at, zone) in self.sections_of_zones() {
            let name = &*zone.update_policy;
            if !name.is_empty() && known.binary_search(&name).is_err() {
                let text = one_of("[[update-policy]]", name, known.iter().copied());
                Place { table, section, at: Some(at) }.report(report, "update-policy", None, text);
            }
        }
        self.check_updates_are_kept(table, report);
    }

    /// Reports who is let in to change zones although nothing could be kept of that.
    fn check_updates_are_kept(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        if !self.server.pack_directory.as_os_str().is_empty() {
            return;
        }
        let mut check = |section, at, key, names: &Names| {
            if names.texts().iter().any(|name| **name != *NOBODY) {
                let text = "expected `pack-directory` in [server] too, found none: what updates change is kept there";
                Place { table, section, at }.report(report, key, None, text.into());
            }
        };
        check("access", None, "update", &self.access.update);
        for (section, at, zone) in self.sections_of_zones() {
            // Those of others are changed there.
            if zone.primaries.is_empty() && !zone.forward_updates {
                check(section, Some(at), "allow-update", &zone.allow_update);
            }
        }
    }
}

/// What is wrong with which rules.
fn rule_faults(policy: &UpdatePolicySettings) -> Vec<(usize, String)> {
    let rules = policy.rules.texts();
    let fault = |(at, rule): (usize, &str)| {
        let (_, fault) = Policy::new([rule]).err()?;
        Some((at, format!("{fault}, found {rule:?}")))
    };
    let mut faults: Vec<_> =
        rules.iter().map(|rule| &**rule).take(RULES_MAX).enumerate().filter_map(fault).collect();
    if rules.len() > RULES_MAX {
        faults.push((RULES_MAX, format!("expected at most {RULES_MAX} rules, found {}", rules.len())));
    }
    faults
}

/// Their words.
const STYLES: [(&str, SerialStyle); 3] =
    [("increment", SerialStyle::Increment), ("unixtime", SerialStyle::UnixTime), ("date", SerialStyle::Date)];

impl Value for SerialStyle {
    fn expected(_: Range) -> String {
        format!("one of {}", STYLES.map(|(word, _)| format!("{word:?}")).join(", "))
    }
    fn read(value: &DeValue<'_>, _: Range) -> Option<Self> {
        let text = value.as_str()?;
        STYLES.iter().find(|(word, _)| *word == text).map(|(_, style)| *style)
    }
    fn show(&self) -> String {
        let word = STYLES.iter().find(|(_, style)| style == self).map_or("", |(word, _)| word);
        format!("{word:?}")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use change::Asker;
    use std::path::Path;
    use wire::{NameBuf, SortKey, Transport};

    const ZONE: &str = "[[zone]]\nname = \"a\"\nfile = \"f\"\n";

    #[test]
    fn zones_name_policies() {
        let text = format!(
            "[[update-policy]]\nname = \"dhcp\"\nrules = [\"grant dhcp-key. subdomain a. A\", \"deny * zonesub\"]\n\
             {ZONE}update-policy = \"dhcp\"\nserial = \"date\"\nrecords-per-rrset = 7\n\
             [[zone-directory]]\npath = \"p\"\nrecords-per-name = 8\n"
        );
        let settings = Settings::parse(Path::new("f"), &text).unwrap();
        let policies = UpdatePolicies::of(&settings);
        let zone = policies.terms(&settings.zones[0].1.update_rules());
        assert_eq!((zone.serial, zone.limits.records_per_rrset), (SerialStyle::Date, 7));
        assert_eq!(zone.limits.records_per_name, Limits::default().records_per_name);
        let key = NameBuf::from_text("dhcp-key.").unwrap();
        let of = |key| Asker { address: [127, 0, 0, 1].into(), transport: Transport::Udp, key };
        let owner = SortKey::of(&NameBuf::from_text("b.a.").unwrap());
        let policy = zone.policy.unwrap();
        let decide = |key| policy.of(&of(key)).decide(owner.octets(), wire::iana::rtype::A).is_granted;
        assert_eq!((decide(Some(&*key)), decide(None)), (true, false));
        let zones = policies.terms(&settings.zone_directories[0].1.zone.update_rules());
        assert_eq!((zones.limits.records_per_name, zones.policy.is_none()), (8, true));
        assert_eq!(zones.serial, SerialStyle::Increment);
    }

    #[test]
    fn what_changes_has_a_place() {
        let text = format!("[access]\nupdate = \"all\"\n{ZONE}allow-update = [\"nobody\"]\n");
        let problems = Settings::parse(Path::new("f"), &text).unwrap_err();
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert!(
            lines.len() == 1 && lines[0].starts_with("f:2:10: update: expected `pack-directory`"),
            "{lines:?}"
        );
        let text = text.replace("\"all\"", "\"nobody\"").replace("\"nobody\"]", "\"all\"]");
        assert_eq!(Settings::parse(Path::new("f"), &text).unwrap_err().len(), 1);
        Settings::parse(Path::new("f"), &format!("[server]\npack-directory = \"p\"\n{text}")).unwrap();
    }

    #[test]
    fn faults_have_places() {
        let text = format!(
            "[[update-policy]]\nname = \"dhcp\"\nrules = [\n\"grant k. self\",\n\"grant k. selv\",\n\"allow k. self\"]\n\
             [[update-policy]]\nname = \"dhcp\"\nrules = \"grant k. zonesub FOO\"\n[[update-policy]]\n\
             {ZONE}update-policy = \"dchp\"\nserial = \"epoch\"\n"
        );
        let problems = Settings::parse(Path::new("f"), &text).unwrap_err();
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        let expected = [
            "f:5:1: rules: third comes `name`",
            "f:6:1: rules: a rule begins with `grant` or `deny`, found \"allow k. self\"",
            "f:8:8: name: expected each name once, found \"dhcp\" twice",
            "f:9:9: rules: `FOO` is no type of records of a zone",
            "f:10:1: name: expected a name for the policy, found none",
            "f:14:17: update-policy: unknown [[update-policy]] \"dchp\"; did you mean \"dhcp\"?",
            "f:15:10: serial: expected one of \"increment\", \"unixtime\", \"date\", found \"epoch\"",
        ];
        assert_eq!(lines.len(), expected.len(), "{lines:#?}");
        for (line, begin) in lines.iter().zip(expected) {
            assert!(line.starts_with(begin), "{line}");
        }
    }
}

//! What is wrong with the resolver and its zones as a whole, each with its place in the file.

use std::net::IpAddr;

use toml::de::DeTable;
use wire::{Name, NameBuf};

use super::ports;
use crate::settings::Settings;
use crate::settings::access::{Place, prefix};
use crate::settings::problem::Report;
use crate::settings::value::Names;

/// Lengths of prefixes that addresses can be made with (RFC 6052 2.2).
const DNS64_LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// What is wrong with a text.
type TextFault = Option<String>;

impl Settings {
    /// Reports what is wrong with the resolver and its zones. `table`: of the whole file, for the places.
    pub(in crate::settings) fn check_resolver(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let resolver = &self.resolver;
        let prefix_fault = |text: &str| -> TextFault {
            prefix(text)
                .err()
                .or_else(|| text.starts_with('!').then(|| format!("expected no \"!\", found {text:?}")))
        };
        let name_fault = |text: &str| -> TextFault {
            NameBuf::from_text(text)
                .err()
                .map(|error| format!("expected a domain name, found {text:?}: {error}"))
        };
        let address_fault = |text: &str| -> TextFault {
            text.parse::<IpAddr>().err().map(|_| format!("expected an address, found {text:?}"))
        };
        let dns64_fault = |text: &str| -> TextFault {
            prefix_fault(text).or_else(|| {
                let (prefix, _) = prefix(text).ok()?;
                let fits = prefix.v6().is_some() && DNS64_LENGTHS.contains(&prefix.length());
                (!fits).then(|| {
                    format!("expected an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits, found {text:?}")
                })
            })
        };
        let place = Place { table, section: "resolver", at: None };
        let mut check = |key, names: &Names, fault: &dyn Fn(&str) -> TextFault| {
            for (at, text) in names.texts().iter().enumerate() {
                if let Some(text) = fault(text) {
                    place.report(report, key, Some(at), text);
                }
            }
        };
        check("insecure", &resolver.insecure, &name_fault);
        check("private-names", &resolver.private_names, &name_fault);
        check("not-special", &resolver.not_special, &name_fault);
        check("source-addresses", &resolver.source_addresses, &address_fault);
        check("never-ask", &resolver.never_ask, &prefix_fault);
        check("private-addresses", &resolver.private_addresses, &prefix_fault);
        check("dns64-prefixes", &resolver.dns64_prefixes, &dns64_fault);
        check("dns64-exclude", &resolver.dns64_exclude, &prefix_fault);
        check("dns64-clients", &resolver.dns64_clients, &prefix_fault);
        if ports(&resolver.source_ports).is_none() {
            let found = &resolver.source_ports;
            let least = net::PORTS_MIN;
            let text = format!(
                "expected two ports from 1024 on with {least} or more between, such as \"1024-65535\", found {found:?}"
            );
            place.report(report, "source-ports", None, text);
        }
        if !resolver.ipv4 && !resolver.ipv6 {
            place.report(
                report,
                "ipv6",
                None,
                "expected true beside `ipv4 = false`: nobody could be asked".into(),
            );
        }
        self.check_local(table, report);
        self.check_names_once(table, report);
    }

    /// Records of local zones are read, and lie in them.
    fn check_local(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        for (at, (_, local)) in self.local_zones.iter().enumerate() {
            let Some(name) = &local.name else { continue };
            for (item, line) in local.records.texts().iter().enumerate() {
                let fault = match super::local_records(line, name) {
                    Err(problem) => Some(format!(
                        "{line:?}: {}",
                        problem.to_string().trim_start_matches("text:1:").trim_start()
                    )),
                    Ok(records) => records
                        .iter()
                        .find(|record| !record.owner.is_at_or_below(name))
                        .map(|record| format!("expected a name at or below {name}, found {}", record.owner)),
                };
                if let Some(text) = fault {
                    Place { table, section: "local-zone", at: Some(at) }.report(
                        report,
                        "records",
                        Some(item),
                        text,
                    );
                }
            }
        }
    }

    /// A name is forwarded, stub or local once.
    fn check_names_once(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        fn names<S>(all: &[(usize, S)], name: impl Fn(&S) -> &Option<NameBuf>) -> Vec<&Name> {
            all.iter().filter_map(|(_, section)| name(section).as_deref()).collect()
        }
        let sections = [
            ("forward", names(&self.forwards, |forward| &forward.name)),
            ("stub", names(&self.stubs, |stub| &stub.name)),
            ("local-zone", names(&self.local_zones, |local| &local.name)),
        ];
        let mut seen: std::collections::HashMap<NameBuf, &str> = Default::default();
        for (section, names) in &sections {
            for (at, name) in names.iter().enumerate() {
                if let Some(before) = seen.insert(name.to_lowercase(), section) {
                    let text = format!("expected each name once, found {name} in [[{before}]] too");
                    Place { table, section, at: Some(at) }.report(report, "name", None, text);
                }
            }
        }
    }
}

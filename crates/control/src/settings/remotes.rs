//! Other servers as they are written, and what is wrong with them and with what names them.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use auth::Keys;
use toml::de::DeTable;
use transfer::notify::{Remote, RemoteName};
use transfer::refresh::PRIMARIES_OF_ZONE_MAX;
use wire::NameBuf;

use super::Settings;
use super::access::{Place, one_of};
use super::problem::Report;
use super::sections::RemoteSettings;
use super::value::Names;

/// Most remotes that a zone can name: each is told by itself.
const REMOTES_OF_ZONE_MAX: usize = 64;
/// Most addresses of a remote: it is one server.
const ADDRESSES_MAX: usize = 16;

/// What is wrong with a section as a whole.
pub(super) fn check(remote: &RemoteSettings) -> Result<(), &'static str> {
    match (remote.name.is_empty(), remote.addresses.len()) {
        (true, _) => Err("expected `name`, found none"),
        (_, 0) => Err("expected `addresses`, found none"),
        (_, 1..=ADDRESSES_MAX) => Ok(()),
        _ => Err("addresses: expected at most 16"),
    }
}

impl Settings {
    /// Reports what is wrong with remotes, and with their names in zones. `table`: of the whole file, for the places.
    pub(super) fn check_remotes(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let (mut known, keys) = (HashSet::new(), self.key_names());
        for (at, remote) in self.remotes.iter().enumerate() {
            let place = Place { table, section: "remote", at: Some(at) };
            if !remote.name.is_empty() && !known.insert(&*remote.name) {
                let text = format!("expected each name once, found {:?} twice", remote.name);
                place.report(report, "name", None, text);
            }
            let name = NameBuf::from_text(&remote.key).map(|name| name.to_lowercase());
            if !remote.key.is_empty() && !name.is_ok_and(|name| keys.contains(&name)) {
                place.report(report, "key", None, super::access::unknown_key(&remote.key, &keys));
            }
            let source = remote.source.parse::<IpAddr>();
            if !remote.source.is_empty() {
                let text = match source {
                    Err(_) => Some(format!("expected an address, found {:?}", remote.source)),
                    Ok(source) => remote
                        .addresses
                        .iter()
                        .find(|address| address.is_ipv4() != source.is_ipv4())
                        .map(|address| {
                            format!("expected an address from which {address} can be reached, found {source}")
                        }),
                };
                text.into_iter().for_each(|text| place.report(report, "source", None, text));
            }
        }
        for (section, at, zone) in self.sections_of_zones() {
            let lists = [
                ("notify", &zone.notify, REMOTES_OF_ZONE_MAX),
                ("primaries", &zone.primaries, PRIMARIES_OF_ZONE_MAX),
            ];
            for (key, names, most) in lists {
                for (item, text) in faults(names, &known, most) {
                    Place { table, section, at: Some(at) }.report(report, key, item, text);
                }
            }
        }
    }

    /// The remotes by name. `keys`: of these settings.
    pub(crate) fn all_remotes(&self, keys: &Keys) -> HashMap<RemoteName, Remote> {
        let remote = |remote: &RemoteSettings| {
            let name = NameBuf::from_text(&remote.key).ok().map(|name| name.to_lowercase());
            let number = name.filter(|_| !remote.key.is_empty()).and_then(|name| keys.number(&name));
            let key = number.and_then(|number| keys.get(number)).cloned();
            let (addresses, source) = (remote.addresses.clone(), remote.source.parse().ok());
            (Arc::from(&*remote.name), Remote { addresses, key, source })
        };
        self.remotes.iter().map(remote).collect()
    }
}

/// What is wrong with names of remotes.
fn faults(names: &Names, known: &HashSet<&str>, most: usize) -> Vec<(Option<usize>, String)> {
    let texts = names.texts();
    if texts.len() > most {
        return vec![(None, format!("expected at most {most} remotes, found {}", texts.len()))];
    }
    let mut faults = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        if texts[..at].contains(text) {
            faults.push((Some(at), format!("expected each remote once, found {text:?} twice")));
        } else if known.is_empty() {
            faults.push((
                Some(at),
                format!("expected the name of a [[remote]], found {text:?}; there are none"),
            ));
        } else if !known.contains(&**text) {
            let mut names: Vec<&str> = known.iter().copied().collect();
            names.sort_unstable();
            faults.push((Some(at), one_of("[[remote]]", text, names.into_iter())));
        }
    }
    faults
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_wrong_with_primaries() {
        let zone = |line: &str| {
            let text = format!(
                "[[remote]]\nname = \"one\"\naddresses = [\"192.0.2.1\"]\n[[zone]]\nname = \"a\"\n{line}\n\
                 [[update-policy]]\nname = \"p\"\n"
            );
            let problems = Settings::parse(Path::new("f"), &text).err().unwrap_or_default();
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let both = "expected either `primaries` or `file` (or `pack`), found both";
        let updates = "expected `forward-updates = true` beside `allow-update` and `primaries`: updates are for the primary";
        let policy =
            "expected no `update-policy` beside `primaries`: what may change is for the primary to say";
        let no_primaries = "expected `primaries` beside `forward-updates`, found none";
        for (line, expected) in [
            ("primaries = \"one\"", String::new()),
            ("primaries = \"two\"", "f:6:13: primaries: unknown [[remote]] \"two\"; known are one".into()),
            ("primaries = \"one\"\nfile = \"x\"", format!("f:4:1: [[zone]]: {both}")),
            ("primaries = \"one\"\nallow-update = \"all\"", format!("f:4:1: [[zone]]: {updates}")),
            ("primaries = \"one\"\nallow-update = \"all\"\nforward-updates = true", String::new()),
            ("primaries = \"one\"\nupdate-policy = \"p\"", format!("f:4:1: [[zone]]: {policy}")),
            ("file = \"x\"\nforward-updates = true", format!("f:4:1: [[zone]]: {no_primaries}")),
        ] {
            assert_eq!(zone(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_with_remotes() {
        let text = "[[remote]]\nname = \"one\"\naddresses = [\"192.0.2.1\"]\nkey = \"k\"\nsource = \"here\"\n\
                    [[remote]]\nname = \"one\"\naddresses = [\"192.0.2.1\"]\nsource = \"::1\"\n\
                    [[remote]]\naddresses = [\"192.0.2.1\"]\n[[remote]]\nname = \"two\"\n\
                    [[zone]]\nname = \"a\"\nfile = \"x\"\nnotify = [\"one\", \"tow\", \"one\"]\n";
        let problems = Settings::parse(Path::new("f"), text).unwrap_err();
        assert_eq!(
            problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "f:4:7: key: expected the name of a [[key]], found \"k\"; there are none",
                "f:5:10: source: expected an address, found \"here\"",
                "f:7:8: name: expected each name once, found \"one\" twice",
                "f:9:10: source: expected an address from which 192.0.2.1:53 can be reached, found ::1",
                "f:10:1: [[remote]]: expected `name`, found none",
                "f:12:1: [[remote]]: expected `addresses`, found none",
                "f:17:18: notify: unknown [[remote]] \"tow\"; did you mean \"two\"?",
                "f:17:25: notify: expected each remote once, found \"one\" twice",
            ]
        );
        let text = "[[key]]\nname = \"k\"\nsecret = \"AAAA\"\n\
                    [[remote]]\nname = \"one\"\naddresses = [\"192.0.2.1\", \"192.0.2.2:5353\"]\nkey = \"K.\"\nsource = \"192.0.2.9\"\n";
        let settings = Settings::parse(Path::new("f"), text).unwrap();
        let remotes = settings.all_remotes(&settings.all_keys().unwrap());
        let one = &remotes["one"];
        assert_eq!(
            (one.addresses[0].port(), one.addresses[1].port(), one.source.is_some()),
            (53, 5353, true)
        );
        assert_eq!(one.key.as_ref().unwrap().name().to_string(), "k.");
    }
}

//! The page about moving from other resolvers, read row by row: options that they have, settings that there are here, defaults and figures as it says.
//! What the settings do is tried in `recursion::moved`.
//!
//! ```text
//! | `option`, `option-of`, `-other` | `setting`, `other` in `[section]`: `value`; `zonda ctl ...` |
//!        known to unbound-checkconf, named-checkconf       `zonda settings`, `zonda ctl help`
//! ```

use std::collections::BTreeMap;
use std::process::Command;

use zonda_tests::server::peers::require;

use crate::kit::{folder, zonda};

const MANUAL: &str = include_str!("../../../docs/manual/src/moving-resolver.md");

/// A row: what stands left as code, and the cell to the right.
type Row = (Vec<&'static str>, &'static str);

/// What is between backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The rows of the tables below a heading that begins so.
fn rows(heading: &str) -> Vec<Row> {
    let part = MANUAL.split("\n## ").find(|part| part.starts_with(heading)).expect("a part of the page");
    let cells =
        part.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    cells.map(|(left, right)| (code(left), right)).filter(|(left, _)| !left.is_empty()).collect()
}

/// What a row calls an option: in full, or as the end of what stands before it.
fn spelled(option: &str, before: &str) -> Vec<String> {
    let end = option.split([':', ' ']).next().unwrap_or(option);
    if !end.starts_with('-') {
        return vec![end.to_owned()];
    }
    let cuts = before.match_indices('-').map(|(at, _)| &before[..at]).chain([before]);
    cuts.map(|begin| format!("{begin}{end}")).collect()
}

/// What a checker of settings says to these, whatever its exit status.
fn checked(program: &str, package: &str, settings: &str) -> String {
    let folder = folder(&[("config", settings.as_bytes())]);
    let said = Command::new(require(program, package)).arg(folder.path().join("config")).output();
    let said = said.expect("the checker");
    String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr)
}

/// Options that came to Unbound after 1.17, which Debian 12 has; 1.26 knows all.
const NEWER: [&str; 9] = [
    "answer-cookie",
    "cookie-secret",
    "do-nat64",
    "harden-unknown-additional",
    "harden-unverified-glue",
    "log-time-iso",
    "max-global-quota",
    "nat64-prefix",
    "quic-port",
];

#[test]
fn options_of_unbound_are_such() {
    let mut unknown = Vec::new();
    let mut count = 0;
    for (options, _) in rows("Unbound") {
        let mut before = "";
        for option in options.into_iter().filter(|option| !option.contains('*')) {
            let is_section = option.ends_with(':');
            let is_known = |name: &String| {
                let settings =
                    if is_section { format!("{name}:\n") } else { format!("server:\n {name}: 1\n") };
                !checked("unbound-checkconf", "unbound", &settings).contains("unknown keyword")
            };
            let is_newer = |name: &String| NEWER.contains(&name.as_str());
            if !spelled(option, before).iter().any(|name| is_known(name) || is_newer(name)) {
                unknown.push(option);
            }
            if !option.starts_with('-') {
                before = option;
            }
            count += 1;
        }
    }
    assert!(unknown.is_empty() && count > 150, "{unknown:?} of {count}");
}

/// What stands in BIND's table that is no option of `options`: views, commands, clauses.
const NO_OPTIONS: [&str; 6] = ["rndc", "views", "clients", "exclude", "except-from", "trust-anchors"];

#[test]
fn options_of_bind_are_such() {
    let mut unknown = Vec::new();
    let mut count = 0;
    for (options, _) in rows("BIND") {
        for option in options.into_iter().filter(|option| !option.contains('{')) {
            let name = option.split(' ').next().unwrap_or(option);
            let is_command = ["flushname", "flushtree", "recursing"].contains(&name);
            if NO_OPTIONS.contains(&name) || is_command {
                continue;
            }
            let settings = format!("options {{ {name} 1; }};\n");
            if checked("named-checkconf", "bind9-utils", &settings).contains("unknown option") {
                unknown.push(option);
            }
            count += 1;
        }
    }
    assert!(unknown.is_empty() && count > 35, "{unknown:?} of {count}");
}

/// A setting: what it may be, and what it is where nothing is said.
struct Setting {
    expected: String,
    default: String,
}

/// All settings, by section (`resolver`, `forward`) and key.
fn settings() -> BTreeMap<(String, String), Setting> {
    let page = zonda(&["settings"]).assert_fine().output.clone();
    let mut settings = BTreeMap::new();
    let (mut section, mut key) = (String::new(), String::new());
    for line in page.lines() {
        let word = || code(line).first().map(|word| word.trim_matches(['[', ']']).to_owned());
        if line.starts_with("## `") {
            section = word().expect("a section");
        } else if line.starts_with("### `") {
            key = word().expect("a key");
        } else if let Some(said) = line.strip_prefix("Expected: ")
            && let Some((expected, rest)) = said.split_once(". Default: ")
        {
            let default = code(rest).first().map(|default| (*default).to_owned()).unwrap_or_default();
            settings
                .insert((section.clone(), key.clone()), Setting { expected: expected.to_owned(), default });
        }
    }
    settings
}

/// The section that a clause is about: the one that it names, else that of the resolver.
fn section(clause: &str) -> &str {
    let named = code(clause).into_iter().find(|word| word.starts_with('['));
    named.map_or("resolver", |word| word.trim_matches(['[', ']']))
}

#[test]
fn settings_are_such_and_have_these_defaults() {
    let settings = settings();
    let mut count = 0;
    let cells = ["Unbound", "BIND"].into_iter().flat_map(rows);
    for (left, cell) in cells {
        // What is said to come from outside stands in brackets and is theirs.
        let cell: String =
            cell.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
        for clause in cell.split([';', '.']) {
            let of = section(clause);
            let mut last: Option<&Setting> = None;
            for word in code(clause).into_iter().filter(|word| !word.starts_with(['[', '"'])) {
                let (key, value) =
                    word.split_once(" = ").map_or((word, None), |(key, value)| (key, Some(value)));
                if word.starts_with("zonda ") || word.starts_with("--") || word.starts_with("cache ") {
                    continue;
                }
                let find = |of: &str| settings.get(&(of.to_owned(), key.to_owned()));
                let is_value =
                    |one: &Setting| one.expected.contains(&format!("\"{key}\"")) || one.default.contains(key);
                match find(of).or_else(|| find("resolver")) {
                    Some(setting) => {
                        let is_one = |value: &str| {
                            ["true", "false"].contains(&value) && setting.expected == "true or false"
                                || setting.expected.contains(value)
                        };
                        assert!(value.is_none_or(is_one), "{word} of {left:?}: {}", setting.expected);
                        assert!(
                            !clause.contains("on by default") || setting.default != "false",
                            "{key} of {left:?} is not on"
                        );
                        last = Some(setting);
                        count += 1;
                    }
                    None if last.is_some_and(is_value) => {}
                    // A list that needs no section, whose name is the default.
                    None if key == "local"
                        && settings[&("access".to_owned(), "recursion".to_owned())].default.contains(key) => {
                    }
                    // Kinds of a local zone.
                    None if find_kind(&settings, of, key) => {}
                    None if THEIRS.contains(&word) || ["mapped", "suffix"].contains(&word) => {}
                    None => panic!("{word} of {left:?} is no setting of {of}"),
                }
            }
        }
    }
    assert!(count > 90, "{count}");
}

/// Whether it is what a local zone may be.
fn find_kind(settings: &BTreeMap<(String, String), Setting>, of: &str, word: &str) -> bool {
    let kinds = &settings[&("local-zone".to_owned(), "kind".to_owned())].expected;
    of == "local-zone" && kinds.contains(&format!("\"{word}\""))
}

/// Words of the right cells that are theirs: what there is not here.
const THEIRS: [&str; 11] = [
    "stub-addr",
    "stub-host",
    "stub-first",
    "forward-host",
    "forward-no-cache",
    "cachedb",
    "subnetcache",
    "ipset",
    "python",
    "dynlib",
    "for-downstream: no",
];

#[test]
fn commands_are_such() {
    let mut count = 0;
    for (left, cell) in ["Unbound", "BIND"].into_iter().flat_map(rows) {
        for word in code(cell) {
            let words: Vec<&str> = word.split(' ').collect();
            let help: Vec<&str> = match words[..] {
                ["zonda", ref words @ ..] => words.iter().copied().chain(["--help"]).collect(),
                ["cache", what] => vec!["ctl", "cache", what, "--help"],
                _ => continue,
            };
            assert_eq!(zonda(&help).status, 0, "{word} of {left:?}");
            count += 1;
        }
    }
    assert!(count > 5, "{count}");
}

/// Figures that the page says, and where the program has them.
#[test]
fn figures_are_those_of_the_program() {
    let resolve = include_str!("../../../crates/resolve/src/limits.rs");
    let waiting = include_str!("../../../crates/recursive/src/waiting/bounds.rs");
    let said = [
        ("200 questions", resolve, "QUESTIONS_MAX: u16 = 200;"),
        ("11 aliases", resolve, "ALIASES_MAX: u8 = 11;"),
        ("256 streams a worker, two to a server, kept open for 8 s", resolve, "STREAMS_MAX: usize = 256;"),
        ("two to a server, kept open for 8 s", resolve, "STREAMS_A_SERVER: usize = 2;"),
        ("kept open for 8 s", resolve, "STREAM_IDLE_MS: u64 = 8_000;"),
        ("the TTL is 30 (RFC 8767)", resolve, "STALE_TTL_SECONDS: u32 = 30;"),
        ("Three wrong answers send a question over TCP", resolve, "NEAR_MISSES_MAX: u8 = 3;"),
        ("one choice in 32 at random", resolve, "EXPLORED_ONE_IN: u64 = 32;"),
        ("kept for 5 s, doubled up to 5 minutes", resolve, "FAILURE_SECONDS_MIN: u32 = 5;"),
        ("doubled up to 5 minutes", resolve, "FAILURE_SECONDS_MAX: u32 = 300;"),
        ("left out for 10 minutes", resolve, "LAME_SECONDS: u32 = 600;"),
        ("a zone has half of the waiting places", waiting, "ZONE_PART: usize = 2;"),
        ("a network an eighth", waiting, "PREFIX_PART: usize = 8;"),
        ("1.9 s unproved", waiting, "SILENCE_MS_MAX: u64 = 1_900;"),
        ("8 s proved", waiting, "PROVED_AGE_MS_MAX: u64 = 8_000;"),
    ];
    for (words, program, constant) in said {
        assert!(MANUAL.contains(words), "{words}");
        assert!(program.contains(constant), "{words}: {constant}");
    }
}

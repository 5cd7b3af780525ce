//! The same questions to three resolvers over sockets: Zonda, unbound and named, which know nothing but the root's addresses and key, in an Internet of real names
//! that a few servers serve. Each difference has a rule in `explained.toml`, or fails the test.
//!
//! ```text
//! group 0: root   1: TLDs   2, 3: hosters, in halves   4: all other name servers     (sim::generated::group)
//!       zonda     nsd       zonda nsd                  zonda                         a few addresses each, 198.18.GROUP.N
//! resolvers: 127.0.0.1 zonda, 127.0.0.2 unbound, 127.0.0.3 named
//! ```

mod judge;
mod looks;
mod question;
mod rules;
mod said;
mod servers;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use zonda_tests::server::export_program;

use super::internet::{enter, leave};
use crate::kit::{folder, text};
use judge::{Findings, judge};
use servers::{await_answer, resolve, serve};

/// Who is asked, and where.
const RESOLVERS: [(&str, &str); 3] =
    [("zonda", "127.0.0.1"), ("unbound", "127.0.0.2"), ("named", "127.0.0.3")];
/// What serves each group of servers.
const GROUPS: [&str; 5] = ["zonda", "nsd", "zonda", "nsd", "zonda"];
/// Differences that a failure shows.
const SHOWN: usize = 30;
/// Addresses that a group shares.
const ADDRESSES: &str = "8";

/// An Internet.
struct Wanted<'a> {
    /// How many names it has.
    names: usize,
    seed: u64,
    /// A list of names in place of those that ship with the model, and the line from which on they are taken.
    list: Option<(&'a str, usize)>,
    /// How many questions are asked.
    questions: usize,
}

/// Asks questions of a generated Internet, and compares. Nothing where nobody may make namespaces.
fn compare(wanted: &Wanted<'_>) -> Findings {
    let run = || {
        let files = folder(&[]);
        let internet = files.path().join("internet");
        let mut export = Command::new(export_program());
        let (names, seed) = (wanted.names.to_string(), wanted.seed.to_string());
        export.args([text(&internet), &names, &seed, "40", "5", "1", ADDRESSES]);
        if let Some((list, from)) = wanted.list {
            export.args([list, &from.to_string()]);
        }
        let export = export.status();
        assert!(export.is_ok_and(|status| status.success()), "the export");
        let read = |name: &str| fs::read_to_string(internet.join(name)).expect("an exported file");
        let groups = read("groups");
        let addresses: Vec<&str> = groups
            .lines()
            .flat_map(|line| line.split(' ').skip(1))
            .chain(RESOLVERS[1..].iter().map(|one| one.1))
            .collect();
        let Some(namespace) = enter(&addresses) else { return Findings::default() };
        let _namespace = Namespace(namespace);
        let mut processes = Vec::new();
        for (group, kind) in GROUPS.iter().enumerate() {
            let on: Vec<&str> = groups.lines().nth(group).expect("a group").split(' ').skip(1).collect();
            processes.push(serve(kind, &internet, &read(&format!("group-{group}")), &on));
        }
        for (group, (process, scratch)) in processes.iter().enumerate() {
            let zones = read(&format!("group-{group}"));
            let last = zones.lines().last().and_then(|line| line.split(' ').next()).expect("a zone");
            let on = groups.lines().nth(group).and_then(|line| line.split(' ').nth(1)).expect("an address");
            await_answer(on, last, process, scratch);
        }
        for (kind, address) in RESOLVERS {
            let resolver = resolve(kind, address, &internet, &read("anchor"));
            await_answer(address, ".", &resolver.0, &resolver.1);
            processes.push(resolver);
        }
        let zones: Vec<String> = (0..GROUPS.len()).map(|group| read(&format!("group-{group}"))).collect();
        let is_signed = |file: &str| read(&format!("zones/{file}")).contains(" DNSKEY ");
        let signed = zones.iter().flat_map(|zones| zones.lines()).filter_map(|line| line.split_once(' '));
        let signed = signed.map(|(zone, file)| (zone.to_owned(), is_signed(file))).collect();
        let mut findings = judge(&read("questions"), wanted.questions, &signed);
        let log = processes[GROUPS.len()].1.path().join("log");
        findings.explain_failures(&fs::read_to_string(log).unwrap_or_default());
        findings
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(findings) => findings,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

struct Namespace(String);

impl Drop for Namespace {
    fn drop(&mut self) {
        leave(&self.0);
    }
}

/// Says what came of it, and fails where something is not explained.
fn conclude(findings: &Findings) {
    let _ = writeln!(std::io::stderr(), "{}", findings.report());
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compare.txt");
    fs::write(&all, findings.unexplained.join("\n")).expect("a file beside the tests");
    let samples = findings.samples.iter().map(|(rule, some)| format!("## {rule}\n{}\n", some.join("\n")));
    fs::write(all.with_file_name("explained.txt"), samples.collect::<String>()).expect("another");
    let shown = findings.unexplained.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        findings.unexplained.is_empty(),
        "{} of {} questions, all in {}:\n{shown}",
        findings.unexplained.len(),
        findings.questions,
        all.display()
    );
}

#[test]
fn a_thousand_questions() {
    conclude(&compare(&Wanted { names: 500, seed: 7, list: None, questions: 1_000 }));
}

mod long {
    use super::{Findings, Wanted, compare, conclude};

    /// Names of an Internet: more are longer to load than to ask for, and less are no Internet.
    const NAMES_A_ROUND: usize = 10_000;

    /// All questions about all names of the list that `ZONDA_NAMES` names (`docs/design/model-internet.md` 6), each Internet with other names; without a
    /// list about those that ship with the model, several times with other seeds. `ZONDA_ROUNDS`, numbers with commas, has these rounds alone.
    #[test]
    #[ignore = "minutes"]
    fn all_names() {
        let list = std::env::var("ZONDA_NAMES").ok();
        let rounds: Vec<Wanted<'_>> = match &list {
            Some(list) => {
                let names = std::fs::read_to_string(list).expect("the list of names").lines().count();
                let begins = (0..names).step_by(NAMES_A_ROUND).zip(1..);
                let round = |(from, seed)| Wanted {
                    names: NAMES_A_ROUND,
                    seed,
                    list: Some((list, from)),
                    questions: usize::MAX,
                };
                begins.map(round).collect()
            }
            None => {
                let round = |seed| Wanted { names: 8_000, seed, list: None, questions: usize::MAX };
                (1..=6).map(round).collect()
            }
        };
        let only = std::env::var("ZONDA_ROUNDS").ok();
        let is_wanted = |round: &&Wanted<'_>| {
            only.as_ref().is_none_or(|only| only.split(',').any(|one| one.parse() == Ok(round.seed)))
        };
        let mut all = Findings::default();
        let wanted: Vec<_> = rounds.iter().filter(is_wanted).collect();
        assert!(!wanted.is_empty(), "ZONDA_ROUNDS names none of the {} rounds", rounds.len());
        for round in wanted {
            let findings = compare(round);
            eprintln!("round {}: {}", round.seed, findings.report());
            findings.unexplained.iter().for_each(|one| eprintln!("{one}"));
            all.add(findings);
        }
        conclude(&all);
    }
}

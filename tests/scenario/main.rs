//! Scenario files: zone, query, expected answer; one behaviour each. See `README.md` beside this file.
//!
//! One server serves the zones of all scenarios, so their origins differ.

mod read;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use read::{Scenario, Step};
use zonda_tests::exchange::ask;
use zonda_tests::message::flag;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, write};
use zonda_tests::zone::{ZoneFile, records_of};

/// Those of the recursive server, which have a form and a runner of their own (crate `sim`).
const OTHERS: &str = "resolver";

/// Every scenario file below this folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of the scenarios") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with(OTHERS) {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "scn") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn answers_are_as_the_scenarios_tell() {
    let kind = Kind::under_test();
    let scenarios: Vec<Scenario> = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario"))
        .iter()
        .map(|path| Scenario::read(path))
        .collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut zones = Vec::new();
    for (origin, text) in scenarios.iter().flat_map(|scenario| &scenario.zones) {
        let path = write(folder.path(), &format!("{}.zone", zones.len()), text);
        assert!(
            zones.iter().all(|zone: &ZoneFile| zone.origin != *origin),
            "two scenarios have a zone {origin}"
        );
        zones.push(ZoneFile::new(origin, path));
    }
    let server = Server::start(kind, &zones);
    let mut failures = Vec::new();
    let mut steps = 0;
    for scenario in scenarios.iter().filter(|scenario| !scenario.other_servers.contains(&kind)) {
        for step in &scenario.steps {
            steps += 1;
            let response = ask(server.address, step.transport, &step.query);
            if let Err(fault) = step.check(&response) {
                failures.push(format!("{}:{}: {fault}\n{response:#?}", scenario.path.display(), step.line));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {steps} steps failed:\n{}", failures.len(), failures.join("\n"));
    eprintln!("{steps} steps of {} scenarios", scenarios.len());
}

impl Step {
    /// Compares a response with what is expected of it.
    fn check(&self, response: &Response) -> Result<(), String> {
        let same = |what: &str, found: String, expected: &str| match found == expected {
            true => Ok(()),
            false => Err(format!("{what} is {found}, expected {expected}")),
        };
        same("RCODE", response.rcode().to_string(), &self.rcode.to_string())?;
        same("AA", response.has(flag::AA).to_string(), &self.authoritative.to_string())?;
        same("TC", response.has(flag::TC).to_string(), &self.truncated.to_string())?;
        let sections = [&response.answer, &response.authority, &response.additional];
        for ((name, expected), records) in self.sections.iter().zip(sections) {
            let Some(expected) = expected else { continue };
            let expected: BTreeSet<Record> = records_of(expected).iter().map(Record::folded).collect();
            let found: BTreeSet<Record> =
                records.iter().filter(|record| record.rtype != rtype::RRSIG).map(Record::folded).collect();
            same(name, format!("{found:#?}"), &format!("{expected:#?}"))?;
        }
        Ok(())
    }
}

//! What is not alike in two records, and what of it forbids any claim.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    machine,
    record::{Contender, Record},
};

/// Something that is not alike.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// What: `kernel`, `version of knot`, …
    pub what: String,
    /// What A says.
    pub a: String,
    /// What B says.
    pub b: String,
}

/// Why figures of the two do not compare.
pub fn obstacles(a: &Record, b: &Record) -> Vec<String> {
    let mut obstacles = Vec::new();
    if a.recipe != b.recipe {
        obstacles.push(format!("the recipes differ: {} and {}", a.recipe, b.recipe));
    }
    if machine::facts(&a.machine).is_empty() || machine::facts(&b.machine).is_empty() {
        obstacles.push("a record does not say what machine it is of".to_owned());
    }
    for ((what, of_a), (_, of_b)) in
        machine::identity(&a.machine).into_iter().zip(machine::identity(&b.machine))
    {
        if of_a != of_b {
            obstacles.push(format!("the machines differ: {what}: {} and {}", told(&of_a), told(&of_b)));
        }
    }
    match (a.quick, b.quick) {
        (false, false) => (),
        (true, true) => {
            obstacles.push("both are quick runs, which show that all works, not how fast".to_owned())
        }
        (true, false) => {
            obstacles.push("A is a quick run, which shows that all works, not how fast".to_owned())
        }
        (false, true) => {
            obstacles.push("B is a quick run, which shows that all works, not how fast".to_owned())
        }
    }
    obstacles
}

/// What else is not alike: it may be the very thing that is looked at, or the reason for what is seen.
pub fn differences(a: &Record, b: &Record) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut compare = |what: String, a: String, b: String| {
        if a != b {
            differences.push(Difference { what, a, b });
        }
    };
    compare("kernel".to_owned(), machine::kernel_release(&a.machine), machine::kernel_release(&b.machine));
    compare("command".to_owned(), a.command.join(" "), b.command.join(" "));
    let names: BTreeSet<&str> =
        a.contenders.iter().chain(&b.contenders).map(|contender| &*contender.name).collect();
    for name in names {
        match (contender(a, name), contender(b, name)) {
            (Some(of_a), Some(of_b)) => {
                compare(format!("version of {name}"), of_a.version.clone(), of_b.version.clone());
                let (only_a, only_b) = lines_that_differ(&of_a.settings, &of_b.settings);
                compare(format!("settings of {name}"), only_a, only_b);
            }
            (of_a, _) => {
                let part = |is_there| if is_there { "takes part" } else { "does not" }.to_owned();
                compare(name.to_owned(), part(of_a.is_some()), part(of_a.is_none()));
            }
        }
    }
    differences
}

fn contender<'a>(record: &'a Record, name: &str) -> Option<&'a Contender> {
    record.contenders.iter().find(|contender| contender.name == name)
}

/// Lines of settings that only one of the two has.
fn lines_that_differ(a: &str, b: &str) -> (String, String) {
    let only = |of: &str, other: &str| {
        let known: BTreeSet<&str> = other.lines().map(str::trim).collect();
        let lines = of.lines().map(str::trim).filter(|line| !known.contains(line));
        lines.collect::<Vec<_>>().join("; ")
    };
    (only(a, b), only(b, a))
}

fn told(text: &str) -> &str {
    if text.is_empty() { "not told" } else { text }
}

//! Resolvers in trouble: started again, flooded, and cut off from all servers that they ask.
//!
//! * [`restart`]: what a warm cache is worth after the program was ended and started.
//! * [`flood`]: random names below zones that are attacked, beside clients who ask for other things.
//! * [`stale`]: all authoritative servers gone, and back.
//!
//! ```text
//! clients, each group in networks of its own --> resolver --> known zones | root | zones attacked | servers that are slow | a dead end
//! ```
//!
//! One resolver runs at a time: what they do under load shall not depend on what others do. The zones are those of [`crate::data::Little`],
//! and the servers that answer for them are this project's, at the generator's end, with counters of what arrives.

mod clients;
pub mod flood;
pub mod restart;
pub mod stale;

use std::{net::Ipv4Addr, path::PathBuf};

use bench::random::Random;
use clients::{Clients, Said};

use super::{Lab, Rounds, Subject, caching::authorities};
use crate::{
    Error,
    contender::{Bounds, Resolving, Role, Server},
    data::{Little, Places, Shape, Store, Zones},
    error,
    recipe::Name,
};

/// Order of names.
const SEED: u64 = 5;
/// Queries outstanding while a cache is filled: what every resolver has places for.
const FILL_WINDOW: usize = 200;
/// Rounds until all names were answered; under so many questions at once some give up on a few.
const FILL_ROUNDS_MAX: usize = 3;

/// The zones of a shape.
fn little(lab: &Lab, shape: &Shape, places: &Places) -> Result<Little, Error> {
    let work = lab.folder("generator")?;
    let store = Store { folder: &lab.data, work: &work, bench: &lab.programs.bench, stop: &lab.stop };
    store.little(shape, places)
}

/// A server of ours at the generator's end.
fn authority(lab: &Lab, label: &str, zones: &Zones, ip: Ipv4Addr) -> Result<Server, Error> {
    authorities::one(lab, label, zones, ip, 1, &lab.bed.load())
}

/// A contender as a resolver with one worker.
fn resolver(lab: &Lab, name: Name, role: Role, resolving: Resolving) -> Subject {
    let bounds = Bounds { resolving, ..Bounds::default() };
    Subject { bounds, ..lab.subject_as(name, 1, role) }
}

/// A query file with these names, asked for their addresses.
fn query_file(lab: &Lab, name: &str, names: impl Iterator<Item = String>) -> Result<PathBuf, Error> {
    let path = lab.folder("queries")?.join(name);
    let mut text = String::new();
    for name in names {
        text += &name;
        text += " A rd\n";
    }
    std::fs::write(&path, text).map_err(error::file(&path, "write"))?;
    Ok(path)
}

/// Numbers below `count` in random order.
fn shuffled(count: usize, part: u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    Random::part(SEED, part).shuffle(&mut all);
    all
}

/// Asks a resolver for all names of a file, again where one was not answered; returns how many were in the last round, and the
/// seconds of all.
fn fill(lab: &Lab, server: &mut Server, queries: &std::path::Path) -> Result<(u64, f64), Error> {
    let window = FILL_WINDOW.to_string();
    let words = ["--closed", &window, "--loops", "1", "--flows", "64"].map(str::to_owned);
    let (mut answered, mut seconds) = (0, 0.0);
    for _ in 0..FILL_ROUNDS_MAX {
        lab.go_on()?;
        let said = Said::of(&lab.load(server, queries, &words)?["outcome"]);
        (answered, seconds) = (said.found, seconds + said.seconds);
        if said.found == said.sent {
            break;
        }
    }
    Ok((answered, seconds))
}

/// Runs what measures one contender, one after the other, in each round and in random order, so that none is always after the same one; who fails is left
/// out with a note. `measure` judges what it measures ([`super::validity`]).
fn each(
    lab: &mut Lab,
    mut measure: impl FnMut(&mut Lab, Name, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let began = std::time::Instant::now();
    let (planned, mut rounds) = (lab.effort.runs, Rounds::new(lab.effort.runs));
    let (mut names, mut done) = (lab.names.clone(), 0);
    let mut order = Random::new(SEED);
    let all: usize =
        (1..=planned).map(|round| names.iter().filter(|&&name| lab.takes_part(name, round)).count()).sum();
    while let Some(round) = rounds.next(lab).map(|number| number - 1) {
        let mut left = Vec::new();
        order.shuffle(&mut names);
        for &name in &names {
            lab.go_on()?;
            if !lab.takes_part(name, round + 1) {
                left.push(name);
                continue;
            }
            let text = format!("{}, round {} of {}", name.text(), round + 1, rounds.count());
            lab.say_left(&text, began, done, all.saturating_sub(done));
            match measure(lab, name, round) {
                Ok(()) => left.push(name),
                Err(error @ (Error::Server { .. } | Error::Program { .. } | Error::Output { .. })) => {
                    lab.note(format!("{} is left out: {error}", name.text()));
                }
                Err(error) => return Err(error),
            }
            done += 1;
        }
        names = left;
        lab.record.blocks.kept += 1;
    }
    if lab.record.raw.is_empty() { Err(Error::Nobody) } else { Ok(()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::tests::lab, *};

    #[test]
    fn turns_differ_from_round_to_round() {
        let folder = tempfile::tempdir().unwrap();
        let mut lab = lab(folder.path(), crate::recipe::text("restart").unwrap(), "");
        (lab.effort.runs, lab.effort.peer_runs) = (6, 6);
        lab.names = vec![Name::Zonda, Name::Unbound, Name::Named];
        let mut turns: Vec<Vec<&str>> = vec![Vec::new(); 6];
        each(&mut lab, |lab, name, round| {
            turns[round].push(name.text());
            lab.record.raw.push(serde_json::json!({}));
            Ok(())
        })
        .unwrap();
        assert!(turns.iter().any(|round| *round != turns[0]), "{turns:?}");
        for round in &mut turns {
            round.sort_unstable();
            assert_eq!(*round, ["named", "unbound", "zonda"]);
        }
    }
}

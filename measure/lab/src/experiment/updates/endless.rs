//! What is kept of updates without end: octets on the disk and in memory, and from which serials changes are given (RFC 1995).
//!
//! ```text
//! a fourteenth of the updates, one in flight -> sample: folder of the server, memory, IXFR -> the next fourteenth …
//! ```
//!
//! How far back changes are given is found by halving: a server that gives them from one serial gives them from every later one.

use std::{fs, net::SocketAddr, os::unix::fs::MetadataExt, path::Path, time::Duration};

use bench::{
    query,
    transfer::{Wanted, drain},
};
use serde_json::json;
use wire::NameBuf;

use super::{Taker, failures, script::Script};
use crate::{
    Error,
    contender::{Bounds, Role, Server},
    data::Set,
    error::ServerProblem,
    experiment::{Lab, Values, point, runs, table},
    recipe::{Case, Name},
    record::{Chart, Role as Shown, Series},
    statistics,
};

/// Samples: two a day of a week.
const SAMPLES: usize = 14;
/// How long a transfer may stand still.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long after updates a sample is taken: histories are written a moment after the reply.
const PAUSE: Duration = Duration::from_millis(500);
/// Updates that are not answered for so long are lost.
const LOST_MS: &str = "10000";
/// Folders in folders that are looked into.
const DEPTH_MAX: usize = 6;

/// Names of metrics.
const FLAT: &str = "disk, second half over first";
const GIVEN: &str = "changes given over bound";
const DISK: &str = "disk at the end";
const PSS: &str = "PSS at the end";
const VERSIONS: &str = "versions given";

/// What is on the disk, in octets as the file system counts them.
#[derive(Clone, Copy, Debug, Default)]
struct Disk {
    /// What is kept for IXFR alone.
    history: u64,
    /// What makes updates durable; where one file is both it is this.
    log: u64,
    /// Zones in a server's own form.
    packs: u64,
    all: u64,
}

/// What was seen after so many updates.
#[derive(Clone, Copy, Debug)]
struct Sample {
    updates: u64,
    disk: Disk,
    pss: u64,
    /// Versions back from which changes are given.
    versions: u32,
    /// Octets of that transfer.
    octets: u64,
    /// Whether one version further back brings the whole zone.
    is_whole_beyond: bool,
}

#[derive(Default)]
struct Found {
    by: [Values; 5],
}

const METRICS: [(&str, &str, bool); 5] = [
    (FLAT, "", false),
    (GIVEN, "", true),
    (DISK, "octets", false),
    (PSS, "octets", false),
    (VERSIONS, "", true),
];

/// Measures all contenders, one after the other.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let names = lab.able(Role::Dynamic { is_signed: false }, "");
    let mut found = Found::default();
    for case in lab.recipe.cases.clone() {
        let set = lab.set(&case)?;
        let mut series = Vec::new();
        for &name in &names {
            lab.go_on()?;
            lab.say(&format!("{}, {}", name.text(), case.name));
            match measure(lab, name, &case, &set) {
                Ok(samples) => {
                    report(lab, name, &case, &samples, &mut found);
                    series.push(line(name, &samples));
                    lab.record.blocks.kept += 1;
                }
                Err(error @ (Error::Server { .. } | Error::Program { .. })) => {
                    lab.note(format!("{} is left out: {error}", name.text()));
                }
                Err(error) => return Err(error),
            }
        }
        if !series.is_empty() {
            lab.record.charts.push(
                Chart::lines(format!("On the disk: {}", case.name), ["updates", "MiB"], series).log(true),
            );
        }
    }
    if found.by[0].contenders().is_empty() {
        return Err(Error::Nobody);
    }
    for (values, (metric, unit, more_is_better)) in found.by.iter().zip(METRICS) {
        lab.record.figures.extend(values.figures(metric, unit, more_is_better));
    }
    let of = |metric: &str, who: &str, at: &str| {
        let at_metric = METRICS.iter().position(|&(known, _, _)| known == metric);
        at_metric.map_or_else(Vec::new, |index| found.by[index].marked(who, at))
    };
    runs::change_targets(lab, FLAT, of);
    Ok(())
}

fn measure(lab: &mut Lab, name: Name, case: &Case, set: &Set) -> Result<Vec<Sample>, Error> {
    let all = lab.effort.updates.max(SAMPLES);
    let mut script = Script::read(&lab.updates(&set.zones, all)?)?;
    let bounds = Bounds {
        history_octets: lab.recipe.changes.history_octets,
        log_octets: lab.recipe.changes.log_octets,
        ..Bounds::default()
    };
    let mut subject = lab.subject_as(name, 1, Role::Dynamic { is_signed: false });
    subject.bounds = bounds;
    let mut taker = lab.start_taker(Some(&subject), &set.zones)?;
    let apex =
        set.zones.list.first().and_then(|(apex, _)| query::name_from_text(apex)).ok_or(Error::Nobody)?;
    let first = {
        let Taker::Server(server) = &taker else { return Err(Error::Nobody) };
        serial(lab, server, &apex)?
    };
    let part = lab.folder("updates")?.join("part");
    let (mut samples, mut updates, mut failed, mut took) = (Vec::new(), 0, 0, 0.0);
    for number in 0..SAMPLES {
        lab.go_on()?;
        // Updates alone take of the time, not samples.
        let left = lab.effort.run_seconds - took;
        if left <= 0.0 {
            let text = format!("{}: {updates} of {all} updates fitted the time ({})", name.text(), case.name);
            lab.note(text);
            break;
        }
        script.part(all * (number + 1) / SAMPLES - all * number / SAMPLES, &part)?;
        let seconds = left.to_string();
        let words = ["--update-rate", "max", "--update-window", "1", "--seconds", &seconds];
        let mut words = words.map(str::to_owned).to_vec();
        words.extend(["--update-timeout-ms", LOST_MS].map(str::to_owned));
        let result = lab.update(&mut taker, &part, &words)?;
        updates += result["accepted"].as_u64().unwrap_or(0);
        took += result["seconds"].as_f64().unwrap_or(0.0);
        failed += failures(&result);
        std::thread::sleep(PAUSE);
        let Taker::Server(server) = &taker else { return Err(Error::Nobody) };
        let sample = sample(lab, server, &apex, first, updates)?;
        let Disk { history, log, packs, all: disk } = sample.disk;
        lab.record.raw.push(json!({
            "kept_by": name.text(), "at": case.name, "updates": updates, "failed": failed, "history_octets": history,
            "log_octets": log, "pack_octets": packs, "disk_octets": disk, "pss": sample.pss, "versions_given": sample.versions,
            "octets_given": sample.octets, "is_whole_beyond": sample.is_whole_beyond, "update_stream": result,
        }));
        samples.push(sample);
    }
    if failed > 0 {
        lab.note(format!("{}: {failed} updates were refused or not answered ({})", name.text(), case.name));
    }
    Ok(samples)
}

fn serial(lab: &Lab, server: &Server, apex: &NameBuf) -> Result<u32, Error> {
    let socket = crate::contender::socket(&lab.bed, server.address)?;
    let cause = |cause| Error::System { action: "set a time-out", cause };
    socket.set_read_timeout(Some(TIMEOUT)).map_err(cause)?;
    drain::serial(&socket, apex).ok_or_else(|| server.fault(ServerProblem::Silent(TIMEOUT.as_secs_f64())))
}

fn sample(lab: &Lab, server: &Server, apex: &NameBuf, first: u32, updates: u64) -> Result<Sample, Error> {
    let last = serial(lab, server, apex)?;
    let take = |since: u32| take(lab, server, server.address, apex, since);
    // Between a version from which changes are given, the last one, and one from which they are not.
    let (mut given, mut not_given, mut octets) = (last, None, 0);
    let mut low = first;
    while low < given {
        let middle = match not_given {
            // First from the very beginning: where all is kept there is nothing to be looked for.
            None => low,
            Some(whole) if given - whole <= 1 => break,
            Some(whole) => whole + (given - whole) / 2,
        };
        let drained = take(middle)?;
        if drained.is_whole {
            not_given = Some(middle);
            low = middle + 1;
        } else {
            (given, octets) = (middle, drained.octets);
        }
    }
    Ok(Sample {
        updates,
        disk: disk(&server.folder),
        pss: server.process.pss(),
        versions: last - given,
        octets,
        is_whole_beyond: not_given.is_some(),
    })
}

fn take(
    lab: &Lab,
    server: &Server,
    address: SocketAddr,
    apex: &NameBuf,
    since: u32,
) -> Result<drain::Drained, Error> {
    let drained = lab.load_place().enter(|| drain::take(address, apex, Wanted::Since(since), false, TIMEOUT));
    drained.map_err(|error| match error {
        Error::System { cause, .. } => Error::Server {
            contender: server.name.text().to_owned(),
            problem: ServerProblem::Load,
            said: format!("transfer since {since}: {cause}"),
        },
        error => error,
    })
}

/// What lies in the folder of a server, its settings and the texts of its zones left out.
fn disk(folder: &Path) -> Disk {
    let mut sum = Disk::default();
    add(folder, 0, &mut sum);
    sum
}

fn add(folder: &Path, depth: usize, sum: &mut Disk) {
    // Files come and go while they are counted.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() && depth < DEPTH_MAX {
            add(&path, depth + 1, sum);
        }
        let Some(octets) = entry.metadata().ok().filter(|_| kind.is_file()).map(|found| found.blocks() * 512)
        else {
            continue;
        };
        let has = |part: &str| path.components().any(|one| one.as_os_str() == part);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        match ending {
            // Texts, and settings.
            "zone" | "conf" | "toml" => continue,
            _ if has("history") => sum.history += octets,
            // Named's journals; Knot's database; Zonda's log.
            "jnl" | "mdb" | "seg" => sum.log += octets,
            _ if has("journal") => sum.log += octets,
            "pack" | "zpack" => sum.packs += octets,
            _ => {}
        }
        sum.all += octets;
    }
}

fn mebibytes(octets: u64) -> f64 {
    octets as f64 / f64::from(1 << 20)
}

/// The disk over the updates.
fn line(name: Name, samples: &[Sample]) -> Series {
    let points = samples.iter();
    let points =
        points.filter_map(|sample| point(sample.updates as f64, &[mebibytes(sample.disk.all).max(1e-3)]));
    Series { name: name.text().to_owned(), role: Shown::Measured, points: points.collect() }
}

fn report(lab: &mut Lab, name: Name, case: &Case, samples: &[Sample], found: &mut Found) {
    let (who, at) = (name.text(), case.name.as_str());
    let Some(last) = samples.last() else { return };
    let bound = lab.recipe.changes.history_octets.unwrap_or(1) as f64;
    // While it is filled for the first time, less is there.
    let (early, late) = samples.split_at(samples.len() / 2);
    let most = |samples: &[Sample]| {
        statistics::ends(&samples.iter().map(|sample| sample.disk.all as f64).collect::<Vec<_>>()).1
    };
    if !early.is_empty() {
        found.by[0].push(who, at, most(late) / most(early).max(1.0));
    }
    for sample in late.iter().filter(|sample| sample.is_whole_beyond) {
        found.by[1].push(who, at, sample.octets as f64 / bound);
    }
    found.by[2].push(who, at, last.disk.all as f64);
    found.by[3].push(who, at, last.pss as f64);
    late.iter().for_each(|sample| found.by[4].push(who, at, f64::from(sample.versions)));
    let row = |sample: &Sample| {
        let mut row = vec![sample.updates.to_string()];
        let Disk { history, log, packs, all } = sample.disk;
        row.extend([history, log, packs, all, sample.pss].map(|octets| format!("{:.2}", mebibytes(octets))));
        row.push(sample.versions.to_string());
        row.push((sample.octets >> 10).to_string());
        row.push(
            if sample.is_whole_beyond { "the whole zone" } else { "not tried: all is given" }.to_owned(),
        );
        row
    };
    let columns = [
        "updates",
        "history MiB",
        "log MiB",
        "packs MiB",
        "disk MiB",
        "PSS MiB",
        "versions given",
        "KiB of them",
        "one further",
    ];
    let note = "After so many updates. Log: named's and Knot's journal, in which their history is too. Versions given: as many back as changes were given from, \
                and how long the transfer of all of them was; from one version further the whole zone came.";
    let title = format!("{who}: {at}");
    lab.record.tables.push(table(&title, &columns, samples.iter().map(row).collect(), note));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, octets: usize| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![1; octets]).unwrap();
        };
        write("zones/0.zone", 90_000);
        write("zones/0.zone.jnl", 8192);
        write("packs/zones-1.pack", 4096);
        write("packs/journal/00000001.seg", 4096);
        write("packs/journal/history/3f/3fa4.a", 12_288);
        write("named.conf", 50_000);
        let found = disk(folder.path());
        // A file system may take more for a file than it has, and for none less than its pages.
        assert!(found.history >= 12_288 && found.log >= 12_288 && found.packs >= 4096, "{found:?}");
        assert!(found.all == found.history + found.log + found.packs && found.all < 90_000, "{found:?}");
    }
}

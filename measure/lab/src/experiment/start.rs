//! Start: from exec to the first answer, asked every millisecond; Zonda from text and, in a row of its own, from a pack.
//!
//! Files are in the page cache for all.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bench::random::Random;
use serde_json::{Value, json};

use super::{
    Lab, Mark, Rounds, Subject, Values, interval_text, table,
    validity::{self, Judged, Made},
};
use crate::{Error, data::Zones, error, place::Place, process, recipe::Name};

/// How often is asked.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// Order of the starts.
const SEED: u64 = 3;
/// Most zones for which a pack is made: each is a word of a command line.
const PACK_ZONES_MAX: usize = 1000;

/// Measures all contenders in all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let mut found = Values::default();
    let mut places = Vec::new();
    for case in lab.recipe.cases.clone() {
        let set = lab.set(&case)?;
        places.push(case.name.clone());
        let pack = pack(lab, &set.zones)?;
        let mut starts: Vec<(Subject, Option<&Path>)> =
            lab.subjects(&lab.names, 1).into_iter().map(|subject| (subject, None)).collect();
        if let Some(pack) = &pack
            && let Some((zonda, _)) = starts.iter().find(|(subject, _)| subject.name == Name::Zonda)
        {
            starts.push((Subject { label: "zonda, pack".to_owned(), ..zonda.clone() }, Some(pack)));
        }
        measure(lab, &case.name, &set.zones, &mut starts, &mut found)?;
    }
    if lab.record.raw.is_empty() {
        return Err(Error::Nobody);
    }
    report(lab, &places, &found);
    Ok(())
}

fn measure(
    lab: &mut Lab,
    at: &str,
    zones: &Zones,
    starts: &mut Vec<(Subject, Option<&Path>)>,
    found: &mut Values,
) -> Result<(), Error> {
    let (began, mut rounds) = (Instant::now(), Rounds::new(lab.effort.runs));
    let mut order = Random::new(SEED);
    while let Some(run) = rounds.next(lab) {
        let text = format!("{at}: start {run} of {} of each", rounds.count());
        lab.say_left(&text, began, run - 1, rounds.left());
        order.shuffle(starts);
        let mut failed = Vec::new();
        for (subject, pack) in starts.iter() {
            lab.go_on()?;
            let label = format!("start {run}, {}, {at}", subject.label);
            let judged = validity::judged(lab, &label, |lab| {
                warm(zones, *pack)?;
                let mut server = lab.launch(subject, zones, *pack)?;
                let seconds = lab.effort.load_seconds;
                let answered = server.wait(&lab.bed, &zones.question(), seconds, ASK_EVERY, &lab.stop)?;
                let value = (answered - server.began).as_secs_f64();
                let raw = json!({ "start_of": subject.label, "at": at, "seconds": value });
                Ok(Made { value, raw, outcome: Value::Null, answers_all: false })
            });
            match judged {
                Ok(Some(Judged { value, conditions })) => {
                    found.push_marked(&subject.label, at, value, Mark::of(run, &conditions));
                }
                Ok(None) => {}
                Err(error @ Error::Server { .. }) => {
                    failed.push(subject.label.clone());
                    lab.note(format!("{at}, {}: {error}", subject.label));
                }
                Err(error) => return Err(error),
            }
        }
        starts.retain(|(subject, _)| !failed.contains(&subject.label));
        lab.record.blocks.kept += 1;
    }
    Ok(())
}

/// Reads the files once, so that no start has to wait for the disk.
fn warm(zones: &Zones, pack: Option<&Path>) -> Result<(), Error> {
    let files: Vec<&Path> = match pack {
        Some(pack) => vec![pack],
        None => zones.list.iter().map(|(_, path)| path.as_path()).collect(),
    };
    files.into_iter().try_for_each(|path| {
        let mut file = File::open(path).map_err(error::file(path, "open"))?;
        io::copy(&mut file, &mut io::sink()).map(drop).map_err(error::file(path, "read"))
    })
}

/// A pack made from the zones, as an operator would make it.
fn pack(lab: &mut Lab, zones: &Zones) -> Result<Option<PathBuf>, Error> {
    if !lab.names.contains(&Name::Zonda) {
        return Ok(None);
    }
    if zones.list.len() > PACK_ZONES_MAX {
        lab.note(format!("no pack of {} zones is measured", zones.list.len()));
        return Ok(None);
    }
    let folder = lab.folder("pack")?;
    let pack = folder.join("zones.pack");
    let mut command = vec![lab.programs.zonda.display().to_string()];
    command.extend(["compile", "-o"].map(str::to_owned));
    command.push(pack.display().to_string());
    command.extend(zones.list.iter().map(|(apex, path)| format!("{apex}={}", path.display())));
    process::run(&command, &Place::default(), &folder, &lab.stop)?;
    Ok(Some(pack))
}

fn report(lab: &mut Lab, places: &[String], found: &Values) {
    let figures = found.figures("time to first answer", "s", false);
    for at in places {
        let row = |figure: &crate::record::Figure| {
            let (least, most) = crate::statistics::ends(&figure.values);
            let mut row = vec![figure.contender.clone()];
            row.extend([figure.median, least, most].map(|seconds| format!("{seconds:.3}")));
            row.push(interval_text(figure, 3));
            row
        };
        let rows = figures.iter().filter(|figure| figure.at == *at).map(row).collect();
        let columns = ["server", "median s", "least", "most", "95 %"];
        lab.record.tables.push(table(
            at,
            &columns,
            rows,
            "From exec to the first answer, asked every millisecond.",
        ));
    }
    lab.record.figures.extend(figures);
    lab.record.charts.push(found.bars("Start to first answer", "seconds", places, true));
}

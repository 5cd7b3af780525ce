//! Start: from exec to the first answer, asked every millisecond, and on until the server is at rest; memory then. Zonda from text and, in rows of its
//! own, from packs: a pack of all zones made before; of very many zones a folder of packs that it makes itself at its first start; where a case wants it, from a store in SQLite,
//! with nothing kept and with the packs of a start before. Where a case wants that, each is asked for every RRset after its first start, and memory is read once more.
//!
//! Files are in the page cache for all.

mod rest;
mod sources;
mod touch;

use std::{
    fs::File,
    io,
    path::Path,
    time::{Duration, Instant},
};

use bench::random::Random;
use rest::Found;
use serde_json::{Value, json};
use sources::Kind;

use super::{
    Lab, Mark, Rounds, Subject, interval_text, table,
    validity::{self, Judged, Made},
};
use crate::{
    Error,
    data::{Set, Zones},
    error,
    recipe::Case,
    record::Figure,
    statistics,
};

/// How often is asked.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// Order of the starts.
const SEED: u64 = 3;

/// Measures all contenders in all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let mut found = Found::default();
    let (mut places, mut labels) = (Vec::new(), Vec::<String>::new());
    for case in lab.recipe.cases.clone() {
        let set = lab.set(&case)?;
        places.push(case.name.clone());
        let mut starts: Vec<(Subject, Kind)> =
            lab.subjects(&lab.names, 1).into_iter().map(|subject| (subject, Kind::Text)).collect();
        starts.extend(sources::kinds(lab, &case, &set.zones)?);
        labels.extend(starts.iter().map(|(subject, _)| subject.label.clone()));
        starts.iter().try_for_each(|(_, kind)| warm(&set.zones, kind))?;
        measure(lab, &case, &set, &mut starts, &mut found)?;
    }
    if lab.record.raw.is_empty() {
        return Err(Error::Nobody);
    }
    found.arrange(&labels);
    report(lab, &places, &found);
    Ok(())
}

fn measure(
    lab: &mut Lab,
    case: &Case,
    set: &Set,
    starts: &mut Vec<(Subject, Kind)>,
    found: &mut Found,
) -> Result<(), Error> {
    let at = case.name.as_str();
    let (began, mut rounds) = (Instant::now(), Rounds::new(lab.effort.runs));
    let mut order = Random::new(SEED);
    while let Some(run) = rounds.next(lab) {
        let text = format!("{at}: start {run} of {} of each", rounds.count());
        lab.say_left(&text, began, run - 1, rounds.left());
        order.shuffle(starts);
        let mut failed = Vec::new();
        for (subject, kind) in starts.iter() {
            lab.go_on()?;
            let is_out = kind.is_slow(&set.zones) && run > lab.effort.peer_runs;
            if is_out || !lab.takes_part(subject.name, run) {
                continue;
            }
            let label = format!("start {run}, {}, {at}", subject.label);
            let queries = (case.every && run == 1).then_some(set.queries.as_path());
            match validity::judged(lab, &label, |lab| start(lab, at, &set.zones, queries, (subject, kind))) {
                Ok(Some(Judged { value, conditions })) => {
                    found.push(&subject.label, at, &value, run, &conditions);
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

/// One start; `queries`: what is asked after it.
fn start(
    lab: &mut Lab,
    at: &str,
    zones: &Zones,
    queries: Option<&Path>,
    (subject, kind): (&Subject, &Kind),
) -> Result<Made<rest::Started>, Error> {
    if zones.list.len() <= sources::WORDS_MAX {
        warm(zones, kind)?;
    }
    let mut server = lab.launch(subject, zones, kind.source())?;
    let seconds = lab.effort.load_seconds;
    let answered = server.wait(&lab.bed, &zones.question(), seconds, ASK_EVERY, &lab.stop)?;
    let mut value = rest::follow(lab, &server, answered)?;
    let mut outcome = Value::Null;
    if let Some(queries) = queries {
        let touched = touch::all(lab, &mut server, queries)?;
        (value.touched, outcome) = (Some(touched.pss), touched.outcome);
    }
    let raw = json!({
        "start_of": subject.label, "at": at, "seconds": value.first, "cpu_seconds": value.first_cpu,
        "rest_seconds": value.rest, "rest_cpu_seconds": value.rest_cpu, "pss": value.pss, "peak_resident": value.peak,
        "touched_pss": value.touched, "touched_by": outcome,
    });
    let answers_all = !outcome.is_null();
    Ok(Made { value, raw, outcome, answers_all })
}

/// Reads the files once, so that no start has to wait for the disk. Very many are read before the first start alone: it takes longer
/// than a start, and those between keep them in memory.
fn warm(zones: &Zones, kind: &Kind) -> Result<(), Error> {
    let read = |path: &Path| {
        let mut file = File::open(path).map_err(error::file(path, "open"))?;
        io::copy(&mut file, &mut io::sink()).map(drop).map_err(error::file(path, "read"))
    };
    match kind {
        Kind::Pack(file) | Kind::Store(file, _) => read(file),
        // The start that made them has written them just now.
        Kind::Packs(_) => Ok(()),
        Kind::Text => zones.list.iter().try_for_each(|(_, path)| read(path)),
    }
}

fn report(lab: &mut Lab, places: &[String], found: &Found) {
    let figures = found.first.figures("time to first answer", "s", false);
    for at in places {
        let row = |figure: &Figure| {
            let (least, most) = statistics::ends(&figure.values);
            let mut row = vec![figure.contender.clone()];
            row.extend([figure.median, least, most].map(|seconds| format!("{seconds:.3}")));
            row.push(interval_text(figure, 3));
            row
        };
        let of_place = || figures.iter().filter(|figure| figure.at == *at);
        let columns = ["server", "median s", "least", "most", "95 %"];
        let note = "From exec to the first answer, asked every millisecond.";
        lab.record.tables.push(table(at, &columns, of_place().map(row).collect(), note));
        let row = |figure: &Figure| {
            let who = &figure.contender;
            let seconds = [&found.first, &found.first_cpu, &found.rest, &found.rest_cpu];
            let octets = [&found.pss, &found.peak];
            let mut row = vec![who.clone()];
            row.extend(seconds.map(|values| format!("{:.3}", statistics::median(values.of(who, at)))));
            let mebibytes = |octets: f64| format!("{:.1}", octets / f64::from(1 << 20));
            row.extend(octets.map(|values| mebibytes(statistics::median(values.of(who, at)))));
            if let Some(&touched) = found.touched.of(who, at).first() {
                row.push(format!("{}{}", found.touched.known(who, at).sign(), mebibytes(touched)));
            }
            row
        };
        let mut columns = vec!["server", "answers s", "CPU s", "at rest s", "CPU s ", "PSS MiB", "peak MiB"];
        let mut note = "Medians. At rest: it used less than a tenth of a core for a second; the time is that before this second. PSS: at rest. Peak: the most that was resident \
                    at a time, pages that several processes share in full."
            .to_owned();
        if found.touched.is_at(at) {
            columns.push("touched MiB");
            note += " Touched: PSS after each RRset was asked for, of the first start.";
        }
        lab.record.tables.push(table(
            &format!("{at}: to rest"),
            &columns,
            of_place().map(row).collect(),
            &note,
        ));
    }
    lab.record.figures.extend(figures);
    for (values, metric, unit) in [
        (&found.first_cpu, "CPU to first answer", "s"),
        (&found.rest, "time to rest", "s"),
        (&found.rest_cpu, "CPU to rest", "s"),
        (&found.pss, "PSS at rest", "octets"),
        (&found.peak, "peak resident", "octets"),
        (&found.touched, "PSS after each RRset was asked for", "octets"),
    ] {
        lab.record.figures.extend(values.figures(metric, unit, false));
    }
    lab.record.charts.push(found.first.bars("Start to first answer", "seconds", places, true));
    lab.record.charts.push(found.rest.bars("Start to rest", "seconds", places, true));
}

//! Memory: what all processes of a server hold after the load of its zones, and after queries that touch them, by record.
//!
//! The proportional set size counts pages that processes share once (NSD runs three), and mapped files in full.

use std::time::Instant;

use serde_json::json;

use super::{
    Lab, Mark, Values, table,
    validity::{self, Judged, Made},
};
use crate::{Error, known::Known, recipe::Name, statistics};

/// How long is waited for memory to settle after the load.
const SETTLE_SECONDS: f64 = 30.0;
/// Queries outstanding while the zone is touched: few enough for any server's buffers.
const WINDOW: &str = "100";

/// Measures all contenders in all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let (mut loaded, mut touched, mut whole) = (Values::default(), Values::default(), Values::default());
    let cases = lab.recipe.cases.clone();
    let (began, all) = (Instant::now(), cases.len() * lab.names.len());
    let (mut done, mut places) = (0, Vec::new());
    for case in &cases {
        let Some(set) = lab.set_if_able(case)? else { continue };
        let records = set.zones.records as f64;
        places.push(case.name.clone());
        for subject in lab.subjects(&lab.names, 1) {
            lab.go_on()?;
            lab.say_left(&format!("{}: {}", case.name, subject.label), began, done, all - done);
            done += 1;
            let mut server = match lab.start(&subject, &set.zones) {
                Err(error @ Error::Server { .. }) => {
                    lab.note(format!("{}, {}: {error}", case.name, subject.label));
                    continue;
                }
                server => server?,
            };
            server.process.settle(SETTLE_SECONDS.min(lab.effort.load_seconds));
            let before = server.process.pss() as f64;
            let count = lab.effort.queries.to_string();
            let words = ["--closed", WINDOW, "--count", &count, "--seconds", "600"].map(str::to_owned);
            let judged = validity::judged(lab, &format!("{}, {}", case.name, subject.label), |lab| {
                let outcome = lab.load(&mut server, &set.queries, &words)?["outcome"].take();
                let value = server.process.pss() as f64;
                let raw = json!({
                    "memory_of": subject.label, "at": case.name, "records": set.zones.records,
                    "loaded_octets": before, "touched_octets": value, "outcome": outcome,
                });
                // The schedule is no matter, nor who is the limit: pages are touched or they are not.
                let asked = json!({ "sent": outcome["sent"], "lost": outcome["lost"] });
                Ok(Made { value, raw, outcome: asked, answers_all: true })
            });
            let judged = match judged {
                Err(error @ Error::Server { .. }) => {
                    lab.note(format!("{}, {}: {error}", case.name, subject.label));
                    continue;
                }
                judged => judged?,
            };
            loaded.push(&subject.label, &case.name, before / records);
            whole.push(&subject.label, &case.name, before);
            if let Some(Judged { value, conditions }) = judged {
                // A query that was lost may have touched nothing.
                let mark = Mark::of(0, &conditions).known(Known::at_least_if(conditions.has_losses()));
                touched.push_marked(&subject.label, &case.name, value / records, mark);
            }
        }
        lab.record.blocks.kept += 1;
    }
    if loaded.contenders().is_empty() {
        return Err(Error::Nobody);
    }
    report(lab, &places, &loaded, &touched, &whole);
    Ok(())
}

fn report(lab: &mut Lab, places: &[String], loaded: &Values, touched: &Values, whole: &Values) {
    let record = &mut lab.record;
    record.figures.extend(loaded.figures("PSS after load", "octets/RR", false));
    record.figures.extend(touched.figures("PSS after queries", "octets/RR", false));
    record.figures.extend(whole.figures("PSS", "octets", false));
    for at in places {
        let zonda = statistics::median(loaded.of(Name::Zonda.text(), at));
        let row = |name: &&str| {
            let median = |values: &Values| statistics::median(values.of(name, at));
            let ratio = if zonda > 0.0 { format!("{:.2}", median(loaded) / zonda) } else { String::new() };
            vec![
                (*name).to_owned(),
                format!("{:.1}", median(whole) / f64::from(1 << 20)),
                format!("{:.1}", median(loaded)),
                format!("{}{:.1}", touched.known(name, at).sign(), median(touched)),
                ratio,
            ]
        };
        let names = loaded.contenders();
        let rows = names.iter().filter(|name| !loaded.of(name, at).is_empty()).map(row).collect();
        let columns = ["server", "PSS MiB", "octets/RR", "after queries", "of zonda's"];
        record.tables.push(table(at, &columns, rows, "Proportional set size of all processes."));
    }
    record.charts.push(loaded.bars("Memory after the load", "octets a record", places, false));
}

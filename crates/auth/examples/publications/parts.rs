//! One large zone that changes by parts beside a worker that asks it for names: which share of what the worker keeps is lost.

use std::sync::Arc;

use auth::{Client, Responder, Server, Transport, inspect};
use wire::NameBuf;
use wire::iana::rtype;
use zone::catalog::{CatalogReader, PartSet, SlotNumber, ViewSource};
use zone::contents::SourcePosition;
use zone::{Catalog, ContentsBuilder, Pack, PackBuilder, TextStamp, ZoneView};

use crate::{Outcome, name};

/// Publications a second.
const RATE: u64 = 1000;
/// Answers a second of the worker. The more, the oftener each is given before it is lost.
const ANSWERS_A_SECOND: u64 = 100_000;
/// Names that the worker asks for, in turn; every fifth is not there, and its answer has the SOA record, which each publication changes.
const ASKED: usize = 500;
/// States of the zone, beside the first: each has another address of one name.
const STATES: usize = 64;
/// What must be left of the share that is lost where all is published each time.
const LOST_MAX: f64 = 0.25;

/// The states of the zone, and what differs between the first and each other.
struct States {
    packs: Vec<Arc<Pack>>,
    changed: Vec<PartSet>,
}

impl States {
    fn new(names: usize) -> Result<States, String> {
        let apex = name("large.example")?;
        // Names that nobody asks for, scattered.
        let others = (0..=STATES).map(|state| (state > 0).then(|| (ASKED + state * 7919) % names));
        let packs = others.enumerate().map(|(state, other)| Ok(Arc::new(pack(&apex, names, other, state)?)));
        let packs = packs.collect::<Result<Vec<_>, String>>()?;
        let views = packs.iter().map(|pack| ZoneView::new(pack, 0).ok_or("a pack without its zone"));
        let views = views.collect::<Result<Vec<_>, _>>()?;
        let changed = views.iter().map(|view| PartSet::changed(&views[0], view)).collect();
        Ok(States { packs, changed })
    }

    /// Has the zone show another state: number `done / 2` after the first, and the first after each other.
    fn publish(&self, catalog: &Catalog, slot: SlotNumber, done: u64, is_by_parts: bool) -> Outcome {
        let other = 1 + (done / 2) as usize % STATES;
        let shown = if done.is_multiple_of(2) { other } else { 0 };
        let hold = catalog.add_pack(Arc::clone(&self.packs[shown]));
        let source = ViewSource::Pack(hold.number(), 0);
        let published = match catalog.state_of(slot) {
            Some(state) if is_by_parts => catalog.publish_parts(slot, state, source, self.changed[other]),
            state => catalog.publish(slot, state, source),
        };
        published.map_err(|_| "somebody else publishes".into())
    }
}

/// The zone: so many names with an address each, of which one has another.
fn pack(apex: &NameBuf, names: usize, other: Option<usize>, serial: usize) -> Result<Pack, String> {
    let mut contents = ContentsBuilder::new(apex);
    let server = name(&format!("ns.{apex}"))?;
    let mut soa = [server.octets(), server.octets()].concat();
    [serial as u32, 2, 3, 4, 5].iter().for_each(|number| soa.extend(number.to_be_bytes()));
    let mut push = |owner: &NameBuf, rtype, rdata: &[u8]| {
        let taken = contents.push(owner, false, rtype, 60, rdata, SourcePosition::default());
        taken.map_err(|refusal| format!("{owner}: {refusal:?}"))
    };
    push(apex, rtype::SOA, &soa)?;
    push(apex, rtype::NS, server.octets())?;
    push(&server, rtype::A, &[192, 0, 2, 1])?;
    for at in 0..names {
        let address = if other == Some(at) { [192, 0, 2, 2] } else { [192, 0, 2, 1] };
        push(&name(&format!("h{at}.{apex}"))?, rtype::A, &address)?;
    }
    let mut builder = PackBuilder::new(serial as u64);
    let added = builder.add_zone(&contents.finish(), TextStamp::default());
    added.map_err(|_| format!("{apex} is not taken"))?;
    Pack::open(builder.finish().map_err(|_| "the index is crowded")?).map_err(|error| error.to_string())
}

/// Answers, and publications as time goes on. Returns which share was made anew of the answers for names that are there, and of the others.
fn lost(states: &States, seconds: u64, is_by_parts: Option<bool>) -> Result<[f64; 2], String> {
    let catalog = Catalog::new(1);
    let hold = catalog.add_pack(Arc::clone(&states.packs[0]));
    let apex = name("large.example")?;
    let slot = catalog.insert(&[(&*apex, ViewSource::Pack(hold.number(), 0))])[0];
    drop(hold);
    let text = |at: usize| match is_gone(at) {
        true => format!("gone{at}.large.example"),
        false => format!("h{at}.large.example"),
    };
    let queries =
        (0..ASKED).map(|at| Ok(inspect::query(0, &name(&text(at))?, rtype::A, Some((1232, false)))));
    let queries = queries.collect::<Result<Vec<_>, String>>()?;
    let (mut responder, server, mut reader) = (Responder::new(), Server::default(), catalog.reader());
    let client = Client::unknown(Transport::Udp);
    let mut buffer = vec![0; 1232];
    let mut answer = |responder: &mut Responder, reader: &mut CatalogReader, query: &[u8]| {
        let before = responder.repeated();
        reader.with(|view| responder.answer(query, view, &server, &client, &mut buffer));
        responder.repeated() > before
    };
    for query in queries.iter().chain(&queries) {
        answer(&mut responder, &mut reader, query);
    }
    let (mut done, mut all, mut anew) = (0, [0u64; 2], [0u64; 2]);
    for (at, (number, query)) in (0..seconds * ANSWERS_A_SECOND).zip(queries.iter().enumerate().cycle()) {
        if let Some(is_by_parts) = is_by_parts
            && done < at * RATE / ANSWERS_A_SECOND
        {
            states.publish(&catalog, slot, done, is_by_parts)?;
            done += 1;
            if done.is_multiple_of(64) {
                catalog.domain().collect();
            }
        }
        let kind = usize::from(is_gone(number));
        all[kind] += 1;
        anew[kind] += u64::from(!answer(&mut responder, &mut reader, query));
    }
    Ok([0, 1].map(|kind| anew[kind] as f64 / all[kind].max(1) as f64))
}

fn is_gone(number: usize) -> bool {
    number.is_multiple_of(5)
}

fn say(what: &str, [there, gone]: [f64; 2]) {
    println!(
        "{what}: made anew {:.2} % of the answers for names that are there, {:.2} % of name errors",
        100.0 * there,
        100.0 * gone
    );
}

pub fn parts(names: usize, seconds: u64) -> Outcome {
    if names < 2 * ASKED {
        return Err(format!("at least {} names are needed", 2 * ASKED));
    }
    let states = States::new(names)?;
    let begin = std::time::Instant::now();
    let views = [0, 1].map(|at| ZoneView::new(&states.packs[at], 0));
    if let [Some(one), Some(other)] = &views {
        PartSet::changed(one, other);
    }
    println!("{names} names compared in {:?}", begin.elapsed());
    let quiet = lost(&states, seconds, None)?;
    say("no publications", quiet);
    let mut shares = Vec::new();
    for (text, is_by_parts) in [("of everything", false), ("by parts", true)] {
        let share = lost(&states, seconds, Some(is_by_parts))?;
        say(&format!("{RATE} publications {text} a second beside {ANSWERS_A_SECOND} answers"), share);
        shares.push(share[0] - quiet[0]);
    }
    match shares[1] <= LOST_MAX * shares[0] {
        true => Ok(()),
        false => Err("too few kept answers live on".into()),
    }
}

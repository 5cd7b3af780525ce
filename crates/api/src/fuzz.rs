//! The fuzzer's way in: any octets as what a child says, as what a server says, as a body, as a path, as a pattern.

use wire::{Name, NameBuf};

use crate::frame::{Answer, Ask, Asked, Frame, Item, Piece, Run, Said, Who, ZonesBuf};
use crate::pattern::Pattern;
use crate::tag::Condition;
use crate::{json, path};

/// Octets of RRsets that a body may become: as much as shows that there is a bound.
const OCTETS_MAX: usize = 1 << 20;

/// What the first octet chooses is tried with the others. What is read is written as the same octets; what a body becomes is an ask that is read.
pub fn fuzz_api(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    match choice % 7 {
        0 => frames(data, said),
        1 => frames(data, answer),
        2 => bodies(data),
        3 => printed(data),
        4 => paths(data),
        5 => contents(data),
        _ => patterns(data),
    }
}

fn frames(mut octets: &[u8], check: impl Fn(Frame<'_>, &[u8])) {
    while let Ok(Some((frame, length))) = Frame::read(octets) {
        check(frame, &octets[..length]);
        octets = &octets[length..];
    }
}

fn said(frame: Frame<'_>, octets: &[u8]) {
    if let Ok(said) = Said::of(&frame) {
        let mut again = Vec::new();
        assert!(said.write(frame.ask, &mut again) && again == octets, "another frame: {said:?}");
    }
}

fn answer(frame: Frame<'_>, octets: &[u8]) {
    let Ok(answer) = Answer::of(&frame) else { return };
    let mut again = Vec::new();
    assert!(answer.write(frame.ask, &mut again) && again == octets, "another frame: {answer:?}");
    if let Answer::Piece(piece) = answer {
        match piece {
            Piece::Verbs(run) => items(run),
            Piece::Rows(run) => items(run),
            Piece::Sets(run) => items(run),
            Piece::Found(run) => items(run),
            Piece::Numbers(run) => items(run),
            Piece::Keys(run) => items(run),
            Piece::Next(run) => items(run),
            Piece::Versions(run) => items(run),
            Piece::Outcomes(run) => items(run),
            Piece::Faults(run) => items(run),
            Piece::Standings(run) => items(run),
            Piece::Rules(run) => items(run),
            Piece::Sessions(run) => items(run),
            Piece::Json(run) => items(run),
        }
    }
}

/// Each item is written as its octets.
fn items<'a, T: Item<'a>>(run: Run<'a, T>) {
    let mut again = Vec::new();
    run.iter().for_each(|item| item.write(&mut again));
    assert!(again == run.octets(), "another run");
}

/// Whatever a body says: RRsets that the other side reads, or faults.
fn bodies(body: &[u8]) {
    let read = |ask: Ask<'_>| {
        let mut octets = Vec::new();
        ask.write(&mut octets);
        assert_eq!(Ask::read(&octets), Ok(ask));
    };
    let zone = NameBuf::from_text("example.").expect("a name");
    if let Ok(sets) = json::read::patch(body, OCTETS_MAX) {
        let mut zones = ZonesBuf::default();
        zones.push(&zone, Condition::None, &sets);
        read(ask(Asked::Change { repeat: None, is_dry: true, zones: zones.zones() }));
    }
    if let Ok(made) = json::read::post(body, OCTETS_MAX) {
        let (fields, sets) = (made.fields.fields(), made.sets.sets());
        read(ask(Asked::Make { zone: &made.zone, repeat: None, fields, sets }));
    }
    if let Ok(fields) = json::read::put(body) {
        let (condition, fields) = (Condition::Any, fields.fields());
        read(ask(Asked::Set { zone: &zone, repeat: Some("x"), condition, fields }));
    }
    if let Ok(zones) = json::read::explain(body, OCTETS_MAX) {
        read(ask(Asked::Explain(zones.zones())));
    }
    if let Ok(changes) = json::read::changes(body, OCTETS_MAX) {
        let zones = changes.zones.zones();
        read(ask(Asked::Change { repeat: None, is_dry: changes.is_dry, zones }));
    }
}

fn ask(asked: Asked<'_>) -> Ask<'_> {
    Ask { who: Who::Key(b"key"), address: [127, 0, 0, 1].into(), asked }
}

/// RRsets of an answer: their JSON is JSON, and what it says of RDATA that has its type's form is the same RDATA. So is that of numbers and of what was found JSON.
fn printed(octets: &[u8]) {
    frames(octets, |frame, _| match Answer::of(&frame) {
        Ok(Answer::Piece(Piece::Sets(sets))) => {
            for set in sets.iter() {
                for rdata in set.rdatas.iter() {
                    content(set.owner, set.rtype, rdata);
                }
            }
        }
        Ok(Answer::Piece(Piece::Found(found))) => is_json(|out| {
            let mut list = json::write::Found::default();
            found.iter().for_each(|records| list.records(&records, out));
            list.end(out);
        }),
        Ok(Answer::Piece(Piece::Sessions(run))) => {
            run.iter().for_each(|session| is_json(|out| json::write::session(&session, None, out)));
        }
        Ok(Answer::Piece(Piece::Numbers(run))) => is_json(|out| {
            let mut list = json::write::Numbers::default();
            run.iter().for_each(|number| list.number(&number, out));
            list.end(out);
        }),
        _ => {}
    });
}

fn is_json(print: impl FnOnce(&mut Vec<u8>)) {
    let mut out = Vec::new();
    print(&mut out);
    let read: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(&out);
    assert!(read.is_ok(), "{}", String::from_utf8_lossy(&out));
}

fn content(owner: &Name, rtype: u16, rdata: &[u8]) {
    let mut text = Vec::new();
    json::content::print(rtype, rdata, &mut text);
    let text = String::from_utf8(text).expect("it is ASCII");
    // Of a few types 64 KiB are more text than a client may send.
    let fits = text.len() <= json::content::CONTENT_OCTETS_MAX;
    if fits && path::is_of_data(rtype) && zonefile::rdata::check(rtype, rdata).is_ok() {
        let mut again = Vec::new();
        let result = json::content::Reader::new().read(rtype, &text, &mut again);
        assert!(result.is_ok() && again == rdata, "{owner} {rtype} {text}: {result:?}");
    }
}

/// A type and any text: what is read of it has the form of the type, and is told as what is read so again.
fn contents(data: &[u8]) {
    let Some((rtype, text)) = data.split_first_chunk() else { return };
    let (rtype, text) = (u16::from_be_bytes(*rtype), String::from_utf8_lossy(text));
    let mut rdata = Vec::new();
    if path::is_of_data(rtype) && json::content::Reader::new().read(rtype, &text, &mut rdata).is_ok() {
        assert_eq!(zonefile::rdata::check(rtype, &rdata), Ok(()), "{rtype} {text}");
        content(Name::root(), rtype, &rdata);
    }
}

/// What fits a pattern fits it with a star before it.
fn patterns(data: &[u8]) {
    let Some((length, data)) = data.split_first() else { return };
    let (pattern, rdata) = data.split_at(data.len().min((*length).into()));
    let pattern = String::from_utf8_lossy(pattern);
    let fits = |pattern: &str| {
        let fits = |pattern: Pattern| pattern.fits_content(wire::iana::rtype::TXT, rdata, &mut Vec::new());
        Pattern::new(pattern).is_some_and(fits)
    };
    assert!(!fits(&pattern) || fits(&format!("*{pattern}")), "{pattern}");
}

fn paths(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (path, query) = text.split_once('?').unwrap_or((&text, ""));
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        if let Err(refusal) = path::Request::of(method, path, query) {
            assert!((400..500).contains(&refusal.status));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What is kept to begin with is read to its end.
    #[test]
    fn seeds() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/api");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let data = std::fs::read(&path).unwrap();
            fuzz_api(&data);
            let (mut octets, is_of_frames) = (&data[1..], data[0] < 2 || data[0] == 3);
            while is_of_frames && !octets.is_empty() {
                let (frame, length) = Frame::read(octets).unwrap().unwrap();
                let is_read =
                    if data[0] == 0 { Said::of(&frame).is_ok() } else { Answer::of(&frame).is_ok() };
                assert!(is_read, "{path:?}: {frame:?}");
                octets = &octets[length..];
                count += 1;
            }
        }
        assert!(count > 25, "{count}");
    }
}

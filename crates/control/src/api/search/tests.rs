use super::*;
use crate::api::{Keys, new_api_key};
use crate::settings::Settings;
use api::frame::{Answer, FOUND_MAX, Frame};
use std::collections::HashSet;
use std::path::Path;
use wire::iana::rtype;
use zone::catalog::{Absence, ViewSource};
use zone::contents::SourcePosition;
use zone::{Catalog, ContentsBuilder, Pack, PackBuilder, TextStamp};

/// A key that sees `x.` and all below it.
fn key() -> Arc<Key> {
    let (section, secret) = new_api_key("k").unwrap();
    let section = section.replace("zones = []", "zones = [\"x.\", \"*.x.\"]");
    let keys = Keys::of(&Settings::parse(Path::new("f"), &section).unwrap(), 1);
    Arc::clone(keys.find(secret.as_bytes(), 0).unwrap())
}

const HEAD: &str = "@ 60 SOA ns host 7 2 3 4 5\n@ 60 NS ns\n";

/// A catalog with zones of these texts, each behind [`HEAD`], and one that is absent.
fn catalog(zones: &[(&str, &str)]) -> Catalog {
    let mut pack = PackBuilder::new(7);
    for (apex, text) in zones {
        let apex: NameBuf = apex.parse().unwrap();
        let mut builder = ContentsBuilder::new(&apex);
        for record in zonefile::records(&format!("{HEAD}{text}"), &apex).unwrap() {
            let (rtype, ttl) = (record.rtype, record.ttl);
            builder.push(&record.owner, false, rtype, ttl, &record.rdata, SourcePosition::default()).unwrap();
        }
        pack.add_zone(&builder.finish(), TextStamp::default()).unwrap();
    }
    let catalog = Catalog::new(5);
    let hold = catalog.add_pack(Arc::new(Pack::open(pack.finish().unwrap()).unwrap()));
    for (number, (apex, _)) in zones.iter().enumerate() {
        let apex: NameBuf = apex.parse().unwrap();
        catalog.insert(&[(apex, ViewSource::Pack(hold.number(), number as u32))]);
    }
    let absent: NameBuf = "absent.x.".parse().unwrap();
    catalog.insert(&[(absent, ViewSource::Absent(Absence::NotLoaded))]);
    catalog
}

fn search(pattern: &str, objects: Objects, limit: u32) -> Search {
    let of = Of { session: 1, ask: 9 };
    let (pattern, is_given_up) = (Pattern::new(pattern).unwrap(), Arc::new(AtomicBool::new(false)));
    Search { of, key: key(), pattern, objects, limit, since: Instant::now(), is_given_up }
}

/// All that is told of a search, and its end: zones by their names, records by owner, type and zone; and in how many pieces.
fn told(catalog: &Catalog, search: Search) -> (Vec<String>, Option<Cut>, usize) {
    let (mut walk, inbox, mut reader) = (Walk::new(search), Inbox::new().unwrap(), catalog.reader());
    while walk.go_on(&mut reader, &inbox) {}
    let (mut told, mut pieces) = (Vec::new(), 0);
    for event in inbox.take() {
        let Event::Sought(of, sought) = event else { panic!("another event") };
        assert_eq!(of, Of { session: 1, ask: 9 });
        let frame = match sought {
            Sought::Piece(frame) => frame,
            Sought::End(cut) => return (told, cut, pieces),
        };
        pieces += 1;
        let (frame, _) = Frame::read(&frame).unwrap().unwrap();
        match Answer::of(&frame).unwrap() {
            Answer::Piece(Piece::Rows(rows)) => told.extend(rows.iter().map(|row| row.name.to_string())),
            Answer::Piece(Piece::Found(found)) => told.extend(found.iter().map(|found| {
                assert_eq!(found.set.rdatas.iter().count(), 1);
                format!("{} {} in {}", found.set.owner, rtype::Text(found.set.rtype), found.zone)
            })),
            _ => panic!("another piece"),
        }
    }
    panic!("no end")
}

fn lines(catalog: &Catalog, pattern: &str, objects: Objects) -> Vec<String> {
    let (mut told, cut, _) = told(catalog, search(pattern, objects, FOUND_MAX));
    assert_eq!(cut, None);
    told.sort();
    told
}

#[test]
fn zones_then_records_that_a_key_may_see() {
    let catalog = catalog(&[
        ("x.", "www 60 A 192.0.2.1\nmail 60 MX 10 www\n"),
        ("www.x.", "a 60 A 192.0.2.1\na 60 A 192.0.2.2\na 60 TXT \"Www\"\n"),
        ("y.", "www 60 A 192.0.2.1\n"),
    ]);
    let all = told(&catalog, search("www*", Objects::All, FOUND_MAX));
    // The names of zones first.
    assert_eq!((all.0[0].as_str(), all.1, all.2), ("www.x.", None, 2));
    assert_eq!(
        lines(&catalog, "www*", Objects::All),
        ["www.x.", "www.x. A in x.", "www.x. NS in www.x.", "www.x. SOA in www.x."]
    );
    assert_eq!(lines(&catalog, "*", Objects::Zones), ["absent.x.", "www.x.", "x."]);
    assert_eq!(lines(&catalog, "*", Objects::Records).len(), 4 + 5);
    // By contents: of a set the records that fit alone.
    assert_eq!(lines(&catalog, "192.0.2.1", Objects::Records), ["a.www.x. A in www.x.", "www.x. A in x."]);
    assert_eq!(lines(&catalog, "10 WWW.x", Objects::All), ["mail.x. MX in x."]);
    assert_eq!(lines(&catalog, "\"www\"", Objects::All), ["a.www.x. TXT in www.x."]);
    assert_eq!(lines(&catalog, "nothing", Objects::All), [""; 0]);
}

#[test]
fn proofs_are_left_out() {
    let text = "@ 60 NSEC a.x. NS SOA NSEC\na 60 A 192.0.2.1\na 60 NSEC x. A NSEC\n";
    let found = lines(&catalog(&[("x.", text)]), "*", Objects::Records);
    assert_eq!(found, ["a.x. A in x.", "x. NS in x.", "x. SOA in x."]);
}

/// A zone of many batches is gone through once, as are many zones; what ends it is told.
#[test]
fn all_of_it_in_pieces_and_within_bounds() {
    let text: String =
        (0..2000).map(|number| format!("n{number} 60 TXT \"{}\"\n", "y".repeat(250))).collect();
    let zones: Vec<(String, &str)> = (0..1500).map(|number| (format!("z{number}.x."), "")).collect();
    let mut all: Vec<(&str, &str)> = zones.iter().map(|(apex, text)| (apex.as_str(), *text)).collect();
    all.push(("large.x.", &text));
    let catalog = catalog(&all);
    assert_eq!(lines(&catalog, "n???.large.x", Objects::All).len(), 900);
    assert_eq!(lines(&catalog, "z*", Objects::Zones).len(), FOUND_MAX as usize);
    let (found, ..) = told(&catalog, search("z*", Objects::Zones, u32::MAX));
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 1500);
    assert_eq!(lines(&catalog, "nothing", Objects::All), [""; 0]);
    let (found, cut, pieces) = told(&catalog, search("n*.large.x", Objects::All, 600));
    assert_eq!((found.len(), cut, pieces), (600, None, 3));
    // More than may wait is not told, and that is said.
    let many = search("n*.large.x", Objects::All, u32::MAX);
    let (found, cut, _) = told(&catalog, many);
    assert_eq!(cut, Some(Cut::Size));
    assert!(found.len() > 1500 && found.len() < 2000, "{}", found.len());
}

/// Where a name that fits may be is read first: who is cut off was told it.
#[test]
fn the_zone_of_a_name_comes_first() {
    let zones: Vec<String> =
        (0..50).map(|number| format!("z{number}.x.")).chain(["near.x.".into()]).collect();
    let all: Vec<(&str, &str)> =
        zones.iter().map(|apex| (apex.as_str(), "www 60 CNAME www.near.x.\n")).collect();
    let catalog = catalog(&all);
    let (found, cut, _) = told(&catalog, search("www.near.x", Objects::Records, 2));
    assert_eq!((found[0].as_str(), cut), ("www.near.x. CNAME in near.x.", None));
    // And once.
    assert_eq!(lines(&catalog, "www.near.x", Objects::Records).len(), 51);
}

#[test]
fn ends_before_all_was_looked_at() {
    let catalog = catalog(&[("x.", "")]);
    let late = Search { since: Instant::now() - SEARCH_TIME, ..search("*", Objects::All, FOUND_MAX) };
    assert_eq!(told(&catalog, late), (Vec::new(), Some(Cut::Time), 0));
    let given_up = search("*", Objects::All, FOUND_MAX);
    given_up.is_given_up.store(true, Ordering::Relaxed);
    assert_eq!(told(&catalog, given_up), (Vec::new(), None, 0));
    let words = |cut| Cut::done(cut).words;
    assert_eq!([words(None), words(Some(Cut::Time)), words(Some(Cut::Size))], ["", "time", "size"]);
}

/// A zone that changes is gone on with by name: what stays is found once.
#[test]
fn a_zone_that_goes_meanwhile_ends() {
    let text: String = (0..500).map(|number| format!("n{number} 60 A 192.0.2.1\n")).collect();
    let catalog = catalog(&[("x.", &text), ("y.x.", "")]);
    let mut reader = catalog.reader();
    let slot = reader.with(|view| view.slot_named(&name("x."))).unwrap();
    let mut reading = Reading::new(slot, name("x."));
    let first = reading.take(&mut reader);
    assert!(reading.has_more() && first.len() >= 64 && first.len() < 100, "{}", first.len());
    let second = reading.take(&mut reader);
    assert!(second.front().unwrap().owner != first.back().unwrap().owner);
    catalog.remove(&[slot]);
    assert!(reading.take(&mut reader).is_empty() && !reading.has_more());
    // Another zone in the slot is none of it.
    let mut other = Reading::new(slot, name("z.x."));
    assert!(other.take(&mut reader).is_empty() && !other.has_more());
}

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

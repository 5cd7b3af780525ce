use super::*;
use crate::api::explain::Terms;
use crate::api::look::NotPinned;
use crate::api::new_api_key;
use crate::api::reading::{row, rows_frame};
use crate::api::search::{Cut, Search, Sought};
use crate::dynamic::{NotAltered, Outcome as Became, Queue};
use crate::settings::Settings;
use api::frame::{Asked, Facts, Objects, Part, SetsBuf, Verbs, View, What, Who, ZonesBuf};
use api::tag::Condition;
use std::path::Path;
use std::sync::atomic::Ordering;
use wire::iana::rtype;

/// A session, the other end of its pair, keys with one, and its secret.
pub(in crate::api) struct Bed {
    pub(in crate::api) session: Session,
    pub(in crate::api) child: UnixStream,
    pub(in crate::api) around: Around,
    pub(in crate::api) keys: Keys,
    pub(in crate::api) secret: String,
}

impl Bed {
    pub(in crate::api) fn new() -> Bed {
        Bed::with_verbs("[\"read\", \"change\"]")
    }

    fn with_verbs(verbs: &str) -> Bed {
        let (ours, child) = UnixStream::pair().unwrap();
        child.set_nonblocking(true).unwrap();
        let inbox = Arc::new(Inbox::new().unwrap());
        let looks: Looks = Arc::new(Queue::new());
        let works: Works = Arc::new(Queue::new());
        let searches: Searches = Arc::new(Queue::new());
        let nows: Nows = Arc::new(Queue::new());
        let (owner, audit) = (Weak::new(), Audit::default());
        let (counts, sessions, start) = (Arc::default(), Sessions::default(), 7);
        let around = Around { owner, inbox, looks, works, searches, nows, audit, counts, sessions, start };
        let (section, secret) = new_api_key("acme").unwrap();
        let section = section
            .replace("zones = []", "zones = [\"*.x.\"]")
            .replace("rules = []", "rules = [\"grant zonesub\"]");
        let section = section.replace("[\"read\"]", verbs);
        let text = format!("[server]\npack-directory = \"p\"\n{section}");
        let keys = Keys::of(&Settings::parse(Path::new("f"), &text).unwrap(), 1);
        Bed { session: Session::new(1, ours).unwrap(), child, around, keys, secret }
    }

    fn say(&mut self, number: u32, said: &Said<'_>) -> Heard {
        let mut octets = Vec::new();
        assert!(said.write(number, &mut octets));
        self.say_octets(&octets)
    }

    fn say_octets(&mut self, octets: &[u8]) -> Heard {
        self.child.write_all(octets).unwrap();
        self.session.read(&self.around, &self.keys)
    }

    fn ask(&mut self, number: u32, asked: Asked<'_>) -> Heard {
        let secret = self.secret.clone();
        self.say(
            number,
            &Said::Ask(Ask { who: Who::Key(secret.as_bytes()), address: [127, 0, 0, 1].into(), asked }),
        )
    }

    /// What is told: statuses of ends, and letters of pieces.
    pub(in crate::api) fn told(&mut self) -> Vec<String> {
        while self.session.tell_one(&self.around) {}
        while self.session.wants().1 {
            self.session.write().unwrap();
        }
        let mut octets = vec![0; 1 << 20];
        let count = self.child.read(&mut octets).unwrap_or(0);
        let (mut at, mut told) = (0, Vec::new());
        while let Some((frame, length)) = Frame::read(&octets[at..count]).unwrap() {
            told.push(match Answer::of(&frame).unwrap() {
                Answer::More => format!("{} more", frame.ask),
                Answer::Done(Done { is_cut: true, status, words, .. }) => {
                    format!("{} {status} cut: {words}", frame.ask)
                }
                Answer::Done(done) => format!("{} {}", frame.ask, done.status),
                Answer::Piece(piece) => format!("{} {}", frame.ask, kind_of(&piece)),
                Answer::Shown(shown) => format!("{} {shown:?}", frame.ask),
            });
            at += length;
        }
        told
    }
}

fn kind_of(piece: &Piece<'_>) -> &'static str {
    match piece {
        Piece::Verbs(_) => "verbs",
        Piece::Outcomes(_) => "outcome",
        Piece::Sets(_) => "sets",
        Piece::Faults(_) => "faults",
        Piece::Numbers(_) => "numbers",
        Piece::Standings(_) => "zone",
        Piece::Rules(_) => "rules",
        Piece::Sessions(_) => "session",
        Piece::Json(_) => "json",
        _ => "other",
    }
}

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

fn change(zone: &str, owner: &str) -> ZonesBuf {
    let (mut sets, mut zones) = (SetsBuf::default(), ZonesBuf::default());
    sets.begin(&name(owner), rtype::A, What::Replace, 60);
    sets.record(&[192, 0, 2, 1]);
    sets.end();
    zones.push(&name(zone), Condition::None, &sets);
    zones
}

#[test]
fn asks_are_answered_by_their_keys() {
    let mut bed = Bed::new();
    bed.ask(1, Asked::Who).unwrap();
    // Nothing is told without credit but ends.
    assert!(bed.told().is_empty());
    bed.say(1, &Said::Credit(4)).unwrap();
    assert_eq!(bed.told(), ["1 verbs", "1 200"]);
    let wrong = Ask { who: Who::Key(b"wrong"), address: [127, 0, 0, 1].into(), asked: Asked::Who };
    bed.say(2, &Said::Ask(wrong)).unwrap();
    bed.ask(3, Asked::Facts(Facts::Keys)).unwrap();
    bed.ask(4, Asked::Zone { zone: &name("y."), part: Part::All, with_dnssec: false }).unwrap();
    let outside = change("a.x.", "b.x.");
    bed.ask(5, Asked::Change { repeat: None, is_dry: false, zones: outside.zones() }).unwrap();
    let after = Some(api::frame::Cursor { start: 8, slot: 1 });
    bed.ask(6, Asked::List { name: None, account: None, stands: None, after, limit: 0 }).unwrap();
    assert_eq!(bed.told(), ["2 401", "3 403", "4 404", "5 faults", "5 422", "6 410"]);
    assert!(!bed.session.is_busy());
    let counted = bed.around.counts.read();
    assert_eq!((counted.outcomes, counted.held), ([1, 1, 2, 2, 0, 0], 0));
}

/// By frames as by what is judged: a session begins, is told and ends; and is nobody's without its secret.
#[test]
fn who_signs_in_is_told_so() {
    let mut bed = Bed::new();
    let text = "[api]\nlisten = [\"127.0.0.1:8081\"]\npage = true\n";
    bed.around.sessions = Sessions::of(&Settings::parse(Path::new("f"), text).unwrap());
    bed.ask(1, Asked::SignIn { ending: None }).unwrap();
    bed.ask(2, Asked::Session).unwrap();
    bed.ask(3, Asked::SignOut).unwrap();
    let secret = [7; api::frame::SESSION_OCTETS];
    let address = [127, 0, 0, 1].into();
    for (number, asked) in [(4, Asked::Session), (5, Asked::SignOut)] {
        let who = Who::Session { secret: &secret, is_person: true };
        bed.say(number, &Said::Ask(Ask { who, address, asked })).unwrap();
    }
    bed.say(6, &Said::Ask(Ask { who: Who::Code(b"code"), address, asked: Asked::Who })).unwrap();
    [1, 2].iter().for_each(|number| bed.say(*number, &Said::Credit(4)).unwrap());
    let told = bed.told();
    assert_eq!(told, ["3 401", "4 401", "5 401", "6 401", "1 session", "2 session", "1 201", "2 200"]);
}

#[test]
fn what_the_changer_says_is_told() {
    let mut bed = Bed::new();
    let zones = change("a.x.", "w.a.x.");
    let ask = |bed: &mut Bed, number| {
        bed.ask(number, Asked::Change { repeat: None, is_dry: false, zones: zones.zones() }).unwrap();
        bed.say(number, &Said::Credit(4)).unwrap();
    };
    let of = |ask| Of { session: 1, ask };
    let became = || Ok(vec![Some(Became { before: 1, after: 2, tag: None, would: None })]);
    let said = |status, set| Err(NotAltered::Said { status, words: "no".into(), zone: 0, set });
    (1..=6).for_each(|number| ask(&mut bed, number));
    let results = [became(), said(403, Some(0)), said(412, None), Err(NotAltered::NotNow)];
    for (result, number) in results.into_iter().zip(1..) {
        bed.session.take(&bed.around, &bed.keys, Event::Altered(of(number), result));
    }
    // Of another process, and of one that nobody reads any more.
    bed.session.take(&bed.around, &bed.keys, Event::Altered(Of { session: 2, ask: 5 }, became()));
    bed.say(6, &Said::Stop).unwrap();
    bed.session.take(&bed.around, &bed.keys, Event::Altered(of(6), became()));
    assert_eq!(bed.told(), ["2 faults", "2 403", "3 412", "4 503", "1 outcome", "1 204"]);
    assert_eq!(bed.session.asks.len(), 1);
    // Keys are others: it is looked at once more, and this one is none any more.
    bed.keys = Keys::default();
    bed.session.take(&bed.around, &bed.keys, Event::Altered(of(5), Err(NotAltered::OtherKeys)));
    assert_eq!(bed.told(), ["5 401"]);
}

/// Each zone is told of: all in one piece, but for what a dry run says behind each; and which is why nothing is done.
#[test]
fn what_becomes_of_several_zones_is_told() {
    let mut bed = Bed::new();
    let mut zones = change("a.x.", "w.a.x.");
    zones.push(&name("b.x."), Condition::None, &SetsBuf::default());
    let ask = |bed: &mut Bed, number, is_dry| {
        bed.ask(number, Asked::Change { repeat: None, is_dry, zones: zones.zones() }).unwrap();
        bed.say(number, &Said::Credit(4)).unwrap();
    };
    let of = |ask| Of { session: 1, ask };
    let became = |would| Some(Became { before: 1, after: 2, tag: None, would });
    (1..=3).for_each(|number| ask(&mut bed, number, false));
    let refused = NotAltered::Said { status: 412, words: "no".into(), zone: 1, set: None };
    let results = [Ok(vec![became(None), became(None)]), Err(refused), Ok(vec![became(None), None])];
    for (number, result) in (1..).zip(results) {
        bed.session.take(&bed.around, &bed.keys, Event::Altered(of(number), result));
    }
    assert_eq!(bed.told(), ["2 faults", "2 412", "1 outcome", "3 outcome", "1 200", "3 200"]);
    ask(&mut bed, 4, true);
    let mut records = [zone::Records::default(), zone::Records::default()];
    for (serial, records) in records.iter_mut().enumerate() {
        records.push(
            &name("a.x."),
            rtype::SOA,
            60,
            &[0, 0, 0, 0, 0, serial as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        );
        records.push(&name("w.a.x."), rtype::A, 60, &[10, 0, 0, serial as u8]);
    }
    let [removed, added] = records;
    let would = zone::Change::new(removed, added).unwrap();
    let outcomes = vec![became(Some(would)), became(None)];
    bed.session.take(&bed.around, &bed.keys, Event::Altered(of(4), Ok(outcomes)));
    assert_eq!(bed.told(), ["4 outcome", "4 sets", "4 outcome", "4 200"]);
    // Before anything is looked at: one that is not for the key.
    let mut outside = change("a.x.", "w.a.x.");
    outside.push(&name("y."), Condition::None, &SetsBuf::default());
    bed.ask(5, Asked::Change { repeat: None, is_dry: false, zones: outside.zones() }).unwrap();
    assert_eq!(bed.told(), ["5 faults", "5 404"]);
    // What is done is told though its key is none any more; what would be is not.
    ask(&mut bed, 6, false);
    ask(&mut bed, 7, true);
    bed.session.take(&bed.around, &bed.keys, Event::Altered(of(6), Ok(vec![became(None), became(None)])));
    bed.session.take(&bed.around, &bed.keys, Event::Altered(of(7), Ok(vec![became(None), became(None)])));
    bed.keys = Keys::default();
    bed.session.take(&bed.around, &bed.keys, Event::Keys(Arc::default()));
    assert_eq!(bed.told(), ["7 401", "6 outcome", "6 200"]);
}

/// What is done is written down though nobody reads that it is.
#[test]
fn a_change_whose_client_leaves_has_its_line() {
    let (mut bed, scratch) = (Bed::new(), tempfile::tempdir().unwrap());
    let file = scratch.path().join("audit");
    let text = format!("[server]\npack-directory = \"p\"\n[api]\naudit = \"file:{}\"\n", file.display());
    bed.around.audit = Audit::of(&Settings::parse(Path::new("f"), &text).unwrap());
    let zones = change("a.x.", "w.a.x.");
    bed.ask(1, Asked::Change { repeat: None, is_dry: false, zones: zones.zones() }).unwrap();
    let became = vec![Some(Became { before: 1, after: 2, tag: None, would: None })];
    bed.session.take(&bed.around, &bed.keys, Event::Altered(Of { session: 1, ask: 1 }, Ok(became)));
    bed.say(1, &Said::Stop).unwrap();
    bed.around.audit.close();
    let told = std::fs::read_to_string(&file).unwrap();
    assert!(told.lines().count() == 1 && told.contains("\"status\":204"), "{told}");
    assert!(told.contains("\"serials\":[1,2]"), "{told}");
}

fn seek(bed: &mut Bed, number: u32) -> Search {
    bed.ask(number, Asked::Search { pattern: "w*", objects: Objects::All, limit: 10 }).unwrap();
    bed.say(number, &Said::Credit(4)).unwrap();
    bed.around.searches.take(None).unwrap().pop().unwrap()
}

/// A frame of a search that found a zone.
fn found(number: u32) -> Sought {
    let mut octets = Vec::new();
    row(&name("w.x."), 0, (false, false), None, None).write(&mut octets);
    Sought::Piece(rows_frame(number, &octets).unwrap())
}

#[test]
fn what_a_search_finds_is_told_as_it_comes() {
    let mut bed = Bed::new();
    let take = |bed: &mut Bed, number, sought| {
        let of = Of { session: 1, ask: number };
        bed.session.take(&bed.around, &bed.keys, Event::Sought(of, sought));
    };
    let search = seek(&mut bed, 1);
    assert!(search.of.ask == 1 && search.limit == 10 && bed.told().is_empty());
    take(&mut bed, 1, found(1));
    assert_eq!(bed.told(), ["1 other"]);
    take(&mut bed, 1, found(1));
    take(&mut bed, 1, Sought::End(Some(Cut::Size)));
    assert_eq!(bed.told(), ["1 other", "1 200 cut: size"]);
    assert!(!bed.session.is_busy());
    // One that nobody reads has its place until the thread is done with it; nothing more of it is told.
    let given_up = seek(&mut bed, 2);
    bed.say(2, &Said::Stop).unwrap();
    assert!(given_up.is_given_up.load(Ordering::Relaxed) && bed.session.is_busy());
    take(&mut bed, 2, found(2));
    take(&mut bed, 2, Sought::End(None));
    assert!(bed.told().is_empty() && !bed.session.is_busy());
    // Keys are others meanwhile.
    let revoked = seek(&mut bed, 3);
    bed.keys = Keys::default();
    bed.session.take(&bed.around, &bed.keys, Event::Keys(Arc::new(Keys::default())));
    assert!(revoked.is_given_up.load(Ordering::Relaxed));
    take(&mut bed, 3, found(3));
    assert_eq!(bed.told(), ["3 401"]);
    take(&mut bed, 3, Sought::End(None));
    assert!(!bed.session.is_busy());
}

/// A key has half of the places for searches; with the process goes what it searched for. A thread that never has its turn keeps nobody waiting.
#[test]
fn searches_are_bounded() {
    let mut bed = Bed::new();
    let asked = || Asked::Search { pattern: "*", objects: Objects::Records, limit: 1 };
    (0..10).for_each(|number| bed.ask(number, asked()).unwrap());
    let refused = bed.told();
    assert_eq!(refused, ["4 429", "5 429", "6 429", "7 429", "8 429", "9 429"]);
    let searches = bed.around.searches.take(None).unwrap();
    assert_eq!(searches.len(), 4);
    bed.session.look_at_time(&bed.around);
    assert!(bed.told().is_empty());
    for entry in bed.session.asks.values_mut() {
        let State::Seeking(seeking) = &mut entry.state else { panic!("a search") };
        seeking.began_before(Duration::from_secs(7));
    }
    (0..2).for_each(|_| bed.session.look_at_time(&bed.around));
    let mut told = bed.told();
    told.sort();
    assert_eq!(told, ["0 200 cut: time", "1 200 cut: time", "2 200 cut: time", "3 200 cut: time"]);
    assert!(searches.iter().all(|search| search.is_given_up.load(Ordering::Relaxed)));
    // None has a place before the thread is done with one.
    bed.ask(20, asked()).unwrap();
    assert_eq!(bed.told(), ["20 429"]);
    let end = Event::Sought(Of { session: 1, ask: 0 }, Sought::End(Some(Cut::Time)));
    bed.session.take(&bed.around, &bed.keys, end);
    let last = seek(&mut bed, 21);
    let Bed { session, around, .. } = bed;
    session.end(&around);
    assert!(last.is_given_up.load(Ordering::Relaxed));
}

#[test]
fn numbers_are_told_to_who_may_see_them() {
    let mut bed = Bed::new();
    bed.ask(1, Asked::Facts(Facts::Numbers)).unwrap();
    assert_eq!(bed.told(), ["1 403"]);
    let mut bed = Bed::with_verbs("[\"server\"]");
    let mut octets = Vec::new();
    api::frame::Number { name: "uptime", label: "", value: 7 }.write(&mut octets);
    let octets: Arc<[u8]> = octets.into();
    for number in [2, 3] {
        bed.ask(number, Asked::Facts(Facts::Numbers)).unwrap();
        bed.say(number, &Said::Credit(4)).unwrap();
    }
    bed.say(3, &Said::Stop).unwrap();
    for number in [2, 3] {
        let event = Event::Numbers(Of { session: 1, ask: number }, Arc::clone(&octets));
        bed.session.take(&bed.around, &bed.keys, event);
    }
    assert_eq!(bed.told(), ["2 numbers", "2 200"]);
    assert!(!bed.session.is_busy());
}

/// Whoever reads how the server is may go before it is told, and the server may be at its end.
#[test]
fn how_the_server_is_is_told_in_pieces() {
    let mut bed = Bed::with_verbs("[\"server\"]");
    let frames = |number| {
        let mut octets = Vec::new();
        b"{}".as_slice().write(&mut octets);
        let piece = frame(number, Piece::Json(Run::read(&octets).unwrap())).unwrap();
        Event::Told(Of { session: 1, ask: number }, Ok(VecDeque::from([piece.clone(), piece])))
    };
    for (number, view) in [(1, View::Now { said: 3 }), (2, View::Hour)] {
        bed.ask(number, Asked::View(view)).unwrap();
        bed.say(number, &Said::Credit(4)).unwrap();
    }
    bed.say(2, &Said::Stop).unwrap();
    let asked = bed.around.nows.take(None).unwrap();
    assert!(matches!(asked[..], [Told::Now(Of { ask: 1, .. }, 3), Told::Hour(Of { ask: 2, .. })]));
    for number in [1, 2] {
        bed.session.take(&bed.around, &bed.keys, frames(number));
    }
    assert_eq!(bed.told(), ["1 json", "1 json", "1 200"]);
    assert!(!bed.session.is_busy());
    bed.around.nows.close();
    bed.ask(3, Asked::View(View::Hour)).unwrap();
    assert_eq!(bed.told(), ["3 503"]);
}

#[test]
fn rules_are_told_to_who_may_have_them_explained() {
    let zones = change("a.x.", "w.a.x.");
    let mut bed = Bed::new();
    bed.ask(1, Asked::Explain(zones.zones())).unwrap();
    assert_eq!(bed.told(), ["1 403"]);
    let mut bed = Bed::with_verbs("[\"explain\"]");
    let ask = |bed: &mut Bed, number| {
        bed.ask(number, Asked::Explain(zones.zones())).unwrap();
        bed.say(number, &Said::Credit(4)).unwrap();
    };
    // What the look says: of the third that its zone is not there.
    let look = |bed: &mut Bed| {
        for look in bed.around.looks.take(None).unwrap() {
            let Look::Explain(of, questions) = look else { panic!("another look") };
            let terms = |question| (question, Terms { policy: None, status: 422, words: "no policy".into() });
            let told = (of.ask != 3).then(|| questions.into_iter().map(terms).collect());
            bed.session.take(&bed.around, &bed.keys, Event::Explained(of, told));
        }
    };
    (2..=4).for_each(|number| ask(&mut bed, number));
    bed.say(4, &Said::Stop).unwrap();
    look(&mut bed);
    let mut told = bed.told();
    told.sort();
    assert_eq!(told, ["2 200", "2 rules", "2 zone", "3 404"]);
    // Keys are others before it is told.
    ask(&mut bed, 5);
    look(&mut bed);
    bed.session.take(&bed.around, &Keys::default(), Event::Keys(Arc::new(Keys::default())));
    assert_eq!(bed.told(), ["5 401"]);
    assert!(!bed.session.is_busy());
}

#[test]
fn versions_are_told_to_who_may_read() {
    let mut bed = Bed::new();
    let zone = name("a.x.");
    for number in 1..=3 {
        bed.ask(number, Asked::History { zone: &zone, undo: None }).unwrap();
        bed.say(number, &Said::Credit(4)).unwrap();
    }
    bed.say(3, &Said::Stop).unwrap();
    assert!(
        bed.around.works.take(None).unwrap().iter().all(|job| matches!(job, Job::Read(Read::History(..))))
    );
    let version = api::frame::Version { before: 1, after: 2, seconds: 3, octets: 4 };
    for (number, told) in [(1, Ok(vec![version; 1_000])), (2, Err((404, "no such zone"))), (3, Ok(vec![]))] {
        let event = Event::Versions(Of { session: 1, ask: number }, told);
        bed.session.take(&bed.around, &bed.keys, event);
    }
    let mut told = bed.told();
    told.sort();
    assert_eq!(told, ["1 200", "1 other", "2 404"]);
    assert!(!bed.session.is_busy());
    // What leads back to one of them.
    bed.ask(4, Asked::History { zone: &zone, undo: Some(1) }).unwrap();
    bed.say(4, &Said::Credit(4)).unwrap();
    let jobs: Vec<Job> = bed.around.works.take(None).unwrap().into_iter().collect();
    assert!(matches!(&jobs[..], [Job::Read(Read::Undo(Of { ask: 4, .. }, 0, _, 1))]));
    let no = Err((413, "more than one request may change back"));
    bed.session.take(&bed.around, &bed.keys, Event::Undo(Of { session: 1, ask: 4 }, no));
    assert_eq!(bed.told(), ["4 413"]);
    assert!(!bed.session.is_busy());
}

/// However many keys there are, and however long their names.
#[test]
fn names_of_keys_come_in_pieces() {
    let mut bed = Bed::with_verbs("[\"server\"]");
    let long = "x".repeat(60);
    let names = (0..1000).map(|number| name(&format!("k{number}.{long}.{long}.{long}.")));
    bed.keys.tsig = names.collect();
    bed.ask(1, Asked::Facts(Facts::Keys)).unwrap();
    bed.say(1, &Said::Credit(4)).unwrap();
    let told = bed.told();
    assert_eq!((told.len(), told.last().map(String::as_str)), (5, Some("1 200")));
    assert!(!bed.session.is_busy());
}

/// One that is taken over ends, and has nothing else of it.
#[test]
fn what_it_may_not_say_ends_it() {
    let zones = change("a.x.", "w.a.x.");
    let asked = || Asked::Change { repeat: None, is_dry: false, zones: zones.zones() };
    let is_end = |say: &dyn Fn(&mut Bed) -> Heard| say(&mut Bed::new()).is_err();
    assert!(is_end(&|bed| bed.say_octets(&[0xff; 64])));
    assert!(is_end(&|bed| bed.say_octets(b"\0\0\0\0\0\0\0\x01d")));
    assert!(is_end(&|bed| bed.ask(1, asked()).and_then(|()| bed.ask(1, asked()))));
    assert!(is_end(&|bed| bed.ask(1, asked()).and_then(|()| bed.say(1, &Said::Credit(5)))));
    assert!(is_end(&|bed| bed.ask(1, asked()).and_then(|()| bed.say(1, &Said::Part(b"x")))));
    assert!(is_end(&|bed| bed.say(0, &Said::Unconfined).and_then(|()| bed.say(0, &Said::Unconfined))));
    assert!(is_end(&|bed| {
        bed.say(1, &Said::Long(REST_OCTETS_MAX + 1))?;
        bed.say(1, &Said::Part(&[0; REST_OCTETS_MAX]))?;
        bed.say(1, &Said::Part(&[0; 2]))
    }));
    assert!(is_end(&|bed| {
        bed.say(1, &Said::Long(REST_OCTETS_MAX + 1))?;
        bed.say(1, &Said::Part(&[0; REST_OCTETS_MAX]))?;
        bed.say(1, &Said::Part(&[0]))
    }));
    assert!(is_end(&|bed| {
        drop(bed.child.try_clone().unwrap().shutdown(std::net::Shutdown::Both));
        bed.session.read(&bed.around, &bed.keys)
    }));
    // What is of no ask is nothing.
    let mut bed = Bed::new();
    bed.say(9, &Said::Credit(200)).unwrap();
    bed.say(9, &Said::Stop).unwrap();
    bed.say(9, &Said::Part(b"x")).unwrap();
    assert!(bed.told().is_empty());
}

/// A key has less than is free; long asks have so many octets; and there are so many readers.
#[test]
fn places_are_bounded() {
    let mut bed = Bed::new();
    let zones = change("a.x.", "w.a.x.");
    for number in 0..ASKS_MAX as u32 {
        bed.ask(number, Asked::Change { repeat: None, is_dry: false, zones: zones.zones() }).unwrap();
    }
    let refused = bed.told();
    assert!(refused.iter().all(|told| told.ends_with(" 429")) && !refused.is_empty(), "{refused:?}");
    assert_eq!(bed.session.asks.len(), ASKS_MAX / 2);
    let mut bed = Bed::new();
    let zone = name("a.x.");
    for number in 0..2 * u32::from(READS_MAX) {
        bed.ask(number, Asked::Zone { zone: &zone, part: Part::Row, with_dnssec: false }).unwrap();
    }
    // One key has half of them, so that there is one for the next.
    let half = READS_MAX / 2;
    assert_eq!((bed.told().len(), bed.session.seats), (3 * usize::from(half), (1 << half) - 1));
    bed.session.take(
        &bed.around,
        &Keys::default(),
        Event::Pinned(Of { session: 1, ask: 0 }, Err(NotPinned::Nothing)),
    );
    assert_eq!((bed.told(), bed.session.seats), (vec!["0 404".to_owned()], (1 << half) - 2));
    let mut bed = Bed::new();
    let most = LONG_OCTETS_MAX / 2;
    for number in 0..3 {
        bed.say(number, &Said::Long(most)).unwrap();
    }
    assert_eq!(bed.told(), ["0 more", "1 more", "2 429"]);
    bed.say(0, &Said::Stop).unwrap();
    bed.say(3, &Said::Long(most)).unwrap();
    assert_eq!((bed.told(), bed.session.long_octets), (vec!["3 more".to_owned()], LONG_OCTETS_MAX));
}

/// Of asks that it has given up the process does not know when they end: a table that is full of them is no fault of it.
#[test]
fn a_full_table() {
    let fill = |bed: &mut Bed| {
        let zones = change("a.x.", "w.a.x.");
        for number in 0..ASKS_MAX as u32 / 2 {
            bed.ask(number, Asked::Change { repeat: None, is_dry: false, zones: zones.zones() }).unwrap();
        }
        (ASKS_MAX as u32 / 2..ASKS_MAX as u32)
            .for_each(|number| bed.say(number, &Said::Long(REST_OCTETS_MAX + 1)).unwrap());
        assert_eq!(bed.session.asks.len(), ASKS_MAX);
        bed.told();
    };
    let mut bed = Bed::new();
    fill(&mut bed);
    assert!(bed.ask(1000, Asked::Who).is_err());
    let mut bed = Bed::new();
    fill(&mut bed);
    bed.say(0, &Said::Stop).unwrap();
    bed.ask(1000, Asked::Who).unwrap();
    bed.say(1001, &Said::Long(REST_OCTETS_MAX + 1)).unwrap();
    assert_eq!(bed.told(), ["1000 429", "1001 429"]);
    // The one that was given up is over: there is a place.
    bed.session.take(
        &bed.around,
        &bed.keys,
        Event::Altered(Of { session: 1, ask: 0 }, Err(NotAltered::NotNow)),
    );
    bed.say(1002, &Said::Long(REST_OCTETS_MAX + 1)).unwrap();
    assert_eq!(bed.told(), ["1002 more"]);
}

/// An ask that is longer than a frame is one as soon as all of it is there.
#[test]
fn long_asks() {
    let mut bed = Bed::new();
    let (mut sets, mut zones) = (SetsBuf::default(), ZonesBuf::default());
    for number in 0..1000 {
        sets.begin(&name(&format!("n{number}.a.x.")), rtype::TXT, What::Replace, 60);
        sets.record(&[&[200][..], &[b'x'; 200]].concat());
    }
    sets.end();
    zones.push(&name("a.x."), Condition::None, &sets);
    let asked = Asked::Change { repeat: None, is_dry: false, zones: zones.zones() };
    let secret = bed.secret.clone();
    let ask = Ask { who: Who::Key(secret.as_bytes()), address: [127, 0, 0, 1].into(), asked };
    let asking = api::frame::Asking::of(4, &ask).unwrap();
    let mut octets = Vec::new();
    asking.begin(&mut octets);
    bed.say_octets(&octets).unwrap();
    assert_eq!(bed.told(), ["4 more"]);
    for part in asking.parts() {
        bed.say(4, &part).unwrap();
    }
    assert!(
        matches!(bed.session.asks[&4].state, State::Changing { .. }) && bed.session.long_octets > 200_000
    );
    // Its octets count until it is done.
    bed.session.take(
        &bed.around,
        &bed.keys,
        Event::Altered(Of { session: 1, ask: 4 }, Err(NotAltered::NotNow)),
    );
    assert_eq!((bed.told(), bed.session.long_octets), (vec!["4 503".to_owned()], 0));
    assert_eq!(bed.keys.find(secret.as_bytes(), 0).map(|key| key.verbs.has(Verbs::CHANGE)), Some(true));
}

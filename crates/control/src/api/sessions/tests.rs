use super::*;
use crate::api::judge::{judge, whose};
use crate::api::keys::time_of_date;
use crate::api::new_api_key;
use api::frame::{Act, Answer, Facts, Fields, Frame, Objects, Part, SetsBuf, Verbs, View, What, ZonesBuf};
use api::tag::Condition;
use std::path::Path;
use wire::NameBuf;
use wire::iana::rtype;

const ALL_VERBS: &str =
    "[\"read\", \"change\", \"act\", \"make\", \"set\", \"drop\", \"explain\", \"server\", \"observe\"]";

/// Sessions of a page of an hour and twelve, keys, and their secrets.
struct Bed {
    sessions: Sessions,
    keys: Keys,
    secrets: Vec<String>,
    sections: Vec<String>,
    now: Now,
}

impl Bed {
    /// With so many keys, which may do all.
    fn new(count: usize) -> Bed {
        let made = (0..count).map(|number| new_api_key(&format!("k{number}")).unwrap());
        let (sections, secrets): (Vec<String>, Vec<String>) = made.unzip();
        let of = |section: &String| {
            let section = section.replace("zones = []", "zones = [\"*.x.\"]\nexpires = \"2027-06-01\"");
            section.replace("[\"read\"]", ALL_VERBS)
        };
        let sections: Vec<String> = sections.iter().map(of).collect();
        let text = "[api]\nlisten = [\"127.0.0.1:8081\"]\npage = true\npage-name = \"ns1\"\n";
        let sessions = Sessions::of(&Settings::parse(Path::new("f"), text).unwrap());
        let keys = keys(&sections, 1);
        Bed { sessions, keys, secrets, sections, now: Now { wall: 1, at: Instant::now() } }
    }

    /// Keys are those of these sections.
    fn change_keys(&mut self, sections: &[String]) {
        self.keys = keys(sections, self.keys.number + 1);
        self.sessions.look_at_keys(&self.keys, self.now.wall);
    }

    fn pass(&mut self, seconds: u64) {
        self.now.at += Duration::from_secs(seconds);
    }

    /// Signs in; the status of why not.
    fn sign_in(&self, who: Who<'_>, ending: Option<&Secret>) -> Result<Box<Secret>, u16> {
        self.try_sign_in(who, ending).map_err(|no| no.status)
    }

    fn try_sign_in(&self, who: Who<'_>, ending: Option<&Secret>) -> Result<Box<Secret>, No> {
        let asked = Asked::SignIn { ending: ending.map(Ending) };
        let ask = Ask { who, address: [127, 0, 0, 1].into(), asked };
        let key = whose(&self.keys, &self.sessions, &ask, self.now)?;
        judge(&self.keys, &key, &ask)?;
        self.sessions.sign_in(&self.keys, &ask, &key, self.now)
    }

    fn sign_in_by_key(&self, key: usize) -> Result<Box<Secret>, u16> {
        self.sign_in(Who::Key(self.secrets[key].as_bytes()), None)
    }

    fn code(&self) -> String {
        let (code, text) = Code::new(self.now.at).unwrap();
        self.sessions.take_code(code);
        text
    }

    /// The status of what a session asks.
    fn status(&self, secret: &Secret, asked: Asked<'_>) -> u16 {
        let who = Who::Session { secret, is_person: false };
        let ask = Ask { who, address: [127, 0, 0, 1].into(), asked };
        let judged =
            whose(&self.keys, &self.sessions, &ask, self.now).and_then(|key| judge(&self.keys, &key, &ask));
        judged.map_or_else(|no| no.status, |_| 200)
    }

    fn is_there(&self, secret: &Secret) -> bool {
        self.status(secret, Asked::Session) == 200
    }

    /// What is told of a session: who, verbs, seconds until it is idle and over.
    fn told(&self, secret: &Secret) -> (Option<String>, Verbs, Option<(u32, u32)>) {
        let who = Who::Session { secret, is_person: false };
        let key = self.sessions.whose(&self.keys, &who, self.now).unwrap();
        let frame = self.sessions.frame(7, (&self.keys, &key), (Some(secret), false), self.now.at).unwrap();
        let Answer::Piece(Piece::Sessions(run)) =
            Answer::of(&Frame::read(&frame).unwrap().unwrap().0).unwrap()
        else {
            panic!("another piece")
        };
        let told = run.iter().next().unwrap();
        assert_eq!((told.secret, told.server), (None, "ns1"));
        (told.who.map(str::to_owned), told.verbs, told.until.map(|until| (until.idle, until.left)))
    }
}

fn keys(sections: &[String], number: u64) -> Keys {
    let text = format!("[server]\npack-directory = \"p\"\n{}", sections.concat());
    Keys::of(&Settings::parse(Path::new("f"), &text).unwrap(), number)
}

#[test]
fn a_key_has_what_it_may_read() {
    let bed = Bed::new(1);
    let secret = bed.sign_in_by_key(0).unwrap();
    let reads = Verbs(Verbs::READ.0 | Verbs::EXPLAIN.0 | Verbs::OBSERVE.0 | Verbs::SERVER.0);
    assert_eq!(bed.told(&secret), (Some("k0".to_owned()), reads, Some((3_600, 43_200))));
    assert_eq!(bed.sign_in(Who::Key(b"wrong"), None), Err(401));
    let mut other = secret.clone();
    other[63] ^= 1;
    assert!(bed.is_there(&secret) && !bed.is_there(&other));
    assert_ne!(bed.sign_in_by_key(0).unwrap(), secret);
}

/// Whatever the process says: who has signed in changes nothing, though the key may.
#[test]
fn sessions_only_read() {
    let bed = Bed::new(1);
    let code = bed.code();
    for secret in [bed.sign_in_by_key(0).unwrap(), bed.sign_in(Who::Code(code.as_bytes()), None).unwrap()] {
        let zone: NameBuf = "a.x.".parse().unwrap();
        let (mut sets, mut zones) = (SetsBuf::default(), ZonesBuf::default());
        sets.begin(&zone, rtype::A, What::Delete, 0);
        sets.end();
        zones.push(&zone, Condition::None, &sets);
        let (repeat, condition, fields, sets) = (None, Condition::None, Fields::default(), sets.sets());
        for asked in [
            Asked::Change { repeat, is_dry: false, zones: zones.zones() },
            Asked::Change { repeat, is_dry: true, zones: zones.zones() },
            Asked::Explain(zones.zones()),
            Asked::Make { zone: &zone, repeat, fields, sets },
            Asked::Drop { zone: &zone, repeat, condition },
            Asked::Set { zone: &zone, repeat, condition, fields },
            Asked::Act { zone: &zone, act: Act::Notify },
            Asked::Act { zone: &zone, act: Act::Retrieve },
            Asked::SignIn { ending: None },
        ] {
            assert_eq!(bed.status(&secret, asked), 403, "{asked:?}");
        }
        for asked in [
            Asked::Who,
            Asked::List { name: None, account: None, stands: None, after: None, limit: 0 },
            Asked::Search { pattern: "*", objects: Objects::All, limit: 1 },
            Asked::Zone { zone: &zone, part: Part::All, with_dnssec: false },
            Asked::History { zone: &zone, undo: None },
            Asked::Facts(Facts::Numbers),
            Asked::View(View::Now { said: 1 }),
            Asked::View(View::Asked),
            Asked::View(View::Zone(&zone)),
            Asked::Session,
            Asked::SignOut,
        ] {
            assert_eq!(bed.status(&secret, asked), 200, "{asked:?}");
        }
        let other =
            Asked::Zone { zone: &"y.".parse::<NameBuf>().unwrap(), part: Part::All, with_dnssec: false };
        // Of codes all zones are there, the root too; of a key its own.
        assert_eq!(bed.status(&secret, other), if bed.told(&secret).0.is_none() { 200 } else { 404 });
    }
}

#[test]
fn a_code_is_good_once_and_not_for_long() {
    let mut bed = Bed::new(1);
    let (first, second) = (bed.code(), bed.code());
    let by = |bed: &Bed, code: &str| bed.sign_in(Who::Code(code.as_bytes()), None);
    let secret = by(&bed, &first).unwrap();
    let all = Verbs(Verbs::READ.0 | Verbs::EXPLAIN.0 | Verbs::OBSERVE.0 | Verbs::SERVER.0);
    assert_eq!(bed.told(&secret), (None, all, Some((3_600, 43_200))));
    assert_eq!([by(&bed, &first).err(), by(&bed, &first[1..]).err(), by(&bed, "").err()], [Some(401); 3]);
    // A code is for nothing but that, and no key.
    let ask = Ask { who: Who::Code(second.as_bytes()), address: [127, 0, 0, 1].into(), asked: Asked::Who };
    assert_eq!(whose(&bed.keys, &bed.sessions, &ask, bed.now).map(drop).map_err(|no| no.status), Err(401));
    assert_eq!(bed.sign_in(Who::Key(second.as_bytes()), None), Err(401));
    bed.pass(CODE_TIME.as_secs());
    assert_eq!(by(&bed, &second), Err(401));
    // Of too many the oldest is none any more.
    let codes: Vec<String> = (0..=CODES_MAX).map(|_| bed.code()).collect();
    assert_eq!(by(&bed, &codes[0]), Err(401));
    assert!(by(&bed, &codes[1]).is_ok() && by(&bed, &codes[CODES_MAX]).is_ok());
}

#[test]
fn it_ends_when_nobody_uses_it_and_in_any_case() {
    let mut bed = Bed::new(1);
    let secret = bed.sign_in_by_key(0).unwrap();
    let use_it = |bed: &Bed| {
        bed.sessions.whose(&bed.keys, &Who::Session { secret: &secret, is_person: true }, bed.now).is_some()
    };
    bed.pass(3_599);
    // What no person asks puts nothing off.
    assert_eq!(bed.told(&secret).2, Some((1, 39_601)));
    assert!(use_it(&bed));
    for _ in 0..11 {
        bed.pass(3_500);
        assert!(use_it(&bed));
    }
    assert_eq!(bed.told(&secret).2, Some((1_101, 1_101)));
    bed.pass(1_101);
    assert!(!use_it(&bed) && !bed.is_there(&secret));
    let secret = bed.sign_in_by_key(0).unwrap();
    bed.pass(3_600);
    assert!(!bed.is_there(&secret));
}

#[test]
fn it_goes_with_its_key() {
    let mut bed = Bed::new(2);
    let secrets = [0, 1].map(|key| bed.sign_in_by_key(key).unwrap());
    let of_code = bed.sign_in(Who::Code(bed.code().as_bytes()), None).unwrap();
    let there = |bed: &Bed| secrets.each_ref().map(|secret| bed.is_there(secret));
    // Keys are told anew, and are the same.
    let sections = bed.sections.clone();
    bed.change_keys(&sections);
    assert_eq!(there(&bed), [true, true]);
    // One is gone, and one may do something else.
    bed.change_keys(&sections[1..]);
    assert_eq!(there(&bed), [false, true]);
    // Nobody asks meanwhile: put back it is another's all the same.
    bed.change_keys(&[sections[1].replace("*.x.", "*.y.")]);
    bed.change_keys(&sections);
    assert_eq!(there(&bed), [false, false]);
    assert!(bed.is_there(&of_code));
    let secret = bed.sign_in_by_key(0).unwrap();
    bed.now.wall = time_of_date("2027-06-01").unwrap();
    assert!(!bed.is_there(&secret) && bed.is_there(&of_code));
}

#[test]
fn it_ends_with_another_one_and_when_somebody_goes() {
    let bed = Bed::new(2);
    let first = bed.sign_in_by_key(0).unwrap();
    let key = bed.secrets[1].as_bytes();
    // Not because of a key that is none.
    assert_eq!(bed.sign_in(Who::Key(b"wrong"), Some(&first)), Err(401));
    assert!(bed.is_there(&first));
    let second = bed.sign_in(Who::Key(key), Some(&first)).unwrap();
    assert_eq!([bed.is_there(&first), bed.is_there(&second)], [false, true]);
    bed.sessions.sign_out(&first);
    assert!(bed.is_there(&second));
    bed.sessions.sign_out(&second);
    assert!(!bed.is_there(&second));
    assert_eq!(bed.status(&second, Asked::SignOut), 401);
}

/// Who has most loses its oldest, and customers push no operator out.
#[test]
fn there_are_so_many() {
    let mut bed = Bed::new(10);
    let of_code = bed.sign_in(Who::Code(bed.code().as_bytes()), None).unwrap();
    let mut of_keys: Vec<Vec<Box<Secret>>> = Vec::new();
    for key in 0..8 {
        of_keys.push((0..SESSIONS_A_KEY).map(|_| bed.sign_in_by_key(key).unwrap()).collect());
    }
    assert!(of_keys.iter().flatten().all(|secret| bed.is_there(secret)));
    // All are taken: of those with as many, the oldest; then of these.
    let ninth = bed.sign_in_by_key(8).unwrap();
    let there = |bed: &Bed, key: usize| of_keys[key].iter().filter(|secret| bed.is_there(secret)).count();
    assert_eq!([there(&bed, 0), there(&bed, 1)], [7, 8]);
    assert!(!bed.is_there(&of_keys[0][0]) && bed.is_there(&ninth));
    let tenth = bed.sign_in_by_key(9).unwrap();
    assert_eq!([there(&bed, 0), there(&bed, 1)], [7, 7]);
    assert!(bed.is_there(&ninth) && bed.is_there(&tenth) && bed.is_there(&of_code));
    // Of one key its own.
    bed.pass(60);
    let more = bed.sign_in_by_key(7).unwrap();
    assert_eq!((there(&bed, 7), bed.is_there(&of_keys[7][0]), bed.is_there(&more)), (7, false, true));
    // And of codes.
    for number in 1..=SESSIONS_OF_CODES {
        assert!(bed.is_there(&of_code), "{number}");
        bed.sign_in(Who::Code(bed.code().as_bytes()), None).unwrap();
    }
    assert!(!bed.is_there(&of_code));
    assert_eq!(bed.sessions.0.borrow().signed_in.len(), SESSIONS_MAX + SESSIONS_OF_CODES);
}

#[test]
fn nobody_signs_in_all_the_time() {
    let mut bed = Bed::new(2);
    let codes: Vec<String> = (0..=SIGN_INS_A_MINUTE).map(|_| bed.code()).collect();
    for code in &codes[1..] {
        assert!(bed.sign_in_by_key(0).is_ok() && bed.sign_in(Who::Code(code.as_bytes()), None).is_ok());
        // Wrong ones are held against nobody.
        assert_eq!(bed.sign_in(Who::Key(b"wrong"), None), Err(401));
    }
    let by_code = |bed: &Bed| bed.sign_in(Who::Code(codes[0].as_bytes()), None);
    assert_eq!([bed.sign_in_by_key(0).err(), by_code(&bed).err()], [Some(429), Some(429)]);
    assert!(bed.sign_in_by_key(1).is_ok());
    // It is said for how long.
    bed.pass(15);
    let key = bed.secrets[0].clone();
    let no = bed.try_sign_in(Who::Key(key.as_bytes()), None).unwrap_err();
    assert!(no.retry_after.is_some_and(|seconds| (45..=46).contains(&seconds)), "{no:?}");
    bed.pass(45);
    // A code is not used up by that.
    assert!(bed.sign_in_by_key(0).is_ok() && by_code(&bed).is_ok());
}

#[test]
fn all_are_signed_out() {
    let bed = Bed::new(2);
    let code = bed.code();
    let by_key = bed.sign_in_by_key(0).unwrap();
    let by_code = bed.sign_in(Who::Code(bed.code().as_bytes()), None).unwrap();
    assert_eq!(bed.sessions.end_all(bed.now.at), 2);
    assert!(!bed.is_there(&by_key) && !bed.is_there(&by_code));
    // A code that nobody has given yet lets nobody in either; a key does.
    assert_eq!(bed.sign_in(Who::Code(code.as_bytes()), None), Err(401));
    assert!(bed.sign_in_by_key(1).is_ok());
    assert_eq!(bed.sessions.end_all(bed.now.at), 1);
}

#[test]
fn without_a_page_there_is_none() {
    let bed = Bed { sessions: Sessions::of(&Settings::default()), ..Bed::new(1) };
    assert_eq!([bed.sign_in_by_key(0), bed.sign_in(Who::Key(b"wrong"), None)], [Err(404), Err(401)]);
}

/// A session that asks without end is told to wait, and no other one with it; it goes on at the pace that it has.
#[test]
fn one_that_asks_without_end() {
    let mut bed = Bed::new(1);
    let [one, other] = [(); 2].map(|()| bed.sign_in_by_key(0).unwrap());
    let turn = |bed: &Bed, secret: &Secret| {
        let who = Who::Session { secret, is_person: true };
        bed.sessions.take_turn(&who, bed.now.at).map_err(|no| (no.status, no.retry_after))
    };
    let ahead = AHEAD.as_millis() / TURN.as_millis();
    assert!((0..ahead).all(|_| turn(&bed, &one).is_ok()));
    assert_eq!(turn(&bed, &one), Err((429, Some(1))));
    assert_eq!(turn(&bed, &other), Ok(()));
    bed.now.at += TURN;
    assert_eq!([turn(&bed, &one).is_ok(), turn(&bed, &one).is_ok()], [true, false]);
    // Of keys and codes there are other bounds, and who is nobody is told so.
    assert!((0..2 * ahead).all(|_| bed.sessions.take_turn(&Who::Key(b"x"), bed.now.at).is_ok()));
    bed.sessions.sign_out(&one);
    assert_eq!(turn(&bed, &one), Ok(()));
}

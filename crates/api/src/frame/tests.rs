use super::*;
use crate::tag::{Condition, Tag, Tags};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::{Name, NameBuf};

/// An ask as it lies in memory of its own.
#[derive(Clone, Debug)]
struct Given {
    key: Vec<u8>,
    secret: [u8; SESSION_OCTETS],
    who: u8,
    address: [u8; 16],
    choice: u8,
    names: [NameBuf; 2],
    texts: [String; 3],
    numbers: [u32; 2],
    flags: [bool; 4],
    condition: Condition,
    sets: Vec<GivenSet>,
}

/// Owner, type, what, TTL, RDATA.
type GivenSet = (NameBuf, u16, u8, u32, Vec<Vec<u8>>);

fn name() -> impl Strategy<Value = NameBuf> {
    vec("[a-zA-Z0-9*_]{1,20}", 0..4).prop_map(|labels| NameBuf::from_text(&labels.join(".")).unwrap())
}

fn condition() -> impl Strategy<Value = Condition> {
    let tags = vec(any::<(u32, u64)>(), 0..=crate::tag::TAGS_MAX).prop_map(|all| {
        let mut tags = Tags::default();
        all.iter().for_each(|(serial, mark)| assert!(tags.push(Tag { serial: *serial, mark: *mark })));
        Condition::OneOf(tags)
    });
    prop_oneof![Just(Condition::None), Just(Condition::Any), tags]
}

prop_compose! {
    fn given()(
        key in vec(any::<u8>(), 0..=KEY_OCTETS_MAX),
        secret in vec(any::<u8>(), SESSION_OCTETS).prop_map(|octets| octets.try_into().unwrap()),
        who in 0u8..4,
        address in any::<[u8; 16]>(),
        choice in 0u8..16,
        names in [name(), name()],
        texts in ["[!-~]{1,40}", "[ -~ü]{0,20}", "[ -~]{0,40}"],
        numbers in any::<[u32; 2]>(),
        flags in any::<[bool; 4]>(),
        condition in condition(),
        sets in vec((name(), any::<u16>(), 0u8..4, 0..=TTL_MAX, vec(vec(any::<u8>(), 0..30), 1..4)), 0..6),
    ) -> Given {
        Given { key, secret, who, address, choice, names, texts, numbers, flags, condition, sets }
    }
}

fn sets_of(given: &Given) -> SetsBuf {
    let mut sets = SetsBuf::default();
    for (owner, rtype, what, ttl, rdatas) in &given.sets {
        let what = [What::Replace, What::Delete, What::Extend, What::Prune][usize::from(*what)];
        sets.begin(owner, *rtype, what, *ttl);
        if what != What::Delete {
            rdatas.iter().for_each(|rdata| assert!(sets.record(rdata)));
        }
    }
    sets.end();
    sets
}

/// Calls `check` with the ask that was given.
fn with_ask(given: &Given, check: impl FnOnce(Ask<'_>)) {
    let sets = sets_of(given);
    let mut zones = ZonesBuf::default();
    given.names.iter().for_each(|name| zones.push(name, given.condition, &sets));
    let [zone, other]: [&Name; 2] = [&given.names[0], &given.names[1]];
    let [a, b, c, d] = given.flags;
    let [number, limit] = given.numbers;
    let repeat = a.then_some(given.texts[0].as_str());
    let (sets, zones) = (sets.sets(), zones.zones());
    let fields = Fields {
        kind: b.then_some(if c { Kind::Native } else { Kind::Master }),
        soa_edit_api: c.then_some(&*given.texts[0]),
        soa_edit: d.then_some(&*given.texts[1]),
        account: b.then_some(&*given.texts[2]),
        api_rectify: c.then_some(d),
        serial: d.then_some(number),
    };
    let asked = match given.choice {
        0 => Asked::Who,
        1 => Asked::List {
            name: a.then_some(zone),
            account: b.then_some(&*given.texts[2]),
            stands: d.then_some(Stands::ALL[usize::from(a) + usize::from(b)]),
            after: c.then_some(Cursor { start: u64::MAX - u64::from(number), slot: number.into() }),
            limit,
        },
        2 => Asked::Search {
            pattern: &given.texts[1],
            objects: [Objects::All, Objects::Zones, Objects::Records, Objects::Comments]
                [usize::from(a) + 2 * usize::from(b)],
            limit,
        },
        3 => Asked::Zone {
            zone,
            part: match (a, b) {
                (true, true) => Part::Page(c.then_some(other), number),
                (true, false) => Part::Owner(other, c.then_some(number as u16)),
                (false, true) => Part::Row,
                (false, false) => Part::All,
            },
            with_dnssec: d,
        },
        4 => Asked::History { zone, undo: a.then_some(number) },
        5 => Asked::Change { repeat, is_dry: b, zones },
        6 => Asked::Explain(zones),
        7 => Asked::Make { zone, repeat, fields, sets },
        8 => Asked::Drop { zone, repeat, condition: given.condition },
        9 => Asked::Set { zone, repeat, condition: given.condition, fields },
        10 => Asked::Act {
            zone,
            act: [Act::Notify, Act::Retrieve, Act::Rectify][usize::from(a) + usize::from(b)],
        },
        11 => Asked::Facts(if a { Facts::Numbers } else { Facts::Keys }),
        12 => Asked::SignIn { ending: a.then_some(Ending(&given.secret)) },
        13 => Asked::Session,
        14 => Asked::View(match number % 8 {
            0 => View::Now { said: u64::from(limit) << 20 },
            1 => View::Hour,
            2 => View::Asked,
            3 => View::Locks,
            4 => View::Journals,
            5 => View::Resolver(a.then_some(zone)),
            6 => View::Zone(zone),
            _ => View::Why { name: zone, rtype: limit as u16, is_tcp: b, dnssec_ok: c },
        }),
        _ => Asked::SignOut,
    };
    let address = std::net::Ipv6Addr::from(given.address);
    let address =
        if a { std::net::IpAddr::V6(address).to_canonical() } else { [192, 0, 2, limit as u8].into() };
    let who = match given.who {
        0 => Who::Key(&given.key),
        1 => Who::Code(&given.key),
        who => Who::Session { secret: &given.secret, is_person: who == 2 },
    };
    check(Ask { who, address, asked });
}

/// One that has all that runs of answers have.
fn answers(given: &Given) -> Vec<Vec<u8>> {
    fn run<'a, T: Item<'a>>(kind: u8, items: impl IntoIterator<Item = T>) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(Frame::write(&mut out, 7, kind, |out| items.into_iter().for_each(|item| item.write(out))));
        out
    }
    let sets = sets_of(given);
    let [zone, other]: [&Name; 2] = [&given.names[0], &given.names[1]];
    let [a, b, c, d] = given.flags;
    let [number, limit] = given.numbers;
    let [first, second, third] = [&*given.texts[0], &*given.texts[1], &*given.texts[2]];
    let tag = b.then_some(Tag { serial: number, mark: u64::from(limit) << 20 });
    let kind = [RowKind::Native, RowKind::Master, RowKind::Slave][usize::from(a) + usize::from(b)];
    let row = |name| Row {
        name,
        serial: number,
        notified: limit,
        kind,
        stands: Stands::ALL[usize::from(c) + usize::from(d)],
        is_signed: c,
        api_rectify: d,
        account: second,
        soa_edit_api: first,
        soa_edit: third,
        tag,
    };
    let outcome = |zone| Outcome {
        zone,
        is_done: a,
        status: 200 + (number % 400) as u16,
        before: number,
        after: limit,
        tag,
        words: second,
    };
    let verdicts =
        [Verdict::Grants, Verdict::Denies, Verdict::OtherSenders, Verdict::OtherNames, Verdict::OtherTypes];
    let verdict = verdicts[limit as usize % verdicts.len()];
    let (zone_of_rule, rule) = (3, limit as u16);
    let rule =
        Rule { zone: zone_of_rule, set: number, is_granted: a, is_of_zone: b, rule, verdict, words: third };
    let standing = |zone| Standing { zone, status: 200 + (limit % 400) as u16, words: third };
    let version = Version { before: number, after: limit, seconds: u64::MAX, octets: 7 };
    let done = Done {
        status: 204,
        retry_after: 5,
        is_cut: a,
        next: b.then_some(Cursor { start: 1, slot: number.into() }),
        words: third,
    };
    let session = |secret| Session {
        secret,
        verbs: Verbs(number as u16),
        who: b.then_some(first),
        server: second,
        until: c.then_some(Until { idle: number, left: limit }),
    };
    let mut end = Vec::new();
    assert!(Answer::Done(done).write(7, &mut end) && Answer::More.write(7, &mut end));
    vec![
        run(b'v', [Verbs(number as u16), Verbs::READ]),
        run(b'r', [row(zone), row(other)]),
        run(b'R', sets.sets().iter()),
        run(b'F', sets.sets().iter().map(|set| Detail { zone, set })),
        run(b'n', [Number { name: first, label: second, value: u64::MAX }]),
        run(b'k', [zone, other]),
        run(b'h', [version, version]),
        run(b'o', [outcome(zone), outcome(other)]),
        run(b'f', [Fault { zone: 1, set: FAULT_SETS_NONE, words: second }]),
        run(b'e', [standing(zone), standing(other)]),
        run(b'x', [rule, rule]),
        run(b's', [session(None), session(Some(&given.secret))]),
        run(b'j', [first.as_bytes(), second.as_bytes()]),
        run(b't', [first.as_bytes(), second.as_bytes()]),
        end,
    ]
}

fn check_ask(given: &Given, number: u32) {
    with_ask(given, |asked| {
        let mut octets = Vec::new();
        assert!(Said::Ask(asked).write(number, &mut octets));
        let (frame, length) = Frame::read(&octets).unwrap().unwrap();
        assert_eq!((frame.ask, length), (number, octets.len()));
        assert_eq!(Said::of(&frame), Ok(Said::Ask(asked)));
        // In parts it is not there yet.
        assert_eq!(Frame::read(&octets[..octets.len() - 1]), Ok(None));
    });
}

fn check_answers(given: &Given) {
    for octets in answers(given) {
        let mut at = 0;
        while let Some((frame, length)) = Frame::read(&octets[at..]).unwrap() {
            let answer = Answer::of(&frame).unwrap();
            let mut again = Vec::new();
            assert!(answer.write(7, &mut again));
            assert_eq!(again, &octets[at..at + length]);
            at += length;
        }
        assert_eq!(at, octets.len());
    }
}

type Changes = Vec<(prop::sample::Index, u8)>;

/// Nothing panics, whatever comes: of an ask and an answer, with octets changed.
fn check_changed(given: &Given, changes: &Changes) {
    let change = |octets: &[u8], choice: u8| {
        let mut data = [&[choice], octets].concat();
        changes.iter().for_each(|(at, octet)| {
            let at = 1 + at.index(data.len() - 1);
            data[at] = *octet;
        });
        crate::fuzz::fuzz_api(&data);
    };
    with_ask(given, |asked| {
        let mut octets = Vec::new();
        Said::Ask(asked).write(1, &mut octets);
        change(&octets, 0);
    });
    answers(given).iter().for_each(|octets| change(octets, 1));
}

fn changes() -> impl Strategy<Value = Changes> {
    vec(any::<(prop::sample::Index, u8)>(), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn asks_and_answers((given, number, changes) in (given(), any::<u32>(), changes())) {
        check_ask(&given, number);
        check_answers(&given);
        check_changed(&given, &changes);
    }

    #[test]
    fn any_octets(data in vec(any::<u8>(), 0..300), kind in any::<u8>()) {
        let mut octets = Vec::new();
        assert!(Frame::write(&mut octets, 1, kind, |out| out.extend_from_slice(&data)));
        crate::fuzz::fuzz_api(&[&[0], &octets[..]].concat());
        crate::fuzz::fuzz_api(&[&[1], &octets[..]].concat());
        let _ = Ask::read(&data);
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        #[ignore = "long: make test-long"]
        fn asks_and_answers((given, number, changes) in (given(), any::<u32>(), changes())) {
            check_ask(&given, number);
            check_answers(&given);
            check_changed(&given, &changes);
        }
    }

    /// They count over all zones.
    #[test]
    #[ignore = "long: make test-long"]
    fn bounds_of_sets() {
        let root = NameBuf::root();
        let mut half = SetsBuf::default();
        (0..RRSETS_MAX / 2).for_each(|_| half.begin(&root, 1, What::Delete, 0));
        half.end();
        let mut zones = ZonesBuf::default();
        (0..2).for_each(|_| zones.push(&root, Condition::None, &half));
        assert!(is_read(&zones));
        half.begin(&root, 1, What::Delete, 0);
        half.end();
        zones.push(&root, Condition::None, &half);
        assert!(!is_read(&zones));
    }
}

#[test]
fn records_one_by_one() {
    let (root, mut sets) = (NameBuf::root(), SetsBuf::default());
    sets.begin(&root, 16, What::Replace, 60);
    let rdatas: [&[u8]; 3] = [b"\x01a", b"", b"\x01b"];
    rdatas.iter().for_each(|rdata| assert!(sets.record(rdata)));
    sets.begin(&root, 1, What::Delete, 0);
    sets.end();
    let all: Vec<Set<'_>> = sets.sets().iter().flat_map(|set| set.one_by_one()).collect();
    let whats: Vec<What> = all.iter().map(|set| set.what).collect();
    assert_eq!(whats, [What::Replace, What::Extend, What::Extend]);
    assert!(all.iter().all(|set| (set.owner, set.rtype, set.ttl) == (&*root, 16, 60)));
    let told: Vec<Vec<&[u8]>> = all.iter().map(|set| set.rdatas.iter().collect()).collect();
    assert_eq!(told, rdatas.map(|rdata| vec![rdata]));
}

#[test]
fn what_the_child_says_besides() {
    let all = [
        Said::Long(REST_OCTETS_MAX + 1),
        Said::Part(b"octets"),
        Said::Credit(4),
        Said::Stop,
        Said::Unconfined,
    ];
    for said in all {
        let mut octets = Vec::new();
        assert!(said.write(9, &mut octets));
        let (frame, _) = Frame::read(&octets).unwrap().unwrap();
        assert_eq!(Said::of(&frame), Ok(said));
    }
    // Nothing that is read has memory of its own.
    fn borrows<T: Copy>(_: T) {}
    borrows(all);
    borrows(Answer::More);
}

#[test]
fn octets_that_are_none() {
    let frame = |kind: u8, rest: &[u8]| {
        let mut out = Vec::new();
        assert!(Frame::write(&mut out, 1, kind, |out| out.extend_from_slice(rest)));
        out
    };
    let said = |octets: &[u8]| Said::of(&Frame::read(octets).unwrap().unwrap().0).map(drop);
    let answer = |octets: &[u8]| Answer::of(&Frame::read(octets).unwrap().unwrap().0).map(drop);
    let head = [&b"\0\0"[..], &[0; 16]].concat();
    for (kind, rest) in [
        (b'?', &b""[..]),
        (b's', b"x"),
        (b'c', b""),
        (b'l', &[0, 0, 0, 9]),
        (b'l', &[0xff; 4]),
        (b'a', b""),
        (b'a', &[&b"w\0\x02k"[..], &[0; 16]].concat()),
        // Nobody who asks, half of a secret, and a session that is to end.
        (b'a', &[&b"w\x04"[..], &[0; 80]].concat()),
        (b'a', &[&b"w\x01"[..], &[0; 32 + 16]].concat()),
        (b'a', &[b"i", &head[..], b"\x01", &[0; 32]].concat()),
        (b'a', &[b"w", &head[..], b"?"].concat()),
        (b'a', &[b"a", &head[..], b"\0\x03"].concat()),
        (b'a', &[b"z", &head[..], b"\0\x00\x02"].concat()),
        // A pointer; a condition with more tags than there are; a key of repeats with a blank.
        (b'a', &[b"h", &head[..], b"\xc0\x0c\0"].concat()),
        (b'a', &[b"d", &head[..], b"\0\0\x02\x05"].concat()),
        (b'a', &[b"d", &head[..], b"\0\x01 \0"].concat()),
        // Fields that nobody knows.
        (b'a', &[b"f", &head[..], b"\0\0\0\x40"].concat()),
        // A set without records that has none to lose, and one that loses all and has some.
        (b'a', &[b"m", &head[..], b"\0\0\0", b"\0\0\x01\0\0\0\0\0\0\0"].concat()),
        (b'a', &[b"m", &head[..], b"\0\0\0", b"\0\0\x01\x01\0\0\0\0\0\x01\0\0"].concat()),
        (b'a', &[b"m", &head[..], b"\0\0\0", b"\0\0\x01\0\x80\0\0\0\0\x01\0\0"].concat()),
    ] {
        assert_eq!(said(&frame(kind, rest)), Err(NoFrame), "{} {rest:?}", char::from(kind));
    }
    for (kind, rest) in [
        (b'm', &b"x"[..]),
        (b'd', b"\0\x01\0\0\0\0\0\0"),
        (b'v', b"\0"),
        (b'o', b"\0\x04"),
        (b'e', b"\0\0\xc7\0\0"),
    ] {
        assert_eq!(answer(&frame(kind, rest)), Err(NoFrame), "{} {rest:?}", char::from(kind));
    }
    // One that is too long is known by its first octets.
    assert_eq!(Frame::read(&(REST_OCTETS_MAX as u32 + 1).to_be_bytes()), Err(NoFrame));
    assert_eq!(Frame::read(&(REST_OCTETS_MAX as u32).to_be_bytes()), Ok(None));
}

#[test]
fn long_asks_come_in_parts() {
    let zone = NameBuf::from_text("example.").unwrap();
    let mut sets = SetsBuf::default();
    for number in 0..100u16 {
        sets.begin(&zone, number, What::Replace, 60);
        assert!(sets.record(&[7; 2_000]));
    }
    sets.end();
    let asked = Asked::Make { zone: &zone, repeat: None, fields: Fields::default(), sets: sets.sets() };
    let asked = Ask { who: Who::Key(b"key"), address: [192, 0, 2, 1].into(), asked };
    let asking = Asking::of(5, &asked).unwrap();
    let mut first = Vec::new();
    asking.begin(&mut first);
    let (frame, length) = Frame::read(&first).unwrap().unwrap();
    let Ok(Said::Long(octets_told)) = Said::of(&frame) else { panic!("{frame:?}") };
    assert_eq!((frame.ask, length), (5, first.len()));
    let (mut octets, mut count) = (Vec::new(), 0);
    for part in asking.parts() {
        let mut out = Vec::new();
        assert!(part.write(5, &mut out));
        let (frame, _) = Frame::read(&out).unwrap().unwrap();
        let Ok(Said::Part(part)) = Said::of(&frame) else { panic!("{frame:?}") };
        octets.extend_from_slice(part);
        count += 1;
    }
    assert_eq!((octets.len(), count), (octets_told, 4));
    assert_eq!(Ask::read(&octets), Ok(asked));
    // A short one is one frame.
    let short = Ask { asked: Asked::Who, ..asked };
    let (asking, mut out) = (Asking::of(6, &short).unwrap(), Vec::new());
    asking.begin(&mut out);
    assert_eq!(Said::of(&Frame::read(&out).unwrap().unwrap().0), Ok(Said::Ask(short)));
    assert_eq!(asking.parts().count(), 0);
    assert!(is_repeat("a-Z~") && is_repeat(&"x".repeat(REPEAT_OCTETS_MAX)));
    assert!(!is_repeat("") && !is_repeat("a b") && !is_repeat("ü") && !is_repeat(&"x".repeat(65)));
}

/// What the other side would read otherwise, or would end the child for, is not asked.
#[test]
fn what_cannot_be_asked() {
    let zone = NameBuf::root();
    let can = |key: &[u8], repeat: Option<&str>| {
        let asked = Asked::Drop { zone: &zone, repeat, condition: Condition::None };
        Asking::of(1, &Ask { who: Who::Key(key), address: [192, 0, 2, 1].into(), asked }).is_some()
    };
    let text = "x".repeat(KEY_OCTETS_MAX + 1);
    let (key, repeat) = (&text.as_bytes()[1..], &text[..REPEAT_OCTETS_MAX]);
    assert!(can(key, Some(repeat)) && can(b"", None));
    assert!(!can(text.as_bytes(), None) && !can(key, Some(&text[..REPEAT_OCTETS_MAX + 1])));
    assert!(!can(key, Some("")) && !can(key, Some("a b")) && !can(key, Some("ü")));
}

/// Keys are in no log, whoever writes what it has into one.
#[test]
fn keys_are_not_told() {
    let key = b"zonda_secret";
    let mut secret = [7; SESSION_OCTETS];
    secret[..key.len()].copy_from_slice(key);
    let as_numbers = format!("{key:?}");
    let is_told = |told: &str| told.contains("secret") || told.contains(as_numbers.trim_matches(['[', ']']));
    let session = Who::Session { secret: &secret, is_person: true };
    for who in [Who::Key(key), Who::Code(key), session] {
        for asked in [Asked::Who, Asked::SignIn { ending: Some(Ending(&secret)) }] {
            let ask = Ask { who, address: [192, 0, 2, 1].into(), asked };
            let asking = Asking::of(1, &ask).unwrap();
            let mut octets = Vec::new();
            asking.begin(&mut octets);
            let (frame, _) = Frame::read(&octets).unwrap().unwrap();
            let said = (Said::of(&frame), Said::Part(&octets));
            let told = format!("{ask:?} {asking:?} {frame:?} {said:?}");
            assert!(!is_told(&told) && told.contains("192.0.2.1"), "{told}");
        }
    }
    let until = Some(Until { idle: 1, left: 2 });
    let told = Session { secret: Some(&secret), verbs: Verbs::READ, who: None, server: "ns1", until };
    let mut octets = Vec::new();
    told.write(&mut octets);
    let piece = Piece::Sessions(Run::read(&octets).unwrap());
    let printed = format!("{told:?} {:?}", Answer::Piece(piece));
    assert!(!is_told(&printed) && printed.contains("ns1"), "{printed}");
}

fn is_read(zones: &ZonesBuf) -> bool {
    let mut octets = Vec::new();
    let asked = Asked::Explain(zones.zones());
    Ask { who: Who::Key(b""), address: [0; 4].into(), asked }.write(&mut octets);
    Ask::read(&octets).is_ok()
}

#[test]
fn bounds_of_zones() {
    let (mut zones, none) = (ZonesBuf::default(), SetsBuf::default());
    (0..ZONES_MAX).for_each(|_| zones.push(Name::root(), Condition::None, &none));
    assert!(is_read(&zones));
    zones.push(Name::root(), Condition::None, &none);
    assert!(!is_read(&zones));
}

#[test]
fn the_largest_record_fits() {
    let name = NameBuf::from_text(&"a.".repeat(127)).unwrap();
    let mut sets = SetsBuf::default();
    sets.begin(&name, 10, What::Replace, 1);
    assert!(sets.record(&[1; 65_535]));
    sets.end();
    let set = sets.sets().iter().next().unwrap();
    let mut octets = Vec::new();
    Detail { zone: &name, set }.write(&mut octets);
    let frame = Frame { ask: 1, kind: b'F', rest: &octets };
    let answer = Answer::of(&frame).unwrap();
    let mut out = Vec::new();
    assert!(answer.write(1, &mut out) && Frame::read(&out).unwrap().is_some());
}

/// Whoever prints frames prints no key.
#[test]
fn what_is_shown_is_not_printed() {
    let mut octets = Vec::new();
    [&b"secret"[..], b"certificate"].iter().for_each(|part| part.write(&mut octets));
    let answer = Answer::Shown(Shown(Run::read(&octets).unwrap()));
    assert_eq!(format!("{answer:?}"), "Shown(Shown(21 octets))");
    let mut out = Vec::new();
    assert!(answer.write(0, &mut out));
    let (frame, _) = Frame::read(&out).unwrap().unwrap();
    assert_eq!(Answer::of(&frame), Ok(answer));
    assert!(!format!("{frame:?}").contains("secret"));
}

#[test]
fn sets_are_put_together() {
    let owner = NameBuf::from_text("www.example.").unwrap();
    let mut sets = SetsBuf::default();
    assert!(!sets.record(b"x"));
    sets.begin(&owner, 1, What::Replace, u32::MAX);
    assert!(sets.record(&[192, 0, 2, 1]) && sets.records() == 1);
    // One that is not whole is not there.
    assert_eq!((sets.count(), sets.sets().is_empty()), (0, true));
    sets.begin(&owner, 28, What::Replace, 0);
    sets.give_up();
    // One that needs records and has none is no set, and takes no other with it.
    sets.begin(&owner, 28, What::Replace, 0);
    sets.end();
    assert_eq!((sets.count(), sets.records()), (1, 0));
    let [set] = sets.sets().iter().collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!((set.owner, set.rtype, set.what, set.ttl), (&*owner, 1, What::Replace, TTL_MAX));
    let mut deleted = SetsBuf::default();
    deleted.begin(&owner, 1, What::Delete, 0);
    assert!(!deleted.record(&[192, 0, 2, 1]));
    deleted.end();
    assert_eq!(deleted.sets().iter().count(), 1);
    sets.begin(&owner, 16, What::Extend, 0);
    (0..RECORDS_MAX).for_each(|_| assert!(sets.record(b"")));
    assert!(!sets.record(b""));
    assert_eq!(sets.octets(), 2 * (13 + 9) + 6 + 2 * RECORDS_MAX);
}

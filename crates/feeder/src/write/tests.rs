use feed::frame::{Mark, Version};

use super::*;

fn name(number: usize) -> NameBuf {
    NameBuf::from_text(&format!("z{number}.test")).unwrap()
}

/// Some that were said, each of a zone of its own.
fn said(count: usize) -> Writes {
    let mut writes = Writes::default();
    for number in 0..count {
        let over = Version { serial: 7, mark: Mark([3; 16]) };
        let write = frame::Write {
            number: number as u32,
            zone: name(number),
            over,
            once: None,
            until: 5,
            who: "me".into(),
        };
        assert_eq!(writes.take(Frame::Write(write)), None);
        assert_eq!(writes.take(Frame::Coming(record(number))), None);
        assert_eq!(writes.take(Frame::Beat), Some(Frame::Beat));
        assert_eq!(writes.take(Frame::Commit), None);
    }
    writes
}

fn record(number: usize) -> Vec<u8> {
    let mut records = Records::default();
    records.push(&name(number), 1, 60, &[192, 0, 2, 1]);
    records.octets().to_vec()
}

fn made(write: &Write) -> Wrote {
    let zone = write.zone.to_string();
    let version = store::Version {
        id: 1,
        zone,
        serial: 8,
        mark: "0".repeat(32),
        kind: store::Kind::Change,
        rows: 3,
        at: 0,
        who: None,
        why: None,
    };
    Wrote::Made(version)
}

fn written(number: usize) -> Frame {
    Frame::Written(Written { zone: name(number), number: number as u32, before: 7, after: 8 })
}

#[test]
fn all_that_wait_are_one_transaction() {
    let mut writes = said(TOGETHER_MAX + 2);
    let came = writes.turn(5, |writes| {
        assert_eq!(writes.len(), TOGETHER_MAX);
        assert_eq!((writes[3].over.clone(), writes[3].added.octets()), ((7, "03".repeat(16)), &*record(3)));
        Ok(writes.iter().map(made).collect())
    });
    assert_eq!((came.frames.len(), came.changed.len()), (TOGETHER_MAX, TOGETHER_MAX));
    assert!(came.frames[3] == written(3) && came.changed[3] == name(3) && came.fault.is_none());
    let came = writes.turn(5, |writes| Ok(writes.iter().map(|_| Wrote::Moved).collect()));
    let moved =
        |number: usize| Frame::Unwritten(name(number), number as u32, Unwritten::Moved, String::new());
    assert_eq!(came.frames, [moved(TOGETHER_MAX), moved(TOGETHER_MAX + 1)]);
    assert!(!writes.are_due());
}

#[test]
fn what_is_at_fault_holds_up_no_other() {
    let mut writes = said(4);
    let refused = |zone: usize| Fault::Refused { zone: name(zone).to_string(), words: "a rule".into() };
    assert!(writes.turn(5, |_| Err(refused(2).into())).frames.is_empty());
    let mut frames = Vec::new();
    while writes.are_due() {
        let came = writes.turn(5, |some| match some {
            [one] if one.zone == name(2) => Err(refused(2).into()),
            [one] => Ok(vec![made(one)]),
            more => panic!("{}", more.len()),
        });
        assert!(came.fault.is_none());
        frames.extend(came.frames);
    }
    let refused = Frame::Unwritten(name(2), 2, Unwritten::Refused, "a rule".into());
    assert_eq!(frames, [written(0), written(1), refused, written(3)]);
    // And then together again.
    let mut writes = said(2);
    assert_eq!(writes.turn(5, |some| Ok(some.iter().map(made).collect())).frames.len(), 2);
}

/// What is so of all of them is said of each at once; where nobody knows, that.
#[test]
fn a_database_that_does_not_take_them() {
    let away = || Fault::Away("gone".into());
    for (why, kind, is_over) in [
        (NotCommitted::Nothing(Fault::Busy), Unwritten::NotNow, false),
        (NotCommitted::Nothing(Fault::ReadOnly), Unwritten::Denied, false),
        (NotCommitted::Nothing(away()), Unwritten::NotNow, true),
        (NotCommitted::Unknown(away()), Unwritten::Unknown, true),
        (NotCommitted::Unknown(Fault::Full), Unwritten::Unknown, true),
    ] {
        let mut writes = said(3);
        let came = writes.turn(5, |_| Err(why));
        let is_it = |frame: &Frame| matches!(frame, Frame::Unwritten(_, _, own, words) if *own == kind && !words.is_empty());
        assert!(came.frames.len() == 3 && came.frames.iter().all(is_it), "{:?}", came.frames);
        assert_eq!(came.fault.is_some(), is_over);
    }
    let mut writes = said(2);
    assert_eq!(writes.decline().len(), 2);
    assert!(!writes.are_due());
}

/// Who was told that nothing came of it is not to have it done afterwards.
#[test]
fn what_has_waited_for_long_is_not_begun() {
    let mut writes = said(2);
    let came = writes.turn(6, |_| panic!("it is begun"));
    let is_it = |frame: &Frame| matches!(frame, Frame::Unwritten(_, _, Unwritten::NotNow, _));
    assert!(came.frames.len() == 2 && came.frames.iter().all(is_it) && !writes.are_due());
}

use std::time::Duration;

use store::source::{Moment, Next, Pauses, Raise};
use store::sqlite::snapshot::Head;
use store::{Kind, NotCommitted, Version, Write, Wrote};
use wire::NameBuf;

use super::*;
use crate::line::Line;

/// A source that notes what it is asked.
#[derive(Default)]
struct Noted {
    raised: Vec<Vec<Raise>>,
    /// Zones that somebody holds.
    held: Vec<NameBuf>,
    prepared: Vec<Vec<Next>>,
    /// What is wrong when records are asked for, one time after the other; the last comes first.
    faults: Vec<Fault>,
    /// Whether the zones are gone.
    is_gone: bool,
    /// Whether what is prepared is at hand then.
    has: bool,
}

impl Source for Noted {
    fn identity(&self) -> &str {
        "00112233445566778899aabbccddeeff"
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn pauses(&self) -> Pauses {
        (Duration::ZERO, Duration::ZERO)
    }

    fn is_another(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    fn look(&mut self, _at: u64) -> Result<Look, Fault> {
        Ok(Look { found: Found::Nothing, unfit: None, waits: None })
    }

    fn list(&mut self, each: &mut dyn FnMut(&Head<'_>)) -> Result<(), Fault> {
        for number in 0..3_000 {
            let zone = format!("z{number:04}.test.");
            each(&Head { zone: &zone, serial: 1, mark: self.identity(), is_removed: false });
        }
        Ok(())
    }

    fn moment(&mut self) -> Result<Box<dyn Moment + '_>, Fault> {
        Ok(Box::new(self))
    }

    fn raise(&mut self, raises: &[Raise], _at: u64) -> Result<(), Fault> {
        self.raised.push(raises.to_vec());
        match raises.iter().find(|(zone, _)| self.held.contains(zone)) {
            Some(_) => Err(Fault::Postgres { code: "55P03".into(), words: "a lock".into() }),
            None => Ok(()),
        }
    }

    fn write(&mut self, _writes: &[Write], _at: u64) -> Result<Vec<Wrote>, NotCommitted> {
        Err(Fault::ReadOnly.into())
    }
}

impl Moment for &mut Noted {
    fn prepare(&mut self, next: &[Next]) -> Result<(), Fault> {
        self.prepared.push(next.to_vec());
        Ok(())
    }

    fn has(&self, _zone: &str) -> bool {
        self.has
    }

    fn newest(&mut self, zone: &str) -> Result<Option<Version>, Fault> {
        assert!(
            self.prepared.last().unwrap().iter().any(|next| next.zone == zone),
            "said before it is asked"
        );
        if self.is_gone {
            return Ok(None);
        }
        let (zone, mark) = (zone.to_owned(), self.identity().to_owned());
        Ok(Some(Version {
            id: 1,
            zone,
            serial: 1,
            mark,
            kind: Kind::Whole,
            rows: 0,
            at: 0,
            who: None,
            why: None,
        }))
    }

    fn since(&mut self, _zone: &str, _mark: &str) -> Result<Option<Vec<Version>>, Fault> {
        Ok(None)
    }

    fn is_pending(&mut self, _zone: &str) -> Result<bool, Fault> {
        Ok(false)
    }

    fn changed(&mut self, _: &Version, _: store::source::EachChange<'_>) -> Result<u64, Fault> {
        Ok(0)
    }

    fn records(
        &mut self,
        zone: &str,
        begin: store::source::BeginWhole<'_>,
        each: store::source::Each<'_>,
    ) -> Result<(), Fault> {
        if let Some(fault) = self.faults.pop() {
            return Err(fault);
        }
        // One that came since it was asked which is the newest.
        let newest = Version { serial: 5, ..self.newest(zone)?.unwrap() };
        assert!(begin(&newest).is_continue());
        let records =
            zonefile::records("@ 60 SOA ns host 1 3600 600 86400 60\n", &zone.parse::<NameBuf>().unwrap());
        assert!(each(&records.unwrap()[0]).is_continue());
        Ok(())
    }
}

fn feeder() -> (Feeder, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Feeder::new(ours).unwrap(), theirs)
}

/// Serials that wait to be raised are one question, whatever else was said in between.
#[test]
fn what_waits_is_raised_together() {
    let (mut feeder, server) = feeder();
    let zone = |text: &str| text.parse::<NameBuf>().unwrap();
    let raises = [(zone("a.test"), 7), (zone("b.test"), 8), (zone("c.test"), 9)];
    for (zone, above) in &raises {
        say(&server, &[Frame::Raise(zone.clone(), *above), Frame::Again]).unwrap();
    }
    let mut source = Noted { held: vec![zone("a.test")], ..Noted::default() };
    let mut follow = Follow::new(Allowed::default());
    feeder.hear(Duration::ZERO, &mut source, &mut follow).unwrap();
    // One that somebody holds by itself, then.
    assert_eq!(source.raised, [&raises[..], &raises[..1], &raises[1..]].map(<[Raise]>::to_vec));
    let mut heard = Reader::new(server.try_clone().unwrap());
    let said = heard.next(Duration::from_secs(10)).unwrap();
    assert!(
        matches!(said, Some(Frame::Unfit(own, why)) if own == zone("a.test") && why.contains("holds it"))
    );
    // The others are looked at once more.
    assert!(follow.is_busy());
    // Until it is free it is not said again that it went back, nor that it is held.
    follow.hold(zone("a.test"), Some(feed::frame::Version { serial: 7, mark: feed::frame::Mark([7; 16]) }));
    follow.changed(&["a.test.".to_owned()]);
    let mut is_said = false;
    let mut say = |frame: Frame| {
        is_said |= matches!(frame, Frame::Back(..) | Frame::Unfit(..));
        Ok(())
    };
    follow.push(&mut source, &mut say).unwrap();
    assert!(!is_said && !follow.is_busy());
    source.held.clear();
    std::thread::sleep(Duration::from_secs(1));
    feeder.hear(Duration::ZERO, &mut source, &mut follow).unwrap();
    assert!(follow.is_busy() && heard.next(Duration::ZERO).unwrap().is_none());
}

/// While a statement is at work what the server says is taken, so that it waits for nobody, and is there afterwards; it hears that somebody is there.
#[test]
fn a_statement_that_takes_long() {
    let (feeder, server) = feeder();
    let mut beat = beat_of(feeder.stream.try_clone().unwrap(), Arc::clone(&feeder.reader));
    let zone: NameBuf = "a.test".parse().unwrap();
    // More than a pair has room for.
    let frames: Vec<Frame> = (0..50_000).map(|above| Frame::Raise(zone.clone(), above)).collect();
    let (said, saying) = (frames.clone(), server.try_clone().unwrap());
    let thread = std::thread::spawn(move || say(&saying, &said).unwrap());
    let began = Instant::now();
    while began.elapsed() < BEAT + Duration::from_secs(2) {
        assert!(beat());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(thread.is_finished(), "the server waits");
    assert_eq!(Reader::new(server).next(Duration::ZERO).unwrap(), Some(Frame::Beat));
    for frame in frames {
        assert_eq!(feeder.next(Duration::ZERO).unwrap(), Some(frame));
    }
}

/// Which pushes have begun, and how often that was to be on its way.
#[derive(Default)]
struct Said {
    begun: Vec<NameBuf>,
    ends: usize,
}

impl Line for Said {
    fn say(&mut self, frame: Frame) -> io::Result<()> {
        if let Frame::Begin { zone, .. } = frame {
            self.begun.push(zone);
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.ends += 1;
        Ok(())
    }
}

/// A source hears of zones before they are asked for, some hundreds at a time, with the marks that are held.
#[test]
fn what_is_asked_next_is_said() {
    let (mut source, mut follow) = (Noted::default(), Follow::new(Allowed::default()));
    let mark = feed::frame::Mark([7; 16]);
    follow.hold("z0001.test".parse().unwrap(), Some(feed::frame::Version { serial: 0, mark }));
    follow.list(&mut source).unwrap();
    let mut said = Said::default();
    follow.push(&mut source, &mut said).unwrap();
    assert_eq!((said.begun.len(), source.prepared.len()), (1_024, 4), "as many as may be on their way");
    let held: Vec<&Next> = source.prepared.iter().flatten().filter(|next| next.held.is_some()).collect();
    assert_eq!(held, [&Next { zone: "z0001.test.".into(), held: Some(mark.to_string()) }]);
    // What an answer makes room for is not asked by itself, but together with what the next answers make room for.
    let mut answers = said.begun.iter().map(|zone| Frame::Refused(zone.clone()));
    answers.by_ref().take(255).for_each(|answer| follow.answer(answer));
    assert!(!follow.is_busy());
    answers.by_ref().take(1).for_each(|answer| follow.answer(answer));
    assert!(follow.is_busy());
    source.prepared.clear();
    follow.push(&mut source, &mut Said::default()).unwrap();
    assert_eq!(source.prepared.iter().map(Vec::len).collect::<Vec<_>>(), [256]);
}

/// What was read together is said together; what others wait behind is not kept back while the next is read.
#[test]
fn what_waits_for_no_statement_is_said_together() {
    for has in [true, false] {
        let (mut source, mut follow) = (Noted { has, ..Noted::default() }, Follow::new(Allowed::default()));
        follow.list(&mut source).unwrap();
        let mut said = Said::default();
        follow.push(&mut source, &mut said).unwrap();
        // Before each question for many, before each zone that is read by itself, and at the end.
        let alone = if has { 0 } else { 1_024 };
        assert_eq!((said.begun.len(), said.ends), (1_024, 4 + alone + 1));
    }
}

/// What is pushed of a zone, in letters.
fn pushed(source: &mut Noted, follow: &mut Follow) -> String {
    follow.changed(&["a.test.".to_owned()]);
    let mut said = String::new();
    follow
        .push(source, &mut |frame: Frame| {
            said.push(match frame {
                Frame::Begin { to, .. } => {
                    assert_eq!(to.serial, 5, "what was read");
                    'b'
                }
                Frame::Message(_) => 'm',
                Frame::Broken => 'x',
                Frame::End => 'e',
                Frame::Unfit(_, words) if words.is_empty() => 'f',
                Frame::Unfit(..) => 'u',
                Frame::Looked => 'l',
                other => panic!("{other:?}"),
            });
            Ok(())
        })
        .unwrap();
    said
}

/// A zone that is gone by the time that its records are read is looked at once more, and nothing is wrong with it.
#[test]
fn what_moved_meanwhile_is_looked_at_again() {
    let moved = || Fault::Moved { zone: "a.test.".into(), serial: None, who: None };
    let mut source = Noted { faults: vec![moved(), moved()], ..Noted::default() };
    assert_eq!(pushed(&mut source, &mut Follow::new(Allowed::default())), "bmel");
}

/// Of a zone that could not be pushed and then is gone nothing is wrong any more.
#[test]
fn what_is_gone_is_no_longer_unfit() {
    let mut source = Noted { faults: vec![Fault::NoSoa("a.test.".into())], ..Noted::default() };
    let mut follow = Follow::new(Allowed::default());
    assert_eq!(pushed(&mut source, &mut follow), "ul");
    source.is_gone = true;
    assert_eq!(pushed(&mut source, &mut follow), "fl");
    assert_eq!(pushed(&mut source, &mut follow), "l");
}

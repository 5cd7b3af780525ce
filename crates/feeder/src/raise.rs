//! Versions above what a server had, of many zones at once; what cannot be raised, or is held by somebody, holds up no other.
//!
//! ```text
//! asked -> group, raised together: all of it or none -> raised
//!            ^  ^ '-- a zone of it cannot be, or is held: halves, and so on, until that zone is alone -> never, for this reason
//!            |  '-------- when its time has come ------ waits 1, 2, 4 ... 60 s <--- held -------------'
//! ```

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use store::Fault;
use store::source::Raise;
use wire::NameBuf;

/// Zones that are raised together: one flush for so many, and few enough that a statement over them has its time.
const TOGETHER_MAX: usize = 1_024;
/// How long it is tried at a time, about: who holds zones is waited for a moment each, and meanwhile nothing else of the store is looked at. Between two such times it is left alone for as long.
const TURN: Duration = Duration::from_secs(1);
/// Zones that somebody held and that are tried again at a time: as many as a turn has time to wait for.
const AGAIN_MAX: usize = 8;
/// What PostgreSQL says that is so of all zones: nothing may be written there, or not by this role.
const OF_ALL: [&str; 2] = ["25006", "42501"];
/// Before a zone is tried again that somebody held: twice as long each time. Transactions of people last minutes, those of programs less than the first of these.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// See the module.
#[derive(Default)]
pub(crate) struct Raises {
    due: VecDeque<Vec<Raise>>,
    /// Zones that somebody held, until they are raised or cannot be. There are no more than the server has.
    held: HashMap<NameBuf, Held>,
    /// Nothing is tried before.
    rests_until: Option<Instant>,
}

/// A zone that somebody held.
struct Held {
    above: u32,
    pause: Duration,
    /// When it is tried again; `None`: that is under way.
    next: Option<Instant>,
}

/// What came of a zone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// It has such a version.
    Raised,
    /// Somebody holds it; said once, however often it is tried again.
    Held(String),
    /// It has none, and is not tried again.
    Never(String),
}

impl Raises {
    /// Has a zone be given a version above a serial. One that is held is tried when its time has come.
    pub(crate) fn ask(&mut self, zone: NameBuf, above: u32) {
        match (self.held.get_mut(&zone), self.due.back_mut()) {
            (Some(held), _) => held.above = above,
            (None, Some(last)) if last.len() < TOGETHER_MAX => last.push((zone, above)),
            (None, _) => self.due.push_back(vec![(zone, above)]),
        }
    }

    /// Whether there is anything to try but what waits.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether a zone waits for who holds it.
    pub(crate) fn is_held(&self, zone: &NameBuf) -> bool {
        self.held.contains_key(zone)
    }

    /// A zone needs no other version any more.
    pub(crate) fn forget(&mut self, zone: &NameBuf) {
        self.held.remove(zone);
        self.due.iter_mut().for_each(|group| group.retain(|(due, _)| due != zone));
        self.due.retain(|group| !group.is_empty());
    }

    /// Tries what is due, for some time. The error: the database is away, and all of this is said anew.
    pub(crate) fn turn(
        &mut self,
        now: impl Fn() -> Instant,
        mut raise: impl FnMut(&[Raise]) -> Result<(), Fault>,
    ) -> Result<Vec<(NameBuf, Came)>, Fault> {
        let began = now();
        let mut came = Vec::new();
        if self.rests_until.is_some_and(|until| began < until) {
            return Ok(came);
        }
        self.take_up(began);
        while let Some(group) = self.due.pop_front() {
            match raise(&group) {
                Ok(()) => came.extend(group.into_iter().map(|(zone, _)| {
                    self.held.remove(&zone);
                    (zone, Came::Raised)
                })),
                Err(fault @ Fault::Away(_)) => return Err(fault),
                Err(fault) if group.len() > 1 && is_of_some(&fault) => self.halve(group),
                Err(fault) if is_held(&fault) => self.put_off(group, &fault, now(), &mut came),
                Err(fault) => came.extend(group.into_iter().map(|(zone, _)| {
                    self.held.remove(&zone);
                    (zone, Came::Never(words(&fault)))
                })),
            }
            let took = now() - began;
            if took >= TURN {
                self.rests_until = Some(now() + took);
                break;
            }
        }
        Ok(came)
    }

    /// Has some zones be tried again whose time has come, each by itself: whoever holds one often holds it still, and is to keep no free one from its version.
    fn take_up(&mut self, now: Instant) {
        let is_due = |(_, held): &(&NameBuf, &mut Held)| held.next.is_some_and(|next| next <= now);
        for (zone, held) in self.held.iter_mut().filter(is_due).take(AGAIN_MAX) {
            held.next = None;
            self.due.push_back(vec![(zone.clone(), held.above)]);
        }
    }

    fn halve(&mut self, mut group: Vec<Raise>) {
        let second = group.split_off(group.len() / 2);
        // Behind the others: many that are held in one group are to keep no other group waiting.
        self.due.push_back(group);
        self.due.push_back(second);
    }

    fn put_off(&mut self, group: Vec<Raise>, fault: &Fault, now: Instant, came: &mut Vec<(NameBuf, Came)>) {
        for (zone, above) in group {
            let before = self.held.get(&zone).map(|held| held.pause);
            let pause = before.map_or(PAUSES.0, |pause| (2 * pause).min(PAUSES.1));
            self.held.insert(zone.clone(), Held { above, pause, next: Some(now + pause) });
            if before.is_none() {
                let why = format!(
                    "it is to have a serial above {above}, and somebody holds it: tried again by itself ({})",
                    words(fault)
                );
                came.push((zone, Came::Held(why)));
            }
        }
    }
}

/// Whether what is wrong may be so of some zones alone.
fn is_of_some(fault: &Fault) -> bool {
    match fault {
        Fault::Postgres { code, .. } => !OF_ALL.contains(&&**code),
        fault => fault.is_of_zone() || fault.is_held() && !matches!(fault, Fault::Busy),
    }
}

/// Whether the same may go well later.
fn is_held(fault: &Fault) -> bool {
    fault.is_held() || matches!(fault, Fault::Full)
}

fn words(fault: &Fault) -> String {
    fault.lines().join("; ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::HashSet;

    fn name(number: usize) -> NameBuf {
        NameBuf::from_text(&format!("z{number}.test")).unwrap()
    }

    fn locked() -> Fault {
        Fault::Postgres { code: "55P03".into(), words: "canceling statement due to lock timeout".into() }
    }

    /// A database of which some zones are held, or are none; each statement takes a tenth of a second.
    struct Base {
        now: Cell<Instant>,
        held: HashSet<NameBuf>,
        none: HashSet<NameBuf>,
        statements: usize,
    }

    impl Base {
        fn new(held: &[usize], none: &[usize]) -> Base {
            let names = |numbers: &[usize]| numbers.iter().map(|number| name(*number)).collect();
            Base { now: Cell::new(Instant::now()), held: names(held), none: names(none), statements: 0 }
        }

        fn turn(&mut self, raises: &mut Raises) -> Vec<(NameBuf, Came)> {
            let Base { now, held, none, statements } = self;
            let came = raises.turn(
                || now.get(),
                |some| {
                    *statements += 1;
                    now.set(now.get() + Duration::from_millis(100));
                    match some.iter().find(|(zone, _)| none.contains(zone)) {
                        Some((zone, _)) => Err(Fault::NoZone(zone.to_string())),
                        None if some.iter().any(|(zone, _)| held.contains(zone)) => Err(locked()),
                        None => Ok(()),
                    }
                },
            );
            came.unwrap()
        }

        /// All that comes until nothing is due, and the longest time that was taken at once.
        fn turns(&mut self, raises: &mut Raises) -> (Vec<(NameBuf, Came)>, Duration) {
            let (mut all, mut longest) = (Vec::new(), Duration::ZERO);
            loop {
                let began = self.now.get();
                all.extend(self.turn(raises));
                longest = longest.max(self.now.get() - began);
                if !raises.is_due() {
                    return (all, longest);
                }
                self.now.set(self.now.get() + Duration::from_millis(50));
            }
        }
    }

    /// One that is held and one that is none: all others have their version, and it is tried again until it is there.
    #[test]
    fn what_is_held_holds_up_no_other() {
        let (mut raises, mut base) = (Raises::default(), Base::new(&[700], &[3]));
        (0..1_000).for_each(|number| raises.ask(name(number), 7));
        let (came, longest) = base.turns(&mut raises);
        assert_eq!(came.iter().filter(|(_, came)| *came == Came::Raised).count(), 998);
        let of = |zone: usize| came.iter().find(|(own, _)| *own == name(zone)).map(|(_, came)| came).unwrap();
        assert!(matches!(of(3), Came::Never(words) if words.contains("no such zone")));
        assert!(matches!(of(700), Came::Held(words) if words.contains("above 7")));
        assert!(longest <= TURN + Duration::from_millis(100), "{longest:?}");
        assert!(base.statements < 50, "{} statements", base.statements);
        // Tried again, and not said again, with growing pauses.
        let (before, began) = (base.statements, base.now.get());
        while base.now.get() - began < Duration::from_secs(300) {
            assert!(base.turn(&mut raises).is_empty());
            base.now.set(base.now.get() + Duration::from_millis(500));
        }
        let tried = base.statements - before;
        assert!((8..14).contains(&tried), "{tried} times");
        raises.ask(name(700), 9);
        assert!(raises.is_held(&name(700)) && base.turn(&mut raises).is_empty(), "its time has not come");
        base.held.clear();
        base.now.set(base.now.get() + PAUSES.1);
        assert_eq!(base.turn(&mut raises), [(name(700), Came::Raised)]);
        assert!(!raises.is_held(&name(700)));
    }

    /// Who holds all of one group keeps no other one waiting.
    #[test]
    fn groups_that_are_held() {
        let held: Vec<usize> = (0..TOGETHER_MAX).collect();
        let (mut raises, mut base) = (Raises::default(), Base::new(&held, &[]));
        (0..3 * TOGETHER_MAX).for_each(|number| raises.ask(name(number), 7));
        let came = base.turn(&mut raises);
        assert_eq!(came.iter().filter(|(_, came)| *came == Came::Raised).count(), 2 * TOGETHER_MAX);
        assert!(base.statements <= 11, "{} statements", base.statements);
    }

    /// Who holds all of a store is waited for once, and not zone by zone; what is needed no more is not tried again.
    #[test]
    fn a_store_that_is_held() {
        let mut raises = Raises::default();
        (0..3_000).for_each(|number| raises.ask(name(number), 7));
        let now = Instant::now();
        let mut statements = 0;
        let came = raises.turn(
            || now,
            |_| {
                statements += 1;
                Err(Fault::Busy)
            },
        );
        assert_eq!((statements, came.unwrap().len()), (3, 3_000));
        (1..3_000).for_each(|number| raises.forget(&name(number)));
        let later = now + PAUSES.0;
        assert_eq!(raises.turn(|| later, |_| Ok(())).unwrap(), [(name(0), Came::Raised)]);
        // What is wrong with all of it is said of each, and not tried again.
        raises.ask(name(1), 7);
        let refused = || Fault::Postgres { code: "42501".into(), words: "permission denied".into() };
        assert!(matches!(&raises.turn(|| later, |_| Err(refused())).unwrap()[..], [(_, Came::Never(_))]));
        assert!(raises.turn(|| later, |_| Ok(())).unwrap().is_empty());
        raises.ask(name(1), 7);
        assert!(raises.turn(|| later, |_| Err(Fault::Away("gone".into()))).is_err());
    }
}

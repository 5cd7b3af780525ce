//! The state of a zone in words, for operators.

use std::fmt;

use super::primary::PrimaryState;
use super::schedule::{Schedule, ZoneNumber};
use super::zone::{Last, State, flag};

/// Says what a secondary zone does, what it waits for, and what went wrong: `serial 7, checked 35 s ago by 192.0.2.1#53, next check in
/// 50 min, expires in 6 d`.
pub struct Words<'s> {
    /// Where the zone is.
    pub schedule: &'s Schedule,
    /// The zone.
    pub zone: ZoneNumber,
    /// The present time of the schedule.
    pub now: u32,
    /// The name of a primary: its address and port.
    pub name: &'s dyn Fn(u16) -> String,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.held(f)?;
        self.present(f)?;
        self.trouble(f)
    }
}

impl Words<'_> {
    fn held(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = &self.schedule.zones[self.zone as usize];
        if !zone.has(flag::DATA) {
            return f.write_str("no data yet");
        }
        let served = (self.name)(self.schedule.list(self.zone)[usize::from(zone.served)]);
        let checked = Span(self.now.saturating_sub(zone.checked));
        write!(f, "serial {}, checked {checked} ago by {served}", zone.serial)?;
        match zone.expires.checked_sub(self.now) {
            _ if zone.has(flag::EXPIRED) => write!(f, ", expired {} ago", Span(self.now - zone.expires)),
            left => write!(f, ", expires in {}", Span(left.unwrap_or(0))),
        }
    }

    fn present(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = &self.schedule.zones[self.zone as usize];
        let number = self.schedule.list(self.zone)[usize::from(zone.at)];
        let primary = (self.name)(number);
        match (zone.state, self.schedule.primary_state(number)) {
            (State::Waiting, _) => {
                write!(f, "; asks {primary} in {}", Span(zone.due.saturating_sub(self.now)))
            }
            (State::Ready, Some(PrimaryState::Down { since, next })) => {
                let (since, next) = (self.now.saturating_sub(since), next.saturating_sub(self.now));
                write!(f, "; waits for {primary}, which has not answered for {}", Span(since))?;
                write!(f, " and is asked again in {}", Span(next))
            }
            (State::Ready, _) => write!(f, "; next in line for {primary}"),
            (State::Asking, _) => write!(f, "; asks {primary} now"),
            (State::Arrived, _) => write!(f, "; was transferred from {primary} and is being stored"),
            (State::Transferring, _) => write!(f, "; is transferred from {primary} now"),
        }
    }

    fn trouble(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = &self.schedule.zones[self.zone as usize];
        let Some(trouble) = &zone.trouble else { return Ok(()) };
        let primary = (self.name)(trouble.primary);
        let ago = Span(self.now.saturating_sub(trouble.at));
        match trouble.last {
            behind @ Last::Behind { .. } => {
                write!(f, "; {ago} ago: server {primary} {behind}, {}", zone.serial)
            }
            Last::Stop(stop) => write!(f, "; {ago} ago: server {primary} {stop}"),
        }
    }
}

/// Seconds in words: the largest unit of which there are two.
pub struct Span(pub u32);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds @ 0..120 => write!(f, "{seconds} s"),
            seconds @ 120..7_200 => write!(f, "{} min", seconds / 60),
            seconds @ 7_200..172_800 => write!(f, "{} h", seconds / 3_600),
            seconds => write!(f, "{} d", seconds / 86_400),
        }
    }
}

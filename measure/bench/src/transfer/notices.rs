//! Tells a secondary that zones have changed, as primaries do (RFC 1996): so many notices at a time, each again until somebody has answered it.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use wire::NameBuf;

use super::Feeder;

/// Notices that nobody has answered yet: what a socket of the usual size (208 KiB, some 800 octets a datagram) holds, so that a burst does not lose
/// most of itself.
const OPEN_MAX: usize = 256;
/// How long an answer is waited for.
const AGAIN: Duration = Duration::from_millis(500);

/// Notices to one secondary. Nothing goes on by itself: see [`Notices::go_on`].
pub struct Notices<'a> {
    feeder: &'a Feeder,
    to: SocketAddr,
    waiting: VecDeque<NameBuf>,
    open: Vec<(NameBuf, Instant)>,
    /// Notices sent, those that were sent again among them.
    pub sent: u64,
    /// Of them those that were sent again.
    pub again: u64,
}

impl<'a> Notices<'a> {
    /// Notices of the versions of these zones that are served now.
    pub fn new(feeder: &'a Feeder, to: SocketAddr, zones: impl IntoIterator<Item = NameBuf>) -> Notices<'a> {
        let waiting = zones.into_iter().collect();
        Notices { feeder, to, waiting, open: Vec::new(), sent: 0, again: 0 }
    }

    /// Sends what is due now. To be called every millisecond or so, until [`Notices::is_done`].
    pub fn go_on(&mut self) {
        let (feeder, to) = (self.feeder, self.to);
        self.open.retain(|(zone, _)| !feeder.is_told(zone));
        for (zone, at) in &mut self.open {
            if at.elapsed() >= AGAIN {
                feeder.notify(to, zone);
                *at = Instant::now();
                (self.sent, self.again) = (self.sent + 1, self.again + 1);
            }
        }
        while self.open.len() < OPEN_MAX {
            let Some(zone) = self.waiting.pop_front() else { return };
            feeder.notify(to, &zone);
            self.open.push((zone, Instant::now()));
            self.sent += 1;
        }
    }

    /// Tells of a zone once more, whether that was answered or not.
    pub fn repeat(&mut self, zone: &NameBuf) {
        self.feeder.notify(self.to, zone);
        (self.sent, self.again) = (self.sent + 1, self.again + 1);
    }

    /// Whether all of them were answered.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::HashSet, net::UdpSocket};

    use super::*;
    use crate::transfer::{History, history::Churn};

    /// A secondary that does not answer the first notice of every other zone.
    #[test]
    fn all_are_told_in_the_end() {
        let zones = 600;
        let apex = |number: usize| NameBuf::from_text(&format!("z{number}.example")).unwrap();
        let histories: Vec<History> =
            (0..zones).map(|number| History::made_up(&apex(number), 2, 0, 1)).collect();
        let changes: Vec<_> = histories.iter().map(|history| Churn::new(history, 1).next(2)).collect();
        let feeder = Feeder::start("127.0.0.1:0".parse().unwrap(), histories).unwrap();
        for (number, change) in changes.into_iter().enumerate() {
            feeder.publish(&apex(number), change);
        }
        let secondary = UdpSocket::bind("127.0.0.1:0").unwrap();
        secondary.set_nonblocking(true).unwrap();
        let mut notices = Notices::new(&feeder, secondary.local_addr().unwrap(), (0..zones).map(apex));
        let (mut seen, mut room) = (HashSet::new(), [0; 512]);
        let until = Instant::now() + Duration::from_secs(20);
        notices.go_on();
        assert_eq!((notices.sent, notices.is_done()), (OPEN_MAX as u64, false));
        while !notices.is_done() {
            assert!(Instant::now() < until, "{} sent", notices.sent);
            while let Ok((octets, from)) = secondary.recv_from(&mut room) {
                let name = room[12..octets].to_vec();
                // The first label ends with the number.
                let is_odd = room[12 + usize::from(room[12])] % 2 == 1;
                if !seen.insert(name) || !is_odd {
                    room[2] |= 0x80;
                    secondary.send_to(&room[..octets], from).unwrap();
                }
            }
            notices.go_on();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(notices.again >= zones as u64 / 2 && notices.sent == zones as u64 + notices.again);
    }
}

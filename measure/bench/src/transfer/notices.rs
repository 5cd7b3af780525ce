//! Tells a secondary that zones have changed, as primaries do (RFC 1996): so many notices at a time, each again until somebody has answered it; and
//! more than primaries do, again where it was answered and nothing came of it.

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
/// How long after the answer the secondary has to ask for the zone: NSD answers notices that it then loses on the way from one of its processes to another.
const HEEDED: Duration = Duration::from_secs(2);
/// How often is looked whether it did: there may be very many zones.
const LOOK: Duration = Duration::from_millis(250);

/// Notices to one secondary. Nothing goes on by itself: see [`Notices::go_on`].
pub struct Notices<'a> {
    feeder: &'a Feeder,
    to: SocketAddr,
    waiting: VecDeque<NameBuf>,
    open: Vec<(NameBuf, Instant)>,
    /// Those that were answered, until the zone is asked for; when they were.
    answered: VecDeque<(Instant, NameBuf)>,
    looked: Instant,
    /// Notices sent, those that were sent again among them.
    pub sent: u64,
    /// Of them those that were sent again.
    pub again: u64,
    /// Of those that were sent again those that had been answered.
    pub unheeded: u64,
}

impl<'a> Notices<'a> {
    /// Notices of the versions of these zones that are served now.
    pub fn new(feeder: &'a Feeder, to: SocketAddr, zones: impl IntoIterator<Item = NameBuf>) -> Notices<'a> {
        let waiting = zones.into_iter().collect();
        let (open, answered) = (Vec::new(), VecDeque::new());
        Notices {
            feeder,
            to,
            waiting,
            open,
            answered,
            looked: Instant::now(),
            sent: 0,
            again: 0,
            unheeded: 0,
        }
    }

    /// Sends what is due now. To be called every millisecond or so, until [`Notices::is_done`].
    pub fn go_on(&mut self) {
        let (feeder, to) = (self.feeder, self.to);
        let now = Instant::now();
        for told in self.open.extract_if(.., |(zone, _)| feeder.is_told(zone)) {
            self.answered.push_back((now, told.0));
        }
        if self.looked.elapsed() >= LOOK {
            self.looked = now;
            self.look(now);
        }
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

    /// Puts those that were answered in vain back into the queue.
    fn look(&mut self, now: Instant) {
        while self.answered.front().is_some_and(|(at, _)| now - *at >= HEEDED) {
            let Some((_, zone)) = self.answered.pop_front() else { return };
            if !self.feeder.is_asked(&zone) {
                self.waiting.push_back(zone);
                (self.again, self.unheeded) = (self.again + 1, self.unheeded + 1);
            }
        }
    }

    /// Tells of a zone once more, whether that was answered or not.
    pub fn repeat(&mut self, zone: &NameBuf) {
        self.feeder.notify(self.to, zone);
        (self.sent, self.again) = (self.sent + 1, self.again + 1);
    }

    /// Whether all of them were answered and heeded.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty() && self.answered.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::HashSet, net::UdpSocket};

    use super::*;
    use crate::transfer::{History, drain, history::Churn};

    /// A secondary that does not answer the first notice of every other zone, and does not heed that of the others.
    #[test]
    fn all_are_told_in_the_end() {
        let zones = 300;
        let apex = |number: usize| NameBuf::from_text(&format!("z{number}.example")).unwrap();
        let made_up = |number| History::made_up(&apex(number), 2, 0, 1);
        let histories: Vec<History> = (0..zones).map(made_up).collect();
        let changes: Vec<_> = histories.iter().map(|history| Churn::new(history, 1).next(2)).collect();
        let feeder = Feeder::start("127.0.0.1:0".parse().unwrap(), histories).unwrap();
        for (number, change) in changes.into_iter().enumerate() {
            feeder.publish(&apex(number), change);
        }
        let [secondary, client] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        secondary.set_nonblocking(true).unwrap();
        client.connect(feeder.address()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut notices = Notices::new(&feeder, secondary.local_addr().unwrap(), (0..zones).map(apex));
        let (mut seen, mut room) = (HashSet::new(), [0; 512]);
        let until = Instant::now() + Duration::from_secs(20);
        notices.go_on();
        assert_eq!((notices.sent, notices.is_done()), (OPEN_MAX as u64, false));
        while !notices.is_done() {
            assert!(Instant::now() < until, "{} sent", notices.sent);
            while let Ok((octets, from)) = secondary.recv_from(&mut room) {
                let (name, _) = wire::Name::split_from(&room[12..octets]).unwrap();
                // The first label ends with the number.
                let is_odd = room[12 + usize::from(room[12])] % 2 == 1;
                let is_first = seen.insert(name.octets().to_vec());
                if !is_first {
                    assert_eq!(drain::serial(&client, name), Some(2));
                }
                if !is_first || !is_odd {
                    room[2] |= 0x80;
                    secondary.send_to(&room[..octets], from).unwrap();
                }
            }
            notices.go_on();
            std::thread::sleep(Duration::from_millis(1));
        }
        let half = zones as u64 / 2;
        assert!(notices.unheeded >= half && notices.again >= notices.unheeded + half, "{}", notices.again);
        assert_eq!(notices.sent, zones as u64 + notices.again);
    }
}

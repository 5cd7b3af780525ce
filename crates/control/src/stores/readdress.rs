//! Whether a database that cannot be reached has another address by now, or wants another password: what its feeder was told is looked up once more, by a thread that may take its time.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use feed::address::{Address, Place};
use feed::frame::Frame;

use super::opening;
use crate::settings::{StorePlace, StoreTerms};

/// How long a database is away before that is looked up, and from then to the next time: a record of an address lives as long at least.
const PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));

/// See the module.
pub(super) struct Readdress {
    /// What the feeder was told first.
    told: Vec<Frame>,
    /// When it is looked up.
    due: Instant,
    answer: Option<Receiver<Result<Vec<Frame>, String>>>,
}

impl Readdress {
    /// Of a feeder that is told this.
    pub(super) fn new(told: &[Frame]) -> Readdress {
        Readdress { told: in_order(told.to_vec()), due: Instant::now() + PAUSES.0, answer: None }
    }

    /// Whether it would be told something else now; to be asked again and again. It is not looked up while the database is there.
    pub(super) fn is_due(&mut self, terms: &StoreTerms, is_away: bool) -> bool {
        if let Some(answer) = &self.answer {
            let found = match answer.try_recv() {
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => None,
                // What cannot be had now may be had later: the feeder goes on with what it was told.
                Ok(found) => found.ok(),
            };
            self.answer = None;
            return is_away && found.is_some_and(|found| in_order(found) != self.told);
        }
        let now = Instant::now();
        match is_away && matches!(terms.place, StorePlace::Postgres(_)) {
            false => self.due = now + PAUSES.0,
            true if now >= self.due => {
                self.due = now + PAUSES.1;
                self.answer = opening::look_up(terms.clone());
            }
            true => {}
        }
        false
    }
}

/// With addresses in an order of their own: that of answers of DNS changes from one to the next.
fn in_order(mut frames: Vec<Frame>) -> Vec<Frame> {
    for frame in &mut frames {
        if let Frame::Open(Address::Postgres(network)) = frame
            && let Place::Tcp(hosts, _) = &mut network.place
        {
            hosts.sort_by(|one, other| (&one.name, one.address).cmp(&(&other.name, other.address)));
        }
    }
    frames
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn another_password_is_another_feeder() {
        let folder = tempfile::tempdir().unwrap();
        let password = folder.path().join("password");
        let write = |text: &str| {
            std::fs::write(&password, text).unwrap();
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        write("one\n");
        let text = "[server]\npack-directory = \"packs\"\n[[store]]\nname = \"own\"\nurl = \"postgres://z@127.0.0.2,127.0.0.1/d\"\npassword-file = \"password\"\n";
        let settings = Settings::parse(&folder.path().join("zonda.toml"), text).unwrap();
        let terms = settings.stores().remove(0);
        let mut readdress = Readdress::new(&opening::frames(&terms).unwrap());
        let mut answer_of = |is_away: bool| {
            readdress.due = Instant::now();
            while readdress.answer.is_none() {
                assert!(!readdress.is_due(&terms, true));
            }
            loop {
                let is_due = readdress.is_due(&terms, is_away);
                if readdress.answer.is_none() {
                    return is_due;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        assert!(!answer_of(true), "the same");
        write("two\n");
        assert!(!answer_of(false), "it is there again");
        assert!(answer_of(true));
        write("");
        assert!(!answer_of(true), "none that can be had");
        assert!(!readdress.is_due(&terms, false) && readdress.answer.is_none());
    }

    #[test]
    fn the_order_of_addresses_is_no_matter() {
        let host = |text: &str| feed::address::Host { name: "db".into(), address: text.parse().unwrap() };
        let frames = |hosts: &[&str]| {
            vec![Frame::Open(Address::Postgres(feed::address::Network {
                place: Place::Tcp(hosts.iter().map(|text| host(text)).collect(), 1),
                user: "z".into(),
                database: "d".into(),
                password: Default::default(),
                tls: feed::address::Tls::Prefer,
                poll: Duration::ZERO,
                statement_timeout: Duration::ZERO,
            }))]
        };
        assert_eq!(
            in_order(frames(&["192.0.2.1", "192.0.2.2"])),
            in_order(frames(&["192.0.2.2", "192.0.2.1"]))
        );
        assert_ne!(in_order(frames(&["192.0.2.1"])), in_order(frames(&["192.0.2.2"])));
    }
}

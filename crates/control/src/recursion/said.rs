//! Lines for the log that queries cause, so many a second at most: clients must not fill a disk.

use std::net::SocketAddr;

use cache::Moment;
use wire::iana::{ede, rtype};
use wire::{Name, NameBuf};

/// Lines a second, of a worker: what a person reads, and what disks take for weeks.
const LINES_A_SECOND: u32 = 10;
/// How often the same is said of a server, or of a zone, of the settings.
const PAUSE_MS: u64 = 60_000;
/// Such servers and zones that a worker remembers: more forwarders than anybody has.
const PAUSED_MAX: usize = 64;

/// The lines of a worker.
#[derive(Debug, Default)]
pub(super) struct Said {
    second: u64,
    lines: u32,
    left_out: u64,
    /// Servers that did not prove who they are.
    distrusted: Paused<SocketAddr>,
    /// Forward zones of which nothing can be proved.
    unproved: Paused<NameBuf>,
}

/// Of what something was said, and when: not again for a while.
#[derive(Debug)]
struct Paused<T>(Vec<(T, Moment)>);

impl<T> Default for Paused<T> {
    fn default() -> Paused<T> {
        Paused(Vec::new())
    }
}

impl<T: PartialEq> Paused<T> {
    /// Whether something may be said of it.
    fn may(&mut self, what: T, now: Moment) -> bool {
        self.0.retain(|(_, said)| now.ms_since(*said) < PAUSE_MS);
        let is_said = self.0.iter().any(|(known, _)| *known == what);
        if is_said || self.0.len() >= PAUSED_MAX {
            return false;
        }
        self.0.push((what, now));
        true
    }
}

impl Said {
    /// Whether there may be one more line; how many were left out before.
    fn may(&mut self, now: Moment) -> Option<u64> {
        let second = now.0 / 1000;
        if second != self.second {
            (self.second, self.lines) = (second, 0);
        }
        if self.lines >= LINES_A_SECOND {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }

    /// A question came to SERVFAIL. `reason`: in words, if there are any.
    pub(super) fn failed(
        &mut self,
        (name, qtype): (&Name, u16),
        edes: &[Option<u16>],
        reason: Option<&str>,
        now: Moment,
    ) {
        let Some(left_out) = self.may(now) else { return };
        let why = why(edes, reason);
        let rtype = rtype::Text(qtype);
        match left_out {
            0 => tracing::info!("SERVFAIL for {name} {rtype}{why}"),
            _ => tracing::info!(left_out, "SERVFAIL for {name} {rtype}{why} ({left_out} lines left out)"),
        }
    }

    /// A server that is asked over TLS did not prove to be the one that is wanted.
    pub(super) fn distrusted(&mut self, server: SocketAddr, now: Moment) {
        if self.distrusted.may(server, now) {
            tracing::warn!(
                %server,
                "{server} did not prove over TLS to be the one that is wanted, and is not asked: see tls-name, tls-authorities and tls-pins of [[forward]]"
            );
        }
    }

    /// What a forward zone says is bogus, as what is private is.
    pub(super) fn unproved(&mut self, zone: &Name, now: Moment) {
        if self.unproved.may(zone.to_owned(), now) {
            tracing::warn!(
                %zone,
                "names of [[forward]] {zone} are bogus: {zone} is below a signed zone, which proves that {zone} does not exist or is signed by other keys; if it is private, add insecure = [\"{zone}\"] to [resolver]"
            );
        }
    }

    /// Somebody asked for a name of a local zone that is marked.
    pub(super) fn asked(&mut self, (name, qtype): (&Name, u16), client: impl std::fmt::Display, now: Moment) {
        let Some(left_out) = self.may(now) else { return };
        let rtype = rtype::Text(qtype);
        match left_out {
            0 => tracing::info!("{client} asks for {name} {rtype}, of a local zone"),
            _ => tracing::info!(
                left_out,
                "{client} asks for {name} {rtype}, of a local zone ({left_out} lines left out)"
            ),
        }
    }
}

/// The extended errors, and the words.
fn why(edes: &[Option<u16>], reason: Option<&str>) -> String {
    let mut text = String::new();
    for code in edes.iter().flatten() {
        text += &format!(", EDE {code}");
        if let Some(words) = ede::mnemonic(*code) {
            text += &format!(" ({words})");
        }
    }
    match reason {
        Some(reason) => text + ": " + reason,
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_a_second() {
        let mut said = Said::default();
        let mut count = |at: u64| (0..100).filter_map(|_| said.may(Moment(at))).collect::<Vec<u64>>();
        assert_eq!(count(5_000), [0; 10]);
        assert_eq!(count(5_999), [0; 0]);
        // What was left out is told with the first line of the next second.
        assert_eq!(count(6_000), [&[190][..], &[0; 9]].concat());
    }

    #[test]
    fn once_a_minute_of_each() {
        let mut paused = Paused::default();
        let said =
            [(1, 0), (1, 59_999), (2, 59_999), (1, 60_000)].map(|(what, at)| paused.may(what, Moment(at)));
        assert_eq!(said, [true, false, true, true]);
        // Beyond the bound nothing is said.
        let count = (100..200).filter(|what| paused.may(*what, Moment(60_000))).count();
        assert_eq!(count, PAUSED_MAX - 2);
    }

    #[test]
    fn why_in_words() {
        for (edes, reason, expected) in [
            ([None, None], None, ""),
            ([Some(22), None], None, ", EDE 22 (No Reachable Authority)"),
            ([Some(9), Some(60_000)], Some("no key"), ", EDE 9 (DNSKEY Missing), EDE 60000: no key"),
        ] {
            assert_eq!(why(&edes, reason), expected);
        }
    }
}

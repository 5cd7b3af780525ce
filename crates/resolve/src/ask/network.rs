//! Whether there is a network at all, for each address family: what no server is to blame for.
//!
//! ```text
//! Family   down until | last heard | time-outs since | next probe | suspended: (server, moment), at most 64
//! ```
//!
//! * *down*: the system says that there is no way. Nothing is sent for a quarter of a second, then the next question tries.
//! * *silent*: nobody is heard. Time-outs are suspended until somebody is, and held against servers only if that is soon: so no back-off grows while a
//!   cable is out.
//! * *suspect*: silent while the other family is heard. Its servers are the last choice, but for one probe a second.

use std::net::{IpAddr, SocketAddr};

use cache::Moment;
use cache::servers::ZoneMark;

use crate::limits::{HEARD_LATELY_MS, PROBE_MS, RETRY_MS, SILENT_MAX, SUSPENDED_MAX, SUSPENDED_MS};

/// Whether there is a network, for each family of addresses.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// IPv4, IPv6; the same in networks of one's own, whose servers are heard whether the Internet is there or not.
    families: [Family; 4],
    heard_count: u64,
    silent_count: u64,
}

#[derive(Debug, Default)]
struct Family {
    down_until: Moment,
    heard: Option<Moment>,
    /// Time-outs since somebody was heard.
    silent: u8,
    /// When the first of them came, or the system had no way.
    silent_since: Moment,
    /// The system had no way since.
    was_down: bool,
    probe_at: Moment,
    suspended: Vec<(SocketAddr, ZoneMark, Moment)>,
}

impl Family {
    fn is_used(&self) -> bool {
        self.heard.is_some() || self.silent > 0 || self.was_down
    }

    fn is_out(&self, since: Moment) -> bool {
        let is_heard = self.heard.is_some_and(|heard| heard >= since);
        let silent_max = if self.heard.is_some() { SILENT_MAX } else { 1 };
        !is_heard && (self.was_down || self.silent >= silent_max)
    }
}

fn number(server: &SocketAddr) -> usize {
    let is_own = match server.ip() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    };
    usize::from(server.is_ipv6()) + 2 * usize::from(is_own)
}

impl Network {
    /// The system has no way to the server.
    pub(crate) fn unreachable(&mut self, server: &SocketAddr, now: Moment) {
        self.silent_count += 1;
        let family = &mut self.families[number(server)];
        if family.silent == 0 && !family.was_down {
            family.silent_since = now;
        }
        (family.down_until, family.was_down) = (now.plus_ms(RETRY_MS), true);
    }

    /// Whether nothing is to be sent there now.
    pub(crate) fn is_down(&self, server: &SocketAddr, now: Moment) -> bool {
        self.families[number(server)].down_until > now
    }

    /// The server was heard. Who kept silent shortly before is told to `blame`, each once. Returns whether an outage has ended: many were silent, for longer than
    /// servers are by themselves, or the system had no way; and the other family was not heard meanwhile.
    pub(crate) fn heard(
        &mut self,
        server: &SocketAddr,
        now: Moment,
        mut blame: impl FnMut(&SocketAddr, ZoneMark),
    ) -> bool {
        self.heard_count += 1;
        let number = number(server);
        let other_heard = self.families[number ^ 1].heard;
        let family = &mut self.families[number];
        let is_long = now.ms_since(family.silent_since) >= SUSPENDED_MS;
        let was_out = family.was_down || family.silent >= SILENT_MAX && is_long;
        let is_end = was_out && other_heard.is_none_or(|heard| heard < family.silent_since);
        (family.heard, family.silent, family.down_until, family.was_down) =
            (Some(now), 0, Moment::default(), false);
        while let Some((silent, zone, at)) = family.suspended.pop() {
            if now.ms_since(at) <= SUSPENDED_MS && silent != *server {
                blame(&silent, zone);
            }
        }
        is_end
    }

    /// A question of `sent` timed out. Whether the server is to blame for sure: others were heard since.
    pub(crate) fn timed_out(
        &mut self,
        server: &SocketAddr,
        zone: ZoneMark,
        sent: Moment,
        now: Moment,
    ) -> bool {
        self.silent_count += 1;
        let family = &mut self.families[number(server)];
        if family.heard.is_some_and(|heard| heard >= sent) {
            return true;
        }
        if !family.suspended.iter().any(|(suspended, ..)| suspended == server) {
            if family.silent == 0 && !family.was_down {
                family.silent_since = now;
            }
            family.silent = family.silent.saturating_add(1);
            if family.suspended.len() == SUSPENDED_MAX {
                family.suspended.swap_remove(0);
            }
            family.suspended.push((*server, zone, now));
        }
        false
    }

    /// Whether nobody of the family answers although the other family works.
    pub(crate) fn is_suspect(&self, server: &SocketAddr, now: Moment) -> bool {
        let number = number(server);
        let (family, other) = (&self.families[number], &self.families[number ^ 1]);
        let is_silent =
            family.silent >= SILENT_MAX && other.silent < SILENT_MAX && other.heard > family.heard;
        is_silent && now < family.probe_at
    }

    /// A question goes to the server: of a family that is suspect it was the probe of this second.
    pub(crate) fn asked(&mut self, server: &SocketAddr, now: Moment) {
        let family = &mut self.families[number(server)];
        if now >= family.probe_at {
            family.probe_at = now.plus_ms(PROBE_MS);
        }
    }

    /// Whether there is no way to the Internet, as it seems: nobody there was heard since then, and each of the families in use has either no way, or kept silent at
    /// several servers; at one, where nobody has ever been heard.
    pub(crate) fn is_out(&self, since: Moment) -> bool {
        let mut used = self.families[..2].iter().filter(|family| family.is_used()).peekable();
        used.peek().is_some() && used.all(|family| family.is_out(since))
    }

    /// Since when there is no way to the Internet, if that is so.
    pub(crate) fn out_since(&self) -> Option<Moment> {
        let first =
            self.families[..2].iter().filter(|family| family.is_used()).map(|family| family.silent_since);
        first.max().filter(|since| self.is_out(since.plus_ms(1)))
    }

    /// When somebody of the Internet was heard last.
    pub(crate) fn last_heard(&self) -> Option<Moment> {
        self.families[..2].iter().filter_map(|family| family.heard).max()
    }

    /// Whether some servers are silent by themselves, as far as one can know where nobody was heard since `begun`: somebody was shortly before, and nobody but them
    /// has kept silent since. `one` of them says where they are.
    pub(crate) fn are_alone(
        &self,
        one: &SocketAddr,
        are_they: impl Fn(&SocketAddr) -> bool,
        begun: Moment,
    ) -> bool {
        let families = &self.families[number(one) & 2..][..2];
        let Some(heard) = families.iter().filter_map(|family| family.heard).max() else { return false };
        let mut suspended = families.iter().flat_map(|family| &family.suspended);
        heard.plus_ms(HEARD_LATELY_MS) >= begun
            && suspended.all(|(server, _, at)| are_they(server) || *at <= heard)
            && self.out_since().is_none()
    }

    /// How often somebody kept silent, or there was no way.
    pub(crate) fn silent_count(&self) -> u64 {
        self.silent_count
    }

    /// How often anybody was heard.
    pub(crate) fn heard_count(&self) -> u64 {
        self.heard_count
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn server(number: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, number], 53))
    }

    fn blamed(network: &mut Network, by: u8, now: u64) -> Vec<SocketAddr> {
        let mut blamed = Vec::new();
        let _ = network.heard(&server(by), Moment(now), |server, _| blamed.push(*server));
        blamed
    }

    #[test]
    fn nobody_is_blamed_for_a_lost_network() {
        let mut network = Network::default();
        assert!(blamed(&mut network, 1, 1_000).is_empty());
        for at in 0..200u64 {
            let now = 2_000 + at * 100;
            assert!(!network.timed_out(
                &server((at % 100) as u8),
                ZoneMark::default(),
                Moment(now - 400),
                Moment(now)
            ));
        }
        assert!(network.families[0].suspended.len() <= SUSPENDED_MAX);
        let blamed = blamed(&mut network, 1, 25_000);
        assert!(blamed.is_empty(), "{blamed:?}");
    }

    #[test]
    fn the_end_of_an_outage() {
        let mut network = Network::default();
        let six = SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 53));
        let silence = |network: &mut Network, from: u64| {
            (0..6).for_each(|n| {
                _ = network.timed_out(&server(n), ZoneMark::default(), Moment(from), Moment(from + 400))
            });
        };
        assert!(!network.heard(&server(1), Moment(0), |_, _| ()));
        silence(&mut network, 10);
        assert!(!network.heard(&server(1), Moment(1_000), |_, _| ()), "not long enough");
        silence(&mut network, 2_000);
        assert!(network.heard(&server(1), Moment(9_000), |_, _| ()));
        assert!(!network.heard(&server(1), Moment(9_001), |_, _| ()));
        silence(&mut network, 10_000);
        network.heard(&six, Moment(11_000), |_, _| ());
        assert!(!network.heard(&server(1), Moment(19_000), |_, _| ()), "the other family was there");
        network.unreachable(&server(1), Moment(20_000));
        assert!(network.heard(&server(1), Moment(20_300), |_, _| ()));
    }

    #[test]
    fn silent_alone() {
        let mut network = Network::default();
        let silence = |network: &mut Network, n: u8, at: u64| {
            network.timed_out(&server(n), ZoneMark::default(), Moment(at - 400), Moment(at))
        };
        #[track_caller]
        fn check(network: &Network, begun: u64, expected: bool) {
            let are_they = |one: &SocketAddr| [server(8), server(9)].contains(one);
            assert_eq!(network.are_alone(&server(9), are_they, Moment(begun)), expected, "{begun}");
        }
        check(&network, 0, false);
        silence(&mut network, 9, 900);
        check(&network, 0, false);
        let _ = network.heard(&server(1), Moment(1_000), |_, _| ());
        silence(&mut network, 9, 1_500);
        silence(&mut network, 8, 1_600);
        check(&network, 1_100, true);
        check(&network, 1_000 + HEARD_LATELY_MS, true);
        check(&network, 1_001 + HEARD_LATELY_MS, false);
        // Servers nearby say nothing of the Internet.
        network.timed_out(&SocketAddr::from(([10, 0, 0, 1], 53)), ZoneMark::default(), Moment(1), Moment(2));
        let _ = network.heard(&SocketAddr::from(([10, 0, 0, 2], 53)), Moment(20_000), |_, _| ());
        check(&network, 1_100, true);
        check(&network, 20_000, false);
        // Another one is silent too: it may be the network.
        silence(&mut network, 7, 1_700);
        check(&network, 1_100, false);
        // Of the other family as well, but not if somebody was heard since.
        let mut network = Network::default();
        let six = SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 53));
        network.timed_out(&six, ZoneMark::default(), Moment(100), Moment(500));
        let _ = network.heard(&server(1), Moment(400), |_, _| ());
        check(&network, 400, false);
        let _ = network.heard(&server(1), Moment(600), |_, _| ());
        check(&network, 400, true);
        // So many, and it is the network, whosever they are.
        (1..=SILENT_MAX).for_each(|n| _ = silence(&mut network, n, 1_200));
        let all = network.are_alone(&server(1), |_| true, Moment(1_000));
        assert!(!all || network.out_since().is_none());
    }

    #[test]
    fn a_dead_server_is_blamed() {
        let mut network = Network::default();
        assert!(!network.timed_out(&server(9), ZoneMark::default(), Moment(0), Moment(400)));
        assert_eq!(blamed(&mut network, 1, 420), [server(9)]);
        assert!(network.timed_out(&server(9), ZoneMark::default(), Moment(410), Moment(800)));
        assert!(blamed(&mut network, 1, 900).is_empty());
    }

    #[test]
    fn a_family_that_does_not_work_is_probed_once_a_second() {
        let mut network = Network::default();
        let six = |number: u16| SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, number], 53));
        blamed(&mut network, 1, 0);
        for number in 0..4 {
            assert!(!network.is_suspect(&six(number), Moment(10)));
            network.asked(&six(number), Moment(10));
            network.timed_out(&six(number), ZoneMark::default(), Moment(10), Moment(400));
        }
        blamed(&mut network, 1, 450);
        assert!(network.is_suspect(&six(9), Moment(500)) && !network.is_suspect(&server(1), Moment(500)));
        assert!(!network.is_suspect(&six(9), Moment(1_010)), "time for a probe");
        network.asked(&six(9), Moment(1_010));
        assert!(network.is_suspect(&six(8), Moment(1_020)));
        network.heard(&six(9), Moment(1_030), |_, _| ());
        assert!(!network.is_suspect(&six(8), Moment(1_040)));
    }

    #[test]
    fn no_route_is_tried_again_soon() {
        let mut network = Network::default();
        network.unreachable(&server(1), Moment(100));
        assert!(network.is_down(&server(2), Moment(100 + RETRY_MS - 1)));
        assert!(!network.is_down(&server(2), Moment(100 + RETRY_MS)));
    }

    /// A network is out where every family in use is: no way, or several servers silent, and nobody heard since.
    #[test]
    fn out() {
        let mut network = Network::default();
        assert!(!network.is_out(Moment(0)), "nothing was tried");
        network.timed_out(&server(1), ZoneMark::default(), Moment(0), Moment(100));
        assert!(network.is_out(Moment(0)), "nobody was ever heard");
        let _ = network.heard(&server(1), Moment(200), |_, _| ());
        for number in 1..=SILENT_MAX {
            assert!(!network.is_out(Moment(300)), "{number}");
            network.timed_out(&server(number), ZoneMark::default(), Moment(250), Moment(500));
        }
        assert!(network.is_out(Moment(300)) && !network.is_out(Moment(200)));
        // IPv6 has no way, as on many machines; then it has.
        let six = SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 53));
        network.unreachable(&six, Moment(600));
        assert!(network.is_out(Moment(300)));
        let _ = network.heard(&six, Moment(700), |_, _| ());
        assert!(!network.is_out(Moment(600)));
        assert!(!network.is_out(Moment(701)), "it is not known yet that nobody is there");
        network.unreachable(&six, Moment(900));
        assert!(network.is_out(Moment(701)) && !network.is_out(Moment(700)));
        let _ = network.heard(&server(1), Moment(1_000), |_, _| ());
        assert!(!network.is_out(Moment(1_001)), "a family works");
        // Servers nearby say nothing of the Internet.
        let mut nearby = Network::default();
        nearby.unreachable(&SocketAddr::from(([10, 0, 0, 1], 53)), Moment(0));
        assert!(!nearby.is_out(Moment(0)));
    }
}

//! What is known of one server, and how it is counted.

use crate::Moment;

/// Words of a quality in its row.
pub(super) const QUALITY_WORDS: usize = 10;
/// The word that has when it was updated.
pub(super) const QUALITY_UPDATED: usize = 3;
pub(super) type Words = [u64; QUALITY_WORDS];

/// Time-out for a server that has not answered yet. Nearly all answer within 300 ms from anywhere; what is lost costs the client this much.
pub const TIMEOUT_MS_UNKNOWN: u32 = 400;
/// No time-out is shorter: servers on the same machine are late by so much when it is busy, and each query sent twice helps nobody.
pub const TIMEOUT_MS_MIN: u32 = 30;
/// None is longer: clients give up after 5 s, and another server should have been tried once before.
pub const TIMEOUT_MS_MAX: u32 = 2_000;
/// So many time-outs in a row are no bad luck any more: with a tenth of all packets lost it takes three in one case of a thousand.
pub const TIMEOUTS_BEFORE_BACKOFF: u8 = 3;
/// The first back-off, doubled with each further time-out.
pub const BACKOFF_MS_FIRST: u64 = 1_000;
/// The longest: a server that is back is in use again after so long.
pub const BACKOFF_MS_MAX: u64 = 60_000;

/// What the server does with EDNS (RFC 6891).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edns {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It answers with OPT; up to so many octets came through over UDP, 0 where none did.
    Works(u16),
    /// It fails on OPT, or does not answer to it.
    None,
}

/// Whether the server repeats the letters of a question in their case (draft-vixie-dnsext-dns0x20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It does.
    Kept,
    /// It changes them.
    Lost,
}

/// A COOKIE option as the server is to get it: our part, and the server's once it has given one (RFC 7873 4).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cookie {
    octets: [u8; Cookie::OCTETS_MAX],
    length: u8,
}

impl Cookie {
    /// The longest: 8 octets of the client, 32 of the server.
    pub const OCTETS_MAX: usize = 40;
    /// None yet.
    pub const NONE: Cookie = Cookie { octets: [0; Cookie::OCTETS_MAX], length: 0 };

    /// From the octets of the option: 8, or 16 to 40.
    pub fn from_octets(octets: &[u8]) -> Option<Cookie> {
        if !matches!(octets.len(), 8 | 16..=Cookie::OCTETS_MAX) {
            return None;
        }
        let mut cookie = Cookie { length: octets.len() as u8, ..Cookie::NONE };
        cookie.octets[..octets.len()].copy_from_slice(octets);
        Some(cookie)
    }

    /// The octets of the option; empty where there is none.
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl Default for Cookie {
    fn default() -> Cookie {
        Cookie::NONE
    }
}

impl std::fmt::Debug for Cookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02x?}", self.octets())
    }
}

/// A zone as a server's row knows it: its keyed hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneMark(u32);

impl ZoneMark {
    pub(super) fn new(hash: u64) -> ZoneMark {
        // 0 is no zone.
        ZoneMark((hash as u32).max(1))
    }
}

/// Whom time-outs in a row count against. Whoever runs a zone can have its name servers drop queries, on addresses of others too; so they are of that zone
/// alone until another has some too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Suspect {
    /// There were none.
    #[default]
    Nobody,
    /// The server as far as this zone goes.
    Zone(ZoneMark),
    /// The server.
    Server,
}

/// What is known of one server: times, time-outs in a row, what it can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// Smoothed round-trip time in microseconds (RFC 6298 SRTT); 0 while none was measured.
    pub rtt_us: u32,
    /// Its variation in microseconds (RFC 6298 RTTVAR).
    pub variation_us: u32,
    /// Time-outs since the last answer.
    pub timeouts: u8,
    /// Of which zones those were.
    pub suspect: Suspect,
    /// Not to be asked before, while others can be.
    pub backoff_until: Moment,
    /// EDNS.
    pub edns: Edns,
    /// It is to be asked over TCP: it does not answer over UDP, or its answers over UDP cannot be believed.
    pub is_tcp_only: bool,
    /// It truncates over UDP what others do not: asking with less would not help.
    pub truncates: bool,
    /// The case of letters.
    pub case: Case,
    /// Our cookie with it.
    pub cookie: Cookie,
    /// When it was last told something; set by [`Servers::update`](super::Servers::update). What is old may be tried anew.
    pub updated: Moment,
}

impl Quality {
    /// Whether a round-trip time was measured.
    pub fn is_measured(&self) -> bool {
        self.rtt_us > 0
    }

    /// An answer came after `rtt_us` microseconds to a query that was sent once (RFC 6298 2, 3).
    pub fn answered(&mut self, rtt_us: u32) {
        let rtt_us = rtt_us.max(1);
        if self.is_measured() {
            let off = u64::from(self.rtt_us.abs_diff(rtt_us));
            self.variation_us = ((3 * u64::from(self.variation_us) + off) / 4) as u32;
            self.rtt_us = ((7 * u64::from(self.rtt_us) + u64::from(rtt_us)) / 8).max(1) as u32;
        } else {
            (self.rtt_us, self.variation_us) = (rtt_us, rtt_us / 2);
        }
        self.is_there();
    }

    /// It answered, to which of several queries is not known (RFC 6298 3, Karn's rule): it is there, and no more.
    pub fn is_there(&mut self) {
        (self.timeouts, self.suspect, self.backoff_until) = (0, Suspect::Nobody, Moment::default());
    }

    /// No answer came in time to what was asked of it for `zone` (the zone of the cut that it serves). Only of types that every server
    /// answers for: firewalls drop questions for types that they do not know, and whoever asks for those shall not have the server left alone.
    pub fn timed_out(&mut self, zone: ZoneMark, now: Moment) {
        self.suspect = match self.suspect {
            Suspect::Nobody => Suspect::Zone(zone),
            Suspect::Zone(known) if known == zone => self.suspect,
            Suspect::Zone(_) | Suspect::Server => Suspect::Server,
        };
        self.timeouts = self.timeouts.saturating_add(1);
        if let Some(beyond) = self.timeouts.checked_sub(TIMEOUTS_BEFORE_BACKOFF) {
            let backoff_ms = BACKOFF_MS_FIRST << u32::from(beyond).min(16);
            self.backoff_until = now.plus_ms(backoff_ms.min(BACKOFF_MS_MAX));
        }
    }

    /// Time-outs in a row that count for `zone`.
    pub fn timeouts_for(&self, zone: ZoneMark) -> u8 {
        match self.suspect {
            Suspect::Zone(known) if known != zone => 0,
            _ => self.timeouts,
        }
    }

    /// Whether it is to be left alone now by questions for `zone`.
    pub fn is_backed_off(&self, zone: ZoneMark, now: Moment) -> bool {
        self.timeouts_for(zone) > 0 && self.backoff_until > now
    }

    /// How long to wait for an answer: round-trip time and four times its variation, doubled with each time-out in a row (RFC 6298 2, 5.5).
    pub fn timeout_ms(&self, zone: ZoneMark) -> u32 {
        let once = match self.is_measured() {
            true => (u64::from(self.rtt_us) + 4 * u64::from(self.variation_us)).div_ceil(1000),
            false => u64::from(TIMEOUT_MS_UNKNOWN),
        };
        let once = once.max(u64::from(TIMEOUT_MS_MIN));
        (once << u32::from(self.timeouts_for(zone)).min(8)).min(u64::from(TIMEOUT_MS_MAX)) as u32
    }

    pub(super) fn to_words(self) -> Words {
        let (edns, size) = match self.edns {
            Edns::Unknown => (0, 0),
            Edns::Works(size) => (1, size),
            Edns::None => (2, 0),
        };
        let case = match self.case {
            Case::Unknown => 0,
            Case::Kept => 1,
            Case::Lost => 2,
        };
        let flags =
            [self.timeouts, edns, case, self.is_tcp_only.into(), self.truncates.into(), self.cookie.length];
        let [a, b, c, d, e, f] = flags.map(u64::from);
        let mut words = [0; QUALITY_WORDS];
        words[0] = u64::from(self.rtt_us) << 32 | u64::from(self.variation_us);
        words[1] = a | b << 8 | c << 16 | d << 24 | e << 32 | f << 40 | u64::from(size) << 48;
        words[2] = self.backoff_until.0;
        words[3] = self.updated.0;
        words[9] = match self.suspect {
            Suspect::Nobody => 0,
            Suspect::Zone(ZoneMark(mark)) => u64::from(mark),
            Suspect::Server => u64::MAX,
        };
        for (word, octets) in words[4..9].iter_mut().zip(self.cookie.octets.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*octets);
        }
        words
    }

    pub(super) fn from_words(words: &Words) -> Quality {
        let [timeouts, edns, case, is_tcp_only, truncates, length, size @ ..] = words[1].to_le_bytes();
        let mut cookie = Cookie { length: length.min(Cookie::OCTETS_MAX as u8), ..Cookie::NONE };
        for (octets, word) in cookie.octets.as_chunks_mut::<8>().0.iter_mut().zip(&words[4..9]) {
            *octets = word.to_le_bytes();
        }
        Quality {
            rtt_us: (words[0] >> 32) as u32,
            variation_us: words[0] as u32,
            timeouts,
            suspect: match words[9] {
                0 => Suspect::Nobody,
                u64::MAX => Suspect::Server,
                mark => Suspect::Zone(ZoneMark(mark as u32)),
            },
            backoff_until: Moment(words[2]),
            edns: match edns {
                1 => Edns::Works(u16::from_le_bytes(size)),
                2 => Edns::None,
                _ => Edns::Unknown,
            },
            is_tcp_only: is_tcp_only != 0,
            truncates: truncates != 0,
            case: match case {
                1 => Case::Kept,
                2 => Case::Lost,
                _ => Case::Unknown,
            },
            cookie,
            updated: Moment(words[3]),
        }
    }
}

//! Who asks, and what is told of a session.
//!
//! ```text
//! who      0; key: octets u8, octets
//!          1, and 2 where a person did something: the secret of a session, 64 octets
//!          3; code: octets u8, octets
//! session  any secret | verbs u16 | any name of a key, server: octets u8, text | any idle u32, left u32
//! any      0; or 1 and what is there
//! ```

use std::fmt;

use super::answer::Verbs;
use super::octets::{Item, Rest, put_any, put_short, put_short_text};

/// Octets of a session's secret: a half in the cookie, a half in the header, of 256 bits each, as either may be had by somebody.
pub const SESSION_OCTETS: usize = 64;
/// Octets of a key's name, and of a server's, as sessions tell them: 63 letters of any alphabet.
pub const SESSION_NAME_OCTETS_MAX: usize = u8::MAX as usize;

/// The secret of a session.
pub type Secret = [u8; SESSION_OCTETS];

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who<'a> {
    /// Who has a key, as it was sent.
    Key(&'a [u8]),
    /// Who has signed in.
    Session {
        /// The secret, as the browser's two halves make it.
        secret: &'a Secret,
        /// Whether a person did something since it was asked last, and no clock.
        is_person: bool,
    },
    /// Who has a code, as it was sent: good for signing in.
    Code(&'a [u8]),
}

/// Without what is secret.
impl fmt::Debug for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Who::Key(_) => "Key",
            Who::Session { is_person: false, .. } => "Session",
            Who::Session { is_person: true, .. } => "Session of a person",
            Who::Code(_) => "Code",
        })
    }
}

impl<'a> Who<'a> {
    /// What is secret of it.
    #[must_use]
    pub fn octets(&self) -> &'a [u8] {
        match self {
            Who::Key(octets) | Who::Code(octets) => octets,
            Who::Session { secret, .. } => *secret,
        }
    }

    pub(super) fn take(rest: &mut Rest<'a>) -> Option<Who<'a>> {
        Some(match rest.u8()? {
            0 => Who::Key(rest.short()?),
            1 => Who::Session { secret: secret(rest)?, is_person: false },
            2 => Who::Session { secret: secret(rest)?, is_person: true },
            3 => Who::Code(rest.short()?),
            _ => return None,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Who::Key(key) => {
                out.push(0);
                put_short(out, key);
            }
            Who::Session { secret, is_person } => {
                out.push(1 + u8::from(*is_person));
                out.extend_from_slice(*secret);
            }
            Who::Code(code) => {
                out.push(3);
                put_short(out, code);
            }
        }
    }
}

pub(super) fn secret<'a>(rest: &mut Rest<'a>) -> Option<&'a Secret> {
    rest.take(SESSION_OCTETS)?.try_into().ok()
}

/// What a session is, or what a key has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Session<'a> {
    /// Its secret, which is told once, to who signs in.
    pub secret: Option<&'a Secret>,
    /// What it may do.
    pub verbs: Verbs,
    /// The name of its key; `None`: it was begun with a code, by the operator.
    pub who: Option<&'a str>,
    /// What the server is called.
    pub server: &'a str,
    /// Until when it is there, in seconds: `idle` unless a person does something, `left` whatever happens. `None`: a key asks.
    pub until: Option<Until>,
}

/// Seconds that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// Unless a person does something.
    pub idle: u32,
    /// Whatever happens.
    pub left: u32,
}

/// Without its secret.
impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("verbs", &self.verbs)
            .field("who", &self.who)
            .field("server", &self.server)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl<'a> Item<'a> for Session<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Session<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let session = Session {
            secret: rest.any(secret)?,
            verbs: Verbs(rest.u16()?),
            who: rest.any(|rest| rest.short_text(SESSION_NAME_OCTETS_MAX))?,
            server: rest.short_text(SESSION_NAME_OCTETS_MAX)?,
            until: rest.any(|rest| Some(Until { idle: rest.u32()?, left: rest.u32()? }))?,
        };
        Some((session, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        put_any(out, self.secret, |out, secret| out.extend_from_slice(secret));
        out.extend_from_slice(&self.verbs.0.to_be_bytes());
        put_any(out, self.who, |out, who| put_short_text(out, who, SESSION_NAME_OCTETS_MAX));
        put_short_text(out, self.server, SESSION_NAME_OCTETS_MAX);
        put_any(out, self.until, |out, until| {
            out.extend_from_slice(&until.idle.to_be_bytes());
            out.extend_from_slice(&until.left.to_be_bytes());
        });
    }
}

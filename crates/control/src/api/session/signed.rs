//! Sessions of the page, as asks begin them, look at them and end them: all at once.

use std::collections::VecDeque;
use std::sync::Arc;

use api::frame::{Ask, Asked, Who};

use super::{Around, Session, State};
use crate::api::sessions::Now;
use crate::api::{Key, Keys};

/// Statuses of what is done.
const BEGUN: u16 = 201;
const TOLD: u16 = 200;
const ENDED: u16 = 204;

impl Session {
    /// Does what an ask wants of its session, whose key is known.
    pub(super) fn signed(
        &mut self,
        around: &Around,
        number: u32,
        (keys, key): (&Keys, &Arc<Key>),
        ask: &Ask<'_>,
        now: Now,
    ) {
        let sessions = &around.sessions;
        let tell = |secret, is_new| sessions.frame(number, (keys, key), (secret, is_new), now.at);
        let own = match ask.who {
            Who::Session { secret, .. } => Some(secret),
            Who::Key(_) | Who::Code(_) => None,
        };
        let (piece, status) = match ask.asked {
            Asked::SignIn { .. } => match sessions.sign_in(keys, ask, key, now) {
                Ok(secret) => (tell(Some(&secret), true), BEGUN),
                Err(no) => return self.refuse(around, number, &no),
            },
            Asked::SignOut => {
                own.into_iter().for_each(|secret| sessions.sign_out(secret));
                (None, ENDED)
            }
            _ => (tell(own, false), TOLD),
        };
        let pieces: VecDeque<Vec<u8>> = piece.into_iter().collect();
        if let Some(entry) = self.asks.get_mut(&number) {
            entry.state = State::Ready(pieces, status);
            self.turns.push_back(number);
        }
    }
}

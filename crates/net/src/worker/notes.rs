//! What other threads tell a worker: replies, streams, messages, wake-ups.

use super::Worker;
use crate::context::Now;
use crate::driver::Core;
use crate::inbox::{Entry, Note};
use crate::later::{Path, RowId};
use crate::service::Service;
use crate::tap::TapEnd;
use crate::tcp::Turn;

impl<S: Service> Worker<S> {
    /// Handles what other threads have told, as much as there is room for.
    pub(super) fn open_inbox(&mut self, now: Now) {
        let (mut notes, mut is_woken) = (std::mem::take(&mut self.put_off), false);
        for entry in self.host.core.inbox().take() {
            self.host.core.inbox().taken(&entry);
            match entry {
                Entry::Note(Note::Woken) => is_woken = true,
                Entry::Note(note) => notes.push_back(note),
                Entry::Message(message) => self.messages.push(message),
            }
        }
        while let Some(note) = notes.pop_front() {
            if let Err(note) = self.heed(note, now) {
                notes.push_front(note);
                break;
            }
        }
        self.put_off = notes;
        self.after_event();
        if !self.messages.is_empty() {
            let mut messages = std::mem::take(&mut self.messages);
            self.event(|service, driver| service.messages(&mut messages, driver));
            messages.clear();
            self.messages = messages;
        }
        if is_woken {
            self.event(Service::woken);
        }
    }

    /// Does what a note says; gives it back where there is no room for another reply in this turn.
    fn heed(&mut self, note: Note, now: Now) -> Result<(), Note> {
        match note {
            Note::Reply { row, octets } => {
                if !self.host.core.reply_row(row, &octets) {
                    return Err(Note::Reply { row, octets });
                }
            }
            Note::Stream { row, messages } => {
                if let Some(id) = self.host.core.stream_row(row, messages) {
                    self.connections.abort(id, &self.counters.streams_aborted, &mut lend!(self, now));
                }
            }
            Note::Sent { row } => self.host.core.sent_row(row),
            Note::Dropped { row } => self.close_row(row, Core::drop_row),
            Note::Overflowed { row } => self.close_row(row, |core, row| {
                if core.end_unanswered(row, TapEnd::Dropped).is_some() {
                    core.counters.later_overflowed.add(1);
                }
            }),
            Note::StreamReady(id) => self.host.core.streams.wake(id, now.instant),
            Note::CloseIdle { since } => self.connections.close_idle(since, &mut lend!(self, now)),
            Note::Woken => {}
        }
        Ok(())
    }

    /// Ends a row without an answer; its connection may be over by that.
    fn close_row(&mut self, row: RowId, end: impl FnOnce(&mut Core<S::Message>, RowId)) {
        let path = self.host.core.later.path(row);
        end(&mut self.host.core, row);
        if let Some(Path::Connection { id, .. }) = path {
            self.connections.stir(id);
        }
    }
}

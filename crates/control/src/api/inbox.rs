//! What others have for the thread of the API: whoever tells it something waits for nobody.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use api::frame::Version;
use rustix::event::{EventfdFlags, eventfd};
use sync::Mailbox;
use sync::mailbox::Wake;
use web::certificate::Certificate;

use super::Keys;
use super::explain::{Question, Terms};
use super::look::{Listed, NotPinned, Pinned};
use super::make::Worked;
use super::search::Sought;
use super::sessions::Code;
use crate::dynamic::{NotAltered, Outcome};

/// Which ask of which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Of {
    /// The number of the process, counted from the start.
    pub(super) session: u32,
    /// The ask, as that process numbers them.
    pub(super) ask: u32,
}

/// What is told. Each but the first four and the last is because of an ask, of which there is a bound; a search has some pieces.
pub(super) enum Event {
    /// Keys are others.
    Keys(Arc<Keys>),
    /// Another certificate is shown.
    Shown(Arc<Certificate>),
    /// A code was printed, by which its reader may sign in.
    Code(Code),
    /// Everybody is to be signed out; who wants to know is told how many they were.
    EndSessions(SyncSender<usize>),
    /// What became of a change, of each of its zones, see [`crate::dynamic::AlterDone`].
    Altered(Of, Result<Vec<Option<Outcome>>, NotAltered>),
    /// A zone in a state that stays.
    Pinned(Of, Result<Pinned, NotPinned>),
    /// Zones of a list.
    Listed(Of, Listed),
    /// What was done at once, in words; the error: a status, and why not.
    Acted(Of, Result<&'static str, (u16, &'static str)>),
    /// What holds for changes of zones that are asked about; `None`: one of them is not there.
    Explained(Of, Option<Vec<(Question, Terms)>>),
    /// Numbers of the server, one behind the other.
    Numbers(Of, Arc<[u8]>),
    /// What a search found, or its end.
    Sought(Of, Sought),
    /// Versions of a zone; the error: a status, and why not.
    Versions(Of, Result<Vec<Version>, (u16, &'static str)>),
    /// What leads back to a version of a zone, in frames; the error: the same.
    Undo(Of, Result<VecDeque<Vec<u8>>, (u16, &'static str)>),
    /// What the server tells of itself, in frames; the error: the same.
    Told(Of, Result<VecDeque<Vec<u8>>, (u16, &'static str)>),
    /// What became of a zone that was to be made, set or removed.
    Worked(Of, Result<Worked, NotAltered>),
    /// The server ends.
    Over,
}

/// See the module.
pub(super) struct Inbox {
    mailbox: Mailbox<Event>,
    /// What the thread polls beside its pair.
    pub(super) bell: OwnedFd,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Inbox> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Inbox { mailbox: Mailbox::new(), bell })
    }

    /// Tells the thread something.
    pub(super) fn tell(&self, event: Event) {
        if let Ok(Wake::Needed) = self.mailbox.push(event) {
            // Full, it rings already.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    /// All that was told, in order.
    pub(super) fn take(&self) -> impl Iterator<Item = Event> + use<> {
        self.mailbox.take()
    }

    /// Whether the thread may wait for the bell; to be called before that, and [`Inbox::awake`] after it.
    pub(super) fn prepare_to_sleep(&self) -> bool {
        self.mailbox.prepare_to_sleep()
    }

    /// The thread looks again.
    pub(super) fn awake(&self) {
        self.mailbox.awake();
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.bell, &mut count);
    }
}

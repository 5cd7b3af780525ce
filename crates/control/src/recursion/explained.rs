//! Names that are found out anew for an operator who wants to see how: who waits for which.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use resolve::{Ask, From, Told};
use wire::NameBuf;

use super::Recursion;
use super::desk::Errand;

/// How long one may take: longer than any question does.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an operator wants to see.
pub(super) struct Wanted {
    name: NameBuf,
    rtype: u16,
    to: SyncSender<Told>,
}

impl Wanted {
    /// As the resolver is asked.
    pub(super) fn ask(&self) -> Ask<'_> {
        Ask {
            name: &self.name,
            rtype: self.rtype,
            checking_disabled: false,
            from: From::Servers,
            client: None,
        }
    }
}

/// Those that a worker has begun: as many as the resolver takes.
#[derive(Default)]
pub(super) struct Explaining {
    begun: Vec<(u64, Wanted)>,
    last: u64,
}

impl Explaining {
    /// A number for the next.
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// It was begun.
    pub(super) fn keep(&mut self, number: u64, wanted: Wanted) {
        self.begun.push((number, wanted));
    }

    /// It has come to its end. Whoever wanted it may have gone.
    pub(super) fn tell(&mut self, told: Told) {
        if let Some(at) = self.begun.iter().position(|(number, _)| *number == told.number) {
            let _ = self.begun.swap_remove(at).1.to.try_send(told);
        }
    }
}

impl Recursion {
    /// What clients get from here of a name in lower case, so that nobody is asked: in words.
    pub(crate) fn said_here(&self, name: &NameBuf, rtype: u16) -> Option<String> {
        let terms = self.current_terms();
        let (zone, kind, is_operators) = terms.policy.local.answers(name, rtype)?;
        let kind = format!("{kind:?}").to_lowercase();
        Some(match is_operators {
            true => format!("clients get what [[local-zone]] {zone} ({kind}) says, and nobody is asked"),
            false => format!(
                "{zone} is a special name: clients are answered from here, and nobody is asked (`not-special` lifts that)"
            ),
        })
    }

    /// Has a name found out anew by its worker. `name`: in lower case. Errors are for the operator.
    pub(crate) fn explain(&self, name: &NameBuf, rtype: u16) -> Result<Told, String> {
        let desks = self.desks.lock().clone();
        let (to, told) = sync_channel(1);
        let first = self.owner_of(name, desks.len());
        let mut all = desks.iter().cycle().skip(first).take(desks.len());
        let is_left =
            all.any(|desk| desk.leave(Errand::Explain(Wanted { name: name.clone(), rtype, to: to.clone() })));
        drop(to);
        if !is_left {
            return Err(
                "workers have not begun yet, or have too much to find out for operators already".into()
            );
        }
        told.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => format!("not found out within {} s", PATIENCE.as_secs()),
            RecvTimeoutError::Disconnected => "there is too much to find out already".into(),
        })
    }
}

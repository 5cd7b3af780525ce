//! Numbers, as the server gives them: asked for by one task, one after the other, and kept for a moment.

use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

use crate::pair::{Format, Request, TEXT_OCTETS_MAX};
use crate::serve::BOUNDS;

/// How old numbers may be that are given again: many who ask at once cost the server one answer.
const KEPT: Duration = Duration::from_millis(100);

/// A wish of one connection.
#[derive(Debug)]
struct Errand {
    format: Format,
    reply: oneshot::Sender<Rc<str>>,
}

/// Where connections ask.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(mpsc::Sender<Errand>);

/// The task that asks the server.
#[derive(Debug)]
pub(crate) struct Asking {
    pair: UnixStream,
    errands: mpsc::Receiver<Errand>,
    kept: [Option<(Instant, Rc<str>)>; 2],
}

/// Both.
pub(crate) fn numbers(pair: UnixStream) -> (Numbers, Asking) {
    // One for each connection: none has two.
    let (sender, errands) = mpsc::channel(BOUNDS.places);
    (Numbers(sender), Asking { pair, errands, kept: [None, None] })
}

impl Numbers {
    /// Gets them. `None`: the server does not give any.
    pub(crate) async fn read(&self, format: Format) -> Option<Rc<str>> {
        let (reply, text) = oneshot::channel();
        self.0.send(Errand { format, reply }).await.ok()?;
        text.await.ok()
    }
}

impl Asking {
    /// Asks as long as there is somebody to ask; the error is why that is over.
    pub(crate) async fn run(mut self) -> io::Result<()> {
        while let Some(Errand { format, reply }) = self.errands.recv().await {
            let at = usize::from(format == Format::Text);
            let is_new = |(when, _): &(Instant, Rc<str>)| when.elapsed() < KEPT;
            let text = match self.kept[at].take().filter(is_new) {
                Some(kept) => self.kept[at].insert(kept),
                None => {
                    let fresh = self.ask(format).await?;
                    self.kept[at].insert((Instant::now(), fresh))
                }
            };
            // Whoever asked may have gone.
            let _ = reply.send(Rc::clone(&text.1));
        }
        Ok(())
    }

    async fn ask(&mut self, format: Format) -> io::Result<Rc<str>> {
        self.pair.write_all(&[Request::Numbers(format).octet()]).await?;
        let length = self.pair.read_u32().await? as usize;
        if length > TEXT_OCTETS_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = vec![0; length];
        self.pair.read_exact(&mut text).await?;
        String::from_utf8(text).map(Rc::from).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

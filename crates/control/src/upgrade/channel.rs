//! The socket pair between two servers: words in pieces, descriptors in messages of their own before the word that they belong to.
//!
//! ```text
//! d  descriptors, up to DESCRIPTORS_A_MESSAGE        p  a piece of a word        w  its last piece
//! ```
//!
//! Message boundaries are kept (SOCK_SEQPACKET), so that no descriptor can go with octets that are not its own.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::STEP_WAIT;
use super::words::Word;

/// The system takes 253 (SCM_MAX_FD).
const DESCRIPTORS_A_MESSAGE: usize = 128;

/// 1,024 workers at 32 addresses over two transports.
const DESCRIPTORS_MAX: usize = 65_536;

/// Well below what a socket takes at once (`net.core.wmem_default`, 208 KiB).
const PIECE_OCTETS: usize = 32 << 10;

/// Longest word: some 200,000 zones added by command.
const WORD_OCTETS_MAX: usize = 16 << 20;

/// One end.
pub(super) struct Channel(OwnedFd);

/// What came, or that the other end is closed.
pub(super) type Received = Option<(Word, Vec<OwnedFd>)>;

impl Channel {
    /// Both ends, closed at the start of another program.
    pub(super) fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Channel::of(ours)?, theirs))
    }

    /// An end that was given to us; checks that it is one.
    pub(super) fn of(socket: OwnedFd) -> io::Result<Channel> {
        let is_unix = sockopt::socket_domain(&socket)? == AddressFamily::UNIX;
        if !is_unix || sockopt::socket_type(&socket)? != SocketType::SEQPACKET {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no socket of a pair"));
        }
        // The other side reads at once or is not well.
        sockopt::set_socket_timeout(&socket, Timeout::Send, Some(STEP_WAIT))?;
        Ok(Channel(socket))
    }

    /// The process at the other end.
    pub(super) fn peer(&self) -> io::Result<u32> {
        Ok(sockopt::socket_peercred(&self.0)?.pid.as_raw_nonzero().get() as u32)
    }

    /// Says something, with descriptors.
    pub(super) fn send(&self, word: &Word, descriptors: &[OwnedFd]) -> io::Result<()> {
        for some in descriptors.chunks(DESCRIPTORS_A_MESSAGE) {
            let some: Vec<BorrowedFd<'_>> = some.iter().map(AsFd::as_fd).collect();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_A_MESSAGE))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !control.push(SendAncillaryMessage::ScmRights(&some)) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            sendmsg(&self.0, &[IoSlice::new(b"d")], &mut control, SendFlags::NOSIGNAL)?;
        }
        let text = serde_json::to_vec(word)?;
        let last = text.len().div_ceil(PIECE_OCTETS).saturating_sub(1);
        for (at, piece) in text.chunks(PIECE_OCTETS).enumerate() {
            let kind = if at == last { b"w" } else { b"p" };
            let pieces = [IoSlice::new(kind), IoSlice::new(piece)];
            sendmsg(&self.0, &pieces, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    /// Waits for the next word; `wait`: how long at most, without it for ever. `TimedOut` says that the time is over.
    pub(super) fn receive(&self, wait: Option<Duration>) -> io::Result<Received> {
        let until = wait.map(|wait| Instant::now() + wait);
        let (mut word, mut descriptors) = (Vec::new(), Vec::new());
        let mut octets = vec![0; 1 + PIECE_OCTETS];
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sockopt::set_socket_timeout(&self.0, Timeout::Recv, left)?;
            let count = match self.receive_one(&mut octets, &mut descriptors) {
                Ok(count) => count,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                // It was closed with something of ours unread.
                Err(Errno::CONNRESET) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            };
            let Some((kind, piece)) = octets[..count].split_first() else { return Ok(None) };
            word.extend_from_slice(piece);
            if word.len() > WORD_OCTETS_MAX || descriptors.len() > DESCRIPTORS_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "what was handed over is too long"));
            }
            match *kind {
                b'd' | b'p' => {}
                b'w' => return Ok(Some((serde_json::from_slice(&word)?, descriptors))),
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "it speaks of something else")),
            }
        }
    }

    /// Receives one message; returns its octets.
    fn receive_one(&self, octets: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_A_MESSAGE))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let message =
            recvmsg(&self.0, &mut [IoSliceMut::new(octets)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(some) = message {
                descriptors.extend(some);
            }
        }
        // Descriptors for which there is no room in the table are left out by the system.
        let is_cut = message.flags.intersects(ReturnFlags::CTRUNC | ReturnFlags::TRUNC);
        if is_cut { Err(Errno::MFILE) } else { Ok(message.bytes) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn long_words_and_many_descriptors_arrive_in_order() {
        let (ours, theirs) = Channel::pair().unwrap();
        let theirs = Channel::of(theirs).unwrap();
        let files: Vec<std::fs::File> = (0..300).map(|_| tempfile::tempfile().unwrap()).collect();
        let lines = vec!["x".repeat(100_000); 3];
        let sent: Vec<OwnedFd> = files.iter().map(|file| file.try_clone().unwrap().into()).collect();
        let sender = std::thread::spawn(move || ours.send(&Word::Failed { lines }, &sent).map(|()| ours));
        let (word, received) = theirs.receive(Some(STEP_WAIT)).unwrap().unwrap();
        assert!(matches!(word, Word::Failed { lines } if lines.len() == 3 && lines[2].len() == 100_000));
        assert_eq!(received.len(), 300);
        for (file, descriptor) in files.iter().zip(received) {
            let inode = |file: &std::fs::File| file.metadata().unwrap().ino();
            assert_eq!(inode(file), inode(&descriptor.into()));
        }
        let ours = sender.join().unwrap().unwrap();
        assert_eq!(ours.peer().unwrap(), std::process::id());
        let late = theirs.receive(Some(Duration::from_millis(20))).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        drop(ours);
        assert!(theirs.receive(None).unwrap().is_none());
    }

    #[test]
    fn what_is_no_channel_or_no_word_is_refused() {
        assert!(Channel::of(tempfile::tempfile().unwrap().into()).is_err());
        let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(Channel::of(stream.into()).is_err());
        let (ours, theirs) = Channel::pair().unwrap();
        let mut theirs = std::fs::File::from(theirs);
        theirs.write_all(b"w{\"word\":\"other\"}").unwrap();
        assert!(ours.receive(Some(STEP_WAIT)).is_err());
        for octets in [&b"w"[..], b"nonsense"] {
            theirs.write_all(octets).unwrap();
            assert!(ours.receive(Some(STEP_WAIT)).is_err());
        }
    }
}

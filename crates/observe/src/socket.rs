//! Collectors at sockets: a stream of frames, which is agreed on before; datagrams, a line each.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, socket_with,
};

use crate::frames::{CONTROL_OCTETS_MAX, Control, ESCAPE};
use crate::output::{ANSWER_PATIENCE, Cut, Output, Units, Write};

/// A stream of frames.
pub(crate) struct Stream {
    to: Output,
    /// The socket: reading and writing are the same for both kinds.
    open: Option<File>,
}

impl Stream {
    pub(crate) fn new(to: &Output) -> Stream {
        Stream { to: to.clone(), open: None }
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    // Zero would be taken for no bound at all.
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn dial(to: &Output, until: Instant) -> io::Result<OwnedFd> {
    match to {
        Output::Unix(path) => {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            // Holds for connecting as well: a collector whose queue is full lets others wait.
            set_socket_timeout(&socket, Timeout::Send, Some(left(until)?))?;
            connect(&socket, &SocketAddrUnix::new(path.as_path())?)?;
            Ok(socket)
        }
        Output::Tcp(address) => connect_tcp(address, until).map(OwnedFd::from),
        Output::File(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn connect_tcp(address: &SocketAddr, until: Instant) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(address, left(until)?)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads a control frame of this kind.
fn expect(socket: &mut File, kind: Control, until: Instant) -> io::Result<()> {
    let mut read = |octets: &mut [u8]| -> io::Result<()> {
        let mut at = 0;
        while at < octets.len() {
            // Anew for each, as one octet now and then is not an answer.
            set_socket_timeout(&*socket, Timeout::Recv, Some(left(until)?))?;
            match socket.read(&mut octets[at..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(some) => at += some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    let (mut escape, mut length) = ([0; 4], [0; 4]);
    read(&mut escape)?;
    read(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    let no_answer = || io::Error::new(io::ErrorKind::InvalidData, "no answer of Frame Streams for dnstap");
    if escape != ESCAPE || length > CONTROL_OCTETS_MAX {
        return Err(no_answer());
    }
    let mut body = vec![0; length];
    read(&mut body)?;
    if kind.is(&body) { Ok(()) } else { Err(no_answer()) }
}

/// Whether the other side has gone. Without a look octets would be given to nobody, and counted as written, until the system has heard so.
fn is_gone(socket: &File) -> bool {
    let mut octet = [0; 1];
    match recv(socket, &mut octet[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, octets)) => octets == 0,
        Err(error) => error != Errno::AGAIN && error != Errno::INTR,
    }
}

impl Write for Stream {
    fn open(&mut self, until: Instant) -> io::Result<()> {
        self.open = None;
        let mut socket = File::from(dial(&self.to, until)?);
        set_socket_timeout(&socket, Timeout::Send, Some(left(until)?))?;
        socket.write_all(&Control::Ready.frame())?;
        expect(&mut socket, Control::Accept, until)?;
        socket.write_all(&Control::Start.frame())?;
        set_socket_timeout(&socket, Timeout::Send, Some(ANSWER_PATIENCE))?;
        self.open = Some(socket);
        Ok(())
    }

    fn write(&mut self, octets: &[u8]) -> Result<(), Cut> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let Some(socket) = self.open.as_mut().filter(|socket| !is_gone(socket)) else {
            self.open = None;
            return Err(Cut { kept: 0, error: gone(), is_closed: true });
        };
        let mut written = 0;
        while written < octets.len() {
            let error = match socket.write(&octets[written..]) {
                Ok(0) => gone(),
                Ok(some) => {
                    written += some;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            // A frame may be there in part: there is no going on, nor an end in order.
            self.open = None;
            let kept = Units::Frames.whole(&octets[..written]).1;
            return Err(Cut { kept, error, is_closed: true });
        }
        Ok(())
    }

    fn is_gone(&self) -> bool {
        self.open.as_ref().is_none_or(is_gone)
    }

    fn close(&mut self, until: Instant) {
        let Some(mut socket) = self.open.take() else { return };
        let mut stop = || {
            set_socket_timeout(&socket, Timeout::Send, Some(left(until)?))?;
            socket.write_all(&Control::Stop.frame())?;
            expect(&mut socket, Control::Finish, until)
        };
        // Whoever does not answer has had all there was.
        let _ = stop();
    }
}

/// Datagrams, a line each.
pub(crate) struct Datagrams {
    path: PathBuf,
    open: Option<UnixDatagram>,
}

impl Datagrams {
    pub(crate) fn new(path: &Path) -> Datagrams {
        Datagrams { path: path.to_owned(), open: None }
    }
}

impl Write for Datagrams {
    fn open(&mut self, _: Instant) -> io::Result<()> {
        self.open = None;
        let socket = UnixDatagram::unbound()?;
        socket.connect(&self.path)?;
        socket.set_write_timeout(Some(ANSWER_PATIENCE))?;
        self.open = Some(socket);
        Ok(())
    }

    fn write(&mut self, octets: &[u8]) -> Result<(), Cut> {
        let mut kept = 0;
        for line in octets.split_inclusive(|octet| *octet == b'\n') {
            let sent = match &self.open {
                Some(socket) => socket.send(line),
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            if let Err(error) = sent {
                self.open = None;
                return Err(Cut { kept, error, is_closed: true });
            }
            kept += line.len();
        }
        Ok(())
    }

    fn close(&mut self, _: Instant) {
        self.open = None;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    use std::os::unix::net::UnixListener;
    use std::thread;

    fn soon() -> Instant {
        Instant::now() + ANSWER_PATIENCE
    }

    #[test]
    fn a_stream_is_agreed_on_and_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let collector = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut read = |length: usize| {
                let mut octets = vec![0; length];
                socket.read_exact(&mut octets).unwrap();
                octets
            };
            assert_eq!(read(Control::Ready.frame().len()), Control::Ready.frame());
            socket.write_all(&Control::Accept.frame()).unwrap();
            let rest = [&Control::Start.frame()[..], b"\0\0\0\x01a", &Control::Stop.frame()].concat();
            let mut octets = vec![0; rest.len()];
            socket.read_exact(&mut octets).unwrap();
            socket.write_all(&Control::Finish.frame()).unwrap();
            assert_eq!(octets, rest);
        });
        let mut stream = Stream::new(&Output::Unix(path));
        stream.open(soon()).unwrap();
        assert!(stream.write(b"\0\0\0\x01a").is_ok());
        stream.close(soon());
        collector.join().unwrap();
    }

    #[test]
    fn who_does_not_answer_is_not_waited_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let mut stream = Stream::new(&Output::Unix(path));
        let begun = Instant::now();
        assert!(stream.open(begun + Duration::from_millis(200)).is_err());
        assert!(begun.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a_collector_that_has_gone_is_seen_before_anything_is_written() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Output::Tcp(listener.local_addr().unwrap());
        let collector = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut ready = vec![0; Control::Ready.frame().len()];
            socket.read_exact(&mut ready).unwrap();
            socket.write_all(&Control::Accept.frame()).unwrap();
            let mut start = vec![0; Control::Start.frame().len()];
            socket.read_exact(&mut start).unwrap();
        });
        let mut stream = Stream::new(&to);
        stream.open(soon()).unwrap();
        collector.join().unwrap();
        thread::sleep(Duration::from_millis(50));
        let cut = stream.write(b"\0\0\0\x01a").err().unwrap();
        assert_eq!((cut.kept, cut.is_closed), (0, true));
    }

    #[test]
    fn a_line_is_a_datagram() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let reader = UnixDatagram::bind(&path).unwrap();
        let mut datagrams = Datagrams::new(&path);
        datagrams.open(soon()).unwrap();
        assert!(datagrams.write(b"one\ntwo two\n").is_ok());
        let read = || {
            let mut octets = [0; 100];
            let length = reader.recv(&mut octets).unwrap();
            octets[..length].to_vec()
        };
        assert_eq!([read(), read()], [b"one\n".to_vec(), b"two two\n".to_vec()]);
        drop(reader);
        assert!(datagrams.write(b"three\n").err().is_some_and(|cut| cut.is_closed));
    }
}

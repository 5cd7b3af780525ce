//! What carries updates: a datagram socket, or one connection that is made again where the server closed it.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Settings;
use crate::{Error, mmsg};

/// Replies taken: any message.
const REPLY_OCTETS: usize = 65_535;
/// How long a connection may take to be made, or to take an update.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// The way to the server.
pub enum Wire {
    /// Connected to the server, never waits.
    Udp(UdpSocket),
    /// What has come of a reply stands in the buffer.
    Tcp(Option<TcpStream>, Vec<u8>),
}

impl Wire {
    /// Opens it; a connection is made at once.
    pub fn open(settings: &Settings) -> Result<Wire, Error> {
        let fault =
            |cause| Error::Socket { address: settings.server, action: "make a socket towards", cause };
        if settings.tcp {
            return Ok(Wire::Tcp(Some(connect(settings.server).map_err(fault)?), Vec::new()));
        }
        let socket = UdpSocket::bind(mmsg::any_like(settings.server)).map_err(fault)?;
        socket.connect(settings.server).map_err(fault)?;
        socket.set_nonblocking(true).map_err(fault)?;
        Ok(Wire::Udp(socket))
    }

    /// Sends an update; over TCP on a new connection where the last one is gone.
    pub fn send(&mut self, message: &[u8], settings: &Settings) -> io::Result<()> {
        match self {
            Wire::Udp(socket) => socket.send(message).map(|_| ()),
            Wire::Tcp(stream, buffer) => {
                // Below 65,536 octets: see MESSAGE_OCTETS_MAX.
                let framed = [&(message.len() as u16).to_be_bytes()[..], message].concat();
                match stream.as_mut().map(|open| open.write_all(&framed)) {
                    Some(Ok(())) => return Ok(()),
                    // Closed by the server just now: once more on another connection.
                    Some(Err(error)) if is_gone(&error) => buffer.clear(),
                    Some(Err(error)) => return Err(error),
                    None => {}
                }
                stream.insert(connect(settings.server)?).write_all(&framed)
            }
        }
    }

    /// Whether something came within this time.
    pub fn wait(&self, time: Duration) -> io::Result<bool> {
        let mut fds = match self {
            Wire::Udp(socket) => [PollFd::new(socket, PollFlags::IN)],
            Wire::Tcp(Some(stream), _) => [PollFd::new(stream, PollFlags::IN)],
            Wire::Tcp(None, _) => {
                std::thread::sleep(time);
                return Ok(false);
            }
        };
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        Ok(poll(&mut fds, Some(&time))? > 0)
    }

    /// Takes what has come; false where the server has closed the connection, which is then open no more.
    pub fn receive(&mut self, replies: &mut Vec<Vec<u8>>) -> io::Result<bool> {
        let mut room = vec![0; REPLY_OCTETS];
        match self {
            Wire::Udp(socket) => {
                let octets = socket.recv(&mut room)?;
                room.truncate(octets);
                replies.push(room);
            }
            Wire::Tcp(stream, buffer) => {
                let Some(open) = stream else { return Ok(true) };
                let octets = match open.read(&mut room) {
                    Ok(octets) => octets,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
                    Err(error) => return Err(error),
                };
                if octets == 0 {
                    (*stream, *buffer) = (None, Vec::new());
                    return Ok(false);
                }
                buffer.extend_from_slice(&room[..octets]);
                while let Some((length, rest)) = buffer.split_first_chunk() {
                    let length = usize::from(u16::from_be_bytes(*length));
                    let Some(reply) = rest.get(..length) else { break };
                    replies.push(reply.to_vec());
                    buffer.drain(..length + 2);
                }
            }
        }
        Ok(true)
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, CONNECT_MAX)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(CONNECT_MAX))?;
    stream.set_read_timeout(Some(CONNECT_MAX))?;
    Ok(stream)
}

//! TCP: a listener at each address; for each connection one to the server behind it, and a thread for each direction.
//!
//! Answers of a server come in the order of the questions, or nearly so: each waits for the time of the question that came so many before.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{LOOK, Shared, spawn};

/// Connections at a time, two threads each: more are closed at once.
const CONNECTIONS_MAX: usize = 256;
/// How long a connection may be silent: longer than any of the servers keeps one.
const SILENT: Duration = Duration::from_secs(60);

/// Makes the listeners where the calling thread is, and begins.
pub fn start(shared: Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let listener = |(way, address): (usize, SocketAddr)| {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok((way, listener))
    };
    let listeners = shared.fronts().map(listener).collect::<io::Result<Vec<_>>>()?;
    spawn("link-tcp", move || accept(&shared, &listeners))
}

fn accept(shared: &Arc<Shared>, listeners: &[(usize, TcpListener)]) {
    let open = Arc::new(AtomicUsize::new(0));
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
    while !shared.is_over() {
        let mut polled: Vec<PollFd<'_>> =
            listeners.iter().map(|(_, listener)| PollFd::new(listener, PollFlags::IN)).collect();
        if poll(&mut polled, Some(&wait)).is_err() {
            continue;
        }
        let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        for (_, (way, listener)) in ready.into_iter().zip(listeners).filter(|(is_ready, _)| *is_ready) {
            if let Ok((client, _)) = listener.accept()
                && open.load(Ordering::Relaxed) < CONNECTIONS_MAX
            {
                let (shared, open, way) = (Arc::clone(shared), Arc::clone(&open), *way);
                open.fetch_add(1, Ordering::Relaxed);
                let began = Instant::now();
                let work = move || {
                    // A connection that breaks is closed, whoever broke it.
                    let _ = carry(&shared, way, &client, began);
                    open.fetch_sub(1, Ordering::Relaxed);
                };
                let _ = spawn("link-stream", work);
            }
        }
    }
}

/// Carries messages of one connection until either end closes it.
fn carry(shared: &Arc<Shared>, way: usize, client: &TcpStream, began: Instant) -> io::Result<()> {
    let server = &TcpStream::connect(shared.ways[way].server)?;
    for stream in [client, server] {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(SILENT))?;
    }
    let (due, dues) = channel();
    thread::scope(|scope| {
        let back = scope.spawn(move || {
            let ended = answers(shared, server, client, &dues);
            let _ = client.shutdown(Shutdown::Both);
            ended
        });
        let ended = questions(shared, way, client, server, began, &due);
        let _ = server.shutdown(Shutdown::Both);
        drop(due);
        back.join().unwrap_or(Ok(())).and(ended)
    })
}

fn questions(
    shared: &Shared,
    way: usize,
    client: &TcpStream,
    server: &TcpStream,
    began: Instant,
    due: &Sender<Instant>,
) -> io::Result<()> {
    // The handshake took no time where it should have taken a round trip.
    let mut opened = Some(began + shared.round_trip);
    while let Some(query) = message(shared, client)? {
        let Some(delay) = shared.take(way, &query[2..], true) else { continue };
        let from = opened.take().map_or_else(Instant::now, |opened| opened.max(Instant::now()));
        if due.send(from + delay).is_err() {
            break;
        }
        (&mut &*server).write_all(&query)?;
    }
    Ok(())
}

fn answers(
    shared: &Shared,
    server: &TcpStream,
    client: &TcpStream,
    dues: &Receiver<Instant>,
) -> io::Result<()> {
    while let Some(answer) = message(shared, server)? {
        if let Ok(due) = dues.try_recv() {
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        (&mut &*client).write_all(&answer)?;
    }
    Ok(())
}

/// The next message with its length before it; `None` at the end, after a long silence, or when all is over.
fn message(shared: &Shared, from: &TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut whole = vec![0; 2];
    let (mut read, until) = (0, Instant::now() + SILENT);
    loop {
        match (&mut &*from).read(&mut whole[read..]) {
            Ok(0) => return Ok(None),
            Ok(octets) => read += octets,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if shared.is_over() || Instant::now() > until {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error),
        }
        if read == 2 && whole.len() == 2 {
            whole.resize(2 + usize::from(u16::from_be_bytes([whole[0], whole[1]])), 0);
        }
        if read > 2 && read == whole.len() {
            return Ok(Some(whole));
        }
    }
}

use std::io::{Read, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use super::*;
use crate::frames::Control;

const BOUNDS: FileBounds = FileBounds { octets_max: 1 << 30, files_max: 3, free_octets_min: 0 };

fn terms(output: Output) -> Terms {
    Terms { name: "sink", output, queue_octets: 1 << 20, bounds: BOUNDS }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

fn frame(filler: &mut Filler, octets: &[u8]) {
    filler.add(|block| {
        block.extend((octets.len() as u32).to_be_bytes());
        block.extend(octets);
    });
    filler.flush();
}

fn await_counts(sink: &Sink, what: impl Fn(&Counts) -> bool) -> Counts {
    let until = soon();
    loop {
        let counts = sink.counts();
        if what(&counts) {
            return counts;
        }
        assert!(Instant::now() < until, "{counts:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Says that it takes what comes.
fn accept(listener: &UnixListener) -> UnixStream {
    let (until, mut accepted) = (soon(), None);
    listener.set_nonblocking(true).unwrap();
    while accepted.is_none() {
        assert!(Instant::now() < until, "nobody has connected");
        accepted = listener.accept().ok();
        thread::sleep(Duration::from_millis(5));
    }
    let (mut socket, _) = accepted.unwrap();
    socket.set_nonblocking(false).unwrap();
    let mut ready = vec![0; Control::Ready.frame().len()];
    socket.read_exact(&mut ready).unwrap();
    socket.write_all(&Control::Accept.frame()).unwrap();
    let mut start = vec![0; Control::Start.frame().len()];
    socket.read_exact(&mut start).unwrap();
    socket
}

fn socket_in(folder: &tempfile::TempDir) -> (PathBuf, UnixListener) {
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    (path, listener)
}

#[test]
fn what_waits_is_written_before_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tap");
    let (sink, mut filler) = Sink::of_frames(&terms(Output::File(path.clone()))).unwrap();
    for letter in *b"abc" {
        frame(&mut filler, &[letter]);
    }
    sink.reopen();
    frame(&mut filler, b"d");
    let counts = sink.end(soon());
    assert_eq!((counts.made, counts.written, counts.opened), (4, 4, 2));
    let of = |frames: &[u8]| [&Control::Start.frame()[..], frames, &Control::Stop.frame()].concat();
    let before = std::fs::read(folder.path().join("tap.1")).unwrap();
    assert_eq!(before, of(b"\0\0\0\x01a\0\0\0\x01b\0\0\0\x01c"), "the file before the opening");
    assert_eq!(std::fs::read(path).unwrap(), of(b"\0\0\0\x01d"));
}

/// A collector that dies is connected to again, and what came meanwhile is counted.
#[test]
fn a_collector_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (path, listener) = socket_in(&folder);
    let (sink, mut filler) = Sink::of_frames(&terms(Output::Unix(path))).unwrap();
    let mut first = accept(&listener);
    frame(&mut filler, b"a");
    let mut read = [0; 5];
    first.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"\0\0\0\x01a");
    drop(first);
    frame(&mut filler, b"lost");
    await_counts(&sink, |counts| counts.dropped_at_sink == 1);
    let mut second = accept(&listener);
    let opened = await_counts(&sink, |counts| counts.opened == 2);
    assert_eq!(opened.failed, 1);
    frame(&mut filler, b"b");
    second.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"\0\0\0\x01b");
    let counts = sink.counts();
    assert_eq!(counts.made, 3);
    drop(second);
    let counts = sink.end(soon());
    assert_eq!(counts.written + counts.dropped_at_sink + counts.dropped_at_queue, counts.made);
}

/// One that comes back while nothing is to be written gets what is written then.
#[test]
fn a_collector_comes_back_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let (path, listener) = socket_in(&folder);
    let (sink, mut filler) = Sink::of_frames(&terms(Output::Unix(path))).unwrap();
    drop(accept(&listener));
    let mut second = accept(&listener);
    await_counts(&sink, |counts| counts.opened == 2);
    frame(&mut filler, b"a");
    let mut read = [0; 5];
    second.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"\0\0\0\x01a");
    assert_eq!(sink.counts().dropped_at_sink, 0);
    drop(second);
    sink.end(soon());
}

/// A collector that reads nothing costs what there is no room for; the side that fills never waits.
#[test]
fn a_collector_stalls() {
    let folder = tempfile::tempdir().unwrap();
    let (path, listener) = socket_in(&folder);
    let (sink, mut filler) = Sink::of_frames(&terms(Output::Unix(path))).unwrap();
    let _stalls = accept(&listener);
    await_counts(&sink, |counts| counts.opened == 1);
    let (begun, count) = (Instant::now(), 10_000);
    for _ in 0..count {
        filler.add(|block| {
            block.extend(996_u32.to_be_bytes());
            block.extend([0; 996]);
        });
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "it waited for {:?}", begun.elapsed());
    let counts = sink.counts();
    assert!(counts.dropped_at_queue > count / 2, "{counts:?}");
    assert!(sink.queued_octets() <= 1 << 20);
    let begun = Instant::now();
    sink.end(begun + Duration::from_millis(300));
    assert!(begun.elapsed() < Duration::from_secs(2), "the end does not wait for it");
}

/// What was not written when nobody waited any more is lost, and counted so: a collector that reads later does not get it.
#[test]
fn what_is_given_up_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (path, listener) = socket_in(&folder);
    let (sink, mut filler) = Sink::of_frames(&terms(Output::Unix(path))).unwrap();
    let mut stalls = accept(&listener);
    await_counts(&sink, |counts| counts.opened == 1);
    for _ in 0..1000 {
        filler.add(|block| {
            block.extend(996_u32.to_be_bytes());
            block.extend([0; 996]);
        });
    }
    filler.flush();
    let counts = sink.end(Instant::now() + Duration::from_millis(300));
    assert!(counts.dropped_at_sink > 100, "{counts:?}");
    assert_eq!(counts.made, counts.written + counts.dropped_at_queue + counts.dropped_at_sink);
    let mut read = Vec::new();
    let _ = stalls.read_to_end(&mut read);
    // The block that was being written may be whole or not.
    let frames = read.len() as u64 / 1000;
    assert!(
        frames <= counts.written + crate::queue::BLOCK_OCTETS as u64 / 1000 + 1,
        "{frames} of {counts:?}"
    );
}

#[test]
fn there_is_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (sink, mut filler) = Sink::of_frames(&terms(Output::Unix(folder.path().join("none")))).unwrap();
    for _ in 0..3 {
        frame(&mut filler, b"a");
    }
    let counts = await_counts(&sink, |counts| counts.dropped_at_sink == 3);
    assert!(counts.failed >= 1);
    sink.end(soon());
}

#[test]
fn lines_are_written_to_a_file_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::fs::write(&path, "before\n").unwrap();
    let (sink, mut filler) = Sink::of_lines(&terms(Output::File(path.clone()))).unwrap();
    filler.add(|block| block.extend(b"line\n"));
    filler.flush();
    assert_eq!(sink.end(soon()).written, 1);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "before\nline\n");
    assert!(Sink::of_lines(&terms(Output::Tcp("127.0.0.1:1".parse().unwrap()))).is_err());
}

//! `io_uring`: one request that brings packets until told otherwise (multishot `recvmsg`, Linux 6.0), into buffers
//! that a ring offers to the kernel; a `sendmsg` request for each reply; one system call hands over all that was
//! prepared and fetches all that is done.
//!
//! ```text
//! buffer   | what the kernel says of the packet | name of the asker | packet, then reply |
//!            16                                   128                 ANSWER_OCTETS_MAX
//! owner    kernel --received--> program --sendmsg--> sending --sent--> kernel
//!                                  `------ ignored, relayed ------------^
//! ```
//!
//! A buffer is touched by its owner only ([`Owner`]); each completion of the kernel says what changes hands.
#![allow(unsafe_code)] // requests to the kernel carry pointers; the queue of free buffers is shared with it

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    io, mem,
    net::SocketAddr,
    os::fd::AsRawFd,
    ptr::NonNull,
    slice,
    sync::atomic::{AtomicU16, Ordering},
};

use io_uring::{
    IoUring, cqueue, opcode, squeue,
    types::{BufRingEntry, CancelBuilder, Fd, RecvMsgOut, SubmitArgs, Timespec},
};

use super::{
    STOP_CHECK_MS,
    reply::{Fate, QR},
    worker::Worker,
};
use crate::{Error, mmsg::from_sockaddr, sizes::ANSWER_OCTETS_MAX};

/// Buffers for each packet of a batch: while one batch is sent the next comes in, and twice that is room for a
/// burst. Fewer, and the receiving request ends for want of buffers; more costs cache.
const BUFFERS_A_SLOT: usize = 4;
/// Octets before the name of the asker (`struct io_uring_recvmsg_out`).
const OUT_OCTETS: usize = 16;
/// Octets kept for that name.
const NAME_OCTETS: usize = mem::size_of::<libc::sockaddr_storage>();
/// Where the packet begins.
const PACKET_START: usize = OUT_OCTETS + NAME_OCTETS;
/// A buffer in use.
const BUFFER_OCTETS: usize = PACKET_START + ANSWER_OCTETS_MAX;
/// Distance between buffers, a cache line more, as in [`crate::mmsg::Batch`].
const STRIDE: usize = BUFFER_OCTETS.next_multiple_of(64) + 64;
/// The one group of buffers.
const GROUP: u16 = 0;
/// Completions of the receiving request, of the wait for the upstream, and of cancelling; those of replies carry
/// the number of their buffer.
const RECEIVE: u64 = 1 << 32;
const UPSTREAM: u64 = 2 << 32;

// Names in buffers are read in place.
const _: () = assert!(
    STRIDE.is_multiple_of(64) && OUT_OCTETS.is_multiple_of(mem::align_of::<libc::sockaddr_storage>())
);

/// Complains where the system has no io_uring, one that is too old, or forbids it.
pub(super) fn probe() -> Result<(), Error> {
    Ring::new(1).map(drop).map_err(|cause| Error::IoUring { cause })
}

/// Serves until stopped.
pub(super) fn run(worker: &mut Worker) -> Result<(), Error> {
    let mut ring = Ring::new(worker.batch).map_err(|cause| Error::IoUring { cause })?;
    let fault = worker.fault("wait on");
    // Requests on a socket that does not block would fail where they should wait.
    worker.socket.set_nonblocking(false).map_err(&fault)?;
    while !worker.is_stopped() {
        ring.arm(worker);
        ring.submit_and_wait().map_err(&fault)?;
        let has_replies = ring.complete(worker)?;
        worker.relay_turn(has_replies);
    }
    Ok(())
}

/// Who may touch a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Free for the next packet; the kernel may write it at any time.
    Kernel,
    /// Holds a packet that is looked at.
    Program,
    /// Is read by a request to send.
    Sending,
}

/// The rings of one thread and the memory they refer to.
struct Ring {
    uring: IoUring,
    buffers: Buffers,
    /// What the receiving request asks for: names, no control data. Read by the kernel while that request runs.
    wanted: Box<libc::msghdr>,
    /// A header and a vector for the reply in each buffer, read by the kernel while it is sent.
    headers: Box<[libc::msghdr]>,
    vectors: Box<[libc::iovec]>,
    /// Requests that the kernel has and may still complete.
    in_flight: usize,
    is_receiving: bool,
    is_watching: bool,
}

impl Ring {
    fn new(batch: usize) -> io::Result<Ring> {
        let count = (batch * BUFFERS_A_SLOT).next_power_of_two();
        // Each buffer has one request at most, and there are two more. One thread only, which runs what completes
        // when it asks for it (Linux 6.1): no interrupts of its work, and no buffer changes but inside a call.
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build((count + 2).next_power_of_two() as u32)?;
        let buffers = Buffers::new(count);
        // SAFETY: the memory of the entries is page-aligned, holds `count` of them (a power of two of at most
        // 2^15, as batches are), and lives until after `uring` is closed (`Drop` of this type).
        unsafe {
            let start = buffers.entries.as_ptr() as u64;
            uring.submitter().register_buf_ring_with_flags(start, count as u16, GROUP, 0)?;
        }
        // SAFETY: plain C structures of integers and pointers, valid when all octets are zero.
        let (header, vector): (libc::msghdr, libc::iovec) = unsafe { (mem::zeroed(), mem::zeroed()) };
        let mut wanted = Box::new(header);
        wanted.msg_namelen = NAME_OCTETS as u32;
        Ok(Ring {
            uring,
            buffers,
            wanted,
            headers: vec![header; count].into(),
            vectors: vec![vector; count].into(),
            in_flight: 0,
            is_receiving: false,
            is_watching: false,
        })
    }

    /// Asks for packets, and for news of the upstream, where that is not asked for already.
    fn arm(&mut self, worker: &Worker) {
        if !self.is_receiving {
            self.is_receiving = true;
            let socket = Fd(worker.socket.as_raw_fd());
            let request = opcode::RecvMsgMulti::new(socket, &raw const *self.wanted, GROUP);
            self.push(request.build().user_data(RECEIVE));
        }
        if let Some(upstream) = worker.upstream
            && !self.is_watching
        {
            self.is_watching = true;
            let request = opcode::PollAdd::new(Fd(upstream.as_raw_fd()), libc::POLLIN as u32).multi(true);
            self.push(request.build().user_data(UPSTREAM));
        }
    }

    /// Puts a request into the queue.
    fn push(&mut self, request: squeue::Entry) {
        // SAFETY: requests come from `arm` and `send` only. They point to `wanted`, or to a header, a vector and a
        // buffer of this ring, none of which is moved, written or freed while the request runs: the boxes are not
        // replaced, the buffer's owner is `Sending`, and `Drop` frees nothing before all requests are completed.
        let pushed = unsafe { self.uring.submission().push(&request) };
        pushed.expect("there is a place for each buffer and two more");
        self.in_flight += 1;
    }

    /// Hands over what is prepared and waits for a completion, not longer than until it is time to look whether
    /// to stop.
    fn submit_and_wait(&self) -> io::Result<()> {
        let timeout = Timespec::new().nsec(STOP_CHECK_MS as u32 * 1_000_000);
        match self.uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout)) {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Time over, a signal, or completions to be fetched first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// The next thing that is done.
    fn next(&mut self) -> Option<cqueue::Entry> {
        let completion = self.uring.completion().next()?;
        self.in_flight -= usize::from(!cqueue::more(completion.flags()));
        Some(completion)
    }

    /// Handles all completions; returns whether the upstream has something.
    fn complete(&mut self, worker: &mut Worker) -> Result<bool, Error> {
        let mut has_replies = false;
        while let Some(completion) = self.next() {
            let (result, goes_on) = (completion.result(), cqueue::more(completion.flags()));
            match completion.user_data() {
                RECEIVE => {
                    self.is_receiving = goes_on;
                    match cqueue::buffer_select(completion.flags()) {
                        Some(buffer) => self.received(worker, buffer.into(), result),
                        // A kernel that has rings and not this request.
                        None if result == -libc::EINVAL => {
                            return Err(Error::IoUring { cause: io::Error::from_raw_os_error(libc::EINVAL) });
                        }
                        // Buffers ran out, or an error that an earlier reply met: asked for again.
                        None => {}
                    }
                }
                UPSTREAM => {
                    self.is_watching = goes_on;
                    has_replies = true;
                }
                buffer => {
                    match result {
                        0.. => worker.counters.sent += 1,
                        _ => worker.counters.dropped += 1,
                    }
                    self.buffers.give_back(buffer as usize, Owner::Sending);
                }
            }
        }
        self.buffers.publish();
        Ok(has_replies)
    }

    /// Looks at a packet that came into `buffer`, of which the kernel filled `octets`.
    fn received(&mut self, worker: &mut Worker, buffer: usize, octets: i32) {
        self.buffers.take(buffer);
        worker.counters.received += 1;
        let filled = usize::try_from(octets).unwrap_or(0).min(BUFFER_OCTETS);
        let Ok(packet) = RecvMsgOut::parse(&self.buffers.octets(buffer)[..filled], &self.wanted) else {
            worker.counters.ignored += 1;
            return self.buffers.give_back(buffer, Owner::Program);
        };
        let (name_octets, here) = (packet.name_data().len(), packet.payload_data().len());
        match worker.judge.fate(packet.payload_data(), packet.incoming_payload_len() as usize) {
            Fate::Reply(size) => self.send(worker, buffer, name_octets, size.min(ANSWER_OCTETS_MAX)),
            Fate::Relay => {
                if let Some(asker) = self.buffers.peer(buffer) {
                    let query = &mut self.buffers.octets_mut(buffer)[PACKET_START..][..here];
                    worker.forward(query, asker);
                }
                self.buffers.give_back(buffer, Owner::Program);
            }
            Fate::Ignore => {
                worker.counters.ignored += 1;
                self.buffers.give_back(buffer, Owner::Program);
            }
        }
    }

    /// Requests that the packet in `buffer` go back as a reply of `size` octets.
    fn send(&mut self, worker: &Worker, buffer: usize, name_octets: usize, size: usize) {
        let octets = self.buffers.octets_mut(buffer);
        octets[PACKET_START + 2] |= QR;
        let (name, packet) = octets.split_at_mut(PACKET_START);
        let (vector, header) = (&mut self.vectors[buffer], &mut self.headers[buffer]);
        *vector = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: size.min(packet.len()) };
        header.msg_name = name[OUT_OCTETS..].as_mut_ptr().cast();
        header.msg_namelen = name_octets.min(NAME_OCTETS) as u32;
        header.msg_iov = vector;
        header.msg_iovlen = 1;
        let request = opcode::SendMsg::new(Fd(worker.socket.as_raw_fd()), &raw const *header);
        self.buffers.owners[buffer] = Owner::Sending;
        self.push(request.build().user_data(buffer as u64));
    }
}

impl Drop for Ring {
    /// Ends all requests before the memory they point to goes.
    fn drop(&mut self) {
        // What was prepared and never handed over is completed like the rest; 64 turns are far more than it takes.
        for _ in 0..64 {
            if self.in_flight == 0 {
                return;
            }
            let _ = self.uring.submitter().submit();
            let _ = self.uring.submitter().register_sync_cancel(None, CancelBuilder::any());
            let _ = self.submit_and_wait();
            while self.next().is_some() {}
        }
        // Requests that will not end keep what they point to: some megabytes until the process ends.
        mem::forget(mem::replace(&mut self.buffers, Buffers::new(1)));
        mem::forget(mem::take(&mut self.headers));
        mem::forget(mem::take(&mut self.vectors));
        // SAFETY: a plain C structure of integers and pointers, valid when all octets are zero.
        mem::forget(mem::replace(&mut self.wanted, Box::new(unsafe { mem::zeroed() })));
    }
}

/// Buffers and the queue that offers them to the kernel, in memory that stays where it is.
struct Buffers {
    /// The queue: `count` entries in whole pages. Its tail lies in a field of the first entry that is not used
    /// otherwise, and is written by [`Buffers::publish`] alone.
    entries: NonNull<BufRingEntry>,
    /// `count` buffers, [`STRIDE`] apart.
    start: NonNull<u8>,
    owners: Box<[Owner]>,
    /// Where the next entry goes, counted without end.
    tail: u16,
}

impl Buffers {
    /// `count` buffers, a power of two up to 2^15, all offered to the kernel.
    fn new(count: usize) -> Buffers {
        let (entries, octets) = Buffers::layouts(count);
        // SAFETY: neither layout is empty.
        let (entries_start, start) = unsafe { (alloc_zeroed(entries), alloc_zeroed(octets)) };
        let Some(entries) = NonNull::new(entries_start.cast()) else { handle_alloc_error(entries) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(octets) };
        let mut buffers = Buffers { entries, start, owners: vec![Owner::Program; count].into(), tail: 0 };
        for buffer in 0..count {
            // The filler of replies that are longer than their query.
            buffers.octets_mut(buffer)[PACKET_START..].fill(b'z');
            buffers.give_back(buffer, Owner::Program);
        }
        buffers.publish();
        buffers
    }

    /// Entries want a page to begin at; buffers a cache line.
    fn layouts(count: usize) -> (Layout, Layout) {
        let of = |octets, align| Layout::from_size_align(octets, align).expect("a few megabytes at most");
        (of(count * mem::size_of::<BufRingEntry>(), 4096), of(count * STRIDE, 64))
    }

    /// Notes that the kernel has put a packet into `buffer`.
    fn take(&mut self, buffer: usize) {
        assert_eq!(self.owners[buffer], Owner::Kernel, "the kernel fills what it was offered");
        self.owners[buffer] = Owner::Program;
    }

    /// Puts `buffer` back into the queue; seen by the kernel with the next [`Buffers::publish`].
    fn give_back(&mut self, buffer: usize, from: Owner) {
        assert_eq!(self.owners[buffer], from, "given back by who has it");
        self.owners[buffer] = Owner::Kernel;
        let place = usize::from(self.tail) & (self.owners.len() - 1);
        // SAFETY: `place` is below the count and `buffer` too (the access to `owners` has checked), so both
        // pointers are inside their memory. The kernel reads entries from its head up to the published tail; no
        // more than `count` are ever offered, so this place is not among them. Only address, length and number
        // are written, so that the tail in the first entry stays as it is.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(place);
            entry.set_addr(self.start.as_ptr().add(buffer * STRIDE) as u64);
            entry.set_len(BUFFER_OCTETS as u32);
            entry.set_bid(buffer as u16);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Shows the kernel all that was given back.
    fn publish(&self) {
        // SAFETY: `entries` is the first entry of the queue, zeroed or written, so its tail field is inside our
        // memory and aligned for u16; the kernel only reads it, atomically.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// A buffer that holds a packet.
    fn octets(&self, buffer: usize) -> &[u8] {
        assert_eq!(self.owners[buffer], Owner::Program, "nobody else touches it");
        // SAFETY: `buffer` is below the count, so these octets are inside the memory, initialised at its making;
        // nobody writes them while the program owns the buffer (asserted) and `self` is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr().add(buffer * STRIDE), BUFFER_OCTETS) }
    }

    /// The same, to be written.
    fn octets_mut(&mut self, buffer: usize) -> &mut [u8] {
        assert_eq!(self.owners[buffer], Owner::Program, "nobody else touches it");
        // SAFETY: as in `octets`, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().add(buffer * STRIDE), BUFFER_OCTETS) }
    }

    /// Who the packet in `buffer` came from.
    fn peer(&self, buffer: usize) -> Option<SocketAddr> {
        let name = self.octets(buffer)[OUT_OCTETS..PACKET_START].as_ptr().cast();
        // SAFETY: those are as many octets as a sockaddr_storage has, aligned for it (asserted at the constants),
        // and any octets are a valid one.
        from_sockaddr(unsafe { &*name })
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let (entries, octets) = Buffers::layouts(self.owners.len());
        // SAFETY: both were made with these layouts, and no request is left that could touch them: `Ring` drops
        // this only then.
        unsafe {
            dealloc(self.entries.as_ptr().cast(), entries);
            dealloc(self.start.as_ptr(), octets);
        }
    }
}

//! Counters: each worker writes its own, anyone reads them.
//!
//! Rule: only the thread of the worker that owns a [`Counters`] adds to it, so a plain load and store suffice and
//! no atomic read-modify-write is paid per query. Readers may see counts of one batch partly added; each count by
//! itself only grows.

use std::sync::atomic::{AtomicU64, Ordering};

/// One number that only its owner changes.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `amount`. To be called by the owner only: two writers would lose counts.
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// Takes `amount` away again, for counts of what exists now.
    pub(crate) fn subtract(&self, amount: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(amount), Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Declares the counters once: the live ones of a worker, and the values read from them.
macro_rules! counters {
    ($($(#[doc = $help:literal])+ $name:ident,)+) => {
        /// The live counters of one worker, on cache lines of their own (128: neighbours are fetched in pairs).
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)+
        }

        /// What one worker has counted since it started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct WorkerCounters {
            $($(#[doc = $help])+ pub $name: u64,)+
        }

        impl Counters {
            /// Reads all counters.
            pub(crate) fn read(&self) -> WorkerCounters {
                WorkerCounters { $($name: self.$name.read(),)+ }
            }
        }

        impl WorkerCounters {
            /// Adds the counts of another worker.
            #[must_use]
            pub fn sum(self, other: Self) -> Self {
                Self { $($name: self.$name.wrapping_add(other.$name),)+ }
            }

            /// Name, help text and value of each counter, for whoever prints or exports them.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), concat!($($help),+).trim(), self.$name),)+].into_iter()
            }
        }
    };
}

counters! {
    /// Datagrams handed to the service.
    udp_queries,
    /// Datagrams sent.
    udp_responses,
    /// Receive calls that brought at least one datagram: `udp_queries` divided by this is the batch size.
    udp_batches,
    /// Queries over UDP that the service chose not to answer.
    udp_unanswered,
    /// Datagrams longer than a receive buffer, dropped.
    udp_truncated,
    /// Datagrams from port 0, to which no response can go, dropped.
    udp_port_zero,
    /// Datagrams whose sender's address the system did not tell, dropped.
    udp_no_address,
    /// Responses over UDP that the system refused to send.
    udp_send_failures,
    /// Responses over UDP dropped because the send buffer stayed full.
    udp_send_overflows,
    /// Datagrams the system dropped because a receive buffer was full (each socket counts 32 bits).
    udp_receive_overflows,
    /// Receive calls on UDP sockets that failed.
    udp_receive_errors,
    /// Connections accepted.
    tcp_accepted,
    /// Connections open now.
    tcp_open,
    /// Connections refused or displaced because the limit of all connections was reached.
    tcp_limit_all,
    /// Connections refused because their client's prefix had as many as it may.
    tcp_limit_prefix,
    /// Connections closed because no query was completed within the idle time.
    tcp_idle_closed,
    /// Connections closed because their client did not read its responses within the idle time.
    tcp_slow_reader_closed,
    /// Connections closed at the limit of their lifetime or of their queries.
    tcp_worn_out,
    /// Connections closed by a message shorter than a header.
    tcp_malformed,
    /// Connections closed because too many octets waited for clients that do not read.
    tcp_memory_closed,
    /// Connections that ended by an error of the system, a reset for instance.
    tcp_errors,
    /// Times accepting had to pause because descriptors or memory ran out.
    tcp_accept_pauses,
    /// Queries over TCP handed to the service.
    tcp_queries,
    /// Responses over TCP.
    tcp_responses,
    /// Queries over TCP that the service chose not to answer.
    tcp_unanswered,
    /// Queries that are answered later: each ends as replied, streamed, dropped, gone or overflowed.
    later_tickets,
    /// Tickets open now.
    later_open,
    /// Queries that could not be answered later because a bound was reached.
    later_refused,
    /// Tickets replied to while their client waited.
    later_replied,
    /// Tickets answered by many messages.
    later_streamed,
    /// Tickets dropped, or replied to with nothing.
    later_dropped,
    /// Tickets used or dropped after their client was gone.
    later_gone,
    /// Replies dropped because too many octets waited at the worker.
    later_overflowed,
    /// Tickets whose clients were given up because no reply came in a minute.
    later_expired,
    /// Responses of many messages that began.
    streams_begun,
    /// Responses of many messages that were complete.
    streams_completed,
    /// Responses of many messages that could not begin because a bound was reached.
    streams_refused,
    /// Responses of many messages given up by whoever made them, by a panic of theirs too; their connections were closed.
    streams_aborted,
    /// Responses of many messages whose client was too slow, or that waited for too long; their connections were closed.
    streams_too_slow,
    /// Times the service panicked; the batch was lost, the worker went on with a new one.
    service_panics,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_summed_and_listed() {
        let counters = Counters::default();
        counters.udp_queries.add(5);
        counters.tcp_open.add(3);
        counters.tcp_open.subtract(1);
        let twice = counters.read().sum(counters.read());
        assert_eq!((twice.udp_queries, twice.tcp_open), (10, 4));
        let listed: Vec<_> = twice.each().collect();
        assert!(listed.contains(&("udp_queries", "Datagrams handed to the service.", 10)), "{listed:?}");
        assert_eq!(listed.iter().map(|(_, _, value)| value).sum::<u64>(), 14);
    }

    #[test]
    fn workers_do_not_share_cache_lines() {
        assert_eq!(align_of::<Counters>(), 128);
    }
}

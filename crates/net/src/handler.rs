//! The contract between sockets and whatever answers: octets in, octets out.
//!
//! A worker owns one [`Handler`] value and calls it only from its own thread, so the value needs no lock.
//! Datagrams that one system call brought form a batch; so do the queries that one read found in a TCP
//! connection. Between `begin_batch` and `end_batch` the handler may hold a snapshot of the data it serves; a
//! worker never waits in between.

use std::net::SocketAddr;

/// Which kind of transport brought a query: the response may be cut (UDP) or may not (TCP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A datagram: its sender's address is not proved, and a long response must set TC.
    Udp,
    /// A connection with two octets of length before each message (RFC 1035 4.2.2).
    Tcp,
}

/// What is known of a query besides its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// How it came.
    pub transport: Transport,
    /// Who asked, as far as the transport tells. Only on a dual-stack socket that a service manager opened does an
    /// IPv4 client show as a mapped address.
    pub client: SocketAddr,
    /// The address it was sent to; the response leaves from there.
    pub local: SocketAddr,
}

/// Answers queries. One value per worker; called only from that worker's thread.
pub trait Handler: Send {
    /// Before the first query of a batch: the place to load a snapshot pointer.
    fn begin_batch(&mut self);

    /// Answers `query` into `response`; returns how many octets of it to send, 0 to send nothing.
    ///
    /// `query`: at most [`crate::UDP_QUERY_OCTETS_MAX`] octets over UDP and 65,535 over TCP, never judged before,
    /// possibly shorter than a header over UDP. `response`: its length is the most that may be sent, its content
    /// is left over from earlier queries.
    fn handle(&mut self, query: &[u8], context: &Context, response: &mut [u8]) -> usize;

    /// Answers all datagrams of one batch. The default calls [`Handler::handle`] for each in order.
    ///
    /// A handler that can parse all queries and prefetch what they need before it looks anything up implements
    /// this instead. Responses may be written in any order.
    fn handle_batch(&mut self, batch: &mut Batch<'_>) {
        for index in 0..batch.len() {
            let Exchange { query, context, response } = batch.exchange(index);
            let octets = self.handle(query, context, response);
            batch.set_response_octets(index, octets);
        }
    }

    /// After the last query of a batch, before the worker may wait: the snapshot may be let go.
    fn end_batch(&mut self);
}

/// The datagrams of one batch and the space for their responses.
pub struct Batch<'a> {
    /// All receive buffers, one after the other.
    pub(crate) queries: &'a [u8],
    /// Per query: where it lies in `queries`.
    pub(crate) spans: &'a [Span],
    /// Per query: who sent it where.
    pub(crate) contexts: &'a [Context],
    /// All response buffers, `response_stride` octets apart, the first `response_octets_max` of each usable.
    pub(crate) responses: &'a mut [u8],
    pub(crate) response_stride: usize,
    pub(crate) response_octets_max: usize,
    /// Per query: octets to send, 0 for none.
    pub(crate) response_octets: &'a mut [u32],
}

/// Where a query lies within the receive buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) octets: u32,
}

/// One query of a batch with the space for its response.
pub struct Exchange<'a> {
    /// The message as received.
    pub query: &'a [u8],
    /// Who sent it where, and how.
    pub context: &'a Context,
    /// Where to write the response.
    pub response: &'a mut [u8],
}

impl Batch<'_> {
    /// How many queries there are, 1 to the batch size.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The octets of query `index`, which is below `len()`.
    #[must_use]
    pub fn query(&self, index: usize) -> &[u8] {
        let span = self.spans[index];
        &self.queries[span.start as usize..][..span.octets as usize]
    }

    /// Who sent query `index` where.
    #[must_use]
    pub fn context(&self, index: usize) -> &Context {
        &self.contexts[index]
    }

    /// Query `index` and the space for its response, borrowed together.
    pub fn exchange(&mut self, index: usize) -> Exchange<'_> {
        let span = self.spans[index];
        Exchange {
            query: &self.queries[span.start as usize..][..span.octets as usize],
            context: &self.contexts[index],
            response: &mut self.responses[index * self.response_stride..][..self.response_octets_max],
        }
    }

    /// Says that the first `octets` octets of response `index` are to be sent; 0 sends nothing.
    ///
    /// A count beyond the response buffer is a fault of the handler and sends nothing.
    pub fn set_response_octets(&mut self, index: usize, octets: usize) {
        debug_assert!(octets <= self.response_octets_max, "a response is longer than its buffer");
        let fits = octets <= self.response_octets_max;
        self.response_octets[index] = if fits { octets as u32 } else { 0 };
    }
}

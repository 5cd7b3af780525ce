//! What a worker counts: each writes its own, anyone reads them.

sync::counters! {
    /// The live counters of one worker.
    pub(crate) live Counters;
    /// What one worker has counted since it started.
    pub values WorkerCounters;

    /// Datagrams handed to the service.
    udp_queries,
    /// Of these from clients with IPv6.
    udp_ipv6_queries,
    /// Datagrams sent.
    udp_responses,
    /// Receive calls that brought at least one datagram: `udp-queries` divided by this is the batch size.
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
    /// Datagrams the system dropped because a receive buffer was full.
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
    /// Connections closed to make room for others because descriptors or memory ran out.
    tcp_exhausted,
    /// Times accepting had to pause because descriptors or memory ran out.
    tcp_accept_pauses,
    /// Queries over TCP handed to the service.
    tcp_queries,
    /// Of these from clients with IPv6.
    tcp_ipv6_queries,
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
    /// Datagrams sent to other servers.
    upstream_queries,
    /// Datagrams to other servers that were not sent: no route, a full buffer, no socket.
    upstream_unsent,
    /// UDP sockets opened to ask through.
    upstream_opened,
    /// UDP sockets to ask through that are open now.
    upstream_sockets,
    /// Datagrams that came to them, answers or not.
    upstream_arrivals,
    /// Streams to other servers that were begun.
    upstream_streams_begun,
    /// Streams to other servers that are there now.
    upstream_streams_open,
    /// Messages that came by them.
    upstream_messages,
    /// Queries that were lost with their batch when the service panicked, or before another was made. Those over TCP are counted nowhere else.
    queries_lost,
    /// Times the service panicked; the batch was lost, the worker went on with a new one.
    service_panics,
}

impl WorkerCounters {
    /// With so many replies that were sent past the worker: it is told of each when it is awake for something else, and counts none of them.
    pub(crate) fn with_sent(self, sent: u64) -> WorkerCounters {
        WorkerCounters {
            udp_responses: self.udp_responses + sent,
            later_replied: self.later_replied + sent,
            later_open: self.later_open.saturating_sub(sent),
            ..self
        }
    }
}

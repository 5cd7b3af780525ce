//! Sockets and threads: octets in, octets out, through a handler.

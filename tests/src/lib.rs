//! Tests through the program, beside other servers.

//! NOTIFY from others (RFC 1996): a zone of theirs has changed.

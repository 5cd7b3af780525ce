//! What was acknowledged stays: the write-ahead log of all zones, its checkpoints, and the history of each zone for IXFR.
//!
//! It knows names, serials and octets of records, and nothing of what zones are made of. Design: `docs/design/journal.md`.

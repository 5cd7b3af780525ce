//! Snapshots that readers load without waiting, and their reclamation.

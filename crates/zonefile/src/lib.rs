//! Master files: presentation format to records and back.

//! One query and one snapshot to one response.

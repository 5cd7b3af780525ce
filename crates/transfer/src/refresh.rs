//! When which zone is asked for.

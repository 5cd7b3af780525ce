//! Everything slow: settings, files, timers, operators.

//! One query and what a resolver has learned to one response, or the work of a resolver.
//!
//! `docs/design/recursion.md` and `docs/design/recursive.md`.

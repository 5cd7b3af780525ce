//! The API described for programs, in OpenAPI 3.1.
//!
//! `openapi.json` beside the sources is kept by hand and told as it is: bodies are read field by field and answers written piece by piece, so that there are no types of Rust from which it could be
//! made, and types that nothing reads or writes would describe themselves. Instead it is held against what there is: paths, methods and parameters by the tests of [`crate::path`], answers, bodies that were
//! taken and each status that it lists by those that run the program.

/// The description, as it is told.
pub const TEXT: &str = include_str!("../openapi.json");

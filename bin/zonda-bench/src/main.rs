//! zonda-bench.
fn main() {}

//! zonda.
fn main() {}

//! Generators, echo and load: the parts of zonda-bench.

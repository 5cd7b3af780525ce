//! Any octets as a capture; what must hold is said in `bench::trace::fuzz`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| bench::trace::fuzz::fuzz_capture(data));

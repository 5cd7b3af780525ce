//! Any octets as a zone file; what must hold is said in `zonefile::fuzz`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| zonefile::fuzz::fuzz_zonefile(data));

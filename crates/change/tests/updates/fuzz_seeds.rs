//! The inputs that the fuzzer keeps, and what is near them: in each run of the tests.
#[test]
fn seeds_and_their_neighbours() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/update");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let seed = std::fs::read(entry.unwrap().path()).unwrap();
        change::fuzz::fuzz_update(&seed);
        count += 1;
        for at in 0..seed.len() {
            change::fuzz::fuzz_update(&seed[..at]);
            for bit in [0, 3, 7] {
                let mut changed = seed.clone();
                changed[at] ^= 1 << bit;
                change::fuzz::fuzz_update(&changed);
            }
        }
    }
    assert!(count >= 10, "{folder}");
}

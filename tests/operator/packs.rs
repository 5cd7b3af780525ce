//! Packs that are wrong: damaged ones are refused, never misread.

use zonda_tests::mutate::Random;

use crate::kit::{SOUND, Said, folder, sound_pack, text, zonda};

/// Looks at a pack with this content.
fn stat(octets: &[u8]) -> Said {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("bad.pack");
    std::fs::write(&path, octets).expect("a file");
    zonda(&["stat", text(&path)])
}

#[test]
fn a_sound_pack_is_described() {
    let (_folder, pack) = sound_pack();
    let said = zonda(&["stat", text(&pack)]);
    assert!(said.assert_fine().output.contains("4 records"), "{said:#?}");
}

#[test]
fn a_truncated_pack_is_refused() {
    let (_folder, pack) = sound_pack();
    let whole = std::fs::read(pack).expect("the pack");
    let step = (whole.len() / 40).max(1);
    for octets in (0..whole.len()).step_by(step) {
        stat(&whole[..octets]).assert_fails(1, &["bad.pack"]);
    }
}

#[test]
fn a_pack_with_a_turned_bit_is_refused() {
    let (_folder, pack) = sound_pack();
    let whole = std::fs::read(pack).expect("the pack");
    let mut random = Random::new(3);
    for _ in 0..60 {
        let mut damaged = whole.clone();
        let octet = random.below(whole.len());
        damaged[octet] ^= 1 << random.below(8);
        stat(&damaged).assert_fails(1, &["bad.pack"]);
    }
}

#[test]
fn a_file_that_is_no_pack_is_refused() {
    for octets in [&b""[..], b"$TTL 60\n", &[0; 100_000], &[0xff; 4096]] {
        stat(octets).assert_fails(1, &["bad.pack"]);
    }
}

#[test]
fn what_is_no_file_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = folder(&[("example.zone", SOUND.as_bytes()), ("old.pack", b"old")]);
    let zone = format!("example.={}", text(&folder.path().join("example.zone")));
    let path = |name: &str| folder.path().join(name);
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().expect("mkfifo").success());
    std::os::unix::fs::symlink("old.pack", path("link")).expect("a link");
    zonda(&["compile", "-o", text(&path("pipe")), &zone]).assert_fails(1, &["pipe", "expected a file"]);
    assert!(std::fs::metadata(path("pipe")).expect("the pipe").file_type().is_fifo());
    zonda(&["compile", "-o", text(&path("link")), &zone]).assert_fine();
    assert!(path("link").is_symlink(), "the link stays, its file is replaced");
    zonda(&["stat", text(&path("old.pack"))]).assert_fine();
}

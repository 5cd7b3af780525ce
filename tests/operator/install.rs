//! What `make install` and `packaging/` give, up to a zone that is served by a user of its own.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

use zonda_tests::server::program;

use crate::kit::{folder, text};

/// The sources' folder.
pub(crate) fn sources() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// What a command said, or nothing where its program or the rights for it are missing. Where `CI` is set nothing is left out.
pub(crate) fn run(command: &mut Command, needs_root: bool) -> Option<Output> {
    let is_root = std::fs::metadata("/proc/self").expect("a process").uid() == 0;
    let output = if needs_root && !is_root { None } else { command.output().ok() };
    assert!(
        output.is_some() || std::env::var_os("CI").is_none(),
        "{command:?}: no such program (tests/setup.sh), or not root"
    );
    output
}

/// The command went well and had nothing to say but this.
pub(crate) fn expect(output: &Output, said: &str) {
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && errors.is_empty(), "{}: {out}{errors}", output.status);
    assert_eq!(out, said);
}

#[test]
fn from_install_to_a_served_zone() {
    let mut command = Command::new(sources().join("tests/install/run"));
    if let Some(output) = run(command.arg(program()), true) {
        expect(&output, "installed, served, removed\n");
    }
}

/// The exposure by systemd's own reckoning that the unit may have, in tenths.
const EXPOSURE_MAX: &str = "--threshold=20";

#[test]
fn the_unit_is_sound_and_tight() {
    let unit = std::fs::read_to_string(sources().join("packaging/zonda.service")).expect("the unit");
    let here = unit.replace("/usr/bin/zonda", text(program()));
    let folder = folder(&[("zonda.service", here.as_bytes())]);
    let path = folder.path().join("zonda.service");
    let mut analyze = Command::new("systemd-analyze");
    if let Some(output) = run(analyze.args(["--man=no", "verify"]).arg(&path), false) {
        expect(&output, "");
    }
    let mut analyze = Command::new("systemd-analyze");
    let analyze = analyze.args(["security", "--offline=yes", "--no-pager", EXPOSURE_MAX]).arg(&path);
    if let Some(output) = run(analyze, false) {
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("Overall exposure level"), "{said}");
    }
}

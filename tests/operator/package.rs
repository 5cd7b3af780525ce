//! What `make deb` and `packaging/Containerfile` give, up to a server that answers from it.

use std::process::Command;

use zonda_tests::server::program;

use crate::install::{expect, run, sources};

/// Runs a script of `install/`, if the programs are there that it needs beyond those of every Debian.
fn script(name: &str, needs: &[&str], said: &str) {
    if needs.iter().any(|program| run(Command::new(program).arg("--version"), false).is_none()) {
        return;
    }
    let mut command = Command::new(sources().join("tests/install").join(name));
    if let Some(output) = run(command.arg(program()), true) {
        expect(&output, said);
    }
}

#[test]
fn from_package_to_purge() {
    let needs = ["dpkg-deb", "dpkg-shlibdeps", "strip", "systemd-sysusers"];
    script("package", &needs, "built, installed, upgraded, removed, purged\n");
}

#[test]
fn the_image_serves_as_its_file_says() {
    script("container", &["ldd", "strip"], "copied, assembled, served, ended\n");
}

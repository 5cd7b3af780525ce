//! The server under test: its program, settings and control commands.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::{Server, write};
use crate::zone::{ZoneFile, repository};

/// The program `zonda`: the one `ZONDA` names, else built from these sources, once a test program.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| match std::env::var_os("ZONDA") {
        Some(path) => path.into(),
        None => built().join("zonda"),
    })
}

/// The program `zonda-bench`: the one beside that of `ZONDA`, else built from these sources, once a test program.
pub fn bench_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| match std::env::var_os("ZONDA") {
        Some(path) => Path::new(&path).with_file_name("zonda-bench"),
        None => built().join("zonda-bench"),
    })
}

/// The program that writes a generated Internet to a folder: an example of crate `sim`, built from these sources, once a test program.
pub fn export_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built().join("examples").join("export"))
}

/// The program that puts the servers of a scenario on sockets: an example of crate `sim` as well.
pub fn attack_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built().join("examples").join("attack"))
}

/// The folder of all programs and examples, built with the profile and target folder of this test program.
///
/// All of them and of the whole workspace, as whoever builds all tests has built them: what is built by itself has other features of the
/// libraries that it shares, each of which is compiled once more then.
fn built() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(build)
}

fn build() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test program");
    let profile = test.ancestors().nth(2).expect("a test program lies in target/PROFILE/deps");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--workspace", "--bins", "--examples", "--target-dir"]);
    command.arg(profile.parent().expect("a target folder")).current_dir(repository());
    // What cargo told this program about its package is not for the build of others: build scripts that look at it would run again,
    // and all that stands on them be compiled again, here and at the next build outside.
    let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"];
    for (name, _) in std::env::vars_os() {
        if of_package.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
            command.env_remove(name);
        }
    }
    if profile.ends_with("release") {
        command.arg("--release");
    }
    assert!(command.status().expect("the program cargo").success(), "the programs do not build");
    profile.to_owned()
}

/// A command line that begins with the program.
pub fn program_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments);
    command
}

/// Settings that serve these zones at this address, with a control socket in `folder`.
pub fn settings(folder: &Path, address: SocketAddr, zones: &[ZoneFile], more: &str) -> String {
    let socket = folder.join("control.sock");
    let mut text = format!(
        "[control]\nsocket = \"{}\"\n\n[server]\nlisten = [\"{address}\"]\nworkers = 1\n",
        socket.display()
    );
    text.push_str(more);
    for zone in zones {
        let (origin, path) = (&zone.origin, zone.path.display());
        write!(text, "\n[[zone]]\nname = '{origin}'\nfile = \"{path}\"\n").expect("a string grows");
    }
    text
}

/// The command line that starts the server.
pub fn command(folder: &Path, address: SocketAddr, zones: &[ZoneFile], more: &str) -> Command {
    let path = write(folder, "zonda.toml", &settings(folder, address, zones, more));
    let mut command = Command::new(program());
    command.args(["serve", "--config"]).arg(path).current_dir(folder);
    command
}

/// Runs `zonda ctl` against a server.
pub fn ctl(server: &Server, arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.args(["ctl", "--config"]).arg(server.path("zonda.toml")).args(arguments);
    command.output().expect("the program zonda")
}

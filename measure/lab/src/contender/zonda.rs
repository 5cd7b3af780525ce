//! Zonda, the server of this project.

use std::fmt::Write;

use super::{Job, Setup};

pub fn setup(job: &Job<'_>) -> Setup {
    let folder = job.folder.display();
    let head = format!(
        r#"[server]
listen = ["{}"]
workers = {}
minimal-responses = true
receive-buffer-octets = {}

[control]
socket = "{folder}/control.sock"

[log]
level = "warn"

"#,
        job.address, job.workers, job.receive_octets
    );
    let mut zones = String::new();
    for (apex, path) in &job.zones.list {
        let (key, path) = match job.pack {
            Some(pack) => ("pack", pack),
            None => ("file", path.as_path()),
        };
        let _ = writeln!(zones, "[[zone]]\nname = \"{apex}\"\n{key} = \"{}\"\n", path.display());
    }
    let program = job.programs.zonda.to_string_lossy();
    let command = Setup::words(&[&program, "serve", "--config", &format!("{folder}/zonda.toml")]);
    Setup { file: "zonda.toml", head, zones, command, ..Setup::default() }
}

//! `zonda completion`

use clap::{Command, ValueEnum};
use clap_complete::aot::{self, Shell as Generator};

use super::print;

/// Print the completion of the command line for a shell.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

const AFTER_HELP: &str = "\
Examples:
  zonda completion bash >/etc/bash_completion.d/zonda
  zonda completion zsh >/usr/local/share/zsh/site-functions/_zonda
  zonda completion fish >~/.config/fish/completions/zonda.fish";

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script that completes `program`; says whether that went well.
pub fn run(arguments: &Arguments, mut program: Command) -> bool {
    let shell = match arguments.shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut script = Vec::new();
    aot::generate(shell, &mut program, "zonda", &mut script);
    print(&String::from_utf8_lossy(&script))
}

//! Manual pages and completion: all of the command line and of the settings is in them, and their readers read them without a complaint.

use std::path::Path;
use std::process::Command;

use crate::server::{run, zonda};

/// The output of a command that has nothing to complain about.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{command:?}: {} {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a program is there. Where `CI` is set it must be: nothing is left out silently.
fn has(program: &str) -> bool {
    let has = Command::new(program).arg("--version").output().is_ok();
    assert!(has || std::env::var_os("CI").is_none(), "{program} is missing (tests/setup.sh)");
    has
}

/// The commands that `zonda --help` lists.
fn commands() -> Vec<String> {
    let (_, help, _) = run(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|name| name != "help")
        .collect()
}

/// The text of a page, without what marks fonts.
fn page(folder: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    [("\\-", "-"), ("\\fB", ""), ("\\fI", ""), ("\\fR", "")]
        .iter()
        .fold(text, |text, (mark, plain)| text.replace(mark, plain))
}

/// Pages as a reader sees them.
fn read(folder: &Path, names: &[&str]) -> String {
    let mut man = Command::new("man");
    let man = man.env("MANWIDTH", "200").env("LC_ALL", "C.UTF-8").args(["--warnings", "-P", "cat", "-l"]);
    output(man.args(names.iter().map(|name| folder.join(name))))
}

#[test]
fn each_command_and_each_setting_has_its_page() {
    let folder = tempfile::tempdir().unwrap();
    output(zonda(&["man"]).arg(folder.path()));
    let commands = commands();
    assert!(commands.len() >= 9, "{commands:?}");
    let main = page(folder.path(), "zonda.1");
    for command in &commands {
        assert!(main.contains(&format!(".BR zonda-{command} (1)")), "{command}: {main}");
        let page = page(folder.path(), &format!("zonda-{command}.1"));
        let (_, help, _) = run(&[command, "--help"]);
        for option in help.split([' ', ',', '\n']).filter(|word| word.starts_with("--") && word.len() > 2) {
            let option = option.trim_end_matches(['`', ';', '.']);
            assert!(page.contains(option), "{command} {option}: {page}");
        }
    }
    let ctl = page(folder.path(), "zonda-ctl.1");
    assert!(
        ctl.contains("locks [--on] [--off] [--clear]") && ctl.contains("add-zone <ZONE> <FILE>"),
        "{ctl}"
    );
    let settings = page(folder.path(), "zonda.toml.5");
    let (_, markdown, _) = run(&["settings"]);
    let keys: Vec<&str> = markdown.lines().filter_map(|line| line.strip_prefix("### `")).collect();
    assert!(keys.len() > 40, "{keys:?}");
    for key in keys {
        let key = key.trim_end_matches('`');
        assert!(settings.contains(&format!(".TP\n{key}\n")), "{key}: {settings}");
    }
    for heading in markdown.lines().filter_map(|line| line.strip_prefix("## `")) {
        assert!(settings.contains(&format!("\n.SH {}\n", heading.trim_end_matches('`'))), "{heading}");
    }
    if has("man") {
        let read = read(folder.path(), &["zonda.1", "zonda-ctl.1", "zonda-check-zone.1", "zonda.toml.5"]);
        for line in ["NAME", "EXIT STATUS", "       zonda ctl locks --on", "[[zone-directory]]"] {
            assert!(read.lines().any(|other| other == line), "{line:?} in {read}");
        }
    }
}

#[test]
fn shells_take_the_completion() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = output(&mut zonda(&["completion", shell]));
        std::fs::write(folder.path().join(shell), &script).unwrap();
        assert!(script.contains("remove-zone") && script.contains("profile-locks"), "{shell}");
    }
    let file = |shell: &str| folder.path().join(shell);
    if has("bash") {
        let complete = |words: &str, number: usize, word: &str, before: &str| {
            let script = format!(
                "source '{}'; COMP_WORDS=({words}); COMP_CWORD={number}; _zonda zonda '{word}' '{before}'; \
                 echo \"${{COMPREPLY[*]}}\"",
                file("bash").display()
            );
            output(Command::new("bash").args(["--norc", "-c", &script])).trim().to_owned()
        };
        assert_eq!(complete("zonda check", 1, "check", "zonda"), "check-config check-zone");
        assert_eq!(
            complete("zonda ctl re", 2, "re", "ctl"),
            "reload reconfigure refresh retransfer requests remove-zone"
        );
        assert_eq!(complete("zonda serve --w", 2, "--w", "serve"), "--workers");
    }
    if has("zsh") {
        output(Command::new("zsh").args(["-f", "-n"]).arg(file("zsh")));
    }
    if has("fish") {
        let script = format!("source '{}'; complete -C 'zonda ctl re'", file("fish").display());
        let completed =
            output(Command::new("fish").env("HOME", folder.path()).args(["--no-config", "-c", &script]));
        let words: Vec<&str> = completed.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(words, ["reconfigure", "refresh", "reload", "remove-zone", "requests", "retransfer"]);
    }
}

#[test]
fn a_folder_that_cannot_be_made() {
    let (status, _, errors) = run(&["man", "/proc/nowhere/pages"]);
    assert!(
        status == Some(1) && errors.starts_with("zonda: /proc/nowhere/pages: cannot make it: "),
        "{errors}"
    );
    assert_eq!(run(&["completion", "tcsh"]).0, Some(2));
}

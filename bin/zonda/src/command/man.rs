//! `zonda man`
//!
//! A page is what `--help` says in another form: sections that clap makes of the declaration, then those that the text after the help has.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use control::text::{cannot, count, roff};

use super::{complain, print};

/// Write the manual pages, one for each command and one for the settings, into a folder.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Folder; it is made if there is none
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

const AFTER_HELP: &str = "\
Examples:
  zonda man /tmp/pages
  man -l /tmp/pages/zonda-serve.1
  man -l /tmp/pages/zonda.toml.5";

/// Writes the pages of `program`; says whether that went well.
pub fn run(arguments: &Arguments, program: Command) -> bool {
    let folder = &arguments.folder;
    match pages(program).map_err(|error| error.to_string()).and_then(|pages| write(folder, &pages)) {
        Ok(written) => print(&format!("{}: {}\n", folder.display(), count(written, "page"))),
        Err(problem) => {
            complain([problem.as_str()]);
            false
        }
    }
}

fn write(folder: &Path, pages: &[(String, Vec<u8>)]) -> Result<usize, String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("{}: {}", folder.display(), cannot("make it", &error)))?;
    for (name, page) in pages {
        let file = folder.join(name);
        std::fs::write(&file, page)
            .map_err(|error| format!("{}: {}", file.display(), cannot("write", &error)))?;
    }
    Ok(pages.len())
}

/// File names and texts of all pages.
fn pages(mut program: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    program.build();
    let mut pages = vec![("zonda.1".to_owned(), page(&program, &others(&program))?)];
    for command in visible(&program) {
        let other = ["zonda(1)", "zonda.toml(5)"].map(str::to_owned);
        pages.push((format!("zonda-{}.1", command.get_name()), page(command, &other)?));
    }
    pages.push(("zonda.toml.5".into(), control::settings::man_page().into_bytes()));
    Ok(pages)
}

/// The subcommands that a reader is to know; `help` is the same as `--help`.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// The other pages of the program.
fn others(program: &Command) -> Vec<String> {
    let commands = visible(program).map(|command| format!("zonda-{}(1)", command.get_name()));
    commands.chain(["zonda.toml(5)".into()]).collect()
}

fn page(command: &Command, others: &[String]) -> io::Result<Vec<u8>> {
    let is_program = command.get_name() == "zonda";
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone().override_usage(usage))
        .source(format!("Zonda {}", env!("CARGO_PKG_VERSION")))
        .manual("Zonda");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    commands(command, is_program, &mut page)?;
    man.render_options_section(&mut page)?;
    sections(&after, &mut page)?;
    if is_program {
        writeln!(page, ".SH FILES\n.TP\n.I /etc/zonda/zonda.toml\nSettings of the packaged service.")?;
        writeln!(page, ".TP\n.I /run/zonda/control.sock\nWhere \\fBzonda ctl\\fR looks for the server.")?;
    }
    let others: Vec<String> = others.iter().map(|other| other.replacen('(', " (", 1)).collect();
    writeln!(page, ".SH SEE ALSO\n.BR {}", others.join(" ,\n.BR "))?;
    Ok(page)
}

/// The subcommands: of the program by their own pages, else in full.
fn commands(command: &Command, have_pages: bool, page: &mut Vec<u8>) -> io::Result<()> {
    if !command.has_subcommands() {
        return Ok(());
    }
    writeln!(page, ".SH COMMANDS")?;
    for command in visible(command) {
        let about = roff(&command.get_about().map(ToString::to_string).unwrap_or_default());
        if have_pages {
            writeln!(page, ".TP\n.BR zonda\\-{} (1)\n{about}", roff(command.get_name()))?;
            continue;
        }
        // Those of the whole command are told once, with it.
        let own = || command.get_arguments().filter(|argument| !argument.is_global_set());
        let own = || own().filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"));
        let shown: Vec<String> = own()
            .map(|argument| match argument.is_positional() {
                true => roff(&argument.to_string()),
                false => format!("[{}]", roff(&argument.to_string())),
            })
            .collect();
        writeln!(page, ".TP\n\\fB{}\\fR {}\n{about}", roff(command.get_name()), shown.join(" "))?;
        for argument in own() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(page, ".RS\n.TP\n{}\n{}\n.RE", roff(&argument.to_string()), roff(&help))?;
        }
    }
    Ok(())
}

/// The paragraphs after the help, `Heading: text`, as sections. Lines that are indented stay lines.
fn sections(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for paragraph in text.split("\n\n") {
        let (heading, rest) = paragraph.split_once(':').unwrap_or(("Notes", paragraph));
        let heading = if heading == "Example" { "Examples" } else { heading };
        writeln!(page, ".SH {}", heading.to_uppercase())?;
        match rest.strip_prefix('\n') {
            Some(lines) => {
                let lines: Vec<String> = lines.lines().map(|line| roff(line.trim_start())).collect();
                writeln!(page, ".nf\n{}\n.fi", lines.join("\n"))?;
            }
            None => writeln!(page, "{}", roff(rest.trim_start()))?,
        }
    }
    Ok(())
}

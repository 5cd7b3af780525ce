//! `zonda store edit`

use std::io::{self, BufWriter, Write};

use control::read::ZoneText;
use control::text::{cannot, count};
use store::{Database, Meta, Put, Version};
use wire::{Name, NameBuf};
use zone::Contents;
use zonefile::Buffers;

use super::editor::Editor;
use super::history::difference;
use super::kept::Kept;
use super::{At, Lines, again, meta, name, open, source, who};
use crate::command::checked::{Depth, write_records};
use crate::command::{complain, print};

/// Edit a zone as text in $VISUAL or $EDITOR: it is checked, the difference is shown, and committed if nobody changed the zone meanwhile.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    at: At,
    /// Name of the zone
    #[arg(value_parser = name)]
    zone: NameBuf,
    /// Commit without asking; where something is wrong, fail without asking
    #[arg(long)]
    yes: bool,
    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    #[command(flatten)]
    depth: Depth,
}

/// Edits; says whether all went well.
pub fn run(arguments: &Arguments) -> Result<bool, Lines> {
    let Arguments { at, zone, .. } = arguments;
    let mut store = open(at)?;
    let closing = store.close_pending(Some(zone), super::now()).map_err(|fault| at.told(&fault))?;
    if let Some(fault) = closing.refused.first() {
        return Err(at.told(fault));
    }
    let (contents, version) = store.contents(zone).map_err(|fault| at.told(&fault))?;
    let version = version.ok_or_else(|| vec![format!("{at}: zone {zone}: it is not enabled")])?;
    let (kept, file) = Kept::new(zone).map_err(|line| vec![line])?;
    let describe = |error: io::Error| vec![format!("{}: {}", kept.path().display(), cannot("write", &error))];
    write_text(file, at, &version, &contents).map_err(describe)?;
    drop(contents);
    let who = who();
    let meta = meta(&who, arguments.why.as_deref());
    let edit = Edit { arguments, version, meta, editor: Editor::new() };
    match edit.until_done(&mut store, &kept) {
        Ok(true) => {
            kept.remove();
            Ok(true)
        }
        Ok(false) => {
            complain([kept.line().as_str()]);
            Ok(false)
        }
        Err(mut lines) => {
            lines.push(kept.line());
            Err(lines)
        }
    }
}

/// The text that is edited. Comments are not kept, so that it says so.
fn write_text(file: std::fs::File, at: &At, version: &Version, contents: &Contents) -> io::Result<()> {
    let mut output = BufWriter::new(file);
    let Version { zone, serial, .. } = version;
    writeln!(
        output,
        "; Zone {zone} of {:?}, serial {serial}. A serial that is left alone becomes the next.",
        at.to_string()
    )?;
    writeln!(output, "; Comments are not kept: why something changes is said with --why.")?;
    write_records(contents, &mut output)
}

/// What is edited.
struct Edit<'a> {
    arguments: &'a Arguments,
    /// The version that the text began with.
    version: Version,
    meta: Meta<'a>,
    editor: Editor,
}

/// What is to be done with an edit.
enum Wish {
    Commit,
    Again,
    Leave,
}

impl Edit<'_> {
    /// Has the text edited until it is committed or left. Says whether it is of no use any more.
    fn until_done(&self, store: &mut Database, kept: &Kept) -> Result<bool, Lines> {
        let Arguments { at, zone, yes, depth, .. } = self.arguments;
        loop {
            self.editor.run(kept.path())?;
            let text = match source::read(zone, kept.path(), depth, &mut Buffers::new()) {
                Ok(text) => text,
                Err(lines) if *yes => return Err(lines),
                Err(lines) => {
                    complain(lines.iter().map(String::as_str));
                    match ask("edit it again? [y/n] ", false) {
                        Wish::Leave => return Ok(false),
                        _ => continue,
                    }
                }
            };
            if !self.show(store, &text).map_err(|fault| at.told(&fault))? {
                print(&format!("zone {zone}: nothing differs\n"));
                return Ok(true);
            }
            let wish = if *yes { Wish::Commit } else { ask("commit? [y/n, e to edit again] ", true) };
            match wish {
                Wish::Commit => return self.commit(store, &text).map_err(|fault| at.told(&fault)),
                Wish::Again => {}
                Wish::Leave => return Ok(false),
            }
        }
    }

    /// Shows what would be committed: it is done and taken back. Says whether anything differs.
    fn show(&self, store: &mut Database, text: &ZoneText) -> Result<bool, store::Fault> {
        let mut writer = store.writer()?;
        let put = writer.put(&text.contents, Some(&self.version.mark), &self.meta)?;
        let Put::Made(version) = put else { return Ok(false) };
        let mut lines = String::new();
        writer.changes(version.id, &mut |what, row| lines += &difference(what, &row.to_string()))?;
        drop(writer);
        print(&lines);
        Ok(true)
    }

    fn commit(&self, store: &mut Database, text: &ZoneText) -> Result<bool, store::Fault> {
        let put = again(|| {
            let mut writer = store.writer()?;
            let put = writer.put(&text.contents, Some(&self.version.mark), &self.meta)?;
            writer.commit()?;
            Ok(put)
        })?;
        let zone: &Name = &self.arguments.zone;
        Ok(print(&match put {
            Put::Made(version) => {
                format!("zone {zone}: serial {}, {}\n", version.serial, count(version.rows as usize, "row"))
            }
            Put::Same | Put::Disabled => format!("zone {zone}: nothing differs\n"),
        }))
    }
}

/// Asks on the terminal. Where nobody answers the text is left. `or_again`: whether `e` is an answer beside yes and no.
fn ask(question: &str, or_again: bool) -> Wish {
    loop {
        if !print(question) || io::stdout().flush().is_err() {
            return Wish::Leave;
        }
        let mut answer = String::new();
        if io::stdin().read_line(&mut answer).unwrap_or(0) == 0 {
            return Wish::Leave;
        }
        match answer.trim() {
            "y" | "yes" => return Wish::Commit,
            "n" | "no" => return Wish::Leave,
            "e" if or_again => return Wish::Again,
            _ => {}
        }
    }
}

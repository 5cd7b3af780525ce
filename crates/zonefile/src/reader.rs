//! The reading of a zone file and of all it includes: one pass, entry after entry.

use std::sync::Arc;

use crate::directive::{self, Directive};
use crate::entry::{Entries, Failure, Saved};
use crate::error::{Cause, Diagnostic, Fault, Found};
use crate::fields::Fields;
use crate::generate::Template;
use crate::scan::{Chosen, Line, Tape};
use crate::token::{self, Unended};
use crate::window::{Filled, Window};
use crate::{Buffers, Opener, Options, Refusal, Report, Sink, Source, SourcePosition, Summary, limits};

/// One open file.
struct File<'i> {
    window: Window<'i>,
    number: u16,
    /// Line of the next entry.
    line: u32,
    /// What to go back to when the file ends; `None` for the first file.
    saved: Option<Saved>,
}

pub(crate) struct Reader<'i, 'c> {
    file: File<'i>,
    /// Files that wait for an included one to end.
    waiting: Vec<File<'i>>,
    entries: Entries<'c>,
    scanner: Chosen,
    tape: &'c mut Tape,
    edges: &'c mut Vec<u32>,
    /// Where the window of the first file goes back to.
    room: &'c mut Vec<u8>,
    opener: &'c mut dyn Opener,
    sink: &'c mut dyn Sink,
    files: Vec<Arc<str>>,
    diagnostics: Vec<Diagnostic>,
    diagnostics_max: usize,
    generated: u64,
    octets: u64,
}

/// Reading ends here, at the receiver's wish or because the limit of diagnostics is reached.
struct Stop;

type Step = Result<(), Stop>;

/// A problem, placed or not, or the end of the reading.
enum Trouble {
    Fault(Fault),
    Stop,
}

/// Stands for the position of a record that the receiver refuses: where its entry begins.
const REFUSED_AT: usize = usize::MAX;

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Fault(fault)
    }
}

impl From<Failure> for Trouble {
    #[cold]
    fn from(failure: Failure) -> Trouble {
        match failure {
            Failure::Fault(fault) => Trouble::Fault(fault),
            Failure::Refused(refusal) => match *refusal {
                Refusal::Stop => Trouble::Stop,
                Refusal::Record(reason) => {
                    Trouble::Fault(Fault::saying(REFUSED_AT, Cause::Refused(reason), Found::Unsaid))
                }
            },
        }
    }
}

impl<'i, 'c> Reader<'i, 'c> {
    pub fn new(
        source: Source<'i>,
        options: &Options,
        buffers: &'c mut Buffers,
        opener: &'c mut dyn Opener,
        sink: &'c mut dyn Sink,
    ) -> Self {
        let Buffers { window: room, tape, edges, rdata } = buffers;
        let window = Window::new(source.input, std::mem::take(room));
        Reader {
            file: File { window, number: 0, line: 1, saved: None },
            waiting: Vec::new(),
            entries: Entries::new(&options.origin, options.default_ttl, rdata),
            scanner: options.scanner.choose(),
            tape,
            edges,
            room,
            opener,
            sink,
            files: vec![source.name.into()],
            diagnostics: Vec::new(),
            diagnostics_max: options.diagnostics_max.max(1),
            generated: 0,
            octets: 0,
        }
    }

    /// Reads everything.
    pub fn read(mut self) -> Result<Summary, Report> {
        let stopped = self.read_files().is_err();
        if !stopped && self.entries.records == 0 && self.diagnostics.is_empty() {
            self.diagnose(1, 1, Cause::NoRecords, Found::EndOfFile).ok();
        }
        self.waiting.push(self.file);
        *self.room = self.waiting.swap_remove(0).window.into_room();
        let summary = Summary { records: self.entries.records, octets: self.octets, files: self.files };
        if self.diagnostics.is_empty() && !stopped {
            Ok(summary)
        } else {
            Err(Report { diagnostics: self.diagnostics, is_complete: !stopped, summary })
        }
    }

    fn read_files(&mut self) -> Step {
        self.fill()?;
        self.skip_byte_order_mark();
        loop {
            let (at, filled) = (self.file.window.at, self.file.window.filled());
            if at == filled {
                if !self.fill()? && !self.leave_file() {
                    return Ok(());
                }
                continue;
            }
            match self.scanner.line(self.file.window.octets(), at, filled, self.tape) {
                Line::Plain { edges, end, lines } => self.plain_entry(at, edges, end, lines)?,
                Line::Odd => self.odd_entry(at)?,
                Line::Unended => {
                    if !self.fill()? {
                        self.odd_entry(self.file.window.at)?;
                    }
                }
            }
        }
    }

    /// Reads more text, or gives up a file that cannot be read. `false`: neither, there is no more text or no
    /// room for any.
    fn fill(&mut self) -> Result<bool, Stop> {
        self.entries.forget_text();
        self.octets += self.file.window.at as u64;
        match self.file.window.fill() {
            Ok(Filled::More) => Ok(self.file.window.filled() > 0),
            Ok(Filled::Ended | Filled::Full) => {
                self.octets -= self.file.window.at as u64;
                Ok(false)
            }
            Err(error) => {
                self.diagnose(self.file.line, 1, Cause::Unreadable, Found::Io(error.kind()))?;
                self.file.window.end();
                Ok(true)
            }
        }
    }

    /// A mark that some editors put at the start of UTF-8 text is no part of the first name.
    fn skip_byte_order_mark(&mut self) {
        if self.file.window.octets()[..self.file.window.filled()].starts_with(b"\xef\xbb\xbf") {
            self.file.window.at = 3;
        }
    }

    /// Goes back to the file that included this one. `false`: there is none.
    fn leave_file(&mut self) -> bool {
        self.octets += self.file.window.at as u64;
        let Some(file) = self.waiting.pop() else { return false };
        let ended = std::mem::replace(&mut self.file, file);
        if let Some(saved) = ended.saved {
            self.entries.restore(saved);
        }
        true
    }

    #[inline]
    fn plain_entry(&mut self, start: usize, edges: usize, end: usize, lines: u32) -> Step {
        let line = self.file.line;
        self.file.line += lines;
        self.file.window.at = end;
        if edges == 0 {
            return Ok(());
        }
        let octets = self.file.window.octets();
        let mut fields = Fields::plain(octets, &self.tape[..edges], start, end);
        let position = SourcePosition { file: self.file.number, line };
        let inherits = begins_blank(octets[start]);
        if octets[start] != b'$' {
            return match self.entries.record(&mut fields, inherits, position, self.sink) {
                Ok(()) => Ok(()),
                Err(failure) => self.failed(failure.into(), start, line),
            };
        }
        self.edges.clear();
        self.edges.extend_from_slice(&self.tape[..edges]);
        self.control(start, end, line)
    }

    /// An entry with quotes or escapes, or with an error in its form.
    fn odd_entry(&mut self, start: usize) -> Step {
        let filled = self.file.window.filled();
        let entry = match token::entry(self.file.window.octets(), start, filled, self.edges) {
            Ok(entry) => entry,
            Err(unended) => return self.unended(unended, start),
        };
        let line = self.file.line;
        self.file.line += count_lines(&self.file.window.octets()[start..entry.end]);
        self.file.window.at = entry.end;
        let octets = self.file.window.octets();
        if let Some(fault) = entry.fault {
            return self.fault(fault, start, line);
        }
        let Some(&first) = self.edges.first() else { return Ok(()) };
        let inherits = begins_blank(octets[start]);
        if first == start as u32 && octets[start] == b'$' {
            return self.control(start, entry.end, line);
        }
        let mut fields = Fields::new(octets, self.edges, start, entry.end);
        let position = SourcePosition { file: self.file.number, line };
        match self.entries.record(&mut fields, inherits, position, self.sink) {
            Ok(()) => Ok(()),
            Err(failure) => self.failed(failure.into(), start, line),
        }
    }

    /// A control entry, whose fields are in `edges`.
    fn control(&mut self, start: usize, end: usize, line: u32) -> Step {
        let octets = self.file.window.octets();
        let mut fields = Fields::new(octets, self.edges, start, end);
        let name = match fields.take("a directive") {
            Ok(name) => name,
            Err(fault) => return self.fault(fault, start, line),
        };
        match directive::read(&name, &mut fields, &mut self.entries) {
            Ok(Directive::Done) => Ok(()),
            Ok(Directive::Include { path, origin, start: path_start }) => {
                let entered = self.include(&path, origin.as_deref(), path_start);
                entered.or_else(|fault| self.fault(fault, start, line))
            }
            Ok(Directive::Generate) => {
                let result = Template::read(&mut fields);
                let result =
                    result.map_err(Trouble::Fault).and_then(|template| self.generate(template, line));
                result.or_else(|trouble| self.failed(trouble, start, line))
            }
            Err(fault) => self.fault(fault, start, line),
        }
    }

    /// Goes on with an included file.
    fn include(&mut self, path: &str, origin: Option<&wire::Name>, start: usize) -> Result<(), Fault> {
        let fault = |cause, found| Err(Fault::saying(start, cause, found));
        let text = || Found::Text(path.to_owned());
        if self.waiting.len() == limits::INCLUDE_DEPTH_MAX {
            return fault(Cause::IncludeTooDeep, text());
        }
        if self.files.len() == limits::FILES_MAX {
            return fault(Cause::TooManyFiles, text());
        }
        let source = match self.opener.open(path, &self.files[self.file.number as usize]) {
            Ok(source) => source,
            Err(error) => return fault(Cause::IncludeUnopened, Found::Said(reason(path, &error))),
        };
        let open = self.waiting.iter().chain(std::iter::once(&self.file));
        if open.into_iter().any(|file| *self.files[file.number as usize] == *source.name) {
            return fault(Cause::IncludeLoop, text());
        }
        let saved = self.entries.save();
        if let Some(origin) = origin {
            self.entries.origin.set(origin);
        }
        let number = self.files.len() as u16;
        self.files.push(source.name.into());
        let file =
            File { window: Window::new(source.input, Vec::new()), number, line: 1, saved: Some(saved) };
        self.waiting.push(std::mem::replace(&mut self.file, file));
        Ok(())
    }

    /// Makes the records of a `$GENERATE`; ends at the first problem, since the others would be the same.
    fn generate(&mut self, mut template: Template, line: u32) -> Result<(), Trouble> {
        let position = SourcePosition { file: self.file.number, line };
        let saved = self.entries.save();
        let result = self.generate_all(&mut template, position);
        self.entries.restore(saved);
        result
    }

    fn generate_all(&mut self, template: &mut Template, position: SourcePosition) -> Result<(), Trouble> {
        let mut text = Vec::new();
        while let Some(length) = template.next(&mut text) {
            let length = length?;
            if self.generated == limits::GENERATED_RECORDS_MAX {
                let fault = Fault::saying(template.place_of(0), Cause::TooManyGenerated, Found::Unsaid);
                return Err(Trouble::Fault(fault));
            }
            self.generated += 1;
            let result = self.generated_entry(&text, length, position);
            self.entries.forget_text();
            if let Err(trouble) = result {
                return Err(placed_in(template, trouble, &text[..length], self.edges));
            }
        }
        Ok(())
    }

    fn generated_entry(
        &mut self,
        text: &[u8],
        length: usize,
        position: SourcePosition,
    ) -> Result<(), Trouble> {
        self.entries.forget_text();
        let entry = token::entry(text, 0, length, self.edges);
        let entry = entry.map_err(|_| Fault::at(0, length, Cause::UnclosedParenthesis))?;
        if let Some(fault) = entry.fault {
            return Err(fault.into());
        }
        let mut fields = Fields::new(text, self.edges, 0, entry.end);
        Ok(self.entries.record(&mut fields, false, position, self.sink)?)
    }

    /// The text ends inside an entry: reads more of it, or reports what is wrong.
    fn unended(&mut self, unended: Unended, start: usize) -> Step {
        match unended {
            Unended::NotText(at) => {
                let line = self.file.line;
                let fault = Fault::saying(at, Cause::NotText, Found::Unsaid);
                self.file.window.end();
                self.fault(fault, start, line)
            }
            Unended::Line if self.fill()? => Ok(()),
            Unended::Line => self.too_long(start),
            Unended::Parenthesis(..) if self.fill()? => Ok(()),
            Unended::Parenthesis(opened_at, first) => self.unclosed(opened_at, first, start),
        }
    }

    /// Reports a line that does not fit in the window; a file with such a line is not read further.
    fn too_long(&mut self, start: usize) -> Step {
        let line = self.file.line;
        self.file.window.end();
        self.fault(Fault::saying(start, Cause::EntryTooLong, Found::Unsaid), start, line)
    }

    /// Reports a parenthesis that is not closed in the file or in a full window, and goes on with the next line that begins an entry of its
    /// own: what it encloses is likely to be the rest of the file.
    /// `first`: a problem inside that may be the reason, such as a quote that is not closed and hides a parenthesis.
    fn unclosed(&mut self, opened_at: usize, first: Option<Fault>, start: usize) -> Step {
        let line = self.file.line;
        let text = &self.file.window.octets()[..self.file.window.filled()];
        let mut next = start;
        while let Some(length) = text[next..].iter().position(|&octet| octet == b'\n') {
            next += length + 1;
            let begins_entry = text.get(next).is_some_and(|octet| !b" \t\r\n);".contains(octet));
            if next > opened_at && begins_entry {
                break;
            }
        }
        let at_end = self.file.window.is_ended();
        let has_newline = next > start;
        self.file.line += count_lines(&text[start..next]);
        if has_newline {
            self.file.window.at = next;
        } else {
            self.file.window.end();
        }
        let cause = if at_end { Cause::UnclosedParenthesis } else { Cause::EntryTooLong };
        // What is wrong further on is found when reading gets there.
        if let Some(first) = first.filter(|first| first.start() < next) {
            self.fault(first, start, line)?;
        }
        self.fault(Fault::saying(opened_at, cause, Found::Unsaid), start, line)
    }

    #[cold]
    fn failed(&mut self, trouble: Trouble, start: usize, line: u32) -> Step {
        match trouble {
            Trouble::Stop => Err(Stop),
            Trouble::Fault(fault) => self.fault(fault, start, line),
        }
    }

    /// Reports a problem of the entry that begins at `start` on `line`.
    #[cold]
    fn fault(&mut self, fault: Fault, start: usize, line: u32) -> Step {
        let mut fault = fault.placed();
        if fault.start == REFUSED_AT {
            fault.start = start;
        }
        let octets = self.file.window.octets();
        let before = &octets[start..fault.start.max(start)];
        let line = line + count_lines(before);
        let column = before.iter().rev().take_while(|&&octet| octet != b'\n').count() as u32 + 1;
        let found = fault.found.unwrap_or_else(|| Found::text(&octets[fault.start..fault.end]));
        self.diagnose(line, column, fault.cause, found)
    }

    #[cold]
    fn diagnose(&mut self, line: u32, column: u32, cause: Cause, found: Found) -> Step {
        let file = self.files[self.file.number as usize].clone();
        self.diagnostics.push(Diagnostic { file, line, column, cause, found });
        if self.diagnostics.len() < self.diagnostics_max { Ok(()) } else { Err(Stop) }
    }
}

/// Moves a problem from a generated entry to the field of the directive that it comes from.
#[cold]
fn placed_in(template: &Template, trouble: Trouble, text: &[u8], edges: &[u32]) -> Trouble {
    let Trouble::Fault(fault) = trouble else { return trouble };
    let mut fault = fault.placed();
    if fault.start == REFUSED_AT {
        fault.start = 0;
    }
    let fields_before =
        edges.chunks(2).filter(|edge| ((edge[0] & !token::QUOTED) as usize) <= fault.start).count();
    let found = text.get(fault.start..fault.end).map(Found::text);
    let start = template.place_of(fields_before.saturating_sub(1));
    let found = fault.found.or(found).unwrap_or(Found::Unsaid);
    Trouble::Fault(Fault::saying(start, fault.cause, found))
}

/// Why a file cannot be opened: in the opener's words, which name it, or else in those of the error's kind.
#[cold]
fn reason(path: &str, error: &std::io::Error) -> String {
    match error.get_ref() {
        Some(said) => said.to_string(),
        None => format!("{path}: {}", error.kind()),
    }
}

/// Whether an entry that begins with this octet has no owner name of its own.
fn begins_blank(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | b'\r')
}

fn count_lines(text: &[u8]) -> u32 {
    text.iter().filter(|&&octet| octet == b'\n').count() as u32
}

//! One zone from text to sorted contents: files opened, includes found, what cannot be served refused.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::check::{self, Check, Detail, Finding};
use zone::contents::{Contents, ContentsBuilder, Refusal, SourcePosition};
use zonefile::{Buffers, Opener, Options, Record, Sink, Source as Text};

use crate::stamp::Stamp;
use crate::system::map_pack;
use crate::text::cannot;
use crate::wanted::{Embedded, Source};

/// A zone as read from text, without syntax errors.
pub struct ZoneText {
    /// Its records.
    pub contents: Contents,
    /// Records that are not below the apex, which are left out. The first [`OUT_OF_ZONE_KEPT_MAX`].
    pub out_of_zone: Vec<Finding>,
    /// How many there are in all.
    pub out_of_zone_count: u64,
    /// Records of text with words that stand without quotes. The first [`TEXT_WORDS_KEPT_MAX`].
    pub text_words: Vec<Finding>,
    /// How many there are in all.
    pub text_words_count: u64,
    /// The first SOA record among those that are left out: the zone that the text is of.
    soa_elsewhere: Option<(NameBuf, SourcePosition)>,
    /// The state of the file that was read.
    pub stamp: Stamp,
    /// The files it includes, and their states.
    pub includes: Box<[(PathBuf, Stamp)]>,
    /// Names of all files for messages, by their numbers in positions.
    pub files: Vec<Arc<str>>,
}

/// How many records outside of the zone are reported: if there are more, the zone's name is wrong.
pub const OUT_OF_ZONE_KEPT_MAX: usize = 100;

/// How many records with words without quotes are reported, as of other findings of one kind.
pub const TEXT_WORDS_KEPT_MAX: usize = check::FINDINGS_PER_CHECK_MAX as usize;

impl ZoneText {
    /// Of records that a primary sent, or that are stored: where they are from, and how many came beside them that are not of the zone.
    pub fn transferred(contents: Contents, from: &dyn Display, out_of_zone_count: u64) -> ZoneText {
        ZoneText {
            contents,
            out_of_zone: Vec::new(),
            out_of_zone_count,
            text_words: Vec::new(),
            text_words_count: 0,
            soa_elsewhere: None,
            stamp: Stamp::default(),
            includes: Box::default(),
            files: vec![from.to_string().into()],
        }
    }

    /// `file:line: ` of a position; without one the file that reading began with.
    fn position(&self, position: Option<SourcePosition>) -> String {
        let position = position.unwrap_or_default();
        let file = self.files.get(position.file as usize).map_or("?", |name| name);
        match position.line {
            0 => format!("{file}: "),
            line => format!("{file}:{line}: "),
        }
    }

    /// The finding with what the text tells of its likely reason: an SOA record that is missing may be there, for another zone.
    pub fn explained(&self, finding: Finding) -> Finding {
        match &self.soa_elsewhere {
            Some((name, position)) if finding.check == Check::SoaMissing => {
                Finding { position: Some(*position), detail: Detail::SoaOf(name.clone()), ..finding }
            }
            _ => finding,
        }
    }

    /// `file:line: severity: owner TYPE: …`
    pub fn line(&self, finding: &Finding) -> String {
        format!("{}{}: {finding}", self.position(finding.position), finding.severity)
    }
}

/// Opens a file that is to be read to its end, as [`open_regular`] does.
pub fn open(path: &Path) -> Result<(File, Stamp), String> {
    let describe = |problem: String| format!("{}: {problem}", path.display());
    let (file, metadata) = open_regular(path).map_err(describe)?;
    let stamp = Stamp::of(&file, &metadata).map_err(|error| describe(cannot("read", &error)))?;
    Ok((file, stamp))
}

/// Opens a file proper for reading. A pipe would wait for its writer and a device may have no end, and nobody can
/// change anything meanwhile. The error does not name the file.
pub fn open_regular(path: &Path) -> Result<(File, Metadata), String> {
    // Looked at before it is opened, as opening a device can have effects; and after, as it may be another then.
    expect_regular(&std::fs::metadata(path).map_err(|error| cannot("open", &error))?)?;
    open_at_once(path)
}

/// As [`open_regular`] without the look before: for a file that was [looked at](stamp_of), and for one of very many, where a look less
/// counts.
fn open_at_once(path: &Path) -> Result<(File, Metadata), String> {
    let describe = |error: io::Error| cannot("open", &error);
    // Without waiting, as a pipe would, and taking no terminal for ours; regular files know no difference.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(describe)?;
    let metadata = file.metadata().map_err(describe)?;
    expect_regular(&metadata)?;
    Ok((file, metadata))
}

/// Whether a file begins as a pack does.
pub fn is_pack(path: &Path) -> Result<bool, String> {
    let (mut file, _) = open_regular(path).map_err(|problem| format!("{}: {problem}", path.display()))?;
    let mut magic = [0; zone::section::MAGIC.len()];
    Ok(file.read_exact(&mut magic).is_ok() && magic == zone::section::MAGIC)
}

/// What is wrong with a pack that was taken for text: its length is that of none.
pub fn broken_pack(source: &Source) -> Option<String> {
    let Source::File(path) = source else { return None };
    if !is_pack(path).is_ok_and(|is_pack| is_pack) {
        return None;
    }
    let problem = map_pack(path).err()?;
    Some(format!("{}: {problem}", path.display()))
}

fn expect_regular(metadata: &Metadata) -> Result<(), String> {
    match metadata.is_file() {
        true => Ok(()),
        false if metadata.is_dir() => Err("expected a file, found a folder".into()),
        false => Err("expected a file, found a device or pipe".into()),
    }
}

/// Reads a file proper of at most `octets_max` octets as text. The error does not name the file.
pub fn read_bounded(path: &Path, octets_max: u64) -> Result<String, String> {
    let (file, _) = open_regular(path)?;
    let mut octets = Vec::new();
    file.take(octets_max + 1).read_to_end(&mut octets).map_err(|error| cannot("read", &error))?;
    if octets.len() as u64 > octets_max {
        return Err(format!("expected at most {}, found more", crate::text::octets(octets_max)));
    }
    String::from_utf8(octets).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("expected UTF-8 text, found an octet that is none at offset {at}")
    })
}

/// The text of a zone, open.
pub struct Opened<'s> {
    /// The state of its file.
    pub stamp: Stamp,
    name: String,
    path: &'s Path,
    input: Input<'s>,
}

enum Input<'s> {
    File(Whole),
    Inside(&'static [u8]),
    Other(Box<dyn Read + 's>),
}

/// Why nothing is read of several files for one zone.
pub fn several(files: &str) -> String {
    format!("expected one file for the zone, found {files}")
}

/// Why nothing is read of what other servers have.
pub fn transferred(primaries: &str) -> String {
    format!("the zone is transferred from {primaries}: expected a file, found none")
}

/// Opens the text of a zone. The error is a line for the operator.
pub fn open_source(source: &Source) -> Result<Opened<'_>, String> {
    match source {
        Source::Embedded(Embedded { name, text, .. }) => Ok(Opened {
            stamp: Stamp::of_text(text),
            name: (*name).into(),
            path: Path::new(name),
            input: Input::Inside(text),
        }),
        Source::Several(files) => Err(several(files)),
        Source::Primaries(primaries) => Err(transferred(primaries)),
        Source::File(path) => {
            let (file, metadata) =
                open_at_once(path).map_err(|problem| format!("{}: {problem}", path.display()))?;
            let stamp = Stamp::of(&file, &metadata)
                .map_err(|error| format!("{}: {}", path.display(), cannot("read", &error)))?;
            let input = Input::File(Whole { file, left: metadata.len(), is_ended: false });
            let name = path.to_str().map_or_else(|| path.display().to_string(), str::to_owned);
            Ok(Opened { stamp, name, path, input })
        }
    }
}

/// A file proper, whose end is known without the read that finds nothing.
struct Whole {
    file: File,
    /// Octets that it had when it was opened and that were not read yet.
    left: u64,
    is_ended: bool,
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_ended {
            return Ok(0);
        }
        let octets = self.file.read(buffer)?;
        self.left = self.left.saturating_sub(octets as u64);
        // Less than there was room for, and nothing of what it had is missing. A file that grows meanwhile is read on as far as it goes;
        // its stamp tells that it has to be read again.
        self.is_ended = octets < buffer.len() && self.left == 0;
        Ok(octets)
    }
}

/// Why there is no zone.
pub enum Unread {
    /// Problems of the text, each with its position.
    Syntax(zonefile::Report),
    /// Something else, as a line.
    Other(String),
}

impl Unread {
    /// Lines for the operator.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Unread::Syntax(report) => report.to_string().lines().map(str::to_owned).collect(),
            Unread::Other(line) => vec![line.clone()],
        }
    }
}

/// Reads a zone from `input`, which goes by `name`; includes are relative to the folder of `path`.
pub fn read_text(
    apex: &Name,
    name: String,
    path: &Path,
    input: Box<dyn Read + '_>,
    stamp: Stamp,
    octets_read: &AtomicU64,
) -> Result<ZoneText, Unread> {
    let opened = Opened { stamp, name, path, input: Input::Other(input) };
    read_opened(apex, opened, &mut Buffers::new(), octets_read)
}

/// Reads zone `apex` from its text, in room that is used again; `octets_read` is added to as reading goes on.
pub fn read_opened(
    apex: &Name,
    opened: Opened<'_>,
    buffers: &mut Buffers,
    octets_read: &AtomicU64,
) -> Result<ZoneText, Unread> {
    let Opened { stamp, name, path, input } = opened;
    let mut includes = Includes { first: path, paths: HashMap::new(), opened: Vec::new() };
    let mut records = Records {
        builder: ContentsBuilder::new(apex),
        out_of_zone: Vec::new(),
        out_of_zone_count: 0,
        text_words: Vec::new(),
        text_words_count: 0,
        soa_elsewhere: None,
        last_out: false,
        too_many: false,
    };
    let input = Box::new(Counted { input, octets: octets_read });
    let text = Text { name, input };
    let summary = zonefile::read_with(buffers, text, &Options::new(apex), &mut includes, &mut records);
    if records.too_many {
        return Err(Unread::Other(format!("{}: more than 2^32 records in one zone", path.display())));
    }
    let summary = summary.map_err(Unread::Syntax)?;
    Ok(ZoneText {
        contents: records.builder.finish(),
        out_of_zone: records.out_of_zone,
        out_of_zone_count: records.out_of_zone_count,
        text_words: records.text_words,
        text_words_count: records.text_words_count,
        soa_elsewhere: records.soa_elsewhere,
        stamp,
        includes: includes.opened.into(),
        files: summary.files,
    })
}

/// Opens included files, relative to the file that includes them.
struct Includes<'p> {
    /// Path of the file that reading began with.
    first: &'p Path,
    /// Path of each of the others by the name it goes by. Most texts have none, and then this costs nothing.
    paths: HashMap<String, PathBuf>,
    opened: Vec<(PathBuf, Stamp)>,
}

impl Opener for Includes<'_> {
    fn open(&mut self, path: &str, includer: &str) -> io::Result<Text<'static>> {
        let folder = self.paths.get(includer).map_or(self.first, PathBuf::as_path).parent();
        let joined = folder.unwrap_or(Path::new("")).join(path);
        // One spelling for one file, so that a file that includes itself is found out.
        let path: PathBuf = joined.components().collect();
        let (file, stamp) = open(&path).map_err(|error| {
            let kind =
                std::fs::metadata(&path).err().map_or(io::ErrorKind::InvalidInput, |error| error.kind());
            io::Error::new(kind, error)
        })?;
        let name = path.display().to_string();
        self.paths.insert(name.clone(), path.clone());
        self.opened.push((path, stamp));
        Ok(Text { name, input: Box::new(file) })
    }
}

/// Puts records into contents.
struct Records {
    builder: ContentsBuilder,
    out_of_zone: Vec<Finding>,
    out_of_zone_count: u64,
    text_words: Vec<Finding>,
    text_words_count: u64,
    soa_elsewhere: Option<(NameBuf, SourcePosition)>,
    /// Whether the last record was out of the zone, so that its owner is not the builder's last.
    last_out: bool,
    too_many: bool,
}

impl Sink for Records {
    fn record(&mut self, record: &Record<'_>) -> Result<(), zonefile::Refusal> {
        let position = SourcePosition { file: record.position.file, line: record.position.line };
        let same_owner = record.same_owner && !self.last_out;
        let taken =
            self.builder.push(record.owner, same_owner, record.rtype, record.ttl, record.rdata, position);
        self.last_out = false;
        match taken {
            Ok(()) if record.has_bare_words => {
                self.note_words(record, position);
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(Refusal::OutOfZone) => {
                self.last_out = true;
                self.out_of_zone_count += 1;
                if record.rtype == rtype::SOA && self.soa_elsewhere.is_none() {
                    self.soa_elsewhere = Some((record.owner.to_owned(), position));
                }
                if self.out_of_zone.len() < OUT_OF_ZONE_KEPT_MAX {
                    self.out_of_zone.push(Finding::out_of_zone(
                        record.owner.to_owned(),
                        record.rtype,
                        position,
                    ));
                }
                Ok(())
            }
            Err(Refusal::TooMany) => {
                self.too_many = true;
                Err(zonefile::Refusal::Stop)
            }
        }
    }
}

impl Records {
    #[cold]
    fn note_words(&mut self, record: &Record<'_>, position: SourcePosition) {
        self.text_words_count += 1;
        if self.text_words.len() < TEXT_WORDS_KEPT_MAX {
            self.text_words.push(Finding::text_words(record.owner.to_lowercase(), record.rtype, position));
        }
    }
}

/// Counts what is read, for the progress line.
struct Counted<'i> {
    input: Input<'i>,
    octets: &'i AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let octets = match &mut self.input {
            Input::File(file) => file.read(buffer)?,
            Input::Inside(text) => text.read(buffer)?,
            Input::Other(input) => input.read(buffer)?,
        };
        self.octets.fetch_add(octets as u64, Ordering::Relaxed);
        Ok(octets)
    }
}

/// The state of a file proper. The error names it.
pub fn stamp_of(path: &Path) -> Result<Stamp, String> {
    let describe = |problem: String| format!("{}: {problem}", path.display());
    let metadata = std::fs::metadata(path).map_err(|error| describe(cannot("open", &error)))?;
    expect_regular(&metadata).map_err(describe)?;
    match Stamp::of_path(path, &metadata) {
        Some(stamp) => Ok(stamp),
        None => open(path).map(|(_, stamp)| stamp),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What is read of a file of `before` that becomes `after` once it is open, in pieces of so many octets; and how many calls that took.
    fn whole(before: &[u8], after: &[u8], piece: usize) -> (Vec<u8>, usize) {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&path, before).unwrap();
        let source = Source::File(path.path().to_owned());
        let Input::File(mut file) = open_source(&source).unwrap().input else { panic!("a file") };
        File::create(&path).unwrap().write_all(after).unwrap();
        let (mut all, mut reads) = (Vec::new(), 0);
        loop {
            let mut buffer = vec![0; piece];
            reads += usize::from(!file.is_ended);
            match file.read(&mut buffer).unwrap() {
                0 => return (all, reads),
                octets => all.extend_from_slice(&buffer[..octets]),
            }
        }
    }

    #[test]
    fn a_file_is_read_to_its_end_in_one_call() {
        assert_eq!(whole(b"abc", b"abc", 16), (b"abc".to_vec(), 1));
        assert_eq!(whole(b"", b"", 16), (Vec::new(), 1));
        // A full buffer does not tell that nothing follows.
        assert_eq!(whole(b"abcd", b"abcd", 4), (b"abcd".to_vec(), 2));
        assert_eq!(whole(b"abcde", b"abcde", 2), (b"abcde".to_vec(), 3));
    }

    /// What a file gains or loses while it is read is no more lost than before: its stamp tells of the rest.
    #[test]
    fn a_file_that_changes_is_read_as_far_as_it_goes() {
        assert_eq!(whole(b"abc", b"abcdef", 16).0, b"abcdef");
        assert_eq!(whole(b"ab", b"abcdef", 4).0, b"abcdef");
        assert_eq!(whole(b"abcdef", b"abc", 16).0, b"abc");
        assert_eq!(whole(b"abc", b"", 16).0, b"");
    }
}

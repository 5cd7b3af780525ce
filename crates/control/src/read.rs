//! One zone from text to sorted contents: files opened, includes found, what cannot be served refused.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::Name;
use zone::check::{self, Finding, Level, Severity};
use zone::contents::{Contents, ContentsBuilder, Refusal, SourcePosition};
use zonefile::{Opener, Options, Record, Sink, Source as Text};

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
    /// The state of the file that was read.
    pub stamp: Stamp,
    /// The files it includes, and their states.
    pub includes: Box<[(PathBuf, Stamp)]>,
    /// Names of all files for messages, by their numbers in positions.
    pub files: Vec<Arc<str>>,
}

/// How many records outside of the zone are reported: if there are more, the zone's name is wrong.
pub const OUT_OF_ZONE_KEPT_MAX: usize = 100;

impl ZoneText {
    /// `file:line: ` of a position; empty without one.
    pub fn position(&self, position: Option<SourcePosition>) -> String {
        let Some(position) = position.filter(|position| position.line > 0) else { return String::new() };
        let file = self.files.get(position.file as usize).map_or("?", |name| name);
        format!("{file}:{}: ", position.line)
    }

    /// `file:line: severity: owner TYPE: …`
    pub fn line(&self, finding: &Finding) -> String {
        format!("{}{}: {finding}", self.position(finding.position), finding.severity)
    }

    /// What makes the zone impossible to serve, and what is merely left out, as lines.
    pub fn check_for_loading(&self) -> (Vec<String>, Vec<String>) {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        self.out_of_zone.iter().for_each(|finding| warnings.push(self.line(finding)));
        let options = check::Options { level: Level::Load, ..check::Options::default() };
        check::check(&self.contents, &options, &mut |finding| {
            let lines = if finding.severity == Severity::Fatal { &mut errors } else { &mut warnings };
            lines.push(self.line(&finding));
        });
        (errors, warnings)
    }
}

/// Opens a file that is to be read to its end, as [`open_regular`] does.
pub fn open(path: &Path) -> Result<(File, Stamp), String> {
    let (file, metadata) = open_regular(path).map_err(|problem| format!("{}: {problem}", path.display()))?;
    Ok((file, Stamp::of(&metadata).before_reading()))
}

/// Opens a file proper for reading. A pipe would wait for its writer and a device may have no end, and nobody can
/// change anything meanwhile. The error does not name the file.
pub fn open_regular(path: &Path) -> Result<(File, Metadata), String> {
    // Looked at before it is opened, as opening a device can have effects; and after, as it may be another then.
    expect_regular(&std::fs::metadata(path).map_err(|error| cannot("open", &error))?)?;
    open_looked_at(path)
}

/// As [`open_regular`] for one that [`stamp_of`] has looked at just before: with a million zones, a look less counts.
fn open_looked_at(path: &Path) -> Result<(File, Metadata), String> {
    let describe = |error: io::Error| cannot("open", &error);
    // Without waiting, as a pipe would; regular files know no difference.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(describe)?;
    let metadata = file.metadata().map_err(describe)?;
    expect_regular(&metadata)?;
    Ok((file, metadata))
}

/// Whether a file begins as a pack does.
pub fn is_pack(path: &Path) -> Result<bool, String> {
    let (mut file, _) = open(path)?;
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

/// Reads the text of zone `apex`, whose file was [looked at](stamp_of); `octets_read` is added to as reading goes on. Errors are lines
/// for the operator, each with its position.
pub fn read(apex: &Name, source: &Source, octets_read: &AtomicU64) -> Result<ZoneText, Vec<String>> {
    match source {
        Source::Embedded(Embedded { name, text }) => {
            let stamp = stamp_of_embedded(text);
            read_text(apex, (*name).into(), Path::new(name), Box::new(*text), stamp, octets_read)
                .map_err(|unread| unread.lines())
        }
        Source::File(path) => {
            let opened =
                open_looked_at(path).map_err(|problem| vec![format!("{}: {problem}", path.display())]);
            let (file, metadata) = opened?;
            let stamp = Stamp::of(&metadata).before_reading();
            read_text(apex, path.display().to_string(), path, Box::new(file), stamp, octets_read)
                .map_err(|unread| unread.lines())
        }
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
    let mut includes =
        Includes { paths: HashMap::from([(name.clone(), path.to_owned())]), opened: Vec::new() };
    let mut records = Records {
        builder: ContentsBuilder::new(apex),
        out_of_zone: Vec::new(),
        out_of_zone_count: 0,
        last_out: false,
        too_many: false,
    };
    let input = Box::new(Counted { input, octets: octets_read });
    let summary = zonefile::read(Text { name, input }, &Options::new(apex), &mut includes, &mut records);
    if records.too_many {
        return Err(Unread::Other(format!("{}: more than 2^32 records in one zone", path.display())));
    }
    let summary = summary.map_err(Unread::Syntax)?;
    Ok(ZoneText {
        contents: records.builder.finish(),
        out_of_zone: records.out_of_zone,
        out_of_zone_count: records.out_of_zone_count,
        stamp,
        includes: includes.opened.into(),
        files: summary.files,
    })
}

/// Opens included files, relative to the file that includes them.
struct Includes {
    /// Path of each file by the name it goes by.
    paths: HashMap<String, PathBuf>,
    opened: Vec<(PathBuf, Stamp)>,
}

impl Opener for Includes {
    fn open(&mut self, path: &str, includer: &str) -> io::Result<Text<'static>> {
        let folder = self.paths.get(includer).and_then(|path| path.parent());
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
            Ok(()) => Ok(()),
            Err(Refusal::OutOfZone) => {
                self.last_out = true;
                self.out_of_zone_count += 1;
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

/// Counts what is read, for the progress line.
struct Counted<'i> {
    input: Box<dyn Read + 'i>,
    octets: &'i AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let octets = self.input.read(buffer)?;
        self.octets.fetch_add(octets as u64, Ordering::Relaxed);
        Ok(octets)
    }
}

/// The state of a file proper. The error names it.
pub fn stamp_of(path: &Path) -> Result<Stamp, String> {
    let describe = |problem: String| format!("{}: {problem}", path.display());
    let metadata = std::fs::metadata(path).map_err(|error| describe(cannot("open", &error)))?;
    expect_regular(&metadata).map_err(describe)?;
    Ok(Stamp::of(&metadata))
}

/// The state of a text inside the program, which never changes but with the program.
pub fn stamp_of_embedded(text: &[u8]) -> Stamp {
    Stamp { time: 1, octets: text.len() as u64, inode: 0 }
}

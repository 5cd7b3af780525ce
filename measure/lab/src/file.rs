//! Records as files: read with errors that say what is wrong where, written whole or not at all.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    record::{FORMAT, FORMAT_FIRST, Record},
    statistics,
};

/// Name of the record in the directory of a result.
pub const RECORD: &str = "record.json";
/// Name of the report in the directory of a result.
pub const REPORT: &str = "report.html";
/// Greatest record that is read. An experiment of a day leaves some megabytes; more is not a record.
const OCTETS_MAX: u64 = 256 << 20;

/// Why a record could not be read, or something not be written.
#[derive(Debug)]
pub enum Error {
    /// A file could not be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`, `write`.
        action: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// A file that is no record.
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
}

/// What is wrong with a record.
#[derive(Debug)]
pub enum Problem {
    /// Too large to be one.
    TooLarge(u64),
    /// Not JSON.
    NotJson(serde_json::Error),
    /// JSON, but without a number called `format`.
    NoFormat,
    /// Of another format than this program knows.
    Format(u64),
    /// A field is missing, or is not what it must be.
    Field(serde_json::Error),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::TooLarge(octets) => {
                write!(f, "no record of an experiment: {octets} octets, {OCTETS_MAX} at most")
            }
            Problem::NotJson(cause) => write!(f, "not JSON: {cause}"),
            Problem::NoFormat => f.write_str("no record of an experiment: it has no number called `format`"),
            Problem::Format(format) if *format > u64::from(FORMAT) => write!(
                f,
                "format {format}, written by a later zonda-bench; this one reads formats up to {FORMAT}: use the later one"
            ),
            Problem::Format(format) => {
                write!(f, "format {format} is none; this zonda-bench reads {FORMAT_FIRST} to {FORMAT}")
            }
            Problem::Field(cause) => write!(f, "not a whole record: {cause}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::File { path, action, cause } => write!(f, "cannot {action} {}: {cause}", path.display()),
            Error::Record { path, problem } => write!(f, "{}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File { cause, .. } => Some(cause),
            Error::Record { problem: Problem::NotJson(cause) | Problem::Field(cause), .. } => Some(cause),
            Error::Record { .. } => None,
        }
    }
}

/// The record in `path`: the directory of a result, or the record itself.
pub fn read(path: &Path) -> Result<Record, Error> {
    let path = if path.is_dir() { path.join(RECORD) } else { path.to_owned() };
    let failed = |action| {
        let path = path.clone();
        move |cause| Error::File { path, action, cause }
    };
    let octets = fs::metadata(&path).map_err(failed("open"))?.len();
    if octets > OCTETS_MAX {
        return Err(Error::Record { path, problem: Problem::TooLarge(octets) });
    }
    let text = fs::read(&path).map_err(failed("read"))?;
    parse(&text).map_err(|problem| Error::Record { path, problem })
}

fn parse(text: &[u8]) -> Result<Record, Problem> {
    let value: Value = serde_json::from_slice(text).map_err(Problem::NotJson)?;
    match value.get("format").and_then(Value::as_u64) {
        None => Err(Problem::NoFormat),
        // Read anew from the text, so that an error has its line and column.
        Some(format) if format == u64::from(FORMAT) => serde_json::from_slice(text).map_err(Problem::Field),
        Some(format) if format == u64::from(FORMAT_FIRST) => {
            serde_json::from_slice(text).map(renewed).map_err(Problem::Field)
        }
        Some(format) => Err(Problem::Format(format)),
    }
}

/// A record of the first format, whose intervals claimed more than they held: those of figures are computed anew from the
/// values, and those of targets, whose values it does not have, are gone.
fn renewed(mut record: Record) -> Record {
    record.format = FORMAT;
    for figure in &mut record.figures {
        figure.interval = statistics::interval(&figure.values);
        figure.coverage = statistics::coverage(figure.values.len());
    }
    record.targets.iter_mut().for_each(|target| target.interval = None);
    let note = "made in format 1: intervals of figures are computed anew from their values, no target is decided, and \
                intervals and verdicts in tables are those of then, which claimed more than they held";
    record.notes.insert(0, note.to_owned());
    record
}

/// Writes `text` as `directory/name`; a reader finds the old file or the new one, never half of it.
pub(crate) fn write(directory: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = directory.join(name);
    let beside = directory.join(format!("{name}.new"));
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path));
    written.map_err(|cause| Error::File { path, action: "write", cause })
}

/// Writes the record into the directory of a result.
pub fn write_record(directory: &Path, record: &Record) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(record).map_err(|cause| Error::File {
        path: directory.join(RECORD),
        action: "write",
        cause: cause.into(),
    })?;
    write(directory, RECORD, &(text + "\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn formats() {
        let mut value = serde_json::to_value(sample::record()).unwrap();
        let mut read = |format: Value| {
            value["format"] = format;
            parse(value.to_string().as_bytes())
        };
        let record = read(FORMAT.into()).unwrap();
        assert_eq!(record.figures[0].interval, sample::record().figures[0].interval);
        // What a bootstrap said is not believed.
        let old = read(FORMAT_FIRST.into()).unwrap();
        let figure = &old.figures[0];
        assert_eq!(figure.interval, statistics::interval(&figure.values));
        assert!(old.notes[0].contains("format 1") && old.format == FORMAT);
        for format in [0, FORMAT + 1] {
            assert!(matches!(read(format.into()), Err(Problem::Format(_))), "{format}");
        }
        assert!(matches!(read(Value::Null), Err(Problem::NoFormat)));
    }

    /// The records of this project, of whatever format, are records.
    #[test]
    fn our_records_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/records/lab");
        let folders: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(folders.iter().filter(|path| path.is_dir()).count() >= 10);
        for path in folders.iter().filter(|path| path.is_dir()) {
            let record = read(path).unwrap();
            let shown = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(shown.starts_with(&record.recipe), "{shown} is a record of {}", record.recipe);
            assert!(!crate::report::page(&record).is_empty());
        }
    }
}

//! Extracts a query file from a trace: its requests, or the questions of its replies.

use std::{
    fs::File,
    io::{BufWriter, Seek, Write},
    path::{Path, PathBuf},
};

use super::message::Parts;
use crate::{Error, error, query::Query};

/// A query file that is written while a trace is read.
///
/// Whether a trace has requests is known at its end only: until the first one comes, questions of replies are written,
/// and then the file is begun again.
pub struct QueryFile {
    path: PathBuf,
    output: BufWriter<File>,
    /// Requests are wanted, or at least one came; `None` as long as neither is so.
    from: Option<Questions>,
    written: u64,
    /// The first one; no more is written after it.
    error: Option<Error>,
}

#[derive(Clone, Copy, PartialEq)]
enum Questions {
    Requests,
    Replies,
}

impl QueryFile {
    /// `rebuild`: from replies even if there are requests.
    pub fn create(path: &Path, rebuild: bool) -> Result<QueryFile, Error> {
        let file = File::create(path).map_err(error::file(path, "create"))?;
        let from = rebuild.then_some(Questions::Replies);
        let output = BufWriter::with_capacity(1 << 18, file);
        Ok(QueryFile { path: path.to_owned(), output, from, written: 0, error: None })
    }

    /// Writes the query of a message, if it is an ordinary one.
    pub fn add(&mut self, parts: &Parts<'_>) {
        if self.from.is_none() && !parts.is_response() {
            self.begin_again();
        }
        let query = match self.from {
            Some(Questions::Requests) => parts.query(),
            Some(Questions::Replies) | None => parts.rebuilt_query(),
        };
        if let (Some(query), None) = (query, &self.error) {
            self.write(&query);
        }
    }

    /// Ends the file. Returns how many queries are in it.
    pub fn end(mut self) -> Result<u64, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.output.flush().map_err(error::file(&self.path, "write"))?;
        Ok(self.written)
    }

    fn write(&mut self, query: &Query) {
        self.written += 1;
        let result = writeln!(self.output, "{query}").map_err(error::file(&self.path, "write"));
        self.error = result.err();
    }

    fn begin_again(&mut self) {
        self.from = Some(Questions::Requests);
        if self.written == 0 || self.error.is_some() {
            return;
        }
        self.written = 0;
        let emptied = self.output.rewind().and_then(|()| self.output.get_ref().set_len(0));
        self.error = emptied.map_err(error::file(&self.path, "empty")).err();
    }
}

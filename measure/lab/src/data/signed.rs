//! The same zones signed, or without what is DNSSEC's; queries with DO or without.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use bench::query::{self, Edns};

use super::{Signatures, Store, each_line, words};
use crate::{
    Error, error, place, process,
    recipe::{Case, Dnssec, DnssecOk, EdnsWish},
};

/// Types that only a signed zone has, and DS.
const DNSSEC_TYPES: [&str; 9] =
    ["RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "DS", "CDS", "CDNSKEY", "ZONEMD"];
/// Lines in which a signature must turn up for a zone to count as signed: its apex has some.
const APEX_LINES: usize = 200;

impl Store<'_> {
    /// The zone with or without signatures.
    pub(super) fn with_dnssec(
        &self,
        wish: Dnssec,
        apex: &str,
        path: PathBuf,
        base: String,
    ) -> Result<(PathBuf, String), Error> {
        let signed = signatures(&path)? != Signatures::None;
        let (ending, nsec3) = match wish {
            Dnssec::Strip if signed => {
                let base = format!("{base}-stripped");
                return Ok((self.made(&format!("{base}.zone"), |to| strip(&path, to))?, base));
            }
            Dnssec::Nsec if !signed => ("nsec", false),
            Dnssec::Nsec3 if !signed => ("nsec3", true),
            _ => return Ok((path, base)),
        };
        let base = format!("{base}-{ending}");
        Ok((self.made(&format!("{base}.zone"), |to| self.sign(apex, &path, nsec3, to))?, base))
    }

    /// Signs a zone with BIND's tools, with keys made for it.
    fn sign(&self, apex: &str, path: &Path, nsec3: bool, to: &Path) -> Result<(), Error> {
        for program in ["dnssec-keygen", "dnssec-signzone"] {
            if process::find(program).is_none() {
                let program = program.to_owned();
                return Err(Error::Missing { program, remedy: "install bind9-utils, it signs zones" });
            }
        }
        let keys = to.with_extension("keys");
        fs::create_dir_all(&keys).map_err(error::file(&keys, "create"))?;
        let folder = keys.to_string_lossy();
        let cores = place::cores().len().to_string();
        let keygen = ["dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", "-K", &folder];
        self.run(&words(&[&keygen[..], &[apex]].concat()))?;
        self.run(&words(&[&keygen[..], &["-f", "KSK", apex]].concat()))?;
        let (from, to) = (path.to_string_lossy(), to.to_string_lossy());
        let mut command =
            words(&["dnssec-signzone", "-S", "-P", "-q", "-n", &cores, "-K", &folder, "-d", &folder]);
        command.extend(words(&["-O", "full", "-e", "now+31536000", "-o", apex, "-f", &to]));
        if nsec3 {
            command.extend(words(&["-3", "-", "-H", "0"]));
        }
        command.push(from.into_owned());
        self.run(&command)?;
        let _ = fs::remove_dir_all(&keys);
        Ok(())
    }

    /// The query file with what a case wants of all queries: DO or not, a cookie, no EDNS at all.
    pub(super) fn with_edns(&self, case: &Case, path: PathBuf) -> Result<PathBuf, Error> {
        let ending = match (case.edns, case.dnssec_ok) {
            (EdnsWish::Keep, DnssecOk::Keep) => return Ok(path),
            (EdnsWish::Keep, DnssecOk::All) => "do",
            (EdnsWish::Keep, DnssecOk::None) => "no-do",
            (EdnsWish::Cookie, DnssecOk::Keep) => "cookie",
            (EdnsWish::Cookie, DnssecOk::All) => "cookie-do",
            (EdnsWish::Cookie, DnssecOk::None) => "cookie-no-do",
            (EdnsWish::None, _) => "no-edns",
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        self.made(&format!("{name}-{ending}.queries"), |to| {
            let mut output = BufWriter::new(File::create(to).map_err(error::file(to, "create"))?);
            let mut result = Ok(());
            query::each_query(&path, |mut query| {
                query.edns = edns(case, query.edns);
                result = writeln!(output, "{query}");
                result.is_ok()
            })?;
            result.and_then(|()| output.flush()).map_err(error::file(to, "write"))
        })
    }
}

/// EDNS of a query, as a case wants it.
fn edns(case: &Case, own: Option<Edns>) -> Option<Edns> {
    let own = own.unwrap_or_default();
    let dnssec_ok = match case.dnssec_ok {
        DnssecOk::Keep => own.dnssec_ok,
        wish => wish == DnssecOk::All,
    };
    let has_cookie = own.has_cookie || case.edns == EdnsWish::Cookie;
    (case.edns != EdnsWish::None).then_some(Edns { dnssec_ok, has_cookie, ..own })
}

/// Whether the type of a line's record is one of these; a record stands in one line, its owner in front.
fn is_of(line: &[u8], types: &[&str]) -> bool {
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.skip(1).take(3).any(|word| types.iter().any(|rtype| rtype.as_bytes() == word))
}

/// How a zone is signed: what its first lines have.
pub fn signatures(path: &Path) -> Result<Signatures, Error> {
    let (mut lines, mut found) = (0, Signatures::None);
    each_line(path, |line| {
        lines += 1;
        if is_of(line, &["NSEC3PARAM"]) {
            found = Signatures::Nsec3;
        } else if found == Signatures::None && is_of(line, &["RRSIG"]) {
            found = Signatures::Nsec;
        }
        Ok(found != Signatures::Nsec3 && lines < APEX_LINES)
    })?;
    Ok(found)
}

/// Copies a zone without what is DNSSEC's.
fn strip(path: &Path, to: &Path) -> Result<(), Error> {
    let mut output = BufWriter::new(File::create(to).map_err(error::file(to, "create"))?);
    each_line(path, |line| {
        if !is_of(line, &DNSSEC_TYPES) {
            output.write_all(line)?;
        }
        Ok(true)
    })?;
    output.flush().map_err(error::file(to, "write"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::records;

    #[test]
    fn strips_and_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (signed, plain) = (folder.path().join("signed"), folder.path().join("plain"));
        let text = ". 1 IN SOA a. b. 1 1 1 1 1\n. 1 IN RRSIG SOA 8 0 1\n\n; signed\nDS. 1 IN NS a.\nDS. 1 IN NSEC b. NS\n";
        fs::write(&signed, text).unwrap();
        assert_eq!(signatures(&signed).unwrap(), Signatures::Nsec);
        assert_eq!(records(&signed).unwrap(), 4);
        strip(&signed, &plain).unwrap();
        assert_eq!(
            fs::read_to_string(&plain).unwrap(),
            ". 1 IN SOA a. b. 1 1 1 1 1\n\n; signed\nDS. 1 IN NS a.\n"
        );
        assert_eq!(signatures(&plain).unwrap(), Signatures::None);
        fs::write(&plain, text.to_owned() + ". 0 IN NSEC3PARAM 1 0 0 -\n").unwrap();
        assert_eq!(signatures(&plain).unwrap(), Signatures::Nsec3);
    }
}

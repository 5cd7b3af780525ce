//! Zone files as generators read them: whole, by the project's own reader, without `$INCLUDE`.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use wire::{Name, NameBuf, iana::rtype};
use zonefile::{NoIncludes, Options, Record, Refusal, Source};

use crate::{Error, error, error::ZoneProblem};

/// A zone file and the name its relative names begin at.
pub struct ZoneFile {
    path: PathBuf,
    /// Owner of the SOA record.
    pub apex: NameBuf,
    origin: NameBuf,
}

impl ZoneFile {
    /// Looks for the SOA of the file. `origin`: for files that hold relative names and do not begin with `$ORIGIN`.
    pub fn open(path: &Path, origin: Option<&Name>) -> Result<ZoneFile, Error> {
        let origin = origin.unwrap_or(Name::root()).to_owned();
        let mut file = ZoneFile { path: path.to_owned(), apex: NameBuf::root(), origin };
        let mut apex = None;
        file.read(|record| {
            if record.rtype == rtype::SOA {
                apex = Some(record.owner.to_owned().to_lowercase());
            }
            apex.is_none()
        })?;
        file.apex =
            apex.ok_or_else(|| Error::NoZone { path: path.to_owned(), problem: ZoneProblem::NoSoa })?;
        Ok(file)
    }

    /// Hands over each record.
    pub fn each_record(&self, mut take: impl FnMut(&Record<'_>)) -> Result<(), Error> {
        self.read(|record| {
            take(record);
            true
        })
    }

    /// Hands over records until `take` says no.
    fn read(&self, mut take: impl FnMut(&Record<'_>) -> bool) -> Result<(), Error> {
        let file = File::open(&self.path).map_err(error::file(&self.path, "open"))?;
        let source = Source { name: self.path.display().to_string(), input: Box::new(file) };
        let mut sink = |record: &Record<'_>| if take(record) { Ok(()) } else { Err(Refusal::Stop) };
        match zonefile::read(source, &Options::new(&self.origin), &mut NoIncludes, &mut sink) {
            // Stopped by the receiver: no problem.
            Err(report) if !report.diagnostics.is_empty() => Err(Error::Zone { report: Box::new(report) }),
            _ => Ok(()),
        }
    }
}

/// A hash of a name without regard to case: sets of these need 8 octets a name, and with millions of names two of
/// them are the same once in a million runs, which then costs a name that is not used.
pub fn name_hash(name: &Name) -> u64 {
    let value = name.octets().iter().fold(0xcbf2_9ce4_8422_2325u64, |value, octet| {
        (value ^ u64::from(octet.to_ascii_lowercase())).wrapping_mul(0x100_0000_01b3)
    });
    value ^ (value >> 32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn apex_and_faults() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = |text: &str, origin: Option<&str>| {
            std::fs::write(file.path(), text).unwrap();
            let origin = origin.map(|text| NameBuf::from_text(text).unwrap());
            ZoneFile::open(file.path(), origin.as_deref())
        };
        let text = "$TTL 5\n@ SOA a b 1 2 3 4 5\nhost A 192.0.2.1\n";
        let zone = open(text, Some("Example")).unwrap();
        let mut owners = Vec::new();
        zone.each_record(|record| owners.push(record.owner.to_string())).unwrap();
        assert_eq!((zone.apex.to_string().as_str(), owners[1].as_str()), ("example.", "host.Example."));
        assert!(matches!(open("a. 5 A 192.0.2.1\n", None), Err(Error::NoZone { .. })));
        let Err(fault) = open("a. 5 A 192.0.2\n", None) else { panic!("read") };
        assert!(fault.to_string().contains(":1:"), "{fault}");
        let one = NameBuf::from_text("Host.Example.").unwrap();
        assert_eq!(name_hash(&one), name_hash(&one.to_lowercase()));
    }
}

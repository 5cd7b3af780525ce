//! `zonda-bench gen slice`.

use std::path::PathBuf;

use bench::{
    Error,
    generate::{
        slice::{self, RANGES_MAX, Range},
        zone_file::ZoneFile,
    },
};
use clap::Args;

use super::{create, origin_name};

/// Options of `slice`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench gen slice --thirds --zone com.zone --queries com.txt -o com
      writes com.a-f.zone, com.a-f.queries, com.g-n.zone, com.g-n.queries, com.o-z.zone, com.o-z.queries
  zonda-bench gen slice --range a-c --range s --queries com.txt --origin com -o part
Digits belong to the slice that has a. Each slice is a zone of its own, without signatures.")]
pub struct Slice {
    /// First letters, as a-f or q; may be given again.
    #[arg(long, value_name = "RANGE", required_unless_present_any = ["halves", "thirds"])]
    range: Vec<String>,
    /// The same as --range a-m --range n-z.
    #[arg(long, conflicts_with_all = ["range", "thirds"])]
    halves: bool,
    /// The same as --range a-f --range g-n --range o-z.
    #[arg(long, conflicts_with = "range")]
    thirds: bool,
    /// Zone file to cut.
    #[arg(long, value_name = "FILE", required_unless_present = "queries")]
    zone: Option<PathBuf>,
    /// Query file to cut.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Apex, where there is no zone file, or origin of a zone file with relative names and no $ORIGIN.
    #[arg(long, required_unless_present = "zone")]
    origin: Option<String>,
    /// Beginning of the names of the files to write.
    #[arg(short, long, value_name = "PREFIX")]
    output: PathBuf,
}

pub fn run(options: &Slice) -> Result<(), Error> {
    let ranges = ranges(options)?;
    let origin = options.origin.as_deref().map(origin_name).transpose()?;
    let files = |kind: &str| {
        let paths = ranges.iter().map(|range| {
            let mut path = options.output.clone().into_os_string();
            path.push(format!(".{range}.{kind}"));
            PathBuf::from(path)
        });
        paths.map(|path| Ok((create(&path)?, path))).collect::<Result<(Vec<_>, Vec<_>), Error>>()
    };
    let report = |paths: &[PathBuf], counts: &[u64], what: &str| {
        for (path, count) in paths.iter().zip(counts) {
            eprintln!("{}: {count} {what}", path.display());
        }
    };
    if let Some(zone) = &options.zone {
        let (mut outputs, paths) = files("zone")?;
        report(&paths, &slice::zone(zone, origin.as_deref(), &ranges, &mut outputs)?, "records");
    }
    if let Some(queries) = &options.queries {
        let apex = match (&options.zone, origin) {
            (Some(zone), origin) => ZoneFile::open(zone, origin.as_deref())?.apex,
            (None, Some(origin)) => origin,
            (None, None) => return Err(Error::Option { option: "--origin", rule: "must be given" }),
        };
        let (mut outputs, paths) = files("queries")?;
        report(&paths, &slice::queries(queries, &apex, &ranges, &mut outputs)?, "queries");
    }
    Ok(())
}

fn ranges(options: &Slice) -> Result<Vec<Range>, Error> {
    if options.halves {
        return Ok(Range::halves());
    }
    if options.thirds {
        return Ok(Range::thirds());
    }
    if options.range.len() > RANGES_MAX {
        return Err(Error::Option { option: "--range", rule: "must be given at most 32 times" });
    }
    let read = |text: &String| Range::from_text(text);
    options
        .range
        .iter()
        .map(read)
        .collect::<Option<_>>()
        .ok_or(Error::Option { option: "--range", rule: "must be two letters or digits such as a-f, or one" })
}

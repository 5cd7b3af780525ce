//! `zonda-bench gen queries`.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use bench::{
    Error,
    generate::{
        alike, every, hits,
        popularity::Skew,
        queries::{self, Flood, Mix},
        text::OUTPUT_OCTETS,
        types::Types,
    },
    query::{QUERIES_MAX, Query},
    source::{self, Overrides},
    trace,
};
use clap::{Args, ValueEnum};

use super::{origin, share};

/// Options of `queries`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  xz -dc capture.pcapng.xz | zonda-bench gen queries --from - -o root.txt
  zonda-bench gen queries --zone net.zone --nxdomain 0.05 --count 1000000 -o net.txt
  zonda-bench gen queries --zone hosting/zones --count 1000000 -o hosting.txt
  zonda-bench gen queries --zone root.zone --types f-root --skew paper --below 0.95 -o f-root.txt
  zonda-bench gen queries --zone root.zone --like root.txt --count 1000000 -o million.txt
  zonda-bench gen queries --zone bed/children/zones --hits 0.8 --count 1000000 -o hits-80.txt
  zonda-bench gen queries --zone bed/children/zones --kept -o settle.txt
  zonda-bench gen queries --zone panel/zones --every -o all.txt
  zonda-bench gen queries --zone net.zone --flood 0.3 --victim example.net -o flood.txt
Each line is NAME TYPE and, for zonda-bench load, words such as do or rd.")]
pub struct Queries {
    /// File to write; standard output without.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Capture (pcap or pcapng) to take the queries of; - for standard input.
    #[arg(long, value_name = "CAPTURE", required_unless_present = "zone", conflicts_with = "zone")]
    from: Option<PathBuf>,
    /// Zone file, or folder of zone files, to draw names from.
    #[arg(long, value_name = "PATH")]
    zone: Option<PathBuf>,
    /// Apex of the zone, where its file does not begin with $ORIGIN.
    #[arg(long, requires = "zone")]
    origin: Option<String>,
    /// Queries; of a capture the first so many, by default all.
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Like those of this query file or capture, each with its type, flags, EDNS and kind of name, but for different names: --count says how
    /// many, and those that it has for names of the zone itself come again beside them as often as there.
    #[arg(long, value_name = "FILE", requires = "zone", conflicts_with_all = ["types", "skew", "nxdomain", "dnssec", "below", "flood", "hits", "kept"])]
    like: Option<PathBuf>,
    /// Types asked for.
    #[arg(long, value_name = "MIX", default_value = "resolver", requires = "zone")]
    types: TypeMix,
    /// How often each owner is asked for.
    #[arg(long, value_name = "LAW", default_value = "uniform", requires = "zone")]
    skew: Law,
    /// Share of names that do not exist; by default 0.05, with --types f-root as recorded for each type.
    #[arg(long, value_name = "SHARE", requires = "zone")]
    nxdomain: Option<f64>,
    /// Share of queries with DO.
    #[arg(long = "do", value_name = "SHARE", default_value_t = 0.0, requires = "zone")]
    dnssec: f64,
    /// Share of queries for www below an owner, as a delegating zone gets them.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "zone")]
    below: f64,
    /// Share of a flood of random names below one name.
    #[arg(long, value_name = "SHARE", requires = "zone")]
    flood: Option<f64>,
    /// The name whose random subdomains are asked for; by default an owner.
    #[arg(long, value_name = "NAME", requires = "flood")]
    victim: Option<String>,
    /// For the caching bed: share of queries that a cache can answer; of the other options of the mix only --skew applies, to
    /// these.
    #[arg(long, value_name = "SHARE", requires = "zone", conflicts_with_all = ["flood", "nxdomain", "origin"])]
    hits: Option<f64>,
    /// For the caching bed: each name that stays in a cache, once, by which it settles.
    #[arg(long, requires = "zone", conflicts_with_all = ["hits", "flood", "nxdomain", "origin", "count"])]
    kept: bool,
    /// Each RRset, once, in the order of the files, which begin with $ORIGIN or have absolute names.
    #[arg(long, requires = "zone", conflicts_with_all = ["hits", "kept", "like", "flood", "nxdomain", "origin", "count"])]
    every: bool,
    /// Leave away the words after the type, for tools that stop at them.
    #[arg(long)]
    plain: bool,
    /// Start of the random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Mixes of types.
#[derive(Clone, Copy, ValueEnum)]
enum TypeMix {
    /// A 62 %, AAAA 24 %, NS, MX, TXT, HTTPS.
    Resolver,
    /// As the F root server got them in 2006 (ISC-TN-2008-1), each type with its share of failures.
    FRoot,
    /// A only.
    A,
}

/// Laws of popularity.
#[derive(Clone, Copy, ValueEnum)]
enum Law {
    /// Each as often as any other.
    Uniform,
    /// 22.9 % for one owner (br where there is one), more than half for six, as at the F root server of 2005.
    Paper,
    /// Zipf's law.
    Zipf,
}

impl From<Law> for Skew {
    fn from(law: Law) -> Skew {
        match law {
            Law::Uniform => Skew::Uniform,
            Law::Paper => Skew::Paper,
            Law::Zipf => Skew::Zipf,
        }
    }
}

/// Queries drawn from a zone where no count is given.
const QUERIES: usize = 100_000;

pub fn run(options: &Queries) -> Result<(), Error> {
    let shares = [
        ("--nxdomain", options.nxdomain),
        ("--do", Some(options.dnssec)),
        ("--below", Some(options.below)),
        ("--flood", options.flood),
        ("--hits", options.hits),
    ];
    for (option, value) in shares {
        share(option, value.unwrap_or_default())?;
    }
    let path = options.output.clone().unwrap_or_else(|| PathBuf::from("standard output"));
    let fault = |action, cause| Error::File { path: path.clone(), action, cause };
    let output: Box<dyn Write> = match &options.output {
        Some(path) => Box::new(File::create(path).map_err(|cause| fault("create", cause))?),
        None => Box::new(io::stdout()),
    };
    let mut output = BufWriter::with_capacity(OUTPUT_OCTETS, output);
    let mut result = Ok(());
    let mut written = 0;
    let mut write = |query: Query| {
        let is_wanted = options.like.is_some() || written < options.count.unwrap_or(usize::MAX);
        if result.is_ok() && is_wanted {
            written += 1;
            result = match options.plain {
                true => writeln!(output, "{} {}", query.name, query.rtype_text()),
                false => writeln!(output, "{query}"),
            };
        }
    };
    if let Some(capture) = &options.from {
        let tally = trace::each_query(capture, &mut write)?;
        eprintln!(
            "{} packets, {} datagrams of the DNS, {} queries, {} to port 53 that are no ordinary query",
            tally.packets, tally.datagrams, tally.queries, tally.other
        );
    }
    if let Some(zone) = &options.zone {
        from_zone(zone, options, &mut write)?;
    }
    result.and_then(|()| output.flush()).map_err(|cause| fault("write", cause))?;
    eprintln!("{written} queries written");
    Ok(())
}

fn from_zone(zone: &Path, options: &Queries, mut write: impl FnMut(Query)) -> Result<(), Error> {
    let count = options.count.unwrap_or(QUERIES);
    if let Some(recorded) = &options.like {
        let recorded = source::read(recorded, &Overrides::default())?;
        let wanted = alike::Wanted { different: count.min(QUERIES_MAX), seed: options.seed };
        let different =
            alike::from_recorded(&recorded, (zone, options.origin.as_deref()), wanted, &mut write)?;
        eprintln!("{different} different queries");
        return Ok(());
    }
    if options.every {
        every::rrset(zone, &mut write)?;
        return Ok(());
    }
    if options.kept {
        hits::kept(zone, options.seed, &mut write)?;
        return Ok(());
    }
    if let Some(hit_share) = options.hits {
        let mix = hits::Mix { count, hit_share, skew: options.skew.into(), seed: options.seed };
        let (kept, short) = hits::from_zones(zone, &mix, &mut write)?;
        eprintln!("{kept} names that stay in a cache, {short} with a TTL of 1");
        return Ok(());
    }
    let flood = match options.flood {
        Some(share) => Some(Flood { share, victim: options.victim.as_deref().map(victim).transpose()? }),
        None => None,
    };
    let mix = Mix {
        count,
        nxdomain_share: options.nxdomain,
        dnssec_share: options.dnssec,
        below_share: options.below,
        types: match options.types {
            TypeMix::Resolver => Types::Resolver,
            TypeMix::FRoot => Types::FRoot,
            TypeMix::A => Types::Address,
        },
        skew: options.skew.into(),
        flood,
        seed: options.seed,
    };
    queries::from_zone(zone, options.origin.as_deref(), &mix, &mut write)
}

fn victim(text: &str) -> Result<String, Error> {
    origin(text).map_err(|_| Error::Option { option: "--victim", rule: "must be a domain name" })
}

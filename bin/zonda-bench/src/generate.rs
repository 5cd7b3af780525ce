//! `zonda-bench gen`.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use bench::{
    Error,
    generate::{
        flat, hosting, net,
        queries::{self, Mix},
        text::{Counts, OUTPUT_OCTETS, Style},
    },
    labels, trace,
};
use clap::{Args, Subcommand, ValueEnum};

/// What to make.
#[derive(Subcommand)]
pub enum Command {
    /// Make a zone, or many.
    #[command(subcommand)]
    Zone(Zone),
    /// Make a query file from a capture or for a zone.
    Queries(Queries),
}

/// Kinds of zones.
#[derive(Subcommand)]
pub enum Zone {
    /// A delegation-only top-level zone in the shape of net.
    #[command(after_help = "\
Examples:
  zonda-bench gen zone net-like -o net.zone
  zonda-bench gen zone net-like --names names.tsv --style absolute --order random -o net.zone
The counts of records go to standard error.")]
    NetLike(NetLike),
    /// Many small zones, one file each, with settings for Zonda, named, nsd and knotd.
    #[command(
        after_help = "Example:\n  zonda-bench gen zone hosting --zones 10000 --addresses 100 -o hosting/"
    )]
    Hosting(Hosting),
    /// One zone of many hosts with an address each.
    #[command(
        after_help = "Example:\n  zonda-bench gen zone flat --hosts 5000000 --origin flat.example. -o flat.zone"
    )]
    Flat(Flat),
}

/// How lines are written.
#[derive(Clone, Copy, ValueEnum)]
pub enum TextStyle {
    /// $ORIGIN and $TTL first, names relative.
    Relative,
    /// Every name absolute, TTL and class in every line, as the root zone is published.
    Absolute,
}

/// Order of the owners.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Order {
    /// The order of DNSSEC (RFC 4034 6.1).
    Canonical,
    /// Shuffled; the apex stays first.
    Random,
}

/// Options of all zones.
#[derive(Args)]
pub struct Common {
    /// File (hosting: folder) to write.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// File of names whose labels are used first: one name a line, further columns ignored.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Another seed gives another zone of the same kind.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Options of `net-like`.
#[derive(Args)]
pub struct NetLike {
    #[command(flatten)]
    common: Common,
    /// Delegations, two NS each.
    #[arg(long, value_name = "N", default_value_t = 4_000_000)]
    delegations: usize,
    /// Providers whose two name servers are shared; by default one for 40 delegations.
    #[arg(long, value_name = "N")]
    providers: Option<usize>,
    /// Share of delegations that use a provider.
    #[arg(long, value_name = "SHARE", default_value_t = 0.7)]
    provider_share: f64,
    /// Apex.
    #[arg(long, default_value = "net.")]
    origin: String,
    /// Serial of the SOA.
    #[arg(long, default_value_t = 1)]
    serial: u32,
    #[arg(long, default_value = "relative")]
    style: TextStyle,
    #[arg(long, default_value = "canonical")]
    order: Order,
}

/// Options of `hosting`.
#[derive(Args)]
pub struct Hosting {
    #[command(flatten)]
    common: Common,
    /// Zones.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    zones: usize,
    /// Hosts with an A in each zone.
    #[arg(long, value_name = "N", default_value_t = 100)]
    addresses: usize,
}

/// Options of `flat`.
#[derive(Args)]
pub struct Flat {
    #[command(flatten)]
    common: Common,
    /// Hosts.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    hosts: usize,
    /// Apex.
    #[arg(long, default_value = "flat.example.")]
    origin: String,
    #[arg(long, default_value = "relative")]
    style: TextStyle,
}

/// Options of `queries`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  xz -dc capture.pcapng.xz | zonda-bench gen queries --from - -o root.txt
  zonda-bench gen queries --zone net.zone --nxdomain 0.05 --count 1000000 -o net.txt
  zonda-bench gen queries --zone hosting/zones --count 1000000 -o hosting.txt
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
    /// Share of names that do not exist.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, requires = "zone")]
    nxdomain: f64,
    /// Share of queries with DO.
    #[arg(long = "do", value_name = "SHARE", default_value_t = 0.0, requires = "zone")]
    dnssec: f64,
    /// Share of queries for www below an owner, as a delegating zone gets them.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "zone")]
    below: f64,
    /// Leave away the words after the type, for tools that stop at them.
    #[arg(long)]
    plain: bool,
    /// Start of the random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Queries drawn from a zone where no count is given.
const QUERIES: usize = 100_000;
/// Most labels made: with more, the offsets of their run of octets no longer fit 32 bits.
const LABELS_MAX: usize = 100_000_000;

pub fn run(command: Command) -> Result<ExitCode, Error> {
    match command {
        Command::Zone(Zone::NetLike(options)) => net_like(&options)?,
        Command::Zone(Zone::Hosting(options)) => hosting(&options)?,
        Command::Zone(Zone::Flat(options)) => flat(&options)?,
        Command::Queries(options) => queries(&options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn net_like(options: &NetLike) -> Result<(), Error> {
    let common = &options.common;
    share("--provider-share", options.provider_share)?;
    let labels = make_labels(options.delegations, "--delegations", common)?;
    let shape = net::Shape {
        origin: origin(&options.origin)?,
        providers: options.providers.unwrap_or(options.delegations / 40),
        provider_share: options.provider_share,
        serial: options.serial,
        style: options.style.into(),
        shuffled: options.order == Order::Random,
        seed: common.seed,
    };
    let counts = to_file(&common.output, |output| net::write(output, &shape, &labels))?;
    eprintln!("{} delegations, labels of {:.2} octets on average", labels.count(), labels.octets_mean());
    report(&counts);
    Ok(())
}

fn hosting(options: &Hosting) -> Result<(), Error> {
    if options.addresses > 1_000_000 {
        return Err(Error::Option { option: "--addresses", rule: "must be at most 1000000" });
    }
    let labels = make_labels(options.zones, "--zones", &options.common)?;
    let counts = hosting::write(&options.common.output, &labels, options.addresses, options.common.seed)?;
    eprintln!("{} zones", labels.count());
    report(&counts);
    Ok(())
}

fn flat(options: &Flat) -> Result<(), Error> {
    let common = &options.common;
    let labels = make_labels(options.hosts, "--hosts", common)?;
    let origin = origin(&options.origin)?;
    let write =
        |output: BufWriter<File>| flat::write(output, &origin, options.style.into(), &labels, common.seed);
    report(&to_file(&common.output, write)?);
    Ok(())
}

fn queries(options: &Queries) -> Result<(), Error> {
    for (option, value) in
        [("--nxdomain", options.nxdomain), ("--do", options.dnssec), ("--below", options.below)]
    {
        share(option, value)?;
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
    let mut write = |query: bench::query::Query| {
        if result.is_ok() && written < options.count.unwrap_or(usize::MAX) {
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
        let mix = Mix {
            count: options.count.unwrap_or(QUERIES),
            nxdomain_share: options.nxdomain,
            dnssec_share: options.dnssec,
            below_share: options.below,
            seed: options.seed,
        };
        queries::from_zone(zone, options.origin.as_deref(), &mix, &mut write)?;
    }
    result.and_then(|()| output.flush()).map_err(|cause| fault("write", cause))?;
    eprintln!("{written} queries written");
    Ok(())
}

fn make_labels(count: usize, option: &'static str, common: &Common) -> Result<labels::Labels, Error> {
    if !(1..=LABELS_MAX).contains(&count) {
        return Err(Error::Option { option, rule: "must be from 1 to 100000000" });
    }
    labels::make(count, common.names.as_deref(), common.seed)
}

fn to_file(path: &Path, write: impl FnOnce(BufWriter<File>) -> io::Result<Counts>) -> Result<Counts, Error> {
    let fault = |action| move |cause| Error::File { path: path.to_owned(), action, cause };
    let file = File::create(path).map_err(fault("create"))?;
    write(BufWriter::with_capacity(OUTPUT_OCTETS, file)).map_err(fault("write"))
}

fn origin(text: &str) -> Result<String, Error> {
    match bench::query::name_from_text(text) {
        Some(name) => Ok(name.to_lowercase().to_string()),
        None => Err(Error::Option { option: "--origin", rule: "must be a domain name" }),
    }
}

fn share(option: &'static str, value: f64) -> Result<(), Error> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(Error::Option { option, rule: "must be from 0 to 1" }),
    }
}

fn report(counts: &Counts) {
    let Counts { records, ns, a, aaaa } = counts;
    eprintln!("{records} records: {ns} NS, {a} A, {aaaa} AAAA, {} SOA", records - ns - a - aaaa);
}

impl From<TextStyle> for Style {
    fn from(style: TextStyle) -> Style {
        match style {
            TextStyle::Relative => Style::Relative,
            TextStyle::Absolute => Style::Absolute,
        }
    }
}

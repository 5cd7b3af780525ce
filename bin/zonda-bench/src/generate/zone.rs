//! `zonda-bench gen zone`.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use bench::{
    Error,
    generate::{
        caching, dynamic, flat, hosting, net, panel, registry, root,
        text::{Counts, Style},
    },
    labels,
};
use clap::{Args, Subcommand, ValueEnum};
use sim::signer::Signing;
use wire::iana::algorithm;

use super::{origin, share, to_file};

/// Kinds of zones.
#[derive(Subcommand)]
pub enum Zone {
    /// A root zone with the sizes of the real one.
    #[command(after_help = "\
Examples:
  zonda-bench gen zone root-like -o root.zone
  zonda-bench gen zone root-like --delegations 5000 --names names.tsv -o root.zone")]
    RootLike(RootLike),
    /// The net zone of March 2003 that the USENIX paper measured: 8,541,503 records, exactly.
    #[command(after_help = "\
Examples:
  zonda-bench gen zone net -o net.zone
  zonda-bench gen zone net --records 100000 --names names.tsv -o net.zone")]
    Net(Net),
    /// A com zone of today: shared name servers, glue, DS; or all name servers different.
    #[command(after_help = "\
Examples:
  zonda-bench gen zone com -o com.zone
  zonda-bench gen zone com --unique -o com-unique.zone
  zonda-bench gen zone com --delegations 500000 --ds 0.6 -o com-signed-children.zone")]
    Com(Com),
    /// A delegation-only top-level zone in the shape of net of today.
    #[command(after_help = "\
Examples:
  zonda-bench gen zone net-like -o net.zone
  zonda-bench gen zone net-like --names names.tsv --style absolute --order random -o net.zone
The counts of records go to standard error.")]
    NetLike(NetLike),
    /// Many small zones, one file each, with settings for Zonda, named, nsd and knotd.
    #[command(
        visible_alias = "many",
        after_help = "\
Examples:
  zonda-bench gen zone many -o many/                                     10,000 zones of 100 A
  zonda-bench gen zone many --zones 1000000 --records 5 -o million/      a million zones of 5 records
Folders of more than 100,000 zones have their files in folders by the first two characters of their names."
    )]
    Hosting(Hosting),
    /// Zones as a hosting panel writes them: some 124 records and 25.7 KB of text each.
    #[command(after_help = "\
Example:
  zonda-bench gen zone panel --zones 140000 -o panel/                    3.6 GB of text
Files and settings are those of many.")]
    Panel(Panel),
    /// A zone for dynamic updates: 10,000 records and the mandatory ones.
    #[command(after_help = "Example:\n  zonda-bench gen zone dynamic -o dynamic.zone")]
    Dynamic(Dynamic),
    /// One zone of many hosts with an address each.
    #[command(
        after_help = "Example:\n  zonda-bench gen zone flat --hosts 5000000 --origin flat.example. -o flat.zone"
    )]
    Flat(Flat),
    /// The bed for a caching server: a parent zone and its children, half of whose names have a TTL of 1.
    #[command(after_help = "\
Example, for servers on two addresses of this machine:
  zonda-bench gen zone caching --parent 127.0.53.2 --children 127.0.53.1 -o bed/
  zonda-bench gen queries --zone bed/children/zones --hits 0.8 --count 1000000 -o hits-80.txt
bed/parent and bed/children hold zones and settings of servers, bed/resolver the settings of a resolver.")]
    Caching(Caching),
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
    /// File (hosting, panel, caching: folder) to write.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// File of names whose labels are used first: one name a line, further columns ignored.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Another seed gives another zone of the same kind.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Options of `root-like`.
#[derive(Args)]
pub struct RootLike {
    #[command(flatten)]
    common: Common,
    /// Delegations: top-level domains.
    #[arg(long, value_name = "N", default_value_t = root::DELEGATIONS)]
    delegations: usize,
    /// Serial of the SOA.
    #[arg(long, default_value_t = 1)]
    serial: u32,
    #[arg(long, default_value = "absolute")]
    style: TextStyle,
}

/// Options of `net`.
#[derive(Args)]
pub struct Net {
    #[command(flatten)]
    common: Common,
    /// Records in all.
    #[arg(long, value_name = "N", default_value_t = registry::NET_RECORDS)]
    records: usize,
    #[arg(long, default_value = "relative")]
    style: TextStyle,
}

/// Options of `com`.
#[derive(Args)]
pub struct Com {
    #[command(flatten)]
    common: Common,
    /// Delegations, two NS each.
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    delegations: usize,
    /// Sets of two name servers that delegations share; by default three for 100 delegations.
    #[arg(long, value_name = "N", conflicts_with = "unique")]
    sets: Option<usize>,
    /// No two delegations share a name server.
    #[arg(long)]
    unique: bool,
    /// Share of delegations with a DS.
    #[arg(long, value_name = "SHARE", default_value_t = 0.045)]
    ds: f64,
    /// Share of delegations with hosts of their own in the zone.
    #[arg(long, value_name = "SHARE", default_value_t = 0.08)]
    glue: f64,
    /// Apex.
    #[arg(long, default_value = "com.")]
    origin: String,
    /// Serial of the SOA.
    #[arg(long, default_value_t = 1)]
    serial: u32,
    #[arg(long, default_value = "relative")]
    style: TextStyle,
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
    /// Hosts with an A in each zone, in addition to SOA and two NS.
    #[arg(long, value_name = "N", default_value_t = 100)]
    addresses: usize,
    /// Records of each zone in all, SOA and two NS included.
    #[arg(long, value_name = "N", conflicts_with = "addresses")]
    records: Option<usize>,
}

/// Options of `panel`.
#[derive(Args)]
pub struct Panel {
    #[command(flatten)]
    common: Common,
    /// Zones.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    zones: usize,
}

/// Options of `dynamic`.
#[derive(Args)]
pub struct Dynamic {
    #[command(flatten)]
    common: Common,
    /// Records in addition to SOA, two NS and their addresses.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    records: usize,
    /// Apex.
    #[arg(long, default_value = "dynamic.example.")]
    origin: String,
    #[arg(long, default_value = "relative")]
    style: TextStyle,
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

/// Options of `caching`.
#[derive(Args)]
pub struct Caching {
    #[command(flatten)]
    common: Common,
    /// Child zones.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    zones: usize,
    /// Hosts with an A in each, in addition to SOA, NS and its address.
    #[arg(long, value_name = "N", default_value_t = 200)]
    hosts: usize,
    /// Share of the hosts with a TTL of 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    short: f64,
    /// The parent zone.
    #[arg(long, default_value = "bed.example.")]
    origin: String,
    /// Address of the server of the parent zone; its port is 53.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.53.2")]
    parent: Ipv4Addr,
    /// Address of the server of the child zones; its port is 53.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.53.1")]
    children: Ipv4Addr,
    /// Sign all of them (ECDSA P-256, NSEC) for 30 days; resolver/anchor has what to validate with.
    #[arg(long)]
    signed: bool,
}

/// Signatures are good from a day ago.
const DAY_SECONDS: u32 = 86_400;
/// Most labels made: with more, the offsets of their run of octets no longer fit 32 bits.
const LABELS_MAX: usize = 100_000_000;
/// Most delegations of a root zone: it is put in order in memory.
const ROOT_MAX: usize = 1_000_000;
/// Folders of more zones than this are spread over sub-folders.
const FOLDER_MAX: usize = 100_000;

pub fn run(zone: Zone) -> Result<(), Error> {
    match zone {
        Zone::RootLike(options) => root_like(&options),
        Zone::Net(options) => net(&options),
        Zone::Com(options) => com(&options),
        Zone::NetLike(options) => net_like(&options),
        Zone::Hosting(options) => hosting(&options),
        Zone::Panel(options) => panel(&options),
        Zone::Dynamic(options) => dynamic(&options),
        Zone::Flat(options) => flat(&options),
        Zone::Caching(options) => caching(&options),
    }
}

fn root_like(options: &RootLike) -> Result<(), Error> {
    let common = &options.common;
    if !(1..=ROOT_MAX).contains(&options.delegations) {
        return Err(Error::Option { option: "--delegations", rule: "must be from 1 to 1000000" });
    }
    let labels = labels::make_top_level(options.delegations, common.names.as_deref(), common.seed)?;
    let style = options.style.into();
    let shape =
        root::Shape { style, serial: options.serial, ..root::Shape::new(options.delegations, common.seed) };
    report(&to_file(&common.output, |output| root::write(output, &shape, &labels))?);
    Ok(())
}

fn net(options: &Net) -> Result<(), Error> {
    if !(registry::RECORDS_MIN..=LABELS_MAX).contains(&options.records) {
        return Err(Error::Option { option: "--records", rule: "must be from 129 to 100000000" });
    }
    let shape = registry::Shape {
        style: options.style.into(),
        ..registry::Shape::net(options.records, options.common.seed)
    };
    write_registry(&options.common, &shape, "--records")
}

fn com(options: &Com) -> Result<(), Error> {
    share("--ds", options.ds)?;
    share("--glue", options.glue)?;
    let base = registry::Shape::com(options.delegations, options.common.seed);
    let shape = registry::Shape {
        origin: origin(&options.origin)?,
        hosts: 2 * (options.delegations as f64 * options.glue) as usize,
        sets: if options.unique { 0 } else { options.sets.unwrap_or(base.sets) },
        ds_share: options.ds,
        serial: options.serial,
        style: options.style.into(),
        ..base
    };
    if shape.origin == "." {
        return Err(Error::Option { option: "--origin", rule: "must not be the root: see root-like" });
    }
    write_registry(&options.common, &shape, "--delegations")
}

fn write_registry(common: &Common, shape: &registry::Shape, option: &'static str) -> Result<(), Error> {
    let labels = make_labels(shape.delegations, option, common)?;
    let counts = to_file(&common.output, |output| registry::write(output, shape, &labels))?;
    eprintln!("{} delegations, labels of {:.2} octets on average", labels.count(), labels.octets_mean());
    report(&counts);
    Ok(())
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
    let addresses = match options.records {
        // SOA and two NS.
        Some(records) => records
            .checked_sub(3)
            .ok_or(Error::Option { option: "--records", rule: "must be at least 3: SOA and two NS" })?,
        None => options.addresses,
    };
    if addresses > 1_000_000 {
        return Err(Error::Option { option: "--addresses", rule: "must be at most 1000000" });
    }
    let labels = make_labels(options.zones, "--zones", &options.common)?;
    let spread = options.zones > FOLDER_MAX;
    let counts = hosting::write(&options.common.output, &labels, addresses, spread, options.common.seed)?;
    eprintln!("{} zones", labels.count());
    report(&counts);
    Ok(())
}

fn panel(options: &Panel) -> Result<(), Error> {
    let labels = make_labels(options.zones, "--zones", &options.common)?;
    let spread = options.zones > FOLDER_MAX;
    let counts = panel::write(&options.common.output, &labels, spread, options.common.seed)?;
    eprintln!("{} zones", labels.count());
    report(&counts);
    Ok(())
}

fn dynamic(options: &Dynamic) -> Result<(), Error> {
    let common = &options.common;
    let labels = make_labels(options.records, "--records", common)?;
    let origin = origin(&options.origin)?;
    let counts = to_file(&common.output, |output| {
        dynamic::write(output, &origin, options.style.into(), &labels, options.records, common.seed)
    })?;
    report(&counts);
    Ok(())
}

fn flat(options: &Flat) -> Result<(), Error> {
    let common = &options.common;
    let labels = make_labels(options.hosts, "--hosts", common)?;
    let origin = origin(&options.origin)?;
    let counts = to_file(&common.output, |output| {
        flat::write(output, &origin, options.style.into(), &labels, common.seed)
    })?;
    report(&counts);
    Ok(())
}

/// Signs the zones of a bed, and writes what a resolver validates them with.
fn sign(folder: &Path, origin: &str) -> Result<(), Error> {
    let fault = |path: &Path, action| {
        let path = path.to_owned();
        move |cause| Error::File { path, action, cause }
    };
    let name = |text: &str| {
        text.parse::<wire::NameBuf>()
            .map_err(|_| Error::Option { option: "--origin", rule: "must be a domain name" })
    };
    let mut files = vec![
        (wire::NameBuf::root(), folder.join("resolver/root.zone")),
        (name(origin)?, folder.join(format!("parent/zones/{origin}zone"))),
    ];
    let list = folder.join("children/zones.txt");
    for apex in fs::read_to_string(&list).map_err(fault(&list, "read"))?.lines() {
        files.push((name(apex)?, folder.join(format!("children/zones/{apex}zone"))));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = u32::try_from(now).unwrap_or(u32::MAX);
    let signing = Signing {
        algorithms: vec![algorithm::ECDSAP256SHA256],
        inception: now.saturating_sub(DAY_SECONDS),
        expiration: now.saturating_add(30 * DAY_SECONDS),
        ..Signing::new(1)
    };
    let anchor = sim::export::sign_files(&files, &signing).map_err(fault(folder, "sign"))?;
    let path = folder.join("resolver/anchor");
    fs::write(&path, anchor).map_err(fault(&path, "write"))
}

fn caching(options: &Caching) -> Result<(), Error> {
    let common = &options.common;
    share("--short", options.short)?;
    let bed = caching::Bed {
        origin: origin(&options.origin)?,
        hosts: options.hosts,
        short_share: options.short,
        parent: options.parent,
        children: options.children,
        seed: common.seed,
    };
    if bed.origin == "." {
        return Err(Error::Option { option: "--origin", rule: "must not be the root" });
    }
    if !(1..=1_000_000).contains(&options.hosts) {
        return Err(Error::Option { option: "--hosts", rule: "must be from 1 to 1000000" });
    }
    let labels = make_labels(options.zones, "--zones", common)?;
    let counts = caching::write(Path::new(&common.output), &bed, &labels)?;
    if options.signed {
        sign(&common.output, &bed.origin)?;
    }
    eprintln!("a parent zone and {} child zones", labels.count());
    report(&counts);
    Ok(())
}

fn make_labels(count: usize, option: &'static str, common: &Common) -> Result<labels::Labels, Error> {
    if !(1..=LABELS_MAX).contains(&count) {
        return Err(Error::Option { option, rule: "must be from 1 to 100000000" });
    }
    labels::make(count, common.names.as_deref(), common.seed)
}

fn report(counts: &Counts) {
    let Counts { records, ns, a, aaaa, other } = counts;
    let soa = records - ns - a - aaaa - other;
    eprint!("{records} records: {ns} NS, {a} A, {aaaa} AAAA, {soa} SOA");
    eprintln!("{}", if *other > 0 { format!(", {other} others") } else { String::new() });
}

impl From<TextStyle> for Style {
    fn from(style: TextStyle) -> Style {
        match style {
            TextStyle::Relative => Style::Relative,
            TextStyle::Absolute => Style::Absolute,
        }
    }
}

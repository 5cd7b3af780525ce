//! Zones and queries of an experiment: the real root zone from the repository, or generated ones, kept for the next run.
//!
//! A generated file's name tells all that it was made from, and appears under it only when it is complete.

mod little;

use std::{
    env,
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Write},
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    Error,
    contender::Anchor,
    error,
    place::{self, Place},
    process,
    recipe::{Case, Dnssec, DnssecOk, Effort, ZoneKind},
};
use bench::{
    query::{self, Edns, Query},
    sizes::{self, Sizes},
};
pub use little::{Little, Places, Shape};

/// Types that only a signed zone has, and DS.
const DNSSEC_TYPES: [&str; 9] =
    ["RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "DS", "CDS", "CDNSKEY", "ZONEMD"];
/// Lines in which a signature must turn up for a zone to count as signed: its apex has some.
const APEX_LINES: usize = 200;
/// The root zone within the repository.
const ROOT_ZONE: &str = "data/root.zone";
/// Recorded queries for it within the repository.
const ROOT_QUERIES: &str = "benches/data/root-queries-2016.txt.xz";
/// Smallest zones: below these the generator has nothing to make.
const SIZE_MIN: usize = 200;

/// Parent of the zones that resolvers are measured with.
pub const BED_ORIGIN: &str = "bed.example.";
/// The server of the root there.
pub const BED_SERVER: &str = "ns.";
/// Addresses of each of them, half of which stay in a cache for a second only: those of the paper.
const BED_HOSTS: usize = 200;
const BED_SHORT_SHARE: f64 = 0.5;
/// Signatures of a model Internet are good for a month; it is made anew each week.
const WEEK_SECONDS: u64 = 7 * 86_400;
/// Octets that an answer with one address has beside those of its question: a compressed owner, type, class, TTL, length, address.
const ADDRESS_OCTETS: usize = 16;

/// What a server shall serve.
#[derive(Clone, Debug, Default)]
pub struct Zones {
    /// Apex, with final dot, and absolute path of the file.
    pub list: Vec<(String, PathBuf)>,
    /// Records in all.
    pub records: u64,
    /// How they are signed.
    pub signatures: Signatures,
    /// What is answered once all is there; without, the SOA of the last zone.
    pub probe: Option<Query>,
}

/// How zones are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signatures {
    /// They are not.
    #[default]
    None,
    /// With NSEC.
    Nsec,
    /// With NSEC3.
    Nsec3,
}

impl Zones {
    /// Octets of their text.
    pub fn octets(&self) -> u64 {
        self.list.iter().filter_map(|(_, path)| Some(fs::metadata(path).ok()?.len())).sum()
    }

    /// A question that is answered once the last zone is there.
    pub fn question(&self) -> Query {
        if let Some(probe) = &self.probe {
            return probe.clone();
        }
        let apex = self.list.last().map_or(".", |(apex, _)| apex.as_str());
        let name = query::name_from_text(apex).unwrap_or_else(wire::NameBuf::root);
        Query { name, rtype: wire::iana::rtype::SOA, edns: None, rd: false, cd: false }
    }
}

/// Zones, queries for them, and where they come from.
#[derive(Clone, Debug)]
pub struct Set {
    /// Zones.
    pub zones: Zones,
    /// Query file.
    pub queries: PathBuf,
    /// In a line.
    pub source: String,
}

/// Which model Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternetWanted {
    /// Names of real sites in it, at least.
    pub names: usize,
    /// How many of a hundred zones are signed.
    pub signed_percent: u8,
    /// Another seed gives another one.
    pub seed: u64,
}

/// What resolvers are measured with.
#[derive(Clone, Debug)]
pub struct CachingBed {
    /// The root and the parent of all others: server 2 of the paper.
    pub parent: Zones,
    /// The zones that are asked for: server 1.
    pub children: Zones,
    /// What a resolver serves: nothing, but it answers a name of theirs.
    pub nothing: Zones,
    /// A query for each name that stays in a cache.
    pub settle: PathBuf,
    /// Beginning of the names of files made from it.
    base: String,
    /// Folder of the children's files, as they are without signatures.
    place: String,
    /// What resolvers validate with, where zones are signed.
    pub anchor: Option<Anchor>,
}

/// Where data are kept, and what makes them.
pub struct Store<'a> {
    /// Folder of generated files.
    pub folder: &'a Path,
    /// Folder for what the generators say.
    pub work: &'a Path,
    /// The measuring tool.
    pub bench: &'a Path,
    /// Ends the making.
    pub stop: &'a AtomicBool,
}

impl Store<'_> {
    /// Zones and queries of a case; what is not there is made.
    pub fn set(&self, case: &Case, effort: &Effort) -> Result<Set, Error> {
        fs::create_dir_all(self.folder).map_err(error::file(self.folder, "create"))?;
        let repository = repository().filter(|_| case.zone == ZoneKind::Root);
        let (zones, base, mut source) = self.zones(case, effort, repository.as_deref())?;
        let count = effort.queries;
        let drawn = format!("{base}-{count}-{}-{}", case.nxdomain, case.below);
        let recorded = repository.filter(|_| process::find("xz").is_some());
        let queries = match recorded {
            Some(repository) => self.made("root-recorded.queries", |to| {
                let packed = repository.join(ROOT_QUERIES).display().to_string();
                let text = self.run(&words(&["xz", "-dc", &packed]))?;
                fs::write(to, text).map_err(error::file(to, "write"))
            })?,
            None => self.made(&format!("{drawn}.queries"), |to| self.draw(case, effort, &zones, to))?,
        };
        let queries = self.with_dnssec_ok(case.dnssec_ok, queries)?;
        source += if queries.to_string_lossy().contains("recorded") {
            ", recorded queries"
        } else {
            ", drawn queries"
        };
        Ok(Set { zones, queries, source })
    }

    /// The zones, the beginning of names of files made from them, and where they come from.
    fn zones(
        &self,
        case: &Case,
        effort: &Effort,
        repository: Option<&Path>,
    ) -> Result<(Zones, String, String), Error> {
        let size = ((case.size as f64 * effort.scale) as usize).max(SIZE_MIN);
        let text = size.to_string();
        let (base, apex, options) = match case.zone {
            ZoneKind::Root => ("root".to_owned(), ".", vec!["root-like"]),
            ZoneKind::Net => (format!("net-{size}"), "net.", vec!["net", "--records", &text]),
            ZoneKind::Flat => (format!("flat-{size}"), "flat.example.", vec!["flat", "--hosts", &text]),
            ZoneKind::Com => (format!("com-{size}"), "com.", vec!["com", "--delegations", &text]),
            ZoneKind::Dynamic => {
                let (base, apex) = (format!("dynamic-{size}"), "dynamic.example.");
                (base, apex, vec!["dynamic", "--records", &text])
            }
            // Those of resolvers are served by nobody who is measured: `Store::bed`.
            ZoneKind::Many | ZoneKind::Caching | ZoneKind::Internet => {
                return self.many(case, (case.size as f64 * effort.scale) as usize);
            }
        };
        let (path, source) = match repository {
            Some(repository) => (repository.join(ROOT_ZONE), "the root zone of the repository".to_owned()),
            None => {
                let path = self.made(&format!("{base}.zone"), |to| self.generate(&options, to))?;
                (path, format!("generated: gen zone {}", options.join(" ")))
            }
        };
        let base = if repository.is_some() { base } else { format!("{base}-made") };
        let (path, base) = self.with_dnssec(case.dnssec, apex, path, base)?;
        let (records, signatures) = (records(&path)?, signatures(&path)?);
        let zones = Zones { list: vec![(apex.to_owned(), path)], records, signatures, ..Zones::default() };
        Ok((zones, base, source))
    }

    fn many(&self, case: &Case, zones: usize) -> Result<(Zones, String, String), Error> {
        let (zones, each) = (zones.max(2).to_string(), case.records_each.to_string());
        let base = format!("many-{zones}-{each}");
        let options = ["many", "--zones", &zones, "--records", &each];
        let folder = self.made(&base, |to| self.generate(&options, to))?;
        let list = listed(&folder)?;
        let records = (list.len() * case.records_each) as u64;
        Ok((
            Zones { list, records, ..Zones::default() },
            base,
            format!("generated: gen zone {}", options.join(" ")),
        ))
    }

    /// Updates for these zones, each of which holds once, in the order of the file: names are added to one zone after the other,
    /// and every second update takes away what was added before; in a single zone such as it holds by itself.
    pub fn updates(&self, zones: &Zones, count: usize) -> Result<PathBuf, Error> {
        let (_, first) = zones.list.first().ok_or(Error::Nobody)?;
        let base = first.file_stem().unwrap_or_default().to_string_lossy();
        let many = zones.list.len();
        self.made(&format!("updates-{base}-{many}-{count}"), |to| {
            let [bench, place, out] = [self.bench, first, to].map(|path| path.to_string_lossy().into_owned());
            let count_text = count.to_string();
            let command = [&bench, "gen", "updates", "--zone", &place, "--count", &count_text, "-o", &out];
            match many {
                1 => self.run(&words(&command)).map(drop),
                _ => fs::write(to, updates_of_many(zones, count)).map_err(error::file(to, "write")),
            }
        })
    }

    /// A model Internet of so many names at least, whose servers have addresses from `first` on. It is kept as long as its signatures are good, and some.
    pub fn internet(&self, wanted: &InternetWanted, first: Ipv4Addr) -> Result<PathBuf, Error> {
        fs::create_dir_all(self.folder).map_err(error::file(self.folder, "create"))?;
        let week = week();
        let InternetWanted { names, signed_percent, seed } = wanted;
        let texts = [names.to_string(), signed_percent.to_string(), seed.to_string(), first.to_string()];
        let [names, signed, seed, first] = texts.each_ref().map(String::as_str);
        self.made(&format!("internet-{names}-{signed}-{seed}-{first}-{week}"), |to| {
            let (bench, to) = (self.bench.to_string_lossy(), to.to_string_lossy());
            let options = ["--names", names, "--signed", signed, "--seed", seed, "--first-address", first];
            let command = [&[&*bench, "gen", "internet", "-o", &to][..], &options].concat();
            self.run(&words(&command)).map(drop)
        })
    }

    /// The bed of resolvers: zones of two servers at these addresses, and the queries by which a cache settles.
    pub fn caching(
        &self,
        case: &Case,
        effort: &Effort,
        upstreams: [Ipv4Addr; 2],
    ) -> Result<CachingBed, Error> {
        fs::create_dir_all(self.folder).map_err(error::file(self.folder, "create"))?;
        let zones = ((case.size as f64 * effort.scale) as usize).max(2);
        let [parent, children] = upstreams.map(|address| address.to_string());
        let (count, hosts, short) = (zones.to_string(), BED_HOSTS.to_string(), BED_SHORT_SHARE.to_string());
        let options =
            ["caching", "--zones", &count, "--hosts", &hosts, "--short", &short, "--origin", BED_ORIGIN];
        let options = [&options[..], &["--parent", &parent, "--children", &children]].concat();
        let base = format!("caching-{zones}-{parent}-ns");
        let plain = self.made(&base, |to| self.generate(&options, to))?;
        // What is asked for is the same, signed or not.
        let (folder, anchor) = match case.signed {
            0 => (plain.clone(), None),
            _ => {
                let options = [&options[..], &["--signed"]].concat();
                let folder =
                    self.made(&format!("{base}-signed-{}", week()), |to| self.generate(&options, to))?;
                let path = folder.join("resolver/anchor");
                let text = fs::read_to_string(&path).map_err(error::file(&path, "read"))?;
                (folder, Anchor::from_text(&text))
            }
        };
        let (mut above, below) = (listed(&folder.join("parent"))?, listed(&folder.join("children"))?);
        above.push((".".to_owned(), folder.join("resolver/root.zone")));
        let records = (below.len() * (BED_HOSTS + 3)) as u64;
        let (bench, place) = (self.bench.to_string_lossy(), plain.join("children/zones"));
        let place = place.to_string_lossy().into_owned();
        let settle = self.made(&format!("{base}.settle"), |to| {
            self.run(&words(&[
                &bench,
                "gen",
                "queries",
                "--zone",
                &place,
                "--kept",
                "-o",
                &to.to_string_lossy(),
            ]))
            .map(drop)
        })?;
        let mut probe = None;
        query::each_query(&settle, |query| {
            probe = Some(query);
            false
        })?;
        let zones = |list, records| Zones { list, records, ..Zones::default() };
        Ok(CachingBed {
            parent: zones(above, 0),
            children: zones(below, records),
            nothing: Zones { probe, ..Zones::default() },
            settle,
            base,
            place,
            anchor: anchor.filter(|_| case.validate),
        })
    }

    /// Queries for the bed of resolvers, and sizes of the answers to them. Each name that does not stay in a cache is in the file
    /// once at most: the generator puts queries into another order, and goes through them again and again.
    pub fn caching_queries(
        &self,
        bed: &CachingBed,
        case: &Case,
        effort: &Effort,
    ) -> Result<(PathBuf, PathBuf), Error> {
        let (hits, skew) = (case.hits.unwrap_or(1.0), case.skew.text());
        let short = (bed.children.list.len() * BED_HOSTS) as f64 * BED_SHORT_SHARE;
        // Drawn by chance, so that there may be some more than the mean: by one in a hundred at these numbers.
        let count = if hits < 1.0 {
            effort.queries.min((short * 0.99 / (1.0 - hits)) as usize)
        } else {
            effort.queries
        };
        let base = format!("{}-{hits}-{skew}-{count}", bed.base);
        let queries = self.made(&format!("{base}.queries"), |to| {
            let [bench, to] = [self.bench, to].map(|path| path.to_string_lossy().into_owned());
            let (count, hits) = (count.to_string(), hits.to_string());
            let mut command = words(&[&bench, "gen", "queries", "--zone", &bed.place, "--hits", &hits]);
            command.extend(words(&["--skew", skew, "--count", &count, "-o", &to]));
            self.run(&command).map(drop)
        })?;
        let sizes = self.made(&format!("{base}.sizes"), |to| {
            let (mut pairs, mut packet) = (Vec::new(), Vec::new());
            query::each_query(&queries, |query| {
                packet.clear();
                query.write(&mut packet);
                pairs.push((sizes::query_hash(&packet), (packet.len() + ADDRESS_OCTETS) as u16));
                true
            })?;
            Ok(Sizes::write(to, &pairs)?)
        })?;
        Ok((queries, sizes))
    }

    fn generate(&self, options: &[&str], to: &Path) -> Result<(), Error> {
        let (bench, to) = (self.bench.to_string_lossy(), to.to_string_lossy());
        let command = [&[&*bench, "gen", "zone"], options, &["-o", &to]].concat();
        self.run(&words(&command)).map(drop)
    }

    fn draw(&self, case: &Case, effort: &Effort, zones: &Zones, to: &Path) -> Result<(), Error> {
        let (_, first) = zones.list.first().ok_or(Error::Nobody)?;
        // Many zones lie in one folder, or one level below it.
        let place = match case.zone {
            ZoneKind::Many => first.ancestors().find(|folder| folder.ends_with("zones")).unwrap_or(first),
            _ => first,
        };
        let [bench, place, to] = [self.bench, place, to].map(|path| path.display().to_string());
        let numbers = [effort.queries.to_string(), case.nxdomain.to_string(), case.below.to_string()];
        let mut command = words(&[&bench, "gen", "queries", "--zone", &place, "-o", &to]);
        command.extend(words(&["--count", &numbers[0], "--nxdomain", &numbers[1], "--below", &numbers[2]]));
        if case.zone == ZoneKind::Root {
            command.extend(words(&["--types", "f-root", "--skew", "paper"]));
        }
        self.run(&command).map(drop)
    }

    /// The zone with or without signatures.
    fn with_dnssec(
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

    /// The query file with DO set in all queries or in none.
    fn with_dnssec_ok(&self, wish: DnssecOk, path: PathBuf) -> Result<PathBuf, Error> {
        let ending = match wish {
            DnssecOk::Keep => return Ok(path),
            DnssecOk::All => "do",
            DnssecOk::None => "no-do",
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        self.made(&format!("{name}-{ending}.queries"), |to| {
            let mut output = BufWriter::new(File::create(to).map_err(error::file(to, "create"))?);
            let mut result = Ok(());
            query::each_query(&path, |mut query| {
                let plain = Edns::default();
                let edns = query.edns.unwrap_or(plain);
                query.edns = Some(Edns { dnssec_ok: wish == DnssecOk::All, ..edns });
                result = writeln!(output, "{query}");
                result.is_ok()
            })?;
            result.and_then(|()| output.flush()).map_err(error::file(to, "write"))
        })
    }

    /// A file or folder of that name: what is there from before, or made now.
    fn made(&self, name: &str, make: impl FnOnce(&Path) -> Result<(), Error>) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        if path.exists() {
            return Ok(path);
        }
        eprintln!("lab: making {name}");
        // Of this process alone: two runs may share the folder.
        let part = self.folder.join(format!("{name}.part-{}", std::process::id()));
        if part.is_dir() {
            let _ = fs::remove_dir_all(&part);
        }
        make(&part)?;
        fs::rename(&part, &path).map_err(error::file(&path, "create"))?;
        Ok(path)
    }

    fn run(&self, command: &[String]) -> Result<String, Error> {
        process::run(command, &Place::default(), self.work, self.stop)
    }
}

/// The number of this week.
fn week() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / WEEK_SECONDS)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Updates for many zones in turn.
fn updates_of_many(zones: &Zones, count: usize) -> String {
    let many = zones.list.len();
    let line = |number: usize| {
        let ((apex, _), round) = (&zones.list[number % many], number / many);
        let (label, host) = (round / 2, number % 254 + 1);
        match round % 2 {
            0 => format!("zone {apex}\nupdate add new{label}.{apex} 300 A 192.0.2.{host}\nsend\n"),
            _ => format!("zone {apex}\nupdate delete new{label}.{apex}\nsend\n"),
        }
    };
    (0..count).map(line).collect()
}

/// The project's repository around this folder or this program, if it has what the root recipe needs.
fn repository() -> Option<PathBuf> {
    let has = |folder: &&Path| folder.join(ROOT_ZONE).is_file() && folder.join(ROOT_QUERIES).is_file();
    let starts = [env::current_dir().ok(), env::current_exe().ok()];
    starts.into_iter().flatten().find_map(|start| start.ancestors().find(has).map(Path::to_owned))
}

/// Zones of a folder that the generator made: from the settings it wrote for named.
fn listed(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let path = folder.join("named.conf");
    let text = fs::read_to_string(&path).map_err(error::file(&path, "read"))?;
    let entry = |line: &str| {
        let mut parts = line.split('"').skip(1).step_by(2);
        Some((format!("{}.", parts.next()?.trim_end_matches('.')), folder.join(parts.next()?)))
    };
    let list: Vec<(String, PathBuf)> = text.lines().filter_map(entry).collect();
    match list.is_empty() {
        true => Err(Error::Output { program: "gen zone many", wanted: "a list of zones" }),
        false => Ok(list),
    }
}

/// Lines of a file, as octets.
fn each_line(path: &Path, mut take: impl FnMut(&[u8]) -> io::Result<bool>) -> Result<(), Error> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(error::file(path, "open"))?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(error::file(path, "read"))?;
        if read == 0 || !take(&line).map_err(error::file(path, "copy"))? {
            return Ok(());
        }
    }
}

/// Whether the type of a line's record is one of these; a record stands in one line, its owner in front.
fn is_of(line: &[u8], types: &[&str]) -> bool {
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.skip(1).take(3).any(|word| types.iter().any(|rtype| rtype.as_bytes() == word))
}

/// How a zone is signed: what its first lines have.
fn signatures(path: &Path) -> Result<Signatures, Error> {
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

/// Records of a zone file with one in a line.
fn records(path: &Path) -> Result<u64, Error> {
    let mut records = 0;
    each_line(path, |line| {
        records += u64::from(!matches!(line.trim_ascii().first(), None | Some(b';' | b'$')));
        Ok(true)
    })?;
    Ok(records)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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

    #[test]
    fn updates_of_many_zones_take_turns() {
        let list = ["a.", "b."].map(|apex| (apex.to_owned(), PathBuf::new())).to_vec();
        let text = updates_of_many(&Zones { list, ..Zones::default() }, 6);
        let changes: Vec<&str> = text.lines().filter(|line| line.starts_with("update")).collect();
        assert_eq!(changes[0], "update add new0.a. 300 A 192.0.2.1");
        assert_eq!(
            changes[1..4],
            ["update add new0.b. 300 A 192.0.2.2", "update delete new0.a.", "update delete new0.b."]
        );
        assert!(changes[4].starts_with("update add new1.a.") && text.matches("send\n").count() == 6);
    }

    #[test]
    fn half_made_files_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let store =
            Store { folder: folder.path(), work: folder.path(), bench: Path::new("false"), stop: &stop };
        let broken = store.made("zone", |to| {
            fs::write(to, "half").unwrap();
            Err(Error::Interrupted)
        });
        assert!(broken.is_err() && !folder.path().join("zone").exists());
        let made = store.made("zone", |to| fs::write(to, "whole").map_err(error::file(to, "write"))).unwrap();
        assert_eq!(fs::read_to_string(made).unwrap(), "whole");
    }
}

//! The zones that resolvers are measured with: the paper's caching server (6.1.5).

use std::{fs, net::Ipv4Addr, path::PathBuf};

use bench::{
    query,
    sizes::{self, Sizes},
};

use super::{Store, Zones, listed, week, words};
use crate::{
    Error,
    contender::Anchor,
    error,
    recipe::{Case, Effort},
};

/// Parent of the zones that resolvers are measured with.
pub const BED_ORIGIN: &str = "bed.example.";
/// The server of the root there.
pub const BED_SERVER: &str = "ns.";
/// Addresses of each of them, half of which stay in a cache for a second only: those of the paper.
const BED_HOSTS: usize = 200;
const BED_SHORT_SHARE: f64 = 0.5;
/// Octets that an answer with one address has beside those of its question: a compressed owner, type, class, TTL, length, address.
const ADDRESS_OCTETS: usize = 16;

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

impl Store<'_> {
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
}

//! Records that go and come, over a version that is still the newest: triggers make versions of that.

use std::collections::{BTreeMap, HashMap};

use super::link::Link;
use super::open::Store;
use super::version::{columns, of_row};
use crate::alter::{AGE_MAX, NotCommitted, Once, VERSIONS_LOOKED_MAX, Write, Wrote, rows};
use crate::fault::Fault;
use crate::row::Row;
use crate::version::Version;

/// Whoever changes a zone holds its row: who waits for that looks at no other zone meanwhile. It is tried again by who asks.
/// What is answered is to be on the disk, whatever is usual there.
const WRITING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '250ms';
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";

/// What a commit waits for is no zone: with NOTIFY, others that commit.
const COMMIT: &str = "SET LOCAL lock_timeout = '10s'; COMMIT";

/// All zones, in the order of names: so all lock them.
const LOCK: &str = "SELECT replace(zonda.lock(n.name)::text, '-', '') FROM unnest($1::text[]) n (name)";

/// By zone and row, whose index has no more of a long RDATA than its key. How many rows of each zone.
const GOING: &str = "WITH gone AS (DELETE FROM zonda.record r
    USING unnest($1::text[], $2::text[], $3::text[], $4::text[]) g (zone, owner, type, rdata), zonda.zone z
    WHERE z.name = g.zone AND r.zone = z.id AND r.owner = g.owner AND r.type = g.type AND zonda.key(r.rdata) = zonda.key(g.rdata) AND r.rdata = g.rdata
    RETURNING g.zone) SELECT zone, count(*) FROM gone GROUP BY zone";

const COMING: &str = "INSERT INTO zonda.record (zone, owner, type, ttl, rdata)
    SELECT z.id, c.owner, c.type, c.ttl, c.rdata
      FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[]) c (zone, owner, type, ttl, rdata) JOIN zonda.zone z ON z.name = c.zone";

const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM unnest($1::text[]) n (name) CROSS JOIN LATERAL
        (SELECT * FROM zonda.version v WHERE v.zone = n.name AND NOT v.open ORDER BY v.follows DESC LIMIT 1) v"
);

impl Store {
    /// Changes zones, all of them in one transaction or none: one flush is for many. What came of each, in their order.
    pub fn write(&self, writes: &[Write]) -> Result<Vec<Wrote>, NotCommitted> {
        let altered = self.link.batch(WRITING).and_then(|()| alter_all(&self.link, writes));
        let wrote = altered.inspect_err(|_| {
            // If that fails the connection is of no use, and its end is the end of the transaction.
            let _ = self.link.batch("ROLLBACK");
        })?;
        match self.link.batch(COMMIT) {
            Ok(()) => Ok(wrote),
            Err(fault @ Fault::Away(_)) => Err(NotCommitted::Unknown(fault)),
            // What the server says of a commit is of one that was not.
            Err(fault) => {
                let _ = self.link.batch("ROLLBACK");
                Err(NotCommitted::Nothing(fault))
            }
        }
    }
}

/// A write by the name of its zone, and its place among all.
type Named<'w> = (&'w str, &'w Write, usize);

/// Those of one author and reason are written together: both are a transaction's, and are taken when a version is closed.
fn alter_all(link: &Link, writes: &[Write]) -> Result<Vec<Wrote>, Fault> {
    let mut order: Vec<(String, &Write, usize)> =
        writes.iter().enumerate().map(|(at, write)| (write.name(), write, at)).collect();
    order.sort_by(|one, other| one.0.cmp(&other.0));
    let names: Vec<&str> = order.iter().map(|(name, ..)| &**name).collect();
    let marks: Vec<Option<String>> =
        link.query(LOCK, &[&names])?.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let mut wrote: Vec<Wrote> = vec![Wrote::Moved; writes.len()];
    let mut groups: BTreeMap<(&str, String), Vec<Named<'_>>> = BTreeMap::new();
    for ((name, write, at), mark) in order.iter().zip(marks) {
        if let Some(once) = &write.once
            && let Some(known) = known(link, name, once)?
        {
            wrote[*at] = known;
        } else if mark.as_ref() == Some(&write.over.1) {
            let group = (&*write.who, write.why().unwrap_or_default());
            groups.entry(group).or_default().push((name, write, *at));
        }
    }
    for ((who, why), group) in groups {
        link.query(
            "SELECT set_config('zonda.who', $1, true), set_config('zonda.why', $2, true)",
            &[&who, &why],
        )?;
        for (at, made) in alter(link, &group)? {
            wrote[at] = made;
        }
    }
    Ok(wrote)
}

/// Columns of rows of several zones.
#[derive(Default)]
struct Columns<'z> {
    zones: Vec<&'z str>,
    owners: Vec<String>,
    types: Vec<String>,
    ttls: Vec<i32>,
    rdata: Vec<String>,
}

impl<'z> Columns<'z> {
    fn push(&mut self, zone: &'z str, row: Row) {
        self.zones.push(zone);
        self.owners.push(row.owner);
        self.types.push(row.rtype);
        // None is beyond what one can be (RFC 2181 8).
        self.ttls.push(i32::try_from(row.ttl).unwrap_or(i32::MAX));
        self.rdata.push(row.rdata);
    }
}

/// Changes zones that are locked, each with the version that its write is over.
fn alter(link: &Link, group: &[Named<'_>]) -> Result<Vec<(usize, Wrote)>, Fault> {
    let (mut going, mut coming) = (Columns::default(), Columns::default());
    for (name, write, _) in group {
        rows(&write.removed).for_each(|row| going.push(name, row));
        rows(&write.added).for_each(|row| coming.push(name, row));
    }
    let gone = link.query(GOING, &[&going.zones, &going.owners, &going.types, &going.rdata])?;
    let gone: HashMap<String, i64> =
        gone.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, Fault>>()?;
    for (name, write, _) in group {
        if gone.get(*name).map_or(0, |count| *count as usize) != write.removed.iter().count() {
            return Err(Fault::NotItsRows((*name).to_owned()));
        }
    }
    let Columns { zones, owners, types, ttls, rdata } = &coming;
    link.execute(COMING, &[zones, owners, types, ttls, rdata])?;
    link.batch("SET CONSTRAINTS zonda.version_close IMMEDIATE")?;
    let names: Vec<&str> = group.iter().map(|(name, ..)| *name).collect();
    let newest = link.query(NEWEST, &[&names])?;
    let mut newest: HashMap<String, Version> = newest
        .iter()
        .map(|row| of_row(row).map(|version| (version.zone.clone(), version)))
        .collect::<Result<_, Fault>>()?;
    let made = |(name, write, at): &Named<'_>| {
        let made = newest.remove(*name).filter(|made| made.mark != write.over.1);
        (*at, made.map_or(Wrote::Same, Wrote::Made))
    };
    Ok(group.iter().map(made).collect())
}

/// What is known of a request.
fn known(link: &Link, zone: &str, once: &Once) -> Result<Option<Wrote>, Fault> {
    let sql = "SELECT n.serial, n.why FROM (SELECT serial, why, at FROM zonda.version v WHERE v.zone = $1 AND NOT v.open ORDER BY v.follows DESC LIMIT $2) n
         WHERE starts_with(n.why, $3) AND n.at > extract(epoch FROM clock_timestamp())::bigint - $4 LIMIT 1";
    let row = link.query_opt(sql, &[&zone, &VERSIONS_LOOKED_MAX, &once.begin(), &(AGE_MAX as i64)])?;
    let Some(row) = row else { return Ok(None) };
    // A constraint keeps it within a serial.
    let serial = u32::try_from(row.try_get::<_, i64>(0)?).unwrap_or_default();
    Ok(Some(once.known(serial, row.try_get(1)?)))
}

//! What is new, for who follows a store.
//!
//! A look asks for versions of transactions that had not ended in the snapshot of the look before: nothing is lost, and nothing comes twice, however long a
//! transaction was open. Each look says which server answered it, as a client behind a proxy does not see that there is another one.

use wire::NameBuf;
use zonefile::RecordBuf;

use super::open::Store;
use super::read::{MOMENT, each_fetched, read_row, what, zone_id};
use super::version::{columns, newest, of_row};
use crate::fault::Fault;
use crate::read::{Refused, What};
use crate::row::{Reader, Refusal};
use crate::version::{Kind, Version};

/// Who answered. Another one than before: what is new is not known, and the whole list is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Cluster and database.
    pub cluster: String,
    /// When it was started.
    pub started: String,
    /// A promoted replica begins another one.
    pub timeline: i32,
    /// The process of the connection.
    pub backend: i32,
    /// Whether it is a replica.
    pub is_replica: bool,
}

/// Which transactions had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ended {
    /// All below this had.
    below: u64,
    /// None from this on had.
    from: u64,
    /// In between all but these had.
    but: Vec<u64>,
}

impl Ended {
    /// From PostgreSQL's text of it: `below:from:but,but`.
    fn of_text(text: &str) -> Option<Ended> {
        let mut parts = text.split(':');
        let (below, from) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let but = parts.next()?.split(',').filter(|number| !number.is_empty());
        Some(Ended { below, from, but: but.map(str::parse).collect::<Result<_, _>>().ok()? })
    }
}

/// What a look saw, for the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Who answered.
    pub server: Server,
    ended: Ended,
}

/// The newest version of a zone, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The zone.
    pub zone: String,
    /// Its serial.
    pub serial: u32,
    /// Its mark.
    pub mark: String,
    /// Whether the zone is gone.
    pub is_removed: bool,
}

/// What is told of zones that are asked for.
#[derive(Debug)]
pub enum Told<'t> {
    /// A version. `leads_on`: it is one of those after the mark that was given, oldest first, and what follows is what changed in it. Else there is no version
    /// with that mark, and this is the newest one.
    Version(&'t Version, bool),
    /// A record that came or went in the version that was told last; what went comes first, and each time the SOA record first.
    Changed(What, &'t RecordBuf),
    /// A row of it that is no record.
    Unfit(Refusal),
}

/// Some zones of a million are asked for: what they have is found by indexes, zone by zone. The planner, which does not know how many are asked for, else reads
/// all of `change` for each.
const BY_INDEX: &str = "BEGIN READ ONLY;
    SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";

/// Zones of a page of the list.
pub const HEADS_MAX: usize = 10_000;

/// One look. One row, as a transaction may change a million zones: each by itself would have the snapshot with it.
pub(super) const LOOK: &str = "SELECT pg_current_snapshot()::text, zonda.cluster(), pg_postmaster_start_time()::text,
           (SELECT timeline_id FROM pg_control_checkpoint()), pg_backend_pid(), pg_is_in_recovery(),
           ARRAY(SELECT DISTINCT v.zone FROM zonda.version v
                  WHERE NOT v.open AND (v.transaction >= $1::text::xid8 OR v.transaction = ANY ($2::text[]::xid8[])))";

impl Store {
    /// Looks once. Zones of versions that were committed since `before`; none where there was no look before, or another server answers now than then: who sees
    /// that reads the whole list.
    pub fn look(&self, before: Option<&Seen>) -> Result<(Seen, Vec<String>), Fault> {
        let nothing = Ended { below: i64::MAX as u64, from: i64::MAX as u64, but: Vec::new() };
        let ended = before.map_or(&nothing, |before| &before.ended);
        // The snapshots of a replica do not list what is at work: all from the first of these on is told, also what is known.
        let is_replica = before.is_some_and(|before| before.server.is_replica);
        let from = if is_replica { ended.below } else { ended.from }.to_string();
        let but: Vec<String> = ended.but.iter().map(u64::to_string).collect();
        let rows = self.link.query(LOOK, &[&from, &but])?;
        let Some(row) = rows.first() else { return Err(unknown("no row")) };
        let server = Server {
            cluster: row.try_get(1)?,
            started: row.try_get(2)?,
            timeline: row.try_get(3)?,
            backend: row.try_get(4)?,
            is_replica: row.try_get(5)?,
        };
        let ended = Ended::of_text(row.try_get(0)?).ok_or_else(|| unknown(row.get(0)))?;
        let zones =
            if before.is_some_and(|before| before.server == server) { row.try_get(6)? } else { Vec::new() };
        Ok((Seen { server, ended }, zones))
    }

    /// Newest versions of up to [`HEADS_MAX`] zones after this name (of all: after none, the empty one), in the order of their names. Each page is a moment of
    /// its own.
    pub fn heads(&self, after: &str) -> Result<Vec<Head>, Fault> {
        // From name to name by the index, whatever the history is.
        let sql = concat!(
            "WITH RECURSIVE names AS (
                 (SELECT v.zone FROM zonda.version v WHERE v.zone > $1 AND NOT v.open ORDER BY v.zone, v.follows LIMIT 1)
                  UNION ALL
                 SELECT (SELECT v.zone FROM zonda.version v WHERE v.zone > n.zone AND NOT v.open ORDER BY v.zone, v.follows LIMIT 1)
                   FROM names n WHERE n.zone IS NOT NULL)
             SELECT ",
            columns!(),
            " FROM (SELECT zone FROM names WHERE zone IS NOT NULL LIMIT $2) n
              JOIN LATERAL (SELECT * FROM zonda.version v WHERE v.zone = n.zone AND NOT v.open ORDER BY v.follows DESC LIMIT 1) v ON true
             ORDER BY v.zone"
        );
        let rows = self.link.query(sql, &[&after, &(HEADS_MAX as i64)])?;
        rows.iter().map(|row| of_row(row).map(head)).collect()
    }

    /// Tells of many zones at once what came after the mark that is known of each, zone by zone, in one statement.
    pub fn fetch<E: From<Fault>>(
        &self,
        asked: &[(&str, Option<&str>)],
        each: &mut dyn FnMut(Told<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // The newest first, until the known one is met: few steps, unless it is gone.
        let sql = concat!(
            "SELECT ",
            columns!(),
            ", v.leads_on, c.owner, c.type, c.ttl, c.rdata, c.what
              FROM (SELECT a.zone, (SELECT k.id FROM zonda.version k WHERE k.zone = a.zone AND k.mark = a.mark::uuid AND NOT k.open
                                     ORDER BY k.follows DESC LIMIT 1) AS known
                      FROM unnest($1::text[], $2::text[]) AS a (zone, mark) OFFSET 0) a
              JOIN LATERAL ((SELECT s.*, true AS leads_on FROM zonda.version s WHERE s.zone = a.zone AND s.follows >= a.known AND NOT s.open)
                            UNION ALL
                            (SELECT s.*, false FROM zonda.version s WHERE a.known IS NULL AND s.zone = a.zone AND NOT s.open
                              ORDER BY s.follows DESC LIMIT 1)) v ON true
              LEFT JOIN zonda.change c ON c.version = v.id AND v.leads_on
             ORDER BY v.zone, v.follows, c.what DESC, c.type <> 'SOA', c.owner, c.type, c.rdata"
        );
        let (zones, marks): (Vec<&str>, Vec<Option<&str>>) = asked.iter().copied().unzip();
        let mut telling = Telling { each, version: None, reader: None };
        self.link
            .within(BY_INDEX, || each_fetched(&self.link, sql, &[&zones, &marks], |row| telling.tell(row)))
    }

    /// The newest version of a zone and all of its records, the SOA record first, of one moment. What is wrong is known once all rows were read.
    pub fn records<E: From<Fault>>(
        &self,
        zone: &str,
        begin: &mut dyn FnMut(&Version) -> Result<(), E>,
        each: &mut dyn FnMut(&RecordBuf) -> Result<(), E>,
    ) -> Result<(), E> {
        let no_zone = || Fault::NoZone(zone.to_owned());
        let apex = NameBuf::from_text(zone).map_err(|_| no_zone())?;
        let link = &self.link;
        link.within(MOMENT, || {
            let id = zone_id(link, zone)?.ok_or_else(no_zone)?;
            begin(&newest(link, zone)?.filter(|newest| newest.kind != Kind::Removed).ok_or_else(no_zone)?)?;
            let (mut reader, mut refused, mut records) = (Reader::of(&apex), Refused::default(), 0_u64);
            for which in ["owner = $2 AND type = 'SOA'", "NOT (owner = $2 AND type = 'SOA')"] {
                let sql =
                    format!("SELECT owner, type, ttl, rdata FROM zonda.record WHERE zone = $1 AND {which}");
                each_fetched::<E>(link, &sql, &[&id, &zone], |row| {
                    records += 1;
                    let row = read_row(row, 0)?;
                    match reader.read(&row) {
                        Ok(record) => each(&record)?,
                        Err(why) => refused.push(Refusal { row, why }),
                    }
                    Ok(())
                })?;
                if records == 0 {
                    return Err(Fault::NoSoa(zone.to_owned()).into());
                }
            }
            Ok(refused.none_of(zone)?)
        })
    }
}

fn head(version: Version) -> Head {
    let Version { zone, serial, mark, kind, .. } = version;
    Head { zone, serial, mark, is_removed: kind == Kind::Removed }
}

fn unknown(said: &str) -> Fault {
    Fault::Postgres { code: "XX000".into(), words: format!("a snapshot that is not understood: {said}") }
}

/// Rows of [`Store::fetch`] on their way to who asked.
struct Telling<'e, E> {
    each: &'e mut dyn FnMut(Told<'_>) -> Result<(), E>,
    /// The version that was told last.
    version: Option<Version>,
    /// That of the zone that is told of.
    reader: Option<(String, Reader)>,
}

impl<E: From<Fault>> Telling<'_, E> {
    fn tell(&mut self, row: &tokio_postgres::Row) -> Result<(), E> {
        let id: i64 = row.try_get(0).map_err(Fault::from)?;
        if self.version.as_ref().is_none_or(|version| version.id != id) {
            let version = self.version.insert(of_row(row)?);
            (self.each)(Told::Version(version, row.try_get(9).map_err(Fault::from)?))?;
        }
        let Some(version) = &self.version else { return Ok(()) };
        if row.try_get::<_, Option<&str>>(14).map_err(Fault::from)?.is_none() {
            return Ok(());
        }
        let (what, row) = (what(row, 14)?, read_row(row, 10)?);
        let reader = match &mut self.reader {
            Some((zone, reader)) if *zone == version.zone => reader,
            other => {
                let apex =
                    NameBuf::from_text(&version.zone).map_err(|_| Fault::NoZone(version.zone.clone()))?;
                &mut other.insert((version.zone.clone(), Reader::of(&apex))).1
            }
        };
        match reader.read(&row) {
            Ok(record) => (self.each)(Told::Changed(what, &record)),
            Err(why) => (self.each)(Told::Unfit(Refusal { row, why })),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_as_text() {
        let ended = |below, from, but: &[u64]| Some(Ended { below, from, but: but.to_vec() });
        assert_eq!(Ended::of_text("10:20:10,14,15"), ended(10, 20, &[10, 14, 15]));
        assert_eq!(Ended::of_text("795:795:"), ended(795, 795, &[]));
        for text in ["", "10", "10:20", "a:b:", "10:20:x"] {
            assert_eq!(Ended::of_text(text), None, "{text}");
        }
    }
}

//! What is new in zones, for who follows a store: of many of them by one statement, whose rows are of one moment.

use wire::NameBuf;
use zonefile::RecordBuf;

use super::open::Store;
use super::read::{MOMENT, each_fetched, read_row, what, zone_id};
use super::version::{columns_in_short, newest, of_row};
use crate::fault::Fault;
use crate::read::{Refused, What};
use crate::row::{Reader, Refusal, Row};
use crate::version::{Kind, Version};

/// What is told of zones that are asked for.
#[derive(Debug)]
pub enum Told<'t> {
    /// The version with the mark that was given. What follows are the versions after it, if there are any.
    Known(&'t Version),
    /// A version. `leads_on`: it is one of those after the known one, oldest first, and what follows is what changed in it. Else it is the newest one: there is no
    /// version with that mark, or all of the zone was asked for, which follows then.
    Version(&'t Version, bool),
    /// A record that came or went in the version that was told last; what went comes first, and each time the SOA record first.
    Changed(What, &'t RecordBuf),
    /// One of all records, in no order.
    Record(&'t RecordBuf),
    /// A row of it that is no record.
    Unfit(Refusal),
}

/// Changes of many zones. The newest versions first, until the known one is met: few steps, unless it is gone. Nobody wants ten thousand versions after it; and of each zone changes are told up to so many
/// rows of all of its versions together.
const CHANGES: &str = concat!(
    "SELECT ",
    columns_in_short!(),
    ", v.place, c.owner, c.type, c.ttl, c.rdata, c.what
      FROM (SELECT a.zone, (SELECT k.id FROM zonda.version k WHERE k.zone = a.zone AND k.mark = a.mark::uuid AND NOT k.open
                               AND (SELECT count(*) FROM (SELECT FROM zonda.version l WHERE l.zone = k.zone AND l.follows >= k.id LIMIT 10001) later) <= 10000
                             ORDER BY k.follows DESC LIMIT 1) AS known
              FROM unnest($1::text[], $2::text[]) AS a (zone, mark) OFFSET 0) a
      JOIN LATERAL ((SELECT s.*, 1 AS place, sum(s.rows) OVER (ORDER BY s.follows) AS total FROM zonda.version s
                      WHERE s.zone = a.zone AND s.follows >= a.known AND NOT s.open)
                    UNION ALL
                    (SELECT s.*, 0, 0 FROM zonda.version s WHERE s.id = a.known)
                    UNION ALL
                    (SELECT s.*, 2, 0 FROM zonda.version s WHERE a.known IS NULL AND s.zone = a.zone AND NOT s.open
                      ORDER BY s.follows DESC LIMIT 1)) v ON true
      LEFT JOIN zonda.change c ON c.version = v.id AND v.place = 1 AND v.total <= $3::bigint
     ORDER BY v.zone, v.follows, c.what DESC, c.type <> 'SOA', c.owner, c.type, c.rdata"
);

/// All of many zones, each up to so many records.
const WHOLES: &str = concat!(
    "SELECT ",
    columns_in_short!(),
    ", 2 AS place, r.owner, r.type, r.ttl, r.rdata
      FROM unnest($1::text[]) AS a (zone)
      JOIN LATERAL (SELECT * FROM zonda.version s WHERE s.zone = a.zone AND NOT s.open ORDER BY s.follows DESC LIMIT 1) v ON true
      LEFT JOIN LATERAL (SELECT r.owner, r.type, r.ttl, r.rdata FROM zonda.zone z JOIN zonda.record r ON r.zone = z.id
                          WHERE z.name = v.zone AND v.kind <> 'removed' LIMIT $2) r ON true"
);

impl Store {
    /// Tells of many zones at once what came after the mark that is known of each, zone by zone. Changes that lead to more than `rows_max` rows of a zone are left out.
    pub fn changes_of<E: From<Fault>>(
        &self,
        asked: &[(&str, Option<&str>)],
        rows_max: u64,
        each: &mut dyn FnMut(Told<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (zones, marks): (Vec<&str>, Vec<Option<&str>>) = asked.iter().copied().unzip();
        let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
        let mut telling = Telling { each, version: None, reader: None };
        self.link.each_of(CHANGES, &[&zones, &marks, &rows_max], &mut |row| telling.tell(row)).map(drop)
    }

    /// Tells of the newest version of many zones and all of their records; of one that has more than `rows_max` it tells so many.
    pub fn wholes_of<E: From<Fault>>(
        &self,
        zones: &[&str],
        rows_max: u64,
        each: &mut dyn FnMut(Told<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
        let mut telling = Telling { each, version: None, reader: None };
        self.link.each_of(WHOLES, &[&zones, &rows_max], &mut |row| telling.tell_whole(row)).map(drop)
    }

    /// The newest version of a zone, also of one that is gone.
    pub fn newest(&self, zone: &str) -> Result<Option<Version>, Fault> {
        newest(&self.link, zone)
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

/// Rows on their way to who asked.
struct Telling<'e, E> {
    each: &'e mut dyn FnMut(Told<'_>) -> Result<(), E>,
    /// The version that was told last.
    version: Option<Version>,
    /// That of the zone that is told of.
    reader: Option<(String, Reader)>,
}

impl<E: From<Fault>> Telling<'_, E> {
    /// A row of [`CHANGES`].
    fn tell(&mut self, row: &tokio_postgres::Row) -> Result<(), E> {
        self.begin(row)?;
        if row.try_get::<_, Option<&str>>(14).map_err(Fault::from)?.is_none() {
            return Ok(());
        }
        let (what, row) = (what(row, 14)?, read_row(row, 10)?);
        let record = self.read(&row)?;
        match record {
            Ok(record) => (self.each)(Told::Changed(what, &record)),
            Err(refusal) => (self.each)(Told::Unfit(refusal)),
        }
    }

    /// A row of [`WHOLES`].
    fn tell_whole(&mut self, row: &tokio_postgres::Row) -> Result<(), E> {
        self.begin(row)?;
        if row.try_get::<_, Option<&str>>(10).map_err(Fault::from)?.is_none() {
            return Ok(());
        }
        let row = read_row(row, 10)?;
        let record = self.read(&row)?;
        match record {
            Ok(record) => (self.each)(Told::Record(&record)),
            Err(refusal) => (self.each)(Told::Unfit(refusal)),
        }
    }

    /// Tells of the version that a row is of, if that is another one than that of the row before.
    fn begin(&mut self, row: &tokio_postgres::Row) -> Result<(), E> {
        let id: i64 = row.try_get(0).map_err(Fault::from)?;
        if self.version.as_ref().is_some_and(|version| version.id == id) {
            return Ok(());
        }
        let version = self.version.insert(of_row(row)?);
        match row.try_get::<_, i32>(9).map_err(Fault::from)? {
            0 => (self.each)(Told::Known(version)),
            place => (self.each)(Told::Version(version, place == 1)),
        }
    }

    fn read(&mut self, row: &Row) -> Result<Result<RecordBuf, Refusal>, E> {
        let zone = self.version.as_ref().map_or("", |version| &version.zone);
        let apex = || NameBuf::from_text(zone).map_err(|_| Fault::NoZone(zone.to_owned()));
        let reader = match &mut self.reader {
            Some((known, reader)) => {
                if known.as_str() != zone {
                    reader.turn_to(&apex()?);
                    zone.clone_into(known);
                }
                reader
            }
            none => &mut none.insert((zone.to_owned(), Reader::of(&apex()?))).1,
        };
        Ok(reader.read(row).map_err(|why| Refusal { row: row.clone(), why }))
    }
}

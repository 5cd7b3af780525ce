//! What changed in a zone since its newest version becomes a version.
//!
//! Triggers noted which rows were touched, and how they were before. Here it is looked at what came of that: rows that came are read as records,
//! the SOA record gets the serial of the version, and the difference is written down. All of it in a transaction of the caller.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::change::soa_serial;
use zonefile::RecordBuf;

use super::open::Store;
use super::version::{enter, newest};
use crate::fault::Fault;
use crate::put::set_serial;
use crate::read::Refused;
use crate::row::{Reader, Refusal, Row, Unfit};
use crate::serial;
use crate::version::{Closing, Kind, Meta};

/// How many zones are closed in one transaction: others may write in between, and one flush of the disk is for many.
const ZONES_MAX: i64 = 100;

/// Where rows are from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// Written by this program, which makes them of records.
    Records,
    /// By plain SQL.
    Anybody,
}

impl Store {
    /// Makes versions of what others changed by plain SQL, of one zone or of all. `at`: the time, in seconds since 1970.
    pub fn close_pending(&mut self, zone: Option<&Name>, at: u64) -> Result<Closing, Fault> {
        let mut closing = Closing::default();
        let one = zone.map(|zone| zone.to_lowercase().to_string());
        // Names are never empty: all come after this.
        let mut last = String::new();
        loop {
            let names = self.pending_after(&last, one.as_deref())?;
            let Some(end) = names.last() else { return Ok(closing) };
            last.clone_from(end);
            let mut transaction = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for name in &names {
                let savepoint = transaction.savepoint()?;
                match close(&savepoint, name, From::Anybody, &Meta { at, ..Meta::default() }) {
                    Ok(version) => {
                        closing.versions += usize::from(version.is_some());
                        savepoint.commit()?;
                    }
                    // Dropped, it is rolled back: the zone's changes stay pending.
                    Err(fault) if fault.is_of_zone() => closing.refused.push(fault),
                    Err(fault) => return Err(fault),
                }
            }
            transaction.commit()?;
        }
    }

    /// How many zones have changes by plain SQL that are no version yet.
    pub fn pending_count(&self) -> Result<usize, Fault> {
        let count =
            self.database.query_row("SELECT count(*) FROM pending_zone", [], |row| row.get::<_, i64>(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn pending_after(&self, last: &str, one: Option<&str>) -> Result<Vec<String>, Fault> {
        let mut statement = self.database.prepare_cached(
            "SELECT name FROM pending_zone WHERE name > ?1 AND (?2 IS NULL OR name = ?2) ORDER BY name LIMIT ?3",
        )?;
        let names = statement.query_map(params![last, one, ZONES_MAX], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }
}

/// A zone as its row has it.
#[derive(Clone, Copy)]
pub(crate) struct ZoneRow {
    pub(crate) id: i64,
    pub(crate) is_enabled: bool,
}

impl ZoneRow {
    /// That of a name in lower case.
    pub(crate) fn find(database: &Connection, name: &str) -> Result<Option<ZoneRow>, Fault> {
        let mut statement = database.prepare_cached("SELECT id, enabled FROM zone WHERE name = ?1")?;
        let read = |row: &rusqlite::Row<'_>| Ok(ZoneRow { id: row.get(0)?, is_enabled: row.get(1)? });
        Ok(statement.query_row([name], read).optional()?)
    }
}

/// Closes what is pending of one zone; the number of the version, if one came of it.
pub(crate) fn close(
    database: &Connection,
    name: &str,
    from: From,
    meta: &Meta<'_>,
) -> Result<Option<i64>, Fault> {
    close_above(database, name, None, from, meta)
}

/// The same; the version gets a serial that is greater than `above`, too.
pub(crate) fn close_above(
    database: &Connection,
    name: &str,
    above: Option<u32>,
    from: From,
    meta: &Meta<'_>,
) -> Result<Option<i64>, Fault> {
    let mut statement = database.prepare_cached("SELECT whole FROM pending_zone WHERE name = ?1")?;
    let Some(is_whole) = statement.query_row([name], |row| row.get::<_, bool>(0)).optional()? else {
        return Ok(None);
    };
    let newest = newest(database, name)?;
    let row = ZoneRow::find(database, name)?;
    let version = match row.filter(|row| row.is_enabled) {
        Some(row) => {
            let was_there = newest.as_ref().is_some_and(|newest| newest.kind != Kind::Removed);
            let before = newest.map(|newest| newest.serial);
            let is_above = |above: &u32| before.is_none_or(|before| serial::is_above(*above, before));
            let zone = Zone { database, id: row.id, name, before: above.filter(is_above).or(before) };
            match is_whole || !was_there {
                true => Some(zone.close_whole(from, meta)?),
                false => zone.close_change(from, meta)?,
            }
        }
        None => match newest.filter(|newest| newest.kind != Kind::Removed) {
            Some(newest) => Some(enter(database, name, newest.serial, Kind::Removed, meta)?),
            None => None,
        },
    };
    if let Some(row) = row {
        database.prepare_cached("DELETE FROM pending WHERE zone = ?1")?.execute([row.id])?;
    }
    database.prepare_cached("DELETE FROM pending_zone WHERE name = ?1")?.execute([name])?;
    Ok(version)
}

/// Rows that were touched and are another than before, with their TTL now.
const TOUCHED: &str = "FROM pending p LEFT JOIN record r
    ON r.zone = p.zone AND r.owner = p.owner AND r.type = p.type AND r.rdata = p.rdata
 WHERE p.zone = ?1 AND p.ttl_before IS NOT r.ttl";

/// A zone that is there.
struct Zone<'d> {
    database: &'d Connection,
    id: i64,
    name: &'d str,
    /// What the serial has to be greater than: that of the newest version of that name, or one that was served.
    before: Option<u32>,
}

impl Zone<'_> {
    fn close_whole(&self, from: From, meta: &Meta<'_>) -> Result<i64, Fault> {
        if from == From::Anybody {
            self.check("SELECT owner, type, ttl, rdata FROM record WHERE zone = ?1")?;
        }
        let serial = self.settle_serial()?;
        let version = enter(self.database, self.name, serial, Kind::Whole, meta)?;
        self.note_serial(serial)?;
        Ok(version)
    }

    /// `None`: nothing is another than before.
    fn close_change(&self, from: From, meta: &Meta<'_>) -> Result<Option<i64>, Fault> {
        let touched = format!("SELECT EXISTS (SELECT 1 {TOUCHED})");
        if !self.database.prepare_cached(&touched)?.query_row([self.id], |row| row.get::<_, bool>(0))? {
            return Ok(None);
        }
        if from == From::Anybody {
            self.check(&format!("SELECT p.owner, p.type, r.ttl, p.rdata {TOUCHED} AND r.ttl IS NOT NULL"))?;
        }
        let serial = self.settle_serial()?;
        let version = enter(self.database, self.name, serial, Kind::Change, meta)?;
        self.write_change(version)?;
        self.note_serial(serial)?;
        Ok(Some(version))
    }

    /// Reads the rows that a statement finds as records.
    fn check(&self, sql: &str) -> Result<(), Fault> {
        let unfit = |why| Fault::Rows {
            zone: self.name.to_owned(),
            refusals: vec![Refusal { row: Row { owner: self.name.into(), ..Row::default() }, why }],
            count: 1,
        };
        let apex = NameBuf::from_text(self.name).map_err(|_| unfit(Unfit::Owner))?;
        // Nobody finds a zone by another text of its name, and none of its records is at or below that.
        let right = apex.to_lowercase().to_string();
        if right != self.name {
            return Err(unfit(Unfit::Text("name", right)));
        }
        let mut reader = Reader::of(&apex);
        let mut refused = Refused::default();
        let mut statement = self.database.prepare_cached(sql)?;
        let mut rows = statement.query([self.id])?;
        while let Some(row) = rows.next()? {
            let row = read_row(row)?;
            let Err(why) = reader.read(&row).and_then(|record| check_soa(&record, &apex)) else { continue };
            refused.push(Refusal { row, why });
        }
        refused.none_of(self.name)
    }

    /// The serial of the version, which the SOA record has from here on.
    fn settle_serial(&self) -> Result<u32, Fault> {
        let (row, mut record) = self.soa()?;
        let own = soa_serial(&record.rdata).ok_or_else(|| Fault::NoSoa(self.name.to_owned()))?;
        let serial = serial::next(self.before, own);
        if serial == own {
            return Ok(serial);
        }
        if self.is_signed()? {
            return Err(Fault::Signed { zone: self.name.to_owned(), serial: self.before.unwrap_or(0) });
        }
        set_serial(&mut record.rdata, serial);
        let right = Row::of(&row.owner, rtype::SOA, row.ttl, &record.rdata);
        self.database
            .prepare_cached(
                "UPDATE record SET rdata = ?1 WHERE zone = ?2 AND owner = ?3 AND type = 'SOA' AND rdata = ?4",
            )?
            .execute(params![right.rdata, self.id, row.owner, row.rdata])?;
        Ok(serial)
    }

    fn soa(&self) -> Result<(Row, RecordBuf), Fault> {
        let no_soa = || Fault::NoSoa(self.name.to_owned());
        let apex = NameBuf::from_text(self.name).map_err(|_| no_soa())?;
        let mut statement = self.database.prepare_cached(
            "SELECT owner, type, ttl, rdata FROM record WHERE zone = ?1 AND owner = ?2 AND type = 'SOA' LIMIT 2",
        )?;
        let mut rows = statement.query(params![self.id, self.name])?;
        let row = read_row(rows.next()?.ok_or_else(no_soa)?)?;
        let refuse = |row: &Row, why: Unfit| Fault::Rows {
            zone: self.name.to_owned(),
            refusals: vec![Refusal { row: row.clone(), why }],
            count: 1,
        };
        if let Some(second) = rows.next()? {
            return Err(refuse(&read_row(second)?, Unfit::SoaTwice));
        }
        let record = Reader::of(&apex).read(&row).map_err(|why| refuse(&row, why))?;
        Ok((row, record))
    }

    /// Whether the SOA record is signed: another serial would make its signature wrong.
    fn is_signed(&self) -> Result<bool, Fault> {
        let sql = "SELECT EXISTS (SELECT 1 FROM record
            WHERE zone = ?1 AND owner = ?2 AND type = 'RRSIG' AND rdata >= 'SOA ' AND rdata < 'SOA!')";
        Ok(self.database.prepare_cached(sql)?.query_row(params![self.id, self.name], |row| row.get(0))?)
    }

    fn write_change(&self, version: i64) -> Result<(), Fault> {
        let sql = format!(
            "INSERT INTO change (version, number, what, owner, type, ttl, rdata)
             SELECT ?2, row_number() OVER (ORDER BY what DESC, type <> 'SOA', owner, type, rdata), what, owner, type, ttl, rdata
               FROM (SELECT '-' AS what, p.owner AS owner, p.type AS type, p.ttl_before AS ttl, p.rdata AS rdata
                       {TOUCHED} AND p.ttl_before IS NOT NULL
                      UNION ALL
                     SELECT '+', p.owner, p.type, r.ttl, p.rdata
                       {TOUCHED} AND r.ttl IS NOT NULL)"
        );
        let rows = self.database.prepare_cached(&sql)?.execute([self.id, version])?;
        // 16 octets: numbers and lengths of a row.
        self.database
            .prepare_cached(
                "UPDATE version SET rows = ?2, octets =
                    (SELECT sum(length(owner) + length(type) + length(rdata) + 16) FROM change WHERE version = ?1)
                 WHERE id = ?1",
            )?
            .execute(params![version, rows as i64])?;
        Ok(())
    }

    fn note_serial(&self, serial: u32) -> Result<(), Fault> {
        self.database
            .prepare_cached("UPDATE zone SET serial = ?2 WHERE id = ?1")?
            .execute(params![self.id, serial])?;
        Ok(())
    }
}

/// Owner, type, TTL and RDATA, in this order. Text that is no UTF-8, where somebody switched the constraints off, is a row that is refused: not a fault of the
/// database, which would keep all zones from being read.
pub(crate) fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let text = |column| {
        Ok::<_, rusqlite::Error>(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
    };
    // Of numbers that are no TTL one that is refused as well.
    let ttl = u32::try_from(row.get::<_, i64>(2)?).unwrap_or(u32::MAX);
    Ok(Row { owner: text(0)?, rtype: text(1)?, ttl, rdata: text(3)? })
}

fn check_soa(record: &RecordBuf, apex: &Name) -> Result<(), Unfit> {
    match record.rtype == rtype::SOA && !record.owner.eq_ignore_case(apex) {
        true => Err(Unfit::SoaBelowApex),
        false => Ok(()),
    }
}

//! History that is dropped, in PostgreSQL: some thousand versions a transaction, so that nobody waits for it.

use super::link::Parameters;
use super::open::Store;
use crate::fault::Fault;
use crate::trim::{Bounds, Trimmed};

/// Versions before a time, and those of the same zone before them (a clock may have been set back), but for the newest of each zone.
const AGED: &str = "SELECT v.id
      FROM (SELECT zone, max(id) AS newest, max(id) FILTER (WHERE at < $1) AS aged FROM zonda.version WHERE NOT open GROUP BY zone) bound
      JOIN zonda.version v ON v.zone = bound.zone AND v.id <= bound.aged AND v.id < bound.newest";

/// Versions up to a number that are not the newest of their zone.
const OLD: &str = "SELECT v.id FROM zonda.version v
     WHERE v.id <= $1 AND EXISTS (SELECT 1 FROM zonda.version n WHERE n.zone = v.zone AND n.follows > v.follows)";

/// How many versions go at once.
const VERSIONS_MAX: u64 = 5_000;

impl Store {
    /// Drops what is beyond the bounds.
    pub fn trim(&mut self, bounds: &Bounds) -> Result<Trimmed, Fault> {
        let mut trimmed = Trimmed::default();
        if let Some(before) = bounds.before {
            self.drop_all(AGED, limit(before), &mut trimmed)?;
        }
        if let Some(max) = bounds.octets_max {
            let over = "SELECT id FROM (SELECT id, sum(octets) OVER (ORDER BY id DESC) AS total FROM zonda.version WHERE NOT open) v
                WHERE total > $1::bigint ORDER BY id DESC LIMIT 1";
            if let Some(row) = self.link.query_opt(over, &[&limit(max)])? {
                let last: i64 = row.try_get(0)?;
                self.drop_all(OLD, last, &mut trimmed)?;
                // Newest versions of their zones: without their rows all of the zone is to be read.
                let newest = "WITH without AS (UPDATE zonda.version SET kind = 'whole', rows = 0, octets = 0 WHERE id <= $1 AND kind = 'change' RETURNING id),
                         gone AS (DELETE FROM zonda.change c USING without w WHERE c.version = w.id RETURNING 1)
                    SELECT count(*) FROM gone";
                trimmed.rows += self.counts(newest, &[&last])?[0];
            }
        }
        Ok(trimmed)
    }

    /// Drops the versions that a statement finds, the oldest first: what stays of a zone leads on at any time.
    fn drop_all(&self, which: &str, limit: i64, trimmed: &mut Trimmed) -> Result<(), Fault> {
        let sql = format!(
            "WITH old AS MATERIALIZED ({which} ORDER BY v.id LIMIT {VERSIONS_MAX}),
                  rows AS (DELETE FROM zonda.change c USING old WHERE c.version = old.id RETURNING 1),
                  versions AS (DELETE FROM zonda.version v USING old WHERE v.id = old.id RETURNING 1)
             SELECT (SELECT count(*) FROM versions), (SELECT count(*) FROM rows)"
        );
        loop {
            let counts = self.counts(&sql, &[&limit])?;
            trimmed.versions += counts[0];
            trimmed.rows += counts[1];
            if counts[0] < VERSIONS_MAX {
                return Ok(());
            }
        }
    }

    fn counts(&self, sql: &str, parameters: Parameters<'_>) -> Result<[u64; 2], Fault> {
        let mut counts = [0; 2];
        if let Some(row) = self.link.query_once(sql, parameters)?.first() {
            for (column, count) in counts.iter_mut().enumerate().take(row.len()) {
                *count = row.try_get::<_, i64>(column)?.unsigned_abs();
            }
        }
        Ok(counts)
    }
}

/// Numbers of SQL have a sign; what is beyond them is no bound.
fn limit(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

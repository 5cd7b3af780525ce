//! Records that go and come, over a version that is still the newest: triggers make versions of that.

use super::link::Link;
use super::open::Store;
use super::version::newest;
use crate::alter::{AGE_MAX, NotCommitted, Once, VERSIONS_LOOKED_MAX, Write, Wrote, rows};
use crate::fault::Fault;
use crate::row::Row;

/// Whoever changes a zone holds its row: who waits for that looks at no other zone meanwhile. It is tried again by who asks.
/// What is answered is to be on the disk, whatever is usual there.
const WRITING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '250ms';
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";

/// What a commit waits for is no zone: with NOTIFY, others that commit.
const COMMIT: &str = "SET LOCAL lock_timeout = '10s'; COMMIT";

/// By zone and row, whose index has no more of a long RDATA than its key.
const GOING: &str = "DELETE FROM zonda.record r
    USING zonda.zone z, unnest($2::text[], $3::text[], $4::text[]) g (owner, type, rdata)
    WHERE z.name = $1 AND r.zone = z.id AND r.owner = g.owner AND r.type = g.type AND zonda.key(r.rdata) = zonda.key(g.rdata) AND r.rdata = g.rdata";

const COMING: &str = "INSERT INTO zonda.record (zone, owner, type, ttl, rdata)
    SELECT z.id, c.owner, c.type, c.ttl, c.rdata
      FROM zonda.zone z, unnest($2::text[], $3::text[], $4::integer[], $5::text[]) c (owner, type, ttl, rdata) WHERE z.name = $1";

impl Store {
    /// Changes zones, all of them in one transaction or none: one flush is for many. What came of each, in their order.
    pub fn write(&self, writes: &[Write]) -> Result<Vec<Wrote>, NotCommitted> {
        // In the order in which all lock them.
        let mut order: Vec<(String, usize)> =
            writes.iter().enumerate().map(|(at, write)| (write.name(), at)).collect();
        order.sort();
        self.link.batch(WRITING)?;
        let altered = order
            .into_iter()
            .map(|(name, at)| Ok((at, alter(&self.link, &name, &writes[at])?)))
            .collect::<Result<Vec<(usize, Wrote)>, Fault>>();
        let mut wrote = altered.inspect_err(|_| {
            // If that fails the connection is of no use, and its end is the end of the transaction.
            let _ = self.link.batch("ROLLBACK");
        })?;
        match self.link.batch(COMMIT) {
            Ok(()) => {
                wrote.sort_by_key(|(at, _)| *at);
                Ok(wrote.into_iter().map(|(_, wrote)| wrote).collect())
            }
            Err(fault @ Fault::Away(_)) => Err(NotCommitted::Unknown(fault)),
            // What the server says of a commit is of one that was not.
            Err(fault) => {
                let _ = self.link.batch("ROLLBACK");
                Err(NotCommitted::Nothing(fault))
            }
        }
    }
}

fn alter(link: &Link, name: &str, write: &Write) -> Result<Wrote, Fault> {
    let why = write.why().unwrap_or_default();
    let sql = "SELECT replace(zonda.lock($1)::text, '-', ''), set_config('zonda.who', $2, true), set_config('zonda.why', $3, true)";
    let locked = link.query_opt(sql, &[&name, &write.who, &why])?;
    let mark: Option<String> = locked.map(|row| row.try_get(0)).transpose()?.flatten();
    if let Some(once) = &write.once
        && let Some(known) = known(link, name, once)?
    {
        return Ok(known);
    }
    if mark.as_ref() != Some(&write.over.1) {
        return Ok(Wrote::Moved);
    }
    let (removed, added): (Vec<Row>, Vec<Row>) =
        (rows(&write.removed).collect(), rows(&write.added).collect());
    let columns = |rows: &[Row]| {
        let of = |column: fn(&Row) -> &String| rows.iter().map(|row| column(row).clone()).collect();
        [of(|row| &row.owner), of(|row| &row.rtype), of(|row| &row.rdata)]
    };
    let [owners, types, rdata]: [Vec<String>; 3] = columns(&removed);
    let gone = link.execute(GOING, &[&name, &owners, &types, &rdata])?;
    if gone != removed.len() as u64 {
        return Err(write.not_its_rows());
    }
    let [owners, types, rdata]: [Vec<String>; 3] = columns(&added);
    // None is beyond what one can be (RFC 2181 8).
    let ttls: Vec<i32> = added.iter().map(|row| i32::try_from(row.ttl).unwrap_or(i32::MAX)).collect();
    link.execute(COMING, &[&name, &owners, &types, &ttls, &rdata])?;
    link.batch("SET CONSTRAINTS zonda.version_close IMMEDIATE")?;
    let made = newest(link, name)?.filter(|made| made.mark != write.over.1);
    Ok(made.map_or(Wrote::Same, Wrote::Made))
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

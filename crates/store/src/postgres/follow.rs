//! A store as who follows it has it open: to read, and to raise serials if it may.

use std::time::Duration;

use super::link::Beat;
use super::open::Store;
use super::target::Target;
use crate::fault::Fault;
use crate::open::Access;
use crate::schema::SCHEMA;
use crate::source::Raise;

/// Some zones of a million are asked for: what they have is found by indexes, zone by zone. The planner, which does not know how many are asked for, else reads
/// all of `change` for each.
const BY_INDEX: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

/// Whoever changes a zone holds its row: who waits for that looks at no other zone meanwhile. Transactions of programs end within such a time, and for those of people it is tried
/// again later.
const RAISING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '100ms';
    SET LOCAL zonda.who = 'zonda'; SET LOCAL zonda.why = 'above the serial that a server had'";

impl Store {
    /// Opens the store of a database to follow it. `limit`: for each statement; `beat` is called while one is at work, and says whether to go on. Returns whether
    /// serials may be raised, too: not on a replica, by a role without the right to do so, or in tables of a later program.
    pub fn follow(target: &Target, limit: Duration, beat: Beat) -> Result<(Store, bool), Fault> {
        let store = Store::open_with(target, Access::Read, limit, beat)?;
        store.link.batch(BY_INDEX)?;
        let sql = "SELECT NOT pg_is_in_recovery() AND written_by <= $1 AND has_function_privilege('zonda.touch(text, bigint)', 'EXECUTE') FROM zonda.store";
        let row = store.link.query_opt(sql, &[&SCHEMA])?;
        let may_raise = row.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
        Ok((store, may_raise))
    }

    /// Has each of these zones have a version as it is, above a serial; all of them or none.
    pub fn raise(&self, raises: &[Raise]) -> Result<(), Fault> {
        // In the order in which all lock them.
        let mut raises: Vec<(String, i64)> =
            raises.iter().map(|(zone, above)| (zone.to_lowercase().to_string(), i64::from(*above))).collect();
        raises.sort();
        let (zones, above): (Vec<String>, Vec<i64>) = raises.into_iter().unzip();
        self.link.within(RAISING, || {
            let sql = "SELECT zonda.touch(a.zone, a.above) FROM unnest($1::text[], $2::bigint[]) AS a (zone, above)";
            self.link.query(sql, &[&zones, &above])?;
            // What a commit waits for is no zone: with NOTIFY, others that commit.
            self.link.batch("SET LOCAL lock_timeout = '10s'")
        })
    }
}

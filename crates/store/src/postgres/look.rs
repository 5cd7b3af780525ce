//! What is new, for who follows a store.
//!
//! A look asks for versions of transactions that had not ended in the snapshot of the look before: nothing is lost, and nothing comes twice, however long a
//! transaction was open. Each look says which server answered it, as a client behind a proxy does not see that there is another one.

use std::collections::HashSet;

use super::open::Store;
use super::version::{columns, of_row};
use crate::fault::Fault;
use crate::version::{Kind, Version};

/// Versions that a look on a replica keeps in mind: of more, as there are while a transaction is open for long, all are told at each look, which costs and harms nothing.
const KNOWN_MAX: usize = 100_000;

/// Who answered. Of another one than before it is not known what is new, nor what was set for the connection.
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
    /// The file of the table of versions: a table that was dropped and restored, or emptied, has another one. `None`: there is none.
    pub table: Option<i64>,
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
    /// Whether versions send NOTIFY.
    pub has_notices: bool,
    /// The number of the newest version.
    newest: Option<i64>,
    /// Of a replica: versions that the next look finds again.
    known: HashSet<i64>,
}

/// What is new since the look before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Versions of these zones; a zone may be there more than once.
    Zones(Vec<String>),
    /// It is not known: there was no look before, or there are versions that no trigger made. The whole list is to be read.
    List,
    /// Nor is that: another server answers, or the tables are others. To be opened anew.
    Another,
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

/// Zones of a page of the list.
pub const HEADS_MAX: usize = 10_000;

/// One look. One row, as a transaction may change a million zones: each by itself would have the snapshot with it. The greatest number is that of a version that came by a
/// transaction which is seen, unless somebody restores rows, which have the numbers of transactions of old.
pub(super) const LOOK: &str = "SELECT pg_current_snapshot()::text, zonda.cluster(), pg_postmaster_start_time()::text,
           (SELECT timeline_id FROM pg_control_checkpoint()), pg_backend_pid(), pg_is_in_recovery(),
           pg_relation_filenode(to_regclass('zonda.version'))::bigint,
           (SELECT max(v.id) FROM zonda.version v WHERE NOT v.open), n.ids, n.zones,
           (SELECT s.notify FROM zonda.store s WHERE s.one = 1)
      FROM (SELECT array_agg(v.id) AS ids, array_agg(v.zone) AS zones FROM zonda.version v
             WHERE NOT v.open AND (v.transaction >= $1::text::xid8 OR v.transaction = ANY ($2::text[]::xid8[]))) n";

impl Store {
    /// Looks once: what was committed since `before`.
    pub fn look(&self, before: Option<&Seen>) -> Result<(Seen, News), Fault> {
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
            table: row.try_get(6)?,
        };
        let ended = Ended::of_text(row.try_get(0)?).ok_or_else(|| unknown(row.get(0)))?;
        let newest: Option<i64> = row.try_get(7)?;
        let ids: Vec<i64> = row.try_get::<_, Option<_>>(8)?.unwrap_or_default();
        let zones: Vec<String> = row.try_get::<_, Option<_>>(9)?.unwrap_or_default();
        let has_notices = row.try_get::<_, Option<_>>(10)?.unwrap_or_default();
        let news = match before {
            None => News::List,
            Some(before) if before.server != server => News::Another,
            Some(before) => {
                let is_new = |id: &i64| !before.known.contains(id);
                let new = ids.iter().zip(zones).filter(|(id, _)| is_new(id)).map(|(_, zone)| zone);
                let zones: Vec<String> = new.collect();
                if zones.is_empty() && before.newest != newest { News::List } else { News::Zones(zones) }
            }
        };
        let known = if server.is_replica && ids.len() <= KNOWN_MAX { ids } else { Vec::new() };
        Ok((Seen { server, ended, has_notices, newest, known: known.into_iter().collect() }, news))
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
}

fn head(version: Version) -> Head {
    let Version { zone, serial, mark, kind, .. } = version;
    Head { zone, serial, mark, is_removed: kind == Kind::Removed }
}

fn unknown(said: &str) -> Fault {
    Fault::Postgres { code: "XX000".into(), words: format!("a snapshot that is not understood: {said}") }
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

//! What a server and the feeder of a store say to each other, and where a store is. Of databases it knows nothing, and neither does the server, which uses this
//! and not the feeder.
//!
//! * [`frame`]: the words; [`pair`]: over what they are said.
//! * [`address`]: where a store is, as the feeder is told; [`url`]: as people write that of PostgreSQL, in settings and for `zonda store`; [`schema`]: whose tables it has.
//! * [`by_name`]: what either keeps of each of very many zones.
//!
//! Design: `docs/design/store.md` 5.

pub mod address;
pub mod by_name;
pub mod frame;
pub mod pair;
pub mod schema;
pub mod url;

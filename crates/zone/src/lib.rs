//! The zone store: packs, immutable once published, and how names are found in them.
//!
//! * [`contents`]: the records of one zone, sorted and classified; what checks read and packs are built from.
//! * [`pack`], [`section`]: the image of many zones; [`index`], [`block`], [`shape`], [`fragment`]: its parts.
//! * [`build`]: from contents to packs.
//! * [`change`]: what leads from one version to the next.
//! * [`check`]: semantic checks of contents.
//! * [`delta`]: what has changed in a zone since its pack was made.
//! * [`difference`]: the same between two versions that came as a whole.
//! * [`lookup`]: from a name to a node of a zone; [`catalog`]: from a name to a zone.
//! * [`naive`]: the reference model that property tests compare lookup with.
//!
//! The crate opens no files and knows no clock; octets come in, octets go out.

pub mod block;
pub mod build;
pub mod catalog;
pub mod change;
pub mod check;
pub mod contents;
pub mod delta;
pub mod difference;
mod expand;
pub mod fragment;
pub mod index;
pub mod lookup;
pub mod naive;
pub mod pack;
pub mod section;
pub mod shape;

pub use build::{PackBuilder, TextStamp};
pub use catalog::{Catalog, CatalogReader, CatalogView};
pub use change::{Change, Record, Records};
pub use contents::{Contents, ContentsBuilder, Flags};
pub use delta::{Changed, Delta, DeltaWriter};
pub use lookup::{Crawl, Data, Denial, Match, MatchKind, Node, RRset, ZoneView};
pub use pack::{Backing, Pack};

//! Catalog zones (RFC 9432): a list of zones that is a zone itself, taken from others and made for others.
//!
//! ```text
//! state of a catalog, or a change of it -> Difference -> Plan -> Steps: what becomes of each zone
//!                                            | reads      |
//!                                            '-- Claims <-'  <- Settle: after the settings changed
//! zones that are wanted in a catalog -> Produced -> zone::Change
//! ```
//!
//! * [`Claims`]: which catalog has which members, and which of them holds a zone; [`Broken`]: why a catalog is none.
//! * [`Difference`]: what a state has that the claims have not; [`Plan`], [`Step`], [`Event`]: what is done about it.
//! * [`kept`]: lines of the file that keeps the claims; [`Produced`]: the catalog that is made here.
//!
//! The design, with the reasons and the bounds, is in `docs/design/catalog-zones.md`. No files, no clock: lines and seconds are arguments.

mod broken;
mod claims;
mod compare;
mod configured;
pub mod kept;
mod owner;
mod plan;
mod produce;
mod read;
mod settle;
mod step;
mod table;
#[cfg(test)]
mod tests;

pub use broken::{Broken, Fault};
pub use claims::{CATALOGS_MAX, CatalogNumber, Claim, ClaimNumber, Claims, MEMBERS_MAX, TEMPLATES_MAX};
pub use compare::Difference;
pub use configured::{Allowed, CatalogSettings, RemoveMax, TooManyCatalogs};
pub use plan::{Counts, Plan};
pub use produce::{CHANGE_MEMBERS_MAX, GROUPS_MAX, Listed, NoCatalog, Produced, Wanted};
pub use settle::Settle;
pub use step::{Clash, Event, Step};

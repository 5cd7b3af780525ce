//! Generators of zones, of queries and updates for them, and of slices. Same options and seed, same octets.
//!
//! * Zones: [`root`], [`registry`] (`net` of the paper, `com`), [`net`] (like `net` today), [`hosting`] and [`panel`] (many zones),
//!   [`dynamic`], [`flat`], [`caching`]; their text by [`text`], the settings for folders of zones by [`settings`].
//! * Queries: [`queries`] for any zone, [`every`] for each RRset of zones, with [`types`] and [`popularity`]; [`hits`] for the caching bed; [`alike`]
//!   for as many as are wanted of the kind of some that were recorded.
//! * [`updates`] for `nsupdate`; [`slice`]: parts of a zone and of its queries; both read by [`zone_file`].

pub mod alike;
pub mod caching;
pub mod dynamic;
pub mod every;
pub mod flat;
pub mod hits;
pub mod hosting;
pub mod net;
pub mod owners;
pub mod panel;
pub mod popularity;
pub mod queries;
pub mod registry;
pub mod root;
pub mod settings;
pub mod slice;
pub mod text;
pub mod types;
pub mod updates;
pub mod zone_file;

#[cfg(test)]
mod tests;

//! What is known already, and need not be asked: where a name begins, and what is kept of what was found out.
//!
//! ```text
//! start: a name -> lookup in the cache     answer, alias, denial, or the deepest cut (cuts: the way up to the root, walked before)
//!               -> aggressive              denied by what was validated for others
//!               -> hopeless                fails whoever is asked: links (broken chains of trust), disowned (by their zone's servers)
//! store: what a response says, and its proof -> entries of the cache                       uncut: names that are no zone cuts
//! stale: what has expired, and how long it is given instead of a failure
//! ```

mod aggressive;
pub(crate) mod cuts;
pub(crate) mod disowned;
mod hopeless;
pub(crate) mod links;
pub(crate) mod lookup;
pub(crate) mod stale;
pub(crate) mod start;
pub(crate) mod store;
pub(crate) mod uncut;

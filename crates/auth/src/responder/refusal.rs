//! What is said to queries that are not looked at any further.

use super::Verdict;
use wire::query::Query;
use wire::refusal::Refusal;

/// What is said to a query that is not looked at any further. `None`: look at it.
/// `has_cookie`: it has a COOKIE option that is answered.
pub(super) fn refusal(query: &Query<'_>, has_cookie: bool) -> Option<Verdict> {
    let Refusal { rcode, ede } = Refusal::of(query, has_cookie)?;
    Some(Verdict { rcode, ede, flags: 0 })
}

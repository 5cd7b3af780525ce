//! Versions above what a server had, of many zones at once.

use store::Fault;
use store::source::Raise;
use wire::NameBuf;

/// Has `all` raise them together; where one cannot be raised, each by itself, so that it holds up no other. Returns zones of which there is none, and why.
pub(crate) fn raise(
    raises: &[Raise],
    mut all: impl FnMut(&[Raise]) -> Result<(), Fault>,
) -> Vec<(NameBuf, String)> {
    let words = |fault: &Fault| fault.lines().join("; ");
    match all(raises) {
        Ok(()) => Vec::new(),
        Err(fault) if fault.is_of_zone() && raises.len() > 1 => {
            let each = raises.iter().filter_map(|raise| {
                let fault = all(std::slice::from_ref(raise)).err()?;
                Some((raise.0.clone(), words(&fault)))
            });
            each.collect()
        }
        Err(fault) => raises.iter().map(|(zone, _)| (zone.clone(), words(&fault))).collect(),
    }
}

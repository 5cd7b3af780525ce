//! Why who hands over records stops.

use std::ops::ControlFlow;

use store::Fault;

/// Why records are not handed over any more.
pub(crate) enum Ended {
    Fault(Fault),
    /// Nobody wants another one.
    Enough,
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Ended {
        Ended::Fault(fault)
    }
}

impl Ended {
    /// Whether there is to be another one.
    pub(crate) fn of(flow: ControlFlow<()>) -> Result<(), Ended> {
        if flow.is_break() { Err(Ended::Enough) } else { Ok(()) }
    }
}

//! (Until the delta is in.)
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::sync::Arc;
/// Changed.
#[derive(Clone)]
pub struct Changed {
    pack: Arc<Pack>,
}
impl Changed {
    /// Pack.
    pub fn pack(&self) -> &Arc<Pack> {
        &self.pack
    }
}
impl<'p> ZoneView<'p> {
    /// View.
    pub fn of_changed(changed: &'p Changed) -> Option<ZoneView<'p>> {
        ZoneView::new(&changed.pack, 0)
    }
}

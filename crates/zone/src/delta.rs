//! (Until the delta is in.)
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::sync::Arc;
/// Changes.
pub struct Delta {
    pack: Arc<Pack>,
}
impl Delta {
    /// Id.
    pub fn id(&self) -> u64 {
        0
    }
    /// Octets.
    pub fn octets(&self) -> usize {
        0
    }
    /// Pack.
    pub fn pack(&self) -> &Arc<Pack> {
        &self.pack
    }
    /// Key.
    pub fn apex_key(&self) -> &[u8] {
        &[]
    }
    /// View.
    pub fn view(&self, _state: u32) -> Option<ZoneView<'_>> {
        None
    }
}

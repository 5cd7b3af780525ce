//! After a flood: tables that it made large become small again, and whoever keeps the memory of the process is told.
//!
//! Pages of slabs go by themselves (`slab`). Tables by hash keep their size until now; so does what was allocated for each task, which the allocator has back but
//! the system has not.

use crate::ask::exchange::Exchanges;
use crate::ask::inquiry::Inquiries;
use crate::resolver::Resolver;
use crate::task::lists::Lists;
use crate::task::mesh::Mesh;

/// Tasks that are a flood's: less than these are a few MiB, which the next ones need again.
const FLOOD_TASKS_MIN: usize = 2_048;
/// It is over when no more than one in so many is left.
const EBB_ONE_IN: usize = 8;

impl Resolver {
    /// Whether a flood is over: there were many tasks, and few are left. Said once for each; what is held for so many is freed then. To be asked after each event.
    ///
    /// Costs two comparisons; at the end of a flood one pass over what is left, and over the places of tasks there were.
    #[inline]
    pub fn has_ebbed(&mut self) -> bool {
        let count = self.mesh.count();
        self.most_tasks = self.most_tasks.max(count);
        let is_over = self.most_tasks >= FLOOD_TASKS_MIN && count <= self.most_tasks / EBB_ONE_IN;
        if is_over {
            self.most_tasks = count;
            self.shrink();
        }
        is_over
    }

    #[cold]
    fn shrink(&mut self) {
        self.mesh.shrink();
        self.exchanges.shrink();
        self.inquiries.shrink();
        self.waiting.shrink_to_fit();
    }
}

impl Mesh {
    fn shrink(&mut self) {
        self.index.shrink_to_fit();
        self.ready.shrink_to_fit();
        self.zones.shrink();
        self.clients.shrink();
    }
}

impl Exchanges {
    fn shrink(&mut self) {
        self.ways.shrink_to_fit();
        self.loads.shrink_to_fit();
    }
}

impl Inquiries {
    fn shrink(&mut self) {
        self.inquiries.shrink_to_fit();
    }
}

impl Lists {
    fn shrink(&mut self) {
        let used = self.links.iter().rposition(|link| link.is_in_list()).map_or(0, |last| last + 1);
        self.links.truncate(used);
        self.links.shrink_to_fit();
    }
}

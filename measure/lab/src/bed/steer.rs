//! Which core receives what comes to the servers.
//!
//! A network card interrupts the core that its queue is bound to (`smp_affinity`). A veth pair has no interrupts: what they would do, the kernel
//! does on the core that sends, unless receive packet steering (`rps_cpus`) names another. So that is what is set here in place of it.

use super::veth::{Namespace, core_mask, ip, ip_with};
use crate::Error;

/// The receiving end of the servers, in their namespace.
const STEERING: &str = "/sys/class/net/veth-s/queues/rx-0/rps_cpus";

/// The core is set until this is dropped; then it is as it was.
pub struct Steered {
    namespace: String,
    before: String,
}

impl Steered {
    /// Has `core` receive.
    pub(super) fn to(namespace: &Namespace, core: usize) -> Result<Steered, Error> {
        let before = ip(&format!("netns exec {} cat {STEERING}", namespace.name))?;
        write(&namespace.name, &core_mask(&[core]))?;
        Ok(Steered { namespace: namespace.name.clone(), before: before.trim().to_owned() })
    }
}

impl Drop for Steered {
    fn drop(&mut self) {
        // Where it fails the namespace is gone, and its settings with it.
        let _ = write(&self.namespace, &self.before);
    }
}

/// Writes a mask; `ip` shows the namespace's own part of the file system to what it starts.
fn write(namespace: &str, mask: &str) -> Result<(), Error> {
    let script = format!("echo {mask} > {STEERING}");
    ip_with(&["netns", "exec", namespace, "sh", "-c", &script]).map(drop)
}

//! Which core receives what comes to the servers.
//!
//! A network card interrupts the core that its queue is bound to (`smp_affinity`). A veth pair has no interrupts: what they would do, the kernel
//! does on the core that sends, unless receive packet steering (`rps_cpus`) names another. So that is what is set here in place of it.

use std::process::Command;

use super::veth::{Namespace, ip};
use crate::{Error, process::find};

/// The receiving end of the servers, in their namespace.
const STEERING: &str = "/sys/class/net/veth-s/queues/rx-0/rps_cpus";
/// Cores in a group of the mask.
const GROUP: usize = 32;

/// The core is set until this is dropped; then it is as it was.
pub struct Steered {
    namespace: String,
    before: String,
}

impl Steered {
    /// Has `core` receive.
    pub(super) fn to(namespace: &Namespace, core: usize) -> Result<Steered, Error> {
        let before = ip(&format!("netns exec {} cat {STEERING}", namespace.name))?;
        write(&namespace.name, &mask(core))?;
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
    let words = ["netns", "exec", namespace, "sh", "-c", &script];
    let fault = |said: String| Error::Namespaces { command: format!("ip {}", words.join(" ")), said };
    let output = Command::new(find("ip").unwrap_or_else(|| "ip".into())).args(words).output();
    let output = output.map_err(|cause| fault(cause.to_string()))?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(fault(said())) }
}

/// A core as the kernel takes sets of them: groups of eight hexadecimal digits, the highest first.
fn mask(core: usize) -> String {
    format!("{:x}{}", 1u32 << (core % GROUP), ",00000000".repeat(core / GROUP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        assert_eq!([0, 1, 7, 31].map(mask), ["1", "2", "80", "80000000"]);
        assert_eq!([32, 70].map(mask), ["1,00000000", "40,00000000,00000000"]);
    }
}

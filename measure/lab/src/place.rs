//! Where programs run: in a network namespace and on certain cores.
//!
//! A thread enters the place and starts the program from there: a child has the namespace and the cores of the thread
//! that makes it, and a socket stays in the namespace it was made in.

use std::{fs::File, io, path::PathBuf, thread};

use rustix::{
    fd::AsFd,
    thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_getaffinity, sched_setaffinity},
};

use crate::Error;

/// A namespace and cores.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Handle of the network namespace; the program's own without.
    pub namespace: Option<PathBuf>,
    /// Cores; all without.
    pub cores: Vec<usize>,
}

impl Place {
    /// The same namespace, other cores.
    pub fn on(&self, cores: &[usize]) -> Place {
        Place { namespace: self.namespace.clone(), cores: cores.to_vec() }
    }

    /// Does something there.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> Result<T, Error> {
        let entered = || {
            if let Some(path) = &self.namespace {
                move_into_link_name_space(File::open(path)?.as_fd(), Some(LinkNameSpaceType::Network))?;
            }
            if !self.cores.is_empty() {
                let mut set = CpuSet::new();
                self.cores.iter().for_each(|&core| set.set(core));
                sched_setaffinity(None, &set)?;
            }
            work()
        };
        let done = thread::scope(|scope| scope.spawn(entered).join());
        let done = done.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        done.map_err(|cause| Error::System {
            action: "run in the namespace and on the cores asked for",
            cause,
        })
    }
}

/// Cores that this process may use.
pub fn cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect();
    if cores.is_empty() { vec![0] } else { cores }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_its_cores() {
        let last = *cores().last().unwrap();
        let place = Place::default().on(&[last]);
        assert_eq!(place.enter(|| Ok(cores())).unwrap(), [last]);
        assert!(cores().len() >= place.cores.len(), "this thread stays where it is");
        let nowhere = Place { namespace: Some("/no/such/namespace".into()), cores: Vec::new() };
        assert!(nowhere.enter(|| Ok(())).unwrap_err().to_string().contains("No such file"));
    }
}

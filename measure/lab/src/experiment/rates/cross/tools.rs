//! The programs that check: found at their first use, with their queries written once a case.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use crate::{
    Error,
    experiment::{
        Lab,
        foreign::{Counts, Foreign, Offer, QueryFile, Tool},
    },
    recipe::Row,
};

/// What is there of them.
#[derive(Default)]
pub struct Tools {
    /// Those that were looked for; `None` where there is none that works.
    known: BTreeMap<Foreign, Option<Tool>>,
    /// Queries in their formats, by our file.
    files: BTreeMap<(Foreign, PathBuf), QueryFile>,
}

impl Tools {
    /// A program for a way of asking; `None`, with a note that says why, where it cannot check that.
    pub fn find(&mut self, lab: &mut Lab, which: Foreign, row: &Row) -> Option<Tool> {
        // Over TCP kxdpgun has a connection for each query: other work than that of the row. It would take minutes to check all other ways.
        if which == Foreign::Kxdpgun && !row.name.is_empty() {
            return None;
        }
        if let Some(known) = self.known.get(&which) {
            return known.clone();
        }
        let found = look(lab, which);
        let tool = match found {
            Ok(tool) => Some(tool),
            Err(why) => {
                lab.note(format!("rates are not checked by {}: {why}", which.program()));
                None
            }
        };
        self.known.insert(which, tool.clone());
        tool
    }

    /// Has a program ask a server, over TCP or not, at a rate or as fast as it can.
    pub fn offer(
        &mut self,
        lab: &Lab,
        tool: &Tool,
        queries: &Path,
        (server, tcp): (SocketAddr, bool),
        rate: Option<f64>,
    ) -> Result<Counts, Error> {
        let key = (tool.which, queries.to_owned());
        if !self.files.contains_key(&key) {
            // A folder of its own: files of two cases may have one name.
            let folder = lab.folder(&format!("check-queries-{}", self.files.len()))?;
            let made = tool.queries(queries, &folder)?;
            self.files.insert(key.clone(), made);
        }
        tool.offer(
            lab,
            &Offer { server, queries: &self.files[&key], tcp, rate, seconds: lab.effort.cross_seconds },
        )
    }

    /// Does without a program that failed. What is not its own fault stays an error.
    pub fn give_up(&mut self, lab: &mut Lab, which: Foreign, error: Error) -> Result<(), Error> {
        let why = match error {
            Error::Program { status, said, .. } => {
                let last = said.trim().lines().last().unwrap_or("nothing").trim();
                format!("{status}, it said last: {last}")
            }
            Error::Output { .. } => error.to_string(),
            error => return Err(error),
        };
        lab.note(format!("rates are no longer checked by {}: {why}", which.program()));
        self.known.insert(which, None);
        Ok(())
    }
}

/// The program, and its version in the record; or why there is none.
fn look(lab: &mut Lab, which: Foreign) -> Result<Tool, String> {
    if which == Foreign::Kxdpgun && lab.bed.name() != "veth" {
        return Err("it needs a link between two network namespaces (--bed veth)".to_owned());
    }
    let missing = || format!("it is missing: on Debian install {}", which.package());
    let tool = Tool::find(which).ok_or_else(missing)?;
    lab.record.machine["generators"][which.program()] = tool.version.clone().into();
    if let Some(differs) = tool.differs() {
        lab.note(format!("queries of {} are others than ours: {differs}", which.program()));
    }
    Ok(tool)
}

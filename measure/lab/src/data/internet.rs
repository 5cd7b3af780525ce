//! A model Internet, as `zonda-bench gen internet` makes it.

use std::{fs, net::Ipv4Addr, path::PathBuf};

use super::{Store, week, words};
use crate::{Error, error};

/// Which model Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternetWanted {
    /// Names of real sites in it, at least.
    pub names: usize,
    /// How many of a hundred zones are signed.
    pub signed_percent: u8,
    /// Another seed gives another one.
    pub seed: u64,
}

impl Store<'_> {
    /// A model Internet of so many names at least, whose servers have addresses from `first` on. It is kept as long as its signatures are good, and some.
    pub fn internet(&self, wanted: &InternetWanted, first: Ipv4Addr) -> Result<PathBuf, Error> {
        fs::create_dir_all(self.folder).map_err(error::file(self.folder, "create"))?;
        let week = week();
        let InternetWanted { names, signed_percent, seed } = wanted;
        let texts = [names.to_string(), signed_percent.to_string(), seed.to_string(), first.to_string()];
        let [names, signed, seed, first] = texts.each_ref().map(String::as_str);
        self.made(&format!("internet-{names}-{signed}-{seed}-{first}-{week}"), |to| {
            let (bench, to) = (self.bench.to_string_lossy(), to.to_string_lossy());
            let options = ["--names", names, "--signed", signed, "--seed", seed, "--first-address", first];
            let command = [&[&*bench, "gen", "internet", "-o", &to][..], &options].concat();
            self.run(&words(&command)).map(drop)
        })
    }
}

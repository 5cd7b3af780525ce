//! `zonda store import --from-powerdns`: the zones of PowerDNS's tables, but for those that cannot be served.

use std::time::Duration;

use control::read::ZoneText;
use control::text::count;
use serde_json::{Value, json};
use store::postgres::powerdns::PowerDns;
use store::powerdns::read::EachZone;
use store::powerdns::{Fault, Listed, Refusal, Rules, Tables, Unknown, Zone, zones};
use store::{Database, DatabaseWriter, Meta, Place, Put};

use super::import::{line, object};
use super::source::look;
use super::{At, Lines, Said, again, at, meta, open, shown, who};
use crate::command::checked::Depth;
use crate::command::{complain, print};

/// How long a statement over its tables may take: rows come in parts.
const STATEMENT_MAX: Duration = Duration::from_secs(60);

/// Tables of PowerDNS, in place of zone files.
#[derive(clap::Args)]
pub struct FromPowerDns {
    /// Put in all zones of PowerDNS's tables: a file of SQLite, or postgres://USER@HOST/DATABASE (with PGPASSWORD); those that cannot be served are left out, and it is said why
    #[arg(long, value_name = "TABLES", value_parser = at::place, conflicts_with_all = ["zones", "folder", "from_config"])]
    from_powerdns: Option<Place>,
    /// What becomes of zones with rows of types that are none of records (ALIAS, LUA): they are left out, or put in without these rows
    #[arg(long, value_name = "HOW", default_value = "refuse", value_parser = ["refuse", "skip"], conflicts_with_all = ["zones", "folder", "from_config"])]
    unknown_types: String,
    /// TTL of rows that have none, `default-ttl` of PowerDNS's settings
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = clap::value_parser!(u32).range(0..=0x7fff_ffff), conflicts_with_all = ["zones", "folder", "from_config"])]
    default_ttl: u32,
    /// Take DNSKEY, CDS and CDNSKEY from rows, as PowerDNS does with `direct-dnskey`
    #[arg(long, conflicts_with_all = ["zones", "folder", "from_config"])]
    direct_dnskey: bool,
}

/// Which tables, and how they are read.
pub struct Source {
    place: Place,
    rules: Rules,
}

impl FromPowerDns {
    /// `None`: zone files are meant.
    pub fn source(&self) -> Option<Source> {
        let unknown = if self.unknown_types == "skip" { Unknown::Skip } else { Unknown::Refuse };
        let (default_ttl, direct_dnskey) = (self.default_ttl, self.direct_dnskey);
        let place = self.from_powerdns.clone()?;
        let place = match std::env::var("PGPASSWORD") {
            Ok(password) => place.with_password(&password),
            Err(_) => place,
        };
        Some(Source { place, rules: Rules { unknown, default_ttl, direct_dnskey, ..Rules::default() } })
    }
}

impl Source {
    /// Hands over all zones.
    fn zones(&self, each: EachZone<'_>) -> Result<(), Fault> {
        match &self.place {
            Place::File(path) => zones(path, self.rules, each),
            Place::Server(target) => {
                let client = PowerDns::open(target, STATEMENT_MAX, Box::new(|| true))?;
                Tables::of(client)?.zones(self.rules, each)
            }
        }
    }
}

/// What came of all zones.
#[derive(Default)]
struct Moved {
    /// Lines for those that are in, and objects.
    taken: Vec<(String, Value)>,
    /// Lines why others are not, and objects.
    refused: Vec<(Lines, Value)>,
    /// How many versions were made, how many zones were as they were, and how many were left out that PowerDNS has of others.
    made: usize,
    same: usize,
    of_others: usize,
}

/// Moves all zones; says whether none was refused.
pub fn run(at: &At, source: &Source, depth: &Depth, said: &Said) -> Result<bool, Lines> {
    let (mut store, who) = (open(at)?, who());
    let meta = meta(&who, said.why.as_deref());
    let moved = again(|| move_all(source, depth, &mut store, &meta)).map_err(|fault| at.told(&fault))?;
    let moved = moved.map_err(|fault| {
        vec![format!("{}: {}", source.place, shown(&fault.to_string())), format!("{at}: nothing was changed")]
    })?;
    moved.say(said.json)
}

/// Puts all zones in that can be; the inner error is of the tables.
fn move_all(
    source: &Source,
    depth: &Depth,
    store: &mut Database,
    meta: &Meta<'_>,
) -> Result<Result<Moved, Fault>, store::Fault> {
    let (mut writer, mut moved, mut failed) = (store.writer()?, Moved::default(), None);
    let read = source.zones(&mut |listed, zone| {
        // Nothing is put in any more once something was not.
        if failed.is_none() {
            failed = moved.take(&mut writer, (listed, zone), (source, depth, meta)).err();
        }
    });
    match (read, failed) {
        (_, Some(fault)) => Err(fault),
        (Err(fault), None) => Ok(Err(fault)),
        (Ok(()), None) => writer.commit().map(|()| Ok(moved)),
    }
}

impl Moved {
    fn take(
        &mut self,
        writer: &mut DatabaseWriter<'_>,
        (listed, zone): (&Listed, Result<Zone, Refusal>),
        (from, depth, meta): (&Source, &Depth, &Meta<'_>),
    ) -> Result<(), store::Fault> {
        let zone = match zone {
            Ok(zone) => zone,
            Err(refusal) => {
                self.of_others += usize::from(refusal.is_left_out());
                self.refuse(
                    &name_of(listed),
                    refusal.to_string().lines().map(str::to_owned).collect(),
                    refusal.is_left_out(),
                );
                return Ok(());
            }
        };
        let Zone { contents, left_out, .. } = zone;
        let apex = contents.apex().to_owned();
        let text = ZoneText::transferred(contents, &from.place, 0);
        if let Err(lines) = look(&apex, &text, depth) {
            self.refuse(&apex.to_string(), lines, false);
            return Ok(());
        }
        let put = writer.put(&text.contents, None, meta)?;
        match put {
            Put::Made(_) => self.made += 1,
            Put::Same | Put::Disabled => self.same += 1,
        }
        let (mut words, mut value) = (line(&apex, &put), object(&apex, &put));
        let left_out = left_out.lines();
        for line in &left_out {
            words += &format!("\nzone {apex}: {}", shown(line));
        }
        value["left_out"] = left_out.into();
        self.taken.push((words, value));
        Ok(())
    }

    fn refuse(&mut self, zone: &str, lines: Lines, is_of_others: bool) {
        let object =
            json!({ "zone": zone, "version": null, "refused": lines.join("; "), "of_others": is_of_others });
        let lines = lines.iter().map(|line| format!("zone {zone}: {}", shown(line))).collect();
        self.refused.push((lines, object));
    }

    /// Says what came of it; whether none was refused.
    fn say(&self, as_objects: bool) -> Result<bool, Lines> {
        let refused = self.refused.len() - self.of_others;
        let mut text = String::new();
        match as_objects {
            true => {
                let objects = self.taken.iter().map(|(_, object)| object);
                let objects = objects.chain(self.refused.iter().map(|(_, object)| object));
                objects.for_each(|object| text += &format!("{object}\n"));
            }
            false => {
                self.taken.iter().for_each(|(line, _)| text += &format!("{line}\n"));
                let lines = self.refused.iter().flat_map(|(lines, _)| lines);
                complain(lines.map(String::as_str));
                let (made, others) = (count(self.made, "zone"), self.of_others);
                text += &format!(
                    "{made} put in, {} as before; {refused} refused, {others} left out as they are of other servers\n",
                    self.same
                );
            }
        }
        Ok(print(&text) && refused == 0)
    }
}

/// The name of a zone, or what stands in its place.
fn name_of(listed: &Listed) -> String {
    listed.name().map_or_else(|| listed.text.escape_ascii().to_string(), |name| name.to_string())
}

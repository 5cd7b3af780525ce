//! Puts the servers of a scenario on sockets, for real resolvers: `cargo run -p sim --example attack FILE FOLDER CONTROL`.
//!
//! Into FOLDER come `hints`, `anchor` (empty where the root is not signed), `first` and `questions`: when at the earliest (ms), name and type of what the
//! file's clients ask one by one, and in floods, a line each. A datagram to CONTROL (address:port) is answered with what each server was asked. Every address of the file must be one of this host.

use sim::records::Records;
use sim::scenario::{Scenario, What};
use sim::time::MILLISECOND;
use sim::{export, sockets};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::iana::rtype;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, folder, control] = &arguments[..] else { return Err("attack FILE FOLDER CONTROL".into()) };
    let mut scenario = Scenario::read(file, &fs::read_to_string(file)?)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    sockets::sign_for(&mut scenario, u32::try_from(now)?);
    let internet = scenario.plan.internet()?;
    let hints: Records = internet.hints();
    let (mut first, mut questions) = (String::new(), String::new());
    for step in &scenario.steps {
        match &step.what {
            What::Query(asked, _) => first += &format!("0 {} {}\n", asked.qname, rtype::Text(asked.qtype)),
            What::Flood(count, pattern, qtype) => {
                for number in 0..*count {
                    let name = pattern.replace('N', &number.to_string());
                    questions +=
                        &format!("{} {name} {}\n", step.at.unwrap_or(0) / MILLISECOND, rtype::Text(*qtype));
                }
            }
            _ => {}
        }
    }
    let folder = Path::new(folder);
    fs::write(folder.join("hints"), hints.text())?;
    fs::write(folder.join("anchor"), export::anchor(&scenario.plan.anchors()))?;
    fs::write(folder.join("first"), first)?;
    fs::write(folder.join("questions"), questions)?;
    sockets::serve(internet, scenario.seed, control.parse()?)?;
    Ok(())
}

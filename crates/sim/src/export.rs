//! The same Internet for real servers: a folder that others serve.
//!
//! ```text
//! zones/ZONE.zone   a master file a zone, signed; the root is `root.zone`
//! servers           address, name of the server, zones that it has: a line each
//! hints             NS of the root with addresses
//! anchor            DS of the root, or nothing
//! names             what can be asked: name and type
//! ```

use crate::generated::Generated;
use crate::internet::Internet;
use crate::records::Records;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use wire::Name;
use wire::iana::rtype;

/// The name of a zone's file, without its folder.
pub fn file_name(apex: &Name) -> String {
    match apex.is_root() {
        true => "root.zone".to_owned(),
        // Names of the model have letters, digits, hyphens and underscores only.
        false => format!("{}zone", apex.to_lowercase()),
    }
}

/// Writes all of it into `folder`, which must be there. The error of a zone that cannot be made is one of input.
pub fn export(generated: &Generated, folder: &Path) -> io::Result<()> {
    let wrong = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
    let zones = generated.plan.complete().map_err(wrong)?;
    fs::create_dir_all(folder.join("zones"))?;
    for zone in &zones {
        fs::write(folder.join("zones").join(file_name(&zone.apex)), zone.text())?;
    }
    let internet = generated.plan.internet().map_err(wrong)?;
    fs::write(folder.join("servers"), servers(&internet))?;
    fs::write(folder.join("hints"), internet.hints().text())?;
    fs::write(folder.join("anchor"), anchor(&generated.plan.anchors()))?;
    let names = generated.names.iter().map(|(name, qtype)| format!("{name} {}\n", rtype::Text(*qtype)));
    fs::write(folder.join("names"), names.collect::<String>())
}

fn servers(internet: &Internet) -> String {
    let mut text = String::new();
    for server in internet.servers() {
        let zones: Vec<String> = server.zones().iter().map(|zone| zone.apex.to_string()).collect();
        for address in &server.addresses {
            let _ = writeln!(text, "{address} {} {}", server.name, zones.join(" "));
        }
    }
    text
}

/// The trust anchor as a master file.
pub fn anchor(ds: &[Vec<u8>]) -> String {
    let mut records = Records { apex: wire::NameBuf::root(), list: Vec::new() };
    ds.iter().for_each(|rdata| records.push(Name::root(), rtype::DS, 3600, rdata));
    records.text()
}

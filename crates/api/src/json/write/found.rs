//! What was found, and what is told of the server and of versions.

use wire::iana::rtype;

use super::super::content;
use super::{close, flag, item, key, name, number, quoted, string, text};
use crate::frame::{Detail, KeyName, Number, Row, Version};
use crate::path::id;

/// What a search found: zones, then records.
#[derive(Debug, Default)]
pub struct Found {
    count: usize,
}

impl Found {
    /// Adds a zone.
    pub fn zone(&mut self, row: &Row<'_>, out: &mut Vec<u8>) {
        item(&mut self.count, "[", out);
        out.push(b'{');
        string("object_type", "zone", out);
        key("name", out);
        name(&row.name.to_lowercase(), out);
        key("zone", out);
        name(&row.name.to_lowercase(), out);
        key("zone_id", out);
        quoted(out, |out| id::put_id(row.name, out));
        out.push(b'}');
    }

    /// Adds records.
    pub fn records(&mut self, found: &Detail<'_>, out: &mut Vec<u8>) {
        for rdata in found.set.rdatas.iter() {
            item(&mut self.count, "[", out);
            out.push(b'{');
            string("object_type", "record", out);
            key("name", out);
            name(found.set.owner, out);
            string("type", &rtype::Text(found.set.rtype).to_string(), out);
            key("content", out);
            quoted(out, |out| content::print(found.set.rtype, rdata, out));
            number("ttl", found.set.ttl, out);
            flag("disabled", false, out);
            key("zone", out);
            name(&found.zone.to_lowercase(), out);
            key("zone_id", out);
            quoted(out, |out| id::put_id(found.zone, out));
            out.push(b'}');
        }
    }

    /// Ends the list.
    pub fn end(self, out: &mut Vec<u8>) {
        close(self.count, "[", "]", out);
    }
}

/// Numbers of the server, as PowerDNS has statistics: one, or a map of those that have labels.
#[derive(Debug, Default)]
pub struct Numbers {
    count: usize,
    /// The name of the map that is open.
    map: Option<String>,
}

impl Numbers {
    /// Adds one. Those of a map come one behind the other.
    pub fn number(&mut self, of: &Number<'_>, out: &mut Vec<u8>) {
        if self.map.as_deref() == Some(of.name) && !of.label.is_empty() {
            out.push(b',');
        } else {
            self.end_map(out);
            item(&mut self.count, "[", out);
            out.push(b'{');
            string("name", of.name, out);
            string("type", if of.label.is_empty() { "StatisticItem" } else { "MapStatisticItem" }, out);
            key("value", out);
            if of.label.is_empty() {
                text(&of.value.to_string(), out);
                out.push(b'}');
                return;
            }
            out.push(b'[');
            self.map = Some(of.name.to_owned());
        }
        out.push(b'{');
        string("name", of.label, out);
        string("value", &of.value.to_string(), out);
        out.push(b'}');
    }

    fn end_map(&mut self, out: &mut Vec<u8>) {
        if self.map.take().is_some() {
            out.extend_from_slice(b"]}");
        }
    }

    /// Ends the list.
    pub fn end(mut self, out: &mut Vec<u8>) {
        self.end_map(out);
        close(self.count, "[", "]", out);
    }
}

/// TSIG keys by their names, without their secrets.
#[derive(Debug, Default)]
pub struct Keys {
    count: usize,
}

impl Keys {
    /// Adds one.
    pub fn key(&mut self, of: KeyName<'_>, out: &mut Vec<u8>) {
        item(&mut self.count, "[", out);
        out.push(b'{');
        string("type", "TSIGKey", out);
        key("id", out);
        quoted(out, |out| id::put_id(of, out));
        key("name", out);
        name(of, out);
        out.push(b'}');
    }

    /// Ends the list.
    pub fn end(self, out: &mut Vec<u8>) {
        close(self.count, "[", "]", out);
    }
}

/// Versions of a zone.
#[derive(Debug, Default)]
pub struct History {
    count: usize,
}

impl History {
    /// Adds one.
    pub fn version(&mut self, version: &Version, out: &mut Vec<u8>) {
        item(&mut self.count, "[", out);
        out.push(b'{');
        number("old-serial", version.before, out);
        number("new-serial", version.after, out);
        number("time", version.seconds, out);
        number("octets", version.octets, out);
        out.push(b'}');
    }

    /// Ends the list.
    pub fn end(self, out: &mut Vec<u8>) {
        close(self.count, "[", "]", out);
    }
}

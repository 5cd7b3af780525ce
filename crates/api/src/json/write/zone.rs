//! Zones and RRsets.

use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::super::content;
use super::{SERVER, close, flag, item, key, name, number, quoted, raw, string};
use crate::frame::{Cursor, Row, RowKind, Set, What};
use crate::path::{id, put_cursor};

/// Appends a row without its closing brace.
fn open_row(row: &Row<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    key("id", out);
    quoted(out, |out| id::put_id(row.name, out));
    key("name", out);
    name(&row.name.to_lowercase(), out);
    key("url", out);
    quoted(out, |out| url(row.name, out));
    let kind = match row.kind {
        RowKind::Native => "Native",
        RowKind::Master => "Master",
        RowKind::Slave => "Slave",
    };
    string("kind", kind, out);
    flag("dnssec", row.is_signed, out);
    string("account", row.account, out);
    number("serial", row.serial, out);
    number("edited_serial", row.serial, out);
    number("notified_serial", row.notified, out);
    number("last_check", 0u32, out);
    raw("masters", "[]", out);
    string("catalog", "", out);
}

/// Appends the path of a zone.
pub fn url(zone: &Name, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{SERVER}/zones/").as_bytes());
    id::put_id(zone, out);
}

/// A list of zones: `[`, rows, `]`.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    count: usize,
    /// Whether it is a page, in which it is told how each stands.
    is_page: bool,
}

impl Rows {
    /// Adds a zone.
    pub fn row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) {
        item(&mut self.count, "[", out);
        open_row(row, out);
        if self.is_page {
            string("state", row.stands.word(), out);
        }
        out.push(b'}');
    }

    /// Ends the list.
    pub fn end(self, out: &mut Vec<u8>) {
        close(self.count, "[", "]", out);
    }

    /// Begins a page of the API beyond PowerDNS's; it ends with [`Rows::end_page`].
    pub fn page(out: &mut Vec<u8>) -> Rows {
        out.extend_from_slice(b"{\"zones\":");
        Rows { count: 0, is_page: true }
    }

    /// Ends it, and says from where the next goes on.
    pub fn end_page(self, next: Option<Cursor>, out: &mut Vec<u8>) {
        self.end(out);
        out.extend_from_slice(b",\"next\":");
        match next {
            Some(next) => quoted(out, |out| put_cursor(next, out)),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
    }
}

/// A zone: its fields, then its RRsets, as they come.
#[derive(Clone, Debug)]
pub struct Zone {
    sets: Option<Sets>,
    /// Of a page: behind which name the next one goes on, if there is one.
    next: Option<Option<NameBuf>>,
}

impl Zone {
    /// Begins one. `with_rrsets`: whether there will be a list of them, empty or not.
    pub fn begin(row: &Row<'_>, with_rrsets: bool, out: &mut Vec<u8>) -> Zone {
        open_row(row, out);
        string("soa_edit_api", row.soa_edit_api, out);
        string("soa_edit", row.soa_edit, out);
        flag("api_rectify", row.api_rectify, out);
        flag("nsec3narrow", false, out);
        string("nsec3param", "", out);
        flag("presigned", row.is_signed, out);
        raw("master_tsig_key_ids", "[]", out);
        raw("slave_tsig_key_ids", "[]", out);
        if with_rrsets {
            key("rrsets", out);
        }
        Zone { sets: with_rrsets.then(Sets::default), next: None }
    }

    /// Begins one of whose RRsets there will be a page, and where the next one goes on.
    pub fn begin_page(row: &Row<'_>, out: &mut Vec<u8>) -> Zone {
        Zone { next: Some(None), ..Zone::begin(row, true, out) }
    }

    /// There is more, behind this name.
    pub fn goes_on(&mut self, behind: &Name) {
        if let Some(next) = &mut self.next {
            *next = Some(behind.to_owned());
        }
    }

    /// Adds RRsets.
    pub fn set(&mut self, set: &Set<'_>, out: &mut Vec<u8>) {
        if let Some(sets) = &mut self.sets {
            sets.set(set, out);
        }
    }

    /// Ends it.
    pub fn end(self, out: &mut Vec<u8>) {
        if let Some(sets) = self.sets {
            sets.end(out);
        }
        match self.next {
            Some(Some(behind)) => {
                key("next", out);
                name(&behind, out);
            }
            Some(None) => raw("next", "null", out),
            None => {}
        }
        out.push(b'}');
    }
}

/// A list of RRsets. One that has not room in one piece of an answer goes on in the next, as [`What::Extend`].
#[derive(Clone, Debug, Default)]
pub struct Sets {
    count: usize,
    /// Whether the last one lacks its end.
    is_open: bool,
    /// What they are.
    are: Are,
}

/// What RRsets of a list are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Are {
    /// What is in a zone.
    #[default]
    There,
    /// What comes to it and goes: one that comes, with `EXTEND`, is one of its own.
    Changes,
    /// What a PATCH would have of it.
    Wanted,
}

impl Sets {
    /// A list of what is done: `changetype` beside the records.
    #[must_use]
    pub fn of_changes() -> Sets {
        Sets { are: Are::Changes, ..Sets::default() }
    }

    /// A list as a PATCH has it.
    #[must_use]
    pub fn wanted() -> Sets {
        Sets { are: Are::Wanted, ..Sets::default() }
    }

    /// Adds one, or goes on with the one before.
    pub fn set(&mut self, set: &Set<'_>, out: &mut Vec<u8>) {
        let goes_on = set.what == What::Extend && self.are != Are::Changes && self.is_open;
        if goes_on {
            out.push(b',');
        } else {
            self.end_set(out);
            item(&mut self.count, "[", out);
            out.push(b'{');
            key("name", out);
            name(set.owner, out);
            string("type", &rtype::Text(set.rtype).to_string(), out);
            if self.are != Are::There {
                string("changetype", changetype(set.what), out);
            }
            number("ttl", set.ttl, out);
            raw("comments", "[]", out);
            raw("records", "[", out);
        }
        for (at, rdata) in set.rdatas.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"content\":");
            quoted(out, |out| content::print(set.rtype, rdata, out));
            out.extend_from_slice(b",\"disabled\":false}");
        }
        self.is_open = true;
    }

    fn end_set(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_open) {
            out.extend_from_slice(b"]}");
        }
    }

    /// Ends the list.
    pub fn end(mut self, out: &mut Vec<u8>) {
        self.end_set(out);
        close(self.count, "[", "]", out);
    }
}

fn changetype(what: What) -> &'static str {
    match what {
        What::Replace => "REPLACE",
        What::Delete => "DELETE",
        What::Extend => "EXTEND",
        What::Prune => "PRUNE",
    }
}

//! Control entries: `$ORIGIN`, `$INCLUDE` (RFC 1035 5.1), `$TTL` (RFC 2308 4), `$GENERATE` (named's).

use wire::NameBuf;

use crate::entry::Entries;
use crate::error::{Cause, Fault, Found};
use crate::fields::{Field, Fields};
use crate::octets::Octets;
use crate::text::{number, string};

/// What is left to do after a control entry was read.
pub(crate) enum Directive {
    /// Nothing.
    Done,
    /// To read this file with this origin.
    Include { path: String, origin: Option<NameBuf>, start: usize },
    /// To make records from the fields that are left.
    Generate,
}

/// Reads the control entry whose first field is `name`.
pub(crate) fn read(
    name: &Field<'_>,
    fields: &mut Fields<'_>,
    entries: &mut Entries<'_>,
) -> Result<Directive, Fault> {
    let is = |directive: &str| name.text.eq_ignore_ascii_case(directive.as_bytes());
    if is("$ORIGIN") {
        let field = fields.take("a domain name")?;
        if field.quoted && !field.text.is_empty() {
            return Err(field.fault(Cause::Field("a domain name without quotes")));
        }
        let origin = domain_name(&field, entries)?;
        fields.finish()?;
        entries.origin.set(&origin);
        entries.forget_text();
    } else if is("$TTL") {
        let ttl = ttl(fields);
        // One that is wrong is reported once, and not again for each record that would have it.
        entries.default_ttl = ttl.as_ref().ok().copied().or(entries.default_ttl).or(Some(0));
        ttl?;
    } else if is("$INCLUDE") {
        return include(fields, entries);
    } else if is("$GENERATE") {
        return Ok(Directive::Generate);
    } else {
        return Err(name.fault(Cause::UnknownDirective));
    }
    Ok(Directive::Done)
}

fn ttl(fields: &mut Fields<'_>) -> Result<u32, Fault> {
    let field = fields.take("a TTL")?;
    let ttl = number::ttl(field.text).ok_or_else(|| field.fault(Cause::Ttl))?;
    fields.finish()?;
    Ok(ttl)
}

fn include(fields: &mut Fields<'_>, entries: &Entries) -> Result<Directive, Fault> {
    let field = fields.take("a file name")?;
    let origin = match fields.take_any() {
        Some(origin) => Some(domain_name(&origin, entries)?),
        None => None,
    };
    fields.finish()?;
    let mut octets = Octets::new();
    string::unescape(field.text, &mut octets).map_err(|_| field.fault(Cause::Escape))?;
    let path = String::from_utf8(octets.as_slice().to_vec());
    let path = path.map_err(|_| field.fault(Cause::Field("a file name in UTF-8")))?;
    if path.is_empty() {
        return Err(Fault::saying(
            field.start,
            Cause::Field("a file name between the quotes"),
            Found::Unsaid,
        ));
    }
    Ok(Directive::Include { path, origin, start: field.start })
}

fn domain_name(field: &Field<'_>, entries: &Entries) -> Result<NameBuf, Fault> {
    if field.text.is_empty() {
        return Err(field.fault(Cause::Name(wire::name::NameError::EmptyLabel)));
    }
    NameBuf::from_text_at(field.text, Some(entries.origin.name()))
        .map_err(|error| field.fault(Cause::Name(error)))
}

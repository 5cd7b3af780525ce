//! The claims as lines of text, which a server keeps so that members are served before their catalogs have arrived.
//!
//! ```text
//! zonda members 1
//! + CATALOG LABEL ZONE TEMPLATE COO [holds]      a claim, in place of that of this catalog on this zone; no other one holds the zone if it does
//! - CATALOG ZONE                                 no such claim any more
//! ```
//!
//! Names are in presentation format, where a blank is an escape; `-` stands for none. What is appended to the file are the lines of steps.

use std::fmt::{self, Write};

use wire::{Name, NameBuf};

use super::claims::{CATALOGS_MAX, ClaimNumber, Claims, NONE};
use super::plan::take_hold;
use super::step::Step;
use super::table::New;

/// The first line of the file, its end included.
pub const HEAD: &str = "zonda members 1\n";
/// Octets of a line at most: three names whose octets are all escapes, a label and a template.
pub const LINE_OCTETS_MAX: usize = 4_096;

/// A line that says nothing: it is passed over, as the next state of its catalog says it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLine;

/// Writes the lines of a step that was made: at most two.
pub fn write_step(claims: &Claims, step: &Step, to: &mut String) {
    if let Some(catalog) = step.left {
        let _ = writeln!(to, "- {} {}", claims.catalog_name(catalog), step.zone);
    }
    if let Some(number) = step.claim {
        write_claim(claims, number, to);
    }
}

/// Writes the line of a claim; nothing, if there is none.
pub fn write_claim(claims: &Claims, number: ClaimNumber, to: &mut String) {
    let Some(claim) = claims.claim(number) else { return };
    let _ = write!(to, "+ {} ", claims.catalog_name(claim.catalog));
    let _ = write!(to, "{} {} {} ", Label(claim.label), claim.zone, Word(claim.template));
    let _ = match claim.coo {
        Some(catalog) => write!(to, "{}", claims.catalog_name(catalog)),
        None => write!(to, "-"),
    };
    to.push_str(if claim.holds { " holds\n" } else { "\n" });
}

/// Takes a line, without its end, into the claims.
pub fn read_line(claims: &mut Claims, line: &str) -> Result<(), NoLine> {
    if line.len() > LINE_OCTETS_MAX {
        return Err(NoLine);
    }
    let mut words = line.split(' ');
    let mut next = || words.next().ok_or(NoLine);
    match next()? {
        "-" => {
            let (catalog, zone) = (name(next()?)?, name(next()?)?);
            let catalog = claims.catalog(&catalog).ok_or(NoLine)?;
            let hash = claims.table.hash(&zone);
            let number = claims.of_catalog(catalog.0, hash, &zone).ok_or(NoLine)?;
            claims.remove(number);
        }
        "+" => {
            let (catalog, label, zone) = (name(next()?)?, name(next()?)?, name(next()?)?);
            let (template, coo, holds) = (next()?, next()?, words.next());
            let label = label.labels().next().filter(|_| label.label_count() == 1).ok_or(NoLine)?;
            let catalog = enter(claims, &catalog)?;
            let coo = if coo == "-" { NONE } else { enter(claims, &name(coo)?)? };
            let template =
                template_of(template).and_then(|name| claims.enter_template(&name)).ok_or(NoLine)?;
            let number = claims.set(&New { label, zone: &zone, catalog, template, coo }).ok_or(NoLine)?;
            match holds {
                Some("holds") => take_hold(claims, number, &zone),
                _ => claims.set_holds(number, false),
            }
        }
        _ => return Err(NoLine),
    }
    Ok(())
}

fn name(text: &str) -> Result<NameBuf, NoLine> {
    NameBuf::from_text(text)
        .map_err(|_| NoLine)
        .and_then(|name| if text.is_empty() { Err(NoLine) } else { Ok(name) })
}

fn enter(claims: &mut Claims, catalog: &Name) -> Result<u16, NoLine> {
    if claims.catalog(catalog).is_none() && claims.catalogs.len() >= 2 * CATALOGS_MAX {
        return Err(NoLine);
    }
    Ok(claims.enter_catalog(catalog).0)
}

/// A label as a name of its own.
struct Label<'l>(&'l [u8]);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = [&[self.0.len() as u8], self.0, &[0]].concat();
        Name::from_wire(&octets).map_err(|_| fmt::Error)?.fmt(f)
    }
}

/// A template's name as one word.
struct Word<'w>(&'w str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str("-"),
            text => text.chars().try_for_each(|c| match c {
                ' ' => f.write_str("\\s"),
                '\n' => f.write_str("\\n"),
                '-' => f.write_str("\\-"),
                '\\' => f.write_str("\\\\"),
                c => f.write_char(c),
            }),
        }
    }
}

fn template_of(word: &str) -> Option<String> {
    if word == "-" {
        return Some(String::new());
    }
    let mut text = String::with_capacity(word.len());
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        text.push(match c {
            '\\' => match rest.next()? {
                's' => ' ',
                'n' => '\n',
                c @ ('-' | '\\') => c,
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}

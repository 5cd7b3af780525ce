//! From the records of a catalog to its members (RFC 9432 4).

use wire::iana::rtype;
use wire::name::LABEL_OCTETS_MAX;
use wire::{Name, NameBuf};

use super::broken::{Broken, Fault};
use super::claims::{Claims, NONE};
use super::owner::{Place, place};

/// The version that is known (RFC 9432 4.2.1), as RDATA of a TXT record.
pub(super) const VERSION: &[u8] = b"\x012";

/// One record of a catalog.
#[derive(Clone, Copy, Debug)]
pub(super) struct CatalogRecord<'r> {
    /// Labels of the owner above the apex, in wire form, without a root label, of any case.
    pub(super) owner: &'r [u8],
    pub(super) rtype: u16,
    /// Uncompressed.
    pub(super) rdata: &'r [u8],
}

/// A member as it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'m> {
    /// In lower case.
    pub(super) label: &'m [u8],
    pub(super) zone: &'m Name,
    pub(super) template: u16,
    /// A catalog that is known, or [`NONE`].
    pub(super) coo: u16,
}

/// Reads records whose members come one after the other, as they do in canonical order.
pub(super) struct Reader<'c> {
    claims: &'c Claims,
    catalog: u16,
    versions: Versions,
    label: [u8; LABEL_OCTETS_MAX],
    /// Octets of the label; 0: no member is open.
    label_octets: usize,
    zone: Option<NameBuf>,
    coo: Option<u16>,
    /// Place among the catalog's templates.
    group: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Versions {
    None,
    Known,
    Other,
    Several,
}

impl<'c> Reader<'c> {
    pub(super) fn new(claims: &'c Claims, catalog: u16) -> Reader<'c> {
        Reader {
            claims,
            catalog,
            versions: Versions::None,
            label: [0; LABEL_OCTETS_MAX],
            label_octets: 0,
            zone: None,
            coo: None,
            group: None,
        }
    }

    /// Whether records of this type and place mean anything.
    pub(super) fn wants(place: Place<'_>, rtype: u16) -> bool {
        match place {
            Place::Version | Place::Group(_) => rtype == rtype::TXT,
            Place::Member(_) | Place::Coo(_) => rtype == rtype::PTR,
            Place::Other => false,
        }
    }

    /// Takes a record; gives the member that ended before it to `to`.
    pub(super) fn record(
        &mut self,
        record: &CatalogRecord<'_>,
        to: &mut impl FnMut(&Member<'_>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let place = place(record.owner);
        if !Reader::wants(place, record.rtype) {
            return Ok(());
        }
        if let Some(label) = place.label()
            && !label.eq_ignore_ascii_case(&self.label[..self.label_octets])
        {
            self.end_member(to)?;
            self.label_octets = label.len();
            self.label[..label.len()].copy_from_slice(label);
            self.label.make_ascii_lowercase();
        }
        match place {
            Place::Version => self.take_version(record.rdata),
            Place::Group(_) => self.take_group(record.rdata),
            Place::Member(_) => {
                if self.zone.is_some() {
                    return Err(self.broken(Fault::Members, record.owner));
                }
                let zone = Name::from_wire(record.rdata);
                self.zone = Some(zone.map_err(|_| self.broken(Fault::NotName, record.owner))?.to_owned());
            }
            Place::Coo(_) => {
                if self.coo.is_some() {
                    return Err(self.broken(Fault::Coos, record.owner));
                }
                let name =
                    Name::from_wire(record.rdata).map_err(|_| self.broken(Fault::NotName, record.owner))?;
                let other = self.claims.catalog(name).filter(|other| other.0 != self.catalog);
                self.coo = Some(other.map_or(NONE, |other| other.0));
            }
            Place::Other => {}
        }
        Ok(())
    }

    /// The last member, and whether all of it is a catalog.
    pub(super) fn finish(
        mut self,
        to: &mut impl FnMut(&Member<'_>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        self.end_member(to)?;
        let fault = match self.versions {
            Versions::Known => return Ok(()),
            Versions::None => Fault::NoVersion,
            Versions::Several => Fault::Versions,
            Versions::Other => Fault::OtherVersion,
        };
        Err(self.broken(fault, b"\x07version"))
    }

    fn end_member(&mut self, to: &mut impl FnMut(&Member<'_>) -> Result<(), Broken>) -> Result<(), Broken> {
        let (zone, coo, group) = (self.zone.take(), self.coo.take(), self.group.take());
        let Some(zone) = zone else { return Ok(()) };
        let templates = &self.claims.catalogs[usize::from(self.catalog)].templates;
        to(&Member {
            label: &self.label[..self.label_octets],
            zone: &zone,
            template: templates.get(group.unwrap_or(0)).copied().unwrap_or(0),
            coo: coo.unwrap_or(NONE),
        })
    }

    fn take_version(&mut self, rdata: &[u8]) {
        self.versions = match self.versions {
            Versions::None if rdata == VERSION => Versions::Known,
            Versions::None => Versions::Other,
            _ => Versions::Several,
        };
    }

    /// Of groups that name templates the one that the settings list first counts. One string is a group, of several none is known.
    fn take_group(&mut self, rdata: &[u8]) {
        let Some((&length, group)) = rdata.split_first() else { return };
        let settings = self.claims.catalogs[usize::from(self.catalog)].settings.as_ref();
        let Some(settings) = settings.filter(|_| group.len() == usize::from(length)) else { return };
        let found = settings.templates.iter().position(|template| template.as_bytes() == group);
        self.group = match (self.group, found) {
            (Some(known), Some(found)) => Some(known.min(found)),
            (known, found) => known.or(found),
        };
    }

    pub(super) fn broken(&self, fault: Fault, owner: &[u8]) -> Broken {
        let apex = &self.claims.catalogs[usize::from(self.catalog)].zone;
        Broken::new(fault, &below(owner, apex))
    }
}

/// The name of these labels below `apex`; the apex, where that is none.
pub(super) fn below(labels: &[u8], apex: &Name) -> NameBuf {
    let octets = [labels, apex.octets()].concat();
    Name::from_wire(&octets).unwrap_or(apex).to_owned()
}

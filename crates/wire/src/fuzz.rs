//! The fuzzer's way into reader and builder: any octets as a message.

use crate::builder::{Builder, Case, Suffixes};
use crate::iana::rtype;
use crate::message::{BUDGET_AN_OCTET, BUDGET_AT_LEAST, Error, Message};
use crate::name::NAME_OCTETS_MAX;
use crate::{NameBuf, Places};

/// Octets that say how [`change`] changes a message: three a change.
pub const CHANGE_OCTETS: usize = 6;

/// Places of a message where something begins: names, heads and RDATA of records, names in RDATA.
fn begins(octets: &[u8]) -> Vec<usize> {
    let Ok(message) = Message::read(octets) else { return Vec::new() };
    let Ok(records) = message.records() else { return Vec::new() };
    let mut begins = vec![records.at()];
    for record in records.map_while(Result::ok) {
        let view = record.view;
        begins.extend([view.owner, view.rdata_at - 10, view.rdata_at - 2, view.rdata_at]);
        begins.extend(record.names().map_while(Result::ok).flat_map(|name| [name.at, name.end]));
    }
    begins
}

/// Puts a pointer, or one octet, at two of the places where something begins; nothing where all octets are zero.
pub fn change(octets: &mut [u8], changes: &[u8; CHANGE_OCTETS]) {
    for &[place, kind, value] in changes.as_chunks::<3>().0 {
        let begins = begins(octets);
        if [place, kind, value] == [0; 3] || begins.is_empty() {
            continue;
        }
        let at = begins[usize::from(place) * 7 % begins.len()] + usize::from(kind >> 6);
        let target = begins[usize::from(value) % begins.len()] as u16;
        match (kind & 3, octets.get_mut(at..)) {
            (0, Some([first, second, ..])) => [*first, *second] = (0xc000 | target).to_be_bytes(),
            (1, Some([first, second, ..])) => [*first, *second] = [0xc0 | kind >> 6, value],
            (_, Some([first, ..])) => *first = value,
            _ => {}
        }
    }
}

/// A record as it was read.
type Record = (NameBuf, u16, u16, u32, Vec<u8>);

/// All records, as far as they can be read, and why no further.
fn read(message: &Message<'_>) -> (Vec<Record>, Option<Error>) {
    let (mut name, mut buffer, mut places) = ([0; NAME_OCTETS_MAX], vec![0; 65_535], Places::new());
    let mut all = Vec::new();
    let mut read = || {
        for record in message.records()? {
            let record = record?;
            let mut names = record.names();
            while let Some(found) = names.next() {
                names.follow(&found?, &mut places)?;
                assert!(places.name_octets() <= NAME_OCTETS_MAX);
            }
            let rdata = record.rdata_uncompressed(&mut buffer)?;
            // Uncompressed, it still has the form of its type, and no pointers.
            if record.has_data() {
                crate::rdata::Names::of(record.view.rtype, rdata).for_each(|name| assert!(name.is_ok()));
            }
            let rdata = rdata.to_vec();
            let owner = record.owner_name(&mut name)?;
            assert!(crate::Name::from_wire(owner.octets()).is_ok());
            let view = record.view;
            all.push((owner.to_owned(), view.rtype, view.class, view.ttl, rdata));
        }
        Ok(())
    };
    let end = read().err();
    (all, end)
}

/// Reads `octets` as a message to the end, asks for everything until nothing more is given, and builds what was read again:
/// nothing panics, no work is unbounded, and what is built is read as what it was made of.
pub fn check_message(octets: &[u8]) {
    let Ok(message) = Message::read(octets) else { return };
    let (records, end) = read(&message);
    let budget = BUDGET_AN_OCTET * message.octets().len() as u32 + BUDGET_AT_LEAST;
    assert!(message.budget_left() <= budget && records.len() <= octets.len() / 11);
    if end.is_some() {
        return;
    }
    // What was read once is read a second time, as long as there is budget for it.
    let (again, end) = read(&message);
    assert!(matches!(end, None | Some(Error::Work(_))) && again[..] == records[..again.len()]);

    let mut built = vec![0; 65_535];
    let mut suffixes = Suffixes::new(u64::from(message.id()));
    let limits = (built.len(), 0);
    let mut builder = Builder::new(&mut built, limits, &mut suffixes, Case::Exact, message.id())
        .expect("room for a header");
    let mut count = 0;
    for (owner, rtype, class, ttl, rdata) in &records {
        // Without pointers of its own kind a message can be longer than messages can be.
        if builder.record(owner, (*rtype, *class, *ttl), rdata).is_err() {
            break;
        }
        count += 1;
    }
    let length = builder.finish(message.flags(), 0);
    let message = Message::read(&built[..length]).expect("a header with counts that are right");
    let (again, end) = read(&message);
    let is_dear = matches!(end, Some(Error::Work(_)));
    assert!(end.is_none() || is_dear, "{end:?} in {:02x?}", &built[..length]);
    assert!(is_dear || again.len() == count);
    for (one, other) in again.iter().zip(&records) {
        assert_eq!(one, other, "{}", rtype::Text(one.1));
    }
}

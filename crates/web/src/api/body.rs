//! Bodies: read as a whole, within a bound for each, one for each key and one for all; of strangers no more than their connections have room for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use tokio::time::timeout;

use super::refusal::Refusal;

/// The largest body, as PowerDNS has it.
pub(super) const BODY_OCTETS_MAX: usize = 2 << 20;

/// What is read before it is known whether the key is one: strangers have so much of each of their connections.
pub(super) const UNKNOWN_OCTETS_MAX: usize = 64 << 10;

/// Octets of all requests that are larger than that, as often as they are held, and of what dry runs of them say, at a time: the largest of two keys, and bodies of others.
pub(super) const ALL_OCTETS_MAX: usize = 8 * BODY_OCTETS_MAX;

/// How often RRsets are held until they are answered: as they are asked for, and as octets on their way to the server, whose memory may be twice what it has in it.
const SETS_TIMES: usize = 3;

/// The longest that a dry run says: with the RRsets that it is of as much as a key may have while it has nothing else.
pub(super) const DRY_OCTETS_MAX: usize = 2 * BODY_OCTETS_MAX;
const _: () = assert!(DRY_OCTETS_MAX + BODY_OCTETS_MAX <= ALL_OCTETS_MAX / 2);
const _: () = assert!(SETS_TIMES * BODY_OCTETS_MAX <= ALL_OCTETS_MAX / 2);

/// How long a body may take, and each 64 KiB of it.
const BODY_WAIT: Duration = Duration::from_secs(10);
const PART_WAIT: Duration = Duration::from_secs(1);

/// How long the body of a request is going to be.
pub(super) fn length(headers: &HeaderMap) -> Result<usize, Refusal> {
    let Some(length) = headers.get(CONTENT_LENGTH) else { return Ok(0) };
    let length = length.to_str().ok().and_then(|text| text.parse().ok());
    match length {
        Some(length) if length <= BODY_OCTETS_MAX => Ok(length),
        _ => Err(Refusal::new(413, format!("expected a body of at most {BODY_OCTETS_MAX} octets")).and_end()),
    }
}

/// What large requests have taken, by their keys: those that have something.
pub(super) type Rooms = RefCell<HashMap<Box<[u8]>, usize>>;

/// Octets that are counted among those of its key, and of all requests, as long as this lives.
pub(super) struct Room {
    rooms: Rc<Rooms>,
    key: Box<[u8]>,
    octets: usize,
}

impl Room {
    /// Room for a body of this length. `key`: that of the request; for more than strangers may have it is one that is known.
    pub(super) fn take(rooms: &Rc<Rooms>, key: &[u8], length: usize) -> Result<Room, Refusal> {
        let mut room = Room { rooms: Rc::clone(rooms), key: key.into(), octets: 0 };
        room.grow(length).map_err(Refusal::and_end)?;
        Ok(room)
    }

    /// Room for so much instead, if that is more.
    pub(super) fn grow(&mut self, octets: usize) -> Result<(), Refusal> {
        // Less is bounded by the connections.
        let counted = if octets > UNKNOWN_OCTETS_MAX { octets } else { 0 };
        let more = counted.saturating_sub(self.octets);
        if more == 0 {
            return Ok(());
        }
        let mut rooms = self.rooms.borrow_mut();
        let own = rooms.get(&self.key).copied().unwrap_or(0);
        let free = ALL_OCTETS_MAX.checked_sub(rooms.values().sum::<usize>() + more);
        // As places at the server: alone a key has half, and whatever others take, there is something for the next one.
        if free.is_none_or(|free| own > free) {
            return Err(Refusal::new(429, "other large requests are under way").again_in(1));
        }
        rooms.insert(self.key.clone(), own + more);
        self.octets += more;
        Ok(())
    }

    /// The same for RRsets of so many octets, which is what a body has become: of some types a few letters are 8 KiB.
    pub(super) fn grow_for_sets(&mut self, octets: usize) -> Result<(), Refusal> {
        if octets > UNKNOWN_OCTETS_MAX { self.grow(SETS_TIMES * octets) } else { Ok(()) }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut rooms = self.rooms.borrow_mut();
        let left = rooms.get(&self.key).map_or(0, |own| own - self.octets);
        match left {
            0 => rooms.remove(&self.key),
            left => rooms.insert(std::mem::take(&mut self.key), left),
        };
    }
}

/// Reads a body of this length.
pub(super) async fn read<B>(mut body: B, length: usize) -> Result<Vec<u8>, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut octets = Vec::with_capacity(length);
    let wait = BODY_WAIT + PART_WAIT * (length / UNKNOWN_OCTETS_MAX) as u32;
    let reading = async {
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let frame = frame.map_err(|_| Refusal::new(400, "the body has no end").and_end())?;
            if let Ok(data) = frame.into_data() {
                octets.extend_from_slice(&data);
            }
            if octets.len() > length {
                return Err(Refusal::new(413, "a body that is longer than it says").and_end());
            }
        }
        Ok(())
    };
    match timeout(wait, reading).await {
        Ok(read) => read.map(|()| octets),
        Err(_) => Err(Refusal::new(408, "the body does not come").and_end()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn lengths() {
        let of = |text: &str| {
            let headers: HeaderMap =
                [(CONTENT_LENGTH, HeaderValue::from_str(text).unwrap())].into_iter().collect();
            length(&headers).map_err(|refusal| refusal.response().status().as_u16())
        };
        assert_eq!(length(&HeaderMap::new()).ok(), Some(0));
        assert_eq!([of("0"), of(&BODY_OCTETS_MAX.to_string())], [Ok(0), Ok(BODY_OCTETS_MAX)]);
        assert_eq!(
            [of("x"), of(&(BODY_OCTETS_MAX + 1).to_string()), of("-1")],
            [Err(413), Err(413), Err(413)]
        );
    }

    /// As many bodies of the largest kind as a key finds room for.
    fn fill(rooms: &Rc<Rooms>, key: &[u8]) -> Vec<Room> {
        std::iter::from_fn(|| Room::take(rooms, key, BODY_OCTETS_MAX).ok()).collect()
    }

    fn taken(rooms: &Rooms) -> usize {
        rooms.borrow().values().sum()
    }

    /// What strangers may send is not counted: their connections are.
    #[test]
    fn rooms() {
        let rooms = Rc::default();
        let mut small = Room::take(&rooms, b"a", UNKNOWN_OCTETS_MAX).unwrap();
        assert!(small.grow_for_sets(UNKNOWN_OCTETS_MAX).is_ok() && rooms.borrow().is_empty());
        let large = fill(&rooms, b"a");
        assert!(Room::take(&rooms, b"a", BODY_OCTETS_MAX).is_err() && Room::take(&rooms, b"a", 1).is_ok());
        assert!(small.grow(BODY_OCTETS_MAX).is_err());
        drop(large);
        // What a dry run says counts as it grows, until it is told.
        assert!(small.grow(UNKNOWN_OCTETS_MAX + 1).is_ok() && small.grow(UNKNOWN_OCTETS_MAX + 5).is_ok());
        assert_eq!(taken(&rooms), UNKNOWN_OCTETS_MAX + 5);
        drop(small);
        assert!(rooms.borrow().is_empty());
    }

    /// Who takes all that it can leaves half, and who does so after it something.
    #[test]
    fn no_key_has_all_room() {
        let rooms = Rc::default();
        let held: Vec<Vec<Room>> = [b"a", b"b", b"c", b"d"].iter().map(|key| fill(&rooms, *key)).collect();
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2, 1, 1]);
        assert!(fill(&rooms, b"e").is_empty());
        drop(held);
        assert!(rooms.borrow().is_empty());
    }

    /// What counts is what a body becomes, as often as that is held, whatever its own length.
    #[test]
    fn sets_count_as_they_are_held() {
        let rooms = Rc::default();
        let take = |key: &[u8]| Room::take(&rooms, key, 8_500).unwrap();
        let (mut one, mut two, mut other) = (take(b"a"), take(b"a"), take(b"b"));
        assert!(one.grow_for_sets(BODY_OCTETS_MAX).is_ok());
        assert_eq!(taken(&rooms), SETS_TIMES * BODY_OCTETS_MAX);
        assert!(two.grow_for_sets(BODY_OCTETS_MAX).is_err() && other.grow_for_sets(BODY_OCTETS_MAX).is_ok());
        // The longest dry run of a key that has nothing else has room to its end.
        drop((one, two, other));
        let mut lone = take(b"a");
        let mut told = (0..=DRY_OCTETS_MAX).step_by(UNKNOWN_OCTETS_MAX);
        assert!(told.all(|octets| lone.grow(BODY_OCTETS_MAX + octets).is_ok()));
    }
}

//! Bodies: read as a whole, within a bound for each and one for all, and those of strangers not at all.

use std::cell::Cell;
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

/// Octets of all requests that are larger than that, and of what dry runs of them say, at a time.
pub(super) const ALL_OCTETS_MAX: usize = 4 * BODY_OCTETS_MAX;

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

/// Octets that are counted among those of all requests as long as this lives.
pub(super) struct Room {
    all: Rc<Cell<usize>>,
    octets: usize,
}

impl Room {
    /// Room for a body of this length.
    pub(super) fn take(all: &Rc<Cell<usize>>, length: usize) -> Result<Room, Refusal> {
        let mut room = Room { all: Rc::clone(all), octets: 0 };
        room.grow(length).map_err(Refusal::and_end)?;
        Ok(room)
    }

    /// Room for so much instead, if that is more.
    pub(super) fn grow(&mut self, octets: usize) -> Result<(), Refusal> {
        // Less is bounded by the connections.
        let counted = if octets > UNKNOWN_OCTETS_MAX { octets } else { 0 };
        let more = counted.saturating_sub(self.octets);
        if self.all.get() + more > ALL_OCTETS_MAX {
            return Err(Refusal::new(429, "other large requests are under way").again_in(1));
        }
        self.all.set(self.all.get() + more);
        self.octets += more;
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.octets);
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

    /// What strangers may send is not counted: their connections are.
    #[test]
    fn rooms() {
        let all = Rc::new(Cell::new(0));
        let mut small = Room::take(&all, UNKNOWN_OCTETS_MAX).ok().unwrap();
        assert_eq!(all.get(), 0);
        let large: Vec<Room> = (0..4).map(|_| Room::take(&all, BODY_OCTETS_MAX).ok().unwrap()).collect();
        assert!(Room::take(&all, UNKNOWN_OCTETS_MAX + 1).is_err() && Room::take(&all, 1).is_ok());
        assert!(small.grow(UNKNOWN_OCTETS_MAX + 1).is_err());
        drop(large);
        // What a dry run says counts as it grows, until it is told.
        assert!(small.grow(UNKNOWN_OCTETS_MAX + 1).is_ok() && small.grow(UNKNOWN_OCTETS_MAX + 5).is_ok());
        assert_eq!(all.get(), UNKNOWN_OCTETS_MAX + 5);
        drop(small);
        assert_eq!(all.get(), 0);
    }
}

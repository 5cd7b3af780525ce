//! The fuzzer's way in: any octets as what comes over a pair, of a feeder that was taken over.

use super::{Frame, HEAD_OCTETS, REST_OCTETS_MAX};

/// Reads all frames of some octets, until what is no frame. What must hold: no frame has more octets than there are, or than may be; what is written of one is one frame, and
/// reads as what it was, but for words that are cut off, which are so at once and then stay.
pub fn check_frames(octets: &[u8]) {
    let mut rest = octets;
    while let Ok(Some((frame, length))) = Frame::read(rest) {
        assert!((HEAD_OCTETS..=HEAD_OCTETS + REST_OCTETS_MAX).contains(&length), "{length}");
        assert!(Frame::is_there(rest) && !Frame::is_there(&rest[..length - 1]));
        rest = &rest[length..];
        let again = once_more(&frame);
        assert_eq!(once_more(&again), again);
        let has_words = matches!(
            frame,
            Frame::Opened { .. }
                | Frame::Away(_)
                | Frame::Notices(Some(_))
                | Frame::Unfit(..)
                | Frame::Without(..)
                | Frame::Misnamed(..)
                | Frame::Write(_)
                | Frame::Unwritten(..)
        );
        assert!(again == frame || has_words, "{frame:?} is {again:?}");
    }
}

fn once_more(frame: &Frame) -> Frame {
    let mut octets = Vec::new();
    frame.write(&mut octets);
    let (read, length) = Frame::read(&octets).expect("a frame").expect("all of it");
    assert_eq!(length, octets.len());
    read
}

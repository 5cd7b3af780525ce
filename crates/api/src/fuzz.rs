//! The fuzzer's way in: any octets as what a child says, as what a server says.

use crate::frame::{Answer, Frame, Item, Piece, Run, Said};

/// What the first octet chooses is tried with the others. What is read is written as the same octets.
pub fn fuzz_api(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    match choice % 2 {
        0 => frames(data, said),
        _ => frames(data, answer),
    }
}

fn frames(mut octets: &[u8], check: impl Fn(Frame<'_>, &[u8])) {
    while let Ok(Some((frame, length))) = Frame::read(octets) {
        check(frame, &octets[..length]);
        octets = &octets[length..];
    }
}

fn said(frame: Frame<'_>, octets: &[u8]) {
    if let Ok(said) = Said::of(&frame) {
        let mut again = Vec::new();
        assert!(said.write(frame.ask, &mut again) && again == octets, "another frame: {said:?}");
    }
}

fn answer(frame: Frame<'_>, octets: &[u8]) {
    let Ok(answer) = Answer::of(&frame) else { return };
    let mut again = Vec::new();
    assert!(answer.write(frame.ask, &mut again) && again == octets, "another frame: {answer:?}");
    if let Answer::Piece(piece) = answer {
        match piece {
            Piece::Verbs(run) => items(run),
            Piece::Rows(run) => items(run),
            Piece::Sets(run) => items(run),
            Piece::Found(run) => items(run),
            Piece::Numbers(run) => items(run),
            Piece::Keys(run) => items(run),
            Piece::Versions(run) => items(run),
            Piece::Outcomes(run) => items(run),
            Piece::Faults(run) => items(run),
            Piece::Rules(run) => items(run),
        }
    }
}

/// Each item is written as its octets.
fn items<'a, T: Item<'a>>(run: Run<'a, T>) {
    let mut again = Vec::new();
    run.iter().for_each(|item| item.write(&mut again));
    assert!(again == run.octets(), "another run");
}

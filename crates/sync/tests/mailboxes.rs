//! Mailboxes among real threads: order, ends, and no lost wake-up.

use std::sync::Arc;
use std::thread;

use sync::{Mailbox, Wake};

#[test]
fn what_comes_first_is_taken_first_and_nothing_after_the_end() {
    let mailbox = Mailbox::new();
    assert!(mailbox.is_empty() && mailbox.take().next().is_none());
    (0..5).for_each(|number| assert_eq!(mailbox.push(number), Ok(Wake::Awake)));
    assert!(!mailbox.is_empty());
    let mut taken = mailbox.take();
    assert_eq!((taken.next(), mailbox.is_empty()), (Some(0), true));
    assert_eq!(mailbox.push(5), Ok(Wake::Awake));
    assert_eq!(taken.collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(mailbox.close().collect::<Vec<_>>(), [5]);
    assert_eq!((mailbox.push(6), mailbox.is_empty()), (Err(6), true));
    assert!(mailbox.take().next().is_none() && mailbox.close().next().is_none());
    assert_eq!(mailbox.push(7), Err(7));
}

#[test]
fn the_owner_is_woken_by_everybody_while_it_sleeps() {
    let mailbox = Mailbox::new();
    assert!(mailbox.prepare_to_sleep());
    assert_eq!((mailbox.push(1), mailbox.push(2)), (Ok(Wake::Needed), Ok(Wake::Needed)));
    mailbox.awake();
    assert_eq!(mailbox.push(3), Ok(Wake::Awake));
    assert!(!mailbox.prepare_to_sleep(), "something is there");
    assert_eq!(mailbox.push(4), Ok(Wake::Awake));
    assert_eq!(mailbox.take().count(), 4);
}

#[test]
fn nothing_is_kept_of_what_was_not_taken() {
    let (mailbox, value) = (Mailbox::new(), Arc::new(()));
    let push = || assert!(mailbox.push(Arc::clone(&value)).is_ok());
    (0..4).for_each(|_| push());
    drop(mailbox.take().next());
    assert_eq!(Arc::strong_count(&value), 1);
    (0..4).for_each(|_| push());
    drop(mailbox);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// An owner that sleeps until it is unparked: were a wake-up lost, this would not end.
#[test]
fn all_arrives_in_order_from_each_and_wakes_the_owner() {
    const PUSHERS: usize = 4;
    const EACH: usize = 50_000;
    let mailbox = Mailbox::new();
    let owner = thread::current();
    thread::scope(|scope| {
        for pusher in 0..PUSHERS {
            let (mailbox, owner) = (&mailbox, owner.clone());
            scope.spawn(move || {
                for number in 0..EACH {
                    if mailbox.push((pusher, Box::new(number))) == Ok(Wake::Needed) {
                        owner.unpark();
                    }
                    // Now and then a while, so that the owner comes to sleep.
                    if number % 100 == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        let (mut next, mut sleeps) = ([0; PUSHERS], 0);
        while next != [EACH; PUSHERS] {
            for (pusher, number) in mailbox.take() {
                assert_eq!(*number, next[pusher], "of pusher {pusher}");
                next[pusher] += 1;
            }
            if next != [EACH; PUSHERS] && mailbox.prepare_to_sleep() {
                thread::park();
                mailbox.awake();
                sleeps += 1;
            }
        }
        println!("the owner slept {sleeps} times");
    });
}

//! What was found out of a text and cannot be written down, as on a full disk.

use super::*;

/// A text that nobody edited is not said to be edited, at a start and at a reload; one that was is said so, and taken once there is room.
#[test]
fn a_text_that_says_the_same_needs_no_note() {
    let bed = Bed::new();
    let server = bed.start();
    done(&server, "a.test.", "update add new.a.test. 60 A 192.0.2.9");
    kill(server);
    // As if there were no room for what is known of texts: a file is where its folder would be. And the text is touched, so that it is read.
    assert!(!bed.path("packs/texts").exists());
    bed.write("packs/texts", "");
    std::thread::sleep(Duration::from_millis(30));
    bed.write("a", ZONE);
    let server = bed.start();
    let is_as_it_was = |server: &Server| {
        assert_eq!((serial(server, "a.test."), address(server, "new.a.test.")), (2, Some([192, 0, 2, 9])));
        let log = server.log();
        assert!(!log.contains(" ERROR ") && !log.contains("was edited"), "{log}");
    };
    is_as_it_was(&server);
    assert!(
        server.log().contains("its text, which says what it said, is read once more"),
        "{}",
        server.log()
    );
    assert!(told(&server, &["reload", "--force", "a.test."]).contains("1 unchanged"));
    is_as_it_was(&server);
    bed.write("a", &ZONE.replace("www A 192.0.2.2\n", "hand A 192.0.2.3\n"));
    refused(&server, &["reload", "a.test."], "was edited, and the zone has been changed by updates since");
    assert_eq!(address(&server, "hand.a.test."), None);
    // There is room again.
    std::fs::remove_file(bed.path("packs/texts")).expect("a file");
    assert!(told(&server, &["reload", "a.test."]).contains("1 zone loaded"));
    let check = |server: &Server| {
        assert_eq!(address(server, "hand.a.test."), Some([192, 0, 2, 3]));
        assert_eq!(address(server, "new.a.test."), Some([192, 0, 2, 9]));
    };
    check(&server);
    kill(server);
    check(&bed.start());
}

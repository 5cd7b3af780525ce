//! Case: ignored in comparison, kept in the question.

use zonda_tests::message::Query;
use zonda_tests::name::Name;
use zonda_tests::rtype;

use crate::kit::{corners, rcode, udp};

#[test]
fn case_makes_no_difference_to_what_is_found() {
    for name in
        ["WWW.CORNERS.TEST.", "wWw.cOrNeRs.TeSt.", "upper.case.corners.test.", "UPPER.CASE.corners.test."]
    {
        let qtype = if name.len() < 20 { rtype::A } else { rtype::TXT };
        let response = udp(corners(), &Query::new(name, qtype));
        assert_eq!(response.rcode(), rcode::NOERROR, "{name}");
        assert!(!response.answer.is_empty(), "{name}");
    }
}

#[test]
fn the_question_comes_back_octet_by_octet() {
    for name in ["wWw.cOrNeRs.TeSt.", "AbSeNt.CoRnErS.tEsT.", "X.cUt.CoRnErS.tEsT.", "nOt.OuRs.ExAmPlE."] {
        let response = udp(corners(), &Query::new(name, rtype::A));
        assert_eq!(response.questions, [(Name::parse(name), rtype::A, 1)]);
    }
}

#[test]
fn only_ascii_letters_have_case() {
    // Octets that differ by 0x20 but are no letters are different names.
    for (there, absent) in [("\\000", "\\032"), ("-", "\\013"), ("_", "\\127")] {
        let found = udp(corners(), &Query::new(&format!("{there}.corners.test."), rtype::A));
        assert!(!found.answer.is_empty(), "{there}");
        let other = udp(corners(), &Query::new(&format!("{absent}.corners.test."), rtype::A));
        assert!(other.answer.is_empty(), "{absent} was taken for {there}");
    }
}

//! Response reordering: large and small answers on one connection.

use std::collections::BTreeMap;
use std::io::Write;

use zonda_tests::exchange::{read_framed, tcp_stream, write_framed};
use zonda_tests::message::Query;
use zonda_tests::response::Response;
use zonda_tests::rtype;

use crate::kit::corners;

#[test]
fn each_answer_is_to_its_own_query() {
    let names =
        ["t60000.big.test.", "t200.big.test.", "t30000.big.test.", "absent.big.test.", "t9000.big.test."];
    let mut octets = Vec::new();
    for (id, name) in names.iter().cycle().take(40).enumerate() {
        let query = Query::new(name, rtype::TXT).id(id as u16);
        write_framed(&mut octets, &query.octets()).expect("a vector grows");
    }
    let mut stream = tcp_stream(corners().address).expect("a connection");
    stream.write_all(&octets).expect("queries");
    let mut answers = BTreeMap::new();
    for _ in 0..40 {
        let message = read_framed(&mut stream).expect("an answer");
        let response = Response::parse(&message).expect("a sound answer");
        answers.insert(response.id, response.questions[0].0.lower().to_string());
    }
    for (id, name) in names.iter().cycle().take(40).enumerate() {
        assert_eq!(answers.get(&(id as u16)).map(String::as_str), Some(*name));
    }
}

//! What an event leaves to be sent leaves in this order: replies to clients, then questions to other servers.
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use crate::common::{PATIENCE, address, local};
use net::{Driver, Need, Queries, Server, Service, Ticket};

/// Asks first and replies then, in the event of the query or in that of a timer.
struct Asker {
    /// Who is asked: the client itself, whose socket shows what came first.
    server: SocketAddr,
    waits: Option<Ticket>,
}

impl Asker {
    fn ask_and_reply(&mut self, ticket: Ticket, driver: &mut Driver<'_, ()>) {
        driver.ask(self.server, b"question", Need::Any).unwrap();
        let reply = driver.reply(ticket, |room| {
            room[..5].copy_from_slice(b"reply");
            5
        });
        reply.unwrap();
    }
}

impl Service for Asker {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, ()>) {
        while let Some(mut item) = queries.next() {
            let (is_at_once, ticket) = (item.query == b"at once", item.later(driver, 0, true).unwrap());
            if is_at_once {
                self.ask_and_reply(ticket, driver);
            } else {
                self.waits = Some(ticket);
                driver.set_timer_in(Duration::from_millis(1), 0).unwrap();
            }
        }
    }

    fn timer(&mut self, _: u64, driver: &mut Driver<'_, ()>) {
        if let Some(ticket) = self.waits.take() {
            self.ask_and_reply(ticket, driver);
        }
    }
}

#[test]
fn replies_leave_before_questions() {
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let server = client.local_addr().unwrap();
    let running = Server::bind(&local()).unwrap().start(move |_| Asker { server, waits: None }).unwrap();
    let mut room = [0; 16];
    let mut receive = || {
        let octets = client.recv(&mut room).unwrap();
        room[..octets].to_vec()
    };
    for query in [&b"at once"[..], b"by a timer"].repeat(20) {
        client.send_to(query, address(&running)).unwrap();
        assert_eq!((receive(), receive()), (b"reply".to_vec(), b"question".to_vec()), "{query:?}");
    }
}

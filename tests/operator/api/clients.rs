//! Clients of others, as they are, over TLS: octoDNS and lego run; of those that no package here has, what their sources send is sent, and what these read is looked for.

mod acme;
mod lego;
mod octodns;
mod sources;

use super::secure::{Authority, bed};
use super::{Bed, Fixture, new_key};

/// A server whose key `client` may change all of `a.test.`.
pub struct Served {
    pub authority: Authority,
    pub bed: Bed,
    pub secret: String,
}

impl Served {
    pub fn new() -> Served {
        let authority = Authority::new();
        let mut bed = bed(&authority);
        let secret = add_client(&mut bed);
        Served { authority, bed, secret }
    }

    /// The file of who is to be believed, as programs are told it.
    pub fn ca(&self) -> String {
        self.authority.path("ca.pem").display().to_string()
    }
}

/// Adds the key `client`; its secret.
pub fn add_client(bed: &mut Bed) -> String {
    let (hash, secret) = new_key("client");
    bed.keys += &format!(
        "\n[[api-key]]\nname = \"client\"\nhash = {hash}\nverbs = [\"read\", \"change\"]\nzones = \"a.test.\"\nrules = \"grant zonesub ANY\"\n"
    );
    secret
}

/// What is served of a name: records of a type.
fn count(fixture: &Fixture<'_>, name: &str, rtype: u16) -> usize {
    use zonda_tests::exchange::{Transport, ask};
    use zonda_tests::message::Query;
    ask(fixture.server.address, Transport::Tcp, &Query::new(name, rtype)).answer.len()
}

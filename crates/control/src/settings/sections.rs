//! Every setting: name, kind, default, when a change takes effect, and what it does.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use change::{Limits, SerialStyle};
use journal::history::BOUND_OCTETS_MIN;
use transfer::refresh::Bounds;
use wire::NameBuf;

use super::declare::section;
use super::update::IxfrRules;
use super::value::{Names, Pinning, Range, Secret};
use crate::findings::{Digest, Refuse};

/// Port of the addresses that are listened on unless others are set: one that needs no rights.
const PORT_UNSET: u16 = 5300;

/// Loopback only: whoever wants to be asked from elsewhere says where.
fn listen_default() -> Vec<SocketAddr> {
    vec![(Ipv4Addr::LOCALHOST, PORT_UNSET).into(), (Ipv6Addr::LOCALHOST, PORT_UNSET).into()]
}

section! {
    /// The server as a whole: where it listens, with how many workers, what it says about itself.
    pub struct ServerSettings in "server" {
        /// Addresses to listen on, each for UDP and TCP. Without a port it is 53.
        listen: Vec<SocketAddr> = listen_default(), Range::Any, start;
        /// Threads that answer, each with sockets of its own; 0 means one for each processor.
        workers: usize = 0, Range::Number("workers", 0, net::WORKERS_MAX as u64), start;
        /// Whether each worker stays on one processor, or the list of processors for them.
        pin: Pinning = Pinning::Switch(true), Range::Any, start;
        /// How a packet finds its worker: by a hash of its addresses, or by the processor that received it
        /// (for network cards with a queue for each processor; needs `pin`).
        steer: String = "hash".into(), Range::OneOf(&["hash", "cpu"]), start;
        /// How datagrams are received and sent: in batches (`mmsg`) or one by one (`portable`, which cannot listen
        /// on all addresses at once, `0.0.0.0` or `::`).
        backend: String = "mmsg".into(), Range::OneOf(&["mmsg", "portable"]), start;
        /// Room for datagrams that wait to be answered, for each socket. Too small loses bursts.
        receive_buffer_octets: usize = 4 << 20, Range::Number("octets", 4096, 1 << 30), start;
        /// Room for answers that wait to be sent, for each socket.
        send_buffer_octets: usize = 1 << 20, Range::Number("octets", 4096, 1 << 30), start;
        /// Whether addresses may be listened on that no interface has yet.
        free_bind: bool = false, Range::Any, start;
        /// User to become once all addresses are bound; empty: stay.
        user: String = String::new(), Range::Any, start;
        /// Group to become; empty: that of `user`, without which there can be none.
        group: String = String::new(), Range::Any, start;
        /// Identifier of this server for queries that ask for it with EDNS (NSID, RFC 5001); empty: none.
        /// Text, or octets in hexadecimal after `0x`.
        nsid: String = String::new(), Range::Any, live;
        /// Answer to `version.bind` and `version.server` in class CH; empty: such queries are refused.
        version: String = String::new(), Range::Any, live;
        /// Answer to `hostname.bind` in class CH; empty: refused.
        hostname: String = String::new(), Range::Any, live;
        /// Answer to `id.server` in class CH (RFC 4892); empty: refused.
        id_server: String = String::new(), Range::Any, live;
        /// Whether answers leave out records that are merely helpful, such as the addresses of mail servers.
        minimal_responses: bool = false, Range::Any, live;
        /// Whether an alias (CNAME, DNAME) from one zone into another of this server is followed there (RFC 1034 4.3.2); otherwise the answer
        /// ends with the alias, and the client asks for the rest. Access lists of the other zone hold in either case.
        aliases_across_zones: bool = true, Range::Any, live;
        /// Whether answers given before are kept to be given again; otherwise each is made anew from its zone. Without, answers are the same and cost
        /// more: it is there to measure how much, and to rule kept answers out where something is looked for.
        keep_answers: bool = true, Range::Any, live;
        /// Whether queries of type ANY over TCP get all records of the name instead of one set (RFC 8482).
        full_any_over_tcp: bool = false, Range::Any, live;
        /// Longest answer over UDP for clients that allow as much (EDNS). 1232 fits every path without
        /// fragments.
        udp_payload_octets: u16 = 1232, Range::Number("octets", 512, net::UDP_RESPONSE_OCTETS_MAX as u64), live;
        /// Folder where zones are kept as packs, ready to be served: the next start takes milliseconds.
        /// Empty: none, zones are read from text at each start.
        pack_directory: PathBuf = PathBuf::new(), Range::Any, start;
        /// Most octets of the log in which changes of zones are kept until they are elsewhere (folder `journal` in `pack-directory`). The more, the seldomer
        /// that is done, and the longer a start reads.
        journal_octets: u64 = 256 << 20, Range::Number("octets", 24 << 20, 64 << 30), start;
        /// How much of a zone has to have changed, in hundredths of what it takes as a pack and at least 4 MiB, until it is stored anew in the background. The
        /// more, the seldomer that is done, and the more memory changes take; from half of the zone on its updates wait, each up to a second. A zone may be
        /// stored sooner for other reasons, as when the log is to be shortened or nothing has changed for long.
        merge_percent: u8 = 5, Range::Number("hundredths", 1, 100), start;
        /// How many zones may have changed in place and not be stored anew since: each takes some kilobytes beside what changed. With more, those that have been quiet
        /// longest are stored, until half as many are left; a zone that is stored with all its changes is at rest again, and takes nothing beside its pack.
        changed_zones: usize = 16_384, Range::Number("zones", 64, 100_000), start;
        /// Whether a start answers at once from the zones that `pack-directory` has, as they were stored, and looks at lists and
        /// files after that: what has changed meanwhile follows as soon as it is loaded, and what is broken stays as it was.
        /// Otherwise lists and files come first, and zones that have changed get SERVFAIL until they are loaded.
        serve_stored: bool = true, Range::Any, start;
        /// From which severity on what is wrong with a zone keeps it from being loaded: it is then what one with a broken file is, `stale` or `absent`. What
        /// cannot be served at all (`fatal`) is never loaded; with `error` a zone that `zonda check-zone --level quick` finds errors in, with `warning` also one
        /// with warnings. Holds for what is read from then on; `zonda ctl reload --force` reads all.
        refuse: String = "fatal".into(), Range::OneOf(Refuse::WORDS), live;
        /// How many days before the signatures of a zone expire it is warned of that, as of a re-signing that has stopped; 0: only when they have.
        warn_expiry_days: u16 = 3, Range::Number("days", 0, 365), live;
        /// Whether it is counted who takes which lock and who waits, which `zonda ctl locks` shows, and the log at the
        /// end. Costs two looks at the clock for each lock taken; queries take none.
        profile_locks: bool = false, Range::Any, live;
    }
}

section! {
    /// Limits of TCP (RFC 7766, RFC 9210).
    pub struct TcpSettings in "tcp" {
        /// Connections open at a time; at the limit the one idle longest makes room.
        connections: usize = 1000, Range::Number("connections", 1, 10_000_000), live;
        /// Connections of one client network at a time; 0: no limit.
        connections_per_prefix: usize = 100, Range::Number("connections", 0, 10_000_000), live;
        /// Length of the prefix that makes an IPv4 client network.
        prefix_v4: u8 = 32, Range::Number("bits", 0, 32), live;
        /// Length of the prefix that makes an IPv6 client network.
        prefix_v6: u8 = 56, Range::Number("bits", 0, 128), live;
        /// How long a connection may go without completing a query or reading its answers.
        idle_seconds: Duration = Duration::from_secs(10), Range::Number("seconds", 1, 86_400), live;
        /// How long a connection may exist.
        lifetime_seconds: Duration = Duration::from_secs(3600), Range::Number("seconds", 1, 604_800), live;
        /// Queries on one connection; 0: no limit.
        queries: u64 = 0, Range::Number("queries", 0, u64::MAX), live;
        /// Connections that may bring a query in their first packet before they are confirmed (TCP Fast
        /// Open); 0: none may.
        fast_open: u16 = 256, Range::Number("connections", 0, 65_535), start;
    }
}

section! {
    /// DNS cookies (RFC 7873, RFC 9018), by which a client shows over UDP that it receives at its address.
    pub struct CookieSettings in "cookies" {
        /// Whether clients that send a cookie get one of ours.
        enabled: bool = true, Range::Any, live;
        /// File with one to three secrets, 32 hexadecimal digits a line: the first makes cookies, all verify. Servers
        /// that answer at one address share it. Empty: one is drawn at each start.
        secret_file: PathBuf = PathBuf::new(), Range::Any, live;
        /// Whether queries over UDP with a cookie, but without a good one of ours, are answered with BADCOOKIE and a new
        /// one instead of data.
        demand: bool = false, Range::Any, live;
    }
}

/// Times of zones: less than a year and a half, so that no sum of some overflows.
const SECONDS: Range = Range::Number("seconds", 1, 50_000_000);

/// A limit that can be counted.
const PER_SECOND: Range = Range::Number("answers a second", 0, auth::rate::Limits::PER_SECOND_MAX as u64);

/// What a rule is written as.
const RULE: &str = "\"all\", \"nobody\", \"local\" or the name of an [[acl]]";

section! {
    /// Which clients may make requests, by kind. Of several lists one that lets a client in is enough. What zones say for themselves
    /// (`allow-query` and the like) goes before.
    pub struct AccessSettings in "access" {
        /// Ordinary queries; also those in class CH.
        query: Names = Names::one("all"), Range::Texts(RULE), live;
        /// Transfers of zones (AXFR, IXFR).
        transfer: Names = Names::one("nobody"), Range::Texts(RULE), live;
        /// Dynamic updates (RFC 2136). Zones must not be changed by whoever can forge an address: use lists with `keys`.
        update: Names = Names::one("nobody"), Range::Texts(RULE), live;
        /// Notices that a zone has changed. A primary of the zone may send them without.
        notify: Names = Names::one("nobody"), Range::Texts(RULE), live;
        /// Queries about names that are in none of the zones here (`[resolver]`), whatever is known of them. `local` is this machine and the networks that it is
        /// in, as they are when the settings are read.
        recursion: Names = Names::one("local"), Range::Texts(RULE), live;
    }
}

section! {
    /// A list of clients, for `[access]` and zones to name. A client is in it if all that the list says fits.
    pub struct AclSettings in "acl" {
        /// Its name: any but `all`, `local` and `nobody`.
        name: String = String::new(), Range::Any, live;
        /// Addresses and prefixes. `!` before one excludes it. Of those that cover an address the longest prefix decides, whatever
        /// their order; an address that none covers is not in the list. Empty: any address.
        addresses: Names = Names::default(), Range::TextsOrNone(
            "an address or prefix such as \"192.0.2.1\", \"2001:db8::/32\" or \"!192.0.2.0/24\""
        ), live;
        /// Keys of which one must have signed the request (TSIG). Empty: it may be signed or not.
        keys: Names = Names::default(), Range::TextsOrNone("the name of a [[key]]"), live;
        /// How the request must have come: `udp`, `tcp`, `tls`, `https`, `quic`. Empty: any way.
        transports: Names = Names::default(), Range::TextsOrNone("a transport such as \"tcp\""), live;
        /// Whether the client must have shown that it receives at its address: by TCP, or over UDP by a good DNS cookie. One that has not
        /// is told to come again, with the cookie that it gets or over TCP.
        proved: bool = false, Range::Any, live;
    }
}

/// What `algorithm` of a key may be.
const ALGORITHMS: &[&str] = &[
    "hmac-sha256",
    "hmac-sha512",
    "hmac-sha384",
    "hmac-sha224",
    "hmac-sha1",
    "hmac-md5",
    "hmac-sha256-128",
    "hmac-sha384-192",
    "hmac-sha512-256",
];

section! {
    /// A key that this server and others share, by which they know each other's messages (TSIG, RFC 8945). Lists of clients name it (`keys` in `[[acl]]`). Its
    /// name and algorithm must be the same on both ends.
    pub struct KeySettings in "key" {
        /// Its name, a domain name.
        name: Option<NameBuf> = None, Range::Any, live;
        /// How messages are signed. `hmac-md5` and `hmac-sha1` are for others that have nothing better.
        algorithm: String = "hmac-sha256".into(), Range::OneOf(ALGORITHMS), live;
        /// The secret in base64, as `tsig-keygen` and `keymgr -t` make it. Whoever can read this file has it.
        secret: Secret = Secret::default(), Range::Any, live;
        /// Instead: a file that has it, on one line; `#` begins a comment. Nobody but its owner and group may have any rights to it.
        secret_file: PathBuf = PathBuf::new(), Range::Any, live;
    }
}

section! {
    /// Who may change what by dynamic updates (RFC 2136), for zones to name. Which addresses and keys may send updates at all is for `update` in `[access]`,
    /// which comes before.
    pub struct UpdatePolicySettings in "update-policy" {
        /// Its name.
        name: String = String::new(), Range::Any, live;
        /// Rules, of which the first that fits decides; what none fits is refused. Each is `grant` or `deny`; then the name of a key (TSIG, SIG(0)), `*.` and a
        /// name for all keys below it, `api:` and the name of an `[[api-key]]`, or `*` for everybody; then which names: `name` and a name, `subdomain` and a name for it and all below,
        /// `wildcard` and `*.` and a name for all below, `label` and the first labels of the names that are meant, such as `_acme-challenge`, `zonesub` for all of the zone, `self`, `selfsub` and `selfwild` for the name of the key, with what is
        /// below, and only that, or `tcp-self` for the name of the client's address in in-addr.arpa or ip6.arpa; then types, or `ANY` for all. Without types: all but
        /// SOA, NS, DNAME, DS, DNSKEY, CDS, CDNSKEY, CSYNC, NSEC, NSEC3, NSEC3PARAM and RRSIG.
        rules: Names = Names::default(), Range::TextsOrNone("a rule such as \"grant dhcp-key. subdomain dyn.example. A AAAA DHCID\""), live;
    }
}

section! {
    /// Another server that this one speaks to of itself.
    pub struct RemoteSettings in "remote" {
        /// The name that zones call it by.
        name: String = String::new(), Range::Any, live;
        /// Where it is; without a port it is 53. Of several the next one is tried each time.
        addresses: Vec<SocketAddr> = Vec::new(), Range::Any, live;
        /// The `[[key]]` that signs messages to it. Empty: they are not signed.
        key: String = String::new(), Range::Any, live;
        /// The address that messages to it come from. Empty: the one that the system takes.
        source: String = String::new(), Range::Any, live;
    }
}

section! {
    /// Response rate limiting: how often clients over UDP get answers that have not shown that they receive where they say they are, so that nobody
    /// can have answers sent to others in numbers. Clients over TCP and those with a good DNS cookie are never limited. Each limit is divided by the
    /// number of workers, rounded up; 0 is no limit.
    pub struct RateLimitSettings in "rate-limit" {
        /// Whether anybody is limited.
        enabled: bool = false, Range::Any, live;
        /// Whether it is only counted and said who would be limited, and everybody answered all the same.
        log_only: bool = false, Range::Any, live;
        /// How often a second a network gets the same answer: data by name and type, referrals by zone cut; answers without data, name errors and data
        /// from wildcards by zone; errors.
        responses_per_second: u32 = 20, PER_SECOND, live;
        /// How many answers a second a network gets.
        network_per_second: u32 = 500, PER_SECOND, live;
        /// How many times as many the wider network gets that it is in.
        wide_multiple: u32 = 4, Range::Number("", 0, 65_535), live;
        /// How many answers a second of one kind (data, data from wildcards, referrals, without data, name errors, errors) all limited clients get together. It
        /// keeps a flood with addresses from everywhere small, and lets it stop all resolvers without cookies: set it to some times of what
        /// `zonda ctl stats` shows in a busy second, or leave it off.
        total_per_second: u32 = 0, Range::Number("answers a second", 0, auth::rate::Limits::TOTAL_MAX as u64), live;
        /// How much of what is beyond a limit is answered without records, by TC or BADCOOKIE, so that clients that are there come again over TCP or
        /// with a cookie: of so many octets one, of queries as long as their answers each so-manieth. 0: nothing. With 1 and 2 half of the octets
        /// of a flood or more leave again.
        slip: u32 = 3, Range::Number("", 0, 1000), live;
        /// Length of the prefix that makes an IPv4 network.
        prefix_v4: u8 = 24, Range::Number("bits", 1, 32), live;
        /// Length of the prefix that makes an IPv6 network.
        prefix_v6: u8 = 56, Range::Number("bits", 1, 64), live;
        /// Length of the prefix that makes a wider IPv4 network.
        wide_prefix_v4: u8 = 16, Range::Number("bits", 1, 32), live;
        /// Length of the prefix that makes a wider IPv6 network.
        wide_prefix_v6: u8 = 32, Range::Number("bits", 1, 64), live;
        /// Clients that are never limited: by address, which anybody can pretend to have.
        exempt: Names = Names::default(), Range::TextsOrNone(RULE), live;
        /// Memory for counting, of each worker; the next lower power of two is taken. Each 20,000 answers a second of all clients want 64 KiB.
        table_octets: usize = 1 << 20, Range::Number("octets", auth::rate::Limits::TABLE_OCTETS_MIN as u64, 1 << 30), live;
    }
}

section! {
    /// Zones that are transferred from other servers (`primaries` in `[[zone]]`): between what the times of their SOA records are kept, and how much is done at once.
    pub struct SecondarySettings in "secondary" {
        /// The shortest time from one check of a zone to the next.
        refresh_min_seconds: u32 = Bounds::default().refresh.0, SECONDS, start;
        /// The longest.
        refresh_max_seconds: u32 = Bounds::default().refresh.1, SECONDS, start;
        /// The shortest time from a check in vain to the next.
        retry_min_seconds: u32 = Bounds::default().retry.0, SECONDS, start;
        /// The longest.
        retry_max_seconds: u32 = Bounds::default().retry.1, SECONDS, start;
        /// How long a zone may be served at most without a sign from a primary that it is current, whatever its SOA record says.
        expire_max_seconds: u32 = Bounds::default().expire_max, SECONDS, start;
        /// Transfers at once.
        transfers: u16 = 32, Range::Number("transfers", 1, 256), start;
        /// Transfers at once from one address.
        transfers_per_primary: u16 = 8, Range::Number("transfers", 1, 256), start;
        /// Most octets of the messages of one transfer: a zone is as large as this at most. Who is secondary for small zones of others sets less.
        transfer_octets_max: u64 = 16 << 30, Range::Number("octets", 65_536, 1 << 40), start;
        /// Most octets of memory that transfers take while they are under way, all together; half of it is for one large zone at a time, when it is complete.
        /// 0: half of the machine's, or of the control group's.
        transfer_memory_octets: u64 = 0, Range::Number("octets", 0, 1 << 44), start;
        /// Most octets of files that hold what comes of large zones, of all transfers and stores together. 0: half of what is free in `pack-directory`, or in the folder for
        /// temporary files, at the first transfer.
        transfer_disk_octets: u64 = 0, Range::Number("octets", 0, 1 << 44), start;
        /// Whether what comes is kept on the disk (`pack-directory`): whole zones in packs, differences in the log of changes, each before it is shown. Otherwise it
        /// is in memory alone: nothing waits for the disk, and after a start zones get SERVFAIL until they are transferred anew. Holds for what comes from then on.
        persist: bool = true, Range::Any, live;
    }
}

section! {
    /// The socket of `zonda ctl`.
    pub struct ControlSettings in "control" {
        /// Path of the socket. Empty: `/run/zonda/control.sock` for root, else `zonda/control.sock` in the
        /// user's run-time folder (`XDG_RUNTIME_DIR`), else none.
        socket: PathBuf = PathBuf::new(), Range::Any, start;
        /// Group whose members may use it; empty: only root and the server's user.
        group: String = String::new(), Range::Any, start;
    }
}

section! {
    /// The log, which goes to standard error.
    pub struct LogSettings in "log" {
        /// Least important messages that are written. `zonda ctl log-level` changes it until the next start.
        level: String = "info".into(), Range::OneOf(&crate::log::LEVELS), live;
        /// Lines for people (`text`) or objects for programs (`json`).
        format: String = "text".into(), Range::OneOf(&["text", "json"]), start;
    }
}

/// Octets that wait for a collector or a disk.
const QUEUE_OCTETS: Range = Range::Number("octets", 1 << 20, 16 << 30);

/// Octets of a file of frames or lines.
const FILE_OCTETS: Range = Range::Number("octets", 1 << 20, 1 << 44);

/// One query in so many.
const ONE_IN: Range = Range::Number("", 1, sync::tap::ONE_IN_MAX as u64);

section! {
    /// A copy of queries and responses for collectors (dnstap). No query waits for it: what a collector does not take in time is dropped and counted (`zonda ctl stats`).
    pub struct DnstapSettings in "dnstap" {
        /// Where it goes, in Frame Streams: `unix:PATH`, a socket that a collector listens on; `tcp:ADDRESS:PORT`, the same elsewhere; `file:PATH`, a new file for each
        /// start, before which one that is there is named PATH.1, and so on. Empty: nowhere.
        output: String = String::new(), Range::Any, live;
        /// Which messages: `auth-query` and `auth-response`, of zones of this server; `client-query` and `client-response`, of queries to the resolver, which have RD; `resolver-query` and
        /// `resolver-response`, of what the resolver asks other servers, or `forwarder-query` and `forwarder-response` where that has RD; `update-query` and `update-response`. Empty: all.
        messages: Names = Names::default(), Range::TextsOrNone("a kind of message such as \"auth-response\""), live;
        /// Name of this server in each message. Empty: none.
        identity: String = String::new(), Range::Any, live;
        /// Version of this server in each message. Empty: none.
        version: String = String::new(), Range::Any, live;
        /// One query in so many, drawn by chance, with its response, and as many of the questions to other servers.
        one_in: u32 = 1, ONE_IN, live;
        /// Whether addresses of clients are cut to their network, /24 of IPv4 and /48 of IPv6. What EDNS says of clients stays as it is in the messages.
        mask: bool = false, Range::Any, live;
        /// Whether `tcp:` may lead to another machine: anybody on the way can read along.
        clear_text: bool = false, Range::Any, live;
        /// Octets of what a worker tells, until they are read; each takes as much while there is an `output` here or in `[query-log]`. A million answers a second of 1,300 octets
        /// fill the default in three milliseconds.
        ring_octets: usize = 4 << 20, Range::Number("octets", 1 << 16, 1 << 30), start;
        /// Most octets that wait for the collector or the disk.
        queue_octets: usize = 64 << 20, QUEUE_OCTETS, live;
        /// Octets of a file, after which the next is begun.
        file_octets_max: u64 = 1 << 30, FILE_OCTETS, live;
        /// Files in all; the oldest go.
        files_max: u32 = 10, Range::Number("files", 1, 1000), live;
        /// Room on the disk of files below which nothing is written to them: it may be the disk that changes of zones are synced to.
        free_octets_min: u64 = 1 << 30, Range::Number("octets", 0, 1 << 44), live;
    }
}

section! {
    /// A line for each query: who asked for what, and what came of it. No query waits for it, as for `[dnstap]`.
    pub struct QueryLogSettings in "query-log" {
        /// Where lines go: `file:PATH`, to the end of it, and to a new one once it is renamed or removed; `unix:PATH`, a socket that takes datagrams, each a line. Empty: nowhere.
        output: String = String::new(), Range::Any, live;
        /// Lines for people (`text`) or objects for programs (`json`).
        format: String = "text".into(), Range::OneOf(&["text", "json"]), live;
        /// One query in so many, drawn by chance.
        one_in: u32 = 1, ONE_IN, live;
        /// Only queries for names at and below these. Empty: for all.
        zones: Names = Names::default(), Range::TextsOrNone("a domain name"), live;
        /// Only queries that get one of these response codes, such as `NXDOMAIN`, or `dropped` (none), `stream` (a transfer) or `gone` (the client was). Empty: all.
        rcodes: Names = Names::default(), Range::TextsOrNone("a response code such as \"NXDOMAIN\""), live;
        /// Most octets that wait for the disk or the socket.
        queue_octets: usize = 64 << 20, QUEUE_OCTETS, live;
        /// Octets of a file, after which it is named PATH.1, and so on, and a new one is begun.
        file_octets_max: u64 = 1 << 30, FILE_OCTETS, live;
        /// Files in all; the oldest go.
        files_max: u32 = 10, Range::Number("files", 1, 1000), live;
        /// Room on the disk of files below which nothing is written to them.
        free_octets_min: u64 = 1 << 30, Range::Number("octets", 0, 1 << 44), live;
    }
}

section! {
    /// One zone, or one for each name of a list. The path may hold `{name}`: the zone's name, lower-case and
    /// without the dot at its end (the root is `@`, a slash in a name is written `\047`); and `{1}`, `{2}`
    /// and `{3}`: the first characters of that, `_` where it is shorter.
    pub struct ZoneSettings in "zone" {
        /// The zone's name.
        name: Option<NameBuf> = None, Range::Any, live;
        /// Instead of a name: a file of names, one a line; `#` begins a comment.
        names_file: PathBuf = PathBuf::new(), Range::Any, live;
        /// Its text (master file, RFC 1035 5).
        file: PathBuf = PathBuf::new(), Range::Any, live;
        /// Instead of text: a pack made by `zonda compile`.
        pack: PathBuf = PathBuf::new(), Range::Any, live;
        /// Instead of either: the servers that the zone is transferred from, in the order in which they are asked (AXFR, IXFR). This server is a secondary of it then.
        primaries: Names = Names::default(), Range::TextsOrNone("the name of a [[remote]]"), live;
        /// Whether what comes from `primaries` is kept on the disk, instead of `persist` in `[secondary]`. Left out: that.
        persist: Option<bool> = None, Range::Any, live;
        /// Whether the zone is a copy for `[resolver]` alone, a local root (RFC 8806) for one: clients are not answered from it, but by the resolver, which takes from it what it would else
        /// ask the zone's servers for, and validates that. Where the zone is missing or has expired those are asked. BIND's `type mirror`, Unbound's `auth-zone` with `for-downstream: no`.
        mirror: bool = false, Range::Any, live;
        /// What becomes of the digest of the zone in its ZONEMD record (RFC 8976) when it is read or transferred: `ignore`; `verify`, so that a zone with a wrong one is not
        /// taken, and the one before stays; `require`, so that one without is not taken either. Where a trust anchor of the resolver is of this very zone, as that of the root is, its SOA and ZONEMD records have to
        /// be signed by a key that it leads to as well, and that there is no ZONEMD record has to be proved. What has changed (IXFR) is verified
        /// before it is served, for which all of the zone is read; with `require`, what is stored is verified at a start, unless it was when it was stored. Left out: `verify` for mirrors, else `ignore`.
        zonemd: String = String::new(), Range::OneOf(Digest::WORDS), live;
        /// Which clients may query the zone, instead of those that `query` in `[access]` lets in. Left out: those.
        allow_query: Names = Names::default(), Range::Texts(RULE), live;
        /// Which clients may have the zone transferred (AXFR, IXFR), instead of those that `transfer` in `[access]` lets in. Left out: those.
        allow_transfer: Names = Names::default(), Range::Texts(RULE), live;
        /// Which clients may change the zone by dynamic updates, instead of those that `update` in `[access]` lets in. Left out: those.
        allow_update: Names = Names::default(), Range::Texts(RULE), live;
        /// Whether updates of a zone with `primaries` are sent on to the first of these that answers (RFC 2136 6), if `allow-update` lets them in; what that says goes
        /// back to the client. Signatures stay as they are, for the primary to judge: keys that this server knows it looks at, too; with others a client is let in by its address.
        forward_updates: bool = false, Range::Any, live;
        /// Which clients may say that the zone has changed, instead of those that `notify` in `[access]` lets in. Left out: those.
        allow_notify: Names = Names::default(), Range::Texts(RULE), live;
        /// Which other servers are told of a new serial of the zone (NOTIFY, RFC 1996), at once and again until they answer. What they may get is another matter: `allow-transfer`.
        notify: Names = Names::default(), Range::TextsOrNone("the name of a [[remote]]"), live;
        /// From which severity on what is wrong keeps one of these zones from being loaded, instead of `refuse` in `[server]`. Left out: that.
        refuse: String = String::new(), Range::OneOf(Refuse::WORDS), live;
        /// The `[[update-policy]]` that says who may change what. Left out: whoever `update` in `[access]` lets in may change all.
        update_policy: String = String::new(), Range::Any, live;
        /// What comes after a serial where an update does not bring one: one more (`increment`), the seconds since 1970 (`unixtime`), or year, month, day and two
        /// digits (`date`); one more where that is not greater.
        serial: SerialStyle = SerialStyle::Increment, Range::Any, live;
        /// When texts are written of zones that updates have changed: `never` but by `zonda ctl sync` and `freeze`, or when the server stops (`stop`). Comments, order and `$INCLUDE`s
        /// of the text are gone then; one with `$INCLUDE`s is left as it is. Nothing is lost without it.
        write_text: String = "never".into(), Range::OneOf(crate::settings::WRITE_TEXT), live;
        /// How many records updates may make an RRset have. One that has more already may shrink.
        records_per_rrset: u32 = Limits::default().records_per_rrset, Range::Number("records", 1, 8000), live;
        /// How many records updates may make a name have, signatures not counted.
        records_per_name: u32 = Limits::default().records_per_name, Range::Number("records", 1, 1_000_000), live;
        /// Most octets of what led from version to version of a zone, kept so that other servers get differences (IXFR); between half of it and all is there. No
        /// more than twice what the zone has, as longer differences are sent as the whole zone; 64 KiB at the least.
        ixfr_octets: u64 = IxfrRules::default().octets, Range::Number("octets", BOUND_OCTETS_MIN, 1 << 40), live;
        /// Most versions of the same.
        ixfr_versions: u32 = IxfrRules::default().versions, Range::Number("versions", 2, 65_536), live;
        /// Whether servers that are several versions behind get one difference, without what came and went between, where that has half of the octets at most
        /// (RFC 1995 5). They do not have the versions in between then, for which servers below them may ask.
        ixfr_condense: bool = IxfrRules::default().condense, Range::Any, live;
        /// The catalog zone that lists the zone for others (RFC 9432): one that is made here, see `make-catalog`. Left out: none does.
        catalog: Option<NameBuf> = None, Range::Any, live;
        /// The groups that the zone has in that catalog: what they mean those say who take the catalog.
        group: Names = Names::default(), Range::TextsOrNone("a group, of at most 255 octets"), live;
        /// The catalog that may take the zone over from that one.
        coo: Option<NameBuf> = None, Range::Any, live;
        /// Instead of `file`, `pack` or `primaries`: the zone is a catalog of the zones that name it in `catalog`. Left out, `allow-query` is what `allow-transfer` is.
        make_catalog: bool = false, Range::Any, live;
    }
}

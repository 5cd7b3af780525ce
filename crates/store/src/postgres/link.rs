//! A connection: statements one after the other, each within a limit of time.
//!
//! The client is one of a runtime, which runs only while a statement is waited for. The server is told the limit as well, and ends what takes longer; where no
//! word comes from it either, the connection is given up.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::io::Cursor;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use feed::address::Tls;
use futures_util::{SinkExt, StreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, CopyInSink, Error, NoTls, Row, RowStream, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::target::{CONNECT_MAX, Target};
use super::tls;
use crate::fault::Fault;

/// What a server that ends a statement may take to say so.
const GRACE: Duration = Duration::from_secs(5);

/// How often who waits is asked whether to go on.
const BEAT: Duration = Duration::from_secs(1);

/// Called while statements are at work: whether to go on.
pub type Beat = Box<dyn FnMut() -> bool + Send>;

/// How long a lock is waited for, as a writer of SQLite waits.
const LOCK_WAIT: Duration = crate::sqlite::open::WAIT_MAX;

/// Rows of one statement that are in memory: all of most, as a record has some hundred octets, and not ten thousand of 660,000.
const OCTETS_WAITING: usize = 16 << 20;

/// Rows that are taken from the connection at once.
const ROWS_TAKEN: usize = 32;

pub(super) type Parameters<'p> = &'p [&'p (dyn ToSql + Sync)];

pub(super) struct Link {
    // Before the runtime, whose it is.
    client: Client,
    /// Of the host that let us in.
    config: Config,
    tls: Option<MakeRustlsConnect>,
    runtime: Runtime,
    limit: Duration,
    /// Whether it was given up: nothing is waited for again.
    is_given_up: Cell<bool>,
    beat: RefCell<Beat>,
    /// Statements that the server has parsed, by their text.
    statements: RefCell<HashMap<&'static str, Statement>>,
}

impl Link {
    /// Connects. `limit`: for each statement.
    pub(super) fn open(target: &Target, limit: Duration, mut beat: Beat) -> Result<Link, Fault> {
        let away = |error: std::io::Error| Fault::File("start a client", error);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(away)?;
        let has_tls = target.tls != Tls::Disable;
        let tls = has_tls.then(|| tls::connector(target.tls, &target.roots)).transpose()?;
        let (client, config) = connect_to_any(&runtime, target, tls.as_ref(), &mut beat)?;
        let link = Link {
            client,
            config,
            tls,
            runtime,
            limit,
            is_given_up: Cell::new(false),
            beat: RefCell::new(beat),
            statements: RefCell::default(),
        };
        link.batch(&format!(
            "SET statement_timeout = {}; SET lock_timeout = {}; SET client_min_messages = error;
             SET search_path = pg_catalog, pg_temp; SET jit = off; SET DateStyle = ISO; SET TimeZone = 'UTC'",
            limit.as_millis(),
            LOCK_WAIT.min(limit).as_millis(),
        ))?;
        Ok(link)
    }

    /// By what another connection to the same host is made.
    pub(super) fn other(&self) -> (Config, Option<MakeRustlsConnect>) {
        (self.config.clone(), self.tls.clone())
    }

    /// Has something be at work while anything is waited for.
    pub(super) fn spawn(&self, act: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.runtime.spawn(act)
    }

    /// Waits for something that asks nothing.
    pub(super) fn run<T>(&self, act: impl Future<Output = T>) -> T {
        self.runtime.block_on(act)
    }

    fn wait<T>(&self, act: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        let limit = self.limit + GRACE;
        let silent = || Fault::Away(format!("no word from the server for {} s", limit.as_secs()));
        if self.is_given_up.get() {
            return Err(silent());
        }
        let done = within(&self.runtime, limit, &mut *self.beat.borrow_mut(), act);
        Ok(done.map_err(|late| {
            self.is_given_up.set(true);
            match late {
                Late::Silent => silent(),
                Late::Unwanted => unwanted(),
            }
        })??)
    }

    /// Statements without parameters; rows are of no use.
    pub(super) fn batch(&self, sql: &str) -> Result<(), Fault> {
        self.wait(self.client.batch_execute(sql))
    }

    /// A transaction that begins so, around what is done.
    pub(super) fn within<T, E: From<Fault>>(
        &self,
        begin: &str,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let done = self.batch(begin).map_err(E::from).and_then(|()| act());
        match done {
            Ok(_) => self.batch("COMMIT")?,
            // If that fails the connection is of no use, and its end is the end of the transaction.
            Err(_) => drop(self.batch("ROLLBACK")),
        }
        done
    }

    pub(super) fn query(&self, sql: &'static str, parameters: Parameters<'_>) -> Result<Vec<Row>, Fault> {
        let statement = self.prepared(sql)?;
        self.wait(self.client.query(&statement, parameters))
    }

    /// One that is made at run time, and not kept.
    pub(super) fn query_once(&self, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, Fault> {
        self.wait(self.client.query(sql, parameters))
    }

    /// Hands over rows of a statement without parameters once it has ended, so that nothing that takes them counts as its time; those of more than
    /// [`OCTETS_WAITING`] while the server waits. What takes them asks nothing else by this connection. How many it was.
    pub(super) fn each<E: From<Fault>>(
        &self,
        sql: &str,
        act: &mut impl FnMut(&Row) -> Result<(), E>,
    ) -> Result<usize, E> {
        let rows = self.wait(self.client.query_raw(sql, std::iter::empty::<&(dyn ToSql + Sync)>()))?;
        self.hand_over(rows, act)
    }

    /// The same of one that is kept, with parameters.
    pub(super) fn each_of<E: From<Fault>>(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
        act: &mut impl FnMut(&Row) -> Result<(), E>,
    ) -> Result<usize, E> {
        let statement = self.prepared(sql)?;
        let rows = self.wait(self.client.query_raw(&statement, parameters.iter().copied()))?;
        self.hand_over(rows, act)
    }

    fn hand_over<E: From<Fault>>(
        &self,
        rows: RowStream,
        act: &mut impl FnMut(&Row) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut rows = Box::pin(rows.ready_chunks(ROWS_TAKEN));
        let (mut waiting, mut octets, mut count) = (Vec::new(), 0, 0);
        while let Some(taken) = self.wait(async { Ok(rows.next().await) })? {
            for row in taken {
                let row = row.map_err(Fault::from)?;
                octets += row.raw_size_bytes();
                count += 1;
                waiting.push(row);
            }
            if octets > OCTETS_WAITING {
                waiting.drain(..).try_for_each(|row| act(&row))?;
                octets = 0;
            }
        }
        waiting.iter().try_for_each(act)?;
        Ok(count)
    }

    pub(super) fn query_opt(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, parameters)?.into_iter().next())
    }

    /// How many rows it was.
    pub(super) fn execute(&self, sql: &'static str, parameters: Parameters<'_>) -> Result<u64, Fault> {
        let statement = self.prepared(sql)?;
        self.wait(self.client.execute(&statement, parameters))
    }

    fn prepared(&self, sql: &'static str) -> Result<Statement, Fault> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(self.client.prepare(sql))?;
        self.statements.borrow_mut().insert(sql, statement.clone());
        Ok(statement)
    }

    /// Begins to copy rows in.
    pub(super) fn copy(&self, sql: &str) -> Result<Copying<'_>, Fault> {
        let sink = self.wait(self.client.copy_in(sql))?;
        Ok(Copying { link: self, sink: Box::pin(sink), buffer: Vec::with_capacity(COPIED_OCTETS) })
    }
}

/// Why something was not waited for to its end.
enum Late {
    /// It took too long.
    Silent,
    /// Nobody waits for it any more.
    Unwanted,
}

fn unwanted() -> Fault {
    Fault::Away("nobody waits for it any more".into())
}

/// Waits for something, and asks now and then whether to go on with that.
fn within<T>(
    runtime: &Runtime,
    limit: Duration,
    beat: &mut (dyn FnMut() -> bool + Send),
    act: impl Future<Output = T>,
) -> Result<T, Late> {
    runtime.block_on(async {
        let (until, mut act) = (Instant::now() + limit, pin!(act));
        loop {
            if !beat() {
                return Err(Late::Unwanted);
            }
            let left = until.saturating_duration_since(Instant::now());
            match timeout(left.min(BEAT), act.as_mut()).await {
                Ok(done) => return Ok(done),
                Err(_) if left <= BEAT => return Err(Late::Silent),
                Err(_) => {}
            }
        }
    })
}

/// The first of the hosts that lets us in, each within its time: one that takes a connection and says nothing holds up no other.
fn connect_to_any(
    runtime: &Runtime,
    target: &Target,
    tls: Option<&MakeRustlsConnect>,
    beat: &mut (dyn FnMut() -> bool + Send),
) -> Result<(Client, Config), Fault> {
    let mut fault = Fault::Address("expected a host, found none".into());
    for config in target.each_host() {
        fault = match within(runtime, CONNECT_MAX, beat, connect(&config, tls.cloned())) {
            Ok(Ok(client)) => return Ok((client, config)),
            Ok(Err(error)) => error.into(),
            Err(Late::Silent) => Fault::Away(format!("no word from it for {} s", CONNECT_MAX.as_secs())),
            Err(Late::Unwanted) => return Err(unwanted()),
        };
    }
    Err(fault)
}

/// A client, whose connection is at work whenever the runtime is. What it ends by is known by the statements that fail.
async fn connect(config: &Config, tls: Option<MakeRustlsConnect>) -> Result<Client, Error> {
    match tls {
        Some(tls) => {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(async move { drop(connection.await) });
            Ok(client)
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(async move { drop(connection.await) });
            Ok(client)
        }
    }
}

/// Octets that are sent at once.
const COPIED_OCTETS: usize = 64 << 10;

/// Rows on their way into a table. Dropped, nothing has come.
pub(super) struct Copying<'l> {
    link: &'l Link,
    sink: Pin<Box<CopyInSink<Cursor<Vec<u8>>>>>,
    buffer: Vec<u8>,
}

impl Copying<'_> {
    /// Adds a row of these columns, which have neither tabs nor ends of lines.
    pub(super) fn push(&mut self, columns: &[&str]) -> Result<(), Fault> {
        for (number, column) in columns.iter().enumerate() {
            if number > 0 {
                self.buffer.push(b'\t');
            }
            for octet in column.bytes() {
                debug_assert!((b' '..=b'~').contains(&octet), "rows are of printable ASCII");
                if octet == b'\\' {
                    self.buffer.push(b'\\');
                }
                self.buffer.push(octet);
            }
        }
        self.buffer.push(b'\n');
        if self.buffer.len() < COPIED_OCTETS { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<(), Fault> {
        let rows = std::mem::replace(&mut self.buffer, Vec::with_capacity(COPIED_OCTETS));
        self.link.wait(self.sink.send(Cursor::new(rows)))
    }

    /// Waits until all rows are there; how many.
    pub(super) fn finish(mut self) -> Result<u64, Fault> {
        self.send()?;
        self.link.wait(self.sink.as_mut().finish())
    }
}

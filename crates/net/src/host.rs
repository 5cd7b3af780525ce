//! The service of a worker, called so that its panics stay its own.
//!
//! Each event is one call, and each call is guarded: what `net` itself keeps is never left half changed by a panic of the
//! service. The value that panicked is replaced before the next event.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::Arc;

use crate::driver::{Core, Driver};
use crate::later::Open;
use crate::queries::{Batch, Queries};
use crate::service::Service;
use crate::stream::Streams;
use crate::token::ConnectionId;

/// Makes the service of a worker, by the worker's number.
pub(crate) type Factory<S> = Arc<dyn Fn(usize) -> S + Send + Sync>;

/// The service panicked; what it was called for is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panicked;

/// How a batch fared: how many items the service was offered, and how many octets of a shared area their responses take.
pub(crate) type Offered = (usize, usize);

/// What connections see of a worker's service and of what is kept for it.
pub(crate) trait Serve {
    /// Has a batch answered.
    fn serve(&mut self, batch: Batch<'_>) -> Result<Offered, Panicked>;

    /// What connection `index` has open.
    fn open(&self, index: u32) -> Open;

    /// A connection is closed: what it had open is gone.
    fn closed(&mut self, id: ConnectionId);

    /// A stream of connection `index` is over.
    fn stream_ended(&mut self, index: u32);

    fn streams(&mut self) -> &mut Streams;
}

/// The service and what is kept for it.
pub(crate) struct Host<S: Service> {
    worker: usize,
    service: S,
    factory: Factory<S>,
    pub(crate) core: Core<S::Message>,
    /// Whether the service has panicked and is not replaced yet.
    has_panicked: bool,
}

impl<S: Service> Host<S> {
    pub(crate) fn new(worker: usize, service: S, factory: Factory<S>, core: Core<S::Message>) -> Self {
        Self { worker, service, factory, core, has_panicked: false }
    }

    /// Calls the service.
    #[inline]
    pub(crate) fn call<R>(
        &mut self,
        event: impl FnOnce(&mut S, &mut Driver<'_, S::Message>) -> R,
    ) -> Result<R, Panicked> {
        if self.has_panicked {
            return Err(Panicked);
        }
        let (service, mut driver) = (&mut self.service, Driver::new(&mut self.core));
        // What a panic leaves in the service is dropped with it; the driver changes its state in steps that do not
        // panic.
        catch_unwind(AssertUnwindSafe(|| event(service, &mut driver))).map_err(|_| {
            self.has_panicked = true;
            Panicked
        })
    }

    /// Whether the service has panicked and is not replaced yet.
    #[inline]
    pub(crate) fn has_panicked(&self) -> bool {
        self.has_panicked
    }

    /// Replaces a service that panicked. Aborts the process if that panics too: a worker without a service would leave
    /// its share of the clients in the dark.
    pub(crate) fn restart(&mut self) {
        let made = catch_unwind(AssertUnwindSafe(|| self.service = (self.factory)(self.worker)));
        if made.is_err() {
            let worker = self.worker;
            tracing::error!(
                worker,
                "worker {worker}: the service panicked, and making a new one too: giving up"
            );
            process::abort();
        }
        self.has_panicked = false;
        self.core.timers.clear();
        self.core.upstream.close_all();
        self.core.gone.clear();
        self.core.again = false;
    }
}

impl<S: Service> Serve for Host<S> {
    #[inline]
    fn serve(&mut self, batch: Batch<'_>) -> Result<Offered, Panicked> {
        let mut queries = Queries::new(batch);
        self.core.tap.begin(queries.len());
        let outcome = self.call(|service, driver| service.queries(&mut queries, driver));
        if outcome.is_err() {
            self.core.counters.queries_lost.add(queries.lose() as u64);
        }
        self.core.tap.end(&queries);
        outcome.map(|()| queries.offered())
    }

    fn open(&self, index: u32) -> Open {
        self.core.later.open(index)
    }

    fn closed(&mut self, id: ConnectionId) {
        let open = self.core.later.open(id.index);
        if open.streams > 0 {
            self.core.starts.retain(|start| start.connection != id);
            self.core.streams.abandon(id);
        }
        if open.is_any() {
            self.core.abandon(id.index);
        }
    }

    fn stream_ended(&mut self, index: u32) {
        let open = self.core.later.open_mut(index);
        open.streams = open.streams.saturating_sub(1);
    }

    fn streams(&mut self) -> &mut Streams {
        &mut self.core.streams
    }
}

/// What unit tests answer with: a function for each item, and nothing later.
#[cfg(test)]
pub(crate) struct Simple<F> {
    answer: F,
    streams: Streams,
}

#[cfg(test)]
impl<F: FnMut(crate::Item<'_>)> Simple<F> {
    pub(crate) fn new(answer: F) -> Self {
        Self { answer, streams: Streams::default() }
    }
}

#[cfg(test)]
impl<F: FnMut(crate::Item<'_>)> Serve for Simple<F> {
    fn serve(&mut self, batch: Batch<'_>) -> Result<Offered, Panicked> {
        let mut queries = Queries::new(batch);
        while let Some(item) = queries.next() {
            (self.answer)(item);
        }
        Ok(queries.offered())
    }

    fn open(&self, _: u32) -> Open {
        Open::default()
    }

    fn closed(&mut self, _: ConnectionId) {}

    fn stream_ended(&mut self, _: u32) {}

    fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }
}

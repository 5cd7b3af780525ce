//! Connections of one worker. (Accepting follows; the listeners are closed meanwhile.)
#![allow(clippy::unused_self)]

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::epoll::EventFlags;

use crate::admit::Admission;
use crate::bind::TcpPort;
use crate::counters::Counters;
use crate::handler::Handler;
use crate::token::Place;

pub(crate) struct Streams;

impl Streams {
    pub(crate) fn new(listeners: Vec<TcpPort>, admission: Arc<Admission>) -> Self {
        drop((listeners, admission));
        Self
    }
    pub(crate) fn accept(&mut self, _: usize, _: Instant, _: &OwnedFd, _: &Counters) {}
    pub(crate) fn turn<H: Handler>(
        &mut self,
        _: Place,
        _: EventFlags,
        _: Instant,
        _: &OwnedFd,
        _: &mut H,
        _: &Counters,
    ) {
    }
    pub(crate) fn expire(&mut self, _: Instant, _: &OwnedFd, _: &Counters) {}
    pub(crate) fn close_all(&mut self, _: &Counters) {}
    pub(crate) fn finish(&mut self, _: &OwnedFd, _: &Counters) {}
    pub(crate) fn has_unsent(&self) -> bool {
        false
    }
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        None
    }
}

//! The line to the server, as who pushes zones sees it.

use std::io;

use feed::frame::Frame;
use feed::pair::Together;

/// Takes what is said to the server.
pub(crate) trait Line {
    /// Says a frame: at once, or with those that come next.
    fn say(&mut self, frame: Frame) -> io::Result<()>;

    /// What was said is to be on its way, as what comes next may take its time.
    fn end(&mut self) -> io::Result<()>;
}

impl Line for Together<'_> {
    fn say(&mut self, frame: Frame) -> io::Result<()> {
        Together::say(self, &frame)
    }

    fn end(&mut self) -> io::Result<()> {
        Together::end(self)
    }
}

/// Who looks at what is said.
#[cfg(test)]
impl<F: FnMut(Frame) -> io::Result<()>> Line for F {
    fn say(&mut self, frame: Frame) -> io::Result<()> {
        self(frame)
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

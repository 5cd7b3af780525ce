//! Telling somebody once what became of something: also where whoever has it gives it up, or ends.

/// Why something came to nothing; one of these stands for its having been given up.
pub(crate) trait WhyNot {
    /// That one.
    const GIVEN_UP: Self;
}

/// Called once; dropped, it says that it was given up.
pub(crate) struct Once<E: WhyNot>(Option<Tell<E>>);

/// What is called.
type Tell<E> = Box<dyn FnOnce(Result<(), E>) + Send>;

impl<E: WhyNot> Once<E> {
    pub(crate) fn new(tell: impl FnOnce(Result<(), E>) + Send + 'static) -> Once<E> {
        Once(Some(Box::new(tell)))
    }

    pub(super) fn tell(mut self, result: Result<(), E>) {
        if let Some(tell) = self.0.take() {
            tell(result);
        }
    }
}

impl<E: WhyNot> Drop for Once<E> {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(E::GIVEN_UP));
        }
    }
}

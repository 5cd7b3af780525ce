//! Telling somebody once what became of something: also where whoever has it gives it up, or ends.

/// Why something came to nothing; one of these stands for its having been given up.
pub(crate) trait WhyNot {
    /// That one.
    const GIVEN_UP: Self;
}

/// Called once; dropped, it says that it was given up.
pub(crate) struct Once<E: WhyNot, T = ()>(Option<Tell<E, T>>);

/// What is called.
type Tell<E, T> = Box<dyn FnOnce(Result<T, E>) + Send>;

impl<E: WhyNot, T> Once<E, T> {
    pub(crate) fn new(tell: impl FnOnce(Result<T, E>) + Send + 'static) -> Once<E, T> {
        Once(Some(Box::new(tell)))
    }

    pub(crate) fn tell(mut self, result: Result<T, E>) {
        if let Some(tell) = self.0.take() {
            tell(result);
        }
    }
}

impl<E: WhyNot, T> Drop for Once<E, T> {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err(E::GIVEN_UP));
        }
    }
}

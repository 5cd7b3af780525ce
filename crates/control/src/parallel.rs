//! The same work for many items on several threads.

use std::panic::resume_unwind;

/// Fewer items than this are not worth a thread.
const ITEMS_A_THREAD_MIN: usize = 64;

/// Does `work` for each of `items` on up to `threads` threads; the results are in the order of the items.
pub fn map_on_threads<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = threads.min(items.len() / ITEMS_A_THREAD_MIN);
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let mut results = Vec::with_capacity(items.len());
    std::thread::scope(|scope| {
        let work = &work;
        let parts = items.chunks(items.len().div_ceil(threads));
        let running: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>())).collect();
        for thread in running {
            results.append(&mut thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for count in [0, 1, 63, 128, 1000, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            for threads in [1, 2, 3, 7] {
                assert_eq!(map_on_threads(threads, &items, |item| item * 2), doubled);
            }
        }
    }
}

//! Memory of long frames, used again once nobody has a part of it: of fresh memory the kernel makes each page anew.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// While one frame is sent on, the next one comes.
const FRAMES_MAX: usize = 2;
/// Memory of a longer frame is given back at once.
const KEPT_BYTES_MAX: usize = 2 << 20;
/// A frame that has so many bytes has room for some more, so that one that is a little longer can come in its place.
const ROUNDED_BYTES: usize = 256 << 10;
/// So many times a frame's bytes may its memory have: whoever keeps rows of it counts their bytes, and keeps all of it.
const ROOM_MAX: usize = 4;

/// The last frames that were read.
#[derive(Default)]
pub struct BufferPool(VecDeque<Bytes>);

impl BufferPool {
    /// Room for so many bytes, and nothing in it.
    pub fn take(&mut self, length: usize) -> BytesMut {
        let unused = self.0.iter().position(Bytes::is_unique).and_then(|place| self.0.remove(place));
        if let Some(Ok(mut memory)) = unused.map(Bytes::try_into_mut) {
            memory.clear();
            if (length..=length.saturating_mul(ROOM_MAX)).contains(&memory.capacity()) {
                return memory;
            }
        }
        let rounded = if length < ROUNDED_BYTES { length } else { length.next_multiple_of(ROUNDED_BYTES) };
        BytesMut::with_capacity(rounded)
    }

    /// Its memory may be used again, once whoever reads it is done.
    pub fn keep(&mut self, frame: &Bytes) {
        if frame.len() > KEPT_BYTES_MAX {
            return;
        }
        if self.0.len() == FRAMES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(frame.clone());
    }

    pub fn clear(&mut self) {
        self.0 = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(pool: &mut BufferPool, length: usize) -> Bytes {
        let mut memory = pool.take(length);
        assert!(memory.is_empty());
        memory.resize(length, 7);
        let frame = memory.freeze();
        pool.keep(&frame);
        frame
    }

    #[test]
    fn memory_is_used_again_once_nobody_has_a_part_of_it() {
        let mut pool = BufferPool::default();
        let first = frame(&mut pool, 300_000);
        let (place, part) = (first.as_ptr(), first.slice(10..20));
        drop(first);
        let second = frame(&mut pool, 300_000);
        assert_ne!(second.as_ptr(), place);
        assert_eq!(part.as_ref(), [7; 10]);
        drop(part);
        let third = frame(&mut pool, 310_000);
        assert_eq!((third.as_ptr(), third.len()), (place, 310_000));
    }

    #[test]
    fn memory_is_not_used_for_a_frame_that_is_too_long_for_it() {
        let mut pool = BufferPool::default();
        drop(frame(&mut pool, 300_000));
        assert!(pool.take(600_000).capacity() >= 600_000);
        assert!(pool.0.is_empty(), "it is given back");
    }

    #[test]
    fn a_short_frame_does_not_keep_the_memory_of_a_long_one() {
        let mut pool = BufferPool::default();
        drop(frame(&mut pool, KEPT_BYTES_MAX));
        assert!(pool.take(40_000).capacity() <= ROOM_MAX * 40_000);
    }

    #[test]
    fn few_frames_are_kept_and_no_very_long_one() {
        let mut pool = BufferPool::default();
        let held: Vec<_> = (0..5).map(|_| frame(&mut pool, 40_000)).collect();
        assert_eq!(pool.0.len(), FRAMES_MAX);
        drop(held);
        drop(frame(&mut pool, KEPT_BYTES_MAX + 1));
        assert!(pool.0.len() <= FRAMES_MAX && pool.0.iter().all(|kept| kept.len() == 40_000));
        pool.clear();
        assert!(pool.0.is_empty());
    }
}

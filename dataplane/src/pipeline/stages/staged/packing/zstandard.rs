//! The frames of a Zstandard file, one behind the other, unpacked as they are read.

use std::error::Error;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Memory that a frame may need for itself: all levels of `zstd` but the two last ones need no more.
const WINDOW_BYTES_MAX: u64 = 32 << 20;

/// A file that Zstandard has packed. Each sum that it has of itself is compared.
pub(super) struct ZstandardFile {
    file: BufReader<FaultKeeper>,
    frame: FrameDecoder,
    /// A frame has begun, and not all of its bytes are read.
    is_within: bool,
    has_begun: bool,
}

/// A file that keeps why it cannot be read on: the decoder says that in words of its own.
struct FaultKeeper {
    file: Box<dyn Read + Send>,
    fault: Option<io::Error>,
}

impl Read for FaultKeeper {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into);
        read.map_err(|error| {
            let kind = error.kind();
            if kind != ErrorKind::Interrupted {
                self.fault = Some(error);
            }
            kind.into()
        })
    }
}

impl ZstandardFile {
    pub fn new(file: Box<dyn Read + Send>) -> Self {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(WINDOW_BYTES_MAX);
        let file = BufReader::new(FaultKeeper { file, fault: None });
        Self { file, frame, is_within: false, has_begun: false }
    }

    /// Begins the next frame, if the file has one; those that have no bytes of the file are passed over.
    fn begins(&mut self) -> io::Result<bool> {
        loop {
            let is_over = self.file.fill_buf().map(<[u8]>::is_empty);
            let is_over = is_over.map_err(|error| self.failed(error))?;
            if is_over {
                return if self.has_begun { Ok(false) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
            self.has_begun = true;
            match self.frame.reset(&mut self.file) {
                Ok(()) => {
                    self.is_within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    self.skip(u64::from(length))?;
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.file.by_ref().take(bytes), &mut io::sink());
        let skipped = skipped.map_err(|error| self.failed(error))?;
        if skipped == bytes { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// Why the file could not be read, or else what the decoder says of its bytes.
    fn failed(&mut self, error: impl Error + Send + Sync + 'static) -> io::Error {
        let kept = self.file.get_mut().fault.take();
        kept.unwrap_or_else(|| io::Error::new(ErrorKind::InvalidData, error))
    }
}

impl Read for ZstandardFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_within && !self.begins()? {
                return Ok(0);
            }
            while self.frame.can_collect() < into.len() && !self.frame.is_finished() {
                let more = into.len() - self.frame.can_collect();
                let decoded = self.frame.decode_blocks(&mut self.file, BlockDecodingStrategy::UptoBytes(more));
                decoded.map_err(|error| self.failed(error))?;
            }
            let read = self.frame.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            let sum = self.frame.get_checksum_from_data();
            if sum.is_some() && sum != self.frame.get_calculated_checksum() {
                return Err(io::Error::new(ErrorKind::InvalidData, "its sum is another"));
            }
            self.is_within = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const TEXT: &str = "1,a\n2,b\n";

    /// As `zstd --check` packs it.
    fn packed() -> Vec<u8> {
        hex::decode("28b52ffd0458410000312c610a322c620ac4149a93").unwrap()
    }

    fn unpacked(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        ZstandardFile::new(Box::new(Cursor::new(bytes))).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn frames_are_unpacked_one_behind_the_other_and_others_are_passed_over() {
        let skipped = hex::decode("502a4d1803000000616263").unwrap();
        assert_eq!(unpacked([packed(), skipped.clone(), packed()].concat()).unwrap(), TEXT.repeat(2));
        assert_eq!(unpacked([skipped, packed()].concat()).unwrap(), TEXT);
    }

    #[test]
    fn a_file_that_is_cut_changed_or_goes_on_is_an_error() {
        let whole = packed();
        for cut in 0..whole.len() {
            assert!(unpacked(whole.iter().take(cut).copied().collect()).is_err(), "{cut}");
        }
        let mut changed = packed();
        let last = changed.pop().unwrap();
        changed.push(!last);
        assert!(unpacked(changed).is_err());
        assert!(unpacked([packed(), b"x".to_vec()].concat()).is_err());
    }

    #[test]
    fn a_file_that_cannot_be_read_on_says_why() {
        struct BrokenOff;
        impl Read for BrokenOff {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the store is gone"))
            }
        }
        for length in [0, 3, 10] {
            let begun = Cursor::new(packed().into_iter().take(length).collect::<Vec<u8>>());
            let mut file = ZstandardFile::new(Box::new(begun.chain(BrokenOff)));
            let error = file.read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(error.to_string(), "the store is gone", "{length}");
        }
    }
}

//! A file of an unload that rows still come into. All of it blocks.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use sql::UnloadCompression;

use crate::Error;
use crate::pipeline::Result;
use crate::storage::stage_files::StageWriter;

/// Bytes that are written at a time.
const PIECE_BYTES: usize = 1 << 20;

/// A file of a stage that rows still come into, compressed on their way.
#[derive(Debug)]
pub(super) struct OpenFile {
    writer: StageWriter,
    waiting: WaitingBytes,
    /// Bytes that came, before they were compressed.
    taken: u64,
    rows: u64,
}

/// A file that all of its rows are in, and that is not in its stage yet.
#[derive(Debug)]
pub(super) struct FullFile {
    pub writer: StageWriter,
    pub taken: u64,
    pub rows: u64,
}

/// Bytes that are not written yet.
#[derive(Debug)]
enum WaitingBytes {
    Plain(Vec<u8>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl WaitingBytes {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Plain(bytes) => bytes,
            Self::Gzip(encoder) => encoder.get_ref(),
        }
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Plain(bytes) => std::mem::take(bytes),
            Self::Gzip(encoder) => std::mem::take(encoder.get_mut()),
        }
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(waiting) => waiting.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
        }
    }

    fn end(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain(bytes) => Ok(bytes),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

impl OpenFile {
    pub fn new(writer: StageWriter, compression: UnloadCompression) -> Self {
        let waiting = match compression {
            UnloadCompression::None => WaitingBytes::Plain(Vec::new()),
            UnloadCompression::Gzip => WaitingBytes::Gzip(GzEncoder::new(Vec::new(), Compression::default())),
        };
        Self { writer, waiting, taken: 0, rows: 0 }
    }

    /// How many it has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Those that are written, and those that wait.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes() + length(self.waiting.bytes())
    }

    /// The text of so many rows.
    pub fn add(&mut self, text: &str, rows: u64) -> Result<()> {
        self.waiting.add(text.as_bytes()).map_err(|error| not_encoded(&error))?;
        self.taken += length(text.as_bytes());
        self.rows += rows;
        if self.waiting.bytes().len() >= PIECE_BYTES {
            self.writer.write(&self.waiting.take())?;
        }
        Ok(())
    }

    /// No more rows come.
    pub fn end(self) -> Result<FullFile> {
        let Self { mut writer, waiting, taken, rows } = self;
        writer.write(&waiting.end().map_err(|error| not_encoded(&error))?)?;
        Ok(FullFile { writer, taken, rows })
    }
}

pub(super) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn not_encoded(error: &io::Error) -> Error {
    Error::Unverified { why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::storage::stage_files::StageFiles;

    #[test]
    fn a_file_is_whole_however_it_is_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let files = StageFiles::new(folder.path().join("stages"));
        let line = "a line that comes again and again\n";
        for compression in [UnloadCompression::None, UnloadCompression::Gzip] {
            let mut file = OpenFile::new(files.writer("s", "a").unwrap(), compression);
            for _ in 0..1_000 {
                file.add(&line.repeat(100), 100).unwrap();
            }
            let FullFile { writer, taken, rows } = file.end().unwrap();
            assert_eq!((taken, rows), (3_400_000, 100_000));
            let bytes = writer.finish().unwrap().bytes;
            let mut text = String::new();
            let mut written = files.open("s", "a").unwrap();
            match compression {
                UnloadCompression::None => written.read_to_string(&mut text).unwrap(),
                UnloadCompression::Gzip => GzDecoder::new(written).read_to_string(&mut text).unwrap(),
            };
            assert_eq!(text, line.repeat(100_000));
            assert_eq!(bytes == taken, compression == UnloadCompression::None);
        }
    }
}

//! A file of an unload that rows still come into. All of it blocks.

use std::fmt::Display;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use sql::UnloadCompression;

use crate::Error;
use crate::encode::batch_bytes::batch_bytes;
use crate::encode::parquet_file::{ColumnForms, ParquetEncoder};
use crate::pipeline::Result;
use crate::storage::stage_files::StageWriter;

/// Bytes that are written at a time.
const PIECE_BYTES: u64 = 1 << 20;
/// Bytes that are written as they come: to put them behind others would copy them once more.
const DIRECT_BYTES: usize = 128 << 10;

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
    Zlib(ZlibEncoder<Vec<u8>>),
    Deflate(DeflateEncoder<Vec<u8>>),
    /// Which takes rows, not bytes.
    Parquet(Box<ParquetEncoder>),
}

impl WaitingBytes {
    fn count(&self) -> u64 {
        let count = match self {
            Self::Plain(bytes) => bytes.len(),
            Self::Gzip(encoder) => encoder.get_ref().len(),
            Self::Zlib(encoder) => encoder.get_ref().len(),
            Self::Deflate(encoder) => encoder.get_ref().len(),
            Self::Parquet(encoder) => encoder.waiting_bytes(),
        };
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Plain(bytes) => std::mem::take(bytes),
            Self::Gzip(encoder) => std::mem::take(encoder.get_mut()),
            Self::Zlib(encoder) => std::mem::take(encoder.get_mut()),
            Self::Deflate(encoder) => std::mem::take(encoder.get_mut()),
            Self::Parquet(encoder) => encoder.take(),
        }
    }

    /// The last of them, and how the columns of Parquet were written.
    fn end(self) -> Result<(Vec<u8>, Option<ColumnForms>)> {
        match self {
            Self::Plain(bytes) => Ok((bytes, None)),
            Self::Gzip(encoder) => Ok((encoder.finish().map_err(|error| not_encoded(&error))?, None)),
            Self::Zlib(encoder) => Ok((encoder.finish().map_err(|error| not_encoded(&error))?, None)),
            Self::Deflate(encoder) => Ok((encoder.finish().map_err(|error| not_encoded(&error))?, None)),
            Self::Parquet(encoder) => {
                let (bytes, forms) = encoder.end_before().map_err(|error| not_encoded(&error))?;
                Ok((bytes, Some(forms)))
            }
        }
    }
}

impl OpenFile {
    /// Of lines of text.
    pub fn text(writer: StageWriter, compression: UnloadCompression) -> Self {
        let (none, level) = (Vec::new(), Compression::default());
        let waiting = match compression {
            UnloadCompression::None => WaitingBytes::Plain(none),
            UnloadCompression::OfFormat => WaitingBytes::Gzip(GzEncoder::new(none, level)),
            UnloadCompression::Deflate => WaitingBytes::Zlib(ZlibEncoder::new(none, level)),
            UnloadCompression::RawDeflate => WaitingBytes::Deflate(DeflateEncoder::new(none, level)),
        };
        Self { writer, waiting, taken: 0, rows: 0 }
    }

    /// Its columns are written as those of the file before were, if there is one.
    pub fn parquet(
        writer: StageWriter,
        compression: UnloadCompression,
        schema: SchemaRef,
        before: Option<ColumnForms>,
    ) -> Result<Self> {
        let is_compressed = compression == UnloadCompression::OfFormat;
        let encoder = before.map_or_else(|| ParquetEncoder::new(schema, is_compressed), ParquetEncoder::behind);
        let encoder = encoder.map_err(|error| not_encoded(&error))?;
        Ok(Self { writer, waiting: WaitingBytes::Parquet(Box::new(encoder)), taken: 0, rows: 0 })
    }

    /// How many it has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Those that are written, and those that wait.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes() + self.waiting.count()
    }

    /// The rows, with the text that they have where the file is one of lines.
    pub fn add(&mut self, batch: &RecordBatch, text: &[u8]) -> Result<()> {
        self.rows += u64::try_from(batch.num_rows()).unwrap_or_default();
        if let WaitingBytes::Parquet(encoder) = &mut self.waiting {
            encoder.add(batch).map_err(|error| not_encoded(&error))?;
            self.taken += u64::try_from(batch_bytes(batch)).unwrap_or_default();
            return self.passed_on();
        }
        self.add_text(text)
    }

    /// Lines that are none of the rows.
    pub fn add_text(&mut self, text: &[u8]) -> Result<()> {
        match &mut self.waiting {
            WaitingBytes::Plain(waiting) if text.len() >= DIRECT_BYTES => {
                self.writer.write(&std::mem::take(waiting))?;
                self.writer.write(text)?;
            }
            WaitingBytes::Plain(waiting) => waiting.extend_from_slice(text),
            WaitingBytes::Gzip(encoder) => encoder.write_all(text).map_err(|error| not_encoded(&error))?,
            WaitingBytes::Zlib(encoder) => encoder.write_all(text).map_err(|error| not_encoded(&error))?,
            WaitingBytes::Deflate(encoder) => encoder.write_all(text).map_err(|error| not_encoded(&error))?,
            WaitingBytes::Parquet(_) => return Ok(()),
        }
        self.taken += length(text);
        self.passed_on()
    }

    /// No more rows come: the file, and how its columns were written if it is of Parquet.
    pub fn end(self) -> Result<(FullFile, Option<ColumnForms>)> {
        let Self { mut writer, waiting, taken, rows } = self;
        let (bytes, forms) = waiting.end()?;
        writer.write(&bytes)?;
        Ok((FullFile { writer: writer.full(), taken, rows }, forms))
    }

    /// Writes what waits, where it is a piece.
    fn passed_on(&mut self) -> Result<()> {
        if self.waiting.count() >= PIECE_BYTES { self.writer.write(&self.waiting.take()) } else { Ok(()) }
    }
}

pub(super) fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn not_encoded(error: &dyn Display) -> Error {
    Error::Unverified { why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::iter::repeat_n;

    use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};

    use super::*;
    use crate::storage::stage_files::StageFiles;

    #[test]
    fn a_file_is_whole_however_it_is_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let files = StageFiles::new(folder.path().join("stages"));
        let line = "a line that comes again and again\n";
        let all = [
            UnloadCompression::None,
            UnloadCompression::OfFormat,
            UnloadCompression::Deflate,
            UnloadCompression::RawDeflate,
        ];
        for compression in all {
            let mut file = OpenFile::text(files.writer("s", "a").unwrap(), compression);
            // of which one part is so long that it is written as it comes
            for times in repeat_n(100, 500).chain([5_000]).chain(repeat_n(100, 450)) {
                file.add_text(line.repeat(times).as_bytes()).unwrap();
            }
            let (FullFile { writer, taken, rows }, _) = file.end().unwrap();
            assert_eq!((taken, rows), (3_400_000, 0));
            let bytes = writer.finish().unwrap().bytes;
            let mut text = String::new();
            let mut written = files.open("s", "a").unwrap();
            match compression {
                UnloadCompression::None => written.read_to_string(&mut text).unwrap(),
                UnloadCompression::OfFormat => GzDecoder::new(written).read_to_string(&mut text).unwrap(),
                UnloadCompression::Deflate => ZlibDecoder::new(written).read_to_string(&mut text).unwrap(),
                UnloadCompression::RawDeflate => DeflateDecoder::new(written).read_to_string(&mut text).unwrap(),
            };
            assert_eq!(text, line.repeat(100_000));
            assert_eq!(bytes == taken, compression == UnloadCompression::None);
        }
    }
}

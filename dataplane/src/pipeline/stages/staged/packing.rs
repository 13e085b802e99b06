//! How a stage's file is packed, as its format or the end of its name says, and the bytes that it has unpacked.

mod zstandard;

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use bzip2::read::MultiBzDecoder;
use flate2::bufread::{DeflateDecoder, ZlibDecoder};
use flate2::read::MultiGzDecoder;
use sql::FileCompression;

use crate::Error;
use crate::pipeline::Result;

use zstandard::ZstandardFile;

/// The end of names of files that are packed in a way that is not read.
const UNREAD: &str = ".br";

type PackedBytes = BufReader<Box<dyn Read + Send>>;

/// The way in which the bytes of one file are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilePacking {
    None,
    Gzip,
    /// Deflate with the head and the sum of zlib.
    Zlib,
    /// Deflate alone.
    Deflate,
    Bzip2,
    Zstandard,
}

impl FilePacking {
    /// Of a file of this path.
    pub fn of(compression: FileCompression, path: &str) -> Result<Self> {
        match compression {
            FileCompression::None => Ok(Self::None),
            FileCompression::Gzip => Ok(Self::Gzip),
            FileCompression::Deflate => Ok(Self::Zlib),
            FileCompression::RawDeflate => Ok(Self::Deflate),
            FileCompression::Bzip2 => Ok(Self::Bzip2),
            FileCompression::Zstandard => Ok(Self::Zstandard),
            FileCompression::ByName => Self::by_name(path),
        }
    }

    fn by_name(path: &str) -> Result<Self> {
        let lower = path.to_ascii_lowercase();
        if lower.ends_with(UNREAD) {
            return Err(Error::Unsupported { what: format!("a file of a stage whose name ends in {UNREAD}") });
        }
        let ends = [
            (".gz", Self::Gzip),
            (".raw_deflate", Self::Deflate),
            (".deflate", Self::Zlib),
            (".bz2", Self::Bzip2),
            (".zst", Self::Zstandard),
        ];
        let found = ends.into_iter().find(|(end, _)| lower.ends_with(*end));
        Ok(found.map_or(Self::None, |(_, packing)| packing))
    }

    pub fn is_packed(self) -> bool {
        self != Self::None
    }

    /// The words for a file that is not packed so.
    pub fn broken(self) -> &'static str {
        match self {
            Self::None => "it is no whole file",
            Self::Gzip => "it is no whole gzip file",
            Self::Zlib => "it is no whole DEFLATE file, which begins with a zlib header",
            Self::Deflate => "it is no whole RAW_DEFLATE file",
            Self::Bzip2 => "it is no whole bzip2 file",
            Self::Zstandard => "it is no whole Zstandard file, or was packed with a window of more than 32 MiB",
        }
    }

    /// The bytes of a file as they were before they were packed.
    pub fn unpacked(self, file: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        match self {
            Self::None => file,
            Self::Gzip => Box::new(MultiGzDecoder::new(file)),
            Self::Zlib => {
                let unpacking = ZlibDecoder::new(BufReader::new(file));
                Box::new(WholeFile { unpacking, rest: ZlibDecoder::get_mut })
            }
            Self::Deflate => {
                let unpacking = DeflateDecoder::new(BufReader::new(file));
                Box::new(WholeFile { unpacking, rest: DeflateDecoder::get_mut })
            }
            Self::Bzip2 => Box::new(MultiBzDecoder::new(file)),
            Self::Zstandard => Box::new(ZstandardFile::new(file)),
        }
    }
}

/// A packed file that is refused where bytes stand behind its end.
struct WholeFile<D> {
    unpacking: D,
    rest: fn(&mut D) -> &mut PackedBytes,
}

impl<D: Read> Read for WholeFile<D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.unpacking.read(into)?;
        let is_over = read == 0 && !into.is_empty();
        if is_over && !(self.rest)(&mut self.unpacking).fill_buf()?.is_empty() {
            return Err(io::Error::new(ErrorKind::InvalidData, "bytes stand behind its end"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, ZlibEncoder};

    use super::*;

    fn unpacked(packing: FilePacking, bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        packing.unpacked(Box::new(Cursor::new(bytes))).read_to_string(&mut text)?;
        Ok(text)
    }

    fn zlib(text: &str) -> Vec<u8> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    }

    fn deflate(text: &str) -> Vec<u8> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn a_file_is_packed_as_its_name_ends_where_its_format_does_not_say_it() {
        for (path, packing) in [
            ("in/a.csv", FilePacking::None),
            ("a.csv.GZ", FilePacking::Gzip),
            ("a.csv.deflate", FilePacking::Zlib),
            ("a.csv.raw_deflate", FilePacking::Deflate),
            ("a.csv.bz2", FilePacking::Bzip2),
            ("a.csv.zst", FilePacking::Zstandard),
        ] {
            assert_eq!(FilePacking::of(FileCompression::ByName, path).unwrap(), packing, "{path}");
            assert_eq!(FilePacking::of(FileCompression::RawDeflate, path).unwrap(), FilePacking::Deflate);
        }
        assert!(FilePacking::of(FileCompression::ByName, "a.csv.br").is_err());
    }

    #[test]
    fn a_deflated_file_is_unpacked_as_it_was() {
        for text in ["", "1,a\n", "a line that comes again\n".repeat(100_000).as_str()] {
            assert_eq!(unpacked(FilePacking::Zlib, zlib(text)).unwrap(), text);
            assert_eq!(unpacked(FilePacking::Deflate, deflate(text)).unwrap(), text);
        }
    }

    #[test]
    fn a_file_of_bzip2_is_unpacked_whole_or_not_at_all() {
        let hex = "425a6839314159265359b0a7114f00000259000010000430003000200021a699a0c002950b0bb9229c2848585388a780";
        let packed = hex::decode(hex).unwrap();
        assert_eq!(unpacked(FilePacking::Bzip2, packed.clone()).unwrap(), "1,a\n2,b\n");
        assert_eq!(unpacked(FilePacking::Bzip2, packed.repeat(2)).unwrap(), "1,a\n2,b\n".repeat(2));
        for cut in 0..packed.len() {
            assert!(unpacked(FilePacking::Bzip2, packed.iter().take(cut).copied().collect()).is_err(), "{cut}");
        }
        assert!(unpacked(FilePacking::Bzip2, [packed.as_slice(), b"x"].concat()).is_err());
    }

    #[test]
    fn a_deflated_file_that_is_cut_or_goes_on_is_an_error() {
        for (packing, bytes) in [(FilePacking::Zlib, zlib("1,a\n2,b\n")), (FilePacking::Deflate, deflate("1,a\n2,b\n"))]
        {
            for cut in 0..bytes.len() {
                let part = bytes.iter().take(cut).copied().collect();
                assert!(unpacked(packing, part).is_err(), "{packing:?} {cut}");
            }
            assert!(unpacked(packing, [bytes.as_slice(), b"x"].concat()).is_err(), "{packing:?}");
        }
        assert!(unpacked(FilePacking::Zlib, deflate("1,a\n")).is_err());
    }
}

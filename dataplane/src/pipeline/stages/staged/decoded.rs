//! A text file as its bytes come, made UTF-8 where it is written otherwise, or where not all of it is.

use encoding_rs::{
    BIG5, CoderResult, Decoder, DecoderResult, EUC_JP, EUC_KR, GB18030, ISO_2022_JP, ISO_8859_2, ISO_8859_5,
    ISO_8859_6, ISO_8859_7, ISO_8859_8, ISO_8859_15, KOI8_R, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_874,
    WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, mem,
};
use engine::FileFault;
use sql::{TextDecoding, TextEncoding};

/// The characters of a file on their way to its reader.
pub(super) struct DecodedText {
    /// None of ISO-8859-1, whose bytes are the numbers of its characters.
    decoder: Option<Decoder>,
    replaces: bool,
    /// Lines that were read.
    lines: u64,
}

impl DecodedText {
    pub fn new(decoding: TextDecoding) -> Self {
        Self { decoder: decoder(decoding.encoding), replaces: decoding.replaces, lines: 0 }
    }

    /// The text of these bytes; none are the end of the file.
    pub fn take(&mut self, part: &[u8]) -> Result<Vec<u8>, FileFault> {
        let Some(decoder) = &mut self.decoder else { return Ok(mem::decode_latin1(part).into_owned().into_bytes()) };
        let (is_last, room) = (part.is_empty(), decoder.max_utf8_buffer_length(part.len()));
        let mut text = String::with_capacity(room.unwrap_or_default());
        let is_text = if self.replaces {
            decoder.decode_to_string(part, &mut text, is_last).0 == CoderResult::InputEmpty
        } else {
            decoder.decode_to_string_without_replacement(part, &mut text, is_last).0 == DecoderResult::InputEmpty
        };
        self.lines += u64::try_from(text.matches('\n').count()).unwrap_or_default();
        if is_text {
            return Ok(text.into_bytes());
        }
        let reason =
            "it has bytes that are no character of its ENCODING: REPLACE_INVALID_CHARACTERS = TRUE replaces them";
        Err(FileFault { line: Some(self.lines + 1), reason: reason.to_owned() })
    }
}

fn decoder(encoding: TextEncoding) -> Option<Decoder> {
    let found = match encoding {
        TextEncoding::Iso88591 => return None,
        // big-endian, unless its mark says else
        TextEncoding::Utf16 => return Some(UTF_16BE.new_decoder()),
        TextEncoding::Utf8 => UTF_8,
        TextEncoding::Big5 => BIG5,
        TextEncoding::EucJp => EUC_JP,
        TextEncoding::EucKr | TextEncoding::Windows949 => EUC_KR,
        TextEncoding::Gb18030 => GB18030,
        TextEncoding::Iso2022Jp => ISO_2022_JP,
        TextEncoding::Iso88592 => ISO_8859_2,
        TextEncoding::Iso88595 => ISO_8859_5,
        TextEncoding::Iso88596 => ISO_8859_6,
        TextEncoding::Iso88597 => ISO_8859_7,
        TextEncoding::Iso88598 => ISO_8859_8,
        TextEncoding::Iso885915 => ISO_8859_15,
        TextEncoding::Koi8R => KOI8_R,
        TextEncoding::ShiftJis => SHIFT_JIS,
        TextEncoding::Utf16Be => UTF_16BE,
        TextEncoding::Utf16Le => UTF_16LE,
        TextEncoding::Windows874 => WINDOWS_874,
        TextEncoding::Windows1250 => WINDOWS_1250,
        TextEncoding::Windows1251 => WINDOWS_1251,
        TextEncoding::Windows1252 => WINDOWS_1252,
        TextEncoding::Windows1253 => WINDOWS_1253,
        TextEncoding::Windows1254 => WINDOWS_1254,
        TextEncoding::Windows1255 => WINDOWS_1255,
        TextEncoding::Windows1256 => WINDOWS_1256,
    };
    Some(found.new_decoder_with_bom_removal())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(encoding: TextEncoding, replaces: bool, bytes: &[u8], part: usize) -> Result<String, FileFault> {
        let mut decoded = DecodedText::new(TextDecoding { encoding, replaces });
        let mut text = Vec::new();
        for part in bytes.chunks(part).chain([&[][..]]) {
            text.extend(decoded.take(part)?);
        }
        Ok(String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_text_is_the_same_in_each_encoding_that_has_its_characters() {
        for (encoding, bytes, text) in [
            (TextEncoding::Iso88591, &b"\xe9,\x85\n"[..], "é,\u{85}\n"),
            (TextEncoding::Windows1252, &b"\xe9,\x85\n"[..], "é,…\n"),
            (TextEncoding::Utf16, &b"\xff\xfee\0,\0"[..], "e,"),
            (TextEncoding::Utf16, &b"\0e\0,"[..], "e,"),
            (TextEncoding::Utf16Le, &b"\xff\xfee\0"[..], "e"),
            (TextEncoding::ShiftJis, &b"\x93\xfa,\n"[..], "日,\n"),
            (TextEncoding::Utf8, "\u{feff}é".as_bytes(), "é"),
        ] {
            for part in [1, 3, bytes.len()] {
                assert_eq!(decoded(encoding, false, bytes, part).as_deref(), Ok(text), "{encoding:?} {part}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_character_are_replaced_or_told_by_their_line() {
        let bytes = b"a\n\xffb\n\xe9";
        for part in [1, 2, bytes.len()] {
            let replaced = decoded(TextEncoding::Utf8, true, bytes, part);
            assert_eq!(replaced.as_deref(), Ok("a\n\u{fffd}b\n\u{fffd}"), "{part}");
            assert_eq!(decoded(TextEncoding::Utf8, false, bytes, part).unwrap_err().line, Some(2), "{part}");
        }
    }
}

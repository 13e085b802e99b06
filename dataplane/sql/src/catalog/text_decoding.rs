//! How the characters of a text file are written: in which encoding, and whether each of them has to be.

use crate::catalog::file_format::OptionValue;

contract::named! {
    /// An encoding of the characters of a file, by its documented name without dashes.
    pub enum TextEncoding {
        Utf8 = "UTF8",
        Big5 = "BIG5",
        EucJp = "EUCJP",
        EucKr = "EUCKR",
        Gb18030 = "GB18030",
        Iso2022Jp = "ISO2022JP",
        Iso88591 = "ISO88591",
        Iso88592 = "ISO88592",
        Iso88595 = "ISO88595",
        Iso88596 = "ISO88596",
        Iso88597 = "ISO88597",
        Iso88598 = "ISO88598",
        Iso885915 = "ISO885915",
        Koi8R = "KOI8R",
        ShiftJis = "SHIFTJIS",
        Utf16 = "UTF16",
        Utf16Be = "UTF16BE",
        Utf16Le = "UTF16LE",
        Windows874 = "WINDOWS874",
        Windows949 = "WINDOWS949",
        Windows1250 = "WINDOWS1250",
        Windows1251 = "WINDOWS1251",
        Windows1252 = "WINDOWS1252",
        Windows1253 = "WINDOWS1253",
        Windows1254 = "WINDOWS1254",
        Windows1255 = "WINDOWS1255",
        Windows1256 = "WINDOWS1256",
    }
}

/// The way from the bytes of a text file to UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextDecoding {
    pub encoding: TextEncoding,
    /// U+FFFD stands for bytes that are no character; else they are a fault.
    pub replaces: bool,
}

impl TextDecoding {
    /// As a file is that says nothing of it.
    pub(crate) const PLAIN: Self = Self { encoding: TextEncoding::Utf8, replaces: false };

    /// Whether it is an option of it, which is kept then.
    pub(crate) fn takes(&mut self, name: &str, value: &OptionValue) -> bool {
        match (name, value) {
            ("ENCODING", OptionValue::Text(text)) => {
                let plain = text.to_ascii_uppercase().replace(['-', '_'], "");
                let Some(encoding) = TextEncoding::parse(&plain) else { return false };
                self.encoding = encoding;
            }
            // two names of one option
            ("REPLACE_INVALID_CHARACTERS" | "IGNORE_UTF8_ERRORS", OptionValue::Flag(flag)) => self.replaces |= *flag,
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_known_by_its_names() {
        for (text, encoding) in [
            ("utf-8", TextEncoding::Utf8),
            ("ISO-8859-15", TextEncoding::Iso885915),
            ("ISO885915", TextEncoding::Iso885915),
            ("Shift_JIS", TextEncoding::ShiftJis),
            ("windows-1252", TextEncoding::Windows1252),
        ] {
            let mut decoding = TextDecoding::PLAIN;
            assert!(decoding.takes("ENCODING", &OptionValue::Text(text.to_owned())), "{text}");
            assert_eq!(decoding, TextDecoding { encoding, replaces: false });
        }
        let mut decoding = TextDecoding::PLAIN;
        assert!(!decoding.takes("ENCODING", &OptionValue::Text("IBM420".to_owned())));
        assert!(decoding.takes("IGNORE_UTF8_ERRORS", &OptionValue::Flag(true)) && decoding.replaces);
    }
}

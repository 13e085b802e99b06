//! The options of COPY, in their form with brackets and in the older one without.

use super::super::lex::Token;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyFormat {
    Text,
    Csv,
    Binary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub format: CopyFormat,
    pub header: bool,
    delimiter: Option<u8>,
    null: Option<String>,
    pub quote: u8,
    escape: Option<u8>,
}

impl Default for Options {
    fn default() -> Self {
        Self { format: CopyFormat::Text, header: false, delimiter: None, null: None, quote: b'"', escape: None }
    }
}

impl Options {
    pub fn delimiter(&self) -> u8 {
        self.delimiter.unwrap_or(if self.format == CopyFormat::Csv { b',' } else { b'\t' })
    }

    /// What stands for NULL.
    pub fn null(&self) -> &str {
        self.null.as_deref().unwrap_or(if self.format == CopyFormat::Csv { "" } else { "\\N" })
    }

    pub fn escape(&self) -> u8 {
        self.escape.unwrap_or(self.quote)
    }

    /// What stands behind `STDIN` or `STDOUT`; nothing for an option that is not known.
    pub fn read(tokens: &[Token]) -> Option<Self> {
        let mut words = tokens.iter().filter(|token| !matches!(token, Token::Mark('(' | ')' | ','))).peekable();
        let mut options = Self::default();
        while let Some(token) = words.next() {
            let Token::Word(word) = token else { return None };
            let mut text = || {
                words.next_if(|token| **token == Token::Word("as".to_owned()));
                match words.next() {
                    Some(Token::Text(text) | Token::Word(text) | Token::Quoted(text)) => Some(text.clone()),
                    _ => None,
                }
            };
            match word.as_str() {
                "with" | "freeze" => {}
                "csv" => options.format = CopyFormat::Csv,
                "binary" => options.format = CopyFormat::Binary,
                "format" => options.format = format(&text()?)?,
                "delimiter" | "delimiters" => options.delimiter = Some(one(&text()?)?),
                "null" => options.null = Some(text()?),
                "quote" => options.quote = one(&text()?)?,
                "escape" => options.escape = Some(one(&text()?)?),
                "encoding" => {
                    let name = text()?.to_lowercase();
                    matches!(name.as_str(), "utf8" | "utf-8").then_some(())?;
                }
                "header" => {
                    let said = words.peek().and_then(|token| truth(token));
                    options.header = said.unwrap_or(true);
                    if said.is_some() {
                        words.next();
                    }
                }
                _ => return None,
            }
        }
        options.are_sound().then_some(options)
    }

    /// Could a reader tell the parts of a row apart?
    fn are_sound(&self) -> bool {
        let delimiter = self.delimiter();
        let breaks = |byte: u8| matches!(byte, b'\r' | b'\n');
        let differs = self.format != CopyFormat::Csv || (delimiter != self.quote && !breaks(self.quote));
        let plain = self.format != CopyFormat::Text || !(delimiter == b'\\' || delimiter.is_ascii_alphanumeric());
        let null = !self.null().contains(['\r', '\n', char::from(delimiter)]);
        !breaks(delimiter) && differs && plain && null
    }
}

fn format(name: &str) -> Option<CopyFormat> {
    match name.to_lowercase().as_str() {
        "text" => Some(CopyFormat::Text),
        "csv" => Some(CopyFormat::Csv),
        "binary" => Some(CopyFormat::Binary),
        _ => None,
    }
}

fn one(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Some(*byte),
        _ => None,
    }
}

fn truth(token: &Token) -> Option<bool> {
    let (Token::Word(said) | Token::Text(said) | Token::Quoted(said) | Token::Number(said)) = token else {
        return None;
    };
    match said.to_lowercase().as_str() {
        "true" | "on" | "1" => Some(true),
        "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::lex;
    use super::*;

    fn read(text: &str) -> Option<Options> {
        Options::read(&lex::split(text).pop().map(|piece| piece.tokens).unwrap_or_default())
    }

    fn csv_with_header() -> Options {
        Options { format: CopyFormat::Csv, header: true, ..Options::default() }
    }

    #[test]
    fn both_forms_of_the_options_are_read() {
        let csv = Options { delimiter: Some(b';'), ..csv_with_header() };
        assert_eq!(read("with (format csv, header true, delimiter ';')"), Some(csv.clone()));
        assert_eq!(read("with csv header delimiter as ';'"), Some(csv));
        assert_eq!(read("(format binary)").unwrap().format, CopyFormat::Binary);
        assert_eq!(read("(FORMAT \"binary\")").unwrap().format, CopyFormat::Binary);
        assert_eq!(read("(format 'CSV', header '1')").unwrap(), csv_with_header());
        for text in ["(format csv, header false)", "(header 'off', format csv)", "(format csv, header 0)"] {
            assert!(!read(text).unwrap().header, "{text}");
        }
        let old = read("with delimiter as '\t' null as '\\N'").unwrap();
        assert_eq!((old.delimiter(), old.null()), (b'\t', "\\N"));
    }

    #[test]
    fn options_that_cannot_be_honoured_are_not_read() {
        for text in [
            "(format parquet)",
            "(delimiter 'ab')",
            "(force_quote *)",
            "csv quote ','",
            "(delimiter E'\\n')",
            "(encoding 'latin1')",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

//! JSON as its bytes come, without those members of objects that are null.
//!
//! All other bytes stay as they are, so that a value is read as the file has it. An array keeps its places: one with a
//! null that would leave is refused, since JSON has no word for the place that stays empty.

use engine::{FileFault, RECORD_BYTES_MAX};

use crate::limits::json_depth::JsonDepth;

const NULL: &[u8] = b"null";
/// Objects and arrays that are open: of what is JSON fewer are let through.
const OPEN_MAX: usize = 1_000;

/// The records of a file on their way to their reader.
#[derive(Debug)]
pub(super) struct StrippedNulls {
    /// The items of the outermost array are records.
    is_array: bool,
    /// Objects and arrays that are open.
    open: Vec<OpenValue>,
    place: JsonPlace,
    /// A member's comma and name, until its value is no null; and a value that may be one.
    held: Vec<u8>,
    /// Bytes of `held` before the value.
    name_bytes: usize,
    /// Lines that were read.
    lines: u64,
}

/// An object or array that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenValue {
    Array,
    /// Members have been written, or left out.
    Object {
        is_written: bool,
        is_left_out: bool,
    },
}

/// Where the last byte was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonPlace {
    /// Between values.
    Between,
    /// In an object, before the name of a member or behind a member.
    Member,
    Name,
    NameEscaped,
    /// Behind a name, or behind the colon.
    Named,
    Text,
    TextEscaped,
    /// In a number or a word, which is held.
    Word,
}

impl StrippedNulls {
    pub fn new(is_array: bool) -> Self {
        let (open, held, place) = (Vec::new(), Vec::new(), JsonPlace::Between);
        Self { is_array, open, place, held, name_bytes: 0, lines: 0 }
    }

    /// The bytes that stay of these; none are the end of the file.
    pub fn take(&mut self, part: &[u8]) -> Result<Vec<u8>, FileFault> {
        let mut written = Vec::with_capacity(part.len());
        for byte in part {
            self.next(*byte, &mut written)?;
            self.lines += u64::from(*byte == b'\n');
        }
        if part.is_empty() {
            written.append(&mut self.held);
        }
        Ok(written)
    }

    fn next(&mut self, byte: u8, written: &mut Vec<u8>) -> Result<(), FileFault> {
        if self.place == JsonPlace::Word && (is_white(byte) || b",]}[{\":".contains(&byte)) {
            self.word_ends(written)?;
        }
        match self.place {
            JsonPlace::Text | JsonPlace::TextEscaped => {
                written.push(byte);
                self.place = match (self.place, byte) {
                    (JsonPlace::Text, b'\\') => JsonPlace::TextEscaped,
                    (JsonPlace::Text, b'"') => self.behind_value(),
                    _ => JsonPlace::Text,
                };
                Ok(())
            }
            JsonPlace::Name | JsonPlace::NameEscaped => {
                self.place = match (self.place, byte) {
                    (JsonPlace::Name, b'\\') => JsonPlace::NameEscaped,
                    (JsonPlace::Name, b'"') => JsonPlace::Named,
                    _ => JsonPlace::Name,
                };
                self.hold(byte)
            }
            JsonPlace::Word => self.hold(byte),
            JsonPlace::Member => self.of_object(byte, written),
            JsonPlace::Named if is_white(byte) || byte == b':' => self.hold(byte),
            JsonPlace::Between | JsonPlace::Named => self.begins(byte, written),
        }
    }

    /// A byte in an object that is in none of its values.
    fn of_object(&mut self, byte: u8, written: &mut Vec<u8>) -> Result<(), FileFault> {
        match byte {
            b'"' => {
                self.place = JsonPlace::Name;
                self.hold(byte)
            }
            b'}' => {
                // a comma that no member stands behind stays, so that the object is as wrong as it was
                written.append(&mut self.held);
                self.ends(byte, written);
                Ok(())
            }
            _ => self.hold(byte),
        }
    }

    /// A byte where a value may begin, or an array or object ends.
    fn begins(&mut self, byte: u8, written: &mut Vec<u8>) -> Result<(), FileFault> {
        self.name_bytes = self.held.len();
        match byte {
            b'[' | b'{' if self.open.len() >= OPEN_MAX => Err(self.fault(&JsonDepth::reason())),
            b'"' | b'[' | b'{' => {
                self.stays(written);
                written.push(byte);
                self.place = match byte {
                    b'"' => JsonPlace::Text,
                    b'[' => {
                        self.open.push(OpenValue::Array);
                        JsonPlace::Between
                    }
                    _ => {
                        self.open.push(OpenValue::Object { is_written: false, is_left_out: false });
                        JsonPlace::Member
                    }
                };
                Ok(())
            }
            b']' | b'}' => {
                written.append(&mut self.held);
                self.ends(byte, written);
                Ok(())
            }
            _ if is_white(byte) || byte == b',' => {
                written.append(&mut self.held);
                written.push(byte);
                Ok(())
            }
            _ => {
                self.place = JsonPlace::Word;
                self.hold(byte)
            }
        }
    }

    fn ends(&mut self, byte: u8, written: &mut Vec<u8>) {
        self.open.pop();
        written.push(byte);
        self.place = self.behind_value();
    }

    fn behind_value(&self) -> JsonPlace {
        match self.open.last() {
            Some(OpenValue::Object { .. }) => JsonPlace::Member,
            Some(OpenValue::Array) | None => JsonPlace::Between,
        }
    }

    fn word_ends(&mut self, written: &mut Vec<u8>) -> Result<(), FileFault> {
        let is_null = self.held.get(self.name_bytes..) == Some(NULL);
        let is_record = self.is_array && self.open.len() == 1;
        match self.open.last().copied() {
            Some(OpenValue::Object { is_written, is_left_out })
                if is_null && self.is_named(is_written || is_left_out) =>
            {
                if let Some(OpenValue::Object { is_left_out, .. }) = self.open.last_mut() {
                    *is_left_out = true;
                }
                self.held.clear();
            }
            Some(OpenValue::Array) if is_null && !is_record => {
                return Err(self.fault("STRIP_NULL_VALUES leaves no null in an array, and it has one"));
            }
            _ => self.stays(written),
        }
        self.place = self.behind_value();
        Ok(())
    }

    /// Whether a comma, where one has to be, a name and a colon stand before the value that is held, and nothing else.
    fn is_named(&self, has_others: bool) -> bool {
        let mut before = without_white(self.held.get(..self.name_bytes).unwrap_or_default());
        if has_others {
            let Some(behind) = before.strip_prefix(b",") else { return false };
            before = without_white(behind);
        }
        let name = before.strip_suffix(b":").map(without_white);
        name.is_some_and(|name| name.len() > 1 && name.starts_with(b"\"") && name.ends_with(b"\""))
    }

    /// The value that has begun, or has been held, stays with what stands before it.
    fn stays(&mut self, written: &mut Vec<u8>) {
        let mut held = std::mem::take(&mut self.held);
        if let Some(OpenValue::Object { is_written, is_left_out }) = self.open.last_mut() {
            if !*is_written && *is_left_out {
                let first = held.iter().position(|byte| !is_white(*byte));
                if let Some(comma) = first.filter(|place| held.get(*place) == Some(&b',')) {
                    held.remove(comma); // which stands behind members that have left, all of them
                } else {
                    held.insert(0, b','); // the object lacks one, and is as wrong as it was
                }
            }
            *is_written = true;
        }
        written.append(&mut held);
    }

    fn hold(&mut self, byte: u8) -> Result<(), FileFault> {
        self.held.push(byte);
        if self.held.len() > RECORD_BYTES_MAX {
            return Err(self.fault("a name or number is longer than a record may be"));
        }
        Ok(())
    }

    fn fault(&self, reason: &str) -> FileFault {
        FileFault { line: Some(self.lines + 1), reason: reason.to_owned() }
    }
}

fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn without_white(bytes: &[u8]) -> &[u8] {
    let from = bytes.iter().position(|byte| !is_white(*byte)).unwrap_or(bytes.len());
    let to = bytes.iter().rposition(|byte| !is_white(*byte)).map_or(from, |last| last + 1);
    bytes.get(from..to).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(is_array: bool, text: &str, part: usize) -> Result<String, FileFault> {
        let mut stripped = StrippedNulls::new(is_array);
        let mut written = Vec::new();
        for part in text.as_bytes().chunks(part).chain([&[][..]]) {
            written.extend(stripped.take(part)?);
        }
        Ok(String::from_utf8(written).unwrap())
    }

    #[test]
    fn members_that_are_null_leave_and_all_else_stays() {
        for (text, told) in [
            (r#"{"a":null,"b":null,"c":123}"#, r#"{"c":123}"#),
            (r#"{"c":123,"a":null}{"a":null}"#, r#"{"c":123}{}"#),
            (r#"{"a":[1,2],"b":{"x":null,"y":88}}"#, r#"{"a":[1,2],"b":{"y":88}}"#),
            (
                r#"{"a":"null","null":"n\"ull","b":null,"c":[{"d":null,"e":-1.5e3}]}"#,
                r#"{"a":"null","null":"n\"ull","c":[{"e":-1.5e3}]}"#,
            ),
            ("null\n[{\"a\":null}, true]\n1", "null\n[{}, true]\n1"),
        ] {
            for part in [1, 2, 5, text.len()] {
                assert_eq!(stripped(false, text, part).as_deref(), Ok(told), "{text} {part}");
            }
        }
        assert_eq!(stripped(true, "[null, {\"a\":null}]", 3).as_deref(), Ok("[null, {}]"));
    }

    #[test]
    fn text_that_is_no_json_is_none_still() {
        for text in [
            r#"{"a":null,}"#,
            r#"{"a":1,}"#,
            r#"{"a" "b":null}"#,
            r#"{"a":nul}"#,
            r#"{,"a":1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":null "b":1}"#,
            r#"{"a":null,,"b":1}"#,
            r#"{"a":,"b":null}"#,
            r#"{"a":null:null}"#,
            r#"{"a"null}"#,
            r#"{,"a":null}"#,
            r#"{1"a":null}"#,
            r#"{"a"::null}"#,
            "{\u{c}\"a\":null}",
        ] {
            let told = stripped(false, text, 2).unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(&told).is_err(), "{text}: {told}");
        }
    }

    #[test]
    fn text_that_is_no_json_opens_no_more_than_json_may() {
        let told = stripped(false, &"{]\"a\":".repeat(OPEN_MAX + 1), 100).unwrap_err();
        assert_eq!(told.reason, JsonDepth::reason());
    }

    #[test]
    fn an_array_that_has_a_null_is_told_by_its_line() {
        for (is_array, text) in [(false, "{\"a\":1}\n{\"a\":[1,null,2]}"), (true, "[[1],\n[null]]")] {
            assert_eq!(stripped(is_array, text, 4).unwrap_err().line, Some(2), "{text}");
        }
    }
}

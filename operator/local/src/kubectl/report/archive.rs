//! A tar.gz of texts, in the order of their names.

use std::collections::BTreeMap;
use std::io;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use tar::{Builder, Header};

pub struct Archive {
    made: Timestamp,
    entries: BTreeMap<String, String>,
    /// Bytes before compression that it still takes; what comes later is left out and named.
    room: usize,
    left_out: String,
}

impl Archive {
    pub fn new(made: Timestamp, room: usize) -> Self {
        Self { made, entries: BTreeMap::new(), room, left_out: String::new() }
    }

    /// The same name again replaces.
    pub(super) fn add(&mut self, name: &str, text: String) {
        match self.room.checked_sub(text.len()) {
            None => self.left_out.extend([name, ": ", &text.len().to_string(), " bytes\n"]),
            Some(room) => {
                self.room = room;
                self.entries.insert(name.to_owned(), text);
            }
        }
    }

    /// The names and the bytes.
    pub fn finish(mut self) -> io::Result<(Vec<String>, Vec<u8>)> {
        if !self.left_out.is_empty() {
            self.entries.insert("left-out.txt".to_owned(), self.left_out);
        }
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        for (name, text) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(u64::try_from(self.made.as_second()).unwrap_or_default());
            tar.append_data(&mut header, format!("sluice-report/{name}"), text.as_bytes())?;
        }
        let bytes = tar.into_inner()?.finish()?;
        Ok((self.entries.into_keys().collect(), bytes))
    }
}

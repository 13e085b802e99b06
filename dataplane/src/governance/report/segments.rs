//! The files of the log: JSON lines, named by the first sequence number in them.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use contract::QueryId;
use contract::report::{Body, ENTRY_BYTES_MAX, Entry, MicroCredits};

const SUFFIX: &str = ".jsonl";

#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub first: u64,
    pub path: PathBuf,
    pub bytes: u64,
}

/// The log that a dead process left.
#[derive(Debug, Default)]
pub(super) struct RecoveredLog {
    pub segments: Vec<Segment>,
    pub next: u64,
    /// Begun, not finished: sequence and estimated credits.
    pub open: BTreeMap<QueryId, (u64, MicroCredits)>,
}

pub(super) fn create(folder: &Path, first: u64) -> io::Result<(File, Segment)> {
    let path = folder.join(format!("{first:020}{SUFFIX}"));
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
    let bytes = file.metadata()?.len();
    Ok((file, Segment { first, path, bytes }))
}

fn list(folder: &Path) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let first = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)).and_then(|first| first.parse().ok());
        if let Some(first) = first {
            found.push(Segment { first, path: entry.path(), bytes: entry.metadata()?.len() });
        }
    }
    found.sort_by_key(|segment| segment.first);
    Ok(found)
}

/// Reads all segments. A half line at the very end is what a crash leaves of an entry that nobody
/// was told of: it is cut off. One that cannot be read elsewhere is damage, and an error.
pub(super) fn recover(folder: &Path) -> io::Result<RecoveredLog> {
    let mut found = RecoveredLog { segments: list(folder)?, next: 1, ..RecoveredLog::default() };
    let count = found.segments.len();
    for index in 0..count {
        let Some(segment) = found.segments.get_mut(index) else { break };
        let whole = entries(segment, index + 1 == count, |entry| {
            found.next = entry.sequence + 1;
            match entry.body {
                Body::Started(started) => {
                    found.open.insert(started.query_id, (entry.sequence, started.estimated_micro_credits));
                }
                Body::Finished(finished) => {
                    found.open.remove(&finished.query_id);
                }
                Body::BranchMerged(_) | Body::TriggerFired(_) | Body::TriggerError(_) => {}
            }
        })?;
        if whole < segment.bytes {
            OpenOptions::new().write(true).open(&segment.path)?.set_len(whole)?;
            segment.bytes = whole;
        }
        found.next = found.next.max(segment.first);
    }
    Ok(found)
}

/// Gives each entry to `take`; says how many bytes are whole lines.
fn entries(segment: &Segment, may_be_torn: bool, mut take: impl FnMut(Entry)) -> io::Result<u64> {
    let mut reader = BufReader::new(File::open(&segment.path)?);
    let mut whole = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(whole);
        }
        match serde_json::from_slice(&line) {
            Ok(entry) if line.ends_with(b"\n") => take(entry),
            _ if may_be_torn && !line.ends_with(b"\n") => return Ok(whole),
            _ => return Err(io::Error::other(format!("{} holds a damaged line", segment.path.display()))),
        }
        whole += u64::try_from(read).unwrap_or(u64::MAX);
    }
}

/// Reads on from a sequence number, over segments, as far as whole lines stand.
#[derive(Debug)]
pub struct Cursor {
    folder: PathBuf,
    sent: u64,
    reader: Option<(u64, BufReader<File>)>,
    /// The start of a line whose end was not written yet.
    partial: Vec<u8>,
}

impl Cursor {
    pub(super) fn new(folder: PathBuf, after: u64) -> Self {
        Self { folder, sent: after, reader: None, partial: Vec::new() }
    }

    /// Up to `max` further entries, none after `last`, each its own line without the line end; no more once they have
    /// `bytes`, which the last one may exceed. Blocking reads. Where `last` is written the folder is listed for each
    /// segment, not for each call: only what is still to come lies behind the end of one.
    pub fn next(&mut self, last: u64, max: usize, bytes: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut lines = Vec::new();
        let mut taken = 0_usize;
        while self.sent < last && lines.len() < max && taken < bytes {
            let Some((sequence, line)) = self.line()? else { break };
            if sequence > self.sent {
                self.sent = sequence;
                let line = within(line)?;
                taken = taken.saturating_add(line.len());
                lines.push(line);
            }
        }
        Ok(lines)
    }

    /// The sequence number of the last entry given.
    pub fn position(&self) -> u64 {
        self.sent
    }

    fn line(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            if self.reader.is_none() && !self.open_segment(0)? {
                return Ok(None);
            }
            let Some((first, reader)) = self.reader.as_mut() else { return Ok(None) };
            let first = *first;
            reader.read_until(b'\n', &mut self.partial)?;
            if self.partial.last() == Some(&b'\n') {
                let mut line = std::mem::take(&mut self.partial);
                line.pop();
                return Ok(Some((sequence_of(&line)?, line)));
            }
            // The end of this segment: another one follows, or nothing yet.
            if !self.partial.is_empty() || !self.open_segment(first + 1)? {
                return Ok(None);
            }
        }
    }

    /// Opens the segment that holds the entry after the last one sent, if it begins at `least` or later.
    fn open_segment(&mut self, least: u64) -> io::Result<bool> {
        let segments = list(&self.folder)?;
        let wanted = self.sent + 1;
        let holds = segments.iter().rposition(|segment| segment.first <= wanted);
        let found = segments.iter().skip(holds.unwrap_or(0)).find(|segment| segment.first >= least);
        let Some(segment) = found else { return Ok(false) };
        self.reader = Some((segment.first, BufReader::new(File::open(&segment.path)?)));
        Ok(true)
    }
}

/// What was written before there were bounds is brought into them, or no message could take it.
fn within(line: Vec<u8>) -> io::Result<Vec<u8>> {
    if line.len() <= ENTRY_BYTES_MAX {
        return Ok(line);
    }
    let Entry { sequence, body } = serde_json::from_slice(&line)?;
    Ok(serde_json::to_vec(&Entry { sequence, body: body.cut() })?)
}

/// The number of an entry, with which each line of ours begins: the rest of it is not read.
fn sequence_of(line: &[u8]) -> io::Result<u64> {
    #[derive(serde::Deserialize)]
    struct Sequence {
        sequence: u64,
    }
    if let Some(sequence) = first_member(line) {
        return Ok(sequence);
    }
    Ok(serde_json::from_slice::<Sequence>(line)?.sequence)
}

fn first_member(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"{\"sequence\":")?;
    let digits = rest.get(..rest.iter().position(|byte| *byte == b',')?)?;
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && line.ends_with(b"}");
    std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_line_is_told_however_it_was_written() {
        for line in [r#"{"sequence":7,"body":{}}"#, r#"{ "sequence": 7, "body": {} }"#, r#"{"body":{},"sequence":7}"#] {
            assert_eq!(sequence_of(line.as_bytes()).unwrap(), 7, "{line}");
        }
        for line in ["", "{}", r#"{"sequence":7"#, r#"{"sequence":7,"body":"#, r#"{"sequence":-7,"body":{}}"#] {
            assert!(sequence_of(line.as_bytes()).is_err(), "{line}");
        }
    }
}

//! Where the rest of a result begins: the same call goes on behind the rows that it has shown.
//!
//! Nothing is kept for it here. The statement walks all stages again, and only reads; rows that were shown are passed
//! over, and billed to nobody. A cursor says how many they were, their digest, and what decided them. Where what
//! decides the rows, or their order, is another by then, it is refused: two pages are never of two answers.

use sha2::{Digest, Sha256};

use super::seal::Seal;
use crate::{AsOf, Error, Pipeline};

/// Rows that one statement shows in all, page by page.
pub(super) const ROWS_MAX: u64 = 10_000;
/// Of digests.
const SHORT: usize = 16;

type Short = [u8; SHORT];

/// The content of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CursorContent {
    /// How many were shown.
    pub rows: u64,
    /// Their digest.
    shown: Short,
    /// What decided them.
    as_of: Short,
}

impl CursorContent {
    pub fn sealed(&self, seal: &Seal) -> String {
        seal.close(&[self.rows.to_be_bytes().as_slice(), &self.shown, &self.as_of].concat())
    }

    pub fn opened(seal: &Seal, cursor: Option<&str>) -> Result<Option<Self>, Error> {
        let read = |cursor| Self::read(&seal.open(cursor)?).ok_or_else(|| seal.refused());
        cursor.map(read).transpose()
    }

    fn read(body: &[u8]) -> Option<Self> {
        let (rows, digests) = body.split_first_chunk()?;
        let (shown, as_of) = digests.split_first_chunk()?;
        Some(Self { rows: u64::from_be_bytes(*rows), shown: *shown, as_of: as_of.try_into().ok()? })
    }
}

/// The rows of one call: those that were shown before, which have to be the same, and those behind.
pub(super) struct ResultPage {
    mark: Option<CursorContent>,
    as_of: Option<AsOf>,
    rows: u64,
    digest: Sha256,
}

const CHANGED: &str = "its tables, or what you may see of them, have changed since";
const UNORDERED: &str = "its rows came in another order this time, which an ORDER BY prevents";

impl ResultPage {
    /// Of an answer; it is refused where it is not decided as the one that the cursor is of.
    pub fn begin(mark: Option<CursorContent>, as_of: Option<AsOf>) -> Result<Self, Error> {
        let decided = as_of.as_ref().map(|as_of| short(as_of.digest()));
        if mark.is_some_and(|mark| Some(mark.as_of) != decided) {
            return Err(Error::CursorOver { why: CHANGED });
        }
        Ok(Self { mark, as_of, rows: 0, digest: Sha256::new() })
    }

    /// Rows that come now were shown before.
    pub fn is_passing(&self) -> bool {
        self.mark.is_some_and(|mark| self.rows < mark.rows)
    }

    /// Whether a row was shown before, and has to be passed over.
    pub fn passes(&mut self, row: &str) -> Result<bool, Error> {
        let Some(mark) = self.mark.filter(|mark| self.rows < mark.rows) else { return Ok(false) };
        self.shows(row);
        let is_another = self.rows == mark.rows && self.shown() != mark.shown;
        if is_another { Err(Error::CursorOver { why: UNORDERED }) } else { Ok(true) }
    }

    pub fn shows(&mut self, row: &str) {
        self.rows += 1;
        self.digest.update(row.len().to_be_bytes());
        self.digest.update(row);
    }

    fn shown(&self) -> Short {
        short(self.digest.clone().finalize().into())
    }

    /// Asked when all rows have come: is it the same answer still?
    pub fn joins(&self, pipeline: &Pipeline) -> Result<(), Error> {
        match &self.as_of {
            _ if self.mark.is_none() => Ok(()),
            _ if self.is_passing() => Err(Error::CursorOver { why: UNORDERED }),
            Some(as_of) if pipeline.is_still(as_of) => Ok(()),
            _ => Err(Error::CursorOver { why: CHANGED }),
        }
    }

    /// Where the next page begins; nowhere if this one shows nothing, enough was shown, or what decides it is not known.
    pub fn continued(&self) -> Option<CursorContent> {
        let before = self.mark.map_or(0, |mark| mark.rows);
        let as_of = self.as_of.as_ref().filter(|_| before < self.rows && self.rows < ROWS_MAX)?;
        Some(CursorContent { rows: self.rows, shown: self.shown(), as_of: short(as_of.digest()) })
    }
}

fn short(digest: [u8; 32]) -> Short {
    let mut short = [0; SHORT];
    short.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: CursorContent = CursorContent { rows: 140, shown: [1; SHORT], as_of: [2; SHORT] };

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let body = [140_u64.to_be_bytes().as_slice(), &MARK.shown, &MARK.as_of].concat();
        assert_eq!((CursorContent::read(&body), CursorContent::read(&body[1..])), (Some(MARK), None));
    }

    #[test]
    fn rows_that_were_shown_are_passed_over_if_they_are_the_same() {
        let begin = |mark| ResultPage { mark, as_of: None, rows: 0, digest: Sha256::new() };
        let mut page = begin(None);
        assert!(!page.is_passing() && !page.passes("a").unwrap());
        page.shows("a");
        page.shows("b");
        let mark = CursorContent { rows: page.rows, shown: page.shown(), ..MARK };
        let mut next = begin(Some(mark));
        assert_eq!(["a", "b", "c"].map(|row| next.passes(row).unwrap()), [true, true, false]);
        assert!(!next.is_passing());
        let mut other = begin(Some(mark));
        assert!(other.passes("b").unwrap());
        assert!(matches!(other.passes("a"), Err(Error::CursorOver { why: UNORDERED })));
    }
}

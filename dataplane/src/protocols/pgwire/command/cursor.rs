//! `DECLARE`, `FETCH`, `MOVE` and `CLOSE`.

use super::{CommandParser, Count, PgCommand};
use crate::protocols::pgwire::lex::Token;

impl CommandParser<'_> {
    /// `DECLARE name [BINARY] [INSENSITIVE] [[NO] SCROLL] CURSOR [WITH|WITHOUT HOLD] FOR …`
    pub(super) fn declare(&mut self) -> Option<PgCommand> {
        let name = self.name()?;
        loop {
            if self.word("cursor").is_some() {
                break;
            }
            if self.word("scroll").is_some() || self.word("binary").is_some() {
                return Some(PgCommand::Refused("a cursor that scrolls or is binary"));
            }
            self.word("insensitive").or_else(|| self.word("asensitive")).or_else(|| self.words(&["no", "scroll"]))?;
        }
        let hold = self.words(&["with", "hold"]).is_some();
        let _without = self.words(&["without", "hold"]);
        self.word("for")?;
        Some(PgCommand::Declare { name, hold, statement_at: self.at })
    }

    /// `FETCH [NEXT | FORWARD | n | ALL | FORWARD n | FORWARD ALL] [FROM | IN] name`
    pub(super) fn fetch(&mut self, moves: bool) -> Option<PgCommand> {
        let back = ["prior", "first", "last", "absolute", "relative", "backward"];
        if back.iter().any(|word| self.word(word).is_some()) {
            self.at = self.tokens.len();
            return Some(PgCommand::Refused("a cursor that scrolls"));
        }
        let _forward = self.word("forward").or_else(|| self.word("next"));
        let count = if self.word("all").is_some() {
            Count::All
        } else if let Some(Token::Number(number)) = self.peek() {
            let rows = number.parse().ok()?;
            self.at += 1;
            Count::Rows(rows)
        } else {
            Count::Rows(1)
        };
        let _from = self.word("from").or_else(|| self.word("in"));
        self.name().map(|name| PgCommand::Fetch { name, count, moves })
    }
}

//! `PREPARE`, `EXECUTE` and `DEALLOCATE`.

use super::{CommandParser, PgCommand};
use crate::protocols::pgwire::lex::Token;

impl CommandParser<'_> {
    /// `PREPARE name [(type, …)] AS statement`
    pub(super) fn prepare(&mut self) -> Option<PgCommand> {
        let name = self.name()?;
        let mut types = Vec::new();
        if self.mark('(').is_some() {
            let from = self.at;
            let to = self.closing()?;
            types = spelled(self.tokens.get(from..to)?);
        }
        self.word("as")?;
        Some(PgCommand::Prepare { name, types, statement_at: self.at })
    }

    /// `EXECUTE name [(literal, …)]`
    pub(super) fn execute(&mut self) -> Option<PgCommand> {
        let name = self.name()?;
        let mut values = Vec::new();
        if self.mark('(').is_some() && self.mark(')').is_none() {
            loop {
                let Ok(value) = self.literal() else {
                    return Some(PgCommand::Refused("EXECUTE with something other than literals"));
                };
                values.push(value);
                if self.mark(',').is_none() {
                    break;
                }
            }
            self.mark(')')?;
        }
        self.is_at_end().then_some(PgCommand::Execute { name, values })
    }

    /// The text of a literal; none is NULL. An error where no literal stands.
    fn literal(&mut self) -> Result<Option<String>, ()> {
        let minus = self.mark('-').is_some();
        match self.next().ok_or(())? {
            Token::Number(number) if minus => Ok(Some(format!("-{number}"))),
            Token::Number(text) | Token::Text(text) if !minus => Ok(Some(text)),
            Token::Word(word) if !minus && word == "null" => Ok(None),
            Token::Word(word) if !minus && matches!(word.as_str(), "true" | "false") => Ok(Some(word)),
            _ => Err(()),
        }
    }
}

/// The types between the brackets: `numeric(9, 2)` is `numeric`, `int [ ]` is `int[]`.
fn spelled(tokens: &[Token]) -> Vec<String> {
    let mut types = vec![String::new()];
    let mut depth = 0_usize;
    for token in tokens {
        let Some(last) = types.last_mut() else { break };
        match token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => depth = depth.saturating_sub(1),
            Token::Mark(',') if depth == 0 => types.push(String::new()),
            _ if depth > 0 => {}
            Token::Mark(mark) => last.push(*mark),
            Token::Word(word) | Token::Quoted(word) | Token::Text(word) | Token::Number(word) => {
                if last.ends_with(|c: char| c.is_alphanumeric()) {
                    last.push(' ');
                }
                last.push_str(word);
            }
        }
    }
    types
}

//! How deep the tree of a text can become, known before the parser builds it.
//!
//! Trees are walked and dropped by recursion, so their height is bounded. It is counted from below: an operator makes
//! what stands on its left one level higher. A chain of one associative operator (`OR`, `AND`, `||`, arms of `UNION`)
//! is put into balance as soon as it is parsed, so its arms are counted by themselves.

use sqlparser::keywords::Keyword as K;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast::error::{Error, ErrorKind};

/// Deepest nesting: brackets, and operators that are no chain of one associative operator.
const DEPTH_MAX: usize = 400;
/// Arms of chains of one associative operator, in a whole statement.
pub(crate) const ARMS_MAX: usize = 10_000;
/// Arms that are not yet put into balance.
pub(crate) const UNBALANCED_MAX: usize = 16;
/// JOINs of a statement: the parser calls itself for each.
const JOINS_MAX: usize = 500;

/// How tightly operators bind, from the loosest.
const LEVELS: usize = 4;
const OF_OR: usize = 0;
const OF_AND: usize = 1;
/// Any other operator.
const OF_ANY: usize = 2;
/// `::` and `:`.
const OF_POSTFIX: usize = 3;

/// The part between two brackets, or between CASE and END.
#[derive(Debug, Default)]
struct Frame {
    is_case: bool,
    /// The greatest height of what is complete: items of a list, clauses, arms of a set operation.
    complete: usize,
    /// The height of what stands left of the operator, by its level; 0 where there is none.
    left: [usize; LEVELS],
    /// The operator that the chain of a level consists of so far, and its arms.
    chain: [Option<(Flat, usize)>; LEVELS],
    /// The set operation that the arms are joined by so far, and its arms.
    arms: Option<(Flat, usize)>,
    /// The height of what is read, and of what stands before it.
    operand: usize,
    prefix: usize,
    /// A BETWEEN whose AND is to come.
    between: usize,
}

/// An associative operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flat {
    Or,
    And,
    Concat,
    /// UNION or INTERSECT, and the word behind it.
    Set(K, Option<K>),
}

/// The height of a tree, counted token by token.
#[derive(Debug)]
struct Nesting {
    frames: Vec<Frame>,
    arms: usize,
    joins: usize,
    deepest: usize,
    /// Whether something stands before this token that an operator can follow.
    is_behind_operand: bool,
}

/// Whether a text of so many tokens is in all bounds, whatever they are: none makes a tree more than two levels higher.
pub(crate) const fn is_never_too_deep(tokens: usize) -> bool {
    tokens <= DEPTH_MAX / 2
}

/// How high the tree of these tokens can become.
pub(crate) fn levels(tokens: &[TokenWithSpan]) -> Result<usize, Error> {
    let mut nesting =
        Nesting { frames: vec![Frame::default()], arms: 0, joins: 0, deepest: 0, is_behind_operand: false };
    for (place, token) in tokens.iter().enumerate() {
        let behind = tokens.get(place + 1..).unwrap_or_default();
        nesting.pass(&token.token, behind).map_err(|error| error.at(token.span.start))?;
    }
    while nesting.frames.len() > 1 {
        nesting.close(false)?;
    }
    nesting.end_of_statement()?;
    Ok(nesting.deepest)
}

impl Frame {
    /// The height of the expression that is read, which is complete up to operators of this level.
    fn height(&mut self, level: usize) -> usize {
        let mut height = self.operand + self.prefix;
        (self.operand, self.prefix) = (0, 0);
        for (left, chain) in self.left.iter_mut().zip(&mut self.chain).skip(level).rev() {
            if *left > 0 {
                let is_balanced = chain.is_some_and(|(_, arms)| arms > UNBALANCED_MAX);
                height = height.max(*left) + usize::from(!is_balanced);
                *left = 0;
            }
        }
        // the chain of the level itself goes on
        for chain in self.chain.iter_mut().skip(level + 1) {
            *chain = None;
        }
        height
    }

    /// Ends the expression that is read.
    fn end(&mut self) {
        let height = self.height(0);
        self.chain = [None; LEVELS];
        self.between = 0;
        self.complete = self.complete.max(height);
    }
}

impl Nesting {
    fn pass(&mut self, token: &Token, behind: &[TokenWithSpan]) -> Result<(), Error> {
        let was_behind_operand = std::mem::replace(&mut self.is_behind_operand, ends_operand(token));
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => self.open(false),
            Token::RParen | Token::RBracket | Token::RBrace => {
                while self.frames.last().is_some_and(|frame| frame.is_case) {
                    self.close(false)?;
                }
                self.close(*token == Token::RBracket)
            }
            Token::Comma => self.end(),
            Token::SemiColon => self.end_of_statement(),
            Token::Word(word) if word.quote_style.is_none() => self.word(word.keyword, behind, was_behind_operand),
            Token::StringConcat => self.operator(OF_ANY, Some(Flat::Concat)),
            Token::DoubleColon | Token::Colon if was_behind_operand => self.operator(OF_POSTFIX, None),
            Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::HexStringLiteral(_)
            | Token::Placeholder(_)
            | Token::Period
            | Token::EOF => self.operand(),
            _ => self.infix(was_behind_operand),
        }
    }

    fn word(&mut self, keyword: K, behind: &[TokenWithSpan], is_behind_operand: bool) -> Result<(), Error> {
        match keyword {
            K::OR => self.operator(OF_OR, Some(Flat::Or)),
            K::AND => match self.frames.last_mut() {
                Some(frame) if frame.between > 0 => {
                    frame.between -= 1;
                    self.operator(OF_ANY, None)
                }
                _ => self.operator(OF_AND, Some(Flat::And)),
            },
            K::UNION | K::EXCEPT | K::INTERSECT | K::MINUS => self.set_operation(flat(keyword, behind)),
            K::CASE => self.open(true),
            K::END if self.frames.last().is_some_and(|frame| frame.is_case) => self.close(false),
            K::JOIN => {
                self.joins += 1;
                if self.joins > JOINS_MAX {
                    return Err(too_deep(format!("a statement may join {JOINS_MAX} tables")));
                }
                self.end()
            }
            K::BETWEEN => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.between += 1;
                }
                self.infix(is_behind_operand)
            }
            keyword if is_behind_operand && begins_clause(keyword) => self.end(),
            keyword if deepens(keyword) => self.infix(is_behind_operand),
            _ => self.operand(),
        }
    }

    fn open(&mut self, is_case: bool) -> Result<(), Error> {
        self.frames.push(Frame { is_case, ..Frame::default() });
        self.bounded(0)
    }

    /// Another subscript may follow, of what this one gives.
    fn close(&mut self, is_subscript: bool) -> Result<(), Error> {
        let Some(mut frame) = self.frames.pop() else { return Ok(()) };
        frame.end();
        let height = frame.complete + 1;
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let height = self.frames.last_mut().map_or(0, |outer| {
            outer.operand = outer.operand.max(height) + usize::from(is_subscript);
            outer.operand + outer.prefix
        });
        self.bounded(height)
    }

    fn end(&mut self) -> Result<(), Error> {
        let height = self.frames.last_mut().map_or(0, |frame| {
            frame.end();
            frame.complete
        });
        self.bounded(height)
    }

    fn end_of_statement(&mut self) -> Result<(), Error> {
        self.end()?;
        if let Some(frame) = self.frames.last_mut() {
            *frame = Frame { is_case: frame.is_case, ..Frame::default() };
        }
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is a case like the others")]
    fn operand(&mut self) -> Result<(), Error> {
        if let Some(frame) = self.frames.last_mut() {
            frame.operand = frame.operand.max(1);
        }
        Ok(())
    }

    /// An operator that is no chain; before an operand it stands in front of it.
    fn infix(&mut self, is_behind_operand: bool) -> Result<(), Error> {
        if is_behind_operand {
            return self.operator(OF_ANY, None);
        }
        let height = self.frames.last_mut().map_or(0, |frame| {
            frame.prefix += 1;
            frame.prefix
        });
        self.bounded(height)
    }

    fn operator(&mut self, level: usize, flat: Option<Flat>) -> Result<(), Error> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let chain = frame.chain.get(level).copied().flatten();
        let arms = match (chain, flat) {
            (Some((before, arms)), Some(now)) if before == now => arms + 1,
            _ => 2,
        };
        let height = frame.height(level);
        if let Some(left) = frame.left.get_mut(level) {
            *left = height.max(1);
        }
        if let Some(chain) = frame.chain.get_mut(level) {
            *chain = flat.map(|flat| (flat, arms));
        }
        self.counted(arms)?;
        self.bounded(height)
    }

    fn set_operation(&mut self, flat: Option<Flat>) -> Result<(), Error> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        frame.end();
        let arms = match (frame.arms, flat) {
            (Some((before, arms)), Some(now)) if before == now => arms + 1,
            _ => 2,
        };
        frame.arms = flat.map(|flat| (flat, arms));
        frame.complete += usize::from(arms <= UNBALANCED_MAX);
        let height = frame.complete;
        self.counted(arms)?;
        self.bounded(height)
    }

    fn counted(&mut self, arms: usize) -> Result<(), Error> {
        self.arms += usize::from(arms > 2);
        if self.arms + 2 <= ARMS_MAX {
            return Ok(());
        }
        Err(too_deep(format!("a statement may join {ARMS_MAX} arms by OR, AND, || and UNION")))
    }

    fn bounded(&mut self, height: usize) -> Result<(), Error> {
        // a value outside of all brackets is no level
        self.deepest = self.deepest.max((height + self.frames.len()).saturating_sub(2));
        if self.deepest <= DEPTH_MAX {
            return Ok(());
        }
        Err(too_deep(format!("a statement may nest {DEPTH_MAX} levels deep")))
    }
}

/// The set operation, if its arms are a chain in whatever order they are joined.
fn flat(operation: K, behind: &[TokenWithSpan]) -> Option<Flat> {
    let word = |place: usize| match behind.get(place).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    };
    let quantifier = word(0).filter(|word| matches!(word, K::ALL | K::DISTINCT | K::BY));
    match (operation, quantifier) {
        (K::UNION, Some(K::BY)) => None,
        (K::UNION, Some(_)) if word(1) == Some(K::BY) => None,
        (K::UNION, _) | (K::INTERSECT, None | Some(K::DISTINCT)) => Some(Flat::Set(operation, quantifier)),
        _ => None,
    }
}

fn too_deep(message: String) -> Error {
    Error::new(ErrorKind::TooDeep, message)
}

/// Whether an operator can follow it.
fn ends_operand(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_some() || word.keyword == K::END || !is_operator(word.keyword),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::Placeholder(_)
        | Token::RParen
        | Token::RBracket
        | Token::RBrace => true,
        _ => false,
    }
}

fn is_operator(keyword: K) -> bool {
    let words =
        [K::OR, K::DISTINCT, K::WHEN, K::THEN, K::ELSE, K::SELECT, K::WHERE, K::ON, K::HAVING, K::QUALIFY, K::BY];
    deepens(keyword) || words.contains(&keyword)
}

/// A word behind which an expression begins anew; no operator begins with one.
fn begins_clause(keyword: K) -> bool {
    let words = [
        K::WHEN,
        K::THEN,
        K::ELSE,
        K::SELECT,
        K::FROM,
        K::WHERE,
        K::ON,
        K::GROUP,
        K::HAVING,
        K::QUALIFY,
        K::ORDER,
        K::LIMIT,
        K::SET,
        K::VALUES,
        K::WINDOW,
    ];
    words.contains(&keyword)
}

/// A word that makes a tree higher.
fn deepens(keyword: K) -> bool {
    matches!(
        keyword,
        K::AND
            | K::NOT
            | K::UNION
            | K::EXCEPT
            | K::INTERSECT
            | K::MINUS
            | K::CASE
            | K::SELECT
            | K::IS
            | K::LIKE
            | K::ILIKE
            | K::IN
            | K::BETWEEN
            | K::COLLATE
            | K::INTERVAL
            | K::EXPLAIN
            | K::PIVOT
            | K::UNPIVOT
            | K::PRIOR
            | K::CONNECT_BY_ROOT
            | K::AT
            | K::XOR
            | K::DIV
            | K::RLIKE
            | K::REGEXP
            | K::SIMILAR
            | K::OVERLAPS
            | K::OPERATOR
            | K::NOTNULL
            | K::NORMALIZED
            | K::MEMBER
    )
}

#[cfg(test)]
mod tests;

//! A statement laid out for reading: line ends and indents, and nothing else.
//!
//! The library that does it knows no dialect of ours. It is believed where our own lexer reads the same tokens and
//! comments in what it makes, in the same order; a text of which it would make anything else is refused.

use sqlformat::{Dialect, FormatOptions, QueryParams};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use crate::ast::error::{Error, ErrorKind};
use crate::syntax::lex;

/// Longest text that is laid out, in bytes: the time that it takes grows faster than the text.
pub const LAYOUT_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting: each line begins with as many indents, so that a text grows by as much as it is deep.
const DEPTH_MAX: usize = 40;
/// What is no longer than this stands in one line.
const LINE_CHARS: usize = 80;

/// The text with other white space.
pub fn layout(text: &str) -> Result<String, Error> {
    if text.len() > LAYOUT_BYTES_MAX {
        return Err(Error::new(ErrorKind::TooLarge, format!("a text of {LAYOUT_BYTES_MAX} bytes is laid out at most")));
    }
    let written = lex::written(text)?;
    if depth(&written) > DEPTH_MAX {
        let message = format!("a text that nests {DEPTH_MAX} levels deep is laid out at most");
        return Err(Error::new(ErrorKind::TooDeep, message));
    }
    let laid_out = sqlformat::format(text, &QueryParams::None, &options());
    match lex::written(&laid_out) {
        Ok(found) if found == written => Ok(laid_out),
        _ => Err(Error::new(
            ErrorKind::Unsupported { construct: "layout".to_owned() },
            "something in this text cannot be laid out: other white space could change what it says",
        )),
    }
}

/// How many of what is indented are open at once, whether or not they are closed.
fn depth(tokens: &[Token]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for token in tokens {
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => open += 1,
            Token::Word(word) if matches!(word.keyword, Keyword::CASE | Keyword::BEGIN) => open += 1,
            Token::RParen | Token::RBracket | Token::RBrace => open = open.saturating_sub(1),
            Token::Word(word) if word.keyword == Keyword::END => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn options() -> FormatOptions<'static> {
    FormatOptions {
        max_inline_block: LINE_CHARS,
        max_inline_arguments: Some(LINE_CHARS),
        max_inline_top_level: Some(LINE_CHARS),
        dialect: Dialect::PostgreSql,
        ..FormatOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use expect_test::expect;

    use super::*;
    use crate::dialect;

    #[test]
    fn a_statement_stands_in_lines() {
        let text = "select c.c_name,sum(o.o_totalprice) as total from customer c join orders o on o.o_custkey=c.c_custkey \
                    where o.o_orderdate>='1995-01-01' and c.c_acctbal>0 /* of whom? */ group by c.c_name having sum(o.o_totalprice)>1000 \
                    order by total desc limit 10";
        expect![[r"
            select c.c_name, sum(o.o_totalprice) as total
            from customer c join orders o on o.o_custkey = c.c_custkey
            where o.o_orderdate >= '1995-01-01' and c.c_acctbal > 0
            /* of whom? */
            group by c.c_name
            having sum(o.o_totalprice) > 1000
            order by total desc
            limit 10"]]
        .assert_eq(&layout(text).unwrap());
    }

    #[test]
    fn what_other_white_space_would_change_is_refused() {
        for text in ["select $$a,b  c$$", "select system$typeof(1)", "select 'it''s\\' , ' , b'"] {
            let Err(error) = layout(text) else { panic!("{text} became {:?}", layout(text)) };
            assert!(matches!(error.kind, ErrorKind::Unsupported { .. }), "{text}: {error:?}");
        }
    }

    #[test]
    fn what_is_no_text_of_sql_is_refused_with_its_place() {
        let error = layout("select\n  'abc").unwrap_err();
        assert_eq!((error.kind, error.position.map(|position| position.line)), (ErrorKind::Syntax, Some(2)));
        assert_eq!(layout(&" ".repeat(LAYOUT_BYTES_MAX + 1)).unwrap_err().kind, ErrorKind::TooLarge);
    }

    #[test]
    fn a_text_does_not_grow_without_bound() {
        for opens in ["select case ", "(", "select (", "[", "{", "begin ", "case when ("] {
            let deep = opens.repeat(LAYOUT_BYTES_MAX / opens.len());
            assert!(layout(&deep).is_err_and(|error| error.kind == ErrorKind::TooDeep), "{opens}");
        }
        let opens = "select case when ( ".repeat(DEPTH_MAX / 2);
        let long = opens.clone() + &"a or ".repeat((LAYOUT_BYTES_MAX - opens.len()) / 5);
        assert!(layout(&long).unwrap().len() < 100 * LAYOUT_BYTES_MAX);
        for more in
            ["select ", "select a from b where c union ", "join a on b ", "a, ", "with ", "; ", "-- x\n", "/* */ "]
        {
            let flat = more.repeat(LAYOUT_BYTES_MAX / more.len());
            let laid_out = layout(&flat).map(|text| text.len()).unwrap_or_default();
            assert!(laid_out < 20 * LAYOUT_BYTES_MAX, "{more}: {laid_out}");
        }
    }

    /// Of the dialect's corpus few statements are refused, and what was laid out can be again.
    #[test]
    fn what_the_dialect_lets_through_can_be_laid_out() {
        let (mut refused, mut all) = (Vec::new(), 0_usize);
        for case in dialect::tests::cases() {
            let text = fs::read_to_string(case).unwrap();
            for sql in dialect::tests::statements(&text).filter(|sql| lex::written(sql).is_ok()) {
                all += 1;
                if layout(sql).and_then(|once| layout(&once)).is_err() {
                    refused.push(sql.to_owned());
                }
            }
        }
        assert!(refused.len() * 50 < all, "{} of {all}:\n{}", refused.len(), refused.join("\n"));
    }
}

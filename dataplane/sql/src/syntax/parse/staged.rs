//! Statements about stages and file formats, which the parser crate reads in part.
//!
//! `@s` and `file format f` are the names that trees and policies have for them: no name that is written without
//! quotes begins so. What an option of a file format is, is checked here; the rest where names are bound.

use sqlparser::ast::helpers::key_value_options::{KeyValueOptions, KeyValueOptionsDelimiter};
use sqlparser::ast::helpers::stmt_data_loading::StageParamsObject;
use sqlparser::ast::{
    AlterTableOperation, DescribeAlias, Expr, Ident, ObjectName, ObjectNamePart, ObjectType, RenameTableNameKind,
    SqlOption, Statement, Value,
};
use sqlparser::dialect::SnowflakeDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::staged_files::is_word;
use super::{end, is, made, options, parser, refused};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::{names, partial};
use crate::catalog::definition::DefinitionKind;
use crate::catalog::file_format::{FormatOptions, word};
use crate::catalog::own_stage;
use crate::syntax::lex;
use crate::syntax::statement::{Operation, StatementKind};

/// A statement that was read, with its kind where the tree does not say it.
pub(super) struct StagedStatement {
    pub tree: Statement,
    pub kind: StatementKind,
}

/// The statement, if its first words say that it is about a stage or a file format.
pub(super) fn read(tokens: &[TokenWithSpan]) -> Result<Option<StagedStatement>, Error> {
    let Some((head, rest)) = head(tokens) else { return Ok(None) };
    let mut parser = parser(&SnowflakeDialect {}, rest.to_vec());
    head.statement(&mut parser).map(Some)
}

/// The first words of a statement about a stage or a file format.
struct StagedHead {
    verb: Keyword,
    on: DefinitionKind,
    or_replace: bool,
}

fn head(tokens: &[TokenWithSpan]) -> Option<(StagedHead, &[TokenWithSpan])> {
    let words = |words: &[&str], tokens: &'_ [TokenWithSpan]| {
        let is_word = |(token, word): (&TokenWithSpan, &&str)| match &token.token {
            Token::Word(found) => found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word),
            _ => false,
        };
        tokens.len() >= words.len() && tokens.iter().zip(words).all(is_word)
    };
    let verbs = [Keyword::CREATE, Keyword::ALTER, Keyword::DROP, Keyword::SHOW, Keyword::DESC, Keyword::DESCRIBE];
    let (first, mut rest) = tokens.split_first()?;
    let verb = verbs.into_iter().find(|verb| is(&first.token, *verb))?;
    let or_replace = verb == Keyword::CREATE && words(&["or", "replace"], rest);
    if or_replace {
        rest = rest.get(2..)?;
    }
    let shows = verb == Keyword::SHOW;
    let on: [(DefinitionKind, &[&str]); 2] = [
        (DefinitionKind::Stage, if shows { &["stages"] } else { &["stage"] }),
        (DefinitionKind::FileFormat, if shows { &["file", "formats"] } else { &["file", "format"] }),
    ];
    let (on, named) = on.into_iter().find(|(_, named)| words(named, rest))?;
    let rest = rest.get(named.len()..)?;
    Some((StagedHead { verb, on, or_replace }, rest))
}

impl StagedHead {
    fn statement(&self, parser: &mut Parser<'_>) -> Result<StagedStatement, Error> {
        let tree = match self.verb {
            Keyword::CREATE => self.create(parser)?,
            Keyword::ALTER => self.alter(parser)?,
            Keyword::SHOW => return self.show(parser),
            Keyword::DROP => {
                let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
                partial::dropped(ObjectType::Stage, if_exists, self.name(parser)?)
            }
            _ => Statement::ExplainTable {
                describe_alias: DescribeAlias::Describe,
                hive_format: None,
                has_table_keyword: false,
                table_name: self.name(parser)?,
            },
        };
        end(parser).map_err(refused)?;
        let done = match self.verb {
            Keyword::CREATE => Operation::Create,
            Keyword::ALTER => Operation::Alter,
            Keyword::DROP => Operation::Drop,
            _ => Operation::Select,
        };
        Ok(StagedStatement { tree, kind: StatementKind::Staged { on: self.on, done } })
    }

    /// The name that is written, as trees have it.
    fn name(&self, parser: &mut Parser<'_>) -> Result<ObjectName, Error> {
        let mut name = parser.parse_object_name(false).map_err(refused)?;
        if let Some(ObjectNamePart::Identifier(last)) = name.0.last_mut() {
            names::admit_new(last)?;
            let is_new = matches!(self.verb, Keyword::CREATE | Keyword::ALTER);
            if is_new && last.value.contains('"') {
                let message = format!("{} has a quote in it: name it without", last.value);
                return Err(Error::new(ErrorKind::InvalidName, message).at(last.span.start));
            }
            if self.on == DefinitionKind::Stage && own_stage::is_own(&last.value) {
                let message =
                    format!("{} is called as the own stage of a user or a table: name it otherwise", last.value);
                return Err(Error::new(ErrorKind::InvalidName, message).at(last.span.start));
            }
            *last = Ident { value: format!("{}{}", self.on.sign(), last.value), ..Ident::new("") };
        }
        Ok(name)
    }

    fn create(&self, parser: &mut Parser<'_>) -> Result<Statement, Error> {
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let name = self.name(parser)?;
        let (given, comment) = uncommented(options::options(parser).map_err(refused)?)?;
        let or_replace = self.or_replace;
        if self.on == DefinitionKind::FileFormat {
            FormatOptions::of(&given)?;
            let (temporary, volatile) = (false, false);
            return Ok(Statement::CreateFileFormat {
                or_replace,
                temporary,
                volatile,
                if_not_exists,
                name,
                options: given,
                comment,
            });
        }
        Ok(Statement::CreateStage {
            or_replace,
            temporary: false,
            if_not_exists,
            name,
            stage_params: StageParamsObject {
                url: None,
                encryption: none(),
                endpoint: None,
                storage_integration: None,
                credentials: none(),
            },
            directory_table_params: none(),
            file_format: given,
            copy_options: none(),
            comment,
        })
    }

    /// What is set is kept as SQL until the definition that it changes is at hand.
    fn alter(&self, parser: &mut Parser<'_>) -> Result<Statement, Error> {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = self.name(parser)?;
        let operation = if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
            let new = self.name(parser)?;
            AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(new) }
        } else {
            let next = parser.peek_token();
            if is_word(&next.token, "refresh") {
                return Err(Error::unsupported("a directory table of a stage").at(next.span.start));
            }
            parser.expect_keyword(Keyword::SET).map_err(refused)?;
            let given = options::options(parser).map_err(refused)?;
            if given.options.is_empty() {
                return Err(Error::syntax("SET is followed by an option"));
            }
            let value = Expr::value(Value::SingleQuotedString(options::written(&given)));
            let set = SqlOption::KeyValue { key: Ident::new("options"), value };
            AlterTableOperation::SetTblProperties { table_properties: vec![set] }
        };
        Ok(partial::altered(name, if_exists, vec![operation]))
    }

    /// LIKE, IN and the rest are those of any SHOW.
    fn show(&self, parser: &mut Parser<'_>) -> Result<StagedStatement, Error> {
        let mut tokens = vec![made("SHOW"), made("OBJECTS")];
        loop {
            let next = parser.next_token();
            if next.token == Token::EOF {
                break;
            }
            tokens.push(next);
        }
        match *super::tree(tokens)? {
            tree @ Statement::ShowObjects(_) => {
                Ok(StagedStatement { tree, kind: StatementKind::Staged { on: self.on, done: Operation::Select } })
            }
            _ => Err(Error::unsupported("this form of SHOW")),
        }
    }
}

/// The name of a file format, of the text that an option has for it.
pub(crate) fn format_name(text: &str) -> Result<ObjectName, Error> {
    name_of(DefinitionKind::FileFormat, text)
}

/// The name of a stage whose files are meant, of its text: one that was made, `~`, or `%table`.
pub(crate) fn stage_name(text: &str) -> Result<ObjectName, Error> {
    let own = |behind: &str| Ident { value: format!("{}{behind}", DefinitionKind::Stage.sign()), ..Ident::new("") };
    if text == own_stage::USER {
        return Ok(ObjectName::from(vec![own(text)]));
    }
    let Some((schema, table)) = own_stage::parts(text) else { return name_of(DefinitionKind::Stage, text) };
    let mut parser = parser(&SnowflakeDialect {}, lex::tokens(&format!("{schema}{table}"))?);
    let mut name = parser.parse_object_name(false).map_err(refused)?;
    end(&parser).map_err(refused)?;
    if let Some(ObjectNamePart::Identifier(last)) = name.0.last_mut() {
        names::admit_new(last)?;
        *last = own(&format!("{}{}", own_stage::TABLE_SIGN, last.value));
    }
    Ok(name)
}

/// The name of a stage or file format, of its text.
pub(crate) fn name_of(on: DefinitionKind, text: &str) -> Result<ObjectName, Error> {
    let mut parser = parser(&SnowflakeDialect {}, lex::tokens(text)?);
    let head = StagedHead { verb: Keyword::DESCRIBE, on, or_replace: false };
    let name = head.name(&mut parser)?;
    end(&parser).map_err(refused)?;
    Ok(name)
}

/// The options without COMMENT, and what that says.
pub(crate) fn uncommented(mut given: KeyValueOptions) -> Result<(KeyValueOptions, Option<String>), Error> {
    let place = given.options.iter().position(|option| option.option_name.eq_ignore_ascii_case("COMMENT"));
    let comment = place.map(|place| given.options.remove(place));
    let comment = comment.as_ref().map(word).transpose()?.map(str::to_owned);
    Ok((given, comment))
}

const fn none() -> KeyValueOptions {
    KeyValueOptions { options: Vec::new(), delimiter: KeyValueOptionsDelimiter::Space }
}

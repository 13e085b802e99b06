//! The shape of a text: what is left of it without the literals in which texts of one plan may differ.
//!
//! A column is compared with such a literal, by a sign, BETWEEN or an IN of one. Or it is a value of an INSERT of one
//! row, or a column of a query's answer, and its label. Nothing is computed of it. It stands once in its text:
//! where two are equal, the expressions that they are in may be, which are then written as one, as the key of
//! `LISTAGG(DISTINCT …)` is. One that stands twice is left in the shape. Spelled in another way, or in a function's body, it
//! is found in what is generated.
//!
//! The length of a string decides nothing in a query. Where it is written into a column of a length, a long one is looked at,
//! so texts of one shape that may write have strings of one length.

use std::ops::Range;

use sql::{LiteralForm, first_token};

/// What stands in a shape for a literal, around its form; no text has it that has a shape.
const PLACE: char = '\u{1}';
/// What begins a comment, a parameter or a text that is not read as it stands.
const ODD: [&str; 9] = ["\\", "$", "`", "--", "/*", "//", "#", "\0", "\u{1}"];
const COMPARISONS: [&str; 7] = ["=", "<", ">", "<=", ">=", "<>", "!="];
/// Words that end a comparison.
const ENDS: [&str; 5] = ["and", "or", "order", "group", "limit"];
/// Words of queries that are put together, where columns of one label may become one.
const UNITED: [&str; 4] = ["union", "except", "intersect", "minus"];
/// Each is looked for in the whole text: one with more is a list, and not a question by keys.
const LITERALS_MAX: usize = 16;

/// A text without the literals that may differ, and these.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextShape {
    pub text: String,
    pub literals: Vec<String>,
}

impl TextShape {
    /// None where no literal may differ, or where the text is not surely read as it is here.
    pub fn of(text: &str) -> Option<Self> {
        if !text.is_ascii() || ODD.iter().any(|odd| text.contains(odd)) {
            return None;
        }
        let lowered = text.to_ascii_lowercase();
        let row = inserted_row(&lowered);
        let is_united = UNITED.iter().any(|word| lowered.contains(word));
        let may_write = !lowered.trim_start().starts_with("select");
        let mut shape = Self { text: String::with_capacity(text.len()), literals: Vec::new() };
        let (mut at, mut looked_for) = (0, 0);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let token = first_token(rest);
            let behind = rest.get(token.len()..).unwrap_or_default().trim_start();
            let is_inserted = || row.as_ref().is_some_and(|row| row.contains(&at)) && is_value(&shape.text, behind);
            let form = LiteralForm::of(token);
            let is_free = |form: &LiteralForm| {
                is_compared(&shape.text, *form, behind)
                    || !is_united && is_selected(&shape.text, *form, behind)
                    || is_inserted()
            };
            let form = form.filter(is_free);
            looked_for += usize::from(form.is_some());
            if looked_for > LITERALS_MAX {
                return None;
            }
            match form.filter(|_| stands_once(&lowered, token)) {
                Some(form) => shape.add(token, form, may_write),
                None => shape.text.push_str(token),
            }
            at += token.len();
        }
        (!shape.literals.is_empty()).then_some(shape)
    }

    fn add(&mut self, literal: &str, form: LiteralForm, may_write: bool) {
        self.text.push(PLACE);
        match form {
            LiteralForm::Number { whole, fraction } => {
                self.text.push_str(&"w".repeat(whole));
                self.text.push_str(&"f".repeat(fraction));
            }
            LiteralForm::Text => self.text.push_str(&"t".repeat(if may_write { literal.len() } else { 1 })),
            LiteralForm::Day => self.text.push('d'),
            LiteralForm::Uuid { begins_with_digit: true } => self.text.push('u'),
            LiteralForm::Uuid { begins_with_digit: false } => self.text.push('v'),
        }
        self.text.push(PLACE);
        self.literals.push(literal.to_owned());
    }
}

/// Whether a literal behind this is what a column is compared with, and nothing is computed of it.
fn is_compared(head: &str, form: LiteralForm, behind: &str) -> bool {
    let head = unsigned(head, form);
    is_behind_sign(head) && is_end(behind)
        || before_word(head, "between").is_some_and(is_behind_name) && is_end(behind)
        || before_word(head, "and").is_some_and(is_behind_low_end) && is_end(behind)
        || is_behind_list(head) && behind.strip_prefix(')').is_some_and(is_end)
}

/// What stands before a number and its sign.
fn unsigned(head: &str, form: LiteralForm) -> &str {
    let head = head.trim_end();
    let is_number = matches!(form, LiteralForm::Number { .. });
    head.strip_suffix('-').filter(|_| is_number).unwrap_or(head).trim_end()
}

fn is_behind_sign(head: &str) -> bool {
    let left = head.trim_end_matches(['=', '<', '>', '!']);
    head.get(left.len()..).is_some_and(|sign| COMPARISONS.contains(&sign)) && is_behind_name(left)
}

fn is_behind_name(head: &str) -> bool {
    let name = head.trim_end().rsplit(|c: char| !is_of_name(c)).next().unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '"'))
}

/// Whether what stands before AND is the low end of BETWEEN, which may differ too.
fn is_behind_low_end(head: &str) -> bool {
    let place = head.trim_end().strip_suffix(PLACE).and_then(|head| head.rsplit_once(PLACE));
    let Some((head, form)) = place else { return false };
    let signed = head.trim_end().strip_suffix('-').filter(|_| form.starts_with('w'));
    let head = signed.unwrap_or(head);
    before_word(head, "between").is_some_and(is_behind_name)
}

fn is_behind_list(head: &str) -> bool {
    head.strip_suffix('(').and_then(|head| before_word(head, "in")).is_some_and(is_behind_name)
}

/// The text before a word that ends it.
fn before_word<'a>(head: &'a str, word: &str) -> Option<&'a str> {
    let head = head.trim_end();
    let (before, last) = head.split_at_checked(head.len().checked_sub(word.len())?)?;
    (last.eq_ignore_ascii_case(word) && !before.ends_with(is_of_name)).then_some(before)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '"')
}

/// Whether a comparison ends here.
fn is_end(behind: &str) -> bool {
    let behind = behind.trim_start();
    let word = behind.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    behind.is_empty() || behind.starts_with([';', ')']) || ENDS.iter().any(|end| word.eq_ignore_ascii_case(end))
}

/// Whether what stands between these is a value of a row by itself.
fn is_value(head: &str, behind: &str) -> bool {
    let head = head.trim_end();
    let head = head.strip_suffix('-').unwrap_or(head).trim_end();
    head.ends_with(['(', ',']) && behind.starts_with([')', ','])
}

/// Whether a literal behind this is a column of the answer without an alias, behind columns and literals alone.
///
/// One that has an alias may be computed with, by that.
fn is_selected(head: &str, form: LiteralForm, behind: &str) -> bool {
    const SELECT: &str = "select";
    const BRACKETS: [char; 3] = ['(', '[', '{'];
    let head = unsigned(head, form).trim_start();
    let listed = head.split_at_checked(SELECT.len()).filter(|(word, _)| word.eq_ignore_ascii_case(SELECT));
    let Some((_, list)) = listed else { return false };
    let is_plain = |item: &str| match item.split_ascii_whitespace().collect::<Vec<_>>().as_slice() {
        [_] => true,
        [_, word, _] => word.eq_ignore_ascii_case("as"),
        _ => false,
    };
    let is_plain_list = |items: &str| {
        let is_begun = items.starts_with(|c: char| c.is_ascii_whitespace());
        is_begun && !items.contains(BRACKETS) && items.split(',').all(is_plain)
    };
    let is_next = list.is_empty() || list.strip_suffix(',').is_some_and(is_plain_list);
    is_next && is_item_end(behind)
}

/// Whether a column of the answer that has no alias ends here.
fn is_item_end(behind: &str) -> bool {
    let word = behind.split(|c: char| !is_of_name(c)).next().unwrap_or_default();
    behind.is_empty() || behind.starts_with([';', ',']) || word.eq_ignore_ascii_case("from")
}

/// Where the values of an INSERT of one row of literals stand in its text, which is in lower case.
fn inserted_row(text: &str) -> Option<Range<usize>> {
    let head = text.trim_start().strip_prefix("insert into ")?;
    let (head, row) = head.split_once("values")?;
    let row = row.trim_start().strip_prefix('(')?;
    let trimmed = row.trim_end_matches([';', ' ', '\n', '\r', '\t']);
    let values = trimmed.strip_suffix(')')?;
    let is_word = head.ends_with(|c: char| c.is_ascii_whitespace() || c == ')');
    let is_one = is_word && !values.contains(['(', ')']) && !head.contains("select");
    let begin = text.len() - row.len();
    is_one.then_some(begin..begin + values.len())
}

/// Whether nothing in a text, which is in lower case, is this literal but itself.
fn stands_once(text: &str, literal: &str) -> bool {
    let literal = literal.to_ascii_lowercase();
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let stands = |at: usize| {
        let (before, behind) = (text.get(..at), text.get(at + literal.len()..));
        !before.is_some_and(|before| before.ends_with(joins)) && !behind.is_some_and(|behind| behind.starts_with(joins))
    };
    text.match_indices(&literal).filter(|(at, _)| stands(*at)).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(text: &str) -> Vec<String> {
        TextShape::of(text).map(|shape| shape.literals).unwrap_or_default()
    }

    #[test]
    fn a_literal_that_a_column_is_compared_with_may_differ() {
        for (text, expected) in [
            ("select * from t where id = 4711", "4711"),
            ("select * from t where id=47 and \"B\" <> 12 order by 1 limit 20;", "47 12"),
            ("select a from t1 where (t1.id >= 100) or x != 99", "100 99"),
            ("select a from t where note = 'id = 12' and id = 13", "13"),
            ("select a from t where id = 7", "7"),
            ("select a from t12 where id = 12", "12"),
            ("select a from t where id = 12.5 or id = 0", "12.5 0"),
            ("select a from t where id = -12 and b < - 3", "12 3"),
            ("select a from t where id in (12) and b not in (-3)", "12 3"),
            ("select a from t where id between 12 and 13 and c = 4", "12 13 4"),
            ("select a from t where id BETWEEN -5 AND -3", "5 3"),
            ("select a from t where name = 'Ada' and region<>'EU'", "'Ada' 'EU'"),
            ("select a from t where name between 'a' and 'b'", "'a' 'b'"),
            ("select a from t where day between '2024-01-01' and '2024-01-31'", "'2024-01-01' '2024-01-31'"),
            ("delete from t where id = 12", "12"),
            ("update t set a = a + 12 where id = 13", "13"),
        ] {
            assert_eq!(literals(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn the_values_of_one_row_may_differ() {
        for (text, expected) in [
            ("insert into t values (12, 'Ada', -1.5, null)", "12 'Ada' 1.5"),
            ("INSERT INTO main.t (id, name) VALUES(12,'Ada');\n", "12 'Ada'"),
            ("insert into t values (12, 12, 13)", "13"),
            ("insert into t values (12 + 1, 13)", "13"),
        ] {
            assert_eq!(literals(text).join(" "), expected, "{text}");
        }
        for text in [
            "insert into t values (12), (13)",
            "insert into t values (f(12), 13)",
            "insert into t values (12) returning id",
            "insert into t select * from s where f(12, 13)",
            "insert into t select a, b values (12, 13)",
        ] {
            assert_eq!(literals(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_column_of_the_answer_may_differ() {
        for (text, expected) in [
            ("select 12", "12"),
            (" SELECT 12;", "12"),
            ("select -12, -3 , 4.5,'Ada'", "12 3 4.5 'Ada'"),
            ("select a, t.\"B\", *, 12 from t where id = 13", "12 13"),
            ("select 12 as twelve, a AS \"A\", 13\nfrom t limit 5", "13"),
            ("select 'Ada', '2024-01-31'", "'Ada' '2024-01-31'"),
            ("select 12, 12, 13", "13"),
            ("select 012, 1234567890, 13", "13"),
        ] {
            assert_eq!(literals(text).join(" "), expected, "{text}");
        }
        for text in [
            "select 12 twelve",
            "select 12 as twelve",
            "select 12 + 1",
            "select 12::bigint",
            "select 12 order by 1",
            "select 12 union select 13",
            "select 12 from t union all by name select * from s",
            "select -(-12)",
            "select - -12",
            "select distinct 12",
            "select top 12 from t",
            "select top 5 12 from t",
            "select 1 limit 5, 12",
            "select 1 order by 1, 12",
            "select f(a, 12)",
            "select [a, 12]",
            "select {'a': 7, 'b': 7}, 12",
            "select case a when b then c else d, 12",
            "select 12 = a",
            "select 12 fromage",
            "select \"12\", 12",
            "selected, 12",
            "with x as (select 12) select 12 from x",
            "explain select 12",
        ] {
            assert_eq!(literals(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn no_other_literal_differs() {
        for text in [
            "select a from t limit 12",
            "select a from t order by 12",
            "select a from t where id = 012",
            "select a from t where id = 1234567890",
            "select a from t where id = 12 + 1",
            "select a from t where id = - -12",
            "select a from t where id - 12",
            "select a from t where id in (12, 13)",
            "select a from t where id in (12 + 1)",
            "select a from t where id between 12 + 1 and 13 + 1",
            "select a from t where a = b and 13",
            "select a from t where a between b and 13",
            "select a from t where 10 = 12",
            "select f(x => 12) from t",
            "select a from t where id = 12 -- and more",
            "select a from t where id /* = */ = 12",
            "select a from t where b = 'it\\'s' and id = 12",
            "select a from t where id = $1 and b = 12",
            "select a from t where b = 'open and id = 12",
            "select a from t where b = 'it''s'",
            "select a from t where b = '\0' and id = 12",
            "select a from t where b = 'a' 'b'",
            "select a from t where b = E'a' and c = date '2024-01-31'",
            "select a from t where b like 'a'",
            "select a from t where b = 'true' or b = '12'",
            "select case when id = 12 then 1 end from t",
            "select listagg(distinct a = 12) within group (order by a = 12) from t",
            "select a = 'x' from t order by \"A = 'X'\"",
            "select 12 as twelve from t where id = 12",
            "select a from t where id = 5 limit 5",
        ] {
            assert_eq!(literals(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_list_of_keys_has_no_shape() {
        let keyed = |count: usize| {
            let keys: Vec<_> = (100..100 + count).map(|key| format!("id = {key}")).collect();
            TextShape::of(&format!("select a from t where {}", keys.join(" or ")))
        };
        assert!(keyed(LITERALS_MAX).is_some());
        assert!(keyed(LITERALS_MAX + 1).is_none());
        let repeated = format!("select a from t where id = 7{}", " or id = 12".repeat(LITERALS_MAX));
        assert_eq!(TextShape::of(&repeated), None, "each would be looked for in all of it");
    }

    #[test]
    fn texts_of_one_shape_have_literals_of_the_same_forms() {
        let shape = |text: &str| TextShape::of(text).unwrap().text;
        let twelve = shape("select a from t where id = 12");
        assert_eq!(twelve, shape("select a from t where id = 99"));
        for other in ["id = 123", "id < 12", "id = -12", "id = 1.2", "id = 'ab'", "id in (12)"] {
            assert_ne!(twelve, shape(&format!("select a from t where {other}")), "{other}");
        }
        assert_eq!(shape("select a from t where b = 'x'"), shape("select a from t where b = 'Ada Lovelace'"));
        for written in ["insert into t values (12, 'Ada')", "update t set a = 'Ada'", "delete from t where a = 'Ada'"] {
            assert_eq!(shape(written), shape(&written.replace("Ada", "Bob")), "{written}");
            assert_ne!(shape(written), shape(&written.replace("Ada", "Adam")), "{written}");
        }
        assert_ne!(
            shape("select a from t where x = 3 and y = 3 and z = 4"),
            shape("select a from t where x = 5 and y = 5 and z = 4")
        );
    }
}

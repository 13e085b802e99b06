//! Items of a select list: expressions, and the columns that `*` stands for.

use sqlparser::ast::{ExcludeSelectItem, Expr, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions};

use super::{FromItem, LineageWalk, Output, budget};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::{names, star};

/// Columns that a `*` may bring a relation to: one of all columns of another twice doubles them.
pub(super) const COLUMNS_MAX: usize = 10_000;

impl LineageWalk<'_> {
    /// Adds the columns of one item; whether these are all.
    pub(super) fn item(&mut self, item: &SelectItem, outputs: &mut Vec<Output>) -> bool {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    Expr::Identifier(ident) => ident.value.clone(),
                    Expr::CompoundIdentifier(path) => path.last().map_or_else(String::new, |ident| ident.value.clone()),
                    other => crate::print::label(other).unwrap_or_default(),
                };
                let output = self.output(expr, &name);
                outputs.push(output);
                true
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let output = self.output(expr, &alias.value);
                outputs.push(output);
                true
            }
            SelectItem::Wildcard(options) => {
                let sources = self.scopes.last().cloned().unwrap_or_default();
                self.star(&sources, options, outputs)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let wanted = names::last(name).map_or("", |ident| ident.value.as_str());
                let found = self.sources().find(|source| source.alias.eq_ignore_ascii_case(wanted)).cloned();
                let Some(mut source) = found else {
                    return false;
                };
                source.merged = std::rc::Rc::default();
                self.star(&[source], options, outputs)
            }
            _ => false,
        }
    }

    fn star(&mut self, sources: &[FromItem], options: &WildcardAdditionalOptions, outputs: &mut Vec<Output>) -> bool {
        let excluded = excluded(options);
        let pattern = options.opt_ilike.as_ref().map(|ilike| ilike.pattern.as_str());
        let mut counted = !sources.is_empty();
        for source in sources {
            counted &= source.open.is_none();
            for output in &source.outputs {
                if !self.work.spend(budget::COLUMN + excluded.len()) || !self.has_room(outputs) {
                    return false;
                }
                if excluded.iter().any(|name| name.eq_ignore_ascii_case(&output.name)) || !source.shows(&output.name) {
                    continue;
                }
                match pattern.map(|pattern| is_like(&output.name, pattern)) {
                    Some(Some(false)) => continue,
                    Some(None) => counted = false,
                    _ => {}
                }
                let starred = self.starred(output, options);
                self.found.touched.extend(&starred.reached);
                outputs.push(starred);
            }
            if let Some(reached) = &source.open {
                self.found.reached.extend(reached);
                self.found.touched.extend(reached);
            }
        }
        counted
    }

    /// Whether one more column is not too many; else it is refused.
    fn has_room(&mut self, outputs: &[Output]) -> bool {
        let has_room = outputs.len() < COLUMNS_MAX;
        if !has_room {
            let what =
                format!("a relation of more than {COLUMNS_MAX} columns; name those that are needed in place of *");
            self.found.refused.get_or_insert_with(|| Error::new(ErrorKind::TooLarge, what));
            self.work.end();
        }
        has_room
    }

    /// A column of `*`, replaced or renamed if the options say so.
    fn starred(&mut self, output: &Output, options: &WildcardAdditionalOptions) -> Output {
        let name = output.name.clone();
        let mut output = output.clone();
        self.work.spend(budget::held(&output.reached));
        let replaced = options.opt_replace.iter().flat_map(|replace| &replace.items);
        for element in replaced.filter(|element| element.column_name.value.eq_ignore_ascii_case(&name)) {
            output = self.output(&element.expr, &name);
        }
        for item in star::renamed(options).iter().filter(|item| item.ident.value.eq_ignore_ascii_case(&name)) {
            output.name.clone_from(&item.alias.value);
        }
        output
    }
}

/// Whether the engine's ILIKE holds: `%` stands for any text, `_` for a character, and nothing escapes them. None where its
/// lower case may be another than ours.
fn is_like(name: &str, pattern: &str) -> Option<bool> {
    if !name.is_ascii() || !pattern.is_ascii() {
        return None;
    }
    let (name, pattern) = (name.as_bytes(), pattern.as_bytes());
    // where the last `%` stands, and where what it stands for ends
    let mut any: Option<(usize, usize)> = None;
    let (mut at, mut read) = (0, 0);
    while let Some(letter) = name.get(at) {
        match pattern.get(read) {
            Some(b'%') => {
                any = Some((read, at));
                read += 1;
            }
            Some(wanted) if *wanted == b'_' || wanted.eq_ignore_ascii_case(letter) => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((place, end)) = any else { return Some(false) };
                any = Some((place, end + 1));
                (at, read) = (end + 1, place + 1);
            }
        }
    }
    Some(pattern.get(read..).unwrap_or_default().iter().all(|rest| *rest == b'%'))
}

fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    let mut names: Vec<String> = match &options.opt_exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => {
            names::last(name).into_iter().map(|ident| ident.value.clone()).collect()
        }
        Some(ExcludeSelectItem::Multiple(many)) => {
            many.iter().filter_map(names::last).map(|ident| ident.value.clone()).collect()
        }
    };
    if let Some(except) = &options.opt_except {
        names.push(except.first_element.value.clone());
        names.extend(except.additional_elements.iter().map(|ident| ident.value.clone()));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_columns_is_read_as_the_engine_reads_it() {
        let like = |name, pattern| is_like(name, pattern).unwrap();
        assert!(like("ssn", "%S%") && like("SSN", "s_n") && like("ssn", "ssn") && like("", "%") && like("a%b", "a%"));
        assert!(like("aXbXc", "a%x%c") && like("abab", "%ab") && like("aab", "%%ab%"));
        assert!(
            !like("ssn", "s") && !like("ssn", "%x%") && !like("ss", "s_n") && !like("ssn", "") && !like("a", "\\%")
        );
        assert_eq!(is_like("größe", "gr%"), None);
        assert_eq!(is_like("size", "ſ%"), None);
    }
}

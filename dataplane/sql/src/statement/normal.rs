//! One form of what can be written in several: FROM first, and parameters.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Select, SelectFlavor, SelectItem, Statement, Value, ValueWithSpan, VisitMut, VisitorMut, WildcardAdditionalOptions,
};

use crate::error::{Error, Kind};

/// Parameters of one statement, as in the wire protocol.
const PARAMETERS_MAX: usize = 65_535;

pub(super) fn form(tree: &mut Statement) -> Result<(), Error> {
    let mut form = Form::default();
    match tree.visit(&mut form) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

#[derive(Default)]
struct Form {
    questions: usize,
    numbered: bool,
}

impl Form {
    fn parameter(&mut self, name: &str) -> Result<usize, Error> {
        if name == "?" {
            self.questions += 1;
        }
        let number = if name == "?" { Some(self.questions) } else { name.strip_prefix('$').and_then(number) };
        self.numbered |= name != "?";
        if self.numbered && self.questions > 0 {
            return Err(Error::syntax("parameters are written $1 or ?, not both in one statement"));
        }
        match number {
            Some(number) if number <= PARAMETERS_MAX => Ok(number),
            Some(_) => Err(Error::new(Kind::TooLarge, format!("a statement may have {PARAMETERS_MAX} parameters"))),
            None => Err(Error::syntax(format!("parameters are written $1 or ?, not {name}"))),
        }
    }
}

/// `0` is no number of a parameter, nor is `01`.
fn number(digits: &str) -> Option<usize> {
    let plain = !digits.starts_with('0') && digits.chars().all(|c| c.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

impl VisitorMut for Form {
    type Break = Error;

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Error> {
        if let Value::Placeholder(name) = &value.value {
            match self.parameter(name) {
                Ok(number) => value.value = Value::Placeholder(format!("${number}")),
                Err(error) => return ControlFlow::Break(error.at(value.span.start)),
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        select.flavor = SelectFlavor::Standard;
        ControlFlow::Continue(())
    }
}

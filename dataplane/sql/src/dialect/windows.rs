//! Functions of a window: `RATIO_TO_REPORT`, `NTH_VALUE … FROM LAST`, frames that are the whole partition, `SEQ4`.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArguments, NamedWindowDefinition, NamedWindowExpr,
    OrderByExpr, OrderByOptions, OrderBySort, Select, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec,
    WindowType,
};

use super::aggregates::{arguments, put, rename};
use super::call::{Handler, written_name};
use super::{Context, compose, templates};
use crate::ast::error::Error;
use crate::ast::names::{self, ours::GENERATED};
use crate::functions::catalogue::{self, RowOrder};
use crate::functions::types::Type;
use crate::syntax::parse::from_last::FROM_LAST;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["conditional_true_event"], conditional_true_event),
    (&["first_value", "last_value", "nth_value"], of_partition),
    (&[FROM_LAST], from_last),
    (&["ratio_to_report"], ratio_to_report),
    (&["seq1", "seq2", "seq4", "seq8"], sequence),
];

fn windowed(function: &Function) -> Result<(), Error> {
    if function.over.is_some() {
        return Ok(());
    }
    Err(Error::unsupported(format!("{} without OVER", function.name.to_string().to_ascii_uppercase())))
}

/// `RATIO_TO_REPORT(x) OVER (…)`.
fn ratio_to_report(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    windowed(&function)?;
    let [value] = arguments::<1>("ratio_to_report", &mut function)?;
    context.copy(templates::size(&value))?;
    put(&mut function, [value.clone()]);
    rename(&mut function, "sum");
    let total = compose::call("nullif", [Expr::Function(function), compose::number(0)]);
    Ok(compose::binary(value, BinaryOperator::Divide, total))
}

/// `CONDITIONAL_TRUE_EVENT(c) OVER (…)`: counts the rows so far where it was true.
fn conditional_true_event(mut function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    windowed(&function)?;
    let [condition] = arguments::<1>("conditional_true_event", &mut function)?;
    let one = compose::case(None, vec![(condition, compose::number(1))], Some(compose::number(0)));
    put(&mut function, [one]);
    rename(&mut function, "sum");
    frame(&mut function, WindowFrameBound::CurrentRow);
    Ok(Expr::Function(function))
}

/// ROWS from the first one to this end, where the window is ordered and has no frame of its own.
fn frame(function: &mut Function, end: WindowFrameBound) {
    if let Some(WindowType::WindowSpec(window)) = &mut function.over
        && !window.order_by.is_empty()
        && window.window_frame.is_none()
    {
        window.window_frame = Some(WindowFrame {
            units: WindowFrameUnits::Rows,
            start_bound: WindowFrameBound::Preceding(None),
            end_bound: Some(end),
        });
    }
}

/// `FIRST_VALUE`, `LAST_VALUE` and `NTH_VALUE` are of the whole partition; the engine ends at the row itself.
#[expect(clippy::unnecessary_wraps, reason = "it is a handler like the others")]
fn of_partition(mut function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    frame(&mut function, WindowFrameBound::Following(None));
    Ok(Expr::Function(function))
}

/// Counted from the end is counted from the start of the opposite order, over the opposite frame.
fn from_last(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let window = match &mut function.over {
        Some(WindowType::WindowSpec(window)) if window.window_name.is_none() && !window.order_by.is_empty() => window,
        _ => return Err(Error::unsupported("NTH_VALUE … FROM LAST without ORDER BY in its OVER")),
    };
    for key in &mut window.order_by {
        let OrderByOptions { sort, nulls_first } = &mut key.options;
        let descends = matches!(sort, Some(OrderBySort::Desc));
        *nulls_first = Some(!nulls_first.unwrap_or(descends));
        *sort = Some(if descends { OrderBySort::Asc } else { OrderBySort::Desc });
    }
    if let Some(frame) = &mut window.window_frame {
        let end = frame.end_bound.take().unwrap_or(WindowFrameBound::CurrentRow);
        let start = std::mem::replace(&mut frame.start_bound, opposite(end));
        frame.end_bound = Some(opposite(start));
    }
    rename(&mut function, "nth_value");
    of_partition(function, context)
}

fn opposite(bound: WindowFrameBound) -> WindowFrameBound {
    match bound {
        WindowFrameBound::CurrentRow => WindowFrameBound::CurrentRow,
        WindowFrameBound::Preceding(rows) => WindowFrameBound::Following(rows),
        WindowFrameBound::Following(rows) => WindowFrameBound::Preceding(rows),
    }
}

/// Refuses windows that the engine takes otherwise than they are written.
pub(super) fn check(expr: &Expr, context: &Context<'_>) -> Result<(), Error> {
    let Expr::Function(function) = expr else { return Ok(()) };
    let Some(WindowType::WindowSpec(window)) = &function.over else { return Ok(()) };
    if is_ordered_within(function)
        && let Some(name) = ["lead", "lag"].into_iter().find(|name| compose::is_call_of(function, name))
    {
        // in some frames the engine leaves the order out (duckdb/duckdb#25699)
        let name = name.to_ascii_uppercase();
        return Err(Error::unsupported(format!("ORDER BY in the arguments of {name}")));
    }
    check_range(window, context)
}

/// The same of the windows that a select names.
pub(super) fn check_named(select: &Select, context: &Context<'_>) -> Result<(), Error> {
    let mut windows = select.named_window.iter().filter_map(|NamedWindowDefinition(_, window)| match window {
        NamedWindowExpr::WindowSpec(window) => Some(window),
        NamedWindowExpr::NamedWindow(_) => None,
    });
    windows.try_for_each(|window| check_range(window, context))
}

fn is_ordered_within(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else { return false };
    list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_)))
}

/// An interval has more than one form, and the engine finds the edge of a range by one of them (duckdb/duckdb#24631).
fn check_range(window: &WindowSpec, context: &Context<'_>) -> Result<(), Error> {
    let is_range = window.window_frame.as_ref().is_some_and(|frame| {
        let reaches = |bound: &WindowFrameBound| {
            matches!(bound, WindowFrameBound::Preceding(Some(_)) | WindowFrameBound::Following(Some(_)))
        };
        frame.units == WindowFrameUnits::Range
            && (reaches(&frame.start_bound) || frame.end_bound.as_ref().is_some_and(reaches))
    });
    if is_range && window.order_by.iter().any(|key| context.type_of(&key.expr) == Type::Interval) {
        return Err(Error::unsupported("RANGE over a key that is an INTERVAL"));
    }
    Ok(())
}

/// The most rows that a frame reaches: the engine adds more than that to a row's number, which overflows
/// (duckdb/duckdb#24307).
const REACH_MAX: i64 = 1_000_000_000_000_000;

/// Frames that reach farther than any table has rows end there.
pub(super) fn reach(function: &mut Function) {
    let Some(WindowType::WindowSpec(window)) = &mut function.over else { return };
    let Some(frame) = &mut window.window_frame else { return };
    if frame.units == WindowFrameUnits::Range {
        return;
    }
    for bound in [Some(&mut frame.start_bound), frame.end_bound.as_mut()].into_iter().flatten() {
        if let WindowFrameBound::Preceding(Some(rows)) | WindowFrameBound::Following(Some(rows)) = bound
            && compose::integer(rows).is_some_and(|rows| rows > REACH_MAX)
        {
            **rows = compose::number(REACH_MAX);
        }
    }
}

/// `OVER (ORDER BY SEQ4())` is the order the rows come in: a window in a window is nothing the engine has.
pub(super) fn order_of_rows(function: &mut Function) {
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        let is_sequence = |key: &OrderByExpr| {
            matches!(&key.expr, Expr::Function(inner) if names::single(&inner.name)
                .and_then(|name| catalogue::find(&name.value)).is_some_and(|known| known.order == Some(RowOrder::Numbers)))
        };
        window.order_by.retain(|key| !is_sequence(key));
    }
}

/// `SEQ4()`: 0, 1, 2 … over the rows. Those of one and two bytes begin anew where their numbers end: at 0, or with a sign
/// at the least of them. Nobody has the rows for the end of the others.
fn sequence(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let args = super::call::plain(function)?;
    let has_sign = match args.iter().map(compose::integer).collect::<Vec<_>>().as_slice() {
        [] | [Some(0)] => false,
        [Some(1)] => true,
        _ => return Err(Error::unsupported(format!("{} of anything but 0 and 1", name.to_ascii_uppercase()))),
    };
    let number = number_of_row(context);
    let size: i64 = match name.as_str() {
        "seq1" => 1 << 8,
        "seq2" => 1 << 16,
        _ => return Ok(number),
    };
    if has_sign {
        let (half, size) = (compose::number(size / 2), compose::number(size));
        return templates::fill("_wrapped_signed", &mut [number, half, size], context);
    }
    templates::fill("_wrapped", &mut [number, compose::number(size)], context)
}

/// The number of the row, from 0. Rows that GENERATOR makes have theirs, which an aggregate and a condition can read too.
fn number_of_row(context: &Context<'_>) -> Expr {
    if let Some(generated) = context.scopes.only_relation_with(GENERATED) {
        return Expr::CompoundIdentifier(vec![names::quoted(generated), names::quoted(GENERATED)]);
    }
    let mut number = compose::function("row_number", []);
    number.over = Some(WindowType::WindowSpec(WindowSpec {
        window_name: None,
        partition_by: Vec::new(),
        order_by: Vec::new(),
        window_frame: None,
    }));
    compose::binary(Expr::Function(number), BinaryOperator::Minus, compose::number(1))
}

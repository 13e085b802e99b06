//! WITH queries that read themselves.
//!
//! What a round hands on to the next is found by walking the query again, until a round finds nothing new: a column
//! may be made of a masked one only in the third round, and of another in the fourth. What was found stays for when
//! the query is walked again, inside of another that reads itself: so one round is enough then, and rounds of rounds
//! do not multiply.

use std::ops::ControlFlow;

use sqlparser::ast::{Cte, ObjectName, SetExpr, SetOperator};

use super::{LineageWalk, Output, extend, renamed};
use crate::ast::{Visit, visit_relations};
use crate::functions::types::Type;
use crate::scan::marker::{self, Marked};

impl LineageWalk<'_> {
    /// The columns of a recursive query: what its first arm has stands for it where it reads itself.
    pub(in crate::govern) fn recursive(&mut self, cte: &Cte, number: usize) -> (Vec<Output>, bool) {
        let query = &cte.query;
        let SetExpr::SetOperation { left, right, set_quantifier, op } = query.body.as_ref() else {
            return renamed(self.query(query), &cte.alias);
        };
        let meets = *op != SetOperator::Union;
        self.found.failing.meets |= meets;
        let known = self.with.get(&number).cloned();
        self.before(query);
        let mut first = self.early(meets, |walk| walk.body(left));
        let mut known_first = renamed(first.clone(), &cte.alias);
        for output in &mut known_first.0 {
            output.width = None; // a later round may have wider numbers
        }
        self.with.insert(number, known_first);
        // the engine does not let the first arm read the query; should it, that is walked again too
        let first_reads = reads(left.as_ref(), number);
        // what was walked before anything was known of it
        let mut is_behind = known.is_none() && (first_reads || reads(&query.with, number));
        if let Some((known, _)) = known {
            self.learn(number, &known);
        }
        loop {
            let second = self.early(meets, |walk| walk.body(right));
            let fits = second.1 && fits(&first.0, &second.0);
            let columns = self.united(first.clone(), second, *set_quantifier, meets);
            self.behind(query, &columns);
            let columns = renamed(columns, &cte.alias);
            let is_new = self.learn(number, &columns.0);
            if self.work.is_spent() || !is_new && !is_behind {
                self.throws(!fits);
                return columns;
            }
            is_behind = false;
            self.before(query);
            if first_reads {
                first = self.early(meets, |walk| walk.body(left));
            }
        }
    }

    /// Adds what a round found to what the query reads of itself; whether any of it was new.
    fn learn(&mut self, number: usize, found: &[Output]) -> bool {
        let Some((known, _)) = self.with.get_mut(&number) else { return false };
        let mut is_new = false;
        for (output, found) in known.iter_mut().zip(found) {
            let before = (output.reached.len(), output.direct.is_some());
            extend(&mut output.reached, &found.reached);
            output.direct = output.direct.or(found.direct);
            is_new |= before != (output.reached.len(), output.direct.is_some());
        }
        is_new
    }
}

/// Whatever the second arm makes is cast to the types of the first.
fn fits(first: &[Output], second: &[Output]) -> bool {
    first.iter().zip(second).all(|(output, other)| {
        // a constant's type may be shorter than it is taken for; what the query reads of itself has no width
        let is_as_wide = other.width.is_none() || output.width == other.width;
        let is_one_type = output.kind == other.kind && output.exact == other.exact && is_as_wide;
        let is_known = match output.kind {
            Type::Unknown => false,
            Type::Integer | Type::Decimal => output.exact.is_some(),
            _ => true,
        };
        other.is_null || output.holds(other) || is_one_type && is_known
    })
}

/// Whether this part names the WITH query of this number.
fn reads<T: Visit>(part: &T, number: usize) -> bool {
    let is_one = |name: &ObjectName| match marker::read(name) {
        Some(Marked::With(named)) if named == number => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_relations(part, is_one).is_break()
}

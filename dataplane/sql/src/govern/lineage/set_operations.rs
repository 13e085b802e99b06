//! Columns of several queries or rows together: set operations and VALUES.
//!
//! Values of two types become values of one, and a cast to it can fail: a text that is no JSON, a day that no
//! TIMESTAMP holds.

use sqlparser::ast::{SetQuantifier, Values};

use super::{LineageWalk, Output, extend};
use crate::functions::types::Type;

/// The columns of a query, and whether these are all.
type QueryOutputs = (Vec<Output>, bool);

impl LineageWalk<'_> {
    /// The columns of a set operation of these two; `meets` where rows of one are compared with rows of the other.
    pub(super) fn united(
        &mut self,
        left: QueryOutputs,
        right: QueryOutputs,
        rows: SetQuantifier,
        meets: bool,
    ) -> QueryOutputs {
        use SetQuantifier as Q;
        let counted = left.1 && right.1;
        let is_all = matches!(rows, Q::All | Q::AllByName);
        let united = if matches!(rows, Q::ByName | Q::AllByName | Q::DistinctByName) {
            self.by_name(left.0, right.0)
        } else {
            self.by_place(left.0, &right.0)
        };
        let keeps_one = meets || !is_all;
        self.found.failing.by_order |= keeps_one && united.iter().any(|output| output.has_indistinct_values);
        self.early(meets, |walk| walk.throws(!counted));
        (united, counted)
    }

    fn by_place(&mut self, mut left: Vec<Output>, right: &[Output]) -> Vec<Output> {
        for (output, other) in left.iter_mut().zip(right) {
            self.throws(!output.unites(other));
            output.exact = output.exact.take().zip(other.exact.clone()).and_then(|(one, other)| one.wider(other));
            output.width = output.width.zip(other.width).map(|(one, other)| one.of_either(other));
            output.take_in(other);
        }
        left
    }

    fn by_name(&mut self, mut left: Vec<Output>, right: Vec<Output>) -> Vec<Output> {
        for output in right {
            self.work.spend(left.len());
            match left.iter_mut().find(|known| known.name.eq_ignore_ascii_case(&output.name)) {
                Some(known) => {
                    self.throws(!known.unites(&output));
                    (known.exact, known.width) = (None, None);
                    known.take_in(&output);
                    if known.kind.is_number() {
                        known.kind = Type::Unknown;
                    }
                }
                None => left.push(output),
            }
        }
        left
    }

    /// The columns of rows that are written out.
    pub(super) fn values(&mut self, values: &Values) -> Vec<Output> {
        let mut outputs: Vec<Output> = Vec::new();
        for row in &values.rows {
            for (i, expr) in row.content.iter().enumerate() {
                let made = self.output(expr, &format!("col{i}"));
                match outputs.get_mut(i) {
                    Some(output) => {
                        self.throws(!output.unites(&made));
                        (output.exact, output.width) = (None, None);
                        output.take_in(&made);
                    }
                    None => outputs.push(made),
                }
            }
        }
        outputs
    }
}

impl Output {
    /// Whether values of both become values of one type without one that does not fit it.
    fn unites(&self, other: &Self) -> bool {
        self.is_null || other.is_null || self.shape().compares(&other.shape()) || self.holds(other) || other.holds(self)
    }

    /// Whether it is text, and the other something that becomes text beside it.
    pub(super) fn holds(&self, other: &Self) -> bool {
        let becomes_text = matches!(
            other.kind,
            Type::Boolean
                | Type::Integer
                | Type::Decimal
                | Type::Double
                | Type::Text
                | Type::Date
                | Type::Time
                | Type::Timestamp
                | Type::TimestampTz
                | Type::Interval
                | Type::Uuid
        );
        self.kind == Type::Text && becomes_text
    }

    /// What the other is made of too.
    fn take_in(&mut self, other: &Self) {
        extend(&mut self.reached, &other.reached);
        self.direct = self.direct.or(other.direct);
        if self.kind != other.kind {
            self.kind = Type::Unknown;
        }
        self.is_null &= other.is_null;
        self.has_indistinct_values |= other.has_indistinct_values;
    }
}

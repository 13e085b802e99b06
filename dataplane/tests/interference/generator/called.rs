//! Calls of every function of the list, with arguments of every kind: what it answers, and what it fails on.

use std::sync::LazyLock;

use sql::functions::catalogue::{Class, FunctionKind, all};

use super::Dice;

/// Of the functions whose answers follow from their arguments.
struct Names {
    scalars: Vec<&'static str>,
    aggregates: Vec<&'static str>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let of = |kind: FunctionKind| {
        let is_one = |function: &sql::functions::catalogue::Function| {
            function.is_of_engine()
                && function.is(kind)
                && matches!(function.class, Class::Safe | Class::Throwing)
                && function.name.starts_with(|first: char| first.is_ascii_alphabetic())
        };
        all().filter(is_one).map(|function| function.name).collect()
    };
    Names { scalars: of(FunctionKind::Scalar), aggregates: of(FunctionKind::Aggregate) }
});

impl Dice {
    fn argument(&self) -> String {
        match self.below(12) {
            0 | 1 => self.int(0),
            2..=4 => self.text(0),
            5 => self.date(),
            6 => self
                .one(&["c.tags", "o.amount", "c.score", "c.born::timestamp", "c.id::bigint", "c.name::blob"])
                .to_owned(),
            7 => self.one(&["'%Y'", "'day'", "'$.city'", "'[a-z]+'", "'UTC'", "'utf8'", "','"]).to_owned(),
            8 => self.one(&["[c.id, o.id]", "split(c.name, 'l')", "[c.salary]", "array[c.name, c.ssn]"]).to_owned(),
            9 => self.one(&["true", "null", "1.5", "-1", "9999999999", "interval '1 day'", "0"]).to_owned(),
            10 => self.bool(0),
            _ => self.scalar(),
        }
    }

    fn scalar(&self) -> String {
        let arguments: Vec<String> = (0..self.below(4)).map(|_| self.argument()).collect();
        format!("{}({})", self.one(&NAMES.scalars), arguments.join(", "))
    }

    /// A query in which one stands where its error is met first, last or perhaps.
    pub(super) fn called(&self) -> String {
        let (from, call, where_) = (self.from(), self.scalar(), self.bool(1));
        match self.below(8) {
            0 => format!("select c.id, {call} as v from {from}"),
            1 => format!("select c.id from {from} where {call} is not null"),
            2 => format!("select {call} as v, count(*) from {from} where {where_} group by 1"),
            3 => format!("select c.id, o.id from {from} where {where_} order by {call}, c.id, o.id limit 2"),
            4 => format!("select c.id, case when {where_} then {call} end as v from {from}"),
            5 => {
                let arguments: Vec<String> = (0..=self.below(2)).map(|_| self.argument()).collect();
                format!(
                    "select {}({}) as v from {from} where {where_}",
                    self.one(&NAMES.aggregates),
                    arguments.join(", ")
                )
            }
            6 => format!("select count(*) from customer c left join orders o on {call} = {}", self.argument()),
            _ => format!("select distinct {call} as v from {from} where {where_}"),
        }
    }
}

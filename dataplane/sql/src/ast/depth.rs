//! The bound on the stack that a statement may use.
//!
//! How deep one nests is bounded before it is parsed; a rewrite makes it a few times deeper still. Trees are walked,
//! copied and dropped by recursion, also by code that is not ours, so the bound is kept by the room that a thread has.

/// The stack of every thread that statements pass through, in bytes. Only what is used of it is memory.
pub const STACK_BYTES: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::STACK_BYTES;
    use crate::ast::error::ErrorKind;
    use crate::testing::{analyst, engine};

    /// The tree of `levels` of this shape: what opens, what is inside of all, what closes.
    fn nested((open, inmost, close): (&str, &str, &str), levels: usize) -> String {
        format!("select {}{inmost}{} from customers", open.repeat(levels), close.repeat(levels))
    }

    /// How many levels of the shape are not too many.
    fn deepest(shape: (&str, &str, &str)) -> usize {
        let fits = |levels: usize| {
            !engine(&nested(shape, levels), &analyst()).is_err_and(|error| error.kind == ErrorKind::TooDeep)
        };
        let (mut fitting, mut too_many) = (0, 1_000);
        while too_many - fitting > 1 {
            let between = usize::midpoint(fitting, too_many);
            if fits(between) { fitting = between } else { too_many = between }
        }
        fitting
    }

    #[test]
    fn the_deepest_statement_of_every_shape_fits_the_stack_of_a_thread() {
        let shapes = [
            ("(", "1", ")"),
            ("1 / (", "2", ")"),
            ("", "8", " / id"),
            ("1 % (", "id", ")"),
            ("iff(id = 1, ", "1", ", 0)"),
            ("case when ", "id = 1", " then true else false end"),
            ("not ", "true", ""),
            ("- ", "1", ""),
            ("", "id", "::varchar"),
            ("nvl(div0(1, ", "id", "), 2)"),
            ("dateadd(day, 1, to_date(", "name", "))"),
            ("to_varchar(", "name", "::timestamp, 'YYYY-MM-DD')"),
            ("array_construct(", "1", ")"),
            ("object_construct('a', ", "1", ")"),
            ("parse_json(", "name", "):a.b[0]::string"),
            ("(select ", "1", ")"),
            ("[", "1", "]"),
            ("", "name", " || name"),
            ("exists (select 1 from customers where ", "true", ")"),
            ("id in (", "1", ")"),
        ];
        let walk = move || {
            for shape in shapes {
                let deepest = deepest(shape);
                assert!(deepest > 10, "{shape:?}: {deepest}");
            }
        };
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(walk).unwrap().join().unwrap();
    }

    /// So many arms, joined.
    fn chain(begin: &str, arm: &str, joint: &str, end: &str, arms: usize) -> String {
        format!("{begin}{}{end}", vec![arm; arms].join(joint))
    }

    #[test]
    fn a_chain_of_one_associative_operator_is_as_long_as_is_named() {
        let shapes = [
            ("select 1 from customers where ", "id = 1", " or ", ""),
            ("select 1 from customers where not (", "id between 1 and 2", " and ", ")"),
            ("select ", "name", " || ", " from customers"),
            ("select ", "id::varchar", " || ", " from customers"),
            ("select count(*) from (", "select 1 a", " union all ", ") t"),
            ("select count(*) from (", "select id from customers", " union ", ") t"),
            ("", "select 1", " intersect ", ""),
            ("select case id ", "when 1 + 1 then 2 * 3", " ", " end from customers"),
            ("select iff(", "id = 1", " or ", ", 1, 2) from customers"),
        ];
        let ask = move || {
            for (begin, arm, joint, end) in shapes {
                let begun = std::time::Instant::now();
                engine(&chain(begin, arm, joint, end, 10_000), &analyst()).expect(joint);
                eprintln!("{joint} {:?}", begun.elapsed());
                if joint.trim().is_empty() {
                    continue;
                }
                let error = engine(&chain(begin, arm, joint, end, 12_000), &analyst()).expect_err(joint);
                assert_eq!(error.kind, ErrorKind::TooDeep, "{joint}: {error}");
            }
        };
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(ask).unwrap().join().unwrap();
    }

    /// Chains that no brackets can be moved in, and what looks like a chain and is none.
    #[test]
    fn any_other_chain_counts_as_nesting() {
        const MANY: usize = 5_000;
        let inner = |levels: usize| {
            let (open, close) = ("(".repeat(levels), " + 1".repeat(300) + ")");
            format!("select {open}id{} from customers", close.repeat(levels))
        };
        let ask = move || {
            for sql in [
                chain("select ", "id", " + ", " from customers", MANY),
                chain("select ", "id", " is distinct from ", " from customers", MANY),
                chain("select ", "id", " between 1 and ", " from customers", MANY),
                chain("select ", "1", " operator(pg_catalog.+) ", " from pg_catalog.pg_class", MANY),
                chain("select ", "id", " or not ", " from customers", 1) + &" is null".repeat(MANY),
                chain("", "select 1", " except ", "", MANY),
                chain("", "select 1", " union all by name ", "", MANY),
                chain("", "select 1 union select 1", " union all ", "", MANY),
                chain("", "select 1 union distinct select 1", " union ", "", MANY),
                chain("", "select 1", " intersect all ", "", MANY),
                chain("select ", "name || id", " + ", " from customers", MANY),
                chain("select ", "on", " + ", " from customers", MANY),
                chain("select ", "case + end", " + ", " from customers", MANY),
                inner(5),
                inner(100),
            ] {
                let error = engine(&sql, &analyst()).expect_err(&sql[..60]);
                assert_eq!(error.kind, ErrorKind::TooDeep, "{error}: {}", &sql[..60]);
            }
        };
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(ask).unwrap().join().unwrap();
    }

    /// Flat in the text, deep in the tree, or many times as large.
    #[test]
    fn what_becomes_a_chain_is_bounded() {
        const MANY: usize = 50_000;
        let hierarchies = |levels: usize| {
            let (open, close) = ("select * from (", ") start with id = 1 connect by prior id = customer_id");
            format!("{}select * from orders{}", open.repeat(levels), close.repeat(levels))
        };
        let ask = move || {
            for sql in [
                format!("select 1 from customers{}", " join customers".repeat(MANY)),
                format!("select 1 from customers connect by id{}", ", id".repeat(MANY)),
                format!("select nvl(concat(1{}), 'x')", ", 1".repeat(MANY)),
                format!("select to_char(1, '9{}')", ",".repeat(MANY)),
                format!("select parse_json('{{}}'){} from customers", "[name]".repeat(MANY)),
                format!("select null::int{}", "[]".repeat(MANY)),
                hierarchies(3),
                hierarchies(30),
            ] {
                let error = engine(&sql, &analyst()).expect_err(&sql[..60]);
                assert!(matches!(error.kind, ErrorKind::TooDeep | ErrorKind::Unsupported { .. }), "{error}");
            }
            engine(&hierarchies(2), &analyst()).expect("two of them");
        };
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(ask).unwrap().join().unwrap();
    }
}

//! The benchmark's 22 queries: each is let through, and what is printed means the same when read again.

use crate::catalog::tables::{Catalog, SessionNames};
use crate::govern::{ExecutionMode, Governed, Rules};
use crate::scan::Mask;
use crate::testing::table;
use contract::policy::MaskFunction;

const QUERIES: [&str; 22] = [
    include_str!("../corpus/tpch/q01.sql"),
    include_str!("../corpus/tpch/q02.sql"),
    include_str!("../corpus/tpch/q03.sql"),
    include_str!("../corpus/tpch/q04.sql"),
    include_str!("../corpus/tpch/q05.sql"),
    include_str!("../corpus/tpch/q06.sql"),
    include_str!("../corpus/tpch/q07.sql"),
    include_str!("../corpus/tpch/q08.sql"),
    include_str!("../corpus/tpch/q09.sql"),
    include_str!("../corpus/tpch/q10.sql"),
    include_str!("../corpus/tpch/q11.sql"),
    include_str!("../corpus/tpch/q12.sql"),
    include_str!("../corpus/tpch/q13.sql"),
    include_str!("../corpus/tpch/q14.sql"),
    include_str!("../corpus/tpch/q15.sql"),
    include_str!("../corpus/tpch/q16.sql"),
    include_str!("../corpus/tpch/q17.sql"),
    include_str!("../corpus/tpch/q18.sql"),
    include_str!("../corpus/tpch/q19.sql"),
    include_str!("../corpus/tpch/q20.sql"),
    include_str!("../corpus/tpch/q21.sql"),
    include_str!("../corpus/tpch/q22.sql"),
];

#[expect(clippy::too_many_lines, reason = "the tables are one list")]
pub(crate) fn catalog() -> Catalog {
    let (int, text, date, money) = ("BIGINT", "VARCHAR", "DATE", "DECIMAL(15,2)");
    Catalog::new([
        table("region", &[("r_regionkey", int), ("r_name", text), ("r_comment", text)]),
        table("nation", &[("n_nationkey", int), ("n_name", text), ("n_regionkey", int), ("n_comment", text)]),
        table(
            "supplier",
            &[
                ("s_suppkey", int),
                ("s_name", text),
                ("s_address", text),
                ("s_nationkey", int),
                ("s_phone", text),
                ("s_acctbal", money),
                ("s_comment", text),
            ],
        ),
        table(
            "customer",
            &[
                ("c_custkey", int),
                ("c_name", text),
                ("c_address", text),
                ("c_nationkey", int),
                ("c_phone", text),
                ("c_acctbal", money),
                ("c_mktsegment", text),
                ("c_comment", text),
            ],
        ),
        table(
            "part",
            &[
                ("p_partkey", int),
                ("p_name", text),
                ("p_mfgr", text),
                ("p_brand", text),
                ("p_type", text),
                ("p_size", "INTEGER"),
                ("p_container", text),
                ("p_retailprice", money),
                ("p_comment", text),
            ],
        ),
        table(
            "partsupp",
            &[
                ("ps_partkey", int),
                ("ps_suppkey", int),
                ("ps_availqty", int),
                ("ps_supplycost", money),
                ("ps_comment", text),
            ],
        ),
        table(
            "orders",
            &[
                ("o_orderkey", int),
                ("o_custkey", int),
                ("o_orderstatus", text),
                ("o_totalprice", money),
                ("o_orderdate", date),
                ("o_orderpriority", text),
                ("o_clerk", text),
                ("o_shippriority", "INTEGER"),
                ("o_comment", text),
            ],
        ),
        table(
            "lineitem",
            &[
                ("l_orderkey", int),
                ("l_partkey", int),
                ("l_suppkey", int),
                ("l_linenumber", int),
                ("l_quantity", money),
                ("l_extendedprice", money),
                ("l_discount", money),
                ("l_tax", money),
                ("l_returnflag", text),
                ("l_linestatus", text),
                ("l_shipdate", date),
                ("l_commitdate", date),
                ("l_receiptdate", date),
                ("l_shipinstruct", text),
                ("l_shipmode", text),
                ("l_comment", text),
            ],
        ),
    ])
}

fn engine(sql: &str, rules: &Rules) -> crate::EngineSql {
    let parsed = crate::parse(sql).unwrap_or_else(|error| panic!("{sql}\n{error}"));
    let resolved =
        crate::resolve(parsed, &catalog(), &SessionNames::new("demo")).unwrap_or_else(|error| panic!("{sql}\n{error}"));
    let governed = crate::govern(resolved, rules).unwrap_or_else(|error| panic!("{sql}\n{error}"));
    crate::transpile(governed).unwrap_or_else(|error| panic!("{sql}\n{error}"))
}

#[test]
fn every_query_becomes_engine_sql_that_reads_again() {
    for sql in QUERIES {
        let made = engine(sql, &Rules::default());
        let again = crate::syntax::parse::own(&made.sql).unwrap_or_else(|error| panic!("{}\n{error}", made.sql));
        assert!(matches!(again, sqlparser::ast::Statement::Query(_)));
        assert!(!made.tables.is_empty());
    }
}

#[test]
fn a_mask_and_a_filter_on_customer_change_only_the_queries_that_read_it() {
    let mut rules = Rules::default();
    rules.mask("main", "customer", "c_phone", Mask::Function { function: MaskFunction::Partial, visible_chars: 4 });
    rules.filter("main", "customer", crate::testing::filter("c_mktsegment = {region}"));
    for sql in QUERIES {
        let (plain, governed) = (engine(sql, &Rules::default()), engine(sql, &rules));
        let reads = plain.tables.iter().any(|table| table == "raw.main.customer");
        assert_eq!(plain.sql != governed.sql, reads, "{sql}");
        assert_eq!(governed.binds.len(), usize::from(reads), "{sql}");
    }
}

/// Rows are kept first where the engine's plan decides whether something fails, or which rows a LIMIT takes. That costs
/// a copy of what is visible. Where short numbers would do, visible rows are asked for longer ones instead.
#[test]
fn few_of_the_queries_need_rows_that_are_kept_under_a_filter_on_every_table() {
    let mut rules = Rules::default();
    let filter = crate::testing::filter("length({region}) > 0");
    for table in ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"] {
        rules.filter("main", table, filter.clone());
    }
    let governed = |sql: &str| {
        let resolved = crate::resolve(crate::parse(sql).unwrap(), &catalog(), &SessionNames::new("demo")).unwrap();
        crate::govern(resolved, &rules).unwrap()
    };
    let of = |is_one: &dyn Fn(&Governed) -> bool| -> Vec<u32> {
        (1..).zip(QUERIES).filter(|(_, sql)| is_one(&governed(sql))).map(|(number, _)| number).collect()
    };
    let kept = of(&|one| one.care() == ExecutionMode::Materialized);
    let once = of(&|one| one.care() == ExecutionMode::Leakproof);
    let asked = of(&|one| one.asked.is_some());
    assert_eq!((kept, once), (vec![], vec![2, 4, 12, 13, 16, 18, 20, 21, 22]));
    assert_eq!(asked, [11, 15]);
}

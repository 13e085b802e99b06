use crate::ast::error::ErrorKind;
use crate::{STACK_BYTES, StatementKind, parse, split};

/// What the parser of the warehouse alone, or of the engine alone, would refuse.
#[test]
fn both_dialects_parse() {
    let cases = [
        "FROM customers",
        "FROM customers SELECT name WHERE id = 1",
        "SELECT x[1], y['k'] FROM t",
        "SELECT CAST(NULL AS INTEGER[]), [1, 2, 3], {'a': 1}, MAP {'k': 1}",
        "SELECT a:b.c[0]::INT FROM t",
        "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
        "SELECT $1, $2 + $1",
        "SELECT ?, ?",
        "SELECT * EXCLUDE (a) FROM t",
        "SELECT list_transform([1], lambda x: x + 1)",
        "TABLE customers",
        "(TABLE customers) UNION ALL TABLE orders ORDER BY 1 LIMIT 3",
        "SELECT count(*) FILTER (WHERE a > 1) FROM t GROUP BY ALL",
    ];
    for sql in cases {
        let parsed = parse(sql);
        assert!(parsed.is_ok(), "{sql}: {parsed:?}");
    }
}

#[test]
fn a_table_statement_keeps_what_stands_behind_it() {
    let statement = parse("TABLE customers ORDER BY id LIMIT 1").expect("a statement");
    assert_eq!(statement.redacted(), "SELECT * FROM customers ORDER BY id LIMIT ?");
}

#[test]
fn a_backslash_is_an_ordinary_character() {
    let statement = parse(r"SELECT * FROM customers WHERE name = '\'' OR id > 0 --'").expect("a statement");
    assert_eq!(statement.redacted(), "SELECT * FROM customers WHERE name = ?");
}

#[test]
fn white_space_nobody_sees_is_refused_outside_of_literals() {
    for odd in ['\u{a0}', '\u{3000}', '\u{200b}', '\u{feff}', '\u{2028}', '\u{c}'] {
        assert!(parse(&format!("SELECT{odd}1")).is_err(), "{odd:?}");
        assert!(parse(&format!("SELECT 1 AS{odd}x, '{odd}'")).is_err(), "{odd:?}");
        assert!(parse(&format!("SELECT '{odd}', \"{odd}\" -- {odd}")).is_ok(), "{odd:?}");
    }
}

#[test]
fn errors_say_where() {
    let text = "SELECT a\n  FROM t WHERE )";
    let error = parse(text).expect_err("a syntax error");
    let position = error.position.expect("a position");
    assert_eq!((position.line, position.column, position.offset), (2, 16, 25));
    assert_eq!(
        error.snippet.as_deref().map(crate::ast::error::Snippet::as_str),
        Some("LINE 2:   FROM t WHERE )\n                       ^")
    );
}

#[test]
fn statements_are_split_and_keep_their_own_text() {
    let statements = split("SELECT 1; ; SELECT ';' ;\n UPDATE t SET a = 1").expect("statements");
    let texts: Vec<_> = statements.iter().map(crate::Statement::text).collect();
    assert_eq!(texts, ["SELECT 1", "SELECT ';'", "UPDATE t SET a = 1"]);
    assert_eq!(*statements[2].kind(), StatementKind::Update);
}

#[test]
fn one_statement_is_one() {
    assert!(matches!(parse("").expect_err("nothing").kind, crate::ast::error::ErrorKind::Empty));
    assert!(matches!(parse("-- nothing").expect_err("nothing").kind, crate::ast::error::ErrorKind::Empty));
    assert!(matches!(parse("SELECT 1; SELECT 2").expect_err("two").kind, crate::ast::error::ErrorKind::Several));
    assert!(parse("SELECT 1;").is_ok());
}

/// Deep trees would overflow the stack when they are walked or dropped.
#[test]
fn depth_is_bounded_before_the_tree_is_built() {
    let cases = [
        format!("SELECT {}1", "1+".repeat(100_000)),
        format!("SELECT {}1{}", "(".repeat(50_000), ")".repeat(50_000)),
        format!("SELECT {}1", "NOT ".repeat(100_000)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(20_000)),
        format!("SELECT x{}", "[1]".repeat(100_000)),
        format!("SELECT x{}", "::int".repeat(100_000)),
        format!("SELECT {}", "- ".repeat(100_000)),
        format!("SELECT {}", "CASE WHEN 1 THEN ".repeat(20_000)),
        format!("SELECT a{}", ".a".repeat(100_000)),
    ];
    for sql in cases {
        let _ = parse(&sql).map(drop);
    }
    let wide = format!("SELECT * FROM t WHERE id IN ({}1)", "1,".repeat(50_000));
    assert!(parse(&wide).is_ok());
    let chained = format!("SELECT * FROM t WHERE {}id = 1", "id = 1 OR ".repeat(150));
    assert!(parse(&chained).is_ok());
}

/// A stack that is too small ends the process.
fn on_a_thread_of_statements(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}

/// A construct in another of its kind, up to the deepest that is not refused for its depth.
#[test]
fn the_deepest_of_every_construct_fits_the_stack_of_a_thread() {
    let shapes = [
        ("select ", "(", "1", ")", ""),
        ("select ", "(a, ", "1", ")", ""),
        ("select ", "f(", "1", ")", ""),
        ("select ", "sum(", "1", ") over (partition by a order by b)", ""),
        ("select ", "case when ", "true", " then 1 end", ""),
        ("select ", "case a when 1 then ", "1", " end", ""),
        ("select ", "cast(", "1", " as int)", ""),
        ("select ", "extract(day from ", "d", ")", ""),
        ("select ", "trim(", "a", ")", ""),
        ("select ", "not ", "true", "", ""),
        ("select ", "- ", "1", "", ""),
        ("select ", "[", "1", "]", ""),
        ("select ", "{'a': ", "1", "}", ""),
        ("select ", "f(x -> ", "x", ")", ""),
        ("select ", "interval ", "'1 day'", "", ""),
        ("select ", "", "a", "::int", ""),
        ("select ", "", "a", "[0]", ""),
        ("select ", "", "a:b", ".c", ""),
        ("select ", "", "a", " - 1", ""),
        ("select ", "", "a", " is null", ""),
        ("select ", "", "a", " between 1 and 2", ""),
        ("select ", "", "a", " like 'b'", ""),
        ("select ", "", "a", " in (1)", ""),
        ("select ", "", "a", " at time zone 'UTC'", ""),
        ("select ", "(select ", "1", ")", ""),
        ("select 1 from t where ", "a in (select 1 from t where ", "true", ")", ""),
        ("select 1 from t where ", "exists (select 1 from t where ", "true", ")", ""),
        ("", "select * from (", "select 1", ") as q", ""),
        ("", "with q as (", "select 1", ") select * from q", ""),
        ("", "select 1 union (", "select 2", ")", ""),
        ("", "(", "select 1", ") except select 2", ""),
        ("", "select 1 except ", "select 2", "", ""),
        ("select * from ", "(t join ", "t", " on true)", ""),
        ("select * from t", " join t", "", "", ""),
        ("select * from t", " join t on true", "", "", ""),
        ("select * from t", " pivot (sum(a) for b in (1))", "", "", ""),
        ("select null::", "array(", "int", ")", ""),
        ("select null::", "struct(a ", "int", ")", ""),
        ("select null::int", "[]", "", "", ""),
        ("create table t (a ", "object(a ", "int", ")", ")"),
        ("", "explain ", "select 1", "", ""),
    ];
    on_a_thread_of_statements(move || {
        for (before, open, inmost, close, behind) in shapes {
            let fits = |levels: usize| {
                let text = format!("{before}{}{inmost}{}{behind}", open.repeat(levels), close.repeat(levels));
                !parse(&text).is_err_and(|error| error.kind == ErrorKind::TooDeep)
            };
            let (mut fitting, mut too_many) = (0, 1_000);
            while too_many - fitting > 1 {
                let between = usize::midpoint(fitting, too_many);
                if fits(between) { fitting = between } else { too_many = between }
            }
            eprintln!("{before}{open}{inmost}{close}{behind}: {fitting}");
        }
    });
}

/// A chain is put into balance on the walk to it; some rewrites look into it before.
#[test]
fn the_longest_chain_before_its_balance_fits_the_stack_of_a_thread() {
    const ARMS: usize = 9_000;
    let chain = |arm: &str, joint: &str| vec![arm; ARMS].join(joint);
    let texts = [
        format!("select [1], {} from t", chain("name", " || ")),
        format!("select f([1], ({})) from t", chain("a = 1", " or ")),
        format!("select object_construct(*) from t where {}", chain("a = 1", " or ")),
        format!("select hash(*), {} from t group by all", chain("name", " || ")),
        format!("select conditional_change_event(a) over (order by a), {} from t", chain("name", " || ")),
        format!("select 1 from a, b where a.id = b.id (+) and {}", chain("a.id = 1", " and ")),
        format!("select level from t where {} start with a = 1 connect by prior a = b", chain("a = 1", " or ")),
        format!("select $1 from values (1) v where {}", chain("$1 = 1", " or ")),
        format!("with q as (select 1 union all select 2 from t where {}) select * from q", chain("a = 1", " or ")),
        format!("with q as ({}) select * from q", chain("select a from t", " union all ")),
        format!("select 1 from t where {} and (", chain("a = 1", " and ")),
        format!("select 1 from t where a = 1 and f({}", chain("a = 1", " or ")),
    ];
    on_a_thread_of_statements(move || {
        for text in texts {
            let error = parse(&text).err();
            assert!(error.is_none_or(|error| error.kind != ErrorKind::TooDeep), "{}", &text[..60]);
        }
    });
}

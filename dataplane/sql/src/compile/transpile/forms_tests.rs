//! Literals of one form decide nothing: the SQL of a third text follows from that of two.

use super::EngineSql;
use super::literal::LiteralForm;
use super::shared::SharedSql;
use crate::ast::error::Error;
use crate::catalog::tables::Catalog;
use crate::govern::filter::FilterTemplate;
use crate::govern::{ExecutionMode, Rules};
use crate::testing::{session, table};

const COLUMNS: [(&str, &str); 12] = [
    ("c_flag", "BOOLEAN"),
    ("c_small", "TINYINT"),
    ("c_id", "INTEGER"),
    ("c_price", "DECIMAL(3,1)"),
    ("c_real", "DOUBLE"),
    ("c_note", "VARCHAR"),
    ("c_born", "DATE"),
    ("c_made", "TIMESTAMP"),
    ("c_sent", "TIMESTAMP WITH TIME ZONE"),
    ("c_span", "INTERVAL"),
    ("c_key", "UUID"),
    ("c_doc", "JSON"),
];

/// With a column in place of each `{c}`, and a literal in place of `{}`.
const TEXTS: [&str; 12] = [
    "SELECT {c} FROM wide WHERE {c} = {}",
    "SELECT count(*) AS many FROM wide WHERE {c} < {} OR c_note = 'k'",
    "SELECT c_note FROM wide WHERE NOT ({c} <> {}) ORDER BY 1 LIMIT 3",
    "SELECT DISTINCT {c} FROM wide WHERE {c} IN ({}) AND c_id > 1",
    "SELECT c_id FROM wide WHERE {c} BETWEEN {} AND c_note",
    "SELECT {}",
    "SELECT {c}, {} FROM wide ORDER BY 1",
    "SELECT *, {} FROM wide",
    "SELECT {} AS told, {c} FROM wide WHERE {c} IS NULL",
    "INSERT INTO wide ({c}) VALUES ({})",
    "UPDATE wide SET {c} = {}",
    "DELETE FROM wide WHERE {c} >= {}",
];

/// Of one form each: two that come first, and those at its edges.
const FORMS: [&[&str]; 8] = [
    &["1", "2", "0", "9"],
    &["123", "456", "100", "127", "128", "999"],
    &["123456789", "234567891", "100000000", "999999999"],
    &["1.5", "2.7", "0.0", "0.5", "9.9"],
    &["'open'", "'shut'", "'a'", "'P1Y'", "'e5'", "'abcdef00abcdef00abcdef00abcdef00'", "'Ada Lovelace '", "'day'"],
    &["'2024-01-31'", "'2023-12-01'", "'2024-02-30'", "'0000-00-00'", "'9999-99-99'"],
    &[
        "'a190a3b4-0000-7000-8000-000000000001'",
        "'b190a3b4-0000-7000-8000-000000000002'",
        "'ABCDEFAB-CDEF-ABCD-EFAB-CDEFABCDEFAB'",
    ],
    &[
        "'0190a3b4-0000-7000-8000-000000000001'",
        "'1190a3b4-0000-7000-8000-000000000002'",
        "'20240131-1200-1200-1200-00000000000e'",
    ],
];

struct Made {
    care: (ExecutionMode, bool),
    sql: EngineSql,
}

fn made(text: &str, rules: &Rules, catalog: &Catalog) -> Result<Made, Error> {
    let governed = crate::govern(crate::resolve(crate::parse(text)?, catalog, &session())?, rules)?;
    let care = (governed.care(), governed.fails_in_several_ways());
    Ok(Made { care, sql: crate::transpile(governed.embedded()?)? })
}

/// All that is run of it, and told of what it answers.
fn steps(made: &EngineSql) -> (Vec<super::Before>, [String; 4]) {
    let told = format!("{:?} {:?} {:?}", made.warnings, made.masked_outputs, made.jsonb_outputs);
    (made.before.clone(), [made.sql.clone(), format!("{:?}", made.binds), made.tables.join(" "), told])
}

/// Holds what is made of each text to what is made of the first two: says how many follow from these.
fn followed(text: &dyn Fn(&str) -> String, literals: &[&str], rules: &Rules, catalog: &Catalog) -> usize {
    let made: Vec<Option<Made>> = literals.iter().map(|literal| made(&text(literal), rules, catalog).ok()).collect();
    let care = |made: &Option<Made>| made.as_ref().map(|made| made.care);
    let given = |literal: &str| [literal.to_owned()];
    let mut count = 0;
    for (literal, anew) in literals.iter().zip(&made).skip(1) {
        let shown = text(literal);
        assert_eq!(care(&made[0]), care(anew), "{shown}");
        let (Some(one), Some(other), Some(anew)) = (&made[0], &made[1], anew) else { continue };
        let (first, second) = (given(literals[0]), given(literals[1]));
        let shared = SharedSql::of(one.care.0, (&one.sql, &first), (&other.sql, &second));
        let Some(shared) = shared.and_then(|shared| shared.with(&given(literal))) else { continue };
        assert_eq!(steps(&shared), steps(&anew.sql), "{shown}");
        if anew.care.0 != ExecutionMode::Direct {
            let (shared, anew) = (shared.over_visible().unwrap(), anew.sql.over_visible().unwrap());
            assert_eq!(steps(&shared), steps(&anew), "{shown}");
        }
        count += 1;
    }
    count
}

#[test]
fn no_literal_decides_what_others_of_its_form_do_not() {
    let catalog = Catalog::new([table("wide", &COLUMNS)]);
    let region = |name: &str| (name == "region").then(|| "open".to_owned());
    let filter = FilterTemplate::parse("c_note = '{region}'").unwrap().bind(&region, &catalog).unwrap();
    let (plain, mut filtered) = (Rules::default(), Rules::default());
    filtered.filter("main", "wide", filter);
    let mut count = 0;
    for literals in FORMS {
        let form = LiteralForm::of(literals[0]);
        assert!(form.is_some() && literals.iter().all(|literal| LiteralForm::of(literal) == form), "{literals:?}");
        for (column, _) in COLUMNS {
            for template in TEXTS {
                let text = |literal: &str| template.replace("{c}", column).replace("{}", literal);
                count += followed(&text, literals, &plain, &catalog) + followed(&text, literals, &filtered, &catalog);
            }
        }
    }
    assert!(count > 100, "{count} followed from others");
}

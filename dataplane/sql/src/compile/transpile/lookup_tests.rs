//! Filters above the scan of a primary key: which queries have them there.

use contract::policy::MaskFunction;

use crate::catalog::tables::Catalog;
use crate::govern::Rules;
use crate::govern::filter::FilterTemplate;
use crate::testing::{session, table};

/// What is made of a query over a table with a key, under a filter.
fn made(sql: &str, filter: &str, masked: Option<&str>) -> String {
    let columns = [("id", "BIGINT"), ("name", "VARCHAR"), ("region", "VARCHAR")];
    let points = table("points", &columns).with_primary_key(&["id".to_owned()]);
    let catalog = Catalog::new([points, table("others", &columns)]);
    let region = |name: &str| (name == "region").then(|| "EU".to_owned());
    let mut rules = Rules::default();
    for name in ["points", "others"] {
        rules.filter("main", name, FilterTemplate::parse(filter).unwrap().bind(&region, &catalog).unwrap());
    }
    if let Some(column) = masked {
        rules.mask("main", "points", column, MaskFunction::Full);
    }
    let resolved = crate::resolve(crate::parse(sql).unwrap(), &catalog, &session()).unwrap();
    crate::transpile(crate::govern(resolved, &rules).unwrap().embedded().unwrap()).unwrap().sql
}

#[test]
fn a_filter_of_another_column_stays_above_the_scan_of_a_key() {
    let filter = r#"WHERE CASE WHEN "points"."id" IS NULL THEN FALSE ELSE ("points"."region" = $1) END)"#;
    for sql in [
        "select id, name from points where id = 7",
        "select * from points p where p.id = 7 order by 1",
        "select count(*) as many from points where id = 7",
    ] {
        let made = made(sql, "region = '{region}'", None);
        assert!(made.contains(filter), "{made}");
    }
    let masked = made("select id, name from points where id = 7", "region = '{region}'", Some("name"));
    assert!(masked.contains(filter), "{masked}");
}

#[test]
fn every_other_filter_stands_by_itself() {
    for (sql, filter, masked) in [
        ("select name from points where id > 7", "region = '{region}'", None),
        ("select name from points where id = 7 or id = 8", "region = '{region}'", None),
        ("select name from points where id = 7 and name = 'a'", "region = '{region}'", None),
        ("select name from points where name = 'a'", "region = '{region}'", None),
        ("select name from points where id = length(name)", "region = '{region}'", None),
        ("select name from points", "region = '{region}'", None),
        ("select name from points where id = '7'", "region = '{region}'", Some("id")), // which is text
        ("select name from points where id = 7", "id > 5", None),
        ("select name from others where id = 7", "region = '{region}'", None),
        ("select p.name from points p join others o on o.id = p.id where p.id = 7", "region = '{region}'", None),
        ("delete from points where id = 7", "region = '{region}'", None),
    ] {
        let made = made(sql, filter, masked);
        assert!(!made.contains("IS NULL THEN FALSE"), "{made}");
    }
}

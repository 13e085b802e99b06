//! A table of an attached database as a statement reads it: by which columns, and where its rows are kept meanwhile.

use crate::ast::{names, quote};
use crate::catalog::table::{Column, Table};

/// A table of an attached database that a statement reads: rows are brought into a temporary table before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedRead {
    /// The schema it is known by, which is the name of its database here.
    pub schema: String,
    pub name: String,
    /// The engine's name of the temporary table.
    pub kept_as: String,
    /// All that it has, each with whether the statement may ask for it: of any other nothing is read.
    pub columns: Vec<(Column, bool)>,
}

impl AttachedRead {
    pub(crate) fn of(table: &Table, is_asked_for: impl Fn(&str) -> bool) -> Self {
        let columns = table.columns.iter().map(|column| (column.clone(), is_asked_for(&column.name)));
        Self {
            schema: table.schema.clone(),
            name: table.name.clone(),
            kept_as: table.stored_name().to_owned(),
            columns: columns.collect(),
        }
    }

    /// `schema.name`, for people.
    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// The engine's full name of the temporary table.
    pub fn place(&self) -> String {
        [names::TEMP_CATALOG, names::TEMP_SCHEMA, self.kept_as.as_str()].map(quote::name).join(".")
    }

    /// The same as generated text is said to name it.
    pub(crate) fn emitted(&self) -> String {
        [names::TEMP_CATALOG, names::TEMP_SCHEMA, self.kept_as.as_str()].join(".")
    }

    /// What makes the temporary table, without rows.
    pub fn made(&self) -> String {
        let column = |(column, _): &(Column, bool)| format!("{} {}", quote::name(&column.name), column.type_name);
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        format!("CREATE OR REPLACE TEMP TABLE {} ({})", self.place(), columns.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::table::{Column, Table};
    use crate::testing::{catalog, filter, session};
    use crate::{EngineSql, Error, Mask, Rules};

    fn made(sql: &str, rules: &Rules) -> Result<EngineSql, Error> {
        let columns = ["id", "note", "region"].map(|name| Column::new(name, "VARCHAR"));
        let mut catalog = catalog();
        catalog.add(Table::new("shop", "orders", columns.to_vec()).attached(7));
        let resolved = crate::resolve(crate::parse(sql)?, &catalog, &session())?;
        crate::transpile(crate::govern(resolved, rules)?.embedded()?)
    }

    /// The columns of the one attached table that it may ask for.
    fn asked(sql: &str, rules: &Rules) -> String {
        let made = made(sql, rules).expect(sql);
        let read = made.attached();
        let [one] = read.as_slice() else { panic!("{sql}: {read:?}") };
        assert_eq!((one.path().as_str(), one.kept_as.as_str()), ("shop.orders", "_sluice_attached_7"));
        let asked = one.columns.iter().filter(|(_, is_asked)| *is_asked).map(|(column, _)| column.name.as_str());
        asked.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_attached_table_is_read_from_a_temporary_one_by_the_columns_that_are_asked_for() {
        let none = Rules::default();
        let read = made("SELECT o.id FROM shop.orders o", &none).expect("engine SQL");
        assert_eq!(read.tables, ["temp.main._sluice_attached_7"]);
        assert_eq!(read.sql, r#"SELECT "o"."id" FROM "temp"."main"."_sluice_attached_7" AS "o""#);
        assert_eq!(asked("SELECT o.id FROM shop.orders o", &none), "id");
        assert_eq!(asked("SELECT * FROM shop.orders", &none), "id note region");
        assert_eq!(asked("SELECT count(*) FROM shop.orders o JOIN payroll p ON p.iban = o.note", &none), "note");
        assert_eq!(asked("SELECT o FROM shop.orders o", &none), "id note region");
        assert_eq!(asked("SELECT count(DISTINCT *) FROM shop.orders", &none), "id note region");
        assert_eq!(asked("SELECT count(*) FROM shop.orders", &none), "");
    }

    #[test]
    fn what_a_policy_reads_of_an_attached_table_is_asked_for() {
        let mut rules = Rules::default();
        rules.filter("shop", "orders", filter("region = 'EU'"));
        rules.mask("shop", "orders", "note", Mask::Denied);
        let read = made("SELECT id FROM shop.orders", &rules).expect("engine SQL");
        assert!(read.sql.contains(r#"FROM "temp"."main"."_sluice_attached_7" AS "orders" WHERE"#), "{}", read.sql);
        assert_eq!(asked("SELECT id FROM shop.orders", &rules), "id region");
        let mut rules = Rules::default();
        rules.filter("main", "customers", filter("id IN (SELECT customer_id FROM payroll)"));
        assert!(made("SELECT id FROM customers", &rules).expect("engine SQL").attached().is_empty());
    }

    #[test]
    fn an_attached_table_is_neither_changed_nor_kept_in_a_view() {
        for sql in [
            "INSERT INTO shop.orders VALUES ('1', 'x', 'EU')",
            "UPDATE shop.orders SET note = 'x'",
            "DELETE FROM shop.orders",
            "TRUNCATE TABLE shop.orders",
            "DROP TABLE shop.orders",
            "DROP TABLE IF EXISTS shop.orders",
            "ALTER TABLE shop.orders ADD COLUMN x INT",
            "COMMENT ON TABLE shop.orders IS 'x'",
            "CREATE VIEW seen AS SELECT id FROM shop.orders",
        ] {
            let refused = made(sql, &Rules::default()).expect_err(sql).to_string();
            assert!(refused.contains("of an attached database"), "{sql}: {refused}");
        }
        assert!(made("CREATE TABLE copied AS SELECT id FROM shop.orders", &Rules::default()).is_ok());
    }
}

use contract::policy::MaskFunction;

use super::masked;
use crate::ast::error::{Error, ErrorKind};
use crate::testing::{filter, session};
use crate::{Catalog, Column, Rules, Table};

/// `payroll` with a primary key of which `id` is, and another of `customer_id` and `iban`.
fn keyed() -> Catalog {
    let columns = ["id", "customer_id", "iban", "bonus"].map(|name| Column::new(name, "VARCHAR"));
    let table = |name| Table::new("main", name, columns.to_vec());
    let unique = [vec!["Customer_Id".to_owned(), "IBAN".to_owned()]];
    Catalog::new([
        table("payroll").with_primary_key(&["ID".to_owned()]).with_unique(&unique),
        table("orders").with_primary_key(&["id".to_owned()]),
    ])
}

fn refusal(sql: &str, rules: &Rules) -> Option<Error> {
    let resolved = crate::resolve(crate::parse(sql).expect(sql), &keyed(), &session()).expect(sql);
    crate::govern(resolved, rules).err()
}

#[test]
fn a_masked_column_of_a_key_is_given_no_value() {
    let rules = masked(MaskFunction::Hash);
    for sql in [
        "INSERT INTO payroll VALUES ('1', '2', 'x', '3')",
        "INSERT INTO payroll (id, Iban) SELECT id, bonus FROM orders",
        "INSERT OVERWRITE INTO payroll SELECT * FROM orders",
    ] {
        let kind = refusal(sql, &rules).expect(sql).kind;
        assert_eq!(kind, ErrorKind::MaskedColumn { table: "main.payroll".into(), column: "iban".into() }, "{sql}");
    }
    for sql in [
        "INSERT ALL INTO payroll (iban) VALUES (id) INTO orders (id) VALUES (id) SELECT id FROM orders",
        "INSERT INTO payroll (id) VALUES ('1') ON CONFLICT DO NOTHING",
        "INSERT INTO payroll (id) VALUES ('1') ON CONFLICT (id) DO NOTHING",
        "UPDATE payroll SET customer_id = '2'",
        "UPDATE payroll SET bonus = '1', \"CUSTOMER_ID\" = '2'",
    ] {
        let kind = refusal(sql, &rules).expect(sql).kind;
        assert!(matches!(kind, ErrorKind::Ungovernable { .. }), "{sql}: {kind:?}");
    }
    for sql in [
        "INSERT INTO payroll (id, customer_id, bonus) VALUES ('1', '2', '3')",
        "UPDATE payroll SET id = '2', bonus = '3'",
        "INSERT INTO orders VALUES ('1', '2', 'x', '3') ON CONFLICT DO NOTHING",
    ] {
        assert_eq!(refusal(sql, &rules), None, "{sql}");
    }
}

#[test]
fn a_masked_column_of_no_key_is_filled() {
    let mut rules = Rules::default();
    rules.mask("main", "payroll", "bonus", MaskFunction::Full);
    for sql in [
        "INSERT INTO payroll VALUES ('1', '2', 'x', '3')",
        "INSERT INTO payroll VALUES ('1', '2', 'x', '3') ON CONFLICT DO NOTHING",
        "UPDATE payroll SET id = '2', customer_id = '3', iban = 'x'",
    ] {
        assert_eq!(refusal(sql, &rules), None, "{sql}");
    }
}

#[test]
fn no_conflict_with_a_hidden_row_is_passed_over() {
    let mut rules = Rules::default();
    rules.filter("main", "payroll", filter("bonus = '1'"));
    for sql in [
        "INSERT INTO payroll (id, bonus) VALUES ('1', '1') ON CONFLICT DO NOTHING",
        "INSERT INTO payroll (id, bonus) VALUES ('1', '1') ON CONFLICT (id) DO UPDATE SET bonus = '1'",
    ] {
        let kind = refusal(sql, &rules).expect(sql).kind;
        assert!(matches!(kind, ErrorKind::Ungovernable { .. }), "{sql}: {kind:?}");
    }
    assert_eq!(refusal("INSERT INTO payroll (id, bonus) VALUES ('1', '1')", &rules), None);
}

//! `CREATE INDEX`: the change of a table that it is. None is made (`dialect::references`).

use sqlparser::ast::{
    AlterTableOperation, CreateIndex, Expr, IndexColumn, IndexConstraint, Statement, TableConstraint,
};

use crate::ast::error::{Error, ErrorKind};
use crate::ast::partial;

/// Makes it `ALTER TABLE t ADD INDEX (a, b)`, which names what must be there.
pub(super) fn altered(tree: &mut Statement) -> Result<(), Error> {
    let Statement::CreateIndex(CreateIndex { table_name, columns, unique, .. }) = tree else { return Ok(()) };
    if *unique {
        let construct = "CREATE UNIQUE INDEX".to_owned();
        let says = format!("{construct} is not supported: write UNIQUE in CREATE TABLE");
        return Err(Error::new(ErrorKind::Unsupported { construct }, says));
    }
    let columns: Vec<IndexColumn> = columns.iter().filter_map(plain).collect();
    let constraint = TableConstraint::Index(IndexConstraint {
        display_as_key: false,
        name: None,
        index_type: None,
        columns,
        index_options: Vec::new(),
    });
    let added = AlterTableOperation::AddConstraint { constraint, not_valid: false };
    *tree = partial::altered(table_name.clone(), false, vec![added]);
    Ok(())
}

/// The column alone, without its order and operators; nothing of an expression.
fn plain(column: &IndexColumn) -> Option<IndexColumn> {
    match &column.column.expr {
        Expr::Identifier(name) => Some(IndexColumn::from(name.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn an_index_is_a_change_of_its_table() {
        for (sql, read) in [
            ("CREATE INDEX i ON s.t (a, b DESC)", "ALTER TABLE s.t ADD INDEX (a, b)"),
            (
                "CREATE INDEX IF NOT EXISTS \"i_like\" ON t USING btree (a varchar_pattern_ops) WHERE b > 5",
                "ALTER TABLE t ADD INDEX (a)",
            ),
            ("CREATE INDEX CONCURRENTLY i ON t (lower(a), b) INCLUDE (c)", "ALTER TABLE t ADD INDEX (b)"),
        ] {
            assert_eq!(parse(sql).map(|statement| statement.redacted()).as_deref(), Ok(read), "{sql}");
        }
        let error = parse("CREATE UNIQUE INDEX i ON t (a)").expect_err("it would not be checked");
        assert!(error.message.contains("write UNIQUE in CREATE TABLE"), "{error}");
    }
}

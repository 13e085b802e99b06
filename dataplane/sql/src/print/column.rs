//! Columns of a table, and what holds for them.

use sqlparser::ast::{
    CheckConstraint, ColumnDef, ColumnOption, ColumnOptionDef, ForeignKeyConstraint, PrimaryKeyConstraint,
    TableConstraint, UniqueConstraint,
};

use super::{Printer, absent, head};
use crate::ast::error::Error;

impl Printer<'_> {
    pub(super) fn table_body(&mut self, columns: &[ColumnDef], constraints: &[TableConstraint]) -> Result<(), Error> {
        absent(!columns.is_empty(), "CREATE TABLE without columns")?;
        self.put(" (");
        self.list(columns, Self::column)?;
        for constraint in constraints {
            self.put(", ");
            self.constraint_of_table(constraint)?;
        }
        self.done(")")
    }

    pub(super) fn column(&mut self, column: &ColumnDef) -> Result<(), Error> {
        let ColumnDef { name, data_type, options } = column;
        self.ident(name);
        self.put(" ");
        self.data_type(data_type)?;
        // the engine keeps no name of a constraint
        for ColumnOptionDef { name: _, option } in options {
            self.column_option(option)?;
        }
        Ok(())
    }

    fn column_option(&mut self, option: &ColumnOption) -> Result<(), Error> {
        match option {
            ColumnOption::Null | ColumnOption::Comment(_) => Ok(()),
            ColumnOption::NotNull => self.done(" NOT NULL"),
            ColumnOption::Default(expr) => {
                self.put(" DEFAULT ");
                self.operand(expr)
            }
            ColumnOption::PrimaryKey(_) => self.done(" PRIMARY KEY"),
            ColumnOption::Unique(_) => self.done(" UNIQUE"),
            ColumnOption::Identity(_) => {
                self.warehouse_only("AUTOINCREMENT")?;
                self.done(" AUTOINCREMENT")
            }
            ColumnOption::ForeignKey(key) => self.references(key),
            ColumnOption::Check(check) => {
                self.put(" ");
                self.check_constraint(check)
            }
            _ => Err(Error::unsupported(format!("the column option {}", head(&option.to_string())))),
        }
    }

    pub(super) fn constraint_of_table(&mut self, constraint: &TableConstraint) -> Result<(), Error> {
        let (word, columns) = match constraint {
            TableConstraint::PrimaryKey(PrimaryKeyConstraint {
                name: _,
                index_name: None,
                index_type: None,
                columns,
                include,
                index_options,
                characteristics: None,
            }) if include.is_empty() && index_options.is_empty() => ("PRIMARY KEY (", columns),
            TableConstraint::PrimaryKey(_) => return absent(false, "options of PRIMARY KEY"),
            TableConstraint::Unique(UniqueConstraint {
                name: _,
                index_name: None,
                index_type_display: _,
                index_type: None,
                columns,
                include,
                index_options,
                characteristics: None,
                nulls_distinct: _,
            }) if include.is_empty() && index_options.is_empty() => ("UNIQUE (", columns),
            TableConstraint::Unique(_) => return absent(false, "options of UNIQUE"),
            TableConstraint::Check(check) => return self.check_constraint(check),
            TableConstraint::ForeignKey(key) => {
                self.put("FOREIGN KEY (");
                self.idents(&key.columns);
                self.put(")");
                return self.references(key);
            }
            _ => return Err(Error::unsupported("this kind of table constraint")),
        };
        self.enclosed(word, ")", |p| p.list(columns, |p, column| p.expr(&column.column.expr)))
    }

    fn check_constraint(&mut self, check: &CheckConstraint) -> Result<(), Error> {
        let CheckConstraint { name: _, expr, no_inherit, enforced } = check;
        absent(!no_inherit && enforced.is_none(), "options of CHECK")?;
        self.enclosed("CHECK (", ")", |p| p.expr(expr))
    }

    fn references(&mut self, key: &ForeignKeyConstraint) -> Result<(), Error> {
        let ForeignKeyConstraint {
            name: _,
            index_name,
            columns: _,
            foreign_table,
            referred_columns,
            on_delete,
            on_update,
            match_kind,
            characteristics,
        } = key;
        self.warehouse_only("FOREIGN KEY")?;
        absent(
            index_name.is_none()
                && on_delete.is_none()
                && on_update.is_none()
                && match_kind.is_none()
                // when it would be checked, which it is not
                && characteristics.as_ref().is_none_or(|when| when.enforced.is_none()),
            "options of FOREIGN KEY",
        )?;
        self.put(" REFERENCES ");
        self.name(foreign_table)?;
        if referred_columns.is_empty() {
            return Ok(());
        }
        self.put(" (");
        self.idents(referred_columns);
        self.done(")")
    }
}

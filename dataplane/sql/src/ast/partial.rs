//! Statements of which a few parts alone are given.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{AlterTable, AlterTableOperation, ObjectName, ObjectType, Statement};

pub(crate) fn altered(name: ObjectName, if_exists: bool, operations: Vec<AlterTableOperation>) -> Statement {
    Statement::AlterTable(AlterTable {
        name,
        if_exists,
        only: false,
        operations,
        location: None,
        on_cluster: None,
        table_type: None,
        end_token: AttachedToken::empty(),
    })
}

pub(crate) fn dropped(object_type: ObjectType, if_exists: bool, name: ObjectName) -> Statement {
    Statement::Drop {
        object_type,
        if_exists,
        names: vec![name],
        cascade: false,
        restrict: false,
        purge: false,
        temporary: false,
        table: None,
    }
}

//! Statements that make and drop: tables, views, functions, sequences and schemas.

use sqlparser::ast::{
    CommentObject, CreateFunction, CreateTable, CreateTableOptions, CreateView, HiveDistributionStyle, HiveFormat,
    ObjectName, ObjectType, OnCommit, SchemaName, SequenceOptions, SqlOption, Statement, ViewColumnDef,
};

use super::{Printer, Style, absent};
use crate::ast::construct::construct;
use crate::ast::error::Error;
use crate::ast::sequence;

/// Whether none of these is given.
macro_rules! none {
    ($($part:ident),+) => { $($part.is_none())&&+ };
}

impl Printer<'_> {
    pub(super) fn definition(&mut self, statement: &Statement) -> Result<(), Error> {
        match statement {
            Statement::CreateTable(create) => self.create_table(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::CreateView(create) => self.create_view(create),
            Statement::CreateFunction(create) => self.create_function(create),
            Statement::Comment { object_type, object_name, comment: _, if_exists } => {
                absent(!if_exists, "COMMENT IF EXISTS")?;
                self.comment(*object_type, object_name)
            }
            Statement::DropFunction(drop) => {
                self.warehouse_only("DROP FUNCTION")?;
                self.put(if drop.if_exists { "DROP FUNCTION IF EXISTS " } else { "DROP FUNCTION " });
                absent(drop.drop_behavior.is_none(), "CASCADE of DROP FUNCTION")?;
                absent(drop.func_desc.len() == 1, "DROP of several at once")?;
                self.list(&drop.func_desc, |p, one| p.name(&one.name))
            }
            Statement::CreateSequence { temporary, if_not_exists, name, data_type, sequence_options, owned_by } => {
                let replaces = sequence::replaces(owned_by.as_ref());
                absent(!temporary && data_type.is_none(), "options of CREATE SEQUENCE")?;
                absent(replaces || owned_by.is_none(), "OWNED BY of a sequence")?;
                absent(!replaces || !if_not_exists, "OR REPLACE with IF NOT EXISTS")?;
                self.put(if replaces { "CREATE OR REPLACE SEQUENCE " } else { "CREATE SEQUENCE " });
                self.put(if *if_not_exists { "IF NOT EXISTS " } else { "" });
                self.name(name)?;
                sequence_options.iter().try_for_each(|option| self.sequence_option(option))
            }
            Statement::Drop { object_type, if_exists, names, cascade, restrict, purge, temporary, table } => {
                absent(!purge && !temporary && table.is_none(), "options of DROP")?;
                self.put(match object_type {
                    ObjectType::Table => "DROP TABLE ",
                    ObjectType::Schema => "DROP SCHEMA ",
                    ObjectType::View => "DROP VIEW ",
                    ObjectType::Sequence => "DROP SEQUENCE ",
                    other => return Err(Error::unsupported(format!("DROP {other}"))),
                });
                self.put(if *if_exists { "IF EXISTS " } else { "" });
                absent(names.len() == 1, "DROP of several at once")?;
                self.list(names, Self::name)?;
                self.put(if *cascade { " CASCADE" } else { "" });
                self.done(if *restrict { " RESTRICT" } else { "" })
            }
            Statement::CreateSchema {
                schema_name,
                or_replace,
                if_not_exists,
                with,
                options,
                default_collate_spec,
                clone,
            } => {
                absent(!or_replace, "CREATE OR REPLACE SCHEMA")?;
                absent(none!(with, options, default_collate_spec), "options of CREATE SCHEMA")?;
                absent(clone.is_none(), "CLONE")?;
                let SchemaName::Simple(name) = schema_name else {
                    return Err(Error::unsupported("AUTHORIZATION"));
                };
                self.put(if *if_not_exists { "CREATE SCHEMA IF NOT EXISTS " } else { "CREATE SCHEMA " });
                self.name(name)
            }
            other if self.style == Style::Redacted => self.done(&construct(other)),
            other => Err(Error::unsupported(construct(other))),
        }
    }

    /// The engine gets what is kept beside it too (`steps`).
    fn comment(&mut self, on: CommentObject, name: &ObjectName) -> Result<(), Error> {
        self.warehouse_only("COMMENT ON")?;
        self.put(match on {
            CommentObject::Table => "COMMENT ON TABLE ",
            CommentObject::View => "COMMENT ON VIEW ",
            CommentObject::Column => "COMMENT ON COLUMN ",
            other => return Err(Error::unsupported(format!("COMMENT ON {other}"))),
        });
        self.name(name)?;
        self.done(" IS ?")
    }

    fn create_view(&mut self, create: &CreateView) -> Result<(), Error> {
        let CreateView {
            or_alter,
            or_replace,
            materialized,
            secure: _,
            name,
            name_before_not_exists: _,
            columns,
            query,
            options,
            cluster_by,
            comment: _,
            with_no_schema_binding,
            if_not_exists,
            temporary,
            copy_grants: _,
            to,
            params,
        } = create;
        absent(!materialized, "CREATE MATERIALIZED VIEW")?;
        absent(!temporary, "CREATE TEMPORARY VIEW")?;
        absent(
            !or_alter
                && matches!(options, CreateTableOptions::None)
                && cluster_by.is_empty()
                && !with_no_schema_binding
                && none!(to, params),
            "options of CREATE VIEW",
        )?;
        self.put(if *or_replace { "CREATE OR REPLACE VIEW " } else { "CREATE VIEW " });
        self.put(if *if_not_exists { "IF NOT EXISTS " } else { "" });
        self.name(name)?;
        if !columns.is_empty() {
            self.put(" (");
            self.list(columns, |p, column| {
                let ViewColumnDef { name, data_type, options: _ } = column;
                absent(data_type.is_none(), "a type of a view's column")?;
                p.ident(name);
                Ok(())
            })?;
            self.put(")");
        }
        self.put(" AS ");
        self.query(query)
    }

    /// Its text is a literal, so the log does not show it; the engine never gets it.
    fn create_function(&mut self, create: &CreateFunction) -> Result<(), Error> {
        self.warehouse_only("CREATE FUNCTION")?;
        self.put(if create.or_replace { "CREATE OR REPLACE FUNCTION " } else { "CREATE FUNCTION " });
        self.name(&create.name)?;
        self.put("(");
        let parameters = create.args.as_deref().unwrap_or_default();
        self.list(parameters, |p, parameter| {
            parameter.name.iter().try_for_each(|name| {
                p.ident(name);
                Ok(())
            })
        })?;
        self.done(") AS ?")
    }

    fn sequence_option(&mut self, option: &SequenceOptions) -> Result<(), Error> {
        match option {
            SequenceOptions::IncrementBy(step, _) => self.clause(" INCREMENT BY ", Some(step)),
            SequenceOptions::StartWith(start, _) => self.clause(" START WITH ", Some(start)),
            SequenceOptions::MinValue(Some(least)) => self.clause(" MINVALUE ", Some(least)),
            SequenceOptions::MaxValue(Some(most)) => self.clause(" MAXVALUE ", Some(most)),
            SequenceOptions::MinValue(None) | SequenceOptions::MaxValue(None) | SequenceOptions::Cycle(false) => Ok(()),
            SequenceOptions::Cycle(true) | SequenceOptions::Cache(_) => {
                Err(Error::unsupported("CYCLE and CACHE of a sequence"))
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "every field of the statement is looked at, and there are many")]
    fn create_table(&mut self, create: &CreateTable) -> Result<(), Error> {
        let CreateTable {
            or_replace,
            temporary,
            unlogged,
            external,
            dynamic,
            global,
            if_not_exists,
            transient: _,
            volatile,
            iceberg,
            snapshot,
            name,
            columns,
            constraints,
            hive_distribution,
            hive_formats,
            table_options,
            file_format,
            location,
            query,
            without_rowid,
            like,
            clone,
            version,
            comment: _,
            on_commit,
            on_cluster,
            primary_key,
            order_by,
            partition_by,
            cluster_by: _,
            clustered_by,
            inherits,
            partition_of,
            for_values,
            strict,
            copy_grants: _,
            enable_schema_evolution,
            change_tracking,
            data_retention_time_in_days: _,
            max_data_extension_time_in_days: _,
            default_ddl_collation,
            with_aggregation_policy,
            with_row_access_policy,
            with_storage_lifecycle_policy,
            with_tags,
            external_volume,
            with_connection,
            base_location,
            catalog,
            catalog_sync,
            storage_serialization_policy,
            target_lag,
            warehouse,
            refresh_mode,
            initialize,
            require_user,
            diststyle,
            distkey,
            sortkey,
            backup,
            multiset,
            fallback,
            with_data,
        } = create;
        absent(!volatile && global.is_none(), "a table that is VOLATILE, LOCAL or GLOBAL")?;
        absent(!unlogged && !external && !dynamic && !iceberg && !snapshot, "this kind of table")?;
        absent(
            matches!(hive_distribution, HiveDistributionStyle::NONE) && is_plain(hive_formats.as_ref()),
            "a storage format",
        )?;
        absent(says_nothing(table_options), "options of CREATE TABLE")?;
        absent(none!(file_format, location), "a location of a table")?;
        absent(!without_rowid && !strict && on_cluster.is_none(), "options of CREATE TABLE")?;
        absent(like.is_none(), "CREATE TABLE … LIKE")?;
        absent(none!(clone, version), "CLONE")?;
        absent(
            on_commit.is_none() || *temporary && matches!(on_commit, Some(OnCommit::Drop | OnCommit::PreserveRows)),
            "this ON COMMIT",
        )?;
        absent(none!(primary_key, order_by, partition_by, clustered_by), "PARTITION BY and ORDER BY of a table")?;
        absent(none!(inherits, partition_of, for_values), "INHERITS and PARTITION OF")?;
        absent(none!(enable_schema_evolution, change_tracking, default_ddl_collation), "options of CREATE TABLE")?;
        absent(
            none!(with_aggregation_policy, with_row_access_policy, with_storage_lifecycle_policy, with_tags),
            "a policy in CREATE TABLE",
        )?;
        absent(
            none!(external_volume, with_connection, base_location, catalog, catalog_sync, storage_serialization_policy),
            "external storage of a table",
        )?;
        absent(!require_user && none!(target_lag, warehouse, refresh_mode, initialize), "a dynamic table")?;
        absent(none!(diststyle, distkey, sortkey, backup, multiset, fallback, with_data), "options of CREATE TABLE")?;
        self.put(if *or_replace { "CREATE OR REPLACE " } else { "CREATE " });
        self.put(if *temporary { "TEMP TABLE " } else { "TABLE " });
        self.put(if *if_not_exists { "IF NOT EXISTS " } else { "" });
        self.name(name)?;
        match query {
            None => self.table_body(columns, constraints),
            Some(query) => {
                let is_shown = self.style != Style::Engine;
                absent((columns.is_empty() || is_shown) && constraints.is_empty(), "columns of CREATE TABLE … AS")?;
                self.put(" AS ");
                self.query(query)
            }
        }
    }
}

/// A comment is for people: it is a step of its own (`steps`).
fn says_nothing(options: &CreateTableOptions) -> bool {
    match options {
        CreateTableOptions::None => true,
        CreateTableOptions::Plain(options) => options.iter().all(|option| matches!(option, SqlOption::Comment(_))),
        _ => false,
    }
}

fn is_plain(formats: Option<&HiveFormat>) -> bool {
    formats.is_none_or(|HiveFormat { row_format, serde_properties, storage, location }| {
        row_format.is_none() && serde_properties.is_none() && storage.is_none() && location.is_none()
    })
}

//! Facts of the service and its types, as Flight SQL asks for them: two tables.

use arrow_flight::sql::metadata::{
    SqlInfoData, SqlInfoDataBuilder, XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder,
};
use arrow_flight::sql::{
    Nullable, Searchable, SqlInfo, SqlSupportedTransaction, XdbcDataType as Xdbc, XdbcDatetimeSubcode,
};

use crate::Error;

/// The version of Arrow's columnar format that answers are in.
const FORMAT_VERSION: &str = "1.4";

fn unmade(error: impl std::fmt::Display) -> Error {
    Error::Unverified { why: format!("a table of facts cannot be made: {error}") }
}

pub fn server() -> Result<SqlInfoData, Error> {
    let mut facts = SqlInfoDataBuilder::new();
    facts.append(SqlInfo::FlightSqlServerName, "Sluice");
    facts.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    facts.append(SqlInfo::FlightSqlServerArrowVersion, FORMAT_VERSION);
    facts.append(SqlInfo::FlightSqlServerReadOnly, false);
    facts.append(SqlInfo::FlightSqlServerSql, true);
    facts.append(SqlInfo::FlightSqlServerSubstrait, false);
    facts.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::Transaction as i32);
    facts.append(SqlInfo::FlightSqlServerCancel, true);
    facts.append(SqlInfo::FlightSqlServerBulkIngestion, true);
    facts.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, true);
    facts.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    facts.append(SqlInfo::SqlSearchStringEscape, "\\");
    facts.append(SqlInfo::SqlCatalogTerm, "database");
    facts.append(SqlInfo::SqlSchemaTerm, "schema");
    facts.append(SqlInfo::SqlTransactionsSupported, true);
    facts.append(SqlInfo::SqlSavepointsSupported, false);
    facts.append(SqlInfo::SqlNamedParametersSupported, false);
    facts.append(SqlInfo::SqlBatchUpdatesSupported, true);
    facts.build().map_err(unmade)
}

/// A type: its name, what ODBC and JDBC call it, the digits or bytes it holds, and the radix of those digits.
type XdbcTypeRow = (&'static str, Xdbc, Option<i32>, Option<i32>);

const NUMBERS: [XdbcTypeRow; 8] = [
    ("BOOLEAN", Xdbc::XdbcBit, Some(1), None),
    ("TINYINT", Xdbc::XdbcTinyint, Some(8), Some(2)),
    ("SMALLINT", Xdbc::XdbcSmallint, Some(16), Some(2)),
    ("INTEGER", Xdbc::XdbcInteger, Some(32), Some(2)),
    ("BIGINT", Xdbc::XdbcBigint, Some(64), Some(2)),
    ("FLOAT", Xdbc::XdbcReal, Some(24), Some(2)),
    ("DOUBLE", Xdbc::XdbcDouble, Some(53), Some(2)),
    ("DECIMAL", Xdbc::XdbcDecimal, Some(38), Some(10)),
];

const TEXTS: [XdbcTypeRow; 4] = [
    ("VARCHAR", Xdbc::XdbcVarchar, None, None),
    ("BLOB", Xdbc::XdbcVarbinary, None, None),
    ("UUID", Xdbc::XdbcChar, Some(36), None),
    ("JSON", Xdbc::XdbcVarchar, None, None),
];

const MOMENTS: [(&str, Xdbc, XdbcDatetimeSubcode); 4] = [
    ("DATE", Xdbc::XdbcDate, XdbcDatetimeSubcode::XdbcSubcodeYear), // ODBC's code of a date
    ("TIME", Xdbc::XdbcTime, XdbcDatetimeSubcode::XdbcSubcodeTime),
    ("TIMESTAMP", Xdbc::XdbcTimestamp, XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
    ("TIMESTAMP WITH TIME ZONE", Xdbc::XdbcTimestamp, XdbcDatetimeSubcode::XdbcSubcodeTimestampWithTimezone),
];

pub fn types() -> Result<XdbcTypeInfoData, Error> {
    let mut types = XdbcTypeInfoDataBuilder::new();
    for (name, kind, size, radix) in NUMBERS {
        let has_scale = name == "DECIMAL";
        types.append(XdbcTypeInfo {
            column_size: size,
            num_prec_radix: radix,
            unsigned_attribute: Some(false),
            create_params: has_scale.then(|| vec!["precision".to_owned(), "scale".to_owned()]),
            minimum_scale: has_scale.then_some(0),
            maximum_scale: has_scale.then_some(38),
            ..plain(name, kind)
        });
    }
    for (name, kind, size, _) in TEXTS {
        types.append(XdbcTypeInfo { column_size: size, case_sensitive: true, ..quoted(name, kind) });
    }
    for (name, kind, subcode) in MOMENTS {
        let sql_data_type = Xdbc::XdbcDatetime;
        types.append(XdbcTypeInfo { sql_data_type, datetime_subcode: Some(subcode), ..quoted(name, kind) });
    }
    types.append(quoted("INTERVAL", Xdbc::XdbcInterval));
    types.build().map_err(unmade)
}

fn quoted(name: &str, kind: Xdbc) -> XdbcTypeInfo {
    let quote = || Some("'".to_owned());
    XdbcTypeInfo { literal_prefix: quote(), literal_suffix: quote(), ..plain(name, kind) }
}

fn plain(name: &str, kind: Xdbc) -> XdbcTypeInfo {
    XdbcTypeInfo {
        type_name: name.to_owned(),
        data_type: kind,
        nullable: Nullable::NullabilityNullable,
        searchable: Searchable::Full,
        auto_increment: Some(false),
        local_type_name: Some(name.to_owned()),
        sql_data_type: kind,
        ..XdbcTypeInfo::default()
    }
}

//! What the values of files look like, so that somebody can be told of types that hold them.

use std::time::Instant;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::types::{JSON, TEXT};
use super::{RECORD, name, text};
use crate::error::Error;
use crate::session::Session;

/// A whole number or one with a point; one that begins with a needless zero is a text.
const NUMBER_FORM: &str = "-?(0|[1-9][0-9]{0,37})([.][0-9]{1,37})?";
const DOUBLE_FORM: &str = "-?(0|[1-9][0-9]{0,14})([.][0-9]+)?([eE][-+]?[0-9]{1,3})?";
const BOOLEAN_FORM: &str = "[Tt]rue|TRUE|[Ff]alse|FALSE";
const DATE_FORM: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
const TIME_FORM: &str = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?";
const ZONE_FORM: &str = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)";

/// What all values of a column have in common.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ValueForm {
    /// `BOOLEAN`, `NUMBER`, `DOUBLE`, `DATE`, `TIME`, `TIMESTAMP`, `VARCHAR` or `JSON`; none where each is NULL.
    pub kind: Option<String>,
    /// Digits before the point, of the number that has most.
    pub whole: u32,
    /// Digits behind it.
    pub scale: u32,
}

/// Makes the expression of a text that is read by the format of a type, which is NULL of any other text.
///
/// Nothing where texts of the type are written as ISO 8601 says.
pub type ReadByFormat<'f> = &'f (dyn Fn(&str, &str) -> Option<String> + Sync);

impl Session {
    /// The forms of these columns of a query, all of which are texts.
    pub async fn text_forms(
        &mut self,
        rows: &str,
        columns: &[String],
        by_format: ReadByFormat<'_>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<ValueForm>, Error> {
        let values: Vec<(String, Option<String>)> = columns.iter().map(|column| (name(column), None)).collect();
        self.forms(rows, (&values, by_format), deadline, cancel).await
    }

    /// The forms of the members that the objects of a query of JSON records have for these keys.
    pub async fn member_forms(
        &mut self,
        records: &str,
        keys: &[String],
        by_format: ReadByFormat<'_>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<ValueForm>, Error> {
        let member = |key: &String| {
            let (record, pointer) = (name(RECORD), text(&pointer(key)));
            let kind = format!("json_type(json_extract({record}, {pointer}))");
            (format!("json_extract_string({record}, {pointer})"), Some(kind))
        };
        let values: Vec<(String, Option<String>)> = keys.iter().map(member).collect();
        self.forms(records, (&values, by_format), deadline, cancel).await
    }

    /// The names that the objects of a query of JSON records have, in the order in which they are met.
    pub async fn ordered_keys(
        &mut self,
        records: &str,
        most: usize,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, Error> {
        let numbered = format!(
            "select json_keys({}) as keys, row_number() over () as number from ({records}) as records",
            name(RECORD)
        );
        let each = format!(
            "select unnest(keys) as key, unnest(range(len(keys))) as place, number from ({numbered}) as numbered"
        );
        let first = format!(
            "select key, min(number * 1048576 + place) as met from ({each}) as each_key \
             group by key order by met limit {most}"
        );
        let sql = format!(
            "select cast(to_json(coalesce(list(key order by met), [])) as varchar) from ({first}) as first_keys"
        );
        let told = self.one_text(sql, deadline, cancel).await?;
        serde_json::from_str(&told).map_err(Error::internal)
    }

    /// The forms of values, each of which is a text and, if it is one of JSON, its type there.
    async fn forms(
        &mut self,
        rows: &str,
        (values, by_format): (&[(String, Option<String>)], ReadByFormat<'_>),
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<ValueForm>, Error> {
        if values.is_empty() {
            return Ok(Vec::new());
        }
        let given = values.iter().enumerate().map(|(place, (value, kind))| match kind {
            Some(kind) => format!("{value} as value_{place}, {kind} as kind_{place}"),
            None => format!("{value} as value_{place}"),
        });
        let given = given.collect::<Vec<_>>().join(", ");
        let forms = values.iter().enumerate().map(|(place, (_, kind))| {
            let value = format!("value_{place}");
            let kind = kind.as_ref().map(|_| format!("kind_{place}"));
            form(&value, kind.as_deref(), by_format)
        });
        let forms = forms.collect::<Vec<_>>().join(", ");
        let sql = format!(
            "select cast(to_json([{forms}]) as varchar) from (select {given} from ({rows}) as records) as given"
        );
        let told = self.one_text(sql, deadline, cancel).await?;
        serde_json::from_str(&told).map_err(Error::internal)
    }
}

/// An expression of the form of a column over all its rows.
fn form(value: &str, kind: Option<&str>, by_format: ReadByFormat<'_>) -> String {
    let all = |condition: String| format!("bool_and({value} is null or ({condition}))");
    let fits = |form: &str, type_name: &str| {
        all(format!("regexp_full_match({value}, '{form}') and try_cast({value} as {type_name}) is not null"))
    };
    let timestamp = format!("{DATE_FORM}([ T]{TIME_FORM}{ZONE_FORM}?)?");
    let moments = [(DATE_FORM, "DATE"), (TIME_FORM, "TIME"), (timestamp.as_str(), "TIMESTAMP")];
    let moments = moments.map(|(form, type_name)| match by_format(type_name, value) {
        Some(read) => (all(format!("{read} is not null")), type_name),
        None => (fits(form, type_name), type_name),
    });
    let number = all(format!("regexp_full_match({value}, '{NUMBER_FORM}')"));
    let when = |(condition, told): &(String, &str)| format!("when {condition} then '{told}'");
    let moments = moments.iter().map(when).collect::<Vec<_>>().join(" ");
    let branches = match kind {
        None => format!(
            "when {} then 'BOOLEAN' when {number} then 'NUMBER' when {} then 'DOUBLE' {moments} else '{TEXT}'",
            fits(BOOLEAN_FORM, "BOOLEAN"),
            fits(DOUBLE_FORM, "DOUBLE"),
        ),
        Some(kind) => {
            let are = |kinds: &str| all(format!("{kind} in ({kinds})"));
            let numbers = are("'BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT', 'DOUBLE'");
            format!(
                "when {} then 'BOOLEAN' when {numbers} and {number} then 'NUMBER' when {numbers} then 'DOUBLE' \
                 when not {} then '{JSON}' {moments} else '{TEXT}'",
                are("'BOOLEAN'"),
                are("'VARCHAR'"),
            )
        }
    };
    let digits = |part: &str| format!("coalesce(max(length(regexp_extract({value}, '{part}', 1))), 0)");
    format!(
        "{{kind: case when count({value}) = 0 then null {branches} end, whole: {}, scale: {}}}",
        digits("^-?([0-9]+)"),
        digits("[.]([0-9]+)$"),
    )
}

/// Where a member of an object is.
fn pointer(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

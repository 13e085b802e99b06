//! Types of the columns of files: those that a table is made of, and what CSV means by its texts.

pub const TEXT: &str = "VARCHAR";
pub const JSON: &str = "JSON";

/// Types that stand for themselves.
const PLAIN: [&str; 19] = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "FLOAT",
    "DOUBLE",
    "VARCHAR",
    "BLOB",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE",
    "INTERVAL",
    "UUID",
];

/// The type that a column of this one is read as, by the engine's names; none for what is nested or unknown.
pub fn plain_type(type_name: &str) -> Option<String> {
    if PLAIN.contains(&type_name) || type_name == JSON || is_decimal(type_name) {
        return Some(type_name.to_owned());
    }
    Some(match type_name {
        "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => "TIMESTAMP".to_owned(),
        "HUGEINT" => "DECIMAL(38,0)".to_owned(),
        list => {
            let item = list.strip_suffix("[]").filter(|item| PLAIN.contains(item))?;
            format!("{item}[]")
        }
    })
}

/// What a column is read as that has no plain type.
pub fn nested(type_name: &str) -> &'static str {
    let is_nested = ["STRUCT(", "MAP(", "UNION("].iter().any(|word| type_name.starts_with(word));
    if is_nested || type_name.ends_with(']') { JSON } else { TEXT }
}

fn is_decimal(type_name: &str) -> bool {
    let digits = type_name.strip_prefix("DECIMAL(").and_then(|rest| rest.strip_suffix(')'));
    let Some((width, scale)) = digits.and_then(|digits| digits.split_once(',')) else { return false };
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    number(width).zip(number(scale)).is_some_and(|(width, scale)| (1..=38).contains(&width) && scale <= width)
}

/// What all values of a type look like, and the type. A number that begins with a zero is none, and one with more
/// digits than the type keeps neither: as text they lose nothing.
const FORMS: [(&str, &str); 6] = [
    ("BOOLEAN", "[Tt]rue|TRUE|[Ff]alse|FALSE"),
    ("BIGINT", "-?(0|[1-9][0-9]{0,18})"),
    ("DOUBLE", "-?(0|[1-9][0-9]{0,14})([.][0-9]+)?([eE][-+]?[0-9]{1,3})?"),
    ("DATE", "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    ("TIMESTAMP", "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"),
    (
        "TIMESTAMP WITH TIME ZONE",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?(Z|[+-][0-9]{2}(:?[0-9]{2})?)",
    ),
];

/// An expression that names the type of a column of texts, over all its rows.
pub fn of_texts(column: &str) -> String {
    let form = |(type_name, form): (&str, &str)| {
        let is_one = format!("regexp_full_match({column}, '{form}') and try_cast({column} as {type_name}) is not null");
        format!("when bool_and({column} is null or ({is_one})) then '{type_name}'")
    };
    let forms: Vec<_> = FORMS.into_iter().map(form).collect();
    format!("case when count({column}) = 0 then '{TEXT}' {} else '{TEXT}' end", forms.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_of_a_file_has_one_that_a_table_is_made_of() {
        for (told, kept) in [
            ("BIGINT", Some("BIGINT")),
            ("DECIMAL(12,2)", Some("DECIMAL(12,2)")),
            ("HUGEINT", Some("DECIMAL(38,0)")),
            ("TIMESTAMP_NS", Some("TIMESTAMP")),
            ("FLOAT[]", Some("FLOAT[]")),
            ("FLOAT[][]", None),
            ("STRUCT(a INTEGER)", None),
            ("DECIMAL(1); drop table t; --)", None),
            ("DECIMAL(12)", None),
            ("DECIMAL(39,0)", None),
            ("DECIMAL(+4,2)", None),
            ("DECIMAL(4,5)", None),
            ("GEOMETRY", None),
        ] {
            assert_eq!(plain_type(told).as_deref(), kept, "{told}");
        }
        for (told, kept) in [("STRUCT(a INTEGER)", "JSON"), ("FLOAT[][]", "JSON"), ("GEOMETRY", "VARCHAR")] {
            assert_eq!(nested(told), kept, "{told}");
        }
    }
}

//! The types of PostgreSQL that the wire reads and writes: a row each, of name, ids and size.

macro_rules! scalars {
    ($($variant:ident $name:literal $oid:literal $array:literal $size:literal;)+) => {
        /// A type of PostgreSQL that is no array. Who reads or writes values matches it, and forgets none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PgScalar { $($variant),+ }

        impl PgScalar {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// `pg_type.typname`.
            pub const fn name(self) -> &'static str { match self { $(Self::$variant => $name),+ } }

            /// `pg_type.oid`.
            pub const fn oid(self) -> u32 { match self { $(Self::$variant => $oid),+ } }

            /// `pg_type.typarray`.
            pub const fn array(self) -> u32 { match self { $(Self::$variant => $array),+ } }

            /// `pg_type.typlen`: bytes, or -1 when they vary.
            pub const fn size(self) -> i16 { match self { $(Self::$variant => $size),+ } }
        }
    };
}

scalars! {
    Bool        "bool"        16   1000 1;
    Bytea       "bytea"       17   1001 -1;
    Name        "name"        19   1003 64;
    Int8        "int8"        20   1016 8;
    Int2        "int2"        21   1005 2;
    Int4        "int4"        23   1007 4;
    Text        "text"        25   1009 -1;
    Oid         "oid"         26   1028 4;
    Json        "json"        114  199  -1;
    Float4      "float4"      700  1021 4;
    Float8      "float8"      701  1022 8;
    Date        "date"        1082 1182 4;
    Time        "time"        1083 1183 8;
    Timestamp   "timestamp"   1114 1115 8;
    TimestampTz "timestamptz" 1184 1185 8;
    Interval    "interval"    1186 1187 16;
    Numeric     "numeric"     1700 1231 -1;
    Uuid        "uuid"        2950 2951 16;
    Jsonb       "jsonb"       3802 3807 -1;
}

/// Text under its other names, with their arrays: unspecified, `name`, `unknown`, `bpchar`, `varchar`.
const TEXTS: [(u32, u32); 5] = [(0, 0), (19, 1003), (705, 0), (1042, 1014), (1043, 1015)];
/// Arrays that parameters have, of items that they do not have: `char[]`, `regclass[]`.
const ARRAYS: [(u32, PgScalar); 2] = [(1002, PgScalar::Text), (2210, PgScalar::Int8)];

/// What a parameter of a type holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterType {
    One(PgScalar),
    ArrayOf(PgScalar),
}

impl ParameterType {
    /// By the type's id. 0 and `unknown` take what their text says.
    pub fn of(oid: u32) -> Option<Self> {
        let is_text = TEXTS.iter().any(|(text, _)| *text == oid);
        let one = PgScalar::ALL.iter().find(|scalar| scalar.oid() == oid).copied();
        if let Some(one) = is_text.then_some(PgScalar::Text).or(one) {
            return Some(Self::One(one));
        }
        let are_texts = TEXTS.iter().any(|(_, array)| *array == oid);
        let items = PgScalar::ALL.iter().find(|scalar| scalar.array() == oid).copied();
        let items = are_texts.then_some(PgScalar::Text).or(items);
        items.or_else(|| ARRAYS.iter().find(|(array, _)| *array == oid).map(|(_, item)| *item)).map(Self::ArrayOf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, length and array of a type in the catalogue.
    fn listed(oid: u32) -> Option<[&'static str; 3]> {
        let lines = include_str!("../../storage/catalogue/types.txt").lines();
        let mut parts = lines.map(|line| line.split(' ').collect::<Vec<_>>());
        parts.find(|parts| parts[0] == oid.to_string()).map(|parts| [parts[1], parts[2], parts[4]])
    }

    #[test]
    fn each_type_of_the_wire_is_in_the_catalogue_alike() {
        for scalar in PgScalar::ALL {
            let (size, array) = (scalar.size().to_string(), scalar.array().to_string());
            assert_eq!(listed(scalar.oid()), Some([scalar.name(), size.as_str(), array.as_str()]), "{scalar:?}");
        }
        for (oid, array) in TEXTS.iter().filter(|(oid, _)| *oid != 0) {
            assert_eq!(listed(*oid).unwrap()[2], array.to_string());
        }
    }

    #[test]
    fn each_parameter_is_read_by_its_id() {
        for scalar in PgScalar::ALL.iter().filter(|scalar| **scalar != PgScalar::Name) {
            assert_eq!(ParameterType::of(scalar.oid()), Some(ParameterType::One(*scalar)));
            assert_eq!(ParameterType::of(scalar.array()), Some(ParameterType::ArrayOf(*scalar)));
        }
        for (oid, expected) in [
            (0, Some(ParameterType::One(PgScalar::Text))),
            (19, Some(ParameterType::One(PgScalar::Text))),
            (1003, Some(ParameterType::ArrayOf(PgScalar::Text))),
            (1043, Some(ParameterType::One(PgScalar::Text))),
            (1015, Some(ParameterType::ArrayOf(PgScalar::Text))),
            (2210, Some(ParameterType::ArrayOf(PgScalar::Int8))),
            (18, None),
            (600, None),
        ] {
            assert_eq!(ParameterType::of(oid), expected, "{oid}");
        }
    }
}

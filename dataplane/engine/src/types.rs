//! A type of the engine, as it names it itself, and the form in which a column of it can be sent.

use std::fmt::{self, Display};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// A type with a name of its own over another: `JSON` over `VARCHAR`, or a made `ENUM`.
    pub alias: Option<String>,
    pub shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Plain(&'static str),
    /// The Arrow export of these is wrong or unreadable: not for every value (`UHUGEINT` over 127
    /// bits), without a part (`TIME WITH TIME ZONE`), or in the engine's inner format.
    Opaque(&'static str),
    Decimal {
        width: u8,
        scale: u8,
    },
    Enum(Vec<String>),
    List(Box<Type>),
    Array(Box<Type>, u64),
    Struct(Vec<(String, Type)>),
    Map(Box<Type>, Box<Type>),
    Union(Vec<(String, Type)>),
}

impl Type {
    /// Whether it waits for the type of a parameter; the engine has no name for such a column either.
    pub fn is_open(&self) -> bool {
        matches!(self.shape, Shape::Plain("UNKNOWN"))
    }

    /// The type to cast a column to before it is sent; none when it can be sent as it is.
    pub fn sent_as(&self) -> Option<String> {
        let sent = self.shape.readable();
        (sent != self.shape).then(|| format!("{sent:#}"))
    }
}

impl Shape {
    fn readable(&self) -> Self {
        let each = |t: &Type| {
            let shape = t.shape.readable();
            Type { alias: t.alias.clone().filter(|_| shape == t.shape), shape }
        };
        match self {
            Self::Opaque(_) | Self::Enum(_) | Self::Union(_) => Self::Plain("VARCHAR"),
            Self::Plain(_) | Self::Decimal { .. } => self.clone(),
            Self::List(item) => Self::List(Box::new(each(item))),
            Self::Array(item, size) => Self::Array(Box::new(each(item)), *size),
            Self::Struct(fields) => {
                let sent: Vec<_> = fields.iter().map(|(name, t)| (name.clone(), each(t))).collect();
                // without names it is a type that no cast can say
                let is_sayable = sent == *fields || fields.iter().all(|(name, _)| !name.is_empty());
                if is_sayable { Self::Struct(sent) } else { Self::Plain("VARCHAR") }
            }
            Self::Map(key, value) => Self::Map(Box::new(each(key)), Box::new(each(value))),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.alias {
            Some(alias) => f.write_str(alias),
            None => self.shape.fmt(f),
        }
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(name) | Self::Opaque(name) => f.write_str(name),
            Self::Decimal { width, scale } => write!(f, "DECIMAL({width},{scale})"),
            Self::Enum(labels) => {
                let labels: Vec<_> = labels.iter().map(|l| format!("'{}'", l.replace('\'', "''"))).collect();
                write!(f, "ENUM({})", labels.join(", "))
            }
            Self::List(item) => item.fmt(f).and_then(|()| f.write_str("[]")),
            Self::Array(item, size) => item.fmt(f).and_then(|()| write!(f, "[{size}]")),
            Self::Struct(fields) => named(f, "STRUCT", fields),
            Self::Map(key, value) => {
                f.write_str("MAP(")?;
                key.fmt(f)?;
                f.write_str(", ")?;
                value.fmt(f)?;
                f.write_str(")")
            }
            Self::Union(members) => named(f, "UNION", members),
        }
    }
}

/// `STRUCT(a INTEGER)`; in the alternate form, which is for SQL, every name is quoted.
fn named(f: &mut fmt::Formatter<'_>, kind: &str, fields: &[(String, Type)]) -> fmt::Result {
    write!(f, "{kind}(")?;
    for (index, (name, field)) in fields.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        let plain = |b: u8| b.is_ascii_lowercase() || b == b'_';
        if !f.alternate() && !name.is_empty() && name.bytes().all(plain) {
            write!(f, "{name} ")?;
        } else {
            write!(f, "{} ", quoted(name))?;
        }
        field.fmt(f)?;
    }
    f.write_str(")")
}

/// An identifier as SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(shape: Shape) -> Type {
        Type { alias: None, shape }
    }

    #[test]
    fn only_unreadable_parts_become_text() {
        let odd = plain(Shape::Struct(vec![
            ("a\"b".to_owned(), plain(Shape::Opaque("BIT"))),
            ("c".to_owned(), plain(Shape::List(Box::new(plain(Shape::Enum(vec!["x".to_owned()])))))),
            ("d".to_owned(), plain(Shape::Plain("INTEGER"))),
        ]));
        let sent = odd.sent_as();
        assert_eq!(odd.to_string(), r#"STRUCT("a""b" BIT, c ENUM('x')[], d INTEGER)"#);
        assert_eq!(sent.as_deref(), Some(r#"STRUCT("a""b" VARCHAR, "c" VARCHAR[], "d" INTEGER)"#));
    }

    #[test]
    fn an_alias_names_the_type_and_does_not_hide_its_shape() {
        let mood = Type { alias: Some("mood".to_owned()), shape: Shape::Enum(vec!["it's".to_owned()]) };
        assert_eq!(mood.to_string(), "mood");
        assert_eq!(mood.sent_as().as_deref(), Some("VARCHAR"));
        assert_eq!(mood.shape.to_string(), "ENUM('it''s')");
        let json = Type { alias: Some("JSON".to_owned()), shape: Shape::Plain("VARCHAR") };
        assert_eq!(json.sent_as(), None);
        assert_eq!(plain(Shape::List(Box::new(json))).sent_as(), None);
    }
}

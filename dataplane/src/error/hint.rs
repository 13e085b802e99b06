//! Names that exist in place of one that a statement names and that does not.

use std::fmt;

use contract::body::Problem;

/// For whoever asked: it names nothing that they may not see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hint {
    /// The name that is most like it.
    pub near: Option<String>,
    /// Some of the columns there are, those first that are most like it.
    pub columns: Vec<String>,
    /// A whole statement that every gate lets through for them. It was not run.
    pub statement: Option<String>,
}

impl Hint {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn told(&self, mut problem: Problem) -> Problem {
        if let Some(near) = &self.near {
            problem = problem.detail("did_you_mean", near.as_str());
        }
        if !self.columns.is_empty() {
            problem = problem.detail("columns", self.columns.clone());
        }
        match &self.statement {
            Some(statement) => problem.detail("suggestion", statement.as_str()),
            None => problem,
        }
    }
}

/// Behind the message of the error.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.near, self.columns.as_slice()) {
            (Some(near), _) => write!(f, "; did you mean {near}?"),
            (None, []) => Ok(()),
            (None, [column]) => write!(f, "; there is {column}"),
            (None, columns) => write!(f, "; there are {}", columns.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn the_message_names_what_is_missing_and_what_there_is() {
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (hint, expected) in [
            (Hint::default(), "column x does not exist"),
            (Hint { near: Some("xx".to_owned()), ..Hint::default() }, "column x does not exist; did you mean xx?"),
            (Hint { columns: columns(&["a"]), ..Hint::default() }, "column x does not exist; there is a"),
            (Hint { columns: columns(&["a", "b"]), ..Hint::default() }, "column x does not exist; there are a, b"),
        ] {
            let missing = Error::ColumnMissing { name: "x".to_owned() };
            let hinted = Error::Hinted { error: Box::new(missing.clone()), hint: Box::new(hint) };
            assert_eq!((hinted.to_string().as_str(), hinted.code()), (expected, missing.code()));
            let problem = hinted.problem();
            assert_eq!((problem.message.as_str(), &problem.details["column"]), (expected, &"x".into()));
        }
    }

    #[test]
    fn the_details_hold_the_name_the_columns_and_the_statement() {
        let statement = "select a from t".to_owned();
        let hint = Hint { near: Some("a".to_owned()), columns: vec!["a".to_owned()], statement: Some(statement) };
        let error = Box::new(Error::ColumnMissing { name: "aa".to_owned() });
        let details = Error::Hinted { error, hint: Box::new(hint) }.problem().details;
        let expected = serde_json::json!({
            "column": "aa", "did_you_mean": "a", "columns": ["a"], "suggestion": "select a from t",
        });
        assert_eq!(serde_json::Value::Object(details), expected);
    }
}

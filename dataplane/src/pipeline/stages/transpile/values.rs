//! The values of a generated statement's parameters.

use crate::Error;
use crate::pipeline::Result;

/// The values of the generated statement's parameters: the caller's, and those of policies.
pub(in crate::pipeline) fn bound(binds: &[sql::Bind], params: &[engine::Value]) -> Result<Vec<engine::Value>> {
    let given = |number: &usize| {
        number.checked_sub(1).and_then(|at| params.get(at)).cloned().ok_or_else(|| Error::InvalidParams {
            field: "params",
            message: format!("the statement has a parameter ${number} that was given no value"),
        })
    };
    let value = |bind: &sql::Bind| match bind {
        sql::Bind::Text(text) => Ok(engine::Value::Text(text.clone())),
        sql::Bind::Caller(number) => given(number),
        sql::Bind::Number(number) => given(number).and_then(|value| as_number(*number, value)),
        sql::Bind::Moment(number) => given(number).map(as_moment),
    };
    binds.iter().map(value).collect()
}

/// A value that becomes a moment with a zone: its text as the engine reads it, which takes no blank before an offset.
fn as_moment(value: engine::Value) -> engine::Value {
    match value {
        engine::Value::Text(text) => engine::Value::Text(sql::dialect::offset_joined(&text).unwrap_or(text)),
        other => other,
    }
}

/// A value that a cast calls a number: the decimal that it is.
fn as_number(number: usize, value: engine::Value) -> Result<engine::Value> {
    use engine::Value;
    let digits = match value {
        Value::Text(text) => text.trim().to_owned(),
        Value::Double(double) => double.to_string(),
        other => return Ok(other),
    };
    let plain = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
    let is_plain = plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && plain.bytes().any(|byte| byte.is_ascii_digit())
        && plain.bytes().filter(|byte| *byte == b'.').count() <= 1;
    if is_plain {
        return Ok(Value::Decimal(digits.trim_start_matches('+').to_owned()));
    }
    Err(Error::InvalidParams { field: "params", message: format!("the value of ${number} is no number") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Value;

    #[test]
    fn values_go_where_the_generated_statement_wants_them() {
        let binds = [sql::Bind::Caller(2), sql::Bind::Text("EU".to_owned()), sql::Bind::Caller(1)];
        let params = [Value::BigInt(1), Value::BigInt(2)];
        let expected = vec![Value::BigInt(2), Value::Text("EU".to_owned()), Value::BigInt(1)];
        assert_eq!(bound(&binds, &params).unwrap(), expected);
        assert_eq!(bound(&binds, &[]).unwrap_err().code(), contract::Code::InvalidParams);
    }

    #[test]
    fn a_moment_is_bound_without_a_blank_before_its_offset() {
        let binds = [sql::Bind::Moment(1)];
        for (given, taken) in [("2024-02-29 12:34:56.789 +00:00", "2024-02-29 12:34:56.789+00:00"), ("now", "now")] {
            let bound = bound(&binds, &[Value::Text(given.to_owned())]).unwrap();
            assert_eq!(bound, [Value::Text(taken.to_owned())]);
        }
        assert_eq!(bound(&binds, &[Value::TimestampTz(0)]).unwrap(), [Value::TimestampTz(0)]);
    }

    #[test]
    fn what_a_cast_calls_a_number_is_bound_as_one() {
        let bound = |value| bound(&[sql::Bind::Number(1)], &[value]);
        let decimal = |digits: &str| vec![Value::Decimal(digits.to_owned())];
        assert_eq!(bound(Value::Text(" 1.25 ".to_owned())).unwrap(), decimal("1.25"));
        assert_eq!(bound(Value::Double(-0.5)).unwrap(), decimal("-0.5"));
        assert_eq!(bound(Value::BigInt(7)).unwrap(), [Value::BigInt(7)]);
        for value in [Value::Text("1.2.3".to_owned()), Value::Double(f64::NAN), Value::Text(String::new())] {
            assert_eq!(bound(value).unwrap_err().code(), contract::Code::InvalidParams);
        }
    }
}

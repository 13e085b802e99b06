//! Conversions: `TO_DATE`, `TO_TIMESTAMP`, `TO_CHAR`, `TO_NUMBER` and their `TRY_` forms.
//!
//! A format must be a literal, since the engine reads constant formats only.

use sqlparser::ast::{BinaryOperator, DataType, ExactNumberInfo, Expr, Function, TimezoneInfo};

use super::call::{Handler, exactly, plain, written_name, wrong_count};
use super::dates::{instant, timestamp};
use super::formats::{self, FormatDirection};
use super::offsets::{self, LocalClock, UtcOffset};
use super::{Context, OFFSET, bytes, compose, moments, number_formats, templates, variants};
use crate::ast::error::Error;
use crate::functions::types::Type;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (
        &[
            "date",
            "time",
            "to_date",
            "to_time",
            "to_timestamp",
            "to_timestamp_ltz",
            "to_timestamp_ntz",
            "to_timestamp_tz",
            "try_to_date",
            "try_to_time",
            "try_to_timestamp",
            "try_to_timestamp_ltz",
            "try_to_timestamp_ntz",
            "try_to_timestamp_tz",
        ],
        to_moment,
    ),
    (&["to_binary", "try_to_binary"], to_binary),
    (&["to_char", "to_varchar"], to_text),
    (&["to_decimal", "to_number", "to_numeric", "try_to_decimal", "try_to_number", "try_to_numeric"], to_number),
];

/// The name without `try_`, and whether it had it.
fn tried(function: &Function) -> (String, bool) {
    let name = written_name(function);
    match name.strip_prefix("try_") {
        Some(rest) => (rest.to_owned(), true),
        None => (name, false),
    }
}

fn cast(expr: Expr, data_type: DataType, is_try: bool) -> Expr {
    if is_try { compose::try_cast(expr, data_type) } else { compose::cast(expr, data_type) }
}

fn has_zone(name: &str) -> bool {
    name.ends_with("_tz") || name.ends_with("_ltz")
}

fn target(name: &str) -> DataType {
    match name {
        "date" | "to_date" => DataType::Date,
        "time" | "to_time" => DataType::Time(None, TimezoneInfo::None),
        _ if has_zone(name) => DataType::Timestamp(None, TimezoneInfo::WithTimeZone),
        _ => timestamp(),
    }
}

/// `TO_DATE(x[, format])`, and the same of times and timestamps.
fn to_moment(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (name, is_try) = tried(&function);
    let mut args = plain(function)?;
    match args.len() {
        1 => {
            let [value] = exactly(&name, args)?;
            from_value(&name, value, is_try, context)
        }
        2 => {
            let format = args.pop();
            let [value] = exactly(&name, args)?;
            if let Some(scale) = format.as_ref().and_then(compose::integer) {
                return from_scaled(&name, value, scale, is_try, context);
            }
            let Some(format) = format.as_ref().and_then(compose::constant) else {
                return Err(Error::unsupported(format!(
                    "{} with a format that is not a literal",
                    name.to_ascii_uppercase()
                )));
            };
            if format.eq_ignore_ascii_case("auto") {
                return from_value(&name, value, is_try, context);
            }
            from_format(&name, value, format, is_try, context)
        }
        count => Err(wrong_count(&name, count)),
    }
}

/// By a format, which the engine reads as a constant.
fn from_format(
    name: &str,
    value: Expr,
    format: String,
    is_try: bool,
    context: &mut Context<'_>,
) -> Result<Expr, Error> {
    let offset = if name == "to_timestamp_tz" && formats::ends_in_offset_of_clock(&format) {
        offsets::told(&value, is_try, context)
    } else {
        None
    };
    let (value, format) = if has_zone(name) { (value, format) } else { on_the_wall(value, format)? };
    let format = formats::compile(&format, FormatDirection::Read)?;
    let is_of_century = format.contains("%y");
    let read = if is_try { "try_strptime" } else { "strptime" };
    let parsed = compose::call(read, [value, compose::text(format)]);
    if is_of_century {
        let parsed = templates::fill("_of_century", &mut [parsed], context)?;
        return Ok(compose::cast(parsed, target(name)));
    }
    offsets::noted(compose::cast(parsed, target(name)), offset, context)
}

/// A text by a format, as a value of this type: NULL where it is none.
pub(super) fn tried_by_format(kind: Type, text: Expr, format: &str, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = match kind {
        Type::Blob => return Ok(compose::call("try", [bytes_of_text(text, format, context)?])),
        Type::Date => "to_date",
        Type::Time => "to_time",
        Type::Timestamp => "to_timestamp",
        Type::TimestampTz => "to_timestamp_tz",
        _ => return Err(Error::unsupported("a format of this type")),
    };
    from_format(name, text, format.to_owned(), true, context)
}

/// What has no zone is read without the offset that the text ends in.
fn on_the_wall(value: Expr, format: String) -> Result<(Expr, String), Error> {
    let Some(shorter) = formats::without_offset(&format) else { return Ok((value, format)) };
    if formats::has_offset(shorter) {
        return Err(Error::unsupported(format!("an offset in the middle of the format {format}")));
    }
    Ok((offsets::without_offset(value), shorter.to_owned()))
}

/// `TO_TIMESTAMP(n, 3)`: milliseconds; the scale counts digits of a second.
fn from_scaled(name: &str, value: Expr, scale: i64, is_try: bool, context: &mut Context<'_>) -> Result<Expr, Error> {
    let fits = name.starts_with("to_timestamp") && (0..=9).contains(&scale) && context.type_of(&value).is_number();
    if !fits || is_try {
        return Err(Error::unsupported(format!("a number as the format of {}", name.to_ascii_uppercase())));
    }
    let moment = templates::fill("_scaled_seconds", &mut [value, compose::number(scale)], context)?;
    Ok(if has_zone(name) { compose::cast(moment, target(name)) } else { moment })
}

/// Without a format text is read as ISO 8601, or as the digits of a number of seconds, milliseconds …; a number
/// is seconds since 1970.
fn from_value(name: &str, value: Expr, is_try: bool, context: &mut Context<'_>) -> Result<Expr, Error> {
    let is_timestamp = name.starts_with("to_timestamp");
    let known = context.type_of(&value);
    let mut offset = None;
    if name == "to_timestamp_tz" {
        context.warn(OFFSET);
        offset = offsets::told(&value, is_try, context);
    }
    let moment = if is_timestamp && known.is_number() {
        templates::fill("_seconds", &mut [value], context)?
    } else if known == Type::Text && has_zone(name) {
        let template = if is_try { "_try_with_offset" } else { "_with_offset" };
        let moment = templates::fill(template, &mut [value], context)?;
        return offsets::noted(moment, offset, context);
    } else if is_timestamp && known == Type::Text && !is_try && digits_alone(&value) {
        return templates::fill("_digits_or_text", &mut [value], context);
    } else if is_timestamp && known == Type::Unknown && !is_try && !has_zone(name) {
        return templates::fill("_seconds_or_text", &mut [value], context);
    } else if !has_zone(name) && known == Type::Text && !is_try && (digits_alone(&value) || is_of_variant(&value)) {
        return Ok(compose::cast(templates::fill("_digits_or_text", &mut [value], context)?, target(name)));
    } else {
        let value = match known {
            Type::Text if matches!(name, "date" | "to_date") => moments::day(value, is_try, context)?,
            Type::Text => {
                let text = moments::written(value, is_try, context)?;
                if matches!(name, "time" | "to_time") { moments::within_a_day(text, context)? } else { text }
            }
            _ if has_zone(name) => value,
            _ => offsets::clock(value, context),
        };
        return offsets::noted(cast(value, target(name), is_try), offset, context);
    };
    Ok(if has_zone(name) { compose::cast(moment, target(name)) } else { moment })
}

/// Whether it is a number, or a literal of digits, where a moment is wanted.
pub(super) fn counts(value: &Expr, context: &Context<'_>) -> bool {
    context.type_of(value).is_number() || digits_alone(value)
}

/// The moment of what `counts`: seconds since 1970, or of many digits milliseconds and less.
pub(super) fn since_1970(value: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    from_value("to_timestamp", value, false, context)
}

/// Text that is known to be digits; a column of text is read as ISO 8601.
fn digits_alone(value: &Expr) -> bool {
    compose::literal(value).is_some_and(|text| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()))
}

/// The text of a variant, which may have been a number.
fn is_of_variant(value: &Expr) -> bool {
    matches!(value, Expr::BinaryOp { op: BinaryOperator::LongArrow, .. })
}

/// `TO_CHAR(x[, format])`.
fn to_text(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (name, _) = tried(&function);
    let mut args = plain(function)?;
    match args.len() {
        1 => {
            let [value] = exactly(&name, args)?;
            Ok(variants::to_text(value, context))
        }
        2 => {
            let format = args.pop().as_ref().and_then(compose::constant);
            let [value] = exactly(&name, args)?;
            let known = context.type_of(&value);
            if known == Type::Blob {
                return from_bytes(value, format.as_deref());
            }
            let Some(format) = format else {
                return Err(Error::unsupported(format!(
                    "{} with a format that is not a literal",
                    name.to_ascii_uppercase()
                )));
            };
            if known.is_number() {
                let made = templates::around(&number_formats::compile(&format)?, value)?;
                return Ok(compose::cast(made, DataType::Varchar(None)));
            }
            let value = if known == Type::Time {
                templates::fill("_on_a_day", &mut [value], context)?
            } else {
                instant(value, context)
            };
            match offsets::local(&value, context) {
                None => written(value, &format, 0, context),
                Some(LocalClock { time, ahead: UtcOffset::Minutes(minutes) }) => {
                    written(time, &format, minutes, context)
                }
                Some(LocalClock { time, ahead: UtcOffset::Counted(ahead) }) => beside(time, &ahead, &format, context),
            }
        }
        count => Err(wrong_count(&name, count)),
    }
}

/// `TO_VARCHAR(bytes, 'UTF-8' | 'HEX' | 'BASE64')`.
fn from_bytes(value: Expr, format: Option<&str>) -> Result<Expr, Error> {
    let read = match format.map(str::to_ascii_uppercase).as_deref() {
        Some("HEX") => "hex",
        Some("BASE64") => "to_base64",
        Some("UTF-8" | "UTF8") => "decode",
        _ => return Err(Error::unsupported("TO_VARCHAR of bytes with a format other than HEX, BASE64 and UTF-8")),
    };
    Ok(compose::call(read, [value]))
}

/// A time with an offset beside it that is counted for each row.
fn beside(time: Expr, ahead: &Expr, format: &str, context: &mut Context<'_>) -> Result<Expr, Error> {
    let Some((before, directive, after)) = formats::around_offset(format)? else {
        return written(time, format, 0, context);
    };
    context.copy(templates::size(&time) + templates::size(ahead) * 2)?;
    let offset = offsets::signed(ahead, directive);
    let first = match before {
        "" => offset,
        before => compose::binary(written(time.clone(), before, 0, context)?, BinaryOperator::StringConcat, offset),
    };
    match after {
        "" => Ok(first),
        after => Ok(compose::binary(first, BinaryOperator::StringConcat, beside(time, ahead, after, context)?)),
    }
}

/// The engine writes 3, 6 or 9 digits of a second: another number of them is cut from nine.
fn written(value: Expr, format: &str, minutes: i32, context: &mut Context<'_>) -> Result<Expr, Error> {
    let part = |value: Expr, format: &str| -> Result<Expr, Error> {
        if format.is_empty() {
            return Ok(compose::text(""));
        }
        let format = formats::compile(format, FormatDirection::Write(minutes))?;
        Ok(compose::call("strftime", [value, compose::text(format)]))
    };
    let Some((before, digits, after)) = formats::fraction(format) else {
        return part(value, format);
    };
    context.copy(templates::size(&value) * 2)?;
    let nine = part(value.clone(), "FF9")?;
    let cut = compose::call("left", [nine, compose::number(digits)]);
    let first = compose::binary(part(value.clone(), before)?, BinaryOperator::StringConcat, cut);
    Ok(compose::binary(first, BinaryOperator::StringConcat, written(value, after, minutes, context)?))
}

/// `TO_NUMBER(x[, precision[, scale]])`.
fn to_number(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let (name, is_try) = tried(&function);
    let args = plain(function)?;
    let mut args = args.into_iter();
    let value = args.next().ok_or_else(|| wrong_count(&name, 0))?;
    let mut sizes: Vec<Expr> = args.collect();
    let mut value = value;
    if let Some(format) = sizes.first().and_then(compose::constant) {
        let is_plain = format.chars().all(|c| matches!(c, '9' | '0' | ',' | '.' | '$' | 'G' | 'D' | 'g' | 'd'));
        if !is_plain {
            return Err(Error::unsupported(format!("the number format {format}")));
        }
        // what may stand between the digits means nothing
        let signs = [compose::text("[,$ ]"), compose::text(""), compose::text("g")];
        value = compose::call("regexp_replace", std::iter::once(value).chain(signs));
        sizes.remove(0);
    }
    let sizes: Option<Vec<i64>> = sizes.iter().map(compose::integer).collect();
    let (precision, scale) = match sizes.as_deref() {
        Some([]) => (38, 0),
        Some([precision]) => (*precision, 0),
        Some([precision, scale]) => (*precision, *scale),
        _ => {
            return Err(Error::unsupported(format!("{} with a size that is not a literal", name.to_ascii_uppercase())));
        }
    };
    let precision = u64::try_from(precision).ok().filter(|p| (1..=38).contains(p));
    match precision {
        Some(precision) if (0..=i64::try_from(precision).unwrap_or(0)).contains(&scale) => {
            Ok(cast(value, DataType::Decimal(ExactNumberInfo::PrecisionAndScale(precision, scale)), is_try))
        }
        _ => Err(Error::unsupported_type("NUMBER with this precision and scale")),
    }
}

/// `TO_BINARY(x[, 'HEX' | 'BASE64' | 'UTF-8'])`.
fn to_binary(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (name, is_try) = tried(&function);
    let mut args = plain(function)?;
    let form = if args.len() == 2 { args.pop() } else { None };
    let [value] = exactly(&name, args)?;
    let form = match &form {
        None => "HEX".to_owned(),
        Some(form) => compose::constant(form).unwrap_or_default().to_ascii_uppercase(),
    };
    let bytes = bytes_of_text(value, &form, context)?;
    Ok(if is_try { compose::call("try", [bytes]) } else { bytes })
}

/// The bytes that a text writes in this form.
fn bytes_of_text(text: Expr, form: &str, context: &mut Context<'_>) -> Result<Expr, Error> {
    match form {
        "HEX" => bytes::of_digits(text, context),
        "BASE64" => Ok(compose::call("from_base64", [text])),
        "UTF-8" | "UTF8" => Ok(compose::call("encode", [text])),
        _ => Err(Error::unsupported("TO_BINARY with a format other than HEX, BASE64 and UTF-8")),
    }
}

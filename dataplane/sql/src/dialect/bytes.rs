//! Bytes: Base64 with line breaks and letters of one's own, hexadecimal digits, and shifts of bits.

use sqlparser::ast::{DataType, Expr, Function};

use super::call::{Handler, exactly, plain, written_name};
use super::{Context, compose, templates};
use crate::ast::error::Error;
use crate::functions::types::Type;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["base64_encode"], base64_encode),
    (&["bit_shiftleft", "bit_shiftright", "bitshiftleft", "bitshiftright"], shift),
    (&["hex_decode_binary", "hex_decode_string", "try_hex_decode_binary", "try_hex_decode_string"], hex_decode),
];

/// `BASE64_ENCODE(x[, letters of a line[, alphabet]])`, of text and of bytes.
fn base64_encode(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let alphabet = if args.len() == 3 { args.pop() } else { None };
    let length = if args.len() == 2 { args.pop() } else { None };
    let [value] = exactly("base64_encode", args)?;
    let bytes = if context.type_of(&value) == Type::Blob { value } else { compose::call("encode", [value]) };
    let mut encoded = compose::call("to_base64", [bytes]);
    if let Some(alphabet) = alphabet {
        encoded = templates::fill("_in_alphabet", &mut [encoded, alphabet], context)?;
    }
    match length.as_ref().map(compose::integer) {
        None | Some(Some(0)) => Ok(encoded),
        Some(Some(letters)) if letters > 0 => {
            templates::fill("_in_lines", &mut [encoded, compose::text(format!("(.{{{letters}}})"))], context)
        }
        Some(_) => Err(Error::unsupported("BASE64_ENCODE with a length of lines that is not a literal")),
    }
}

/// `HEX_DECODE_STRING(x)`, `HEX_DECODE_BINARY(x)` and their `TRY_` forms.
fn hex_decode(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let [digits] = exactly(&name, plain(function)?)?;
    let bytes = of_digits(digits, context)?;
    let decoded = if name.ends_with("_string") { compose::call("decode", [bytes]) } else { bytes };
    Ok(if name.starts_with("try_") { compose::call("try", [decoded]) } else { decoded })
}

/// The bytes that hexadecimal digits are. The engine takes the first of an odd number of them for a byte, where the
/// warehouse raises an error: such digits become what is none.
pub(super) fn of_digits(digits: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    match compose::literal(&digits) {
        Some(literal) if literal.len().is_multiple_of(2) => Ok(compose::call("unhex", [digits])),
        _ => templates::fill("_of_digits", &mut [digits], context),
    }
}

/// `BITSHIFTLEFT(x, n)`, of numbers and of bytes.
fn shift(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let [value, count] = exactly(&name, plain(function)?)?;
    let template = if name.ends_with("left") { "_shift_left" } else { "_shift_right" };
    if context.type_of(&value) != Type::Blob {
        return templates::fill(template, &mut [value, count], context);
    }
    let bits = compose::cast(value, DataType::Bit(None));
    let shifted = templates::fill(template, &mut [bits, count], context)?;
    Ok(compose::cast(shifted, DataType::Blob(None)))
}

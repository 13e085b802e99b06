//! A vector in a byte a dimension: a quarter of its size, and enough to tell which are worth an exact look.

use crate::model::vector::{DIMENSIONS, Vector};

/// Of the sums of a likeness. It divides the dimensions.
const LANES: usize = 16;
const LARGEST: f32 = 127.0;

/// Zeros of what has no vector: like nothing.
#[derive(Debug, Clone)]
pub struct Code {
    values: [i8; DIMENSIONS],
    /// What one step is worth.
    step: f32,
}

impl Code {
    #[expect(clippy::cast_possible_truncation, reason = "what is divided by the largest is at most 127")]
    pub fn of(vector: Option<&Vector>) -> Self {
        let mut code = Self { values: [0; DIMENSIONS], step: 0.0 };
        let Some(vector) = vector else { return code };
        let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        if largest > 0.0 {
            code.step = largest / LARGEST;
            for (byte, value) in code.values.iter_mut().zip(vector.iter()) {
                *byte = (value / code.step).round() as i8;
            }
        }
        code
    }

    /// Nearly the cosine.
    #[expect(clippy::cast_precision_loss, reason = "256 products of bytes are below 2^23")]
    pub fn likeness(&self, other: &Self) -> f32 {
        let mut sums = [0_i32; LANES];
        for (one, other) in self.values.as_chunks::<LANES>().0.iter().zip(other.values.as_chunks::<LANES>().0) {
            for ((sum, a), b) in sums.iter_mut().zip(one).zip(other) {
                *sum += i32::from(i16::from(*a) * i16::from(*b));
            }
        }
        sums.iter().sum::<i32>() as f32 * self.step * other.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::memory::embedding::{embed, likeness};

    #[test]
    fn it_is_nearly_the_cosine() {
        let texts =
            ["orders arrive from the north", "invoices are sent by mail", "orders are paid by invoice", "", "x1"];
        let known = texts.map(|text| (Code::of(Some(&embed(text))), embed(text)));
        for (code, vector) in &known {
            for (other_code, other) in &known {
                assert!((code.likeness(other_code) - likeness(vector, other)).abs() < 0.03);
            }
            assert!(code.likeness(&Code::of(None)).abs() < f32::EPSILON);
        }
    }
}

//! How well a memory fits: one number from 0 to 1 that means the same for every embedder.
//!
//! `score = max(C(cosine), lexical)`, where `C` is a fixed monotone map of the embedder and
//! `lexical` the share of the query's words that the text has. Results stand in the order of their scores; among
//! equal ones the ranks by vector and by words decide, fused, then weighed by importance and age.

use chrono::Duration;

/// Cosines and what they are worth, piecewise linear.
pub type Calibration = [(f64, f64); 5];

/// Of the built-in embedder.
pub const BUILT_IN: Calibration = [(0.10, 0.0), (0.30, 0.5), (0.45, 0.7), (0.60, 0.85), (1.0, 1.0)];
/// Of sentence models such as MiniLM; of one behind an endpoint no more is known.
pub const MINI_LM: Calibration = [(0.15, 0.0), (0.33, 0.5), (0.45, 0.7), (0.60, 0.85), (1.0, 1.0)];
/// Reciprocal rank fusion: how little the first places differ.
const FUSION: f64 = 60.0;
const HALF_LIFE_DAYS: f64 = 30.0;

/// What a cosine is worth.
pub fn calibrated(calibration: &Calibration, cosine: f64) -> f64 {
    let mut before = (-1.0, 0.0);
    for point in *calibration {
        if cosine <= point.0 {
            let (span, rise) = (point.0 - before.0, point.1 - before.1);
            return before.1 + rise * ((cosine - before.0) / span).clamp(0.0, 1.0);
        }
        before = point;
    }
    1.0
}

/// What a place in one of the two orders adds; places count from 0.
#[expect(clippy::cast_precision_loss, reason = "places are few")]
pub fn fused(place: Option<usize>) -> f64 {
    place.map_or(0.0, |place| 1.0 / (FUSION + 1.0 + place as f64))
}

/// 1 for what is new, a half after thirty days.
#[expect(clippy::cast_precision_loss, reason = "an age in milliseconds is far below 2^53")]
pub fn recency(age: Duration) -> f64 {
    let days = age.num_milliseconds().max(0) as f64 / 86_400_000.0;
    0.5_f64.powf(days / HALF_LIFE_DAYS)
}

/// What decides the order among equal scores.
pub fn weighed(fused: f64, importance: f64, recency: f64) -> f64 {
    fused * (0.7 + 0.3 * importance) * recency
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_cosine_is_never_worth_less() {
        let cases = [(-1.0, 0.0), (0.1, 0.0), (0.2, 0.25), (0.3, 0.5), (0.6, 0.85), (0.8, 0.925), (1.0, 1.0)];
        for (cosine, worth) in cases {
            let calibrated = calibrated(&BUILT_IN, cosine);
            assert!((calibrated - worth).abs() < 1e-9, "{cosine}: {calibrated}");
        }
        for calibration in [BUILT_IN, MINI_LM] {
            let worths: Vec<_> = (0..=100).map(|step| calibrated(&calibration, f64::from(step) / 100.0)).collect();
            assert!(worths.is_sorted() && worths.first() == Some(&0.0) && worths.last() == Some(&1.0));
        }
    }

    #[test]
    fn age_halves_and_importance_weighs() {
        assert!((recency(Duration::days(30)) - 0.5).abs() < 1e-9);
        assert!((recency(Duration::days(-1)) - 1.0).abs() < 1e-9);
        assert!(weighed(1.0, 1.0, 1.0) > weighed(1.0, 0.0, 1.0));
        assert!(fused(Some(0)) > fused(Some(1)) && fused(None) < f64::EPSILON);
    }
}

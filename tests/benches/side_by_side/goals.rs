//! Goals, as ratios of one run: the last table.

use crate::figures;

/// Where a ratio is to be: what must hold, and what is wished for beyond.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    AtMost(f64, Option<f64>),
    AtLeast(f64, Option<f64>),
}

impl Bound {
    /// A bound, and whether the figure is within it.
    fn cell(self, figure: f64, of: Option<f64>) -> String {
        let Some(bound) = of else { return String::new() };
        let (sign, holds) = match self {
            Self::AtMost(..) => ('≤', figure <= bound),
            Self::AtLeast(..) => ('≥', figure >= bound),
        };
        format!("{sign} {bound:.2}: {}", if holds { "yes" } else { "no" })
    }
}

/// The goals of the parts that ran.
#[derive(Debug, Default)]
pub struct Goals(Vec<[String; 4]>);

impl Goals {
    pub fn add(&mut self, what: &str, figure: f64, bound: Bound) {
        let (Bound::AtMost(must, beyond) | Bound::AtLeast(must, beyond)) = bound;
        let cells = [Some(must), beyond].map(|of| bound.cell(figure, of));
        let [must, beyond] = cells;
        self.0.push([what.to_owned(), format!("{figure:.2}"), must, beyond]);
    }

    pub fn print(&self) {
        figures::table("Goals", &["what", "figure", "must hold", "beyond"]);
        self.0.iter().for_each(|goal| figures::row(goal));
    }
}

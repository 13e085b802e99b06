//! Statements of the corpus, cut up and put together again: each is an answer or a refusal, and never the end of the
//! process. A test run makes a few thousand, `./dev soak fuzz` ten million; `SLUICE_SEED` gives others.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::tests::{cases, statements, walked};

/// Unless `SLUICE_EXECUTIONS` says otherwise.
const EXECUTIONS: u64 = 4_000;
const THREADS: u64 = 2;
const PIECE_MAX: usize = 8;
const CHANGES_MAX: usize = 2;
/// What no statement of the corpus says.
const STRANGE: [&str; 24] = [
    "\0",
    "\u{feff}",
    "\u{202e}",
    "'",
    "''",
    "\"",
    "$$",
    "$",
    "`",
    "--",
    "/*",
    "*/",
    ";",
    "\\",
    "::",
    "=>",
    "->",
    "😀",
    "99999999999999999999999999999999999999999",
    "1e400",
    "-0",
    "x'",
    "0x",
    "é",
];

/// Numbers that a seed decides (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`; 0 of nothing.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }
}

/// Words, strings and signs, as far as somebody who knows no SQL can tell them apart.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut quoted = false;
    for letter in text.chars() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        match pieces.last_mut() {
            Some(last) if quoted || (is_word(letter) && last.ends_with(is_word)) => last.push(letter),
            _ => pieces.push(letter.to_string()),
        }
        quoted ^= letter == '\'';
    }
    pieces
}

fn changed(corpus: &[Vec<String>], dice: &mut Dice) -> String {
    let mut made = corpus[dice.below(corpus.len())].clone();
    for _ in 0..=dice.below(CHANGES_MAX) {
        let at = dice.below(made.len() + 1);
        let end = (at + dice.below(PIECE_MAX)).min(made.len());
        let donor = &corpus[dice.below(corpus.len())];
        let from = dice.below(donor.len());
        let taken = donor[from..(from + dice.below(PIECE_MAX)).min(donor.len())].to_vec();
        match dice.below(8) {
            0 => drop(made.drain(at..end)),
            1 => made.insert(at, STRANGE[dice.below(STRANGE.len())].to_owned()),
            2 => {
                let again = made[at..end].to_vec();
                made.splice(at..at, again);
            }
            3 => {
                made.insert(end, " ) ".to_owned());
                made.insert(at, " ( select ".to_owned());
            }
            _ => drop(made.splice(at..end, taken)),
        }
    }
    made.concat()
}

fn asked_for(name: &str) -> Option<u64> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

#[test]
fn pieces_of_the_corpus_put_together_are_an_answer_or_a_refusal() {
    let texts = cases().into_iter().map(|case| fs::read_to_string(case).unwrap()).collect::<Vec<_>>();
    let corpus: Vec<_> = texts.iter().flat_map(|text| statements(text).map(pieces)).collect();
    let (seed, executions) = (asked_for("SLUICE_SEED").unwrap_or(1), asked_for("SLUICE_EXECUTIONS"));
    let run = |part: u64| {
        let mut dice = Dice(seed * THREADS + part);
        let answered = (0..executions.unwrap_or(EXECUTIONS) / THREADS).filter(|_| {
            let text = changed(&corpus, &mut dice);
            let done = catch_unwind(AssertUnwindSafe(|| walked(&text).is_ok()));
            done.unwrap_or_else(|_| panic!("seed {seed}: this ended it\n{text}"))
        });
        answered.count()
    };
    let answered: usize = thread::scope(|scope| {
        let parts: Vec<_> = (0..THREADS)
            .map(|part| {
                let builder = thread::Builder::new().stack_size(crate::STACK_BYTES);
                builder.spawn_scoped(scope, move || run(part)).unwrap()
            })
            .collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    println!("seed {seed}: {answered} of {} were answered", executions.unwrap_or(EXECUTIONS));
    assert!(answered > 100, "{answered}: nearly nothing walks far enough to show anything");
}

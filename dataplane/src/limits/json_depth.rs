//! How deep JSON nests, as its bytes come: what walks a value of very many levels cannot be interrupted.

/// As deep as a value of a file may nest.
const LEVELS_MAX: usize = 100;

/// The levels that are open.
#[derive(Debug, Default)]
pub struct JsonDepth {
    levels: usize,
    is_text: bool,
    is_escaped: bool,
    /// Lines that have ended.
    lines: u64,
}

impl JsonDepth {
    /// Refuses what nests too deep, by its line.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), u64> {
        for byte in bytes {
            self.lines += u64::from(*byte == b'\n');
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_text => self.is_escaped = true,
                b'"' => self.is_text = !self.is_text,
                b'{' | b'[' if !self.is_text => {
                    self.levels += 1;
                    if self.levels > LEVELS_MAX {
                        return Err(self.lines + 1);
                    }
                }
                b'}' | b']' if !self.is_text => self.levels = self.levels.saturating_sub(1),
                _ => {}
            }
        }
        Ok(())
    }

    pub fn reason() -> String {
        format!("it nests deeper than {LEVELS_MAX} levels")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_outside_of_texts() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(JsonDepth::default().take(deep(LEVELS_MAX).repeat(2).as_bytes()), Ok(()));
        let mut depth = JsonDepth::default();
        assert_eq!(depth.take(b"{\"[[\\\"[\": 1}\n"), Ok(()));
        assert_eq!(depth.take(deep(LEVELS_MAX + 1).as_bytes()), Err(2));
    }
}

//! The states of a session and of a replay, and what a replayed query can turn out to be.

/// "`status` (`running`, `stopped`)".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatus {
    Running,
    Stopped,
}

/// What moves a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTrigger {
    Stop,
    /// Its hours are over.
    End,
}

impl SessionStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Running, Self::Stopped].into_iter().find(|status| status.as_str() == text)
    }

    /// `None`: not from here.
    pub const fn after(self, trigger: SessionTrigger) -> Option<Self> {
        match (self, trigger) {
            (Self::Running, SessionTrigger::Stop | SessionTrigger::End) => Some(Self::Stopped),
            (Self::Stopped, _) => None,
        }
    }
}

/// What a replayed query turned out to be: matched, one of the categories of a mismatch, or failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayVerdict {
    Matched,
    RowCount,
    Values,
    Types,
    Denied,
    Error,
}

impl ReplayVerdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::RowCount => "row_count",
            Self::Values => "values",
            Self::Types => "types",
            Self::Denied => "denied",
            Self::Error => "error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_stops_once() {
        for trigger in [SessionTrigger::Stop, SessionTrigger::End] {
            assert_eq!(SessionStatus::Running.after(trigger), Some(SessionStatus::Stopped));
            assert_eq!(SessionStatus::Stopped.after(trigger), None);
        }
    }
}

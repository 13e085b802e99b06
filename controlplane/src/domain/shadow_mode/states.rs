//! The states of a session and of a replay, and what a replayed query can turn out to be.

contract::named! {
    /// "`status` (`running`, `stopped`)".
    pub enum SessionStatus {
        Running = "running",
        Stopped = "stopped",
    }
}

/// A transition of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTrigger {
    Stop,
    /// Its hours are over.
    End,
}

impl SessionStatus {
    /// `None`: not from here.
    pub const fn after(self, trigger: SessionTrigger) -> Option<Self> {
        match (self, trigger) {
            (Self::Running, SessionTrigger::Stop | SessionTrigger::End) => Some(Self::Stopped),
            (Self::Stopped, _) => None,
        }
    }
}

contract::named! {
    /// The verdict on a replayed query: matched, one of the categories of a mismatch, or failed.
    pub enum ReplayVerdict {
        Matched = "matched",
        RowCount = "row_count",
        Values = "values",
        Types = "types",
        Denied = "denied",
        Error = "error",
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

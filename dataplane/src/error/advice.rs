//! Advice on an error, where its own message has none.

use super::Error;

impl Error {
    /// By the table of codes.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Lacks(_)
            | Self::ReadsOnly
            | Self::NotOnBranch { .. }
            | Self::CursorOver { .. }
            | Self::QuotaExceeded { .. }
            | Self::HourlyLimit { .. }
            | Self::InvalidParams { .. }
            | Self::InvalidArgument { .. }
            | Self::FileRefused(_)
            | Self::StagedFileRefused { .. }
            | Self::FileTooLarge { .. }
            | Self::StageFile(_)
            | Self::Attached(_)
            | Self::AnswerTooLarge { .. } => None,
            Self::Hinted { error, .. } => error.advice(),
            other => Some(other.code().advice()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_leaves_open_the_table_of_codes_says() {
        assert_eq!(Error::DataException.advice(), Some(contract::Code::DataException.advice()));
        assert_eq!(Error::ReadsOnly.advice(), None);
    }
}

//! Messages to a client beside its answers: settings that it keeps track of, notices, warnings.

use contract::Code;

use super::Conversation;
use crate::protocols::pgwire::failure::ErrorResponse;
use crate::protocols::pgwire::reply::{self, Severity};
use crate::protocols::pgwire::settings::SessionSettings;

/// What `SERIALIZABLE` is taken as.
const SNAPSHOTS: &str = "isolation level serializable is taken as repeatable read: a transaction sees one snapshot, and \
                         a row that another has changed since is not changed again";

impl Conversation {
    /// Tells the client a setting.
    pub(in crate::protocols::pgwire) fn report(&mut self, name: &str) {
        let value = self.settings.get(name).unwrap_or_default();
        reply::parameter_status(&mut self.wire.out, name, &value);
    }

    /// Changes settings, and tells the client those that it keeps track of.
    pub(in crate::protocols::pgwire) fn change<T>(&mut self, change: impl FnOnce(&mut SessionSettings) -> T) -> T {
        let before = self.settings.mark();
        let done = change(&mut self.settings);
        for name in self.settings.reported_since(&before) {
            self.report(name);
        }
        self.tell_isolation();
        done
    }

    /// Says so where less was taken than was asked for.
    pub(in crate::protocols::pgwire) fn tell_isolation(&mut self) {
        if self.settings.took_less() {
            reply::notice(&mut self.wire.out, Severity::Notice, &notice(SNAPSHOTS));
        }
    }

    pub(in crate::protocols::pgwire) fn warn(&mut self, state: &'static str, message: &str) {
        let warning = ErrorResponse::new(Code::Conflict, message).with_state(state);
        reply::notice(&mut self.wire.out, Severity::Warning, &warning);
    }

    /// What such a command sets ends at once, where no transaction is open that it would end with.
    pub(in crate::protocols::pgwire) fn warn_outside(&mut self, command: &str) {
        if !self.transaction.is_explicit() && !self.several {
            self.warn("25P01", &format!("{command} can only be used in transaction blocks"));
        }
    }
}

/// A warning of the answer as a notice: masked columns by their own code.
pub fn notice(warning: &str) -> ErrorResponse {
    let masked = warning.strip_prefix(Code::ColumnMasked.stable()).map(|rest| rest.trim_start_matches([':', ' ']));
    let mut notice = ErrorResponse::new(
        Code::ColumnMasked,
        masked.map_or_else(|| warning.to_owned(), |columns| format!("columns masked: {columns}")),
    );
    if masked.is_none() {
        notice.detail.clear();
    }
    notice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_column_is_a_notice_with_its_code() {
        let masked = notice("SVC_ERR_403_COLUMN_MASKED: ssn, email");
        assert_eq!((masked.message.as_str(), masked.sqlstate), ("columns masked: ssn, email", "01000"));
        assert_eq!(masked.detail, "SVC_ERR_403_COLUMN_MASKED");
        assert_eq!(notice("corrected a name").message, "corrected a name");
    }
}

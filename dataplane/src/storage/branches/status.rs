//! The states of a branch: one beginning, three ends.

use serde::{Deserialize, Serialize};

use crate::Error;

contract::named! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Status {
        Active = "active",
        Merged = "merged",
        Discarded = "discarded",
        /// Its time was over.
        Expired = "expired",
    }
}

impl Status {
    /// A branch that has ended has ended for good.
    pub fn to(self, next: Self) -> Result<Self, Error> {
        match (self, next) {
            (Self::Active, Self::Merged | Self::Discarded | Self::Expired) => Ok(next),
            (Self::Active | Self::Merged | Self::Discarded | Self::Expired, _) => {
                Err(Error::BranchClosed { status: self.as_str() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Active, Discarded, Expired, Merged};

    #[test]
    fn every_transition_is_in_the_table() {
        for from in Status::ALL {
            for next in Status::ALL {
                let allowed = from == Active && [Merged, Discarded, Expired].contains(&next);
                assert_eq!(from.to(next).is_ok(), allowed, "{from:?} {next:?}");
                assert!(allowed || from.to(next).unwrap_err().code() == contract::Code::Conflict);
            }
            assert_eq!(Status::parse(from.as_str()), Some(from));
        }
    }
}

//! The states of a branch: one beginning, three ends.

use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Active,
    Merged,
    Discarded,
    /// Its time was over.
    Expired,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Active, Self::Merged, Self::Discarded, Self::Expired];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Merged => "merged",
            Self::Discarded => "discarded",
            Self::Expired => "expired",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

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

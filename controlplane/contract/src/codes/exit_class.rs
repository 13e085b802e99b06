//! The class of a command that failed, which is its exit status.

crate::named! {
    /// The class of a command that failed: a column of the table of codes.
    pub enum ExitClass {
        Other = "other",
        Usage = "usage",
        Auth = "auth",
        Policy = "policy",
        Quota = "quota",
        Timeout = "timeout",
    }
}

impl ExitClass {
    pub const fn exit(self) -> u8 {
        match self {
            Self::Other => 1,
            Self::Usage => 2,
            Self::Auth => 3,
            Self::Policy => 4,
            Self::Quota => 5,
            Self::Timeout => 6,
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Other => "it failed, or what was looked at is not as it should be",
            Self::Usage => "the command line, a file or a parameter cannot be used",
            Self::Auth => "who asks is not known, or may not do that",
            Self::Policy => "a policy forbids it",
            Self::Quota => "a limit is used up",
            Self::Timeout => "it took too long, or was interrupted",
        }
    }
}

//! Enums of errors, each variant with its row of the table of codes.

/// An enum of errors: `Variant => Row`, and behind it arms for those whose row is told by what is inside.
#[macro_export]
macro_rules! coded {
    (
        $(#[$about:meta])* $visibility:vis enum $name:ident {
            $($(#[$each:meta])* $variant:ident $(($($inner:tt)*))? $({ $($fields:tt)* })? $(=> $row:ident)?,)*
        }
        $($told:pat => $code:expr,)*
    ) => {
        $(#[$about])*
        $visibility enum $name {
            $($(#[$each])* $variant $(($($inner)*))? $({ $($fields)* })?,)*
        }

        impl $name {
            /// Its row of the table of codes.
            pub fn code(&self) -> $crate::Code {
                match self {
                    $($(Self::$variant { .. } => $crate::Code::$row,)?)*
                    $($told => $code,)*
                }
            }
        }
    };
}

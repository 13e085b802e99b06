//! How the strings of a statement are read: as the SQL standard has them, or with the warehouse's escapes, as a request asks.

use serde::{Deserialize, Serialize};

crate::caller::words!(
    /// What a backslash in `'…'` is. `on` (default): an ordinary character, as every driver quotes for. `off`: it escapes
    /// what stands behind it, as in the warehouse.
    StandardStrings, "setting of standard_conforming_strings", { On = "on", Off = "off" }
);

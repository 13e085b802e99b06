//! The functions that compare as the host program does, for every connection of the database.

use crate::comparison::Comparing;
use crate::error::Error;
use crate::ffi::{Connection, Operand};

pub fn register(connection: &Connection, comparing: Comparing) -> Result<(), Error> {
    connection.register_comparison("sluice_likeness", Operand::Text, comparing)?;
    connection.register_comparison("sluice_vector_likeness", Operand::Vector, comparing)
}

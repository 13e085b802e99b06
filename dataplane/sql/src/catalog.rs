//! The tables there are, their definitions, and what is said of them in comments.

pub mod attached_read;
pub mod column_comment;
pub mod comment;
pub(crate) mod csv_spelling;
pub mod definition;
pub(crate) mod external_change;
pub(crate) mod external_rows;
pub mod external_table;
pub(crate) mod file_format;
pub mod file_reading;
pub mod file_writing;
pub(crate) mod formatted_texts;
pub(crate) mod information_schema;
pub(crate) mod lower_case;
pub(crate) mod named_values;
pub mod own_stage;
pub mod past_load;
pub(crate) mod stage;
pub mod stage_location;
pub mod staged_rows;
pub mod table;
pub mod tables;
pub(crate) mod text_decoding;

//! A request on its way: what is asked, by whom, what becomes of it, and what is answered.

pub mod answer;
pub(crate) mod as_of;
pub mod ask;
pub(crate) mod detached;
pub mod last_load;
pub mod trail;

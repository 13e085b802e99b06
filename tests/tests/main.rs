//! One test binary; its modules are named by what they prove.

mod doors;
mod golden;
mod governance;
mod tenants;
mod walks;

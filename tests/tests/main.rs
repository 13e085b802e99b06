//! One test binary; its modules are named by what they prove.

mod golden;

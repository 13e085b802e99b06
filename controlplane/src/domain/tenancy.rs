//! Who uses the platform: organizations, their tenants and their users.

pub mod organizations;
pub mod tenants;
pub mod users;

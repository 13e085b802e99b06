//! Functions of the domain and of the server that the platform calls.

use platform::context::Callbacks;

use crate::domain::webhooks;
use crate::server::endpoints;

pub const CALLBACKS: Callbacks = Callbacks { tell: webhooks::tell, routes: endpoints::rows };

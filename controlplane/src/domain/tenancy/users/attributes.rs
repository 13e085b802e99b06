//! Attributes of a user that policies may ask for: `{region}` in a row filter is the caller's attribute.

use contract::caller::Attributes;
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::snapshot_size::within_share;
use platform::{Error, Result};
use serde_json::json;

use crate::domain::tenancy::users::governed::attribute_bytes;
use crate::domain::tenancy::users::store::{self, User};

const COUNT_MAX: usize = 32;
const NAME_MAX: usize = 64;
const VALUE_MAX: usize = 1_000;

/// Replaces all of the user's attributes.
pub async fn put(call: Call, Json(attributes): Json<Attributes>) -> Result<Json<User>> {
    admit(&attributes)?;
    let mut tx = call.begin().await?;
    crate::domain::tenancy::organizations::store::lock(&mut tx, call.org_id()).await?;
    let before = store::get(&mut tx, call.org_id(), &call.id("user_id")?).await?;
    if before.is_owner() && call.caller.role != contract::Role::Owner {
        return Err(Error::Forbidden("only the owner changes the owner's attributes"));
    }
    let bytes = attribute_bytes(&mut tx, call.org_id()).await?;
    store::set_attributes(&mut tx, &before.user_id, &attributes, call.now()).await?;
    within_share("the attributes of users", bytes, attribute_bytes(&mut tx, call.org_id()).await?)?;
    let event = Event::new(EventType::UserAttributesChanged, before.user_id.as_str())
        .before(json!({"attributes": before.attributes.0}))
        .after(json!({"attributes": attributes}));
    events::record(&call.app, &mut tx, &call, event).await?;
    let after = store::get(&mut tx, call.org_id(), &before.user_id).await?;
    tx.commit().await?;
    Ok(Json(after))
}

/// "At most 32, names `[a-z][a-z0-9_]*`", and none that means something already.
pub fn admit(attributes: &Attributes) -> Result<()> {
    if attributes.len() > COUNT_MAX {
        return Err(Error::invalid("attributes", "0..32", format!("a user has at most {COUNT_MAX} attributes")));
    }
    for (name, value) in attributes {
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
        let fits = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !starts || !fits || name.len() > NAME_MAX {
            let message = format!("`{name}` is no attribute's name: use a-z, 0-9 and `_`, a letter first");
            return Err(Error::invalid(format!("attributes.{name}"), "[a-z][a-z0-9_]*", message));
        }
        if contract::policy::BUILT_IN.contains(&name.as_str()) {
            let message = format!("`{name}` has a meaning of its own: choose another name");
            return Err(Error::invalid(format!("attributes.{name}"), "not built in", message));
        }
        if value.len() > VALUE_MAX || value.contains('\0') {
            let message = format!("the value of `{name}` has at most {VALUE_MAX} bytes and no U+0000");
            return Err(Error::invalid(format!("attributes.{name}"), "0..1000 bytes", message));
        }
    }
    Ok(())
}

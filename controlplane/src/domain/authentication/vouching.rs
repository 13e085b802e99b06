//! Whose a session's token is, for a data plane that was shown one.
//!
//! Whoever is signed in asks an environment's own endpoints with the token that they have ("API key or token"). The
//! data plane asks here for each request, so who has signed out, is suspended or was removed is refused at the next,
//! there as here. Its certificate says which environment it is: a session of another organization is nobody's there,
//! and a cloud's token is none of ours.

use contract::caller::Credential;
use contract::wire::{VouchRefusal, Vouched, Who};
use contract::{Caller, Code, EnvId};
use platform::{App, Error, Result};

use crate::domain::accounts::sessions;
use crate::domain::environments;

pub async fn vouch(app: &App, env_id: &EnvId, token: &str) -> Result<Vouched> {
    let known = match sessions::known(app, token).await {
        Ok(known) => known,
        Err(Error::BadCredential(Code::ExpiredToken)) => return Ok(Err(VouchRefusal::Expired)),
        Err(Error::BadCredential(_) | Error::Over { .. }) => return Ok(Err(VouchRefusal::Invalid)),
        Err(error) => return Err(error),
    };
    if !environments::belongs(app.pool(), env_id, &known.caller.org_id).await? {
        return Ok(Err(VouchRefusal::Invalid));
    }
    if known.second_factor.suffices().is_err() {
        return Ok(Err(VouchRefusal::SecondFactor));
    }
    let Caller { user_id: Some(user_id), credential: Credential::Session { session_id }, .. } = known.caller else {
        return Ok(Err(VouchRefusal::Invalid));
    };
    Ok(Ok(Who::Session { user_id, session_id }))
}

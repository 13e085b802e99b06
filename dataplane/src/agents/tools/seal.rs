//! Seals a cursor for its caller and for the question that it goes on with: nobody else's, and of no other question.
//!
//! The key is the process's own: when it ends, so do its cursors. Nothing is kept for them.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use contract::Redacted;
use contract::secrets::hmac_sha256;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use subtle::ConstantTimeEq;

use super::ToolCall;
use crate::Error;
use crate::limits::invalid;

const MAC_BYTES: usize = 16;

/// Makes cursors of one question of one caller, and opens those alone.
#[derive(Debug)]
pub(super) struct Seal {
    key: Redacted<[u8; 32]>,
    /// Who calls, and what.
    of: String,
    /// The arguments that a cursor goes with.
    with: &'static str,
}

impl Seal {
    /// The arguments that decide the answer, and their names.
    pub fn of(call: &ToolCall, with: &'static str, asked: &impl Serialize) -> Self {
        let (who, agent) = (&call.tool_caller.who, &call.tool_caller.agent);
        let of = json!([who, agent.agent_id.as_deref(), agent.framework.as_deref(), asked]);
        Self { key: Redacted::new(*call.pipeline.sealing()), of: of.to_string(), with }
    }

    pub fn close(&self, body: &[u8]) -> String {
        BASE64_URL_SAFE_NO_PAD.encode([body, &self.mac(body)].concat())
    }

    pub fn open(&self, cursor: &str) -> Result<Vec<u8>, Error> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
        let opened = bytes.split_last_chunk::<MAC_BYTES>();
        let opened = opened.filter(|(body, mac)| bool::from(self.mac(body).as_slice().ct_eq(mac.as_slice())));
        opened.map(|(body, _)| body.to_vec()).ok_or_else(|| self.refused())
    }

    /// Of anything that says where the rest begins.
    pub fn close_at(&self, place: &impl Serialize) -> String {
        self.close(json!(place).to_string().as_bytes())
    }

    pub fn open_at<T: DeserializeOwned>(&self, cursor: Option<&str>) -> Result<Option<T>, Error> {
        let read = |cursor| serde_json::from_slice(&self.open(cursor)?).map_err(|_| self.refused());
        cursor.map(read).transpose()
    }

    pub fn refused(&self) -> Error {
        let with = self.with;
        let message = format!(
            "cursor is not one that this call has given you: it goes with the same {with}, until the data plane starts \
             anew; begin again without it"
        );
        invalid("cursor", message)
    }

    fn mac(&self, body: &[u8]) -> [u8; MAC_BYTES] {
        let mut short = [0; MAC_BYTES];
        let whole = hmac_sha256(self.key.expose(), &[body, self.of.as_bytes()]);
        short.iter_mut().zip(whole).for_each(|(to, from)| *to = from);
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(key: u8, of: &str) -> Seal {
        Seal { key: Redacted::new([key; 32]), of: of.to_owned(), with: "sql" }
    }

    #[test]
    fn a_cursor_is_opened_by_the_call_that_it_was_made_for_alone() {
        let cursor = seal(7, "ada asks").close_at(&("main", "orders", 7));
        let place = seal(7, "ada asks").open_at::<(String, String, u64)>(Some(&cursor)).unwrap();
        assert_eq!(place, Some(("main".to_owned(), "orders".to_owned(), 7)));
        for (of, cursor) in [
            ("bob asks", cursor.as_str()),
            ("ada asks", &cursor[1..]),
            ("ada asks", &format!("B{}", &cursor[1..])),
            ("ada asks", ""),
            ("ada asks", "no cursor"),
        ] {
            let refused = seal(7, of).open(cursor).unwrap_err();
            assert!(matches!(refused, Error::InvalidArgument { field, .. } if field == "cursor"), "{of} {cursor}");
        }
        assert!(seal(8, "ada asks").open(&cursor).is_err(), "of another process");
        let other = seal(7, "ada asks").open_at::<u64>(Some(&cursor)).unwrap_err();
        assert!(matches!(other, Error::InvalidArgument { message, .. } if message.contains("the same sql,")));
    }
}

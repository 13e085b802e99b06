//! One request to an issuer, and everything that bounds it: the public internet alone, no redirects,
//! ten seconds, a small answer.

use std::time::Duration;

use futures::StreamExt;
use reqwest::{Client, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;

use super::{SecretIn, Unbelieved};
use crate::egress::client;
use crate::{Error, Result};

const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const FORM: &str = "application/x-www-form-urlencoded";
const ANSWER_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
pub struct Fetch {
    client: Client,
    loopback: bool,
}

impl Fetch {
    pub fn new(loopback: bool) -> Result<Self> {
        Ok(Self { client: client::client(loopback, ANSWER_WITHIN, "sluice/1")?, loopback })
    }

    /// A URL that may be asked, or 400 with the field that holds it.
    pub fn admit(&self, field: &'static str, url: &str) -> Result<Url> {
        crate::egress::address::admit(url, self.loopback).map_err(|error| match error {
            Error::Invalid { constraint, message, .. } => Error::Invalid {
                field: field.to_owned(),
                constraint,
                message: message.replacen("`url`", &format!("`{field}`"), 1),
            },
            other => other,
        })
    }

    pub async fn json<T: DeserializeOwned>(&self, url: &str) -> Result<T, Unbelieved> {
        let url = self.admit("url", url).map_err(|_| Unbelieved::Document("it leads where no request may go"))?;
        answer(self.client.get(url)).await
    }

    /// A request as it is, with these headers.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &'static str,
    ) -> Result<T, Unbelieved> {
        let url = self.admit("url", url).map_err(|_| Unbelieved::Document("it leads where no request may go"))?;
        let request = self.client.post(url).header("content-type", FORM).body(body);
        answer(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    }

    /// What is told to who bears this token.
    pub async fn bearing<T: DeserializeOwned>(&self, url: &str, token: &str) -> Result<T, Unbelieved> {
        let url = self.admit("url", url).map_err(|_| Unbelieved::Document("it leads where no request may go"))?;
        answer(self.client.get(url).bearer_auth(token)).await
    }

    /// A form, as RFC 6749 has it sent, under the client's own credential.
    pub async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        credential: (&str, &str),
        place: SecretIn,
        form: &[(&str, &str)],
    ) -> Result<T, Unbelieved> {
        let url = self.admit("url", url).map_err(|_| Unbelieved::Document("it leads where no request may go"))?;
        let (request, body) = match place {
            SecretIn::Header => {
                let (id, secret) = (encoded(credential.0), encoded(credential.1));
                (self.client.post(url).basic_auth(id, Some(secret)), pairs(form))
            }
            SecretIn::Form => (self.client.post(url), pairs(&[form, &[("client_secret", credential.1)]].concat())),
        };
        answer(request.header("content-type", FORM).body(body)).await
    }
}

/// RFC 6749, 2.3.1: the parts of the credential are form-encoded before they are joined.
fn encoded(text: &str) -> String {
    pairs(&[("", text)]).trim_start_matches('=').to_owned()
}

fn pairs(pairs: &[(&str, &str)]) -> String {
    Url::parse_with_params("http://form", pairs).ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

async fn answer<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, Unbelieved> {
    let response = request.header("accept", "application/json").send().await;
    let response = response.map_err(|_| Unbelieved::Unreachable("no answer"))?;
    if !response.status().is_success() {
        return Err(Unbelieved::Unreachable("it did not answer 2xx"));
    }
    let bytes = read(response).await?;
    serde_json::from_slice(&bytes).map_err(|_| Unbelieved::Document("it is not the JSON it should be"))
}

async fn read(response: Response) -> Result<Vec<u8>, Unbelieved> {
    let (mut bytes, mut stream) = (Vec::new(), response.bytes_stream());
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.map_err(|_| Unbelieved::Unreachable("the answer broke off"))?);
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(Unbelieved::Document("it is larger than 256 KiB"));
        }
    }
    Ok(bytes)
}

//! The protocols of a data plane as clients that read an answer to its end, drop each row, and keep only the count.

use arrow::buffer::Buffer;
use arrow::ipc::reader::StreamDecoder;
use arrow_flight::sql::client::FlightSqlServiceClient;
use contract::wire::TIMEOUT_MS_MAX;
use futures::TryStreamExt;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::{ToSql, Type};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use super::{Installation, Pod};

#[derive(Debug, Clone, Copy)]
pub enum Protocol {
    /// The simple protocol.
    WireText,
    /// The extended protocol.
    WireBinary,
    /// The control plane's REST.
    Json,
    RawArrow,
    Flight,
}

impl Protocol {
    pub const ALL: [Self; 5] = [Self::WireText, Self::WireBinary, Self::Json, Self::RawArrow, Self::Flight];

    pub fn name(self) -> &'static str {
        match self {
            Self::WireText => "pgwire, text",
            Self::WireBinary => "pgwire, binary",
            Self::Json => "REST JSON",
            Self::RawArrow => "raw Arrow",
            Self::Flight => "Flight SQL",
        }
    }
}

impl Installation {
    /// How many rows a statement of the owner has by this protocol of the pod.
    pub async fn drained(&self, pod: &Pod, protocol: Protocol, sql: &str) -> u64 {
        match protocol {
            Protocol::WireText => self.text(sql).await,
            Protocol::WireBinary => self.binary(sql).await,
            Protocol::Json => self.json(sql).await,
            Protocol::RawArrow => self.raw_arrow(pod, sql).await,
            Protocol::Flight => self.flight(pod, sql).await,
        }
    }

    /// A connection of its own by this protocol of the pod, which has had one answer: open until it is dropped.
    pub async fn connected(&self, pod: &Pod, protocol: Protocol) -> Box<dyn Send> {
        const SQL: &str = "select 42";
        let (count, kept): (u64, Box<dyn Send>) = match protocol {
            Protocol::WireText | Protocol::WireBinary => {
                let client = self.psql().await.unwrap();
                let answer = client.simple_query(SQL).await.unwrap();
                (answer.iter().map(rows_in).sum(), Box::new(client))
            }
            Protocol::Json => unreachable!("the control plane has its connections"),
            Protocol::RawArrow => {
                let client = self.web_client(pod);
                (drained_arrow(self.arrow_request(&client, pod, SQL)).await, Box::new(client))
            }
            Protocol::Flight => {
                let mut client = self.flight_client(pod).await;
                (drained_flight(&mut client, SQL).await, Box::new(client))
            }
        };
        assert_eq!(count, 1, "{}", protocol.name());
        kept
    }

    async fn patient(&self) -> tokio_postgres::Client {
        let client = self.psql().await.unwrap();
        client.batch_execute(&format!("set statement_timeout = {TIMEOUT_MS_MAX}")).await.unwrap();
        client
    }

    async fn text(&self, sql: &str) -> u64 {
        let client = self.patient().await;
        let messages = client.simple_query_raw(sql).await.unwrap();
        messages.try_fold(0, async |count, message| Ok(count + rows_in(&message))).await.unwrap()
    }

    async fn binary(&self, sql: &str) -> u64 {
        let client = self.patient().await;
        let none: [(&(dyn ToSql + Sync), Type); 0] = [];
        let rows = client.query_typed_raw(sql, none).await.unwrap();
        rows.try_fold(0, async |count, _| Ok(count + 1)).await.unwrap()
    }

    /// Rows are counted by the server; its count stands after them.
    async fn json(&self, sql: &str) -> u64 {
        const END_BYTES: usize = 4_096;
        let url = format!("http://{}/v1/environments/{}/query", self.control.http, self.env_id);
        let request = Client::new().post(url).header("authorization", format!("ApiKey {}", self.key));
        let mut answer = request.json(&asked(sql)).send().await.unwrap();
        let mut end = Vec::new();
        while let Some(piece) = answer.chunk().await.unwrap() {
            end.extend_from_slice(&piece);
            end.drain(..end.len().saturating_sub(END_BYTES));
        }
        let end = String::from_utf8_lossy(&end);
        let (_, count) = end.rsplit_once("\"row_count\":").unwrap_or_else(|| panic!("{end}"));
        let digits: String = count.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    async fn raw_arrow(&self, pod: &Pod, sql: &str) -> u64 {
        let client = self.web_client(pod);
        drained_arrow(self.arrow_request(&client, pod, sql)).await
    }

    /// One that trusts the pod.
    fn web_client(&self, pod: &Pod) -> Client {
        let trusted = reqwest::Certificate::from_pem(self.authority_pem().as_bytes()).unwrap();
        Client::builder().tls_certs_only([trusted]).resolve("localhost", pod.tools).build().unwrap()
    }

    fn arrow_request(&self, client: &Client, pod: &Pod, sql: &str) -> RequestBuilder {
        let url = format!("https://localhost:{}/v1/query/arrow", pod.tools.port());
        client.post(url).bearer_auth(&self.key).json(&asked(sql))
    }

    async fn flight(&self, pod: &Pod, sql: &str) -> u64 {
        drained_flight(&mut self.flight_client(pod).await, sql).await
    }

    async fn flight_client(&self, pod: &Pod) -> FlightSqlServiceClient<Channel> {
        let authority = Certificate::from_pem(self.authority_pem());
        let tls = ClientTlsConfig::new().ca_certificate(authority).domain_name("localhost");
        let endpoint = Endpoint::try_from(format!("https://{}", pod.tools)).unwrap().tls_config(tls).unwrap();
        let mut client = FlightSqlServiceClient::new(endpoint.connect().await.unwrap());
        client.set_token(self.key.clone());
        client
    }

    fn authority_pem(&self) -> String {
        self.authority.issue("nobody").unwrap().authority
    }
}

async fn drained_arrow(request: RequestBuilder) -> u64 {
    let mut answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    let (mut decoder, mut count) = (StreamDecoder::new(), 0);
    while let Some(piece) = answer.chunk().await.unwrap() {
        let mut piece = Buffer::from(piece);
        while let Some(batch) = decoder.decode(&mut piece).unwrap() {
            count += batch.num_rows() as u64;
        }
    }
    decoder.finish().unwrap();
    count
}

async fn drained_flight(client: &mut FlightSqlServiceClient<Channel>, sql: &str) -> u64 {
    let info = client.execute(sql.to_owned(), None).await.unwrap();
    let batches = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
    batches.try_fold(0, async |count, batch| Ok(count + batch.num_rows() as u64)).await.unwrap()
}

fn asked(sql: &str) -> Value {
    json!({"sql": sql, "timeout_ms": TIMEOUT_MS_MAX})
}

fn rows_in(message: &SimpleQueryMessage) -> u64 {
    u64::from(matches!(message, SimpleQueryMessage::Row(_)))
}

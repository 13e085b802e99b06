//! A mail server for tests: speaks SMTP on loopback and shows what was given to it.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A mail as it came: envelope and text.
#[derive(Debug)]
pub struct ReceivedMail {
    pub to: String,
    pub text: String,
}

impl ReceivedMail {
    /// The token of the one link in the text.
    pub fn token(&self) -> String {
        let (_, rest) = self.text.split_once("?token=").unwrap();
        rest.chars().take_while(char::is_ascii_alphanumeric).collect()
    }

    pub fn header(&self, name: &str) -> &str {
        let found = self.text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        found.unwrap_or_else(|| panic!("no {name} in {}", self.text))
    }
}

pub struct MailServer {
    pub address: SocketAddr,
    arrived: mpsc::UnboundedReceiver<ReceivedMail>,
    server: tokio::task::JoinHandle<()>,
}

impl MailServer {
    #[expect(clippy::disallowed_methods, reason = "ends with the server")]
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, arrived) = mpsc::unbounded_channel();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                converse(stream, &sender).await;
            }
        });
        Self { address, arrived, server }
    }

    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// What has come and was not yet looked at.
    pub fn got(&mut self) -> Vec<ReceivedMail> {
        std::iter::from_fn(|| self.arrived.try_recv().ok()).collect()
    }

    /// The one mail that has come.
    #[track_caller]
    pub fn one(&mut self) -> ReceivedMail {
        let mut got = self.got();
        assert_eq!(got.len(), 1, "{got:?}");
        got.remove(0)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// RFC 5321 as far as one mail without extensions needs it. Shown before it is acknowledged: whoever
/// sent it has only to look.
async fn converse(stream: TcpStream, arrived: &mpsc::UnboundedSender<ReceivedMail>) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(b"220 tests\r\n").await.unwrap();
    let mut got = ReceivedMail { to: String::new(), text: String::new() };
    while let Ok(Some(line)) = lines.next_line().await {
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let reply = match verb.as_str() {
            "RCPT" => {
                line.split(['<', '>']).nth(1).unwrap().clone_into(&mut got.to);
                "250 ok\r\n"
            }
            "DATA" => {
                writer.write_all(b"354 go on\r\n").await.unwrap();
                while let Some(line) = lines.next_line().await.unwrap().filter(|line| line != ".") {
                    got.text.push_str(line.strip_prefix('.').unwrap_or(&line));
                    got.text.push('\n');
                }
                arrived
                    .send(std::mem::replace(&mut got, ReceivedMail { to: String::new(), text: String::new() }))
                    .unwrap();
                "250 taken\r\n"
            }
            "QUIT" => "221 bye\r\n",
            _ => "250 ok\r\n",
        };
        writer.write_all(reply.as_bytes()).await.unwrap();
    }
}

//! The program in the pods of the cluster's own tests.
//!
//! `probe serve <folder>` adds its host's name to the file `starts` there and answers every line on
//! port 8080 with that file, until it is told to stop. `probe ask <host:port>` prints what is
//! answered.
#![forbid(unsafe_code)]

use std::{
    env, fs,
    fs::OpenOptions,
    io::{self, Read, Write},
    net::{self, ToSocketAddrs},
    path::Path,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    time::timeout,
};

const PORT: u16 = 8080;
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", folder] => serve(Path::new(folder)).await,
        ["ask", address] => ask(address),
        _ => Err(io::Error::other("usage: probe serve <folder> | ask <host:port>")),
    }
}

async fn serve(folder: &Path) -> io::Result<()> {
    let starts = folder.join("starts");
    let host = fs::read_to_string("/etc/hostname")?;
    OpenOptions::new().append(true).create(true).open(&starts)?.write_all(host.as_bytes())?;
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    writeln!(io::stdout(), "serving")?;
    let mut stop = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            _ = stop.recv() => return Ok(()),
            accepted = listener.accept() => {
                let answer = fs::read(&starts)?;
                let (peer, _) = accepted?;
                // what checks whether the port is open says nothing and goes
                let _ = timeout(PATIENCE, reply(peer, &answer)).await;
            }
        }
    }
}

/// Answers a line, and lets the peer close: what is on its way is not cut off.
async fn reply(peer: TcpStream, answer: &[u8]) -> io::Result<()> {
    let mut peer = BufReader::new(peer);
    if peer.read_line(&mut String::new()).await? > 0 {
        peer.write_all(answer).await?;
        peer.shutdown().await?;
        peer.read_line(&mut String::new()).await?;
    }
    Ok(())
}

fn ask(address: &str) -> io::Result<()> {
    let found = address.to_socket_addrs()?.next().ok_or_else(|| io::Error::other(format!("{address}: no address")))?;
    let mut stream = net::TcpStream::connect_timeout(&found, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    io::stdout().write_all(&answer)
}

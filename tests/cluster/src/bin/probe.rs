//! What runs in the pods of the cluster's own tests.
//!
//! `probe serve <folder>` adds its host's name to the file `starts` there and answers every
//! connection to port 8080 with that file, until it is told to stop. `probe ask <host:port>` prints
//! what is answered. `probe read <file>` prints a file: an image has no `cat`.
#![forbid(unsafe_code)]

use std::{
    env, fs,
    fs::OpenOptions,
    io::{self, Read, Write},
    path::Path,
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt,
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

const PORT: u16 = 8080;
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", folder] => serve(Path::new(folder)).await,
        ["ask", address] => ask(address),
        ["read", file] => io::stdout().write_all(&fs::read(file)?),
        _ => Err(io::Error::other("usage: probe serve <folder> | ask <host:port> | read <file>")),
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
                let (mut peer, _) = accepted?;
                let _ = peer.write_all(&answer).await; // a readiness probe has gone already
            }
        }
    }
}

fn ask(address: &str) -> io::Result<()> {
    use std::net::{TcpStream, ToSocketAddrs};
    let found = address.to_socket_addrs()?.next().ok_or_else(|| io::Error::other(format!("{address}: no address")))?;
    let mut stream = TcpStream::connect_timeout(&found, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    io::stdout().write_all(&answer)
}

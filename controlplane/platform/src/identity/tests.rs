use std::path::Path;
use std::sync::Arc;

use contract::wire::CONTROL_PLANE_NAME;
use rustls_pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::{Authority, Current, FollowedFiles, IdentityFiles, Pems};

fn issued(authority: &Authority) -> Pems {
    authority.issue(CONTROL_PLANE_NAME).unwrap()
}

/// Does a handshake between the two succeed, each way verified?
async fn agree(server: &Current, client: &Current) -> bool {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let name = ServerName::try_from(CONTROL_PLANE_NAME).unwrap();
    let mut server_config = (*server.server()).clone();
    server_config.alpn_protocols.clear();
    let accepted = TlsAcceptor::from(Arc::new(server_config)).accept(near);
    let connected = TlsConnector::from(client.client()).connect(name, far);
    let (accepted, connected) = tokio::join!(accepted, connected);
    accepted.is_ok() && connected.is_ok()
}

fn write(folder: &Path, pems: &Pems) -> IdentityFiles {
    let files = IdentityFiles {
        authority: folder.join("ca.crt"),
        certificate: folder.join("tls.crt"),
        key: folder.join("tls.key"),
    };
    std::fs::write(&files.authority, &pems.authority).unwrap();
    std::fs::write(&files.certificate, &pems.certificate).unwrap();
    std::fs::write(&files.key, pems.key.expose()).unwrap();
    files
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("sluice-identity-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn an_authority_is_succeeded_without_a_moment_of_disbelief() {
    let (old, new) = (Authority::make().unwrap(), Authority::make().unwrap());
    let both = |pems: Pems| {
        let authority = format!("{}{}", issued(&old).authority, issued(&new).authority);
        Pems { authority, ..pems }
    };
    let (server, client) = (Current::new(&issued(&old)).unwrap(), Current::new(&issued(&old)).unwrap());
    assert!(agree(&server, &client).await);
    for (which, pems) in [
        (&server, both(issued(&old))),
        (&client, both(issued(&old))),
        (&server, both(issued(&new))),
        (&client, both(issued(&new))),
        (&server, issued(&new)),
        (&client, issued(&new)),
    ] {
        which.replace(&pems).unwrap();
        assert!(agree(&server, &client).await);
    }
    assert!(!agree(&server, &Current::new(&issued(&old)).unwrap()).await, "the old authority is believed no more");
}

#[tokio::test]
async fn renewed_files_are_taken_and_half_a_renewal_is_not() {
    let (old, new) = (Authority::make().unwrap(), Authority::make().unwrap());
    let folder = folder("renewed");
    let pems = issued(&old);
    let files = write(&folder, &pems);
    let current = Arc::new(Current::new(&pems).unwrap());
    let mut followed = FollowedFiles::new(files.clone(), pems, Arc::clone(&current));
    let (old_peer, new_peer) = (Current::new(&issued(&old)).unwrap(), Current::new(&issued(&new)).unwrap());

    let renewed = issued(&new);
    std::fs::write(&files.certificate, &renewed.certificate).unwrap();
    followed.look().await;
    assert!(agree(&current, &old_peer).await, "a certificate without its key changes nothing");
    std::fs::remove_file(&files.key).unwrap();
    followed.look().await;
    assert!(agree(&current, &old_peer).await, "a missing file changes nothing");

    write(&folder, &renewed);
    followed.look().await;
    assert!(agree(&current, &new_peer).await && !agree(&current, &old_peer).await);
    std::fs::remove_dir_all(folder).unwrap();
}

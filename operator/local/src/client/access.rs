//! Where the API is, and who asks.
//!
//! A flag comes before the environment's variable, and both before the state folder of the platform on this
//! machine. A credential belongs to the address that it was found with: the folder's key goes nowhere but to
//! the folder's platform.

use std::path::{Path, PathBuf};

use contract::Redacted;

use super::{Api, Failure};

#[derive(Debug, Clone, clap::Args)]
pub struct Access {
    /// Where the API is [default: the platform of the state folder].
    #[arg(long, env = "SLUICE_URL", global = true)]
    url: Option<String>,
    /// An API key or the token of a session. Better set than typed: other users see command lines.
    #[arg(long, env = "SLUICE_KEY", hide_env_values = true, global = true)]
    key: Option<String>,
    /// A file that holds it instead.
    #[arg(long, env = "SLUICE_KEY_FILE", global = true)]
    key_file: Option<PathBuf>,
    /// The environment's id [default: the key's].
    #[arg(long, env = "SLUICE_ENV_ID", global = true)]
    environment: Option<String>,
    /// Folder of the platform on this machine.
    #[arg(long, env = "SLUICE_STATE", default_value = ".sluice", global = true)]
    state: PathBuf,
}

impl Access {
    /// Nothing is asked yet.
    pub fn api(&self) -> Result<Api, Failure> {
        let found = Found::of(&self.state)?;
        let (url, key) = self.chosen(found.as_ref())?;
        Api::new(&url, &key, self.environment.as_deref())
    }

    fn chosen(&self, found: Option<&Found>) -> Result<(String, Redacted<String>), Failure> {
        let key = self.own_key()?;
        let url = match (&self.url, found) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(found)) => found.url.clone(),
            (None, None) => return Err(Failure::Usage(self.nothing("is no address"))),
        };
        let folders = |found: &&Found| found.url == url;
        match (key, found.filter(folders)) {
            (Some(key), _) => Ok((url, key)),
            (None, Some(found)) => Ok((url, found.key.clone())),
            (None, None) => Err(Failure::Usage(self.nothing(&format!("is no key for {url}")))),
        }
    }

    fn nothing(&self, what: &str) -> String {
        format!(
            "there {what}: set SLUICE_URL and SLUICE_KEY, or name the folder of a platform that runs here with --state ({} holds none)",
            self.state.join("env").display()
        )
    }

    fn own_key(&self) -> Result<Option<Redacted<String>>, Failure> {
        let text = match (&self.key, &self.key_file) {
            (Some(key), _) => key.clone(),
            (None, Some(file)) => {
                std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(Redacted::new(text.trim().to_owned())))
    }
}

/// The address and key that `sluice up` left in its folder.
#[derive(Debug)]
struct Found {
    url: String,
    key: Redacted<String>,
}

impl Found {
    /// `None`: no platform has run there.
    fn of(state: &Path) -> Result<Option<Self>, Failure> {
        let path = state.join("env");
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self::read(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::Usage(format!("{}: {error}", path.display()))),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let value = |name: &str| crate::env_file::value(text, name);
        Some(Self { url: value("SLUICE_URL")?, key: Redacted::new(value("SLUICE_KEY")?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(url: Option<&str>, key: Option<&str>) -> Access {
        let text = |given: Option<&str>| given.map(str::to_owned);
        let (url, key) = (text(url), text(key));
        Access { url, key, key_file: None, environment: None, state: ".sluice".into() }
    }

    fn chosen(access: &Access, folder: Option<&str>) -> Result<(String, String), String> {
        let found = folder.map(|url| Found { url: url.to_owned(), key: Redacted::new("folder's".to_owned()) });
        let chosen = access.chosen(found.as_ref()).map_err(|failure| failure.to_string());
        chosen.map(|(url, key)| (url, key.expose().clone()))
    }

    #[test]
    fn a_key_goes_only_where_it_was_found() {
        let (here, there) = ("http://127.0.0.1:8080", "https://sluice.example");
        let (own, folders) = ("own".to_owned(), "folder's".to_owned());
        let cases = [
            (None, None, Some(here), Ok((here.to_owned(), folders.clone()))),
            (Some("http://127.0.0.1:8080/"), None, Some(here), Ok((here.to_owned(), folders))),
            (Some(there), Some("own"), Some(here), Ok((there.to_owned(), own.clone()))),
            (None, Some("own"), Some(here), Ok((here.to_owned(), own.clone()))),
            (Some(there), Some("own"), None, Ok((there.to_owned(), own))),
            (Some(there), None, Some(here), Err(format!("there is no key for {there}"))),
            (None, Some("own"), None, Err("there is no address".to_owned())),
        ];
        for (url, key, folder, expected) in cases {
            match (chosen(&access(url, key), folder), expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected),
                (Err(got), Err(expected)) => assert!(got.starts_with(&expected), "{got}"),
                (got, expected) => panic!("{url:?} {key:?} {folder:?}: {got:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn a_key_may_lie_in_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "svc_test_k\n").unwrap();
        let mut access = access(None, None);
        access.key_file = Some(file.path().to_owned());
        assert_eq!(access.own_key().unwrap().unwrap().expose(), "svc_test_k");
        access.key_file = Some("/nowhere/key".into());
        assert!(access.own_key().unwrap_err().to_string().starts_with("/nowhere/key: "));
    }
}

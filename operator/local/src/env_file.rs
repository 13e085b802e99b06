//! `.sluice/env`: what `sluice up` printed, as lines `NAME='value'` that a shell can source.

use std::fmt::Write;
use std::net::SocketAddr;

use contract::{EnvId, OrgId, Redacted};

/// How to reach the demo, and as whom.
#[derive(Debug, Clone)]
pub struct Access {
    pub http: SocketAddr,
    pub pgwire: SocketAddr,
    pub tools: SocketAddr,
    pub database: String,
    pub org_id: OrgId,
    pub env_id: EnvId,
    pub owner_email: String,
    pub owner_password: Redacted<String>,
    /// Acts for the owner, with every scope.
    pub key: Redacted<String>,
}

impl Access {
    pub fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    pub fn psql(&self) -> String {
        format!("postgresql://agent:{}@{}/{}", self.key.expose(), self.pgwire, self.database)
    }

    fn mcp(&self) -> String {
        format!("http://{}/mcp", self.tools)
    }

    fn flight(&self) -> String {
        format!("grpc://{}", self.tools)
    }

    pub fn env_file(&self) -> String {
        let lines = [
            ("SLUICE_URL", self.url()),
            ("SLUICE_ORG_ID", self.org_id.to_string()),
            ("SLUICE_ENV_ID", self.env_id.to_string()),
            ("SLUICE_OWNER_EMAIL", self.owner_email.clone()),
            ("SLUICE_OWNER_PASSWORD", self.owner_password.expose().clone()),
            ("SLUICE_KEY", self.key.expose().clone()),
            ("SLUICE_PSQL", self.psql()),
            ("SLUICE_MCP_URL", self.mcp()),
            ("SLUICE_FLIGHT_URL", self.flight()),
        ];
        lines.iter().fold(String::new(), |mut file, (name, value)| {
            // A quote inside single quotes ends them, stands escaped, and opens them again.
            let _ = writeln!(file, "{name}='{}'", value.replace('\'', r"'\''"));
            file
        })
    }

    /// How to begin, for a person. The first line is the dashboard, or the documents of a program without one.
    pub fn table(&self, has_dashboard: bool) -> String {
        let (url, env, key) = (self.url(), &self.env_id, self.key.expose());
        let first = if has_dashboard { format!("Dashboard {url}") } else { format!("REST      {url}/docs") };
        format!(
            "  {first}
  Sign in   {owner} / {password}
  psql      psql \"{psql}\"
  MCP       {mcp}
  Flight    {flight}
  Stop      ./dev down

  Key       {key}
  Query     curl -s {url}/v1/environments/{env}/query -H 'Authorization: ApiKey {key}' \\
              -H 'Content-Type: application/json' -d '{{\"sql\": \"select * from customer limit 3\"}}'
",
            owner = self.owner_email,
            password = self.owner_password.expose(),
            psql = self.psql(),
            mcp = self.mcp(),
            flight = self.flight(),
        )
    }
}

/// What a file of such lines gives a name; `None`: nothing, or not as it is written here.
pub fn value(file: &str, name: &str) -> Option<String> {
    let lines = file.lines().filter_map(|line| line.split_once('='));
    let (_, quoted) = lines.rev().find(|(named, _)| *named == name)?;
    let inside = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(inside.replace(r"'\''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_written() {
        let access = Access {
            http: ([127, 0, 0, 1], 8080).into(),
            pgwire: ([127, 0, 0, 1], 5439).into(),
            tools: ([127, 0, 0, 1], 5440).into(),
            database: "demo".into(),
            org_id: "o".into(),
            env_id: "e".into(),
            owner_email: "owner@demo.local".into(),
            owner_password: Redacted::new("it's $HOME `x`".into()),
            key: Redacted::new("svc_test_k".into()),
        };
        let lines = |has_dashboard| access.table(has_dashboard).lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(true)[0], "  Dashboard http://127.0.0.1:8080");
        assert_eq!(lines(false)[0], "  REST      http://127.0.0.1:8080/docs");
        let script = format!("{}printf '%s|%s' \"$SLUICE_OWNER_PASSWORD\" \"$SLUICE_PSQL\"", access.env_file());
        let shell = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let read = String::from_utf8(shell.stdout).unwrap();
        assert_eq!(read, "it's $HOME `x`|postgresql://agent:svc_test_k@127.0.0.1:5439/demo");
        let here = |name| value(&access.env_file(), name);
        assert_eq!(here("SLUICE_OWNER_PASSWORD").as_deref(), Some("it's $HOME `x`"));
        assert_eq!(here("SLUICE_PSQL").unwrap(), access.psql());
        assert_eq!(here("SLUICE_PASSWORD"), None);
    }
}

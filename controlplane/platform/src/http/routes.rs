//! The route table: method, path, who may use it, and the handler, in one row.
//!
//! The rows are kept beside the router that is built from them, so the guard, the refusal tests
//! and the printed API read the same list that serves. A handler cannot be mounted without a row.

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodRouter, delete, get, post, put};
use contract::{Access, Code, Scope};

use crate::App;
use crate::http::route::{Route, Secret};
use crate::http::signature::DescribedHandler;

/// The rows of a resource module, or of all of them.
#[derive(Default)]
pub struct Routes {
    rows: Vec<Route>,
    handlers: Vec<MethodRouter<App>>,
}

macro_rules! methods {
    ($($name:ident, $method:ident;)+) => {$(
        pub fn $name<H, T>(
            self,
            path: &'static str,
            access: Access,
            scope: impl Into<Option<Scope>>,
            handler: H,
        ) -> Self
        where
            H: Handler<T, App> + DescribedHandler<T>,
            T: 'static,
        {
            let row = Route {
                method: Method::$method,
                path,
                access,
                scope: scope.into(),
                deprecated: false,
                successor: None,
                ours: false,
                own_role: false,
                secret: None,
                step_up: false,
                linked: false,
                of_pages: false,
                keyed: false,
                says: "",
                versioned: false,
                refuses: &[],
                handler: std::any::type_name::<H>(),
                tell: H::tell,
            };
            self.row(row, $name(handler))
        }
    )+};
}

impl Routes {
    pub fn new() -> Self {
        Self::default()
    }

    methods! {
        get, GET;
        post, POST;
        put, PUT;
        delete, DELETE;
    }

    fn row(mut self, row: Route, handler: MethodRouter<App>) -> Self {
        self.rows.push(row);
        self.handlers.push(handler);
        self
    }

    fn last(mut self, change: impl FnOnce(&mut Route)) -> Self {
        if let Some(row) = self.rows.last_mut() {
            change(row);
        }
        self
    }

    /// The last row is one that the specification deprecates.
    pub fn deprecated(self) -> Self {
        self.last(|row| row.deprecated = true)
    }

    /// The last row is not in the specification.
    pub fn ours(self) -> Self {
        self.last(|row| row.ours = true)
    }

    /// The last row runs a statement, with which its `Idempotency-Key` goes to the data plane.
    pub fn keyed(self) -> Self {
        self.last(|row| row.keyed = true)
    }

    /// The last row's doing outlives an elevation, so that only the caller's own role counts.
    pub fn own_role(self) -> Self {
        self.last(|row| row.own_role = true)
    }

    /// The last row answers with a secret, in this member; whoever has lost it does something instead.
    pub fn secret(self, member: &'static str, instead: &'static str) -> Self {
        self.last(|row| row.secret = Some(Secret { member, instead }))
    }

    /// What the last row does, in a sentence: a line of the reference.
    pub fn says(self, sentence: &'static str) -> Self {
        self.last(|row| row.says = sentence)
    }

    /// What to use instead of the last row.
    pub fn succeeded_by(self, path: &'static str) -> Self {
        self.last(|row| row.successor = Some(path))
    }

    /// The handler of the last row asks [`crate::http::conditional::ExpectedVersion::holds`].
    pub fn versioned(self) -> Self {
        self.last(|row| row.versioned = true)
    }

    /// Errors of the last row that not every row like it has.
    pub fn refuses(self, codes: &'static [Code]) -> Self {
        self.last(|row| row.refuses = codes)
    }

    /// The last row asks for a second factor of the last minutes, of whoever has one.
    pub fn step_up(self) -> Self {
        self.last(|row| row.step_up = true)
    }

    /// Mails and other sites lead to the last row.
    pub fn linked(self) -> Self {
        self.last(|row| row.linked = true)
    }

    /// The dashboard asks the last row for its own pages. The statement or the tool behind it is the platform's own,
    /// and only reads: no text of a caller is run there.
    pub fn of_pages(self) -> Self {
        self.last(|row| row.of_pages = true)
    }

    /// None of these rows is in the specification.
    pub fn all_ours(mut self) -> Self {
        for row in &mut self.rows {
            row.ours = true;
        }
        self
    }

    /// Errors of each of these rows that not every row like it has.
    pub fn all_refuse(mut self, codes: &'static [Code]) -> Self {
        for row in &mut self.rows {
            row.refuses = codes;
        }
        self
    }

    pub fn and(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        self.handlers.extend(other.handlers);
        self
    }

    pub fn rows(&self) -> &[Route] {
        &self.rows
    }

    /// Each row with its handler.
    pub fn into_rows(self) -> impl Iterator<Item = (Route, MethodRouter<App>)> {
        self.rows.into_iter().zip(self.handlers)
    }
}

/// The whole API on one screen: method, path, role, scope, and marks.
pub fn screen(rows: &[Route]) -> String {
    let mut out = String::new();
    for Route { method, path, access, scope, deprecated, ours, step_up, .. } in rows {
        let scope = scope.map_or("-", Scope::as_str);
        let mut line = format!("{:<6} {path:<72} {:<7} {scope:<17}", method.as_str(), access.as_str());
        line.push_str(if *deprecated { " deprecated" } else { "" });
        line.push_str(if *ours { " ours" } else { "" });
        line.push_str(if *step_up { " step-up" } else { "" });
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

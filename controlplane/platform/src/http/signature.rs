//! The request and answer of an endpoint, as the signature of its handler says them.
//!
//! A handler is mounted only if each of its arguments says what it takes of the request ([`Takes`])
//! and its result says what it answers ([`Answers`]). So the document of the API (`reference`) is
//! derived from what runs; it cannot be left behind, and an endpoint without shapes does not
//! compile: derive `JsonSchema` on the types of its bodies, and answer a type that has [`Answers`].

use std::future::Future;

use axum::http::{HeaderMap, HeaderName, StatusCode};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::Result;

/// The parameters of the query that say which page.
const PAGE_PARAMETERS: [&str; 2] = ["limit", "cursor"];

/// The shapes that several endpoints share. What is taken and what is answered are told apart: serde
/// lets a member be left out that it never leaves out itself.
pub struct Shapes {
    pub taken: SchemaGenerator,
    pub answered: SchemaGenerator,
}

impl Shapes {
    /// Where references lead until `reference::naming` has settled the names.
    pub const TAKEN: &str = "/components/taken";
    pub const ANSWERED: &str = "/components/schemas";
}

impl Default for Shapes {
    fn default() -> Self {
        let settings = |place: &'static str| {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = place.into();
                settings.meta_schema = None;
            })
        };
        Self {
            taken: settings(Self::TAKEN).for_deserialize().into_generator(),
            answered: settings(Self::ANSWERED).for_serialize().into_generator(),
        }
    }
}

/// A body of a request.
#[derive(Debug)]
pub struct Body {
    /// Media types that are taken.
    pub kinds: &'static [&'static str],
    /// `None`: text.
    pub schema: Option<Schema>,
    pub is_required: bool,
}

/// An answer of success; `None`: nothing to read.
#[derive(Debug)]
pub struct ResponseSignature {
    pub status: StatusCode,
    pub content: Vec<(&'static str, Option<Schema>)>,
    /// Headers beyond those of every answer.
    pub headers: &'static [&'static str],
}

/// How long a page may be.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub default: i64,
    pub max: i64,
    /// More than `max` is taken for `max`, not refused.
    pub capped: bool,
}

/// The signature of a handler.
pub struct Signature<'a> {
    shapes: &'a mut Shapes,
    /// Objects whose members are parameters of the query.
    pub query: Vec<Schema>,
    pub page: Option<Span>,
    /// Headers of the request, by name, and what they are for.
    pub headers: Vec<(&'static str, &'static str)>,
    pub body: Option<Body>,
    pub answers: Vec<ResponseSignature>,
}

impl<'a> Signature<'a> {
    pub fn read(shapes: &'a mut Shapes, tell: fn(&mut Signature<'_>)) -> Self {
        let mut said =
            Self { shapes, query: Vec::new(), page: None, headers: Vec::new(), body: None, answers: Vec::new() };
        tell(&mut said);
        said
    }

    /// Names of the parameters of the query.
    pub fn parameters(&self) -> Vec<String> {
        let members = |object: &Schema| object.get("properties").and_then(Value::as_object).cloned();
        let named = self.query.iter().filter_map(members).flat_map(|members| members.into_iter().map(|(name, _)| name));
        let paged = self.page.iter().flat_map(|_| PAGE_PARAMETERS.map(str::to_owned));
        named.chain(paged).collect()
    }

    pub fn asks<T: JsonSchema>(&mut self) {
        self.query.push(T::json_schema(&mut self.shapes.taken));
    }

    /// A header that may be sent.
    pub fn header(&mut self, name: &'static str, about: &'static str) {
        self.headers.push((name, about));
    }

    /// A body in JSON.
    pub fn reads<T: JsonSchema>(&mut self, is_required: bool) {
        let schema = self.shapes.taken.subschema_for::<T>();
        self.body = Some(Body { kinds: &["application/json"], schema: Some(schema), is_required });
    }

    /// An answer in JSON.
    pub fn answers<T: JsonSchema>(&mut self, status: StatusCode) {
        let schema = self.shapes.answered.subschema_for::<T>();
        self.says(ResponseSignature { status, content: vec![("application/json", Some(schema))], headers: &[] });
    }

    /// The shape of what is written without its type, such as a stream.
    pub fn shape<T: JsonSchema>(&mut self) -> Schema {
        self.shapes.answered.subschema_for::<T>()
    }

    pub fn says(&mut self, answer: ResponseSignature) {
        self.answers.push(answer);
    }
}

/// An argument of a handler. Where nothing is told of it, it is no part of the document.
pub trait Takes {
    fn takes(_: &mut Signature<'_>) {}
}

/// The result of a handler.
pub trait Answers {
    fn answers(said: &mut Signature<'_>);
}

/// A handler whose every part says what it is. `T` is as in [`axum::handler::Handler`].
pub trait DescribedHandler<T> {
    fn tell(said: &mut Signature<'_>);
}

impl<F, Fut> DescribedHandler<((),)> for F
where
    F: FnOnce() -> Fut,
    Fut: Future,
    Fut::Output: Answers,
{
    fn tell(said: &mut Signature<'_>) {
        Fut::Output::answers(said);
    }
}

macro_rules! told {
    ($($taken:ident)+) => {
        impl<F, Fut, M, $($taken),+> DescribedHandler<(M, $($taken,)+)> for F
        where
            F: FnOnce($($taken),+) -> Fut,
            Fut: Future,
            Fut::Output: Answers,
            $($taken: Takes,)+
        {
            fn tell(said: &mut Signature<'_>) {
                $($taken::takes(said);)+
                Fut::Output::answers(said);
            }
        }
    };
}

told!(A);
told!(A B);
told!(A B C);
told!(A B C D);
told!(A B C D E);

// Headers of every request.
impl Takes for HeaderMap {}

impl<T: Answers> Answers for Result<T> {
    fn answers(said: &mut Signature<'_>) {
        T::answers(said);
    }
}

/// An answer with headers of its own.
impl<T: Answers, const N: usize> Answers for ([(HeaderName, String); N], T) {
    fn answers(said: &mut Signature<'_>) {
        T::answers(said);
    }
}

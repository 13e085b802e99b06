//! The tools of the agent tool server: one table of names, what they do, and what they need.
//!
//! A tool is a row: its name and description, the scope that its caller's key must have, its hints,
//! and the function that does it. The schemas of its arguments and of its result are made from that
//! function's types. A tool runs nothing of its own: a statement goes through the pipeline like any
//! other, and so is checked, metered and audited there, its scope included.

mod agents;
mod arguments;
mod arrow;
mod branches;
mod budget;
mod choice;
mod cursor;
mod describe;
mod memory;
mod merging;
mod onward;
mod policy;
mod reasoning;
mod schema;
mod seal;
mod sql;
mod table;
mod telling;
mod triggers;
mod truth;

use std::future::Future;
use std::sync::LazyLock;

use contract::Scope;
use contract::policy::abac::Operation;
use contract::wire::TIMEOUT_MS_MAX;
use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use self::arguments::{read, schema_of, strict_schema_of};
use self::budget::size;
use self::telling::Telling;
use crate::agents::branches::Branches;
use crate::agents::memory::Memories;
use crate::agents::moment;
use crate::agents::reasoning::Thoughts;
use crate::agents::tool_caller::ToolCaller;
use crate::agents::triggers::Triggers;
use crate::limits::invalid;
use crate::pipeline::ToolAction;
use crate::request::detached::{GivenUp, to_its_end};
use crate::{Ask, Bounds, Error, Pipeline};

pub use self::budget::ResultBudget;
pub use self::choice::ToolChoice;
pub use self::telling::ToolResult;

static TABLE: LazyLock<Vec<ToolDefinition>> = LazyLock::new(table::rows);

/// Every tool that is listed.
pub fn all() -> impl Iterator<Item = &'static ToolDefinition> {
    TABLE.iter().filter(|row| row.listed)
}

pub fn by_name(name: &str) -> Option<&'static ToolDefinition> {
    TABLE.iter().find(|row| row.tool.name == name)
}

/// The effect of a tool on the data, as its hints say it.
#[derive(Debug, Clone, Copy)]
enum Hints {
    Reads,
    /// It adds to what is there.
    Adds,
    /// It says how something is; said again, nothing more changes.
    Declares,
    /// It removes what is there; once more removes nothing more.
    Removes,
    /// It may change or remove what is there.
    Destroys,
}

/// One tool.
pub struct ToolDefinition {
    pub tool: Tool,
    pub scope: Scope,
    group: &'static str,
    /// One that is not is for the REST surfaces.
    listed: bool,
    run: Box<Run>,
}

/// From the arguments as they came to the result as it is told.
type Run = dyn Fn(ToolCall, Value) -> BoxFuture<'static, Result<ToolResult, Error>> + Send + Sync;

impl ToolDefinition {
    /// `run` takes the tool's arguments and gives its result; both types are its schemas.
    fn new<I, O, F>(name: &'static str, run: impl Fn(ToolCall, I) -> F + Send + Sync + Copy + 'static) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Telling + JsonSchema + Send + 'static,
        F: Future<Output = Result<O, Error>> + Send + 'static,
    {
        let tool = Tool::new_with_raw(name, None, Arc::new(strict_schema_of::<I>()))
            .with_raw_output_schema(Arc::new(schema_of::<O>()));
        let run = move |call: ToolCall, given| {
            async move {
                let (budget, input) = (call.budget, read(given)?);
                Box::pin(run(call, input)).await?.told(budget)
            }
            .boxed()
        };
        Self { tool, scope: Scope::Agent, group: "", listed: true, run: Box::new(run) }
    }

    fn says(mut self, description: &'static str) -> Self {
        self.tool.description = Some(description.into());
        self
    }

    fn unlisted(self) -> Self {
        Self { listed: false, ..self }
    }

    /// The scope of a key that may call it, and what clients are told of how it works.
    fn needs(mut self, scope: Scope, hints: Hints) -> Self {
        self.scope = scope;
        let annotations = ToolAnnotations::new().open_world(false);
        self.tool.annotations = Some(match hints {
            Hints::Reads => annotations.read_only(true),
            Hints::Adds => annotations.read_only(false).destructive(false),
            Hints::Declares => annotations.read_only(false).destructive(false).idempotent(true),
            Hints::Removes => annotations.read_only(false).destructive(true).idempotent(true),
            Hints::Destroys => annotations.read_only(false).destructive(true),
        });
        self
    }

    /// A tool that changes something goes on behind it (events, indexes, answers that are stale by then), also when the
    /// caller leaves in between. A statement has its own end.
    pub async fn run(&self, call: ToolCall, arguments: JsonObject) -> Result<ToolResult, Error> {
        let (tasks, budget) = (call.pipeline.tasks.clone(), call.budget);
        let work = (self.run)(call, Value::Object(arguments));
        if self.scope == Scope::Agent && !self.reads() {
            return to_its_end(&tasks, GivenUp::default(), work).await;
        }
        let told = work.await?;
        match budget.exceeded_by(size(&told.structured)) {
            Some(limit) if self.reads() => Err(Error::AnswerTooLarge { limit }),
            _ => Ok(told),
        }
    }

    fn reads(&self) -> bool {
        self.tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true)
    }
}

/// Who calls a tool, and what it runs on.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub pipeline: Arc<Pipeline>,
    pub memories: Memories,
    pub thoughts: Thoughts,
    pub triggers: Triggers,
    pub tool_caller: ToolCaller,
    pub scope: Scope,
    pub budget: ResultBudget,
    pub cancel: CancellationToken,
}

impl ToolCall {
    /// The branches, with what is remembered on them.
    fn branches(&self) -> Branches {
        Branches::beside(self.pipeline.branches.clone(), self.memories.clone())
    }

    /// What a tool does with these tables, without a statement.
    fn action(&self, name: &str, tables: Vec<String>, operation: Operation) -> Result<ToolAction, Error> {
        Ok(ToolAction { ask: self.ask(format!("CALL {name}"), None)?, tables, operation, reads: Vec::new() })
    }

    /// One statement of this call.
    fn ask(&self, sql: impl Into<String>, timeout_ms: Option<u64>) -> Result<Ask, Error> {
        if timeout_ms.is_some_and(|timeout_ms| !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms)) {
            return Err(invalid("timeout_ms", format!("timeout_ms is from 1 to {TIMEOUT_MS_MAX}")));
        }
        let ask = self.tool_caller.ask(&self.pipeline, sql.into(), timeout_ms);
        let bounds = Bounds { scope: Some(self.scope), ..Bounds::default() };
        Ok(Ask { cancel: self.cancel.clone(), bounds, ..ask })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_tool_is_named_once_and_explained() {
        let names: BTreeSet<_> = TABLE.iter().map(|row| row.tool.name.clone()).collect();
        assert_eq!(names.len(), TABLE.len());
        for row in TABLE.iter() {
            let tool = &row.tool;
            assert!(tool.description.as_ref().is_some_and(|text| text.len() > 20), "{}", tool.name);
            let annotations = tool.annotations.as_ref().unwrap();
            assert!(annotations.read_only_hint.is_some() && annotations.open_world_hint == Some(false));
        }
    }

    #[test]
    fn arguments_that_no_tool_knows_are_refused_by_their_name() {
        for row in TABLE.iter() {
            assert_eq!(row.tool.input_schema["type"], "object", "{}", row.tool.name);
            assert_eq!(row.tool.input_schema["additionalProperties"], false, "{}", row.tool.name);
            let output = row.tool.output_schema.as_ref().unwrap();
            assert_eq!(output["type"], "object", "{}", row.tool.name);
            let text = serde_json::to_string(&row.tool).unwrap();
            assert!(!text.contains("$ref") && !text.contains("uint64"), "{text}");
            for schema in [&row.tool.input_schema, output] {
                let properties = schema["properties"].as_object().unwrap();
                assert!(properties.values().all(Value::is_object), "{}", row.tool.name);
            }
        }
        let refused = read::<sql::StatementArguments>(serde_json::json!({"sql": "select 1", "max_rows": "ten"}));
        assert!(matches!(refused, Err(Error::InvalidArgument { field, .. }) if field == "max_rows"));
        let refused = read::<sql::StatementArguments>(serde_json::json!({"sql": "select 1", "limit": 10}));
        assert!(matches!(refused, Err(Error::InvalidArgument { message, .. }) if message.contains("limit")));
    }
}

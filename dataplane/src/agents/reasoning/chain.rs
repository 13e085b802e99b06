//! The chain of hashes over a session, and its check.

use contract::reasoning::ReasoningBreak;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Thought;
use crate::Error;

/// What stands before the first step.
pub const GENESIS: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The verdict of a check of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainVerdict {
    pub steps_verified: u64,
    pub broken: Option<ReasoningBreak>,
}

/// The hash of a step after the one before it.
pub fn hash(thought: &Thought) -> Result<String, Error> {
    let body = json!({
        "session_id": thought.session_id,
        "agent_id": thought.agent_id,
        "step_number": thought.step_number,
        "step_type": thought.step_type,
        "content": thought.content,
        "input": thought.input,
        "output": thought.output,
        "metadata": thought.metadata,
        "created_at": thought.created_at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
    });
    let body = serde_json_canonicalizer::to_vec(&body)
        .map_err(|error| Error::Unverified { why: format!("a step cannot be written: {error}") })?;
    let mut digest = Sha256::new();
    digest.update("sluice.cot.v1\n");
    digest.update(&thought.prev_hash);
    digest.update("\n");
    digest.update(body);
    Ok(format!("sha256:{}", hex::encode(digest.finalize())))
}

/// Walks a session step by step.
#[derive(Debug)]
pub struct Check {
    next: i64,
    head: String,
    verdict: ChainVerdict,
}

impl Check {
    pub fn new() -> Self {
        Self { next: 0, head: GENESIS.to_owned(), verdict: ChainVerdict { steps_verified: 0, broken: None } }
    }

    /// False once the chain is known to be broken.
    pub fn step(&mut self, thought: &Thought) -> Result<bool, Error> {
        let expected = hash(&Thought { prev_hash: self.head.clone(), step_number: self.next, ..thought.clone() })?;
        let holds = thought.step_number == self.next && thought.prev_hash == self.head && thought.hash == expected;
        if !holds {
            self.verdict.broken = Some(ReasoningBreak {
                trace_id: thought.trace_id.clone(),
                step_number: thought.step_number,
                expected_hash: expected,
                actual_hash: thought.hash.clone(),
            });
            return Ok(false);
        }
        self.head = expected;
        self.next += 1;
        self.verdict.steps_verified += 1;
        Ok(true)
    }

    pub fn verdict(self) -> ChainVerdict {
        self.verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    fn chain(length: i64) -> Vec<Thought> {
        let mut head = GENESIS.to_owned();
        let step = |step_number| {
            let mut thought = Thought {
                trace_id: format!("t{step_number}"),
                session_id: "s".to_owned(),
                agent_id: "a".to_owned(),
                step_number,
                step_type: "observation".to_owned(),
                content: format!("step {step_number}"),
                input: Some(json!({"b": 1.5, "a": [1e3, "ü"]})),
                output: None,
                model_name: None,
                token_count: None,
                latency_ms: None,
                importance: 0.5,
                metadata: Map::new(),
                prev_hash: head.clone(),
                hash: String::new(),
                created_at: chrono::DateTime::UNIX_EPOCH,
            };
            thought.hash = hash(&thought).unwrap();
            head.clone_from(&thought.hash);
            thought
        };
        (0..length).map(step).collect()
    }

    fn checked(chain: &[Thought]) -> ChainVerdict {
        let mut check = Check::new();
        for thought in chain {
            if !check.step(thought).unwrap() {
                break;
            }
        }
        check.verdict()
    }

    #[test]
    fn a_whole_chain_holds_and_its_hash_never_changes() {
        let chain = chain(5);
        assert_eq!(checked(&chain), ChainVerdict { steps_verified: 5, broken: None });
        // The form of the hash is a promise: a ledger of years ago must still verify.
        assert_eq!(chain[0].hash, "sha256:bdec161ed38ad08ef256b370b336c8da9ad5b6777f8ef0173455330c573dc829");
    }

    #[test]
    fn any_tampering_is_found_where_it_begins() {
        type Tamper = fn(&mut Vec<Thought>);
        let tamper: [(&str, Tamper); 7] = [
            ("content", |chain| chain[2].content.push('!')),
            ("input", |chain| chain[2].input = None),
            ("agent", |chain| chain[2].agent_id = "b".to_owned()),
            ("moment", |chain| chain[2].created_at += chrono::Duration::microseconds(1)),
            ("removed", |chain| drop(chain.remove(2))),
            ("swapped", |chain| chain.swap(2, 3)),
            ("rehashed alone", |chain| {
                chain[2].content.push('!');
                chain[2].hash = hash(&chain[2]).unwrap();
                chain.remove(1);
            }),
        ];
        for (what, tamper) in tamper {
            let mut chain = chain(5);
            tamper(&mut chain);
            let verdict = checked(&chain);
            assert!(verdict.broken.is_some(), "{what}");
            assert!(verdict.steps_verified <= 2, "{what}");
        }
    }
}

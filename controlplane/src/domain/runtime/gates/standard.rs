//! The gates that stand for every project: the table of the specification, and predicates that
//! manual gates only ask for presence with.

use serde_json::{Value, json};

use super::predicate::{Operator, Predicate};
use super::{Gate, GateId};
use crate::domain::runtime::people::{CLIENT, PM};

pub fn gate(gate_id: GateId) -> Gate {
    Gate {
        gate_id,
        name: gate_id.name(),
        project_id: None,
        predicates: predicates(gate_id),
        auto_approvable: !gate_id.is_always_manual(),
        client_sign_off_required: gate_id.needs_client(),
        approval_role: if gate_id.needs_client() { CLIENT } else { PM }.to_owned(),
        version: 0,
    }
}

fn predicates(gate_id: GateId) -> Vec<Predicate> {
    use Operator::{Eq, Gte, Ne};
    let all = match gate_id {
        GateId::G0 => vec![("ux.prototype_url", Ne, json!(""), "there is a prototype to look at")],
        GateId::G1 => vec![("proposal.document_url", Ne, json!(""), "there is a proposal")],
        GateId::G2 => vec![
            ("architecture.validation_status", Eq, json!("pass"), "the architecture has passed its validations"),
            ("architecture.confidence", Gte, json!(0.8), "whoever made it is confident"),
        ],
        GateId::G3 => vec![
            ("tests.pass_rate", Gte, json!(0.95), "at least 95 % of the tests pass"),
            ("security.critical_findings", Eq, json!(0), "no critical finding"),
            ("build.compiles", Eq, json!(true), "the build compiles"),
        ],
        GateId::G4 => vec![("launch.checklist_url", Ne, json!(""), "there is a checklist")],
        GateId::G5 => vec![("go_live.approved_release_id", Ne, json!(""), "there is a release to go live with")],
    };
    all.into_iter().map(predicate).collect()
}

fn predicate((key, operator, value, description): (&str, Operator, Value, &str)) -> Predicate {
    Predicate { key: key.to_owned(), operator, value, description: description.to_owned() }
}

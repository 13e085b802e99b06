//! Every rule of the schemas, both sides, with no cluster; that types and schemas agree; that the
//! committed definitions are the types.

mod definitions;
mod round_trip;
mod rules;
mod structural;

use serde_json::Value;

fn schema(kind: &str) -> Value {
    let definition = crate::all().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    let version = serde_json::to_value(&definition.spec.versions[0]).unwrap();
    version["schema"]["openAPIV3Schema"].clone()
}

//! The custom resource definitions as a template: installed and upgraded with the chart, kept when
//! it is uninstalled. In a chart's own folder for definitions they would never be upgraded.

use serde_json::{Value, json};

use crate::{Error, yaml};

/// Every definition, behind `crds.install`.
pub fn template() -> Result<String, Error> {
    let mut template = String::from(concat!(
        "{{- /* Printed by chartgen from the types of crds/; not edited by hand. */ -}}\n",
        "{{- if .Values.crds.install }}\n",
    ));
    for definition in crds::all() {
        let text = yaml(&kept(serde_json::to_value(&definition)?))?;
        if text.contains("{{") {
            return Err(Error::Braces("a definition"));
        }
        template.push_str("---\n");
        template.push_str(&text);
    }
    template.push_str("{{- end }}\n");
    Ok(template)
}

/// With the annotation that an uninstall heeds.
fn kept(mut definition: Value) -> Value {
    if let Some(metadata) = definition.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".to_owned(), json!({ "helm.sh/resource-policy": "keep" }));
    }
    definition
}

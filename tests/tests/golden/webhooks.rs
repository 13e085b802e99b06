//! The types that a webhook can name, as the dashboard offers them.

use controlplane::domain::webhooks::Surface;
use serde::Serialize;
use tests::golden;

/// The webhook types that the dashboard imports.
#[derive(Serialize)]
struct WebhookTypes {
    organization: Vec<&'static str>,
    notices: Vec<&'static str>,
}

#[test]
fn the_dashboard_offers_each_type_of_a_webhook() {
    let types = WebhookTypes { organization: Surface::Organization.types(), notices: Surface::Notices.types() };
    let printed = serde_json::to_string_pretty(&types).unwrap() + "\n";
    golden::compare("../../controlplane/dashboard/src/api/webhookTypes.json", &printed);
}

//! Integrations that ask for the credentials of the data plane's own surroundings.

use contract::StorageIntegration;
use contract::storage_integration::{StorageCredentials, StorageKind};

use crate::world::world;

#[tokio::test]
async fn credentials_of_the_surroundings_are_not_used_unless_the_operator_allows_it() {
    let world = world().await;
    let integration = StorageIntegration {
        name: "around".to_owned(),
        kind: StorageKind::S3 { endpoint: None, region: "eu-west-1".to_owned(), path_style: false },
        allowed_prefixes: vec!["s3://lake/in/".to_owned()],
        blocked_prefixes: Vec::new(),
        enabled: true,
        credentials: StorageCredentials::Ambient,
    };
    world.change(|rules| rules.storage_integrations = vec![integration]);
    let made = world.run("create stage s url = 's3://lake/in/' storage_integration = around").await;
    let refused = match made {
        Ok(_) => world.run("list @s").await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(refused.contains("no credentials of its own for storage integration around"), "{refused}");
}

//! Files of stages at the limit of what an organization may store.

use serde_json::json;

use crate::stage_files::{owner, paths};
use crate::world::world;

#[tokio::test]
async fn no_file_comes_that_takes_an_organization_past_what_it_may_store() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    world.change(|rules| rules.organization.limits.storage_limit_gb = Some(1));
    world.ledger.storage.told(999_999_990);
    let (status, told) = owner(&world, "PUT", "files/files/fits", "0123456789").await;
    assert_eq!(status, 200, "{told}");
    let (status, told) = owner(&world, "PUT", "files/files/passes", "0123456789.").await;
    assert_eq!((status, &told["error"]["details"]["quota"]), (403, &json!("storage")), "{told}");
    let unload = "copy into @files/rows from customer file_format = (type = csv compression = none)";
    let refused = world.run(unload).await.unwrap_err();
    assert_eq!(refused.code().http(), 403, "{refused}");
    assert_eq!(paths(&world, "files").await, ["fits"], "nothing of it is left");
    let (status, told) = owner(&world, "DELETE", "files/files/fits", "").await;
    assert_eq!(status, 200, "{told}");
    world.stop().await;
}

//! Files of stages at the limits of an organization's tier: bytes that it stores, and rows of a query.

use contract::Code;
use serde_json::json;

use crate::copied::{loaded, put, ran, staged};
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

#[tokio::test]
async fn rows_that_are_selected_over_a_stage_are_limited_and_those_that_are_loaded_are_not() {
    let world = world().await;
    let id = staged(&world, "create stage s").await;
    put(&world, &id, "a.csv", "1\n2\n3\n");
    ran(&world, "create table t (id integer)").await;
    world.change(|rules| rules.organization.limits.max_rows_per_query = Some(2));
    assert_eq!(world.run("select $1 from @s").await.unwrap_err().code(), Code::QuotaExceeded);
    assert_eq!(ran(&world, "select count(*) from @s").await, "[3]");
    assert_eq!(ran(&world, "copy into t from @s").await, loaded("a.csv", 3));
    assert_eq!(world.count("select count(*) from raw.main.t").await, 3);
    world.stop().await;
}

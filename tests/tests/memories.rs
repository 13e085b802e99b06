//! Lists of memories over REST: a bare list, page by page to its end.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

/// The address of the next page.
fn next(headers: &reqwest::header::HeaderMap) -> Option<String> {
    let link = headers.get("link")?.to_str().unwrap();
    let address = link.strip_prefix('<').and_then(|rest| rest.strip_suffix(">; rel=\"next\""));
    Some(address.unwrap_or_else(|| panic!("{link}")).to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_list_leads_to_its_next_page_until_the_last() {
    let world = World::bare().await;
    let auth = format!("ApiKey {}", world.key);
    let memories = format!("/v1/organizations/{}/agent-memory", world.org_id);
    for (agent, content) in
        [("clerk", "one"), ("clerk", "two"), ("other", "three"), ("clerk", "four"), ("clerk", "five")]
    {
        let body = json!({"agent_id": agent, "content": content});
        world.ok(Method::POST, &memories, &auth, body).await;
    }
    for (filter, wanted) in [("", 5_usize), ("&agent_id=clerk", 4), ("&agent_id=nobody", 0)] {
        let (mut seen, mut pages) = (BTreeSet::new(), 0);
        let mut address = Some(format!("{memories}?limit=2{filter}"));
        while let Some(path) = address.take() {
            let page = world.call(Method::GET, &path, &auth, Value::Null).await;
            assert_eq!(page.status, 200, "{path}: {}", page.body);
            let rows = page.body.as_array().unwrap();
            seen.extend(rows.iter().map(|row| row["id"].to_string()));
            address = next(&page.headers);
            assert!(address.is_none() || rows.len() == 2, "{path}");
            pages += 1;
        }
        assert_eq!((seen.len(), pages), (wanted, wanted.div_ceil(2).max(1)), "{filter}");
    }
    let whole = world.call(Method::GET, &memories, &auth, Value::Null).await;
    assert_eq!((whole.body.as_array().unwrap().len(), next(&whole.headers)), (5, None));
    for refused in ["limit=201", "cursor=%25"] {
        let answer = world.call(Method::GET, &format!("{memories}?{refused}"), &auth, Value::Null).await;
        assert_eq!(answer.status, 400, "{refused}: {}", answer.body);
    }
    world.end().await;
}

//! The children of three environments, as YAML, byte for byte.
//!
//! `UPDATE_GOLDEN=1 cargo test -p operator golden` writes the files anew; read the difference.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use contract::wire::setting;
use serde_json::{Value, json};

use super::{SETTINGS, TakesEffect, children};
use crate::config::Config;
use crate::controllers::environment::tests::{environment, observed};
use crate::controllers::environment::validate::{Desired, validate};
use crate::objects::plan::{CertificateOrder, Write};

fn specifications() -> [(&'static str, Value); 3] {
    let everything = json!({
        "storage": {"format": "lake", "size": "20Gi",
                    "objectStore": {"url": "s3://acme-sales/lake", "secretName": "lake-credentials"}},
        "settings": {"queryTimeoutMs": 60000, "maxConcurrentQueries": 500, "cacheEnabled": false},
        "dataPlane": {
            "version": "0.2.0", "replicas": 3,
            "resources": {"requests": {"cpu": "1500m", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}},
            "scheduling": {
                "nodeSelector": {"disk": "fast"}, "priorityClassName": "tenants",
                "tolerations": [{"key": "tenants", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
                                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
            },
        },
        "network": {"allowedCidrs": ["10.0.0.0/8", "2001:db8::/32"]},
        "tls": {"mode": "Secret", "secretRef": {"name": "own-certificate"}},
        "deletionPolicy": "Delete",
    });
    let cert_manager = json!({
        "storage": {"size": "50Gi", "storageClassName": "fast"},
        "bootstrap": {"fromSnapshot": "sales-2025"},
        "tls": {"mode": "CertManager", "issuerRef": {"name": "internal-ca"}},
    });
    [("default", json!({})), ("lake-everything", everything), ("cert-manager", cert_manager)]
}

fn desired(spec: &Value) -> Desired {
    validate(&observed(environment(spec))).unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from("src/controllers/environment/build/golden")
}

fn order(order: &CertificateOrder) -> Value {
    json!({
        "order": "certificate", "metadata": order.metadata, "authority": format!("{:?}", order.authority),
        "dnsNames": order.dns_names, "lifetimeSeconds": order.lifetime.as_secs(),
    })
}

fn yaml(desired: &Desired) -> String {
    let documents = children(desired).into_iter().map(|write| match write {
        Write::Apply(child) => child.hashed().1,
        Write::Issue(it) => order(&it),
        other => panic!("no child is a change of one: {other:?}"),
    });
    // by way of text: only there is a number of arbitrary precision a number
    let document = |json: Value| {
        let value: serde_yaml_ng::Value = serde_yaml_ng::from_str(&json.to_string()).unwrap();
        format!("---\n{}", serde_yaml_ng::to_string(&value).unwrap())
    };
    documents.map(document).collect()
}

#[test]
fn golden_children_are_what_they_were() {
    for (name, spec) in specifications() {
        let path = folder().join(format!("{name}.yaml"));
        let actual = yaml(&desired(&spec));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(expected == actual, "{} is not what is built now:\n{actual}", path.display());
    }
}

#[test]
fn golden_files_are_all_compared() {
    let names: BTreeSet<String> = specifications().iter().map(|(name, _)| format!("{name}.yaml")).collect();
    let files = std::fs::read_dir(folder()).unwrap();
    let found: BTreeSet<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, names);
}

#[test]
fn every_setting_is_written_down_with_what_a_change_of_it_costs() {
    let next_start = SETTINGS.iter().filter(|it| it.takes_effect == TakesEffect::NextStart).map(|it| it.name);
    let expected = [
        setting::ENGINE_TEMP_BYTES,
        setting::LISTEN,
        setting::HTTP_IDLE_SECS,
        setting::TOOL_RESULT_BYTES,
        setting::PLAN_BYTES,
        setting::PLAN_IDLE_SECS,
        setting::ENGINE_PLANS,
        setting::DRAIN_SECS,
        setting::ENDPOINT_GRACE_SECS,
        setting::MODEL_URL,
        setting::MODEL_PLAIN,
        setting::EMBEDDING_MODEL,
        setting::HEALING_MODEL,
        setting::STORAGE_HOSTS,
        setting::STORAGE_AMBIENT,
        setting::OTLP_ENDPOINT,
        setting::OTLP_CA,
        setting::TRACE_RATIO,
    ];
    assert_eq!(next_start.collect::<Vec<_>>(), expected);
}

/// What of the pod template differs when this specification replaces the first.
fn restarts(before: &Value, after: &Value) -> bool {
    let template = |spec| super::deployment::deployment(&desired(spec)).spec.unwrap().template;
    template(before) != template(after)
}

#[test]
fn only_what_needs_a_restart_changes_the_pods() {
    let cases = [
        (json!({"name": "Other"}), false),
        (json!({"settings": {"queryTimeoutMs": 1000}}), false),
        (json!({"settings": {"cacheEnabled": false}}), false),
        (json!({"settings": {"heal": "Never"}}), false),
        (json!({"settings": {"maxConcurrentQueries": 250}}), false),
        (json!({"settings": {"maxConcurrentQueries": 1000}}), true),
        (json!({"storage": {"size": "20Gi"}}), false),
        (json!({"network": {"allowedCidrs": ["10.0.0.0/8"]}}), false),
        (json!({"suspended": true}), false),
        (json!({"deletionPolicy": "Delete"}), false),
        (json!({"dataPlane": {"version": "0.9.0"}}), true),
        (json!({"dataPlane": {"resources": {"limits": {"memory": "4Gi"}}}}), true),
        (json!({"dataPlane": {"scheduling": {"nodeSelector": {"disk": "fast"}}}}), true),
        (json!({"tls": {"mode": "Secret", "secretRef": {"name": "other"}}}), true),
    ];
    for (spec, expected) in cases {
        assert_eq!(restarts(&json!({}), &spec), expected, "{spec}");
    }
}

/// An environment of an installation whose operator was started with these arguments.
fn watched(arguments: &[&str]) -> Desired {
    let arguments = ["operator", "--release-namespace", "sluice"].iter().chain(arguments);
    let mut observed = observed(environment(&json!({})));
    let told = Config::try_parse_from(arguments).unwrap().release();
    let release = Arc::make_mut(&mut observed.release);
    let (image, version) = (release.source.image.clone(), release.version.clone());
    *release = told;
    (release.source.image, release.version) = (image, version);
    validate(&observed).unwrap()
}

fn template(desired: &Desired) -> Value {
    serde_json::to_value(super::deployment::deployment(desired).spec.unwrap().template).unwrap()
}

#[test]
fn what_the_installation_adds_is_in_the_pods_beside_what_is_ours() {
    let added = r#"{"annotations": {"example.com/team": "data"}, "labels": {"azure.workload.identity/use": "true"},
                    "securityContext": {"runAsNonRoot": true}, "containerSecurityContext": {"privileged": false},
                    "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}]}"#;
    let (plain, with) = (template(&watched(&[])), watched(&[&format!("--dataplane-pods={added}")]));
    let given: Value = serde_json::from_str(added).unwrap();
    let pods = template(&with);
    assert_eq!(pods["spec"]["securityContext"], given["securityContext"], "in place of ours: ids are the platform's");
    assert_eq!(pods["spec"]["containers"][0]["securityContext"], given["containerSecurityContext"]);
    assert_eq!(pods["spec"]["containers"][0]["env"], given["env"]);
    for kind in ["annotations", "labels"] {
        let mut whole = plain["metadata"][kind].as_object().unwrap().clone();
        whole.extend(given[kind].as_object().unwrap().clone());
        assert_eq!(pods["metadata"][kind], Value::Object(whole));
    }
    let selector = |desired: &Desired| super::deployment::deployment(desired).spec.unwrap().selector;
    assert_eq!(selector(&with), selector(&watched(&[])), "what chooses pods is ours alone");
    let account = super::service_account::service_account(&with);
    assert_eq!(account.metadata.annotations, None, "the account has its own");
}

#[test]
fn an_account_is_what_a_cloud_knows_it_by_and_no_pod_is_restarted_for_it() {
    let added =
        r#"{"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/r"}, "labels": {"team": "data"}}"#;
    let with = watched(&[&format!("--dataplane-account={added}")]);
    let account = super::service_account::service_account(&with);
    assert_eq!(account.metadata.annotations.unwrap()["eks.amazonaws.com/role-arn"], "arn:aws:iam::1:role/r");
    let labels = account.metadata.labels.unwrap();
    assert_eq!((&*labels["team"], &*labels["app.kubernetes.io/instance"]), ("data", "acme-sales"));
    assert_eq!(template(&with), template(&watched(&[])));
}

#[test]
fn who_may_connect_is_told_in_the_one_form_of_each_range() {
    let given = ["10.1.2.3/8", "::ffff:127.0.0.0/104", "2001:DB8:0::1/32", "192.0.2.7", "10.0.0.0/08", "127.0.0.0/8"];
    let desired = desired(&json!({"network": {"allowedCidrs": given}}));
    let policy = super::network_policy::network_policy(&desired).spec.unwrap();
    let clients = policy.ingress.unwrap().remove(0).from.unwrap();
    let ranges: Vec<_> = clients.into_iter().map(|peer| peer.ip_block.unwrap().cidr).collect();
    assert_eq!(ranges, ["10.0.0.0/8", "127.0.0.0/8", "2001:db8::/32", "192.0.2.7/32"]);
}

#[test]
fn names_are_asked_where_the_clusters_dns_is() {
    let way = |arguments: &[&str]| {
        let policy = super::network_policy::network_policy(&watched(arguments));
        serde_json::to_value(policy.spec.unwrap().egress.unwrap().remove(0)).unwrap()
    };
    let on = |ports: &[u16]| -> Value {
        ports
            .iter()
            .flat_map(|port| ["UDP", "TCP"].map(|protocol| json!({"port": port, "protocol": protocol})))
            .collect()
    };
    assert_eq!(way(&[]), json!({"ports": on(&[53])}));
    assert_eq!(way(&[r#"--dns={"ports": [53, 5353]}"#]), json!({"ports": on(&[53, 5353])}));
    let pods = r#"--dns={"ports": [5353], "podSelector": {"dns.operator.openshift.io/daemonset-dns": "default"},
                         "namespaceSelector": {"kubernetes.io/metadata.name": "openshift-dns"}}"#;
    let peer = json!({
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openshift-dns"}},
        "podSelector": {"matchLabels": {"dns.operator.openshift.io/daemonset-dns": "default"}},
    });
    assert_eq!(way(&[pods]), json!({"ports": on(&[5353]), "to": [peer]}));
    let anywhere = r#"--dns={"podSelector": {"k8s-app": "kube-dns"}}"#;
    assert_eq!(way(&[anywhere])["to"][0]["namespaceSelector"], json!({}), "in whichever namespace");
}

#[test]
fn a_data_plane_listens_where_it_is_told_from_its_next_start_on() {
    let with = watched(&["--dataplane-listen=::", "--http-idle-secs=350", "--tool-result-bytes=20000"]);
    let data = super::config_map::config_map(&with).data.unwrap();
    assert_eq!((&*data[setting::LISTEN], &*data[setting::HTTP_IDLE_SECS]), ("::", "350"));
    assert_eq!(data[setting::TOOL_RESULT_BYTES], "20000");
    assert_eq!(template(&with), template(&watched(&[])));
}

#[test]
fn a_data_plane_keeps_the_plans_that_it_is_told_from_its_next_start_on() {
    let with = watched(&["--plan-bytes=0", "--plan-idle-secs=60", "--engine-plans=3"]);
    let data = super::config_map::config_map(&with).data.unwrap();
    let told = [setting::PLAN_BYTES, setting::PLAN_IDLE_SECS, setting::ENGINE_PLANS].map(|name| data[name].as_str());
    assert_eq!(told, ["0", "60", "3"]);
    assert_eq!(template(&with), template(&watched(&[])));
    let own = desired(&json!({"dataPlane": {"plans": {"bytes": 0, "inEngine": 4}}}));
    let data = super::config_map::config_map(&own).data.unwrap();
    let told = [setting::PLAN_BYTES, setting::PLAN_IDLE_SECS, setting::ENGINE_PLANS].map(|name| data[name].as_str());
    assert_eq!(told, ["0", "600", "4"], "an environment says otherwise");
}

#[test]
fn a_data_plane_is_told_of_the_collector_and_may_reach_it() {
    let (before, after) = (watched(&[]), watched(&["--otlp-endpoint=http://collector:4317", "--trace-ratio=0.1"]));
    let data = super::config_map::config_map(&after).data.unwrap();
    assert_eq!((&*data[setting::OTLP_ENDPOINT], &*data[setting::TRACE_RATIO]), ("http://collector:4317", "0.1"));
    assert!(!super::config_map::config_map(&before).data.unwrap().contains_key(setting::OTLP_ENDPOINT));
    let ways = |desired| super::network_policy::network_policy(desired).spec.unwrap().egress.unwrap().len();
    assert_eq!(ways(&after), ways(&before) + 1);
    let template = |desired| super::deployment::deployment(desired).spec.unwrap().template;
    assert_eq!(template(&after), template(&before), "nothing is restarted for it");
}

#[test]
fn what_a_collector_wants_to_be_shown_comes_from_a_secret_and_is_no_setting() {
    let secret = ["--otlp-endpoint=https://collector", "--collector-secret=watch"];
    let told = |more: &[&str]| watched(&[&secret[..], more].concat());
    let pod = |desired| super::deployment::deployment(desired).spec.unwrap().template.spec.unwrap();
    let both = told(&["--collector-headers-key=headers", "--collector-ca-key=authority"]);
    let (data, both) = (super::config_map::config_map(&both).data.unwrap(), pod(&both));
    assert_eq!(data[setting::OTLP_CA], "/etc/sluice/collector/ca.crt");
    assert!(!data.contains_key(setting::OTLP_HEADERS));
    let [variable] = both.containers[0].env.as_deref().unwrap() else { panic!("{both:?}") };
    let from = variable.value_from.as_ref().unwrap().secret_key_ref.as_ref().unwrap();
    assert_eq!((&*variable.name, &*from.name, &*from.key), (setting::OTLP_HEADERS, "watch", "headers"));
    let volume = both.volumes.as_ref().unwrap().iter().find(|it| it.name == "collector").unwrap();
    let items = volume.secret.as_ref().unwrap().items.as_ref().unwrap();
    assert_eq!((&*items[0].key, &*items[0].path, items.len()), ("authority", "ca.crt", 1));
    let mounts = both.containers[0].volume_mounts.as_ref().unwrap();
    assert!(mounts.iter().any(|it| it.name == "collector" && it.read_only == Some(true)));
    assert_eq!(pod(&told(&[])), pod(&watched(&[])), "a Secret of which no key is named changes nothing");
    let alone = ["operator", "--release-namespace", "sluice", "--collector-ca-key=authority"];
    assert!(Config::try_parse_from(alone).is_err(), "a key is one of a Secret");
}

#[test]
fn a_data_plane_is_told_of_the_model_and_of_its_key_only_where_it_is() {
    let plain = watched(&[]);
    let named = ["--model-url=http://models.ml:8000/v1", "--model-plain", "--healing-model=small"];
    let without = watched(&named);
    let with = watched(&[&named[..], &["--model-secret=model-key", "--model-secret-key=token"]].concat());
    let data = super::config_map::config_map(&with).data.unwrap();
    let told = [setting::MODEL_URL, setting::MODEL_PLAIN, setting::HEALING_MODEL].map(|name| data[name].as_str());
    assert_eq!(told, ["http://models.ml:8000/v1", "true", "small"]);
    assert!(!data.contains_key(setting::EMBEDDING_MODEL) && !data.contains_key(setting::MODEL_KEY));
    let ways = |desired| {
        serde_json::to_value(super::network_policy::network_policy(desired)).unwrap()["spec"]["egress"].take()
    };
    assert_eq!(ways(&with).as_array().unwrap().len(), ways(&plain).as_array().unwrap().len() + 1);
    assert!(ways(&with).to_string().contains("8000"));
    let template = |desired| super::deployment::deployment(desired).spec.unwrap().template;
    assert_eq!(template(&without), template(&plain), "nothing is restarted for it");
    let container = template(&with).spec.unwrap().containers.remove(0);
    let key = serde_json::to_value(&container.env.unwrap()[0]).unwrap();
    let from = json!({"secretKeyRef": {"name": "model-key", "key": "token", "optional": true}});
    assert_eq!((&key["name"], &key["valueFrom"]), (&json!(setting::MODEL_KEY), &from));
    assert_eq!(template(&watched(&["--model-secret=model-key"])), template(&plain), "a key of nothing");
}

#[test]
fn a_data_plane_is_told_of_the_stores_that_the_operator_names() {
    let with = watched(&["--storage-hosts=minio.storage.svc:9000,10.9.8.7"]);
    let data = super::config_map::config_map(&with).data.unwrap();
    assert_eq!(data[setting::STORAGE_HOSTS], "minio.storage.svc:9000,10.9.8.7");
    assert!(!super::config_map::config_map(&watched(&[])).data.unwrap().contains_key(setting::STORAGE_HOSTS));
    assert!(!data.contains_key(setting::STORAGE_AMBIENT), "their own credentials are a setting of its own");
    assert_eq!(template(&with), template(&watched(&[])), "nothing is restarted for it");
    let data = super::config_map::config_map(&watched(&["--storage-ambient"])).data.unwrap();
    assert_eq!(data[setting::STORAGE_AMBIENT], "true");
}

#[test]
fn a_lake_lends_no_integration_the_credentials_of_its_own_bucket() {
    let (_, lake) = specifications().into_iter().find(|(name, _)| *name == "lake-everything").unwrap();
    let mut observed = observed(environment(&lake));
    Arc::make_mut(&mut observed.release).storage.storage_ambient = true;
    let data = super::config_map::config_map(&validate(&observed).unwrap()).data.unwrap();
    assert!(!data.contains_key(setting::STORAGE_AMBIENT));
}

#[test]
fn stores_are_reached_at_the_ports_and_in_the_networks_that_are_named_and_without_them_nowhere() {
    let ways = |arguments: &[&str]| {
        let policy = super::network_policy::network_policy(&watched(arguments));
        let egress = policy.spec.unwrap().egress.unwrap();
        egress.into_iter().map(|way| serde_json::to_value(way).unwrap()).collect::<Vec<_>>()
    };
    let (before, named) = (ways(&[]), "--storage-hosts=minio.storage.svc:9000");
    assert_eq!(ways(&[named]), before, "a host that is named opens no port");
    let ports = json!([{"port": 443, "protocol": "TCP"}, {"port": 9000, "protocol": "TCP"}]);
    let anywhere = ways(&["--storage-ports=443,9000"]);
    assert_eq!((&anywhere[..before.len()], &anywhere[before.len()..]), (&before[..], &[json!({"ports": ports})][..]));
    let within = ways(&["--storage-ports=443,9000", "--storage-cidrs=198.51.100.7/24,2001:DB8::/32"]);
    let to = json!([{"ipBlock": {"cidr": "198.51.100.0/24"}}, {"ipBlock": {"cidr": "2001:db8::/32"}}]);
    assert_eq!(within.last().unwrap(), &json!({"ports": ports, "to": to}));
    for refused in ["--storage-ports=0", "--storage-ports=https", "--storage-cidrs=198.51.100.0/24"] {
        assert!(Config::try_parse_from(["operator", "--release-namespace", "s", refused]).is_err(), "{refused}");
    }
    let range = ["operator", "--release-namespace", "s", "--storage-ports=443", "--storage-cidrs=10.0.0.0/33"];
    assert!(Config::try_parse_from(range).is_err(), "a range that is none");
}

#[test]
fn no_endpoint_is_told_to_pods_that_would_show_it_what_opens_another() {
    let told = |secret: &str, collector: &str| {
        let mut observed = observed(environment(&json!({})));
        let arguments = [
            "operator",
            "--release-namespace",
            "sluice",
            "--model-url=https://models.ml",
            "--healing-model=m",
            "--model-secret=model",
            "--otlp-endpoint=https://collector",
            "--collector-secret=watch",
            "--collector-headers-key=headers",
        ];
        observed.release = Arc::new(Config::try_parse_from(arguments).unwrap().release());
        let secrets =
            json!({"model": {"name": secret, "key": "key"}, "collector": {"name": collector, "headersKey": "headers"}});
        let status = json!({"image": observed.release.source.image, "secrets": secrets});
        Arc::make_mut(&mut observed.environment).status = serde_json::from_value(status).unwrap();
        let desired = validate(&observed).unwrap();
        assert_eq!(desired.source.secrets.model.as_ref().unwrap().name, secret, "its turn has not come");
        let data = super::config_map::config_map(&desired).data.unwrap();
        [setting::MODEL_URL, setting::HEALING_MODEL, setting::OTLP_ENDPOINT].map(|name| data.contains_key(name))
    };
    assert_eq!(told("model", "watch"), [true, true, true]);
    assert_eq!(told("of-before", "watch"), [false, false, true]);
    assert_eq!(told("model", "of-before"), [true, true, false]);
}

#[test]
fn no_data_plane_is_told_of_a_model_that_it_would_refuse() {
    let model = |arguments: &[&str]| {
        let arguments = ["operator", "--release-namespace", "sluice"].iter().chain(arguments);
        Config::try_parse_from(arguments).unwrap().model
    };
    assert!(model(&["--model-url=http://models.ml/v1"]).check().is_err());
    for permitted in
        [&["--model-url=http://models.ml/v1", "--model-plain"][..], &["--model-url=https://models.ml/v1"], &[]]
    {
        assert_eq!(model(permitted).check(), Ok(()), "{permitted:?}");
    }
}

#[test]
fn the_engine_leaves_memory_to_its_parent() {
    let mib = |amount: u64| amount << 20;
    for (memory, engine) in [("512Mi", mib(256)), ("1Gi", mib(768)), ("4Gi", mib(3072)), ("384Mi", mib(128))] {
        let spec = json!({"dataPlane": {"resources": {"requests": {"memory": memory}}}});
        assert_eq!(desired(&spec).resources.engine_memory_bytes, engine, "{memory}");
    }
}

#[test]
fn a_pod_may_take_as_long_to_end_as_the_longest_statement() {
    let desired = desired(&json!({}));
    let pod = super::deployment::deployment(&desired).spec.unwrap().template.spec.unwrap();
    assert_eq!(pod.termination_grace_period_seconds, Some(300 + 10 + 30));
}

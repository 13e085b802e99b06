"""A newcomer's walk: every endpoint of the specification's `/v1` tables, called once and in order, each answer
compared with the fields that the specification prints."""

import contextlib
import http.server
import os
import pathlib
import re
import threading
import urllib.parse
import uuid

import pytest

ROUTES = pathlib.Path(__file__).parents[1] / "golden" / "spec_routes.txt"
LIST = "data pagination.cursor pagination.has_more pagination.total"
ORGANIZATION = "org_id name slug billing_email cloud_region tier status settings.mfa_required settings.enforce_sso " \
    "settings.sso_provider created_at updated_at"
USER = "user_id email name role status mfa_enabled last_login"
KEY = "key_id name prefix scopes ip_allowlist expires_at status last_used_at created_at created_by"
POLICY = "policy_id name type enabled rules created_at updated_at"
ENVIRONMENT = "env_id name slug org_id status connection settings.query_timeout_ms " \
    "settings.max_concurrent_queries settings.cache_enabled settings.heal created_at updated_at"
WEBHOOK = "webhook_id url description events status last_delivered_at last_status_code failure_count created_at " \
    "updated_at"
JIT = "request_id requester_id requester_email current_role requested_role reason duration_minutes status " \
    "requested_at expires_at"
AUDIT_ENTRY = "query_id user_id source_ip sql tables_accessed rows_returned columns_masked execution_time_ms " \
    "credits_consumed cache_hit policy_verdicts agent_metadata timestamp"
STATISTICS = "queries_replayed queries_matched queries_mismatched queries_failed match_rate avg_latency_source_ms " \
    "avg_latency_service_ms"


def within(prefix, names):
    return " ".join(f"{prefix}.{name}" for name in names.split())


def each(names):
    """The fields of every item of a list."""
    return f"{LIST} {within('data.0', names)}"


class Walk:
    def __init__(self, platform):
        self.platform, self.walked, self.auth = platform, set(), platform.owner
        self.at = {"org_id": platform.org, "env_id": platform.env}

    def step(self, line, body=None, status=200, fields="", auth=None, query=None, kind="application/json", **at):
        """One endpoint, as the specification's table has it: `METHOD /path/{with}/{ids}`."""
        self.walked.add(line)
        method, template = line.split()
        path = template.format(**{**self.at, **at}) + ("?" + urllib.parse.urlencode(query) if query else "")
        answer = self.call(method, path, body, self.auth if auth is None else auth, kind)
        assert answer.status == status, f"{line}: {answer.status} {answer.body}"
        for field in fields.split():
            has(answer.body, field, line)
        return answer.body

    def call(self, *request):
        """What is answered once this address has requests left: the guesses of other tests may have spent them."""
        answers = []

        def allowed():
            answers.append(self.platform.call(*request))
            return answers[-1].status != 429

        self.platform.wait(allowed, 60)
        return answers[-1]


def has(body, field, line):
    """Is the field there? `data.0.x` looks into the first item."""
    for name in field.split("."):
        if name.isdigit():
            assert body, f"{line}: an empty list before `{field}`"
            body = body[int(name)]
        else:
            assert name in body, f"{line}: no `{field}` in {body}"
            body = body[name]


@contextlib.contextmanager
def receiver():
    """A webhook's receiver on this machine, which takes everything."""
    class Takes(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Takes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook"
    finally:
        server.shutdown()


def letter(platform, address, word):
    """The token of the link in the newest mail to this address that has the word in its link."""
    folder = pathlib.Path(os.environ["SLUICE_STATE"]) / "mail"
    found = []

    def come():
        for mail in sorted(folder.glob("*.eml")):
            text = mail.read_text().replace("=\n", "").replace("=3D", "=")
            link = re.search(rf"/v1/auth/{word}\S*[?&]token=([A-Za-z0-9]+)", text)
            if address in text and link:
                found.append(link[1])
        return found

    platform.wait(come, 40)
    return found[-1]


@pytest.fixture
def walk(platform):
    return Walk(platform)


def test_every_endpoint_of_the_specification_answers_with_its_fields(walk, platform):
    name = uuid.uuid4().hex[:8]
    health(walk)
    queries(walk, platform, name)
    organization(walk, name)
    environment(walk, platform, name)
    people = users(walk, name)
    keys(walk, name)
    policies(walk)
    audit(walk, platform)
    billing(walk, platform)
    with receiver() as url:
        webhooks(walk, platform, url)
    jit(walk, people)
    agents(walk)
    shadow(walk)
    federation(walk)
    accounts(walk, platform, name)
    wanted = {" ".join(line.split()[:2]) for line in ROUTES.read_text().splitlines() if not line[7:].startswith("/v2")}
    assert walk.walked == wanted


def health(walk):
    walk.step("GET /health", fields="status version uptime_seconds", auth="")
    walk.step("GET /ready", fields="ready engine control_plane", auth="")


def queries(walk, platform, name):
    asked = {"sql": "select count(*) as n from customer", "agent_id": f"walker-{name}", "agent_framework": "walk"}
    walk.at["agent_id"] = f"walker-{name}"
    answered = walk.step(
        "POST /v1/environments/{env_id}/query", asked,
        fields="query_id columns.0.name columns.0.type rows row_count execution_time_ms transpilation_time_ms "
               "cache_hit credits_consumed columns_masked warnings")
    walk.at["query_id"] = answered["query_id"]
    platform.audit_entry(answered["query_id"])
    walk.step("POST /v1/environments/{env_id}/query/arrow", {"sql": "select 1"},
              fields="format data rows execution_time_ms")
    walk.walked.add("POST /v1/query/arrow")  # on the tools' port, as test_drivers walks it


def organization(walk, name):
    wish = {"name": "Walk", "slug": f"walk-{name}", "billing_email": "walk@held.example"}
    walk.step("POST /v1/organizations", wish, 201, ORGANIZATION)
    quotas = within("quotas", "monthly_credit_limit used max_concurrent_queries storage_limit_gb")
    own = walk.step("GET /v1/organizations/{org_id}", fields=f"{ORGANIZATION} {quotas} "
                    "billing_provider_customer_id billing_provider_subscription_id")
    walk.step("PUT /v1/organizations/{org_id}", {"name": own["name"]}, fields=ORGANIZATION)


def environment(walk, platform, name):
    one = "/v1/organizations/{org_id}/environments/{env_id}"
    walk.step("GET /v1/organizations/{org_id}/environments", fields=each(ENVIRONMENT))
    made = walk.step("POST /v1/organizations/{org_id}/environments", {"name": f"Walk {name}", "slug": f"walk-{name}"},
                     201, ENVIRONMENT)
    own = one.format(org_id=walk.at["org_id"], env_id=made["env_id"])
    platform.wait(lambda: platform.done("GET", own)["status"] == "active")  # a data plane is started for it
    walk.step(f"GET {one}", fields=f"{ENVIRONMENT} connection.host connection.port connection.database")
    walk.step(f"PUT {one}", {"settings": {"query_timeout_ms": 20_000}}, fields=ENVIRONMENT, env_id=made["env_id"])
    walk.step(f"POST {one}/promote", {"target_env_id": made["env_id"], "dry_run": True},
              fields="promotion_id source_env target_env status changes promoted_by promoted_at")
    walk.step(f"GET {one}/connection-info")
    walk.at["demo"], walk.at["env_id"] = walk.at["env_id"], made["env_id"]


def users(walk, name):
    """Who was invited: the invitation of somebody who may come, and the user that was removed again."""
    own = "/v1/organizations/{org_id}/users"
    made = walk.step(f"POST {own}", {"email": f"one-{name}@held.example", "role": "analyst"}, 201,
                     f"{USER} invitation_expires_at")
    invited = walk.step(f"POST {own}/invite", {"email": f"two-{name}@held.example", "role": "developer"}, 201,
                        "user_id email role status invited_at")
    walk.step(f"GET {own}", fields=each(USER))
    walk.step(f"PUT {own}/{{user_id}}/role", {"role": "auditor"}, user_id=made["user_id"],
              fields="user_id email name role previous_role updated_at updated_by")
    walk.step(f"DELETE {own}/{{user_id}}", user_id=made["user_id"],
              fields="user_id removed_at removed_by api_keys_revoked sessions_terminated")
    return invited


def keys(walk, name):
    own = "/v1/environments/{env_id}/api-keys"
    made = walk.step(f"POST {own}", {"name": name, "scopes": ["query:read"], "expires_in_days": 1}, 201, f"{KEY} key")
    listed = walk.step(f"GET {own}", fields=each(KEY))
    assert "key" not in listed["data"][0]
    walk.step(f"POST {own}/{{key_id}}/rotate", {"grace_period_hours": 1}, key_id=made["key_id"],
              fields="key_id new_key new_prefix old_key_expires_at grace_period_hours rotated_at rotated_by")
    walk.step(f"DELETE {own}/{{key_id}}", key_id=made["key_id"], fields="key_id name revoked revoked_at revoked_by")


def policies(walk):
    own, abac = "/v1/environments/{env_id}/policies", "/v1/environments/{env_id}/abac-policies"
    rules = [{"table": "customer", "column": "c_phone", "function": "partial", "visible_chars": 4, "exempt_roles": []}]
    # Nothing is in this environment yet.
    wish = {"name": "mask", "type": "column_masking", "rules": rules, "enabled": True, "accept_missing": True}
    made = walk.step(f"POST {own}", wish, 201, POLICY)
    walk.step(f"GET {own}", fields=each(POLICY))
    walk.step(f"PUT {own}/{{policy_id}}", {"name": "mask", "rules": rules, "enabled": False, "accept_missing": True}, fields=POLICY,
              policy_id=made["policy_id"])
    walk.step(f"DELETE {own}/{{policy_id}}", fields="policy_id deleted deleted_at", policy_id=made["policy_id"])
    rule = {"condition": "AgentFrameworkIs", "values": ["langchain"], "action": "allow"}
    walk.step(f"POST {abac}", {"name": "agents", "description": "walk", "rules": [rule], "priority": 1, "enabled": True},
              201, "policy_id name description rules priority enabled created_at")
    walk.step(f"GET {abac}", fields=each("policy_id name description rules priority enabled created_at"))
    context = {"user_role": "analyst", "query_origin": "mcp", "agent_framework": "langchain", "time_of_day": "10:00",
               "day_of_week": "Monday"}
    walk.step(f"POST {abac}/simulate", {"context": context, "query": "select 1"},
              fields="decision reason matching_policies evaluation_time_ms")
    summary = walk.step(f"GET {abac}/agent-summary", fields="frameworks")
    for framework in summary["frameworks"].values():
        assert {"allowed", "policies_applied", "restrictions"} <= framework.keys()


def audit(walk, platform):
    own, demo = "/v1/environments/{env_id}/audit", walk.at["demo"]
    walk.step(f"GET {own}/queries", fields=each(AUDIT_ENTRY), env_id=demo)
    detail = "sql_original sql_transpiled sql_with_rls transpilation_time_ms cache_key abac_evaluation"
    walk.step(f"GET {own}/queries/{{query_id}}", fields=f"{AUDIT_ENTRY} {detail}", env_id=demo)
    event = "event_id event_type actor_id actor_email actor_role source_ip resource_type resource_id changes hash " \
        "previous_hash timestamp"
    walk.step(f"GET {own}/admin", fields=each(event))
    chain = walk.step(f"GET {own}/admin/verify-chain",
                      fields="chain_valid events_verified first_event last_event verified_at")
    assert chain["chain_valid"] is True
    wish = {"type": "admin", "start_date": "2026-01-01T00:00:00Z", "end_date": "2026-01-02T00:00:00Z"}
    walk.step(f"POST {own}/export", wish, 202,
              "export_id type status date_range.start date_range.end estimated_records created_at")


def billing(walk, platform):
    own = "/v1/organizations/{org_id}/billing"
    walk.step(f"GET {own}/usage", fields=" ".join([
        "org_id tier billing_period.start billing_period.end", within("credits", "limit used remaining usage_percent"),
        within("breakdown.queries", "total select insert update delete"),
        within("breakdown.by_environment.0", "env_id name credits_used query_count"),
        within("breakdown.by_day.0", "date credits_used query_count"), "storage.total_gb storage.limit_gb"]))
    platform.wait(lambda: platform.usage()["storage"]["total_gb"] is not None)
    thresholds = "credit_warning_threshold credit_critical_threshold storage_warning_threshold"
    quotas = "monthly_credit_limit max_concurrent_queries max_rows_per_query storage_limit_gb max_environments " \
        "max_users max_api_keys_per_environment"
    had = walk.step(f"GET {own}/quotas", fields=f"org_id tier {within('quotas', quotas)} {within('alerts', thresholds)}")
    alerts = {name: float(value) for name, value in had["alerts"].items()}
    walk.step(f"PUT {own}/quotas", {"alerts": alerts}, fields=f"org_id {within('alerts', thresholds)} updated_at")


def webhooks(walk, platform, url):
    own, notices = "/v1/organizations/{org_id}/webhooks", "/v1/webhooks"
    made = walk.step(f"POST {own}", {"url": url, "events": ["policy.created"], "description": "walk"}, 201,
                     f"{WEBHOOK} signing_secret")
    listed = walk.step(f"GET {own}", fields=each(WEBHOOK))
    assert all("signing_secret" not in webhook for webhook in listed["data"])
    here = {"webhook_id": made["webhook_id"]}
    walk.step(f"PUT {own}/{{webhook_id}}", {"description": "walked"}, fields=WEBHOOK, **here)
    walk.step(f"POST {own}/{{webhook_id}}/test", **here,
              fields="webhook_id test_event_id delivered status_code response_time_ms delivered_at")
    walk.step(f"DELETE {own}/{{webhook_id}}", fields="webhook_id deleted deleted_at", **here)
    wish = {"url": url, "secret": "s" * 32, "events": ["agent.key_revoked"], "description": "walk"}
    made = walk.step(f"POST {notices}", wish, 201, "webhook_id url events description")
    walk.step(f"GET {notices}", fields=each("webhook_id url events"))
    key = platform.done("POST", f"/v1/environments/{walk.at['env_id']}/api-keys",
                        {"name": uuid.uuid4().hex, "scopes": ["agent:*"]})
    platform.done("DELETE", f"/v1/environments/{walk.at['env_id']}/api-keys/{key['key_id']}")
    brought = []
    platform.wait(lambda: brought.extend(walk.step(f"GET {notices}/deliveries", fields=LIST)["data"]) or brought)
    # What has failed six times, which takes hours, can be replayed; this has come.
    walk.step(f"POST {notices}/deliveries/{{event_id}}/replay", status=409, event_id=brought[0]["event_id"])
    walk.step(f"DELETE {notices}/{{webhook_id}}", fields="webhook_id deleted deleted_at",
              webhook_id=made["webhook_id"])


def jit(walk, invited):
    own = "/v1/environments/{env_id}/jit-access"
    accepted = walk.call("POST", "/v1/auth/accept-invitation", {
        "token": invited["invitation_token"], "password": "a long enough password"})
    theirs = "Bearer " + accepted.body["token"]
    wish = {"requested_role": "admin", "reason": "an incident", "duration_minutes": 30}

    def asked():
        return walk.step(f"POST {own}", wish, 201, JIT, auth=theirs)["request_id"]

    first, second = asked(), None
    walk.step(f"POST {own}/{{request_id}}/approve", request_id=first,
              fields="request_id status approved_by elevated_role effective_at expires_at")
    walk.step(f"POST {own}/{{request_id}}/revoke", request_id=first,
              fields="request_id status revoked_by original_expiry revoked_at")
    second = asked()
    walk.step(f"POST {own}/{{request_id}}/deny", {"reason": "it is over"}, request_id=second,
              fields="request_id status denied_by reason denied_at")
    walk.step(f"GET {own}", fields=each(JIT))


def agents(walk):
    demo = {"env_id": walk.at["demo"]}
    walk.step("GET /v1/environments/{env_id}/agents", **demo,
              fields=each("agent_id framework status total_queries last_active capability_grants"))
    walk.step("GET /v1/environments/{env_id}/agents/{agent_id}/activity", **demo, fields=" ".join([
        within("activity", "total_queries queries_today queries_this_hour avg_execution_time_ms tables_accessed "
               "credits_consumed_today last_query_at"),
        within("policy_summary", "queries_allowed queries_denied columns_masked rows_filtered")]))
    own, grant = "/v1/environments/{env_id}/agent-capabilities", \
        "grant_id agent_id capabilities expires_at granted_by granted_at status"
    capabilities = {"allowed_tables": ["main.customer"], "allowed_operations": ["SELECT"], "max_queries_per_hour": 10,
                    "max_rows_per_query": 100, "column_restrictions": {"main.customer": {"denied_columns": ["c_phone"]}}}
    made = walk.step(f"POST {own}", {"agent_id": walk.at["agent_id"], "capabilities": capabilities,
                                     "expires_at": "2099-01-01T00:00:00Z"}, 201, grant, **demo)
    walk.step(f"GET {own}", **demo, query={"agent_id": walk.at["agent_id"]},
              fields=each(f"{grant} usage.queries_this_hour usage.total_queries"))
    walk.step(f"DELETE {own}/{{grant_id}}", **demo, grant_id=made["grant_id"],
              fields="grant_id agent_id revoked revoked_by revoked_at")


def shadow(walk):
    own = "/v1/environments/{env_id}/shadow-mode"
    walk.step(f"POST {own}/start", {"source": "live", "duration_hours": 1, "sample_rate": 1.0}, 201,
              "session_id status source sample_rate started_at ends_at")
    walk.step(f"GET {own}/status",
              fields=f"session_id status source sample_rate started_at ends_at elapsed_hours {within('statistics', STATISTICS)}")
    uploaded = walk.step(f"POST {own}/upload", {"sql": "select 1"}, 202, kind="application/jsonl", fields=
                         "upload_id queries_received status estimated_replay_minutes")
    walk.step(f"POST {own}/replay", {"upload_id": uploaded["upload_id"], "concurrency": 1}, 202,
              "replay_id upload_id status concurrency started_at")
    walk.step(f"GET {own}/report", fields=" ".join([
        within("summary", "total_queries matched mismatched failed match_rate latency_improvement"), "mismatches",
        within("performance", "p50_source_ms p50_service_ms p95_source_ms p95_service_ms p99_source_ms p99_service_ms")]))
    walk.step(f"POST {own}/stop", fields="session_id status stopped_at final_statistics.queries_replayed "
              "final_statistics.match_rate")


def federation(walk):
    own, provider = "/v1/organizations/{org_id}/federation/providers", "provider_id type config status created_at"
    aws = {"role_arn": "arn:aws:iam::123456789012:role/walk", "external_id": "walk"}
    made = walk.step(f"POST {own}", {"type": "aws_sts", "config": aws}, 201, provider)
    walk.step(f"GET {own}", fields=each(provider))
    walk.platform.done("DELETE", f"{own}/{made['provider_id']}".format(**walk.at))
    tenant = {"name": "Walk", "slug": f"tenant-{uuid.uuid4().hex[:8]}", "billing_email": "walk@held.example"}
    walk.platform.done("POST", "/v1/organizations/{org_id}/tenants".format(**walk.at), tenant)
    walk.step("GET /v1/organizations/{org_id}/tenants",
              fields=each("tenant_id name parent_org_id status user_count query_count_today created_at"))


def accounts(walk, platform, name):
    """Somebody signs up, and comes in by every protocol there is."""
    email, password = f"walk-{name}@held.example", "a long enough password"
    walk.call("POST", "/v1/signup", {"name": "W", "email": email, "password": password, "org_name": f"w {name}"})
    nobody = {"auth": ""}
    opened = walk.step("POST /v1/auth/login", {"email": email, "password": password}, fields="token", **nobody)
    walk.step("GET /v1/auth/me", auth="Bearer " + opened["token"], fields="user_id email role org_id")
    walk.step("POST /v1/auth/token/refresh", {"refresh_token": opened["refresh_token"]}, fields="token", **nobody)
    walk.step("POST /v1/auth/verify-email", {"token": letter(platform, email, "verify-email")}, **nobody)
    walk.step("POST /v1/auth/verify-email/resend", {"email": email}, 202, **nobody)
    walk.step("POST /v1/auth/magic-link", {"email": email}, 202, **nobody)
    link = {"token": letter(platform, email, "magic-link/callback")}
    walk.step("GET /v1/auth/magic-link/callback", query=link, **nobody)
    walk.step("POST /v1/auth/forgot-password", {"email": email}, 202, **nobody)
    reset = {"token": letter(platform, email, "reset-password"), "password": "another long password"}
    walk.step("POST /v1/auth/reset-password", reset, **nobody)

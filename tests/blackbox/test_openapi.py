"""The document of the API against the API: of requests that are made from it, good and bad, none is answered by a
5xx or by what it does not tell of."""

import pathlib
import subprocess
import sys
import uuid

import pytest

CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
# What ends the session that asks.
ENDING = ["/v1/auth/logout", "/v1/auth/sessions/{session_id}"]
# A setting of it asks everybody for a second factor.
CLOSING = "organizations_put"
# What is asked after it would be refused, and nothing learned.
SUSPENDING = "environments_standing_suspend"
# Answers without an end, and a body whose lines are not JSON to schemathesis.
LEFT_OUT = ["/v1/events/stream", "/v2/runtime/events/stream", "/v1/environments/{env_id}/shadow-mode/upload"]
EXAMPLES = 4


@pytest.fixture(scope="module")
def env_id(platform):
    """An environment whose policies and keys are nobody else's."""
    return environment(platform, platform.org, platform.owner)


def environment(platform, org_id, owner):
    name = f"guesses-{uuid.uuid4().hex[:8]}"
    wish = {"name": name, "slug": name}
    return platform.done("POST", f"/v1/organizations/{org_id}/environments", wish, owner)["env_id"]


def asked(platform, org_id, env_id, folder, authorization, seconds, *chosen):
    """Runs schemathesis under this credential."""
    (folder / "schemathesis.toml").write_text(
        f'[parameters]\n"path.org_id" = "{org_id}"\n"path.env_id" = "{env_id}"\n')
    command = [
        str(pathlib.Path(sys.executable).with_name("schemathesis")),
        "--config-file", str(folder / "schemathesis.toml"),
        "run", f"{platform.url}/openapi.json", "--url", platform.url, "--header", f"Authorization: {authorization}",
        "--checks", ",".join(CHECKS), "--phases", "coverage,fuzzing", "--max-examples", str(EXAMPLES),
        "--max-time", str(seconds), "--seed", "1", "--continue-on-failure", "--no-shrink", "--warnings", "off",
        "--request-timeout", "30", *chosen,
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=seconds * 4)


def without(*paths):
    return [word for path in paths for word in ("--exclude-path", path)]


def good(done):
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


def test_what_the_owner_is_answered_is_documented_and_no_failure_of_ours(platform, env_id, tmp_path):
    left_out = [word for chosen in (CLOSING, SUSPENDING) for word in ("--exclude-operation-id", chosen)]
    others = [*without(*LEFT_OUT, *ENDING), *left_out]
    good(asked(platform, platform.org, env_id, tmp_path, platform.owner, 45, *others))


def test_what_a_stranger_is_answered_is_documented_and_no_failure_of_ours(platform, env_id, tmp_path):
    # Who asks for an account gets one.
    others = without(*LEFT_OUT, "/v1/signup", "/v1/auth/signup")
    good(asked(platform, platform.org, env_id, tmp_path, "ApiKey svc_live_of_nobody", 15, *others))


@pytest.mark.parametrize("chosen", [*(("--include-path", path) for path in ENDING), ("--include-operation-id", CLOSING)],
                         ids=lambda chosen: chosen[1])
def test_what_ends_its_caller_is_documented_and_no_failure_of_ours(platform, chosen, tmp_path):
    name = f"guesses-{uuid.uuid4().hex[:8]}"
    account = {"name": "G", "email": f"{name}@held.example", "password": "a long enough password", "org_name": name}
    opened = platform.call("POST", "/v1/signup", account).body
    org_id, owner = opened["org"]["org_id"], "Bearer " + opened["token"]
    good(asked(platform, org_id, environment(platform, org_id, owner), tmp_path, owner, 10, *chosen))

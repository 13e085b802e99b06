"""The document of the API against the API: of requests that are made from it, good and bad, none is answered by a
5xx or by what it does not tell of."""

import pathlib
import subprocess
import sys
import uuid

import pytest

CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
LEFT_OUT = {
    # What ends the session that asks, or never ends.
    "/v1/auth/logout", "/v1/auth/sessions/{session_id}", "/v1/events/stream",
    # What ends the environment that is asked about.
    "/v1/organizations/{org_id}/environments/{env_id}/suspend",
    # Its lines are not JSON to schemathesis.
    "/v1/environments/{env_id}/shadow-mode/upload",
}
# A setting of it would ask everybody for a second factor.
OPERATION_LEFT_OUT = "organizations_put"
EXAMPLES = 4


@pytest.fixture(scope="module")
def env_id(platform):
    """An environment whose policies and keys are nobody else's."""
    wish = {"name": "Guesses", "slug": f"guesses-{uuid.uuid4().hex[:8]}"}
    return platform.done("POST", f"/v1/organizations/{platform.org}/environments", wish)["env_id"]


def asked(platform, env_id, folder, authorization, seconds, *more):
    """Runs schemathesis under this credential."""
    (folder / "schemathesis.toml").write_text(
        f'[parameters]\n"path.org_id" = "{platform.org}"\n"path.env_id" = "{env_id}"\n')
    left_out = [word for path in sorted(LEFT_OUT) for word in ("--exclude-path", path)]
    command = [
        str(pathlib.Path(sys.executable).with_name("schemathesis")),
        "--config-file", str(folder / "schemathesis.toml"),
        "run", f"{platform.url}/openapi.json", "--url", platform.url, "--header", f"Authorization: {authorization}",
        "--checks", ",".join(CHECKS), "--phases", "coverage,fuzzing", "--max-examples", str(EXAMPLES),
        "--max-time", str(seconds), "--seed", "1", "--continue-on-failure", "--no-shrink", "--warnings", "off",
        "--request-timeout", "30", "--exclude-operation-id", OPERATION_LEFT_OUT, *left_out, *more,
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=seconds * 4)


def test_what_the_owner_is_answered_is_documented_and_no_failure_of_ours(platform, env_id, tmp_path):
    done = asked(platform, env_id, tmp_path, platform.owner, 45)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


def test_what_a_stranger_is_answered_is_documented_and_no_failure_of_ours(platform, env_id, tmp_path):
    done = asked(platform, env_id, tmp_path, "ApiKey svc_live_of_nobody", 15, "--exclude-path", "/v1/signup",
                 "--exclude-path", "/v1/auth/signup")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]

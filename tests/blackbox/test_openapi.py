"""The document of the API against the API: requests made from it, good and bad, find no 5xx and no answer
that it does not tell of."""

import os
import pathlib
import subprocess
import sys


CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
# What would end the session that asks, or never ends itself.
LEFT_OUT = ["/v1/auth/logout", "/v1/auth/sessions/{session_id}", "/v1/events/stream"]
EXAMPLES, SECONDS = 12, 150


def fuzz(platform, tmp_path, authorization, *more):
    """Runs schemathesis with this credential; what it found, and how many requests it made."""
    report = tmp_path / "report.ndjson"
    left_out = [word for path in LEFT_OUT for word in ("--exclude-path", path)]
    command = [
        str(pathlib.Path(sys.executable).with_name("schemathesis")), "run", f"{platform.url}/openapi.json",
        "--url", platform.url, "--header", f"Authorization: {authorization}", "--checks", ",".join(CHECKS),
        "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES), "--max-time", str(SECONDS),
        "--seed", "1", "--continue-on-failure", "--no-shrink", "--request-timeout", "30",
        "--report", "ndjson", "--report-ndjson-path", str(report), *left_out, *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=SECONDS * 3,
                          env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)})
    return done


def test_no_answer_to_the_owner_is_undocumented_or_a_failure_of_ours(platform, tmp_path):
    done = fuzz(platform, tmp_path, platform.owner)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


def test_no_answer_to_a_stranger_is_undocumented_or_a_failure_of_ours(platform, tmp_path):
    done = fuzz(platform, tmp_path, "ApiKey svc_live_of_nobody", "--exclude-path", "/v1/signup")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


def test_the_document_says_what_the_platform_serves(platform):
    document = platform.done("GET", "/openapi.json")
    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) > 50

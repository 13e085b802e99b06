"""The governed runtime's tables, as psql and psycopg read them."""

import os
import pathlib
import shutil
import subprocess
import uuid

import psycopg
import pytest

PSQL = shutil.which("psql") or str(pathlib.Path(os.environ["SLUICE_PG"], "bin/psql"))


@pytest.fixture(scope="module")
def project(platform):
    """A project with a task that an agent has failed once."""
    name = f"project-{uuid.uuid4()}"
    task = platform.done("POST", "/v2/runtime/tasks", {"kind": "build", "project_id": name, "metadata": {"size": 3}})
    attempt = platform.done("POST", f"/v2/runtime/tasks/{task['id']}/claim", {"agent_id": "reader"})
    platform.done("POST", f"/v2/runtime/attempts/{attempt['id']}/fail", {
        "lease_token": attempt["lease_token"], "failure_kind": "timeout", "failure_reason": "too slow"})
    return name


def test_psycopg_reads_the_runtime_inside_a_transaction(platform, project):
    with psycopg.connect(platform.psql) as connection:
        rows = connection.execute(
            "select t.status, a.status, a.failure_kind, t.metadata->>'size', t.created_at < a.completed_at "
            "from svc_runtime.tasks t join svc_runtime.task_attempts a on a.task_id = t.id where t.project_id = %s",
            [project]).fetchall()
        assert rows == [("pending", "failed", "timeout", "3", True)]
        kinds = connection.execute(
            "select e.sequence_num, e.kind from svc_runtime.workflow_events e join svc_runtime.tasks t "
            "on t.id = e.task_id where t.project_id = %s and e.attempt_id is not null order by 1", [project]).fetchall()
        assert [number for number, _ in kinds] == list(range(1, len(kinds) + 1)) and len(kinds) >= 3, kinds
        assert connection.execute("select count(*) from svc_runtime.recovery_actions").fetchone()[0] >= 1
        assert connection.execute("select 1").fetchone() == (1,)


def test_psql_describes_and_reads_the_runtime(platform, project):
    def said(command):
        run = subprocess.run([PSQL, platform.psql, "--no-psqlrc", "-At", "-c", command],
                             capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert "svc_runtime|workflow_events|table" in said("\\dt svc_runtime.*")
    assert "lease_expires_at|timestamp with time zone" in said("\\d svc_runtime.task_attempts")
    assert said(f"select kind from svc_runtime.tasks where project_id = '{project}'") == "build\n"


@pytest.mark.parametrize("statement", [
    "update svc_runtime.workflow_events set kind = 'x'",
    "delete from svc_runtime.tasks",
    "insert into svc_runtime.tasks (id) values ('x')",
    "create table taken as select * from svc_runtime.tasks",
    "select * from svc_runtime.tasks, (select 1 from pg_authid) a",
    "select * from svc_runtime.releases",
    "copy svc_runtime.tasks to program 'cat'",
])
def test_the_runtime_is_read_and_no_more(platform, statement):
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        with pytest.raises(psycopg.Error):
            connection.execute(statement)
        assert connection.execute("select count(*) > 0 from svc_runtime.tasks").fetchone() == (True,)

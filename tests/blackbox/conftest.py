"""The platform that `./dev test blackbox` started, as its `.sluice/…/env` describes it."""

import os
import shutil
import subprocess
import urllib.parse

import pytest


def setting(name):
    value = os.environ.get(name)
    if not value:
        pytest.exit(f"{name} is not set: run ./dev test blackbox", returncode=2)
    return value


@pytest.fixture(scope="session")
def url():
    """The demo environment, with a key that may do everything."""
    return setting("SLUICE_PSQL")


@pytest.fixture(scope="session")
def refused_url(url):
    """The same with a key that was never issued."""
    parts = urllib.parse.urlsplit(url)
    key = parts.password[:-8] + "00000000"
    netloc = f"{parts.username}:{key}@{parts.hostname}:{parts.port}"
    return urllib.parse.urlunsplit(parts._replace(netloc=netloc))


@pytest.fixture(scope="session")
def psql():
    """psql, the system's or the one that ./dev fetched: rows as lines, fields split by `|`."""
    program = shutil.which("psql") or setting("SLUICE_PG") + "/bin/psql"

    def run(url, *arguments):
        command = [program, "-X", "-A", "-t", "-d", url, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    return run

"""Azurite, a program that speaks as a storage account of Azure does, for the suite."""

import base64
import contextlib
import os
import pathlib
import re
import subprocess

ACCOUNT = "suitelake"
KEY = base64.b64encode(b"the key of the suite's own account").decode()
STARTED = re.compile(r"successfully listens on http://(\S+)")


@contextlib.contextmanager
def running():
    """Its address; it keeps all in memory, and ends with the block."""
    program = pathlib.Path(os.environ["SLUICE_AZURITE_MODULES"], "azurite/dist/src/blob/main.js")
    # it knows fewer versions of the protocol than the newest client
    options = ("--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--silent")
    accounts = {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    with subprocess.Popen(["node", program, *options], env=accounts, stdout=subprocess.PIPE, text=True) as azurite:
        try:
            for line in azurite.stdout:
                if found := STARTED.search(line):
                    yield found[1]
                    return
            raise SystemExit("Azurite did not start")
        finally:
            azurite.kill()

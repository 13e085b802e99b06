#!/usr/bin/env python3
"""Stands in for cargo where the tests run a Dockerfile: compiles nothing, and writes down what it was asked.

As cargo does, `build` leaves something for each package in the target folder and builds only what is
not there. It refuses where cargo finds a manifest or the lock wrong. All that is not `build` is done by
cargo, and with SLUICE_IMAGES=real that is too. A line of the record is JSON: the arguments, and the
packages that were compiled.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

CARGO = os.environ["SLUICE_CARGO"]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def build(arguments):
    host = output("rustc", "--print", "host-tuple").strip()
    said = output(CARGO, "metadata", "--locked", "--filter-platform", host, "--format-version", "1")
    named = dict(zip(arguments, arguments[1:]))
    folder = pathlib.Path("target", named.get("--profile", "release"))
    compiled = set()
    for package in json.loads(said)["packages"]:
        unit = f"{package['name']}-0123456789abcdef"
        if not (folder / ".fingerprint" / unit).exists():
            (folder / ".fingerprint" / unit).mkdir(parents=True)
            compiled.add(package["name"])
    shutil.copy("/bin/true", folder / named["--bin"])
    return compiled


def really(arguments):
    """Runs cargo; its lines are passed on as they come."""
    compiled = set()
    with subprocess.Popen([CARGO, *arguments], stderr=subprocess.PIPE, text=True) as running:
        for line in running.stderr:
            sys.stderr.write(line)
            compiled.update(re.findall(r"^ *Compiling (\S+) v", line))
    if running.returncode:
        sys.exit(running.returncode)
    return compiled


arguments = sys.argv[1:]
is_stood_in = arguments[0] == "build" and os.environ.get("SLUICE_IMAGES") != "real"
compiled = build(arguments) if is_stood_in else really(arguments)
with open(os.environ["SLUICE_RECORD"], "a", encoding="utf-8") as record:
    record.write(json.dumps([arguments, sorted(compiled)]) + "\n")

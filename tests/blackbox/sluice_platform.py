"""A running platform as its users see it: the addresses and the key of `.sluice/env`."""

import contextlib
import dataclasses
import json
import os
import time
import urllib.error
import urllib.request
import uuid
from decimal import Decimal
from urllib.parse import urlsplit, urlunsplit


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: object


class Platform:
    def __init__(self):
        self.url = os.environ["SLUICE_URL"]
        self.org, self.env = os.environ["SLUICE_ORG_ID"], os.environ["SLUICE_ENV_ID"]
        self.key, self.psql = os.environ["SLUICE_KEY"], os.environ["SLUICE_PSQL"]
        self.place = urlsplit(self.psql)
        login = self.call("POST", "/v1/auth/login", {
            "email": os.environ["SLUICE_OWNER_EMAIL"], "password": os.environ["SLUICE_OWNER_PASSWORD"]})
        assert login.status == 200, login.body
        self.owner = "Bearer " + login.body["token"]

    # --- REST ---

    def call(self, method, path, body=None, auth=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        request.add_header("content-type", kind)
        if auth:
            request.add_header("authorization", auth)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return Answer(reply.status, dict(reply.headers), parsed(reply.read()))
        except urllib.error.HTTPError as error:
            return Answer(error.code, dict(error.headers), parsed(error.read()))

    def done(self, method, path, body=None, auth=None):
        answer = self.call(method, path, body, auth or self.owner)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.body}"
        return answer.body

    def query(self, sql, key=None, **more):
        return self.call("POST", f"/v1/environments/{self.env}/query", {"sql": sql, **more}, f"ApiKey {key or self.key}")

    # --- the PostgreSQL wire ---

    def psql_url(self, key):
        """The demo's URL with another key as its password."""
        place = self.place.netloc.rpartition("@")[2]
        return urlunsplit(self.place._replace(netloc=f"agent:{key}@{place}"))

    # --- worlds ---

    @contextlib.contextmanager
    def analyst(self, attributes):
        """The key of an analyst with these attributes; user and key go when it closes."""
        user = self.done("POST", f"/v1/organizations/{self.org}/users",
                         {"email": f"{uuid.uuid4()}@held.example", "name": "analyst", "role": "analyst"})
        people = f"/v1/organizations/{self.org}/users/{user['user_id']}"
        self.done("PUT", f"{people}/attributes", attributes)
        key = self.done("POST", f"/v1/environments/{self.env}/api-keys",
                        {"name": str(uuid.uuid4()), "scopes": ["query:read"], "user_id": user["user_id"]})
        try:
            yield key["key"]
        finally:
            self.done("DELETE", people)

    @contextlib.contextmanager
    def policies(self, *policies):
        made = [self.done("POST", f"/v1/environments/{self.env}/policies",
                          {"name": str(uuid.uuid4()), "type": kind, "rules": rules, "enabled": True})["policy_id"]
                for kind, rules in policies]
        try:
            yield made
        finally:
            for policy in made:
                self.done("DELETE", f"/v1/environments/{self.env}/policies/{policy}")

    # --- what was recorded ---

    def audit_entry(self, query_id):
        path = f"/v1/environments/{self.env}/audit/queries/{query_id}"
        self.wait(lambda: (self.call("GET", path, auth=self.owner).body or {}).get("outcome") == "completed")
        return self.done("GET", path)

    def usage(self):
        return self.done("GET", f"/v1/organizations/{self.org}/billing/usage")

    def wait(self, condition, seconds=20):
        """Until the condition holds: reports travel on their own."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not come to hold"
            time.sleep(0.05)


def parsed(body):
    try:
        return json.loads(body, parse_float=Decimal)
    except ValueError:
        return body

"""External stages over S3, as a program speaks it that was not written here: moto's server, started by the suite."""

import contextlib
import dataclasses
import gzip
import io
import json
import os
import pathlib
import subprocess
import urllib.request
import uuid

import boto3
import pyarrow
import pyarrow.parquet
import pytest

import store

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENDPOINT = "http://" + os.environ["SLUICE_TEST_STORE"]
OWN, FIRST, SECOND = ("AKIA0SUITE", "suite-secret"), ("AKIA0FIRST", "first-secret"), ("AKIA0SECOND", "second-secret")
NOTHING = "Copy executed with 0 files processed."


def lets_in(*credentials):
    """From now on the store knows these, and the suite's own."""
    keys = " ".join(key for key, _ in (OWN, *credentials))
    request = urllib.request.Request(ENDPOINT + store.KNOWN_KEYS, data=keys.encode(), method="PUT")
    urllib.request.urlopen(request, timeout=20).close()


def client(credentials):
    key, secret = credentials
    return boto3.client("s3", endpoint_url=ENDPOINT, region_name="us-east-1", aws_access_key_id=key,
                        aws_secret_access_key=secret)


@dataclasses.dataclass
class Lake:
    """A bucket, the integration that reaches it, and a stage over its folder `in/`."""
    platform: object
    client: object
    bucket: str
    name: str

    def put(self, key, body):
        self.client.put_object(Bucket=self.bucket, Key=key, Body=body)

    def get(self, key):
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def keys(self, prefix):
        listed = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        return [found["Key"] for found in listed.get("Contents", [])]

    def url(self, path):
        return f"s3://{self.bucket}/{path}"

    def rows(self, sql):
        answer = self.platform.query(sql)
        assert answer.status == 200, f"{sql}: {answer.body}"
        return answer.body["rows"]

    def refused(self, sql):
        """Status and message; no answer has a credential in it."""
        answer = self.platform.query(sql)
        assert answer.status >= 400, f"{sql}: {answer.body}"
        no_secret(str(answer.body))
        return answer.status, answer.body["error"]["message"]


def no_secret(text):
    for words in (*FIRST, *SECOND, os.environ["SLUICE_TEST_STORE"]):
        assert words not in text, text


def sent(lake, **more):
    return {"name": lake.name, "kind": "s3", "region": "us-east-1", "endpoint": ENDPOINT, "path_style": True,
            "allowed_prefixes": [lake.url("in/")], "blocked_prefixes": [lake.url("in/secret/")],
            "credentials": {"type": "access_key", "access_key_id": FIRST[0], "secret_access_key": FIRST[1]}, **more}


@contextlib.contextmanager
def staged(lake, integration):
    """The lake with its integration, a stage and a table, which are of its name and go with the block."""
    platform, name = lake.platform, lake.name
    integrations = f"/v1/environments/{platform.env}/storage-integrations"
    made = platform.done("POST", integrations, integration)
    secrets = [value for part, value in integration["credentials"].items() if part in ("secret_access_key", "sas_token")]
    assert secrets and not any(secret in str(made) for secret in secrets)
    no_secret(str(made).replace(ENDPOINT, ""))
    create = f"create stage {name} url = '{lake.url('in/')}' storage_integration = {name}"
    platform.wait(lambda: platform.query(create).status == 200)
    lake.rows(f"create table {name} (id integer, note varchar)")
    try:
        yield lake
    finally:
        for sql in (f"drop stage if exists {name}", f"drop table if exists {name}"):
            assert platform.query(sql).status == 200, sql
        platform.done("DELETE", f"{integrations}/{made['storage_integration_id']}")


@pytest.fixture
def lake(platform):
    lets_in(FIRST)
    name = f"lake_{uuid.uuid4().hex[:12]}"
    lake = Lake(platform, client(OWN), name.replace("_", "-"), name)
    lake.client.create_bucket(Bucket=lake.bucket)
    with staged(lake, sent(lake)):
        yield lake


def parquet(rows):
    """A file of the columns `id` and `note`."""
    ids, notes = zip(*rows)
    written = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"id": pyarrow.array(ids, pyarrow.int32()), "note": list(notes)}), written)
    return written.getvalue()


def loaded(rows):
    """Of the files that COPY INTO tells: name, status, rows parsed and loaded."""
    return [(file.rpartition("/")[2], *told) for file, *told in (row[:4] for row in rows)]


def test_objects_of_every_kind_are_listed_loaded_and_selected_in_place(lake):
    stage = table = lake.name
    lake.put("in/a.csv", "1,one\n2,\"two, or so\"\n")
    lake.put("in/b.csv.gz", gzip.compress(b"3,three\n"))
    lake.put("in/c.json", '{"id": 4, "note": "four"}\n{"id": 5}\n')
    lake.put("in/d.parquet", parquet([(6, "six"), (7, None)]))
    lake.put("in/secret/s.csv", "8,sesame\n")
    lake.put("other/o.csv", "9,sesame\n")
    names = [row[0].rpartition("/")[2] for row in lake.rows(f"list @{stage}")]
    assert names == ["a.csv", "b.csv.gz", "c.json", "d.parquet"]
    csv = "file_format = (type = csv field_optionally_enclosed_by = '\"')"
    copy = f"copy into {table} from @{stage} files = ('a.csv', 'b.csv.gz') {csv}"
    assert loaded(lake.rows(copy)) == [("a.csv", "LOADED", 2, 2), ("b.csv.gz", "LOADED", 1, 1)]
    assert lake.rows(copy)[0][1] == NOTHING
    for kind, file in (("json", "c.json"), ("parquet", "d.parquet")):
        by_name = f"file_format = (type = {kind}) match_by_column_name = case_insensitive"
        assert loaded(lake.rows(f"copy into {table} from @{stage} files = ('{file}') {by_name}")) == [
            (file, "LOADED", 2, 2)]
    assert lake.rows(f"select id, note from {table} order by id") == [
        [1, "one"], [2, "two, or so"], [3, "three"], [4, "four"], [5, None], [6, "six"], [7, None]]
    assert lake.rows(f"select $2 from @{stage}/b.csv.gz") == [["three"]]
    lake.rows(f"create file format {lake.name} type = parquet")
    try:
        assert lake.rows(f"select $1:note::varchar from @{stage}/d (file_format => '{lake.name}') "
                         "where $1:id::integer = 6") == [["six"]]
    finally:
        lake.rows(f"drop file format {lake.name}")


def test_rows_are_unloaded_as_every_kind_and_the_objects_removed(lake):
    stage = lake.name
    unload = "copy into @{}/out/{} from (select {} from region order by r_regionkey) file_format = (type = {}) {}"
    lake.rows(unload.format(stage, "c", "r_regionkey, r_name", "csv", "header = true"))
    lake.rows(unload.format(stage, "j", "object_construct('id', r_regionkey)", "json compression = none", ""))
    lake.rows(unload.format(stage, "p", "r_regionkey, r_name", "parquet", "header = true"))
    files = ["in/out/c_0_0_0.csv.gz", "in/out/j_0_0_0.json", "in/out/p_0_0_0.snappy.parquet"]
    assert lake.keys("in/out/") == files
    direct = lake.rows("select r_regionkey, r_name from region order by r_regionkey")
    csv = gzip.decompress(lake.get(files[0])).decode().split("\n")
    assert csv == ["r_regionkey,r_name", *(f"{key},{name}" for key, name in direct), ""]
    assert [json.loads(line) for line in lake.get(files[1]).splitlines()] == [{"id": key} for key, _ in direct]
    table = pyarrow.parquet.read_table(io.BytesIO(lake.get(files[2])))
    assert (table.column_names, table.column(1).to_pylist()) == (["r_regionkey", "r_name"], [name for _, name in direct])
    status, message = lake.refused(unload.format(stage, "c", "r_regionkey", "csv", ""))
    assert status == 409 and "already" in message
    assert len(lake.rows(f"remove @{stage}/out/")) == len(files)
    assert lake.keys("in/out/") == []


def test_an_object_of_several_parts_is_whole(lake):
    lines = "from lineitem where l_orderkey <= 12000"
    unload = f"copy into @{lake.name}/big from (select repeat(l_comment, 50) as comments {lines}) single = true"
    lake.rows(f"{unload} max_file_size = 100000000 file_format = (type = csv compression = none)")
    [key] = lake.keys("in/")
    whole = lake.get(key)
    assert len(whole) > 8 << 20, "it goes in parts of 8 MiB"
    assert [[whole.count(b"\n")]] == lake.rows(f"select count(*) {lines}")


def test_nothing_is_reached_that_the_integration_does_not_allow(lake):
    lake.put("in/a.csv", "1,one\n")
    lake.put("in/secret/s.csv", "8,sesame\n")
    lake.put("other/o.csv", "9,sesame\n")
    for url, why in ((lake.url("other/"), "does not allow"), (lake.url(""), "does not allow"),
                     ("s3://another/in/", "does not allow"), (lake.url("in/secret/"), "blocks")):
        create = f"create stage {lake.name}_more url = '{url}' storage_integration = {lake.name}"
        status, message = lake.refused(create)
        assert 400 <= status < 500 and why in message, (url, message)
    for path in ("secret/", "../other/", "%2e%2e/other/"):
        assert lake.rows(f"list '@{lake.name}/{path}'") == [], path
        assert lake.rows(f"copy into {lake.name} from '@{lake.name}/{path}'")[0][1] == NOTHING, path
    assert lake.rows(f"remove '@{lake.name}/secret/'") == []
    assert lake.keys("") == ["in/a.csv", "in/secret/s.csv", "other/o.csv"]
    for endpoint in ("http://127.0.0.1:1", "http://169.254.169.254", "http://localhost"):
        path = f"/v1/environments/{lake.platform.env}/storage-integrations"
        wrong = lake.platform.call("POST", path, sent(lake, name=f"{lake.name}_more", endpoint=endpoint), lake.platform.owner)
        assert wrong.status == 400 and "endpoint" in str(wrong.body), wrong.body


def test_credentials_are_rotated_without_a_restart_and_never_told(lake):
    lake.put("in/a.csv", "1,one\n")
    lets_in(SECOND)
    for sql in (f"list @{lake.name}", f"copy into {lake.name} from @{lake.name}", f"select $1 from @{lake.name}",
                f"copy into @{lake.name}/r from region file_format = (type = csv)"):
        status, message = lake.refused(sql)
        assert status == 403 and "refuses the credentials" in message and lake.name in message, message
    assert lake.rows(f"select count(*) from {lake.name}") == [[0]]
    key, secret = SECOND
    typed = {**os.environ, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    typed.pop("AWS_SESSION_TOKEN", None)
    done = subprocess.run([ROOT / "dev", "sluice", "integration", "rotate", lake.name, "--credentials", "env"],
                          env=typed, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    no_secret((done.stdout + done.stderr).replace(ENDPOINT, ""))
    lake.platform.wait(lambda: lake.platform.query(f"list @{lake.name}").status == 200)
    assert loaded(lake.rows(f"copy into {lake.name} from @{lake.name}")) == [("a.csv", "LOADED", 1, 1)]
    events = lake.platform.done("GET", f"/v1/environments/{lake.platform.env}/audit/admin?limit=200")
    no_secret(str(events).replace(ENDPOINT, ""))

"""External stages over containers of Azure, as a program speaks it that was not written here: Azurite, of the suite."""

import base64
import datetime
import gzip
import io
import os
import pathlib
import subprocess
import uuid

import pyarrow.parquet
import pytest
from azure.storage.blob import ContainerClient, ContainerSasPermissions, generate_container_sas

import test_stores
from containers import ACCOUNT, KEY

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADDRESS = os.environ["SLUICE_TEST_AZURE"]
OTHER_KEY = base64.b64encode(b"a key that nobody knows").decode()


class Container(test_stores.Lake):
    """A container of the suite's account."""

    def put(self, key, body):
        self.client.upload_blob(key, body, overwrite=True)

    def get(self, key):
        return self.client.download_blob(key).readall()

    def keys(self, prefix):
        return sorted(self.client.list_blob_names(name_starts_with=prefix))

    def url(self, path):
        return f"azure://{ACCOUNT}.blob.core.windows.net/{self.bucket}/{path}"

    def refused(self, sql):
        status, message = super().refused(sql)
        assert not any(words in message for words in (KEY, OTHER_KEY, ADDRESS)), message
        return status, message


def sent(lake, key=KEY, **more):
    return {"name": lake.name, "kind": "azure", "account": ACCOUNT, "endpoint": f"http://{ADDRESS}", "path_style": True,
            "allowed_prefixes": [lake.url("in/")], "blocked_prefixes": [lake.url("in/secret/")],
            "credentials": {"type": "access_key", "access_key_id": ACCOUNT, "secret_access_key": key}, **more}


def container(platform):
    name = f"lake_{uuid.uuid4().hex[:12]}"
    owner = {"account_name": ACCOUNT, "account_key": KEY}
    client = ContainerClient(f"http://{ADDRESS}/{ACCOUNT}", name.replace("_", "-"), credential=owner)
    client.create_container()
    return Container(platform, client, client.container_name, name)


@pytest.fixture
def lake(platform):
    made = container(platform)
    with made.client, test_stores.staged(made, sent(made)):
        yield made


def test_blobs_are_listed_loaded_and_selected_in_place(lake):
    stage = table = lake.name
    lake.put("in/a.csv", b"1,one\n2,two\n")
    lake.put("in/b.csv.gz", gzip.compress(b"3,three\n"))
    lake.put("in/d.parquet", test_stores.parquet([(6, "six"), (7, None)]))
    lake.put("in/secret/s.csv", b"8,sesame\n")
    lake.put("other/o.csv", b"9,sesame\n")
    names = [row[0].rpartition("/")[2] for row in lake.rows(f"list @{stage}")]
    assert names == ["a.csv", "b.csv.gz", "d.parquet"]
    copy = f"copy into {table} from @{stage} files = ('a.csv', 'b.csv.gz') file_format = (type = csv)"
    assert test_stores.loaded(lake.rows(copy)) == [("a.csv", "LOADED", 2, 2), ("b.csv.gz", "LOADED", 1, 1)]
    assert lake.rows(copy)[0][1] == test_stores.NOTHING
    by_name = "file_format = (type = parquet) match_by_column_name = case_insensitive"
    assert test_stores.loaded(lake.rows(f"copy into {table} from @{stage} files = ('d.parquet') {by_name}")) == [
        ("d.parquet", "LOADED", 2, 2)]
    assert lake.rows(f"select id, note from {table} order by id") == [
        [1, "one"], [2, "two"], [3, "three"], [6, "six"], [7, None]]
    assert lake.rows(f"select $2 from @{stage}/b.csv.gz") == [["three"]]
    lake.put("in/a.csv", b"10,ten\n")
    assert lake.rows(f"select $1, $2 from @{stage}/a.csv") == [["10", "ten"]], "another blob has another tag"


def test_rows_are_unloaded_replaced_and_the_blobs_removed(lake):
    stage = lake.name
    unload = "copy into @{}/out/{} from (select {} from region order by r_regionkey) file_format = (type = {}) {}"
    lake.rows(unload.format(stage, "c", "r_regionkey, r_name", "csv", "header = true"))
    lake.rows(unload.format(stage, "p", "r_regionkey, r_name", "parquet", "header = true"))
    files = ["in/out/c_0_0_0.csv.gz", "in/out/p_0_0_0.snappy.parquet"]
    assert lake.keys("in/out/") == files
    direct = lake.rows("select r_regionkey, r_name from region order by r_regionkey")
    csv = gzip.decompress(lake.get(files[0])).decode().split("\n")
    assert csv == ["r_regionkey,r_name", *(f"{key},{name}" for key, name in direct), ""]
    table = pyarrow.parquet.read_table(io.BytesIO(lake.get(files[1])))
    assert (table.column_names, table.column(1).to_pylist()) == (["r_regionkey", "r_name"], [name for _, name in direct])
    status, message = lake.refused(unload.format(stage, "c", "r_regionkey", "csv", ""))
    assert status == 409 and "already" in message
    lake.rows(unload.format(stage, "c", "r_regionkey", "csv", "overwrite = true"))
    assert gzip.decompress(lake.get(files[0])).decode().split() == [str(key) for key, _ in direct]
    assert len(lake.rows(f"remove @{stage}/out/")) == len(files)
    assert lake.keys("in/out/") == []


def test_a_blob_of_several_blocks_is_whole(lake):
    lines = "from lineitem where l_orderkey <= 12000"
    unload = f"copy into @{lake.name}/big from (select repeat(l_comment, 50) as comments {lines}) single = true"
    lake.rows(f"{unload} max_file_size = 100000000 file_format = (type = csv compression = none)")
    [key] = lake.keys("in/")
    whole = lake.get(key)
    assert len(whole) > 8 << 20, "it goes in blocks of 8 MiB"
    assert [[whole.count(b"\n")]] == lake.rows(f"select count(*) {lines}")


def test_no_other_container_account_or_endpoint_is_reached(lake):
    lake.put("other/o.csv", b"9,sesame\n")
    for url, why in ((lake.url("other/"), "does not allow"), (lake.url(""), "does not allow"),
                     (lake.url("in/").replace(ACCOUNT, "another"), "does not allow"), (lake.url("in/secret/"), "blocks"),
                     (lake.url("in/").replace(lake.bucket, "another"), "does not allow"),
                     (f"azure://{ADDRESS}/{lake.bucket}/in/", "names an account of Azure")):
        create = f"create stage {lake.name}_more url = '{url}' storage_integration = {lake.name}"
        answer = lake.platform.query(create)
        assert 400 <= answer.status < 500 and why in answer.body["error"]["message"], (url, answer.body)
    integrations = f"/v1/environments/{lake.platform.env}/storage-integrations"
    for endpoint in ("http://127.0.0.1:1", "http://169.254.169.254", "http://localhost"):
        body = sent(lake, name=f"{lake.name}_more", endpoint=endpoint)
        wrong = lake.platform.call("POST", integrations, body, lake.platform.owner)
        assert wrong.status == 400 and "endpoint" in str(wrong.body), wrong.body


def test_a_key_that_the_account_refuses_is_told_and_rotated_without_a_restart(platform):
    made = container(platform)
    made.put("in/a.csv", b"1,one\n")
    with made.client, test_stores.staged(made, sent(made, OTHER_KEY)) as lake:
        for sql in (f"list @{lake.name}", f"copy into {lake.name} from @{lake.name}",
                    f"copy into @{lake.name}/r from region file_format = (type = csv)"):
            status, message = lake.refused(sql)
            assert status == 403 and "refuses the credentials" in message and lake.name in message, message
        typed = {**os.environ, "AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_KEY": KEY}
        rotate = [ROOT / "dev", "sluice", "integration", "rotate", lake.name, "--credentials", "azure-env"]
        done = subprocess.run(rotate, env=typed, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and KEY not in done.stdout, done.stderr
        platform.wait(lambda: platform.query(f"list @{lake.name}").status == 200)
        assert test_stores.loaded(lake.rows(f"copy into {lake.name} from @{lake.name}")) == [("a.csv", "LOADED", 1, 1)]
        events = platform.done("GET", f"/v1/environments/{platform.env}/audit/admin?limit=200")
        assert KEY not in str(events) and OTHER_KEY not in str(events)


def signature(lake, allowed):
    """A shared access signature of this container, for so much of it."""
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    permission = ContainerSasPermissions.from_string(allowed)
    return generate_container_sas(ACCOUNT, lake.bucket, account_key=KEY, permission=permission, expiry=until)


def test_a_shared_access_signature_is_asked_with_for_what_it_allows(platform):
    made = container(platform)
    made.put("in/a.csv", b"1,one\n")
    token = signature(made, "rl")
    with made.client, test_stores.staged(made, sent(made, credentials={"type": "sas_token", "sas_token": token})) as lake:
        assert test_stores.loaded(lake.rows(f"copy into {lake.name} from @{lake.name}")) == [("a.csv", "LOADED", 1, 1)]
        for sql in (f"copy into @{lake.name}/r from region file_format = (type = csv)", f"remove @{lake.name}"):
            message = lake.refused(sql)[1]
            assert lake.name in message and "sig=" not in message and "sp=" not in message, message
        assert lake.keys("") == ["in/a.csv"]

"""dbt-postgres on a small project: seed, run, snapshot, test and docs, each by the program itself. An
incremental model grows by a temporary table."""

import json
import os
import pathlib
import subprocess
import sys

import psycopg
import pytest

DBT = pathlib.Path(sys.executable).parent / "dbt"

FILES = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nmodels: {shop: {+materialized: table}}\n",
    "seeds/countries.csv": "code,name\nDE,Germany\nFR,France\n",
    "models/big.sql": "select n_nationkey as id, n_name as name from {{ source('demo', 'nation') }} where n_regionkey = 1\n",
    "models/named.sql": "select id, lower(name) as name from {{ ref('big') }}\n",
    "models/seen.sql": "{{ config(materialized='view') }}\nselect nvl(name, '') as name from {{ ref('named') }}\n",
    "models/grown.sql": """{{ config(materialized='incremental', unique_key='code') }}
select code, name, {% if is_incremental() %} 2 {% else %} 1 {% endif %} as turn from {{ ref('countries') }}
{% if is_incremental() %} where code <> 'FR' {% endif %}
""",
    "models/models.yml": """
sources: [{name: demo, schema: main, tables: [{name: nation}]}]
models: [{name: big, columns: [{name: id, data_tests: [unique, not_null]}]}]
""",
    "snapshots/kept.sql": """{% snapshot kept %}
{{ config(target_schema='shop', unique_key='code', strategy='check', check_cols=['name']) }}
select * from {{ ref('countries') }}
{% endsnapshot %}
""",
}


@pytest.fixture
def dbt(platform, tmp_path):
    """Runs a command of dbt on the project; its schema goes afterwards."""
    place = platform.place
    target = {"type": "postgres", "host": place.hostname, "port": place.port, "user": place.username,
              "password": place.password, "dbname": place.path[1:], "schema": "shop", "threads": 1}
    profiles = {"shop": {"target": "it", "outputs": {"it": target}}}
    for name, text in {**FILES, "profiles.yml": json.dumps(profiles)}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_PROFILES_DIR": str(tmp_path)}

    def run(*command):
        done = subprocess.run([DBT, "--no-use-colors", *command, "--project-dir", tmp_path], env=environment,
                              cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-4000:]

    yield run
    with psycopg.connect(platform.psql, autocommit=True) as connection:
        connection.execute("drop schema if exists shop cascade")


def test_dbt_seeds_runs_snapshots_tests_and_documents(platform, dbt, tmp_path):
    for command in [("seed",), ("run",), ("run",), ("snapshot",), ("test",), ("docs", "generate")]:
        dbt(*command)
    with psycopg.connect(platform.psql) as connection:
        assert connection.execute("select name from shop.named order by id limit 1").fetchone() == ("argentina",)
        assert connection.execute("select count(*) from shop.seen where name = 'argentina'").fetchone() == (1,)
        assert connection.execute("select count(*) from shop.kept where dbt_valid_to is null").fetchone() == (2,)
        assert connection.execute("select code, turn from shop.grown order by 1").fetchall() == [("DE", 2), ("FR", 1)]
    catalog = json.loads((tmp_path / "target/catalog.json").read_text())
    assert set(catalog["nodes"]["model.shop.big"]["columns"]) == {"id", "name"}

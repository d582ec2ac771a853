"""Rows of a database become rows of a table by one call; a later call brings those behind the last."""

import datetime
import logging
import sqlite3
from decimal import Decimal
from uuid import UUID

import pytest
from adbc_driver_postgresql import dbapi as postgresql

import lakebed
from lakebed.databases.address import parse_address
from lakebed.errors import Invalid, LakebedError, NotFound, Unavailable
from tests.lake.imports.conftest import contents, rows
from tests.lake.imports.postgres import PASSWORD, server
from tests.lake.imports.test_import_crashes import killed

TYPES = {"at": "timestamp", "price": "decimal(10, 2)"}


@pytest.fixture
def theirs(source):
    """A SQLite database with a table."""
    with sqlite3.connect(source / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, price REAL, at TEXT)")
        database.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?)",
            [(1, "a", 1.2, "2026-01-01 10:00:00"), (2, None, None, "2026-01-02 00:00:00")],
        )
    yield database
    database.close()


@pytest.fixture
def url(theirs, source):
    return f"sqlite:///{source}/shop.db"


def change(database, statement, *values):
    with database:
        database.execute(statement, values)


# SQLite


def test_a_table_of_a_database_becomes_a_table_in_one_commit(main, theirs, url, source):
    before, version = contents(source), main.version
    found = main.import_database("crm.orders", url, table="orders", schema=TYPES, primary_key=["id"], message="first")
    first, second = datetime.datetime(2026, 1, 1, 10), datetime.datetime(2026, 1, 2)
    assert rows(main.table("crm.orders")) == [(1, "a", Decimal("1.20"), first), (2, None, None, second)]
    assert (found.created, found.source_rows, found.rows, found.commit.message) == (True, 2, 2, "first")
    assert [commit.version for commit in main.log() if commit.version > version] == [found.commit.version]
    assert main.table("crm.orders").schema.key == ("id",)
    assert contents(source) == before


def test_a_dry_run_of_a_database_answers_the_same_and_writes_nothing(main, url, unchanged):
    with unchanged():
        tried = main.import_database("t", url, table="orders", schema=TYPES, dry_run=True)
    done = main.import_database("t", url, table="orders", schema=TYPES)
    assert (tried.source_rows, tried.columns, tried.created, tried.rows) == (2, done.columns, True, None)
    assert (tried.commit, tried.dry_run) == (None, True)


def test_a_query_is_read_as_it_is_given(main, url):
    query = "SELECT id * 10 AS ten, 'x''y;' AS text FROM orders -- all of them\n;"
    assert main.import_database("t", url, query=query).rows == 2
    assert rows(main.table("t")) == [(10, "x'y;"), (20, "x'y;")]


def test_a_second_call_upserts_rows_that_were_changed_since(main, theirs, url):
    asked = {"table": "orders", "schema": TYPES, "since": "at", "primary_key": ["id"]}
    main.import_database("t", url, **asked)
    change(theirs, "UPDATE orders SET name = 'b', at = '2026-01-02 00:00:00' WHERE id = 1")
    change(theirs, "INSERT INTO orders VALUES (3, 'c', 3.0, NULL)")
    change(theirs, "DELETE FROM orders WHERE id = 2")
    again = main.import_database("t", url, **asked)
    assert (again.source_rows, again.rows) == (2, 1)
    assert rows(main.table("t"), "id", "name") == [(1, "b"), (2, None), (3, "c")]
    change(theirs, "UPDATE orders SET name = 'd' WHERE id = 3")
    main.import_database("t", url, **asked)
    assert rows(main.table("t"), "id", "name")[2] == (3, "d")
    assert not main.import_database("t", url, **asked).is_new


def test_without_a_key_rows_behind_the_last_are_appended_once(main, theirs, url):
    asked = {"table": "orders", "since": "id"}
    main.import_database("t", url, **asked)
    assert not main.import_database("t", url, **asked).is_new
    change(theirs, "INSERT INTO orders VALUES (7, 'c', NULL, NULL)")
    again = main.import_database("t", url, **asked)
    assert (again.source_rows, again.rows) == (1, 1)
    assert rows(main.table("t"), "id") == [(1,), (2,), (7,)]
    main.revert(again.commit)
    assert main.import_database("t", url, **asked).rows == 1
    with pytest.raises(Invalid, match="another column"):
        main.import_database("t", url, table="orders", since="at")


def test_a_key_that_grows_brings_no_row_twice(main, theirs, url):
    asked = {"table": "orders", "since": "id", "primary_key": ["id"]}
    main.import_database("t", url, **asked)
    assert not main.import_database("t", url, **asked).is_new


def test_rows_without_a_mark_are_refused_if_nothing_tells_them_apart(main, theirs, url):
    change(theirs, "INSERT INTO orders VALUES (3, 'c', 3.0, NULL)")
    with pytest.raises(Invalid, match="nothing was imported") as refused:
        main.import_database("t", url, table="orders", since="at")
    assert "1 rows have no value" in refused.value.found
    assert not main.table_exists("t")


def test_a_second_call_that_could_bring_rows_twice_is_refused(main, theirs, url):
    main.import_database("t", url, table="orders")
    with pytest.raises(Invalid, match="imported before") as refused:
        main.import_database("t", url, table="orders")
    assert "replace=True" in refused.value.advice
    change(theirs, "DELETE FROM orders WHERE id = 1")
    found = main.import_database("t", url, table="orders", replace=True)
    assert (found.rows, rows(main.table("t"), "id")) == (-1, [(2,)])


def test_a_call_with_an_event_id_is_made_once(main, theirs, url):
    event = lakebed.event_id("night")
    first = main.import_database("t", url, table="orders", event_id=event)
    assert main.import_database("t", url, table="orders", event_id=event).commit == first.commit


def test_columns_that_new_rows_have_only_nulls_in_keep_their_types(main, theirs, url):
    asked = {"table": "orders", "since": "id", "schema": TYPES}
    main.import_database("t", url, **asked)
    change(theirs, "INSERT INTO orders (id) VALUES (9)")
    assert main.import_database("t", url, **asked).rows == 1
    change(theirs, "ALTER TABLE orders ADD COLUMN more TEXT")
    change(theirs, "INSERT INTO orders (id, more) VALUES (10, 'x')")
    with pytest.raises(Invalid, match="nothing was imported"):
        main.import_database("t", url, **asked)
    assert main.import_database("t", url, **asked, evolve="add").rows == 1
    assert main.import_database("u", url, table="orders", leave_out=["more", "price"]).rows == 4


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"table": "nope"}, "refuses"),
        ({"query": "SELEC 1"}, "refuses"),
        ({"table": "orders", "query": "SELECT 1"}, "table= and query="),
        ({}, "table= and query="),
        ({"table": "orders", "since": "nope"}, "nothing was imported"),
        ({"table": "orders", "schema": {"nope": "long"}}, "nothing was imported"),
        ({"table": "orders", "options": {"driver": "x"}}, "options are Spark's"),
        ({"table": "orders", "schema": {"name": "long"}}, "name"),
    ],
)
def test_what_can_not_be_read_is_refused_and_nothing_is_made(main, url, asked, error):
    with pytest.raises(Invalid, match=error):
        main.import_database("t", url, **asked)
    assert not main.table_exists("t")


def test_a_database_that_is_not_there_is_not_made(main, source):
    with pytest.raises(NotFound):
        main.import_database("t", f"sqlite:///{source}/none.db", table="t")
    assert list(source.iterdir()) == []
    with pytest.raises(Invalid, match="read by Spark"):
        main.import_database("t", "jdbc:postgresql://h/db", table="t")


def test_without_the_driver_the_extra_is_named(main, url, monkeypatch):
    monkeypatch.setattr("lakebed.lake.engines.find_spec", lambda package: None)
    with pytest.raises(Unavailable, match=r"lakebed\[databases\]"):
        main.import_database("t", url, table="orders")


@pytest.mark.long
def test_an_import_of_a_database_that_is_killed_has_done_nothing_or_all(tmp_path, theirs, url):
    asked = {"name": "t", "url": url, "table": "orders", "since": "id", "primary_key": ["id"]}
    seen = set()
    for place in killed(tmp_path, "import_database", **asked):
        with lakebed.connect(place, author="ada") as lake:
            main = lake.catalog()
            seen.add(main.import_database(**asked).rows)
            assert rows(main.table("t"), "id") == [(1,), (2,)]
            assert lake.check() == []
    assert seen == {0, 2}


# Passwords


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:{}@h:5/db?sslmode=off",
        "postgresql://h/db?user=ada&password={}",
        "jdbc:postgresql://h/db?user=ada&password={}",
        "jdbc:sqlserver://h:1;databaseName=x;user=ada;password={};",
        "jdbc:oracle:thin:ada/{}@//h:1521/x",
    ],
)
def test_a_password_is_in_no_text_of_an_address(url):
    address = parse_address(url.format("hush%2Fhush"), None, None)
    for text in (repr(address), address.shown, f"{[address]}"):
        assert "hush" not in text
    for secret in ("hush%2Fhush", "hush/hush", url.format("hush%2Fhush")):
        assert "hush" not in address.without_secrets(f"can't open {secret}: no")


def test_an_url_that_is_none_is_not_repeated(main):
    for url in ("mysql://ada:hush@h/db", "postgresql://ada:hush@h:port/db", "hush", 5, "postgresql://[hush"):
        with pytest.raises(Invalid) as refused:
            main.import_database("t", url, table="t")
        assert "hush" not in f"{refused.value}{vars(refused.value)}{refused.value.__cause__}"


# PostgreSQL


@pytest.fixture(scope="module")
def postgres():
    with server() as url:
        yield url


@pytest.fixture
def shop(postgres):
    """Runs statements in a new schema of the server."""
    with postgresql.connect(postgres, autocommit=True) as connection:

        def run(*statements):
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)

        run("DROP SCHEMA IF EXISTS shop CASCADE", "CREATE SCHEMA shop")
        yield run


def test_postgresql_gives_its_types_and_one_moment(main, shop, postgres, caplog):
    caplog.set_level(logging.DEBUG)
    shop(
        """CREATE TABLE shop."All Orders" (id bigint PRIMARY KEY, small int2, price numeric(10, 2), free numeric,
        body bytea, at timestamp, atz timestamptz, d date, tm time, ok bool, u uuid, j jsonb, a int[], f real)""",
        """INSERT INTO shop."All Orders" VALUES (1, 2, 1.20, 1.5, '\\x00ff', '2026-01-01 10:00:00.000001',
        '2026-01-01 10:00+02', '2026-01-01', '10:00', true, '760d97af-b9dd-44cf-96af-f2483575edf9', '{"a": 1}',
        '{1,2}', 1.5)""",
        """INSERT INTO shop."All Orders" (id, atz) VALUES (2, '2026-01-03 00:00+00')""",
    )
    asked = {"table": ("shop", "All Orders"), "since": "atz", "primary_key": ["id"]}
    found = main.import_database("crm.orders", postgres, **asked)
    zone = datetime.UTC
    [row, _] = rows(main.table("crm.orders"))
    assert row == (
        1,
        2,
        Decimal("1.20"),
        "1.5",
        b"\x00\xff",
        datetime.datetime(2026, 1, 1, 10, 0, 0, 1),
        datetime.datetime(2026, 1, 1, 8, tzinfo=zone),
        datetime.date(2026, 1, 1),
        datetime.time(10),
        True,
        UUID("760d97af-b9dd-44cf-96af-f2483575edf9"),
        '{"a": 1}',
        [1, 2],
        1.5,
    )
    assert any(note.startswith("free: numeric without a precision") for note in found.notes)
    shop("""UPDATE shop."All Orders" SET small = 9, atz = '2026-01-03 00:00:00.000001+00' WHERE id = 1""")
    again = main.import_database("crm.orders", postgres, **asked)
    assert (again.source_rows, again.rows) == (2, 0)
    assert rows(main.table("crm.orders"), "id", "small") == [(1, 9), (2, None)]
    assert not main.import_database("crm.orders", postgres, **asked).is_new
    shown = f"{found}{again!r}{main.table('crm.orders').properties}{main.log()}{caplog.text}"
    assert PASSWORD not in shown
    assert "s3cr" not in shown


def test_types_that_no_table_has_are_listed(main, shop, postgres):
    shop("CREATE TABLE shop.t (id int, iv interval)", "INSERT INTO shop.t VALUES (1, '1 day')")
    with pytest.raises(Invalid, match="nothing was imported") as refused:
        main.import_database("t", postgres, table="shop.t")
    assert "iv: interval" in refused.value.found
    assert main.import_database("t", postgres, table="shop.t", leave_out=["iv"]).rows == 1


def test_a_refused_password_is_in_no_error(main, postgres, caplog):
    caplog.set_level(logging.DEBUG)
    wrong = postgres.replace("s3cr", "hush")
    plain = postgres.replace(postgres.split("//")[1].split("@")[0] + "@", "")
    for url, more in ((wrong, {}), (plain, {"user": "postgres", "password": "hush@/hush"}), (f"{wrong}?bad=x", {})):
        with pytest.raises(LakebedError) as refused:
            main.import_database("t", url, table="t", **more)
        error = refused.value
        text = f"{error}{error!r}{vars(error)}{error.__cause__}{error.__context__}{caplog.text}"
        assert isinstance(error, Unavailable)
        assert "hush" not in text
        assert not main.table_exists("t")


def test_a_statement_that_writes_is_refused(main, shop, postgres):
    shop("CREATE TABLE shop.t (id int)")
    with pytest.raises(Invalid, match="refuses"):
        main.import_database("t", postgres, query="DELETE FROM shop.t RETURNING id")


# Spark


def test_spark_reads_any_database_that_has_a_driver(main, spark, monkeypatch):
    url = "jdbc:derby:memory:shop;create=true"
    connection = spark._jvm.java.sql.DriverManager.getConnection(url)
    statement = connection.createStatement()
    statement.execute("CREATE TABLE orders (id BIGINT, name VARCHAR(20), price DECIMAL(10, 2), moved TIMESTAMP)")
    statement.execute("INSERT INTO orders VALUES (1, 'a', 1.20, '2026-01-01 10:00:00'), (2, NULL, NULL, NULL)")
    asked = {"table": "ORDERS", "spark": spark, "since": "MOVED", "primary_key": ["ID"], "password": "hush"}
    tried = main.import_database("t", url, **asked, dry_run=True)
    found = main.import_database("t", url, **asked)
    assert (tried.source_rows, found.source_rows, found.rows, tried.columns) == (2, 2, 2, found.columns)
    statement.execute("UPDATE orders SET name = 'b', moved = '2026-01-02 10:00:00.000001' WHERE id = 1")
    again = main.import_database("t", url, **asked)
    assert (again.source_rows, again.rows) == (2, 0)
    assert rows(main.table("t"), "ID", "NAME", "PRICE") == [(1, "b", Decimal("1.20")), (2, None, None)]
    assert not main.import_database("t", url, **asked).is_new
    query = "SELECT id + 10 AS ten FROM orders"
    assert main.import_database("q", url, query=query, spark=spark).rows == 2
    for text in (f"{found}{found!r}", str(main.table("t").properties), str(main.log())):
        assert "hush" not in text
    with pytest.raises(Invalid, match="can't read this over JDBC") as refused:
        main.import_database("n", f"{url};password=hush", table="nope", spark=spark)
    assert "hush" not in f"{refused.value}{vars(refused.value)}{refused.value.__cause__}{refused.value.__context__}"
    with pytest.raises(Invalid, match="over JDBC"):
        main.import_database("n", "sqlite:///x.db", table="t", spark=spark)
    connection.close()

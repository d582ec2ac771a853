"""Statements that change rows, as everybody writes them first: what they do to the rows."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Commit, Lake, Table
from lakebed.errors import Invalid, NotFound

PAST, FUTURE = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """One lake for all tests, each of which has tables of its own."""
    with lakebed.connect(tmp_path_factory.mktemp("sql") / "lake") as lake:
        lake.catalog().create_namespace("s")
        yield lake


class Given:
    """A table of the lake and its rows."""

    def __init__(self, lake: Lake, name: str, columns: dict[str, str], *rows: tuple[Any, ...], **more: Any) -> None:
        self.table: Table = lake.catalog().create_table(f"s.{name}", columns, **more)
        if rows:
            self.append(*rows)

    def append(self, *rows: tuple[Any, ...]) -> None:
        schema = self.table.scan().to_arrow().schema
        self.table.append(
            pyarrow.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        )

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        found = self.table.scan().to_arrow().to_pylist()
        return sorted((tuple(row.values()) for row in found), key=repr)


def answer(lake: Lake, spark: SparkSession, text: str, **options: Any) -> list[tuple[Any, ...]]:
    frame = lake.sql(spark, text, **options)
    assert isinstance(frame, DataFrame)
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_an_update_by_a_call_without_arguments_was_refused(lake: Lake, spark: SparkSession) -> None:
    given = Given(lake, "stamped", {"at": "timestamptz", "b": "int"}, (PAST, 1), (PAST, 2), (FUTURE, 3))
    lake.sql(spark, "UPDATE s.stamped SET at = now() WHERE b = 2")
    assert [(at == PAST, b) for at, b in given.rows] == [(True, 1), (False, 2), (False, 3)]
    lake.sql(spark, "UPDATE s.stamped SET at = current_timestamp(), b = 5 WHERE at < now() AND b <> 1")
    assert sorted(b for _, b in given.rows) == [1, 3, 5]


def test_a_merge_by_a_call_without_arguments_was_refused(lake: Lake, spark: SparkSession) -> None:
    given = Given(lake, "merged", {"at": "timestamptz", "b": "int"}, (PAST, 1), (FUTURE, 2))
    lake.sql(
        spark,
        "MERGE INTO s.merged t USING (SELECT explode(sequence(1, 3)) AS b) s ON t.b = s.b "
        "WHEN MATCHED AND t.at < now() THEN DELETE WHEN NOT MATCHED THEN INSERT (at, b) VALUES (now(), s.b)",
    )
    assert [b for _, b in given.rows if b is not None] == [3, 2]
    assert PAST < given.rows[0][0] < FUTURE


def test_a_replacement_and_a_with_before_an_insert_were_refused(lake: Lake, spark: SparkSession) -> None:
    given = Given(lake, "replaced", {"at": "timestamptz", "b": "long"}, (PAST, 1), (FUTURE, 2))
    lake.sql(spark, "INSERT INTO s.replaced REPLACE WHERE at > now() SELECT TIMESTAMP '2001-01-01 00:00:00Z', 7")
    assert [b for _, b in given.rows] == [1, 7]
    lake.sql(spark, "WITH q AS (SELECT count(*) AS n FROM s.replaced) INSERT INTO s.replaced (b) SELECT n FROM q")
    assert sorted(b for _, b in given.rows) == [1, 2, 7]


def test_parameters_are_values_and_prune_files(lake: Lake, spark: SparkSession) -> None:
    nasty = "it's \\ ${x} \"; DROP TABLE s.asked --"
    given = Given(
        lake,
        "asked",
        {"id": "long", "item": "string", "day": "date", "price": "decimal(10, 2)"},
        *((1, "tea", date(2026, 1, 1), Decimal("1.50")), (2, nasty, date(2026, 1, 2), None)),
        properties={"write.inline-bytes": "0"},
    )
    given.append((9, "pie", date(2026, 2, 1), None))
    by_name: Any = lake.sql(spark, "SELECT id FROM s.asked WHERE id = :id AND day > :d", args={"id": 9, "d": date.min})
    assert ([row.id for row in by_name.collect()], len(by_name.inputFiles())) == ([9], 1)
    assert answer(lake, spark, "SELECT id FROM s.asked WHERE item = ? OR price = ?", args=[nasty, Decimal("1.50")]) == [
        (1,),
        (2,),
    ]
    asked = "SELECT :a, :b, :c, -:n, array_contains(:list, 'x'), :at"
    values = {"a": None, "b": True, "c": 2**40, "n": -1, "list": ["x", "y"], "at": FUTURE}
    assert answer(lake, spark, asked, args=values)[0][:5] == (None, True, 2**40, 1, True)
    others = [float("inf"), -1.5, b"\\x00", datetime.min, {"a": 1}, timedelta(days=-1, seconds=1), -(2**63), []]
    compared = "SELECT ?, ? = -1.5, ? = X'5C783030', ? = TIMESTAMP '0001-01-01 00:00:00', ?['a'], ?, ?, size(?)"
    expected = (float("inf"), True, True, True, 1, timedelta(days=-1, seconds=1), -(2**63), 0)
    assert answer(lake, spark, compared, args=others) == [expected]
    lake.sql(
        spark, "UPDATE s.asked SET item = :item WHERE id IN (:one, :two)", args={"item": nasty, "one": 1, "two": 9}
    )
    assert [row[1] for row in given.rows] == [nasty] * 3
    version = given.table.history()[-2].version
    assert answer(lake, spark, "SELECT count(*) FROM s.asked VERSION AS OF :v", args={"v": version}) == [(2,)]
    with lake.catalog().transaction() as tx:
        tx.sql(spark, "DELETE FROM s.asked WHERE id = ?", args=[9])
    assert [row[0] for row in given.rows] == [1, 2]


@pytest.mark.parametrize(
    ("text", "args", "problem"),
    [
        ("SELECT 1,\n :a", {}, "line 2, column 3: this parameter has no value"),
        ("SELECT :a", {"a": 1, "b": 2}, "args: 'b': a value has no parameter"),
        ("SELECT :a", [1], "line 1, column 9: this parameter has a name"),
        ("SELECT ?, ?", [1], "not as many values as parameters (expected 2, found 1)"),
        ("SELECT ?", [object()], "can't be the value of a parameter"),
        ("SELECT ?", [Decimal("NaN")], "can't be the value of a parameter"),
        ("SELECT ?", [2**70], "too large"),
        ("SELECT ?", "x", "args are values by name, or a list"),
        ("SELECT :a + nope FROM s.nope", {"a": "a long text"}, "line 1, column 23: s.nope"),
    ],
)
def test_parameters_that_do_not_fit_are_pointed_at(
    lake: Lake, spark: SparkSession, text: str, args: Any, problem: str
) -> None:
    with pytest.raises((Invalid, NotFound)) as refused:
        lake.sql(spark, text, args=args)
    assert problem in str(refused.value)


def test_several_statements_run_in_turn_and_the_last_one_answers(lake: Lake, spark: SparkSession) -> None:
    text = """
        CREATE TABLE s.several (id INT); -- first; then
        INSERT INTO s.several VALUES (1), (2);
        UPDATE s.several SET id = id + 10 WHERE id = 2;
        SELECT id, ';' AS sign FROM s.several;
    """
    assert answer(lake, spark, text) == [(1, ";"), (12, ";")]
    commit = lake.sql(spark, "SELECT 1; DELETE FROM s.several WHERE id = 1", message="cleaned")
    assert isinstance(commit, Commit) and commit.message == "cleaned"
    with pytest.raises(NotFound, match=r"statement 2 of 3: line 1, column 47: s\.nope"):
        lake.sql(spark, "INSERT INTO s.several VALUES (5); INSERT INTO s.nope VALUES (1); SELECT 1")
    assert answer(lake, spark, "SELECT id FROM s.several") == [(12,), (5,)]
    with pytest.raises(Invalid, match="several statements can't share an event id"):
        lake.sql(spark, "SELECT 1; SELECT 2", event_id="6d3c9f0e-2f1f-4a65-9f0e-0a4a3a6f8a12")


def test_default_is_a_value(lake: Lake, spark: SparkSession) -> None:
    lake.sql(spark, "CREATE TABLE s.defaults (id INT, n INT DEFAULT 7, name STRING DEFAULT 'it\\'s', at TIMESTAMP)")
    lake.sql(spark, "INSERT INTO s.defaults VALUES (1, DEFAULT, DEFAULT, DEFAULT), (DEFAULT, 2, 'b', NULL)")
    lake.sql(spark, "INSERT INTO s.defaults (name, id) VALUES ('c', 3), (DEFAULT, 4)")
    given = lake.catalog().table("s.defaults")
    expected = [(None, 2, "b", None), (1, 7, "it's", None), (3, 7, "c", None), (4, 7, "it's", None)]
    assert answer(lake, spark, "SELECT * FROM s.defaults") == sorted(expected, key=repr)
    lake.sql(spark, "UPDATE s.defaults SET n = 0, name = DEFAULT WHERE id = 3; UPDATE s.defaults SET n = DEFAULT")
    lake.sql(
        spark,
        "MERGE INTO s.defaults t USING (SELECT explode(array(1, 9)) AS id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = 'x', at = DEFAULT "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (id, DEFAULT)",
    )
    rows = {row["id"]: (row["n"], row["name"]) for row in given.scan().to_arrow().to_pylist()}
    assert rows == {None: (7, "b"), 1: (7, "x"), 3: (7, "it's"), 4: (7, "it's"), 9: (7, "it's")}


def test_fields_of_structs_are_set(lake: Lake, spark: SparkSession) -> None:
    lake.sql(spark, "CREATE TABLE s.nested (id INT, st STRUCT<a: BIGINT, b: STRUCT<c: STRING, `d e`: INT>>)")
    lake.sql(
        spark, "INSERT INTO s.nested VALUES (1, named_struct('a', 1, 'b', named_struct('c', 'x', 'd e', 5))), (2, NULL)"
    )
    lake.sql(spark, "UPDATE s.nested n SET n.st.b.`D E` = id * 10, st.a = n.st.a + 1")
    found = answer(lake, spark, "SELECT id, st.a, st.b.c, st.b.`d e` FROM s.nested")
    assert found == [(1, 2, "x", 10), (2, None, None, 20)]
    source = "(SELECT 1 AS id, 7 AS v) s"
    lake.sql(
        spark,
        f"MERGE INTO s.nested t USING {source} ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.st.a = s.v, st.b = NULL",
    )
    assert answer(lake, spark, "SELECT st.a, st.b FROM s.nested WHERE id = 1") == [(7, None)]
    for text, problem in (
        ("UPDATE s.nested SET st.nope = 1", "st.nope: there is no such field (expected one of a, b)"),
        ("UPDATE s.nested SET id.a = 1", "id: only fields of structs can be set"),
        ("UPDATE s.nested SET st.a = DEFAULT", "st.a: a field of a struct has no default"),
        ("UPDATE s.nested SET st[0] = 1", "line 1, column 23: only columns and fields of structs can be set"),
    ):
        with pytest.raises(Invalid) as refused:
            lake.sql(spark, text)
        assert problem in str(refused.value)


def test_queries_inside_a_condition_may_be_correlated(lake: Lake, spark: SparkSession) -> None:
    given = Given(lake, "outer_t", {"id": "int", "v": "int"}, (1, 10), (2, 20), (3, 30))
    Given(lake, "inner_t", {"id": "int", "w": "int"}, (1, 100), (2, None), (2, 5))
    lake.sql(spark, "UPDATE s.outer_t o SET v = (SELECT max(w) FROM s.inner_t i WHERE i.id = o.id) WHERE o.id < 3")
    assert given.rows == [(1, 100), (2, 5), (3, 30)]
    lake.sql(spark, "DELETE FROM s.outer_t o WHERE EXISTS (SELECT 1 FROM s.inner_t i WHERE i.id = o.id AND i.w = o.v)")
    assert given.rows == [(3, 30)]
    lake.sql(spark, "DELETE FROM s.outer_t WHERE NOT EXISTS (SELECT 1 FROM s.inner_t i WHERE i.id = s.outer_t.id)")
    assert given.rows == []


def test_rows_are_deleted_and_updated_by_another_table(lake: Lake, spark: SparkSession) -> None:
    given = Given(lake, "kept", {"id": "int", "v": "int"}, (1, 10), (2, 20), (3, 30))
    Given(lake, "gone", {"id": "int", "w": "int"}, (1, 1), (1, 2), (9, 9))
    lake.sql(spark, "DELETE FROM s.kept k USING s.gone g WHERE k.id = g.id")
    assert given.rows == [(2, 20), (3, 30)]
    lake.sql(spark, "UPDATE s.kept SET v = g.n FROM (SELECT 3 AS id, 4 AS n) g WHERE kept.id = g.id")
    assert given.rows == [(2, 20), (3, 4)]
    lake.sql(spark, "DELETE FROM s.kept k USING (VALUES (2), (9)) AS v (key) WHERE k.id = v.key")
    assert given.rows == [(3, 4)]


def test_a_struct_called_like_its_table_needed_an_alias(lake: Lake, spark: SparkSession) -> None:
    lake.sql(spark, "CREATE TABLE s.address (id INT, address STRUCT<city: STRING, zip: INT>)")
    places = "(1, named_struct('city', 'Rome', 'zip', 1)), (2, named_struct('city', 'Bonn', 'zip', 2)), (3, NULL)"
    lake.sql(spark, f"INSERT INTO s.address VALUES {places}")
    lake.sql(spark, "UPDATE s.address SET address.zip = address.zip + 6 WHERE address.city = 'Rome'")
    lake.sql(
        spark, "UPDATE s.address SET address.address.zip = 9, address.id = 20 WHERE s.address.address.city = 'Bonn'"
    )
    lake.sql(spark, "DELETE FROM s.address WHERE address.id = 3 AND address._row_id > 0 AND address.city IS NULL")
    found = "SELECT id, address.city, address.zip FROM s.address"
    assert answer(lake, spark, found) == [(1, "Rome", 7), (20, "Bonn", 9)]
    lake.sql(
        spark,
        "MERGE INTO s.address USING (SELECT 1 AS id, 'Oslo' AS city, 0 AS address) s ON address.id = s.id "
        "WHEN MATCHED AND address.zip = 7 THEN UPDATE SET address.city = concat(address.city, s.city)",
    )
    lake.sql(spark, "UPDATE s.address a SET id = s.n FROM (SELECT 9 AS zip, 5 AS n) s WHERE address.zip = s.zip")
    assert answer(lake, spark, found) == [(1, "RomeOslo", 7), (5, "Bonn", 9)]
    inner = "(SELECT 1 FROM (SELECT 9 AS zip) i WHERE i.zip = address.zip)"
    lake.sql(spark, f"DELETE FROM s.address WHERE EXISTS {inner}")
    assert answer(lake, spark, found) == [(1, "RomeOslo", 7)]


def test_the_history_showed_names_that_were_made_up_for_inner_queries(lake: Lake, spark: SparkSession) -> None:
    given = Given(lake, "told", {"id": "int", "v": "int"}, (1, 10), (2, 20), (3, 30))
    Given(lake, "tells", {"id": "int"}, (1,), (2,))
    texts = {
        "update": "EXISTS (SELECT 1 FROM s.tells i WHERE i.id = o.id)",
        "delete": "id IN (SELECT max(id) FROM s.tells)",
        "overwrite": "id < (SELECT 2)",
        "merge_rows": "s.id = (SELECT min(id) FROM s.tells)",
    }
    lake.sql(spark, f"UPDATE s.told o SET v = 0 WHERE {texts['update']}")
    lake.sql(spark, f"DELETE FROM s.told o WHERE {texts['delete']}")
    lake.sql(spark, f"INSERT INTO s.told REPLACE WHERE {texts['overwrite']} SELECT 1, 5")
    lake.sql(
        spark, f"MERGE INTO s.told t USING s.tells s ON t.id = s.id WHEN MATCHED AND {texts['merge_rows']} THEN DELETE"
    )
    done = [commit.operations[-1] for commit in given.table.history()][3::-1]
    details = {**texts, "merge_rows": f"WHEN MATCHED AND {texts['merge_rows']} THEN DELETE"}
    assert {operation.type: operation.detail for operation in done} == details
    assert given.rows == [(3, 30)]


def test_a_delete_by_another_table_was_a_merge_in_the_log(lake: Lake, spark: SparkSession) -> None:
    given = Given(
        lake, "left", {"id": "int", "v": "int"}, (1, 10), (2, 20), properties={"write.delete.mode": "copy-on-write"}
    )
    right = Given(lake, "right", {"id": "int"}, (1,))
    lake.sql(spark, "DELETE FROM s.left l USING s.right r WHERE l.id = r.id AND l.v = 10")
    right.append((2,))
    lake.sql(spark, "UPDATE s.left l SET v = 11 FROM s.right r WHERE l.id = r.id")
    updated, deleted = [commit.operations[0] for commit in given.table.history()[:2]]
    assert (updated.type, updated.detail) == ("update", "l.id = r.id")
    assert deleted.type == "delete"
    assert deleted.detail == "l.id = r.id AND l.v = 10: 1 other rows of 1 files copied"
    assert str(given.table.history()[1]).endswith("delete s.left") and given.rows == [(2, 11)]


def test_a_merge_brings_columns(lake: Lake, spark: SparkSession) -> None:
    given = Given(lake, "grown", {"id": "int", "v": "int"}, (1, 10))
    commit = lake.sql(
        spark,
        "MERGE WITH SCHEMA EVOLUTION INTO s.grown t USING (SELECT explode(array(1, 2)) AS id, 'x' AS note) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        message="grew",
    )
    assert given.rows == [(1, 10, "x"), (2, None, "x")]
    assert isinstance(commit, Commit) and given.table.history()[0].message == "grew" and len(given.table.history()) == 3


def test_rows_are_inserted_into_a_named_partition(lake: Lake, spark: SparkSession) -> None:
    columns = {"id": "int", "region": "string", "v": "int"}
    given = Given(lake, "parts", columns, (1, "eu", 1), (2, "us", 2), partition_by=["region"])
    with given.table.evolve() as change:
        change.set_default("v", 3)
    lake.sql(spark, "INSERT INTO s.parts PARTITION (region = 'eu') VALUES (3, DEFAULT)")
    lake.sql(spark, "INSERT INTO s.parts PARTITION (region) (v, id, region) VALUES (4, 4, 'us')")
    assert given.rows == [(1, "eu", 1), (2, "us", 2), (3, "eu", 3), (4, "us", 4)]
    lake.sql(spark, "INSERT OVERWRITE s.parts PARTITION (region = 'eu') SELECT 9, 9")
    assert given.rows == [(2, "us", 2), (4, "us", 4), (9, "eu", 9)]
    with pytest.raises(Invalid, match="line 1, column 32: there is no such column"):
        lake.sql(spark, "INSERT INTO s.parts PARTITION (nope = 1) VALUES (3, 3)")
    with pytest.raises(Invalid, match="line 1, column 52: a column is named twice"):
        lake.sql(spark, "INSERT INTO s.parts PARTITION (region = 'eu') (id, region) VALUES (3, 'us')")


def test_texts_named_a_partition_of_dates_and_were_refused(lake: Lake, spark: SparkSession) -> None:
    """As in Spark, in `ADD PARTITION` and in Hive's folders, a text is what it means in the column."""
    columns = {"id": "int", "day": "date", "n": "long", "price": "decimal(9, 2)", "open": "boolean"}
    given = Given(lake, "dated", columns, partition_by=["day", "n", "price", "open"])
    part = "PARTITION (day = '2026-11-01', n = '5', price = '1.5', open = 'true')"
    lake.sql(spark, f"INSERT INTO s.dated {part} VALUES (1)")
    lake.sql(spark, f"INSERT INTO s.dated {part} VALUES (2)")
    values = (date(2026, 11, 1), 5, Decimal("1.50"), True)
    assert given.rows == [(1, *values), (2, *values)]
    lake.sql(spark, f"INSERT OVERWRITE s.dated {part} VALUES (3)")
    assert given.rows == [(3, *values)]
    for wrong in ("day = '2026-13-01'", "n = 'five'", "n = '99999999999999999999'", "price = '1.555'"):
        with pytest.raises(Invalid, match="this text is not a value of the column"):
            lake.sql(spark, f"INSERT INTO s.dated PARTITION ({wrong}) (id) SELECT 1")
    assert given.rows == [(3, *values)]


@pytest.mark.parametrize(
    "default", ["current_timestamp()", "now()", "CURRENT_DATE", "rand() * 3", "1 + length(uuid())"]
)
def test_a_default_that_changes_was_frozen_when_the_table_was_created(
    lake: Lake, spark: SparkSession, default: str
) -> None:
    with pytest.raises(Invalid) as refused:
        lake.sql(spark, f"CREATE TABLE s.frozen (id INT, at STRING DEFAULT {default}, n INT)")
    assert "line 1, column 32: a default is one value for all rows" in str(refused.value)
    assert f"VALUES ({default}, …)" in refused.value.advice


def test_types_with_a_length_raised_an_error_of_java(lake: Lake, spark: SparkSession) -> None:
    lake.sql(
        spark,
        "CREATE TABLE s.lengths "
        "(a VARCHAR(3) DEFAULT 'abc', b CHAR(2) NOT NULL, c TEXT, d TINYINT, e SMALLINT, f REAL)",
    )
    table = lake.catalog().table("s.lengths")
    assert [str(field.type) for field in table.schema.fields] == ["string", "string", "string", "int", "int", "float"]
    lake.sql(spark, "INSERT INTO s.lengths (b, d) VALUES ('xy', 1)")
    for text in ("INSERT INTO s.lengths (a, b) VALUES ('abcd', 'x')", "UPDATE s.lengths SET b = 'xyz'"):
        with pytest.raises(Invalid, match="check"):
            lake.sql(spark, text)
    assert answer(lake, spark, "SELECT a, b FROM s.lengths") == [("abc", "xy")]

"""Filters of tables: in words and in Python, on columns inside structs, by patterns, over files of several schemas."""

import pyarrow
import pytest

from lakebed import Catalog, Invalid, Table, col
from lakebed.table.filter.condition import Condition
from tests.support.scans import opened_files

pytestmark = pytest.mark.usefixtures("in_files")

FIRST = [
    {"id": 1, "word": "apple", "place": {"city": "Bonn", "zip": {"code": 53111}}},
    {"id": 2, "word": "a_b", "place": {"city": None, "zip": None}},
    {"id": 3, "word": None, "place": None},
]
LATER = [
    {"id": 4, "word": "Apple", "place": {"town": "Ulm", "zip": {"code": 89073}, "state": "BW"}, "rank": 2},
    {"id": 5, "word": "a\nb", "place": {"town": "Jena", "zip": {"code": None}, "state": None}, "rank": None},
]
SCHEMA = {"id": "long", "word": "string", "place": "struct<city: string, zip: struct<code: int>>"}


@pytest.fixture
def table(main: Catalog) -> Table:
    """Two files; the second one has a renamed field, a field inside a struct and a column that the first one lacks."""
    made = main.create_table("things", SCHEMA)
    place = pyarrow.struct(
        [("city", pyarrow.string()), ("zip", pyarrow.struct([("code", pyarrow.int32())]))],
    )
    made.append(pyarrow.table({"id": [1, 2, 3], "word": column("word"), "place": pyarrow.array(places(FIRST), place)}))
    with made.evolve() as change:
        change.rename_column("place.city", "town")
        change.add_column("place.state", "string", default="NW")
        change.add_column("rank", "int", default=1)
    place = pyarrow.struct(
        [("town", pyarrow.string()), ("zip", place.field("zip").type), ("state", pyarrow.string())],
    )
    later = {"id": [4, 5], "word": [one["word"] for one in LATER], "place": pyarrow.array(places(LATER), place)}
    made.append(pyarrow.table(later | {"rank": pyarrow.array([2, None], pyarrow.int32())}))
    return made


def column(name: str) -> list[object]:
    return [one[name] for one in FIRST]


def places(rows: list[dict[str, object]]) -> list[object]:
    return [one["place"] for one in rows]


ASKED: list[tuple[str, Condition, list[int]]] = [
    ("place.town = 'Bonn'", col("place.town") == "Bonn", [1]),
    ("place.town is null", col("place", "town").is_null(), [2, 3]),
    ("place.zip.code > 53111", col("place.zip.code") > 53111, [4]),
    ("place.zip.code is not null", col("place.zip.code").is_not_null(), [1, 4]),
    ("place.state = 'NW'", col("place.state") == "NW", [1, 2]),
    ("place.state is null", col("place.state").is_null(), [3, 5]),
    ("place.state like 'B%'", col("place.state").starts_with("B"), [4]),
    ("not place.state like 'B%'", ~col("place.state").starts_with("B"), [1, 2]),
    ("word like 'a%'", col("word").starts_with("a"), [1, 2, 5]),
    ("word like 'a_b'", col("word").like("a_b"), [2, 5]),
    ("word like 'a!_b' escape '!'", col("word").like("a!_b", escape="!"), [2]),
    ("word not like '%p%'", ~col("word").like("%p%"), [2, 5]),
    ("rank = 1", col("rank") == 1, [1, 2, 3]),
    ("rank is null", col("rank").is_null(), [5]),
    ("rank between 2 and 3 or id = 1", col("rank").between(2, 3) | (col("id") == 1), [1, 4]),
    ("id in (1, 4) and place.town != 'Ulm'", col("id").is_in([1, 4]) & (col("place.town") != "Ulm"), [1]),
]


@pytest.mark.parametrize(("text", "built", "ids"), ASKED, ids=[text for text, _, _ in ASKED])
def test_words_and_python_find_the_same_rows(table: Table, text: str, built: Condition, ids: list[int]) -> None:
    for where in (text, built, str(built)):
        assert table.scan(where).to_arrow()["id"].to_pylist() == ids
        assert table.scan(where, columns=["word"]).to_arrow().schema.names == ["word"]
        assert table.scan(where).count() == len(ids)


def test_spark_finds_the_same_rows(table: Table, spark) -> None:  # type: ignore[no-untyped-def]
    for text, built, ids in ASKED:
        found = table.read(spark, where=built, columns=["id"]).toArrow()["id"].to_pylist()
        assert sorted(found) == ids, text


def test_a_file_that_is_older_than_a_column_is_not_opened_for_what_its_default_is_not(table: Table) -> None:
    assert len(opened_files(table.scan("rank = 2"))) == 1
    assert len(opened_files(table.scan("rank = 1"))) == 1
    assert len(opened_files(table.scan("place.state like 'B%'"))) == 1
    assert len(opened_files(table.scan("place.town = 'Bonn'"))) == 1


@pytest.mark.parametrize(
    "where", [col("place") == 1, col("nothing") == 1, col("place.town") == 1, col("word").is_nan(), "place.x = 1", 17]
)
def test_what_a_filter_can_not_ask_is_refused(table: Table, where: object) -> None:
    with pytest.raises(Invalid):
        table.scan(where)  # type: ignore[arg-type]


def test_system_tables_take_conditions_too(table: Table, main: Catalog) -> None:
    found = main.inspect("__tables", where=col("table_name") == "things", columns=["table_name"])
    assert found.to_pylist() == [{"table_name": "things"}]

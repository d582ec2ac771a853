"""Filters of tables: in words and in Python, on columns inside structs, by patterns, over files of several schemas."""

import re
from collections.abc import Callable

import pyarrow
import pytest

from lakebed import Catalog, Conflict, Invalid, Table, col, when_matched_delete
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


CALCULATED: list[tuple[str, list[int]]] = [
    ("id > rank + 1", [3, 4]),
    ("place.zip.code % 2 = 1 and id < 5", [1, 4]),
    ("upper(word) = 'APPLE'", [1, 4]),
    ("not (upper(word) = 'APPLE')", [2, 5]),  # for a null it is unknown
    ("upper(word) = 'APPLE' or word is null", [1, 3, 4]),
    ("case when rank = 2 then true else id = 1 end", [1, 4]),
    ("place.town || word = 'Bonnapple'", [1]),
    ("length(word) = rank", []),
    ("rank <> 0 and 2 / rank = 1", [4]),
    ("1 = 1", [1, 2, 3, 4, 5]),
    ("id > 3 and 1 = 2", []),
    ("_pos = 0", [1, 4]),
    ("_file is not null and id = 2", [2]),
    ("_last_updated_sequence_number > 0 and id + 0 = 2", [2]),
]


@pytest.mark.parametrize(("where", "ids"), CALCULATED, ids=[where for where, _ in CALCULATED])
def test_a_condition_may_be_any_expression(table: Table, where: str, ids: list[int]) -> None:
    for _ in range(2):  # in files, and in one that is compacted
        scan = table.scan(where)
        assert sorted(scan.to_arrow()["id"].to_pylist()) == ids
        assert scan.count() == len(ids)
        assert sum(scan.of(split).count() for split in scan.splits()) == len(ids)
        assert table.scan(where, columns=["word"], limit=1).to_arrow().num_rows == min(1, len(ids))
        assert "rows: tested by" in scan.explain()
        if "_pos" in where:
            return
        table.compact()


@pytest.mark.parametrize("inline", ["0", "64000"])
def test_a_condition_that_can_not_be_calculated_is_no_damage_of_a_file(main: Catalog, inline: str) -> None:
    table = main.create_table("wrong", {"id": "long", "n": "long"}, properties={"write.inline-bytes": inline})
    table.append([{"id": 1, "n": 0}])
    table.append([{"id": 2, "n": 0}])
    for where, problem in (("id / n > 1", "divides by zero"), ("_row_id = 'x'", "can't be cast")):
        for change in (lambda text: table.scan(text).to_arrow(), lambda text: table.scan(text).count(), table.delete):
            with pytest.raises(Invalid, match=problem):
                change(where)
    assert table.scan("n <> 0 and id / n > 1").count() == 0


def test_conjuncts_that_bind_prune_files(table: Table) -> None:
    assert len(opened_files(table.scan("id > rank + 2"))) == 2
    assert len(opened_files(table.scan("id > rank + 2 and id > 3"))) == 1


def test_rows_are_changed_by_any_expression(table: Table) -> None:
    found = table.scan("id = 2", columns=["_row_id"]).to_arrow()["_row_id"][0].as_py()
    table.delete(f"_row_id in ({found}, 1000)")
    table.update({"word": "'changed'"}, where="id = place.zip.code - 53110")
    commit = table.overwrite([{"id": 70}], where="id > 3 and upper(word) = 'APPLE'")
    assert commit is not None
    kept = table.scan(columns=["id", "word"]).to_arrow().to_pylist()
    assert sorted((one["id"], one["word"]) for one in kept if one["word"]) == [(1, "changed"), (5, "a\nb")]
    assert sorted(one["id"] for one in kept) == [1, 3, 5, 70]
    table.delete("length(word) < 4")
    assert table.scan().count() == 3


def test_a_row_that_was_written_again_is_deleted_by_its_id(table: Table) -> None:
    known = dict(zip(*(table.scan().to_arrow()["id"].to_pylist(), row_ids(table)), strict=True))
    table.update({"rank": "9"}, where="id = 1")
    table.compact()
    table.delete(f"_row_id = {known[1]}")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4, 5]


def row_ids(table: Table) -> list[int]:
    found: list[int] = table.scan(columns=["_row_id"]).to_arrow()["_row_id"].to_pylist()
    return found


def test_a_transaction_conflicts_with_rows_that_pass_its_expression(main: Catalog, table: Table) -> None:
    with pytest.raises(Conflict), main.transaction("by expression") as change:
        change.table("things").delete("id > rank")
        table.append([{"id": 9, "rank": 1}])


def test_what_only_spark_evaluates_says_what_to_do(table: Table) -> None:
    unknown = "soundex(word) = 'A140'"
    with pytest.raises(Invalid, match=r"Only Spark evaluates this: use read\(spark, where=…\)"):
        table.scan(unknown)
    for change in (
        lambda: table.delete(unknown),
        lambda: table.update({"rank": "1"}, where=unknown),
        lambda: table.update({"word": "soundex(word)"}),
        lambda: table.merge([{"id": 1}], "id", when_matched_delete(where=unknown)),
        lambda: table.update({"word": "CAST(rank AS interval day)"}),
    ):
        with pytest.raises(Invalid, match=r"pass spark= or a Spark DataFrame"):
            change()


def test_a_name_in_double_quotes_says_backticks(main: Catalog) -> None:
    table = main.create_table("quoted", {"id": "long", "my col": "double"})
    for mistaken in (
        lambda: table.scan('"my col" > 0.5'),
        lambda: table.delete('"my col" > 0.5'),
        lambda: table.update({"id": "1"}, where='"my col" is null'),
        lambda: table.update({"my col": '"my col" * 2'}),
    ):
        with pytest.raises(Invalid, match="Write the column in backticks: `my col`"):
            mistaken()


@pytest.mark.parametrize("name", ["a.b", "unit.price.net"])
def test_a_name_with_a_dot_is_said_to_need_backticks(main: Catalog, name: str) -> None:
    """What it did: `there is no such column (expected one of a.b, z)`."""
    columns = {name: "int", "z": "int"}
    table = main.create_table("dotted", columns)
    table.append([{name: 1, "z": 2}])
    asked: list[Callable[[], object]] = [
        lambda: table.scan(f"{name} = 1").count(),
        lambda: table.scan(f"{name} + z > 1").count(),
        lambda: table.scan(col(name) == 1).count(),
        lambda: table.update({"z": f"{name} + 1"}),
        lambda: table.set_properties({"check.positive": f"{name} > 0"}),
        lambda: main.create_table("other", columns, partition_by=[name]),
        lambda: main.create_table("other", columns, sort_by=[f"{name} desc"]),
    ]
    for ask in asked:
        with pytest.raises(Invalid, match=re.escape(f"write `{name}`")):
            ask()
    assert table.scan(f"`{name}` = 1").count() == table.scan(col(f"`{name}`") == 1).count() == 1

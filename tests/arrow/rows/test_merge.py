"""Merging rows in memory, beside a model that asks every row of the table about every row of the source."""

import datetime
import decimal
import math
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakebed
from lakebed.arrow.rows.merge import Merged, apply_clauses, bind_merge, inserted_rows
from lakebed.arrow.types import arrow_schema
from lakebed.errors import Invalid
from lakebed.lake.clauses import (
    when_matched_delete,
    when_matched_update,
    when_not_matched_by_source_delete,
    when_not_matched_by_source_update,
    when_not_matched_insert,
)
from lakebed.table.expression.merge_clauses import Clause, Then, When
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

TARGET = Schema([Field("id", "int"), Field("a", "int"), Field("note", "string", write_default="new")])  # type: ignore[arg-type]
Row = dict[str, Any]


def batch(rows: Sequence[Row], schema: Schema = TARGET) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pylist([*rows], schema=arrow_schema(schema))


def merged(target: Sequence[Row], source: pyarrow.Table, on: Any, *clauses: Clause) -> list[Row]:
    """The table's rows after a merge, in their order, with those behind them that came new."""
    merge = bind_merge(TARGET, source, on, clauses)
    done = apply_clauses(merge, batch(target))
    return after(target, done) + list(inserted_rows(merge, done.matched).to_pylist())


def after(target: Sequence[Row], done: Merged) -> list[Row]:
    changed = dict(zip(done.updated.to_pylist(), done.rows.to_pylist(), strict=True))
    gone = {*done.deleted.to_pylist()}
    assert not gone & changed.keys()
    return [changed.get(place, row) for place, row in enumerate(target) if place not in gone]


def table(*rows: Row, **types: pyarrow.DataType) -> pyarrow.Table:
    given = {"id": pyarrow.int32(), "a": pyarrow.int32(), "note": pyarrow.string()} | types
    return pyarrow.Table.from_pylist([*rows], schema=pyarrow.schema(list(given.items())))


OLD = [{"id": 1, "a": 10, "note": "x"}, {"id": 2, "a": 20, "note": "y"}, {"id": None, "a": 0, "note": "z"}]


def test_an_upsert_changes_what_matches_and_adds_the_rest() -> None:
    source = table({"id": 2, "a": 21, "note": "new y"}, {"id": 3, "a": 30, "note": "w"})
    assert merged(OLD, source, "id", when_matched_update(), when_not_matched_insert()) == [
        OLD[0],
        {"id": 2, "a": 21, "note": "new y"},
        OLD[2],
        {"id": 3, "a": 30, "note": "w"},
    ]


def test_null_keys_match_nothing_not_even_each_other() -> None:
    source = table({"id": None, "a": 1, "note": "n"})
    rows = merged(OLD, source, ["id"], when_matched_delete(), when_not_matched_insert())
    assert rows == [*OLD, {"id": None, "a": 1, "note": "n"}]


def test_the_first_clause_that_holds_decides() -> None:
    source = table({"id": 1, "a": 1, "note": "s"}, {"id": 2, "a": 2, "note": "s"}, {"id": 3, "a": 3, "note": "s"})
    rows = merged(
        OLD,
        source,
        "target.id = source.id",
        when_matched_update({"a": "target.a + source.a"}, where="source.a < 2"),
        when_matched_update({"a": lakebed.lit(-1)}, where="source.a < 3"),
        when_matched_delete(),
        when_not_matched_insert({"id": "id", "note": "upper(note)"}, where="a > 5"),
        when_not_matched_insert({"id": "source.id"}),
        when_not_matched_by_source_delete(where="id = 99"),
        when_not_matched_by_source_update({"note": "note || '!'"}),
    )
    assert rows == [
        {"id": 1, "a": 11, "note": "x"},
        {"id": 2, "a": -1, "note": "y"},
        {"id": None, "a": 0, "note": "z!"},
        {"id": 3, "a": None, "note": "new"},
    ]


def test_a_condition_that_is_unknown_does_not_hold() -> None:
    source = table({"id": 1, "a": None, "note": "s"}, {"id": 3, "a": None, "note": "s"})
    rows = merged(OLD, source, "id", when_matched_delete(where="source.a > 0"), when_not_matched_insert(where="a > 0"))
    assert rows == OLD


def test_a_later_clause_is_not_asked_about_rows_that_one_before_it_took() -> None:
    source = table({"id": 1, "a": 0, "note": "s"}, {"id": 2, "a": 4, "note": "s"})
    rows = merged(
        OLD,
        source,
        "id",
        when_matched_delete(where="source.a = 0"),
        when_matched_update({"a": "CAST(100 / source.a AS int)"}, where="100 / source.a > 1"),
    )
    assert rows == [{"id": 2, "a": 25, "note": "y"}, OLD[2]]


def test_a_row_that_two_rows_of_the_source_match_is_refused_by_its_key() -> None:
    source = table({"id": 2, "a": 1, "note": "p"}, {"id": 2, "a": 2, "note": "q"})
    with pytest.raises(Invalid, match=r"id = 2.*more than one"):
        merged(OLD, source, "id", when_matched_update())
    with pytest.raises(Invalid, match="id = 2"):
        merged(OLD, source, "id", when_matched_delete(where="source.a = 1"))


def test_two_rows_of_the_source_may_delete_one_or_come_new() -> None:
    source = table({"id": 2, "a": 1, "note": "p"}, {"id": 2, "a": 2, "note": "q"})
    assert merged(OLD, source, "id", when_matched_delete()) == [OLD[0], OLD[2]]
    twice = table({"id": 7, "a": 1, "note": "p"}, {"id": 7, "a": 2, "note": "q"})
    assert len(merged(OLD, twice, "id", when_not_matched_insert())) == 5


def test_one_row_of_the_source_may_change_many() -> None:
    old = [{"id": 1, "a": one, "note": None} for one in range(3)]
    rows = merged(old, table({"id": 1, "a": 5, "note": "s"}), "id", when_matched_update({"note": "source.note"}))
    assert rows == [{"id": 1, "a": one, "note": "s"} for one in range(3)]


def test_keys_of_other_names_and_types_are_compared() -> None:
    source = pyarrow.table(
        {"key": pyarrow.array([2, 1], pyarrow.int64()), "a": pyarrow.array([20, 11], pyarrow.int8())}
    )
    rows = merged(OLD, source, "source.key = target.id AND target.a = source.A", when_matched_delete())
    assert rows == [OLD[0], OLD[2]]


EMPTY = table()


def test_without_rows_on_one_side_or_the_other_nothing_breaks() -> None:
    clauses = when_matched_update(), when_not_matched_insert(), when_not_matched_by_source_delete(where="a = 10")
    assert merged(OLD, EMPTY, "id", *clauses) == OLD[1:]
    assert merged([], table(OLD[0]), "id", *clauses) == [OLD[0]]
    assert merged([], EMPTY, "id", *clauses) == []


def test_the_source_may_be_pandas_or_a_reader() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [2], "a": [5], "note": ["p"]})
    expected = [OLD[0], {"id": 2, "a": 5, "note": "p"}, OLD[2]]
    assert merged(OLD, frame, "id", when_matched_update()) == expected
    assert merged(OLD, table(expected[1]).to_reader(), "id", when_matched_update()) == expected


@pytest.mark.parametrize(
    ("type", "column", "values"),
    [
        ("boolean", pyarrow.bool_(), [True, False]),
        ("int", pyarrow.int64(), [1, -(2**31)]),
        ("long", pyarrow.uint8(), [1, 255]),
        ("float", pyarrow.float64(), [0.5, -2.0]),
        ("double", pyarrow.float64(), [math.pi, math.inf]),
        ("decimal(10, 2)", pyarrow.decimal128(12, 4), [decimal.Decimal("1.5"), decimal.Decimal(-2)]),
        ("decimal(10, 2)", pyarrow.int32(), [1, 7]),
        ("date", pyarrow.date32(), [datetime.date(2020, 1, 2), datetime.date(1950, 1, 1)]),
        ("time", pyarrow.time64("us"), [datetime.time(1), datetime.time(23, 59)]),
        ("timestamp", pyarrow.timestamp("ns"), [datetime.datetime(2020, 1, 2), datetime.datetime(1950, 1, 1)]),
        ("timestamptz", pyarrow.timestamp("us", "UTC"), [datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)] * 1),
        ("timestamp_ns", pyarrow.timestamp("us"), [datetime.datetime(2020, 1, 2), datetime.datetime(1950, 1, 1)]),
        ("string", pyarrow.large_string(), ["", "ä"]),
        ("string", pyarrow.string_view(), ["", "ä"]),
        ("string", pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), ["", "ä"]),
        ("binary", pyarrow.binary(), [b"", b"\x00"]),
        ("fixed(2)", pyarrow.binary(2), [b"ab", b"\x00\x00"]),
        ("uuid", pyarrow.uuid(), [UUID(int=1).bytes, UUID(int=2).bytes]),
        ("uuid", pyarrow.binary(16), [UUID(int=1).bytes, UUID(int=2).bytes]),
    ],
)
def test_rows_are_matched_by_keys_of_every_type(type: str, column: pyarrow.DataType, values: list[Any]) -> None:
    schema = Schema({"k": type, "v": "int"})
    made = [pyarrow.array([one], column) for one in (*values, None)]
    source = pyarrow.table({"k": pyarrow.chunked_array(made[::-1]), "v": pyarrow.array([*range(len(made))])})
    stored = bind_merge(schema, source, "k", [when_not_matched_insert()])
    target = inserted_rows(stored, pyarrow.array([], pyarrow.int64()))
    done = apply_clauses(bind_merge(schema, source, "k", [when_matched_update({"v": "source.v + 100"})]), target)
    assert done.updated.to_pylist() == [*range(1, len(made))]  # all but the null, which comes first
    assert done.rows.column("v").to_pylist() == [one + 100 for one in range(1, len(made))]
    assert done.rows.column("k") == target.column("k").slice(1)


def test_nan_matches_nan_and_the_two_zeros_are_one_key() -> None:
    schema = Schema({"k": "double"})
    target = batch([{"k": math.nan}, {"k": -0.0}, {"k": 1.0}], schema)
    source = pyarrow.table({"k": [0.0, math.nan]})
    done = apply_clauses(bind_merge(schema, source, "k", [when_matched_delete()]), target)
    assert done.deleted.to_pylist() == [0, 1]
    assert done.matched.to_pylist() == [1, 0]


def test_the_table_may_come_in_batches() -> None:
    source = table(*({"id": one, "a": one, "note": None} for one in (1, 4, 6)))
    merge = bind_merge(TARGET, source, "id", [when_matched_delete(), when_not_matched_insert()])
    rows = [{"id": one, "a": 0, "note": ""} for one in range(6)]
    done = [apply_clauses(merge, batch(rows[at : at + 2])) for at in range(0, 6, 2)]
    assert [one.deleted.to_pylist() for one in done] == [[1], [], [0]]
    matched = pyarrow.concat_arrays([one.matched for one in done])
    assert inserted_rows(merge, matched).to_pylist() == [{"id": 6, "a": 6, "note": None}]


@pytest.mark.parametrize(
    ("on", "clauses", "problem"),
    [
        ("id", [], "no clause"),
        ("id", ["when"], "takes clauses only"),
        ("id", [when_matched_delete(), when_matched_update()], "no row can reach this clause"),
        ("nope", [when_matched_delete()], "nope"),
        ("target.id = source.nope", [when_matched_delete()], r"source\.nope"),
        ("target.id > source.id", [when_matched_delete()], "equal columns"),
        ("target.id = source.id OR target.a = source.a", [when_matched_delete()], "equal columns"),
        ("target.id = target.a", [when_matched_delete()], "equal columns"),
        ("target.id = source.id + 1", [when_matched_delete()], "equal columns"),
        ("target.id = 5", [when_matched_delete()], "equal columns"),
        ("id = id", [when_matched_delete()], "is ambiguous"),
        ([], [when_matched_delete()], "no columns to match rows by"),
        (["id", 5], [when_matched_delete()], "no columns to match rows by"),
        ("target.note = source.flag AND target.id = source.flag", [when_matched_delete()], "can't be compared"),
        ("id", [when_matched_update({"a": "a"})], "is ambiguous"),
        ("id", [when_matched_update({"a": "source.note"})], "column 'a'"),
        ("id", [when_matched_update({"nope": "1"})], "'nope'"),
        ("id", [when_matched_delete(where="source.a")], "condition"),
        ("id", [when_not_matched_insert({"id": "target.id"})], r"target\.id"),
        ("id", [when_not_matched_by_source_update({"a": "source.a"})], r"source\.a"),
        ("id", [when_not_matched_insert({"a": "median(a)"})], "median"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row(on: Any, clauses: list[Any], problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        bind_merge(TARGET, table(flag=pyarrow.bool_()), on, clauses)


def test_without_values_the_source_has_every_column() -> None:
    source = pyarrow.table({"id": [1], "a": [2]})
    for clause in (when_matched_update(), when_not_matched_insert()):
        with pytest.raises(Invalid, match=r"note.*some are missing in the source"):
            bind_merge(TARGET, source, "id", [clause])


def test_what_the_source_has_beyond_the_table_is_for_conditions() -> None:
    source = table(
        {"id": 1, "a": 0, "note": "p", "op": "delete"},
        {"id": 2, "a": 7, "note": "q", "op": "keep"},
        op=pyarrow.string(),
    )
    rows = merged(OLD, source, "id", when_matched_delete(where="op = 'delete'"), when_matched_update())
    assert rows == [{"id": 2, "a": 7, "note": "q"}, OLD[2]]


def test_a_required_column_needs_a_value() -> None:
    schema = Schema([Field("id", "int", required=True), Field("b", "int", required=True)])  # type: ignore[arg-type]
    source = pyarrow.table({"id": pyarrow.array([None], pyarrow.int32())})
    with pytest.raises(Invalid, match="'b'"):
        bind_merge(schema, source, "id", [when_not_matched_insert({"id": "id"})])
    merge = bind_merge(schema, source, "id", [when_not_matched_insert({"id": "id", "b": "1"})])
    with pytest.raises(Invalid, match=r"id.*required"):
        inserted_rows(merge, pyarrow.array([], pyarrow.int64()))


# The model: what SQL's standard says, one row after the other.

CONDITIONS: dict[str | None, Callable[[Row, Row], bool | None]] = {
    None: lambda _, __: True,
    "target.a > source.a": lambda t, s: None if None in (t["a"], s["a"]) else t["a"] > s["a"],
    "source.note IS NULL": lambda _, s: s["note"] is None,
}
OWN = {
    None: lambda row: True,
    "a > 1": lambda row: None if row["a"] is None else row["a"] > 1,
    "note IS NULL": lambda row: row["note"] is None,
}
NEW = {"a": "source.a + 1"}


def plus_one(value: int | None) -> int | None:
    return None if value is None else value + 1


def modelled(target: list[Row], source: list[Row], clauses: Sequence[Clause]) -> list[Row] | None:
    """The rows after a merge by `id`; None if it is not clear what becomes of one."""
    found = []
    strict = [one for one in clauses if one.when is When.MATCHED]
    lone = len(strict) == 1 and strict[0].then is Then.DELETE and strict[0].where is None
    for row in target:
        matches = [one for one in source if row["id"] is not None and one["id"] == row["id"]]
        if len(matches) > 1 and strict and not lone:
            return None
        kept: Row | None = row
        if matches:
            kept = next(
                (changed(one, row, matches[0]) for one in strict if CONDITIONS[one.where](row, matches[0])), row
            )  # type: ignore[index]
        else:
            own = [one for one in clauses if one.when is When.NOT_MATCHED_BY_SOURCE]
            kept = next((alone(one, row) for one in own if OWN[one.where](row)), row)  # type: ignore[index, no-untyped-call]
        found += [] if kept is None else [kept]
    keys = {row["id"] for row in target} - {None}
    inserts = [one for one in clauses if one.when is When.NOT_MATCHED]
    for row in source:
        if row["id"] not in keys and any(OWN[one.where](row) for one in inserts):  # type: ignore[index, no-untyped-call]
            found.append(row)
    return found


def changed(clause: Clause, target: Row, source: Row) -> Row | None:
    if clause.then is Then.DELETE:
        return None
    return source if clause.values is None else target | {"a": plus_one(source["a"])}


def alone(clause: Clause, target: Row) -> Row | None:
    return None if clause.then is Then.DELETE else target | {"a": plus_one(target["a"])}


SMALL = st.none() | st.integers(0, 3)
ROWS = st.lists(st.fixed_dictionaries({"id": SMALL, "a": SMALL, "note": st.sampled_from([None, "x", "y"])}), max_size=6)
BOTH = st.sampled_from([*CONDITIONS])
ONE = st.sampled_from([*OWN])
CLAUSES = st.lists(
    st.builds(when_matched_update, st.sampled_from([None, NEW]), BOTH)
    | st.builds(when_matched_delete, BOTH)
    | st.builds(when_not_matched_insert, st.none(), ONE)
    | st.builds(when_not_matched_by_source_update, st.just({"a": "a + 1"}), ONE)
    | st.builds(when_not_matched_by_source_delete, ONE),
    min_size=1,
    max_size=5,
)


def reached(clauses: Sequence[Clause]) -> list[Clause]:
    """Those clauses that come after none that leaves no row to them."""
    found: list[Clause] = []
    for one in clauses:
        if not any(other.when is one.when and other.where is None for other in found):
            found.append(one)
    return found


@settings(max_examples=120)
@given(ROWS, ROWS, CLAUSES)
def test_a_merge_does_what_sql_says_row_by_row(target: list[Row], source: list[Row], clauses: list[Clause]) -> None:
    clauses = reached(clauses)
    expected = modelled(target, source, clauses)
    if expected is None:
        with pytest.raises(Invalid, match="more than one row"):
            merged(target, table(*source), "id", *clauses)
    else:
        assert merged(target, table(*source), "id", *clauses) == expected

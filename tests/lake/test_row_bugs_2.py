"""What the calls that find and change rows once did to those who used them, and do no more."""

import datetime
import math
import subprocess
import sys
from decimal import Decimal

import pyarrow
import pytest

import lakebed
from lakebed import Field, Invalid, Schema
from lakebed.table.types.types import LONG, STRING, Struct

NESTED = Schema(
    [
        Field("id", "long"),
        Field("at", Struct((Field("id", LONG, required=True), Field("note", STRING))), required=True),
    ]
)


def nested(*rows):
    form = pyarrow.struct([("id", pyarrow.int64()), ("note", pyarrow.string())])
    return pyarrow.table(
        {
            "id": pyarrow.array([one for one, _, _ in rows], pyarrow.int64()),
            "at": pyarrow.array([{"id": key, "note": note} for _, key, note in rows], form),
        }
    )


def found(table):
    return [(one["id"], one["at"]["id"], one["at"]["note"]) for one in table.scan().to_arrow().to_pylist()]


def test_a_key_of_one_and_a_half_gave_the_row_of_one(main):
    table = main.create_table("t", {"id": "long", "note": "string"}, primary_key=["id"])
    table.append(pyarrow.table({"id": [1], "note": ["a"]}))
    assert table.get(1) == {"id": 1, "note": "a"}
    for key in (1.5, 1.0, Decimal("1.5"), True, "1"):
        with pytest.raises(Invalid, match="id: a key's value has the wrong type"):
            table.get(key)


def test_a_time_as_a_key_gave_the_row_of_its_day(main):
    table = main.create_table("t", {"day": "date"}, primary_key=["day"])
    table.append(pyarrow.table({"day": [datetime.date(2026, 1, 1)]}))
    assert table.get(datetime.date(2026, 1, 1)) == {"day": datetime.date(2026, 1, 1)}
    with pytest.raises(Invalid, match="day: a key's value has the wrong type"):
        table.get(datetime.datetime(2026, 1, 1, 5))


def test_a_key_with_a_zone_gave_a_row_that_has_none(main):
    table = main.create_table("t", {"at": "timestamp"}, primary_key=["at"])
    table.append(pyarrow.table({"at": pyarrow.array([datetime.datetime(2026, 1, 1)], pyarrow.timestamp("us"))}))
    assert table.get(datetime.datetime(2026, 1, 1)) is not None
    with pytest.raises(Invalid, match="at: a key's value has the wrong type"):
        table.get(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))


def test_an_upsert_by_a_column_in_a_struct_went_by_another_of_its_name(main, unchanged):
    """The row with the key stayed beside the new one, and one with the same number in `id` would have gone."""
    table = main.create_table("t", NESTED)
    table.append(nested((1, 10, "a"), (2, 20, "b")))
    with unchanged(), pytest.raises(Invalid, match=r"at\.id: rows can't be matched by a column inside a struct"):
        table.upsert(nested((1, 20, "new")), on="at.id")


def test_an_upsert_by_a_primary_key_in_a_struct_is_refused_with_its_name(main, unchanged):
    table = main.create_table("t", NESTED, primary_key=["at.id"])
    table.append(nested((1, 10, "a"), (2, 20, "b")))
    with unchanged(), pytest.raises(Invalid, match=r"Use merge\(data, 'target\.at\.id = source\.at\.id'"):
        table.upsert(nested((2, 20, "new")))
    table.merge(nested((2, 20, "new")), "target.at.id = source.at.id", lakebed.when_matched_update())
    assert sorted(found(table)) == [(1, 10, "a"), (2, 20, "new")]
    assert table.get(20) == {"id": 2, "at": {"id": 20, "note": "new"}}


def test_a_merge_added_a_key_in_a_struct_twice(main, unchanged):
    table = main.create_table("t", NESTED, primary_key=["at.id"])
    table.append(nested((1, 10, "a")))
    with unchanged(), pytest.raises(Invalid, match=r"at\.id = 30: a key comes twice"):
        table.merge(nested((7, 30, "x"), (8, 30, "y")), "id", lakebed.when_not_matched_insert())


@pytest.mark.parametrize("inline_bytes", ["0", "64000"])
def test_one_append_of_bytes_as_text_made_the_table_unreadable(main, unchanged, inline_bytes):
    """Inline they were `Corrupt` for every scan from then on; from a file they broke whoever looked at the text."""
    table = main.create_table("t", {"id": "long", "words": "list<string>", "word": "string"})
    table.set_properties({"write.inline-bytes": inline_bytes})
    table.append(pyarrow.table({"id": [1], "word": ["é"]}))
    text = pyarrow.array([b"\xff"]).view(pyarrow.string())
    words = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1], pyarrow.int32()), text)
    for name, column in (("word", text), ("words", words)):
        with unchanged(), pytest.raises(Invalid, match=f"{name}.*: a value is not text"):
            table.append(pyarrow.table({"id": [2], name: column}))
    assert table.scan(columns=["id", "word"]).to_arrow().to_pylist() == [{"id": 1, "word": "é"}]


@pytest.mark.parametrize("where", ["source.flag AND source.v = 1", "target.v > 0 AND target.v + target.v < 5"])
def test_a_merge_failed_in_arrow_when_a_condition_read_one_side_alone(main, where):
    """A part of it that is for some rows only met the other side without columns, and so without its number of rows."""
    table = main.create_table("t", {"id": "long", "v": "long"})
    table.append(pyarrow.table({"id": [1, 2, 3], "v": [1, None, 7]}))
    source = pyarrow.table({"id": [1, 2, 3], "v": [1, 2, 3], "flag": [True, None, False]})
    table.merge(source, "id", lakebed.when_matched_update({"v": "source.v + 10"}, where=where))
    assert sorted(table.scan().to_arrow()["v"].to_pylist(), key=str) == [11, 7, None]


def test_what_is_no_mapping_of_values_was_an_error_of_pythons_own(main, unchanged):
    table = main.create_table("t", {"id": "long"})
    for values in (5, None, ["id"]):
        with unchanged(), pytest.raises(Invalid, match="values are given by column"):
            table.update(values)


@pytest.mark.parametrize("type", ["float", "double"])
def test_a_partition_of_nan_was_overwritten_for_one_sign_of_it_alone(main, type):
    """What the processor makes of 0/0 has another sign than Python's NaN has."""
    table = main.create_table("t", {"x": type, "id": "long"}, partition_by=["x"])
    form = {"float": pyarrow.float32(), "double": pyarrow.float64()}[type]
    nans = pyarrow.array([math.nan, -math.nan, None, 1.5], form)
    table.append(pyarrow.table({"x": nans, "id": [1, 2, 3, 4]}))
    table.overwrite_partitions(pyarrow.table({"x": nans.slice(1, 1), "id": [5]}))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [3, 4, 5]
    assert table.scan("isnan(x)").to_arrow()["id"].to_pylist() == [5]


WITHOUT_PANDAS = """
import importlib.abc, sys, tempfile

class NoPandas(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPandas())
import lakebed, pyarrow

def rows(*nanos):
    return pyarrow.table({"at": pyarrow.array(nanos, pyarrow.timestamp("ns"))})

with lakebed.connect(tempfile.mkdtemp()) as lake:
    table = lake.catalog().create_table("t", {"at": "timestamp_ns", "micros": "timestamp"}, primary_key=["at"])
    table.append(rows(1001))
    for call in (
        lambda: table.get(1001),
        lambda: table.update({"micros": "at"}),
        lambda: table.upsert(rows(1001, 1001)),
        lambda: table.merge(rows(1001, 1001), "at", lakebed.when_matched_update({"micros": "NULL"})),
    ):
        try:
            call()
        except lakebed.Invalid as error:
            assert "0.000001001" in str(error) or "Install pandas" in str(error), error
        else:
            raise AssertionError("not refused")
"""


def test_without_pandas_nanoseconds_broke_the_errors_that_were_to_show_them():
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=True)

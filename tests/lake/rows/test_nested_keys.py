"""Keys that are columns inside a struct."""

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

"""Rows in the forms that people have: what pandas shows of nested columns, UUIDs of Python and of JSON, texts."""

from typing import Any
from uuid import uuid4

import pyarrow
import pytest

from lakebed import Catalog, Invalid

NESTED: dict[str, Any] = {
    "list<long>": [1, None],
    "list<double>": [1.5, None],
    "list<list<int>>": [[1, None], None],
    "struct<a: long, b: string>": {"a": 1, "b": "x"},
    "struct<m: map<string, int>, d: double>": {"m": [("k", 1)], "d": 0.5},
    "map<string, long>": [("a", 1), ("b", None)],
    "map<string, struct<a: int>>": [("k", {"a": 1})],
    "list<map<string, int>>": [[("k", 1)]],
}


@pytest.mark.parametrize("type", NESTED)
def test_lists_maps_and_structs_that_pandas_showed_could_not_be_appended_again(main: Catalog, type: str) -> None:
    table = main.create_table("nested", {"id": "long", "value": type})
    table.append([{"id": 1, "value": NESTED[type]}, {"id": 2, "value": None}])
    table.append(table.to_pandas())
    found = table.to_arrow()["value"].to_pylist()
    assert found == [NESTED[type], None] * 2


def test_values_that_a_nested_column_of_pandas_would_lose_are_refused(main: Catalog) -> None:
    table = main.create_table("nested", {"value": "list<long>", "name": "struct<a: int>"})
    table.append([{"value": [1, None]}])
    for value in ([1.5, None], [2.0**60, None], ["x"]):
        given = table.to_pandas()
        given["value"] = [value]
        with pytest.raises(Invalid, match="value"):
            table.append(given)
    given = table.to_pandas()
    given["name"] = [{"a": 1.0, "other": 2}]
    with pytest.raises(Invalid, match="other"):
        table.append(given)


def test_uuids_inside_lists_and_maps_could_not_be_appended(main: Catalog) -> None:
    one = uuid4()
    rows = [{"a": [one, None], "b": {"k": one}, "c": {"u": one, "n": 1}}]
    table = main.create_table("ids", {"a": "list<uuid>", "b": "map<string, uuid>", "c": "struct<u: uuid, n: long>"})
    table.append(rows)
    assert table.to_arrow().to_pylist() == [{**rows[0], "b": [("k", one)]}]


def test_a_uuid_as_text_could_not_be_cast(main: Catalog) -> None:
    one = uuid4()
    table = main.create_table("ids", {"id": "uuid", "name": "string"})
    with pytest.raises(Invalid, match="cast=True"):
        table.append([{"id": str(one)}])
    table.append([{"id": str(one)}, {"id": None}], cast=True)
    table.append(pyarrow.table({"name": pyarrow.array([one.bytes], pyarrow.uuid())}), cast=True)
    assert table.to_arrow()["id"].to_pylist() == [one, None, None]
    assert table.to_arrow()["name"].to_pylist() == [None, None, str(one)]
    with pytest.raises(Invalid, match="found 'not one'"):
        table.append([{"id": "not one"}], cast=True)


@pytest.mark.parametrize("zone", ["+02:00", " Europe/Berlin", "-00:30", " UTC+1"])
def test_a_cast_dropped_the_zone_of_a_text(main: Catalog, zone: str) -> None:
    table = main.create_table("times", {"at": "timestamp"})
    with pytest.raises(Invalid, match="does not fit the column"):
        table.append([{"at": f"2026-01-01 10:00:00{zone}"}], cast=True)
    with_zone = main.create_table("instants", {"at": "timestamptz"})
    with_zone.append([{"at": f"2026-01-01T10:00:00.5{zone}"}], cast=True)
    assert with_zone.scan().count() == 1
    for same in ("", "Z", " UTC", "+00:00", ".250 GMT"):
        table.append([{"at": f"2026-01-01T10:00:00{same}"}], cast=True)
    assert table.scan("at >= '2026-01-01T10:00:00' AND at < '2026-01-01T10:00:01'").count() == 5

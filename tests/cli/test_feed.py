"""Rows that differ, who wrote them, and which commit broke a check."""

import pytest

import lakebed
from tests.cli.conftest import Cli


@pytest.fixture
def changed(lake: lakebed.Lake) -> lakebed.Lake:
    """Version 5 changes the price of order 2, version 6 adds an order of a negative price."""
    orders = lake.catalog().table("sales.orders")
    orders.upsert([{"id": 2, "price": 13.0}], message="dearer")
    orders.append([{"id": 4, "price": -1.0}], message="a mistake")
    return lake


def test_a_diff_shows_the_rows_before_and_after(cli: Cli, changed: lakebed.Lake) -> None:
    rows = cli("diff", "4", "main", "sales.orders", "--rows", "--json").json
    assert [(row["change"], row["key"], row["columns"]) for row in rows] == [
        ("updated", {"id": 2}, ["price"]),
        ("inserted", {"id": 4}, []),
    ]
    assert (rows[0]["before"]["price"], rows[0]["after"]["price"]) == (12.0, 13.0)
    [one] = cli("diff", "4", "main", "--where", "id = 4", "--json").json
    assert one["after"]["price"] == -1.0
    [summary] = cli("diff", "4", "main", "--summary", "--json").json
    assert (summary["inserted"], summary["updated"], summary["cells"]["price"]) == (1, 1, 1)


def test_blame_names_the_commit_of_each_cell(cli: Cli, changed: lakebed.Lake) -> None:
    cells = {row["column"]: row["message"] for row in cli("blame", "sales.orders", "2", "--json").json}
    assert cells == {"id": "first orders", "price": "dearer", "note": "first orders"}
    assert {row["key"] for row in cli("blame", "sales.orders", "--where", "price < 0", "--json").json} == {"id = 4"}
    assert cli("blame", "sales.orders", "99").code == 7
    assert cli("blame", "sales.orders", "two").code == 9
    assert cli("blame", "sales.orders", "1", "2").code == 9


@pytest.mark.parametrize(
    ("type", "key"),
    [
        *(("int", "-5"), ("string", "-5"), ("decimal(5, 2)", "-1.50"), ("boolean", "true"), ("date", "2026-11-01")),
        *(("timestamp", "2026-11-01T10:00:00"), ("timestamptz", "2026-11-01T10:00:00"), ("time", "10:00:00")),
        *(("uuid", "0a0b0c0d-0000-4000-8000-000000000001"), ("binary", "abc")),
    ],
)
def test_a_row_is_blamed_by_a_key_of_any_type(cli: Cli, lake: lakebed.Lake, type: str, key: str) -> None:
    """What it did: times, truth values, uuids and negative numbers were refused."""
    columns = {"k": type, "v": "long"}
    lake.catalog().create_table("t", columns, primary_key=["k"])
    assert cli("load", "t", "-", given=f"k,v\n{key},7\n").code == 0
    answer = cli("blame", "t", key, "--json")
    assert answer.code == 0, answer.err
    assert [row["value"] for row in answer.json if row["column"] == "v"] == ["7"]
    assert "True" not in answer.out


def test_bisect_finds_the_first_bad_commit(cli: Cli, changed: lakebed.Lake) -> None:
    pytest.importorskip("duckdb", reason="pip install 'lakebed[duckdb]'")
    check = "select count(*) = 0 from sales.orders where price < 0"
    [found] = cli("bisect", "--good", "4", check, "--json").json
    assert (found["version"], found["message"]) == (6, "a mistake")
    answer = cli("bisect", "--good", "4", "--bad", "6", check)
    assert "version 5 is good" in answer.err
    assert cli("bisect", "--good", "6", check).code == 9

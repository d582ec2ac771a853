"""Primary keys in merges: keys and key columns that one side changed."""

import pyarrow as pa
import pytest

from lakebed import Catalog, Field


def keyed(main: Catalog, type: str = "long", **given) -> None:
    main.create_table("t", [Field("id", type, required=True), Field("x", "long", required=True)], **given)


def pair(id: int, x: int) -> pa.Table:
    return pa.table({"id": pa.array([id], pa.int64()), "x": pa.array([x], pa.int64())})


@pytest.mark.parametrize(("key", "new_key"), [((), ["id"]), (["x"], ["id"])])
@pytest.mark.parametrize("same", [True, False])
def test_a_key_that_theirs_had_set_was_not_looked_at_or_ended_in_an_error_of_arrow(main, key, new_key, same):
    keyed(main, primary_key=key)
    dev = main.create_branch("dev")
    with dev.table("t").evolve() as change:
        change.primary_key(new_key)
    dev.table("t").append(pair(1, 10))
    main.table("t").append(pair(1 if same else 2, 20))
    for ours, theirs in ((main, dev), (dev, main)):
        found = ours.merge(theirs, dry_run=True).conflicts
        assert [one.what for one in found] == (["key"] if same else [])


@pytest.mark.parametrize("conflict", [True, False])
def test_a_key_column_that_theirs_had_widened_was_called_corrupt(main, conflict):
    keyed(main, "int", primary_key=["id"])
    dev = main.create_branch("dev")
    with dev.table("t").evolve() as change:
        change.widen_column("id", "long")
        if conflict:
            change.rename_column("x", "y")
    dev.table("t").append(pair(1 << 40, 1).rename_columns(["id", "y" if conflict else "x"]))
    with main.table("t").evolve() as change:
        if conflict:
            change.rename_column("x", "z")
        else:
            change.add_column("more", "int")
    own = {"id": pa.array([1], pa.int32()), "z" if conflict else "x": pa.array([2], pa.int64())}
    main.table("t").append(pa.table(own))
    found = main.merge(dev, dry_run=True).conflicts
    assert [one.what for one in found] == (["column x: name"] if conflict else [])


def test_a_key_that_comes_twice_on_one_side_and_once_on_the_other_ended_in_an_error_of_arrow(main):
    keyed(main, primary_key=["id"])
    dev = main.create_branch("dev")
    main.table("t").append(pair(1, 10))
    dev.table("t").append(pair(1, 20))
    dev.table("t").append(pair(1, 30))
    found = main.merge(dev, dry_run=True).conflicts
    assert sorted((one.what, one.ours["x"], one.theirs["x"]) for one in found) == [("key", 10, 20), ("key", 10, 30)]

"""Checks hold after a merge, or it is a conflict that shows the rows."""

import pytest

from lakebed import Catalog, Conflict


@pytest.fixture
def lines(main: Catalog):
    table = main.create_table("t", {"id": "long", "low": "long", "high": "long"}, primary_key=["id"])
    table.append([{"id": 1, "low": 1, "high": 10}])
    return main, main.create_branch("dev")


@pytest.mark.parametrize("turned", [False, True])
def test_rows_that_break_a_check_of_the_other_side_are_a_conflict(lines, unchanged, turned):
    main, dev = lines
    checking, writing = (dev, main) if turned else (main, dev)
    checking.table("t").set_properties({"check.small": "high < 100"})
    writing.table("t").append([{"id": 2, "low": 1, "high": 500}, {"id": 3, "low": 1, "high": 50}])
    for strategy in ("fail", "ours", "theirs"):
        with unchanged(), pytest.raises(Conflict) as caught:
            main.merge(dev, strategy=strategy)
        [found] = caught.value.conflicts
        row = found.ours if turned else found.theirs
        assert (found.what, found.key, row["high"]) == ("check small", {"id": 2}, 500)
    writing.table("t").delete("id = 2")
    main.merge(dev)
    assert main.table("t").scan().count() == 2


def test_cells_that_break_a_check_only_together_are_a_conflict(lines, unchanged):
    main, dev = lines
    main.table("t").set_properties({"check.ordered": "low <= high"})
    dev.merge(main)
    main.table("t").update({"low": "9"}, "id = 1")
    dev.table("t").update({"high": "5"}, "id = 1")
    with unchanged(), pytest.raises(Conflict) as caught:
        main.merge(dev)
    assert [(found.what, found.ours) for found in caught.value.conflicts] == [
        ("check ordered", {"id": 1, "low": 9, "high": 5})
    ]


def test_a_check_that_both_sides_have_is_not_tested_again(lines):
    main, dev = lines
    main.table("t").set_properties({"check.small": "high < 100"})
    dev.merge(main)
    dev.table("t").append([{"id": 2, "low": 1, "high": 50}])
    assert main.merge(dev).conflicts == ()

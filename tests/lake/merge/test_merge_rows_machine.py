"""Branches whose rows change, merge, cross, are picked and reverted, beside a dictionary of rows and cells."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lake.changes.test_changes_laws import a_lake
from tests.support import keyed_lines
from tests.support.examples import examples
from tests.support.row_lines import OPERATIONS, run

STEPS = st.lists(
    st.tuples(st.sampled_from(OPERATIONS), st.sampled_from([0, 1]), st.integers(0, 12)), min_size=3, max_size=14
)


@given(STEPS, st.booleans())
@settings(max_examples=examples(60, 2000), deadline=None, derandomize=examples(1, 0) == 1)
def test_branches_merge_as_a_dictionary_of_rows_and_cells_does(steps, keyed):
    with a_lake() as lake:
        run(lake.catalog(), steps, keyed=keyed)
        assert list(lake.check()) == []


BEGINNING = [("update a", 1, 0), ("compact", 0, 0), ("merge", 1, 0)]
FOUND = {
    "a row that one side deleted stayed after merges had crossed and a compaction had been given up": [
        *(("compact", 0, 0), ("replace", 1, 9), ("pick", 0, 6), ("merge older", 1, 9), ("merge", 0, 5)),
        *(("update b", 0, 12), ("merge older", 1, 8), ("delete", 1, 2), ("merge", 0, 2)),
    ],
    "deleted rows came back after a compaction was reverted": [
        *(*BEGINNING, ("insert", 1, 0), ("insert", 1, 0), ("delete", 0, 0), ("revert", 0, 1), ("revert", 1, 0)),
        ("merge", 0, 0),
    ],
    "updated rows were there twice after a compaction was reverted": [
        *(*BEGINNING, ("insert", 1, 0), ("insert", 1, 0), ("update a", 0, 0), ("revert", 0, 1), ("revert", 1, 0)),
        ("merge", 0, 0),
    ],
    "rows that came by a merge were there twice after the revert that had removed them was reverted": [
        *(("update a", 0, 0), ("rewrites", 0, 0), ("revert", 1, 0), ("merge", 1, 2), ("insert", 1, 0), ("revert", 1, 0))
    ],
    "rows whose revert both sides have, one of them picked, and changed again were in dispute": [
        *(("update a", 1, 0), ("merge", 0, 0), ("revert", 1, 1), ("pick", 0, 0), ("update a", 0, 0), ("merge", 0, 0))
    ],
    "a row that one side deleted and the other changed was no conflict after a compaction was reverted": [
        *(*BEGINNING, ("insert", 0, 0), ("insert", 1, 0), ("delete", 0, 0), ("revert", 0, 1), ("merge", 0, 0))
    ],
}


@pytest.mark.parametrize("steps", FOUND.values(), ids=FOUND)
@pytest.mark.parametrize("keyed", [False, True], ids=["without a key", "keyed"])
def test_what_the_machine_has_found(steps, keyed):
    with a_lake() as lake:
        run(lake.catalog(), steps, keyed=keyed)


KEY_STEPS = st.lists(
    st.tuples(st.sampled_from(keyed_lines.OPERATIONS), st.sampled_from([0, 1]), st.integers(0, 40)),
    min_size=3,
    max_size=16,
)


@given(KEY_STEPS)
@settings(max_examples=examples(6, 1500), deadline=None, derandomize=examples(1, 0) == 1)
def test_keys_of_two_columns_hold_in_any_merge_or_it_is_a_conflict_that_names_them(steps):
    with a_lake() as lake:
        keyed_lines.run(lake.catalog(), steps)


FOUND_KEYS = {
    "cells of both sides made the key of another row": [("move a", 0, 20), ("move b", 1, 29), ("merge", 0, 0)],
    "a row came under a key that had been narrowed": [("narrow", 0, 0), ("insert", 1, 2), ("merge", 0, 0)],
    "the key was narrowed by theirs": [("narrow", 0, 0), ("insert", 1, 2), ("merge", 1, 0)],
}


@pytest.mark.parametrize("steps", FOUND_KEYS.values(), ids=FOUND_KEYS)
def test_what_the_machine_has_found_of_keys(steps):
    with a_lake() as lake:
        keyed_lines.run(lake.catalog(), steps)

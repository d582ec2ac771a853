"""The forms of test_merge_rows_forms.py once more, with Spark to read the rows: cases that have every form of each."""

import random
from itertools import product

import pytest

from lakebed.lake import engines, merges
from tests.lake.merge.test_merge_rows import MO_25
from tests.lake.merge.test_merge_rows_forms import (
    BEFORE,
    FORMS,
    test_both_sides_change_a_row_however_rows_are_stored,
    test_disjoint_changes_give_the_same_rows_in_either_order_and_none_is_lost_or_doubled,
)

pytestmark = pytest.mark.long

check_form = test_both_sides_change_a_row_however_rows_are_stored
check_order = test_disjoint_changes_give_the_same_rows_in_either_order_and_none_is_lost_or_doubled.hypothesis.inner_test
del test_both_sides_change_a_row_however_rows_are_stored
del test_disjoint_changes_give_the_same_rows_in_either_order_and_none_is_lost_or_doubled

CHANGES = ("a", "b", "both", "delete")
CASES = [
    case
    for number, case in enumerate(product(MO_25, FORMS, BEFORE, ([], ["bucket(2, id)"]), (["id"], []), (False, True)))
    if number % 7 == 0  # which has no factor in common with the numbers of forms: every pair of two forms is there
]


@pytest.fixture(autouse=True)
def on_spark(spark, monkeypatch):
    """Give a session to every merge that has none."""
    monkeypatch.setattr(merges, "row_engine", lambda session=None: engines.row_engine(session or spark))


@pytest.mark.parametrize(("case", "form", "before", "partition_by", "key", "turned"), CASES)
def test_both_sides_change_a_row_on_spark_however_rows_are_stored(main, case, form, before, partition_by, key, turned):
    check_form(main, case, form, before, partition_by, key, turned)


@pytest.mark.parametrize("seed", range(12))
def test_disjoint_changes_give_the_same_rows_on_spark_in_either_order(seed):
    chosen = random.Random(seed)
    one, other = ({id: chosen.choice(CHANGES) for id in chosen.sample(range(1, 6), 3)} for _ in range(2))
    check_order(one, other, chosen.choice(list(FORMS)), seed % 2 == 0, seed % 3 == 0)

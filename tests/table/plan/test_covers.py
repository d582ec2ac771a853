"""Every row of a file that is covered passes; a file of which that is certain is covered."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table.filter.bind import bind
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.covers import covers
from lakebed.table.plan.pruning import may_match
from tests.support.examples import examples
from tests.support.filters import NAN, SCHEMA, condition, rows
from tests.support.statistics import file_of

ROWS = rows(Random(11), 60)
LAST = "\U0010ffff"
UNKNOWN = st.lists(st.sampled_from(["value_count", "null_count", "nan_count", "lower"]), max_size=1)
NAMES = [one.name for one in SCHEMA.fields]


@settings(deadline=None, max_examples=examples(150, 400))
@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 59), min_size=1, max_size=3), st.data())
def test_every_row_of_a_covered_file_passes(random: Random, chosen: list[int], data: st.DataObject) -> None:
    table = [ROWS[at] for at in chosen]
    file, asked = file_of(SCHEMA, table), condition(random)
    for known in file.statistics:
        for name in data.draw(
            st.lists(st.sampled_from(["value_count", "null_count", "nan_count", "lower"]), max_size=1)
        ):
            known.ClearField(name)
    filter = bind(asked.text, SCHEMA)
    if covers(filter, file):
        assert all(asked.kept(table)), asked.text
        assert may_match(filter, file), asked.text


def one_column(name: str, *values: object) -> DataFileRef:
    return file_of(SCHEMA, [dict.fromkeys(NAMES) | {name: value} for value in values])


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("small = 1", one_column("small", 1, 1)),
        ("small != 4", one_column("small", 1, 3)),
        ("small < 4", one_column("small", 1, 3)),
        ("small <= 3", one_column("small", 1, 3)),
        ("small > 0", one_column("small", 1, 3)),
        ("small >= 1", one_column("small", 1, 3)),
        ("small in (1, 2)", one_column("small", 1, 1)),
        ("small not in (0, 4)", one_column("small", 1, 3)),
        ("small between 1 and 3", one_column("small", 1, 3)),
        ("small not between 4 and 5", one_column("small", 1, 3)),
        ("small is null", one_column("small", None, None)),
        ("small is not null", one_column("small", 1, 3)),
        ("small > 0 or small is null", one_column("small", 1, None)),
        ("small > 5 or small is null", one_column("small", None, None)),
        ("(small > 0 and small < 4) or small is null", one_column("small", 1, None, 3)),
        ("small = 9 or word is null", one_column("small", 1)),
        ("share > 0", one_column("share", 1.0, NAN)),
        ("share != 0", one_column("share", 1.0, NAN)),
        ("share < 2", one_column("share", 1.0, -1.0)),
        ("share = 0", one_column("share", 0.0, -0.0)),
        ("isnan(share)", one_column("share", NAN, NAN)),
        ("not isnan(share)", one_column("share", 1.0, None)),
        ("share < 'NaN'", one_column("share", 1.0)),
        ("word like 'ab%'", one_column("word", "ab", "abc", "ab" * 40)),
        ("word like '%b'", one_column("word", "ab")),
        ("word not like 'b%'", one_column("word", "a", "abc")),
        ("word not like '%c'", one_column("word", "ab")),
        ("word < 'b'", one_column("word", "a" * 100)),
        ("flag", one_column("flag", True)),
        ("true", DataFileRef()),
    ],
)
def test_a_file_whose_rows_all_pass_is_covered(text: str, file: DataFileRef) -> None:
    assert covers(bind(text, SCHEMA), file)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("small = 1", one_column("small", 1, None)),
        ("small < 3", one_column("small", 1, 3)),
        ("small != 2", one_column("small", 1, 3)),
        ("small not in (2)", one_column("small", 1, 3)),
        ("small is null", one_column("small", 1, None)),
        ("share < 2", one_column("share", 1.0, NAN)),
        ("share < 'NaN'", one_column("share", 1.0, NAN)),
        ("isnan(share)", one_column("share", 1.0, NAN)),
        ("word = 'ab'", one_column("word", "ab", "ac")),
        (f"word = '{'a' * 100}'", one_column("word", "a" * 100)),  # its bounds were cut
        (f"word <= '{'a' * 100}'", one_column("word", "a" * 100)),
        (f"word >= '{'a' * 100}'", one_column("word", "a" * 100)),
        (f"word < '{LAST * 9}a'", one_column("word", LAST * 9)),  # and there is no upper one
        ("word like '%b'", one_column("word", "ab", "bb")),
        ("word not like '%c'", one_column("word", "ab", "bb")),
        ("small = 1", DataFileRef(num_rows=1)),
        ("small is not null", DataFileRef(num_rows=1)),
        ("small is null", DataFileRef(num_rows=1)),
        ("false", DataFileRef()),
    ],
)
def test_a_file_of_which_it_is_not_certain_is_not_covered(text: str, file: DataFileRef) -> None:
    assert not covers(bind(text, SCHEMA), file)

"""A file with a row that a filter keeps is never cut; one whose partition rules every row out is."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table.filter.bind import parse_filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.parse import TransformedColumn
from lakebed.table.partition.spec import UNPARTITIONED, make_spec
from lakebed.table.partition.transforms import parse_transform
from lakebed.table.partition.values import set_partition
from lakebed.table.plan.partitions import may_match_partition
from tests.support.examples import examples
from tests.support.filters import NAN, SCHEMA, condition, rows

ROWS = rows(Random(11), 200)
FIELD = {field.name: field for field in SCHEMA.fields}
LOWEST = (-(2**31), -(2**63))
TRANSFORMS = ["identity", "year", "month", "day", "hour", "bucket[3]", "truncate[2]", "truncate[1000]", "void"]
TERMS = [
    TransformedColumn(transform, (name,))
    for transform in map(parse_transform, TRANSFORMS)
    for name, field in FIELD.items()
    if transform.can_transform(field.type)
]


def file_of(texts, row):
    """A file that has this row, and by its partition others like it."""
    spec = make_spec(SCHEMA, texts, spec_id=3)
    columns = {field.id: field for field in SCHEMA.fields}
    file = DataFileRef()
    values = [one.transform.apply(columns[one.source_id].type, row[columns[one.source_id].name]) for one in spec.fields]
    set_partition(file, spec, SCHEMA, values)
    return spec, file


def may(text, texts, row):
    spec, file = file_of(texts, {name: row.get(name) for name in FIELD})
    return may_match_partition(parse_filter(text, SCHEMA), spec, SCHEMA, file)


@settings(deadline=None, max_examples=examples(300, 800))
@given(st.randoms(use_true_random=False), st.integers(0, 199), st.lists(st.sampled_from(TERMS), min_size=1, max_size=3))
def test_a_file_with_a_matching_row_is_never_cut(random, chosen, terms):
    row, asked = ROWS[chosen], condition(random)
    if any(one.transform.name == "truncate" and row[one.path[0]] in LOWEST for one in terms):
        return  # its type can't hold its partition
    apart = {one.path: str(one) for one in terms}  # two units of time of one column make no spec
    spec, file = file_of(list(apart.values()), row)
    if asked.kept([row]) == [True]:
        assert may_match_partition(parse_filter(asked.text, SCHEMA), spec, SCHEMA, file), asked.text


@pytest.mark.parametrize(
    ("text", "texts", "row"),
    [
        ("word = 'a'", ["word"], {"word": "b"}),
        ("word != 'a'", ["word"], {"word": "a"}),
        ("word not in ('a', 'b')", ["word"], {"word": "a"}),
        ("word < 'a'", ["word"], {"word": "a"}),
        ("word is null", ["word"], {"word": "a"}),
        ("word is not null", ["word"], {"word": None}),
        ("word != 'a'", ["word"], {"word": None}),
        ("not flag", ["flag"], {"flag": True}),
        ("share > 1", ["share"], {"share": 1.0}),
        ("share = 'NaN'", ["share"], {"share": 1.0}),
        ("share < 'NaN'", ["share"], {"share": NAN}),
        ("share < 1", ["share"], {"share": NAN}),
        ("word >= 'b'", ["truncate(1, word)"], {"word": "az"}),
        ("word = 'abc'", ["truncate(2, word)"], {"word": "ac"}),
        ("small < 20", ["truncate(10, small)"], {"small": 23}),
        ("small > 29", ["truncate(10, small)"], {"small": 23}),
        ("small >= 30", ["truncate(10, small)"], {"small": 23}),
        ("price < 1", ["truncate(100, price)"], {"price": Decimal("1.00")}),
        ("day < '1970-02-01'", ["month(day)"], {"day": 31}),
        ("instant < '2026-03-15'", ["day(instant)"], {"instant": 20527 * 86_400_000_000}),
        ("instant >= '2026-03-16'", ["day(instant)"], {"instant": 20528 * 86_400_000_000 - 1}),
        ("instant > '2026-03-15 23:59:59.999999'", ["day(instant)"], {"instant": 20528 * 86_400_000_000 - 1}),
        ("instant between '2026-01-01' and '2026-02-01'", ["year(instant)"], {"instant": 0}),
        ("small = 34", ["bucket(16, small)"], {"small": 1}),
        ("small in (34, 34)", ["bucket(16, small)"], {"small": 1}),
        ("small = 34", ["bucket(16, small)"], {"small": None}),
        ("small > 34", ["bucket(16, small)"], {"small": None}),
        ("word = 'a' and small = 1", ["word", "bucket(16, small)"], {"word": "a", "small": 34}),
        ("word = 'b' or small = 1", ["word", "bucket(16, small)"], {"word": "a", "small": 34}),
        ("false", ["word"], {"word": "a"}),
    ],
)
def test_a_partition_without_a_matching_row_is_cut(text, texts, row):
    assert not may(text, texts, row)


@pytest.mark.parametrize(
    ("text", "texts", "row"),
    [
        ("small > 34", ["bucket(16, small)"], {"small": 1}),
        ("small != 1", ["bucket(16, small)"], {"small": 1}),
        ("small not in (1)", ["truncate(10, small)"], {"small": 1}),
        ("small = 5", ["void(small)"], {"small": 1}),
        ("small is null", ["void(small)"], {"small": 1}),
        ("word <= 'ab'", ["truncate(1, word)"], {"word": "az"}),
        ("small < 21", ["truncate(10, small)"], {"small": 20}),
        ("small > 28", ["truncate(10, small)"], {"small": 29}),
        ("price < 1.01", ["truncate(100, price)"], {"price": Decimal("1.00")}),
        ("instant < '2026-03-15 00:00:00.000001'", ["day(instant)"], {"instant": 20527 * 86_400_000_000}),
        ("share < 'NaN'", ["share"], {"share": 1.0}),
        ("share > 1", ["share"], {"share": NAN}),
        ("small = 5", ["word"], {"word": "a"}),
        ("true", ["word"], {"word": "a"}),
    ],
)
def test_a_partition_that_can_have_a_matching_row_is_kept(text, texts, row):
    assert may(text, texts, row)


def test_a_file_of_another_spec_is_never_cut():
    _, file = file_of(["word"], {"word": "a"})
    other = make_spec(SCHEMA, ["small"], spec_id=4)
    asked = parse_filter("word = 'b' and small = 1", SCHEMA)
    assert may_match_partition(asked, other, SCHEMA, file)
    assert may_match_partition(asked, UNPARTITIONED, SCHEMA, DataFileRef())
    assert may_match_partition(asked, make_spec(SCHEMA, ["word"], spec_id=0), SCHEMA, DataFileRef())

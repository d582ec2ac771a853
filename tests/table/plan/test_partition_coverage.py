"""Every row of a partition that is covered passes, and a residual keeps the rows that the filter keeps."""

from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from lakebed.table.filter.bind import bind
from lakebed.table.filter.filter import ALWAYS, NEVER
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.parse import TransformedColumn
from lakebed.table.partition.spec import UNPARTITIONED, PartitionSpec, make_spec
from lakebed.table.partition.transforms import parse_transform
from lakebed.table.partition.values import set_partition
from lakebed.table.plan.partitions import may_match_partition, residual
from lakebed.table.schema.schema import Schema, with_ids
from tests.support.brute_force import passes
from tests.support.examples import examples
from tests.support.filters import NAN, SCHEMA, condition, rows

ROWS = rows(Random(11), 400)
LOWEST = (-(2**31), -(2**63))
DAY = 86_400_000_000
TRANSFORMS = ["identity", "year", "month", "day", "hour", "bucket[3]", "truncate[2]", "truncate[1000]", "void"]
TERMS = [
    TransformedColumn(transform, (field.name,))
    for transform in map(parse_transform, TRANSFORMS)
    for field in SCHEMA.fields
    if transform.can_transform(field.type)
]


def values_of(spec: PartitionSpec, row: dict[str, Any]) -> list[Any]:
    columns = {field.id: field for field in SCHEMA.fields}
    return [one.transform.apply(columns[one.source_id].type, row[columns[one.source_id].name]) for one in spec.fields]


def file_of(spec: PartitionSpec, row: dict[str, Any]) -> DataFileRef:
    file = DataFileRef()
    set_partition(file, spec, SCHEMA, values_of(spec, row))
    return file


@settings(deadline=None, max_examples=examples(200, 500))
@given(st.randoms(use_true_random=False), st.integers(0, 399), st.lists(st.sampled_from(TERMS), min_size=1, max_size=2))
def test_a_residual_keeps_the_rows_of_the_partition_that_the_filter_keeps(
    random: Random, chosen: int, terms: list[TransformedColumn]
) -> None:
    row, asked = ROWS[chosen], condition(random, depth=1)
    if any(one.transform.name == "truncate" and row[one.path[0]] in LOWEST for one in terms):
        return  # its type can't hold its partition
    spec = make_spec(SCHEMA, list({one.path: str(one) for one in terms}.values()), spec_id=3)
    file, filter = file_of(spec, row), bind(asked.text, SCHEMA)
    left = residual(filter, spec, SCHEMA, file)
    beside = [one for one in ROWS if repr(values_of(spec, one)) == repr(values_of(spec, row))]
    assert [passes(left, one) for one in beside] == asked.kept(beside), asked.text
    assert left == NEVER or may_match_partition(filter, spec, SCHEMA, file)
    event("some of it is certain" if left != filter else "all of it is left")


def left_of(text: str, texts: list[str], row: dict[str, Any]) -> Any:
    spec = make_spec(SCHEMA, texts, spec_id=3)
    return residual(bind(text, SCHEMA), spec, SCHEMA, file_of(spec, dict.fromkeys(SCHEMA.names) | row))


@pytest.mark.parametrize(
    ("text", "texts", "row"),
    [
        ("word = 'a'", ["word"], {"word": "a"}),
        ("word != 'b'", ["word"], {"word": "a"}),
        ("word in ('a', 'b')", ["word"], {"word": "a"}),
        ("word not in ('b', 'c')", ["word"], {"word": "a"}),
        ("word like '%b_'", ["word"], {"word": "abc"}),
        ("word not like 'b%'", ["word"], {"word": "abc"}),
        ("word is null", ["word"], {"word": None}),
        ("word is not null", ["word"], {"word": "a"}),
        ("word is null or word = 'a'", ["word"], {"word": None}),
        ("flag", ["flag"], {"flag": True}),
        ("share > 1", ["share"], {"share": NAN}),
        ("isnan(share)", ["share"], {"share": NAN}),
        ("not isnan(share)", ["share"], {"share": 1.0}),
        ("share = 0", ["share"], {"share": -0.0}),
        ("small < 30", ["truncate(10, small)"], {"small": 23}),
        ("small <= 29", ["truncate(10, small)"], {"small": 23}),
        ("small > 19", ["truncate(10, small)"], {"small": 23}),
        ("small >= 20", ["truncate(10, small)"], {"small": 23}),
        ("small != 30", ["truncate(10, small)"], {"small": 23}),
        ("small not in (1, 30)", ["truncate(10, small)"], {"small": 23}),
        ("price <= 1.99", ["truncate(100, price)"], {"price": Decimal("1.00")}),
        ("word like 'ab%'", ["truncate(3, word)"], {"word": "abcd"}),
        ("word not like 'abd%'", ["truncate(3, word)"], {"word": "abcd"}),
        ("word not like 'abde%'", ["truncate(3, word)"], {"word": "abcd"}),
        ("word = 'ab'", ["truncate(3, word)"], {"word": "ab"}),  # too short to have been cut
        ("word like '%b'", ["truncate(3, word)"], {"word": "ab"}),
        ("word < 'b'", ["truncate(3, word)"], {"word": "abcd"}),
        ("blob = X'00'", ["truncate(2, blob)"], {"blob": b"\x00"}),
        ("instant < '2026-03-16'", ["day(instant)"], {"instant": 20527 * DAY}),
        ("instant <= '2026-03-15 23:59:59.999999'", ["day(instant)"], {"instant": 20527 * DAY}),
        ("instant >= '2026-03-15'", ["day(instant)"], {"instant": 20528 * DAY - 1}),
        ("instant between '2026-01-01' and '2027-01-01'", ["year(instant)"], {"instant": 20528 * DAY}),
        ("day >= '1970-02-01'", ["month(day)"], {"day": 31}),
        ("small != 1", ["bucket(16, small)"], {"small": 34}),
        ("small is not null", ["bucket(16, small)"], {"small": 34}),
        ("small not in (1)", ["bucket(16, small)"], {"small": 34}),
        ("true", ["word"], {"word": "a"}),
    ],
)
def test_what_the_partition_makes_certain_is_not_left(text: str, texts: list[str], row: dict[str, Any]) -> None:
    assert left_of(text, texts, row) == ALWAYS


@pytest.mark.parametrize(
    ("text", "texts", "row"),
    [
        ("small < 29", ["truncate(10, small)"], {"small": 23}),
        ("small <= 28", ["truncate(10, small)"], {"small": 23}),
        ("small > 20", ["truncate(10, small)"], {"small": 23}),
        ("small != 23", ["truncate(10, small)"], {"small": 23}),
        ("small in (23)", ["truncate(10, small)"], {"small": 23}),
        ("word = 'abc'", ["truncate(3, word)"], {"word": "abcd"}),
        ("word like 'abcd%'", ["truncate(3, word)"], {"word": "abcd"}),
        ("word not like 'abcd%'", ["truncate(3, word)"], {"word": "abce"}),
        ("word like 'ab%d'", ["truncate(3, word)"], {"word": "abcd"}),
        ("word like 'a%'", ["bucket(16, word)"], {"word": "abcd"}),
        ("instant < '2026-03-15 12:00'", ["day(instant)"], {"instant": 20527 * DAY}),
        ("small = 34", ["bucket(16, small)"], {"small": 34}),
        ("small > 1", ["bucket(16, small)"], {"small": 34}),
        ("small = 1", ["void(small)"], {"small": 1}),
        ("small is null", ["void(small)"], {"small": 1}),
        ("small = 1", ["word"], {"word": "a"}),
    ],
)
def test_what_the_partition_does_not_tell_is_left(text: str, texts: list[str], row: dict[str, Any]) -> None:
    assert left_of(text, texts, row) == bind(text, SCHEMA)


def test_only_what_is_uncertain_is_left() -> None:
    row = {"word": "a", "small": 23}
    assert left_of("word = 'a' and small < 25", ["word"], row) == bind("small < 25", SCHEMA)
    assert left_of("word = 'b' or small < 25", ["word"], row) == bind("small < 25", SCHEMA)
    assert left_of("word = 'b' and small < 25", ["word"], row) == NEVER
    assert left_of("small between 15 and 25", ["truncate(10, small)"], row) == bind("small <= 25", SCHEMA)


def test_of_a_file_of_another_spec_all_is_left() -> None:
    spec, other = make_spec(SCHEMA, ["word"], spec_id=3), make_spec(SCHEMA, ["word"], spec_id=4)
    file = file_of(spec, dict.fromkeys(SCHEMA.names) | {"word": "a"})
    filter = bind("word = 'a'", SCHEMA)
    assert residual(filter, other, SCHEMA, file) == filter
    assert residual(filter, UNPARTITIONED, SCHEMA, DataFileRef()) == filter


def test_a_column_inside_a_struct_may_set_files_apart() -> None:
    schema = with_ids(Schema({"a": "struct<b: int>"}), 1, 1)
    spec, file = make_spec(schema, ["truncate(10, a.b)"], spec_id=1), DataFileRef()
    set_partition(file, spec, schema, [20])
    assert residual(bind("a.b >= 20", schema), spec, schema, file) == ALWAYS
    assert not may_match_partition(bind("a.b < 20", schema), spec, schema, file)

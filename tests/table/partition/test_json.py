"""Bodies of specs and orders: Iceberg's JSON, one form, and nothing guessed from others."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.partitioning import PartitionSpec as IcebergSpec
from pyiceberg.table.sorting import SortOrder as IcebergOrder

from lakebed.errors import Corrupt, Invalid
from lakebed.table.partition.json import order_from_json, order_to_json, spec_from_json, spec_to_json
from lakebed.table.partition.sort_order import UNSORTED, Direction, NullOrder, SortField, SortOrder
from lakebed.table.partition.spec import UNPARTITIONED, PartitionField, PartitionSpec, make_spec
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.names import folded_column

GOLDEN = Path(__file__).parents[2] / "golden"
SPEC = (GOLDEN / "partition_spec.json").read_bytes().rstrip(b"\n")
NAMED = (GOLDEN / "partition_spec_named.json").read_bytes().rstrip(b"\n")
ORDER = (GOLDEN / "sort_order.json").read_bytes().rstrip(b"\n")

transforms = st.sampled_from([Transform("identity"), Transform("day"), Transform("void")]) | st.builds(
    Transform, st.sampled_from(["bucket", "truncate"]), st.integers(1, 2**31 - 1)
)


@st.composite
def specs(draw):
    named = st.tuples(st.text(max_size=9), transforms, st.booleans())
    rows = draw(st.lists(named, max_size=4, unique_by=lambda one: folded_column(one[0])))
    fields = (PartitionField(at + 1, 1000 + at, *row) for at, row in enumerate(rows))
    return PartitionSpec(tuple(fields), draw(st.integers(0, 2**31 - 1)))


@st.composite
def orders(draw):
    rows = draw(st.lists(st.tuples(transforms, st.sampled_from(Direction), st.sampled_from(NullOrder)), max_size=4))
    fields = tuple(SortField(at + 1, *row) for at, row in enumerate(rows))
    return SortOrder(fields, draw(st.integers(1, 2**31 - 1)) if fields else 0)


def test_the_golden_bytes_of_a_spec():
    day = PartitionField(4, 1000, "ordered_at_day", Transform("day"))
    bucket = PartitionField(2, 1001, "é_bucket_16", Transform("bucket", 16))
    assert spec_to_json(PartitionSpec((day, bucket), 3)) == SPEC
    assert spec_from_json(SPEC) == PartitionSpec((day, bucket), 3)
    assert spec_to_json(UNPARTITIONED) == b'{"fields":[],"spec-id":0}'


def test_the_golden_bytes_of_an_order():
    name = SortField(2, Transform("identity"))
    bucket = SortField(3, Transform("bucket", 4), Direction.DESCENDING, NullOrder.LAST)
    assert order_to_json(SortOrder((name, bucket), 3)) == ORDER
    assert order_from_json(ORDER) == SortOrder((name, bucket), 3)
    assert order_to_json(UNSORTED) == b'{"fields":[],"order-id":0}'


@given(specs())
def test_a_spec_comes_back_and_iceberg_reads_the_same(spec):
    data = spec_to_json(spec)
    assert spec_from_json(data) == spec
    assert spec_to_json(spec_from_json(json.dumps(json.loads(data), indent=2).encode())) == data
    theirs = IcebergSpec.model_validate_json(data)
    assert theirs.spec_id == spec.id
    assert [(one.source_id, one.field_id, one.name, str(one.transform)) for one in theirs.fields] == [
        (one.source_id, one.field_id, one.name, str(one.transform)) for one in spec.fields
    ]


@given(orders())
def test_an_order_comes_back_and_iceberg_reads_the_same(order):
    data = order_to_json(order)
    assert order_from_json(data) == order
    theirs = IcebergOrder.model_validate_json(data)
    assert theirs.order_id == order.id
    assert [
        (one.source_id, str(one.transform), one.direction.value, one.null_order.value) for one in theirs.fields
    ] == [(one.source_id, str(one.transform), one.direction.value, one.null_order.value) for one in order.fields]


def spec_body(**changes):
    field = {"field-id": 1000, "name": "a", "source-id": 4, "transform": "day"}
    return json.dumps({"spec-id": 1, "fields": [{**field, **changes}]}).encode()


def order_body(**changes):
    field = {"direction": "asc", "null-order": "nulls-first", "source-id": 2, "transform": "day"}
    return json.dumps({"order-id": 1, "fields": [{**field, **changes}]}).encode()


@pytest.mark.parametrize("read", [spec_from_json, order_from_json])
@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b"{}", b"[" * 100_000, SPEC[:-1], b'{"fields":[]}'])
def test_what_is_no_body_is_corrupt(read, data):
    with pytest.raises(Corrupt):
        read(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"field-id": 999},
        {"field-id": "1000"},
        {"field-id": True},
        {"name": 5},
        {"source-id": 1.0},
        {"transform": "bucket"},
        {"transform": "bucket[0]"},
        {"transform": "day[2]"},
        {"transform": ""},
        {"transform": "day "},
        {"transform": 5},
    ],
    ids=str,
)
def test_a_damaged_partition_field_is_corrupt(changes):
    with pytest.raises(Corrupt):
        spec_from_json(spec_body(**changes))


@pytest.mark.parametrize(
    "changes", [{"direction": "up"}, {"null-order": "first"}, {"source-id": None}, {"transform": "truncate"}], ids=str
)
def test_a_damaged_sort_field_is_corrupt(changes):
    with pytest.raises(Corrupt):
        order_from_json(order_body(**changes))


def test_fields_that_no_spec_or_order_can_have_together_are_corrupt():
    twice = json.loads(spec_body())
    twice["fields"] *= 2
    with pytest.raises(Corrupt):
        spec_from_json(json.dumps(twice).encode())
    with pytest.raises(Corrupt):
        order_from_json(order_body().replace(b'"order-id": 1', b'"order-id": 0'))


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (spec_from_json, spec_body(**{"source-ids": [1, 2]})),
        (spec_from_json, spec_body(transform="zorder[3]")),
        (spec_from_json, b'{"fields":[],"spec-id":0,"lakebed.strict":true}'),
        (order_from_json, order_body(**{"lakebed.collation": "de"})),
        (order_from_json, order_body(transform="hilbert")),
    ],
)
def test_what_only_a_newer_lakebed_knows_is_said_and_never_dropped(read, data):
    with pytest.raises(Invalid, match=r"unknown.*Upgrade Lakebed\."):
        read(data)


@pytest.mark.parametrize(
    ("read", "write", "data"),
    [
        (spec_from_json, spec_to_json, spec_body(doc="of the order")),
        (spec_from_json, spec_to_json, b'{"fields":[],"spec-id":0,"strict":{"\xc3\xb6":[1.5,null]}}'),
        (order_from_json, order_to_json, order_body(collation="de")),
        (order_from_json, order_to_json, b'{"fields":[],"order-id":0,"strict":9007199254740993}'),
    ],
)
def test_an_unknown_key_is_kept_and_written_again(read, write, data):
    """KV-17."""
    assert json.loads(write(read(data))) == json.loads(data)


def test_a_field_keeps_its_unknown_keys_in_later_specs():
    schema = with_ids(Schema({"id": "long", "at": "date"}), 1, 1)
    first = PartitionSpec((PartitionField(2, 1000, "at_day", Transform("day"), unknown='{"doc":"x"}'),), 1)
    later = make_spec(schema, ["id", "day(at)"], spec_id=2, next_field_id=1001, known=[first])
    assert json.loads(spec_to_json(later))["fields"][1]["doc"] == "x"


def test_a_name_that_has_no_bytes_is_refused():
    with pytest.raises(Invalid, match="UTF-8 can't encode"):
        spec_to_json(PartitionSpec((PartitionField(1, 1000, "\ud800", Transform("day")),)))


@given(st.data())
def test_any_change_of_a_byte_is_another_body_or_an_error_of_ours(data):
    golden, read = data.draw(st.sampled_from([(SPEC, spec_from_json), (ORDER, order_from_json)]))
    place = data.draw(st.integers(0, len(golden) - 1))
    with suppress(Corrupt, Invalid):
        assert read(golden[:place] + data.draw(st.binary(max_size=2)) + golden[place + 1 :]) is not None


def test_a_chosen_name_has_the_golden_bytes_and_they_give_it_back():
    """An older Lakebed says to upgrade: it would give the field another name at the next change."""
    fields = (
        PartitionField(4, 1000, "the day", Transform("day"), is_named=True),
        PartitionField(2, 1001, "é", Transform("identity")),
    )
    assert spec_to_json(PartitionSpec(fields, 3)) == NAMED
    assert spec_from_json(NAMED) == PartitionSpec(fields, 3)
    with pytest.raises(Corrupt):
        spec_from_json(NAMED.replace(b"true", b"1"))

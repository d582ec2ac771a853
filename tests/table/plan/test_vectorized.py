"""Pruning by columns answers for each file what pruning of one file does."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Corrupt
from lakebed.table.entries.columns import FileColumns
from lakebed.table.filter.filter import (
    And,
    Comparison,
    Filter,
    IsNan,
    IsNull,
    Like,
    NoneOf,
    NotLike,
    NotNan,
    NotNull,
    OneOf,
    Operator,
    Or,
)
from lakebed.table.filter.like import parse_pattern
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, PartitionValue
from lakebed.table.manifest.snapshot import LiveFile
from lakebed.table.partition.spec import PartitionSpec, bound_fields, make_spec
from lakebed.table.plan.partitions import may_match_partition
from lakebed.table.plan.pruning import may_match
from lakebed.table.plan.vectorized import Pruned, prune
from lakebed.table.schema.evolution import add_column, widen_column
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import DOUBLE, FLOAT, STRING, Field, Primitive, Type
from lakebed.table.types.values import encode_bound, lower_bound, scaled, upper_bound
from tests.support.examples import examples

INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
FEW = st.integers(-3, 3)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    digits = st.integers(-(10**precision) + 1, 10**precision - 1) | st.integers(-200, 200)
    return digits.map(lambda one: scaled(one, scale))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": FEW | INT32,
    "long": FEW | INT32 | INT64,
    "float": st.floats(width=32, allow_nan=False) | FEW.map(float),
    "double": st.floats(allow_nan=False) | FEW.map(float),
    "date": FEW | st.integers(-719_162, 2_932_896),
    "time": st.integers(0, 86_399_999_999),
    "timestamp": FEW | st.integers(-(2**55), 2**55),
    "timestamptz": FEW | st.integers(-(2**55), 2**55),
    "timestamp_ns": FEW | st.integers(-(2**60), 2**60),
    "timestamptz_ns": FEW | st.integers(-(2**60), 2**60),
    "string": st.sampled_from(["", "a", "ab", "abc", "b", "é", "\U0010ffff", "\uffff"]) | st.text(max_size=40),
    "uuid": st.binary(min_size=16, max_size=16) | st.sampled_from([bytes(16), b"\xff" * 16]),
    "binary": st.sampled_from([b"", b"\x00", b"a", b"\xff" * 33]) | st.binary(max_size=40),
    "fixed(3)": st.binary(min_size=3, max_size=3),
    "decimal(9, 2)": decimals(9, 2),
    "decimal(18, 4)": decimals(18, 4),
    "decimal(38, 10)": decimals(38, 10),
}
NARROW = with_ids(Schema({"i": "int", "f": "float", "d": "decimal(9, 2)"}), 1, 1)
OLD = with_ids(Schema([*NARROW.fields, *(Field(f"c{n}", type) for n, type in enumerate(VALUES))]), 1, 1)


def evolved() -> Schema:
    """The first three columns widened, and two that older files lack."""
    schema = OLD
    for name, type in (("i", "long"), ("f", "double"), ("d", "decimal(20, 2)")):
        schema = widen_column(schema, name, type)
    schema = add_column(schema, "with_default", "int", ids=iter([101]), default=1)
    schema = add_column(schema, "without", "string", ids=iter([102]))
    return Schema(schema.fields, 2)


NEW = evolved()
SCHEMAS = {1: OLD, 2: NEW}
SPECS = {
    1: make_spec(NEW, ["c1", "truncate(2, c11)", "bucket(4, i)"], spec_id=1),
    2: make_spec(NEW, ["day(c7)", "c4", "c0"], spec_id=2, next_field_id=1010),
    3: make_spec(NEW, ["void(c1)", "truncate(10, c15)", "month(c5)"], spec_id=3, next_field_id=1020),
    4: PartitionSpec((), 4),
}


def values_of(type: Type) -> st.SearchStrategy[Any]:
    return decimals(20, 2) if str(type) == "decimal(20, 2)" else VALUES[str(type)]


@st.composite
def statistics(draw: st.DrawFn, field: Field) -> ColumnStatistics:
    known = ColumnStatistics(field_id=field.id)
    count = draw(st.integers(0, 3))
    if draw(st.integers(0, 3)):
        known.value_count = count
    if draw(st.integers(0, 3)):
        known.null_count = draw(st.integers(0, count))
    if field.type in (FLOAT, DOUBLE) and draw(st.booleans()):
        known.nan_count = draw(st.integers(0, count))
    values = sorted([draw(values_of(field.type)), draw(values_of(field.type))])
    ends = draw(st.sampled_from([(0, 1), (0, 1), (0, 0), (1, 1)]))
    lower, upper = lower_bound(field.type, values[ends[0]]), upper_bound(field.type, values[ends[1]])
    if lower is not None and draw(st.integers(0, 4)):
        known.lower = lower
    if upper is not None and draw(st.integers(0, 4)):
        known.upper = upper
    if field.type in (FLOAT, DOUBLE) and draw(st.integers(0, 9)) == 0:
        known.lower = encode_bound(field.type, float("nan"))
    return known


@st.composite
def live_files(draw: st.DrawFn, asked: Sequence[Field]) -> LiveFile:
    schema = draw(st.sampled_from([OLD, NEW]))
    own = {one.id: one for one in schema.fields}
    file = DataFileRef(path=f"data/{draw(st.integers(0, 9))}.parquet", num_rows=draw(st.integers(0, 2)))
    for field in asked:
        if field.id in own and draw(st.integers(0, 5)):
            file.statistics.append(draw(statistics(own[field.id])))
    spec_id = draw(st.sampled_from([None, 0, 1, 1, 2, 2, 3, 4, 9]))
    if spec_id is not None:
        file.spec_id = spec_id
    for bound in bound_fields(SPECS[spec_id], NEW) if spec_id in SPECS else ():
        source = draw(st.none() | values_of(bound.source.type))
        if bound.field.transform.name == "truncate" and isinstance(source, int):
            source = source % 1000
        value = bound.field.transform.apply(bound.source.type, source)
        stored = None if value is None else encode_bound(bound.type, value)
        if draw(st.integers(0, 9)):
            file.partition.append(PartitionValue(field_id=bound.field.field_id, value=stored))
    return LiveFile(file, 7, draw(st.sampled_from([schema.id, schema.id, 5])))


@st.composite
def leaves(draw: st.DrawFn, field: Field) -> Filter:
    value = values_of(field.type)
    kinds: list[st.SearchStrategy[Filter]] = [
        st.builds(Comparison, st.just(field), st.sampled_from(Operator), value),
        st.builds(Comparison, st.just(field), st.sampled_from(Operator), value),
        st.builds(OneOf, st.just(field), st.lists(value, min_size=1, max_size=4).map(tuple)),
        st.builds(NoneOf, st.just(field), st.lists(value, min_size=1, max_size=4).map(tuple)),
        st.sampled_from([IsNull(field), NotNull(field)]),
    ]
    if field.type in (FLOAT, DOUBLE):
        kinds.append(st.sampled_from([IsNan(field), NotNan(field)]))
    if field.type == STRING:
        patterns = st.sampled_from(["a%", "ab%", "%b", "a_", "a%c", "é%", "\uffff%", "_"]).map(parse_pattern)
        kinds += [st.builds(Like, st.just(field), patterns), st.builds(NotLike, st.just(field), patterns)]
    return draw(st.one_of(kinds))


def filters(fields: Sequence[Field]) -> st.SearchStrategy[Filter]:
    def combined(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        parts = st.lists(inner, max_size=3).map(tuple)
        return st.builds(And, parts) | st.builds(Or, parts)

    return st.recursive(st.sampled_from(fields).flatmap(leaves), combined, max_leaves=4)


def expected(filter: Filter, files: Iterable[LiveFile]) -> tuple[list[bool], list[bool]]:
    """What pruning of each file answers."""
    by_partition = []
    kept = []
    for one in files:
        spec = SPECS.get(one.file.spec_id)
        by_partition.append(spec is None or may_match_partition(filter, spec, NEW, one.file))
        kept.append(by_partition[-1] and may_match(filter, one.file, SCHEMAS.get(one.schema_id)))
    return by_partition, kept


def answer(found: Pruned) -> tuple[list[bool], list[bool]]:
    return found.by_partition.tolist(), found.kept.tolist()


@settings(deadline=None, max_examples=examples(60, 150))
@given(st.data())
def test_every_file_has_the_answer_of_pruning_it_alone(data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.sampled_from(NEW.fields), min_size=1, max_size=3, unique_by=lambda one: one.id))
    filter = data.draw(filters(asked))
    files = data.draw(st.lists(live_files(asked), max_size=8))
    found = prune(filter, FileColumns.of(files), NEW, SPECS, SCHEMAS)
    assert answer(found) == expected(filter, files)
    assert found.reason == ""


class Counted:
    """Files whose columns are counted when they are read."""

    def __init__(self, files: Sequence[LiveFile]) -> None:
        self.inner = FileColumns.of(files)
        self.read: list[str] = []

    @property
    def num_rows(self) -> int:
        return self.inner.num_rows

    @property
    def names(self) -> Sequence[str]:
        return self.inner.names

    def load(self, name: str) -> pyarrow.Array:
        self.read.append(name)
        return self.inner.column(name)

    def files(self, rows: Iterable[int]) -> list[LiveFile]:
        raise AssertionError("files were made of columns")


FIELD = {one.name: one for one in NEW.fields}


def numbered(count: int) -> list[LiveFile]:
    """Files of which each has ten numbers more than the one before, and one text."""
    files = []
    for at in range(count):
        known = [
            ColumnStatistics(
                field_id=FIELD[name].id,
                value_count=10,
                null_count=0,
                lower=encode_bound(FIELD[name].type, low),
                upper=encode_bound(FIELD[name].type, high),
            )
            for name, low, high in (("c1", 10 * at, 10 * at + 9), ("c11", f"t{at:05}", f"t{at:05}"))
        ]
        files.append(LiveFile(DataFileRef(path=f"{at}", num_rows=10, statistics=known), 1, 2))
    return files


def test_only_columns_that_the_filter_names_are_read() -> None:
    source = Counted(numbered(20))
    number, text = FIELD["c1"].id, FIELD["c11"].id
    prune(Comparison(FIELD["c1"], Operator.LESS, 35), FileColumns(source), NEW, SPECS, SCHEMAS)
    assert set(source.read) == {"spec_id", f"lower.{number}", f"values.{number}", f"nulls.{number}"}
    source.read.clear()
    prune(IsNull(FIELD["c11"]), FileColumns(source), NEW, SPECS, SCHEMAS)
    assert set(source.read) == {"spec_id", f"nulls.{text}"}


def test_one_file_of_many_is_found() -> None:
    files = numbered(1000)
    filter = And(
        (
            Comparison(FIELD["c11"], Operator.EQUAL, "t00321"),
            Comparison(FIELD["c1"], Operator.GREATER_OR_EQUAL, 3000),
            Comparison(FIELD["c1"], Operator.LESS, 4000),
        )
    )
    found = prune(filter, FileColumns.of(files), NEW, SPECS, SCHEMAS)
    assert numpy.flatnonzero(found.kept).tolist() == [321]
    assert found.by_partition.all()
    both = prune(Or((filter, OneOf(FIELD["c1"], (7, 9_995)))), FileColumns.of(files), NEW, SPECS, SCHEMAS)
    assert numpy.flatnonzero(both.kept).tolist() == [0, 321, 999]


def test_no_files_have_no_answers() -> None:
    for filter in (Comparison(FIELD["c1"], Operator.LESS, 35), Like(FIELD["c11"], parse_pattern("a%")), Or(())):
        assert answer(prune(filter, FileColumns.of([]), NEW, SPECS, SCHEMAS)) == ([], [])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("c1", b"123"),
        ("c0", b"\x02"),
        ("c11", b"\xff"),
        ("c12", b"1"),
        ("c14", b"1234"),
        ("c15", b""),
        ("c17", bytes(17)),
    ],
)
def test_bytes_that_are_no_bound_are_named(name: str, data: bytes) -> None:
    files = numbered(5)
    wrong = ColumnStatistics(field_id=FIELD[name].id, lower=data)
    files[3] = LiveFile(DataFileRef(path="3", statistics=[wrong]), 1, 2)
    value = {"c1": 1, "c0": True, "c11": "a", "c12": bytes(16), "c14": bytes(3)}.get(name, Decimal(1))
    with pytest.raises(Corrupt) as caught:
        prune(Comparison(FIELD[name], Operator.LESS, value), FileColumns.of(files), NEW, SPECS, SCHEMAS)
    assert caught.value.subject == f"3, column {name}"


def test_a_type_that_has_no_columns_is_looked_at_file_by_file_and_that_is_said() -> None:
    field = Field("shape", Primitive("geometry"), id=500)
    counts = [ColumnStatistics(field_id=500, value_count=2, null_count=nulls) for nulls in (0, 2, 1)]
    files = [LiveFile(DataFileRef(path=f"{at}", statistics=[one]), 1, 2) for at, one in enumerate(counts)]
    found = prune(Comparison(field, Operator.EQUAL, b"x"), FileColumns.of(files), NEW, SPECS)
    assert found.kept.tolist() == [True, False, True]
    assert found.reason == "shape (geometry) is tested file by file"

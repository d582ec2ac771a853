"""Both engines read files of older schemas by the newest one as a model does that knows field ids alone."""

from dataclasses import replace
from decimal import Decimal as Number
from itertools import count
from random import Random

import pyarrow
import pytest

from lakebed.arrow.expression.filter import filter_mask
from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.write import write as write_files
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.spark.read.read import read as read_with_spark
from lakebed.spark.write.write import write as write_with_spark
from lakebed.table.filter.bind import parse_filter
from lakebed.table.filter.filter import Comparison, IsNull, NotNull, OneOf, Operator
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.evolution import (
    add_column,
    drop_column,
    rename_column,
    set_default,
    widen_column,
)
from lakebed.table.schema.schema import Schema, physical_names, with_ids
from lakebed.table.types.types import Decimal, Field, Primitive, children_of, with_children
from tests.support.evolutions import DEFAULTS, FIRST_SCHEMA, evolutions, rows, shown
from tests.support.examples import long_but
from tests.support.sources import sources_of

pytestmark = pytest.mark.sampled(2)

READERS = {
    "by batches": {},
    "row by row": {"spark.sql.parquet.enableVectorizedReader": "false"},
}
# One of each way that Parquet stores them.
QUICK_TYPES = {
    "by batches": ("int", "decimal(5, 2)", "timestamptz", "string"),
    "row by row": ("decimal(9, 2)", "binary"),
}


@pytest.fixture
def files(tmp_path):
    return LocalFiles(tmp_path)


@pytest.fixture(params=READERS)
def session(request, spark):
    """A session, with each of the two ways in which Spark reads Parquet."""
    for name, value in READERS[request.param].items():
        spark.conf.set(name, value)
    yield spark
    for name in READERS[request.param]:
        spark.conf.unset(name)


def table_of(given, schema):
    return pyarrow.Table.from_pylist(given, arrow_schema(schema))


def write(files, number, schema, given):
    return write_files(files, f"data/{number}", schema, table_of(given, schema))


def by_arrow(files, schema, written, filter=None):
    plan = pruned_plan([PlannedFile(one) for one in written], filter)
    return Scan(sources_of(files), schema, plan, filter).to_arrow()


def by_spark(session, files, schema, written, filter=None):
    frame = read_with_spark(session, files, schema, written, filter=filter)
    return frame.toArrow().cast(arrow_schema(Schema(optional(schema.fields))))


def optional(fields):
    """The fields without a word of what is required: Arrow's casts find nulls inside of null structs."""
    return tuple(
        replace(one, required=False, type=with_children(one.type, optional(children_of(one.type)))) for one in fields
    )


def same(found, expected, schema):
    """Whether two tables have the same rows, in whatever order."""
    texts = [sorted(map(repr, one.to_pylist())) for one in (found, table_of(expected, schema))]
    assert texts[0] == texts[1]


def history(random, files, steps):
    """Schemas, and a few rows in files of each, by the engine of Arrow."""
    schemas = evolutions(random, FIRST_SCHEMA, count(100), steps)
    written, given = [], []
    for number, schema in enumerate(schemas):
        if number in (0, len(schemas) - 1) or random.random() < 0.5:
            new = rows(random, schema, random.randrange(1, 4))
            written += write(files, number, schema, new)
            given += [(row, schema.fields) for row in new]
    return schemas[-1], written, given


def conditions(random, schema):
    """Filters on columns without parts, each with the test that it stands for."""
    simple = [one for one in schema.fields if isinstance(one.type, Primitive | Decimal)]
    for one in random.sample(simple, min(3, len(simple))):
        value = random.choice(DEFAULTS.get(str(one.type), (7,)))
        yield IsNull(one), lambda row, name=one.name: row[name] is None
        yield NotNull(one), lambda row, name=one.name: row[name] is not None
        yield (
            Comparison(one, Operator.EQUAL, value),
            lambda row, name=one.name, value=value: row[name] is not None and row[name] == value,
        )
        yield (
            Comparison(one, Operator.GREATER, value),
            lambda row, name=one.name, value=value: row[name] is not None and row[name] > value,
        )


@pytest.mark.parametrize("seed", long_but(range(60), range(20)))
def test_arrow_shows_old_files_as_the_model_does(seed, files):
    random = Random(seed)
    schema, written, given = history(random, files, random.randrange(1, 12))
    expected = [shown(row, fields, schema.fields) for row, fields in given]
    assert by_arrow(files, schema, written).to_pylist() == table_of(expected, schema).to_pylist()
    for filter, test in conditions(random, schema):
        same(by_arrow(files, schema, written, filter), [row for row in expected if test(row)], schema)


@pytest.mark.parametrize("seed", long_but(range(100, 112), [100, 101]))
def test_spark_shows_old_files_as_the_model_does(seed, files, session):
    random = Random(seed)
    schema, written, given = history(random, files, random.randrange(4, 14))
    expected = [shown(row, fields, schema.fields) for row, fields in given]
    same(by_spark(session, files, schema, written), expected, schema)
    for filter, test in random.sample(list(conditions(random, schema)), 3):
        same(by_spark(session, files, schema, written, filter), [row for row in expected if test(row)], schema)


def read_by_both(session, files, schema, written, where=None):
    """The rows, on which both engines agree, with or without a filter."""
    filter = None if where is None else parse_filter(where, schema)
    here, there = by_arrow(files, schema, written, filter), by_spark(session, files, schema, written, filter)
    assert sorted(map(repr, here.to_pylist())) == sorted(map(repr, there.to_pylist())), where
    return here


def ids(session, files, schema, written, where):
    return sorted(read_by_both(session, files, schema, written, where)["id"].to_pylist())


def add(schema, path, type, id, **how):
    return add_column(schema, path, type, ids=count(id), **how)


INNER = "struct<a: int>"
NESTED = with_ids(Schema({"id": "long", "s": INNER, "l": f"list<{INNER}>", "m": f"map<string, {INNER}>"}), 1, 1)


def test_defaults_of_fields_inside_structs_lists_and_maps_are_shown_where_files_lack_them(files, session):
    old = {"id": 1, "s": {"a": 1}, "l": [{"a": 2}, None], "m": [("k", {"a": 3}), ("n", None)]}
    written = write(files, 1, NESTED, [old, {"id": 2, "s": None, "l": None, "m": None}])
    schema = NESTED
    for id, above in enumerate(("s", "l.element", "m.value"), 50):
        schema = drop_column(add(schema, f"{above}.b", "string", id, default="new"), f"{above}.a")
    new = {"id": 3, "s": {"b": None}, "l": [{"b": "x"}], "m": [("k", {"b": None})]}
    written += write(files, 2, schema, [new])
    found = read_by_both(session, files, schema, written).to_pylist()
    shown = {"b": "new"}
    assert found == [
        {"id": 1, "s": shown, "l": [shown, None], "m": [("k", shown), ("n", None)]},
        {"id": 2, "s": None, "l": None, "m": None},
        new,
    ]
    assert ids(session, files, schema, written, "id < 3") == [1, 2]


@pytest.mark.parametrize(
    ("session", "type"),
    [
        pytest.param(reader, type, marks=[] if type in QUICK_TYPES[reader] else [pytest.mark.long])
        for reader in READERS
        for type in DEFAULTS
    ],
    indirect=["session"],
)
def test_a_filter_finds_the_default_in_files_that_are_older_than_the_column(files, session, type):
    old = with_ids(Schema({"id": "long"}), 1, 1)
    value, other = DEFAULTS[type][0], DEFAULTS[type][-1]
    schema = add(old, "x", type, 50, default=value)
    written = write(files, 1, old, [{"id": 1}, {"id": 2}])
    written += write(files, 2, schema, [{"id": 3, "x": None}, {"id": 4, "x": other}])
    assert read_by_both(session, files, schema, written)["x"].null_count == 1
    same_value = [4] if other == value else []
    field = schema.field("x")
    for filter, expected in (
        (Comparison(field, Operator.EQUAL, value), [1, 2, *same_value]),
        (Comparison(field, Operator.NOT_EQUAL, value), [4] if not same_value else []),
        (OneOf(field, (value,)), [1, 2, *same_value]),
        (IsNull(field), [3]),
        (NotNull(field), [1, 2, 4]),
    ):
        assert sorted(by_arrow(files, schema, written, filter)["id"].to_pylist()) == expected, filter
        assert sorted(by_spark(session, files, schema, written, filter)["id"].to_pylist()) == expected, filter


def test_a_filter_on_a_column_without_default_takes_older_files_for_nulls(files, session):
    old = with_ids(Schema({"id": "long", "gone": "int"}), 1, 1)
    schema = add(drop_column(old, "gone"), "GONE", "int", 50, used_names=physical_names(old))
    written = write(files, 1, old, [{"id": 1, "gone": 7}]) + write(files, 2, schema, [{"id": 2, "GONE": 7}])
    assert ids(session, files, schema, written, "gone is null") == [1]
    assert ids(session, files, schema, written, "gone = 7") == [2]
    assert ids(session, files, schema, written, "gone is null or gone < 9") == [1, 2]


def test_names_that_were_exchanged_are_those_of_the_columns_not_of_the_files(files, session):
    old = with_ids(Schema({"id": "long", "a": "int", "b": "int"}), 1, 1)
    schema = rename_column(rename_column(rename_column(old, "a", "c"), "b", "a"), "c", "b")
    written = write(files, 1, old, [{"id": 1, "a": 1, "b": 2}]) + write(files, 2, schema, [{"id": 2, "b": 1, "a": 2}])
    assert ids(session, files, schema, written, "a = 2 and b = 1") == [1, 2]
    assert ids(session, files, schema, written, "a = 1") == []


WIDENED = {
    "i": ("int", "long", [-(2**31), 0, 2**31 - 1, None]),
    "f": ("float", "double", [-1.5, 0.0, float(2**24), None]),
    "d": ("decimal(5, 2)", "decimal(20, 2)", [Number("-999.99"), Number("0.01"), Number("999.99"), None]),
    "e": ("decimal(10, 2)", "decimal(38, 2)", [Number("-99999999.99"), Number("0.01"), Number("1.50"), None]),
}
BEYOND = {
    "i": ["i < 3000000000", "i > 3000000000", "i = 2147483647", "i >= -9223372036854775808", "i <> 4294967296"],
    "f": ["f > 0.1", "f < 1e300", "f = 16777216", "f >= -1.5000000001", "f in (0, 0.1)"],
    "d": ["d = 999.99", "d > 1000.00", "d < 123456789012345678.00", "d in (0.01, 99999.01)", "d <> 0.01"],
    "e": ["e = 1.50", "e > 123456789012345678901234567890.00", "e <= 1.50", "e is null"],
}


@pytest.mark.parametrize("name", long_but(WIDENED, ["i", "e"]))
def test_filters_reach_beyond_the_type_that_old_files_have(files, session, name):
    narrow, wide, values = WIDENED[name]
    old = with_ids(Schema({"id": "long", name: narrow}), 1, 1)
    schema = widen_column(old, name, wide)
    written = []
    for number, value in enumerate(values):  # one file each, so that statistics of the narrow type prune
        written += write(files, number, old, [{"id": number, name: value}])
    written += write(files, 99, schema, [{"id": 99, name: values[0]}])
    whole = by_arrow(files, schema, written)
    for where in BEYOND[name]:
        expected = sorted(whole.filter(filter_mask(parse_filter(where, schema), whole))["id"].to_pylist())
        assert ids(session, files, schema, written, where) == expected, where
        later = read_with_spark(session, files, schema, written).where(where)
        assert sorted(row.id for row in later.collect()) == expected, where


def test_a_wider_decimal_in_a_struct_is_compared_whole_by_filters_of_spark(files, session):
    old = with_ids(Schema({"id": "long", "s": "struct<d: decimal(5, 2)>"}), 1, 1)
    schema = widen_column(old, "s.d", "decimal(38, 2)")
    written = write(files, 1, old, [{"id": 1, "s": {"d": Number("1.25")}}])
    rows_ = read_with_spark(session, files, schema, written)
    for where in ("s.d < 12345678901234567890.00", "s.d <> 429496729725.00", "s.d in (1.25, 12345678901234567890.00)"):
        assert rows_.where(where).count() == 1, where
    assert rows_.where("s.d = 42949672961.25").count() == 0


def test_rows_that_come_without_a_column_get_its_default_from_both_engines(files, session):
    schema = with_ids(Schema({"id": "long", "s": "struct<a: int>", "l": "list<struct<a: int>>"}), 1, 1)
    for id, (type, values) in enumerate(DEFAULTS.items(), 50):
        schema = add(schema, f"x{id}", type, id, default=values[0], required=True)
        schema = set_default(schema, f"x{id}", values[-1])
    schema = set_default(add(schema, "s.b", "int", 80), "s.b", 7)
    schema = add(schema, "l.element.b", "string", 81, default="inside", required=True)
    given = [{"id": 1, "s": {"a": 1}, "l": [{"a": 1}]}, {"id": 2, "s": None, "l": None}]
    table = pyarrow.Table.from_pylist(given)
    table = table.cast(
        pyarrow.schema(
            {
                "id": pyarrow.int64(),
                "s": pyarrow.struct({"a": pyarrow.int32()}),
                "l": pyarrow.list_(pyarrow.struct({"a": pyarrow.int32()})),
            }
        )
    )
    here = write_files(files, "data/here", schema, table)
    there = write_with_spark(files, "data/there", schema, session.createDataFrame(table))
    expected = {f"x{id}": values[-1] for id, values in enumerate(DEFAULTS.values(), 50)}
    rows_ = [
        {"id": 1, "s": {"a": 1, "b": 7}, "l": [{"a": 1, "b": "inside"}], **expected},
        {"id": 2, "s": None, "l": None, **expected},
    ]
    for written in (here, there):
        same(read_by_both(session, files, schema, written), rows_, schema)


def test_a_required_column_without_default_is_still_asked_for(files, spark):
    schema = with_ids(Schema([Field("id", "long"), Field("must", "int", required=True)]), 1, 1)
    rows_ = pyarrow.table({"id": [1]})
    with pytest.raises(Invalid, match="must"):
        write_files(files, "data/1", schema, rows_)
    with pytest.raises(Invalid, match="must"):
        write_with_spark(files, "data/2", schema, spark.createDataFrame(rows_))

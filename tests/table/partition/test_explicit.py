"""The values of explicit partitions: what is accepted, the names that they make, and the rows that they mean."""

from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.records.names import Casing, folded, normal_name
from lakebed.table.filter.bind import parse_filter
from lakebed.table.filter.filter import Comparison
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import given_values, partition_columns, values_of_file, with_values
from lakebed.table.partition.spec import make_spec
from lakebed.table.schema.schema import Schema, with_ids

TOKEN = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
COLUMNS = {
    "id": "long",
    "day": "date",
    "region": "string",
    "n": "int",
    "price": "decimal(10, 2)",
    "flag": "boolean",
    "at": "timestamp",
    "token": "uuid",
    "raw": "binary",
    "hour": "time",
    "ratio": "double",
}
SCHEMA = with_ids(Schema(COLUMNS), 1, 1)


def spec(*columns):
    return make_spec(SCHEMA, columns, spec_id=1)


def values(**given):
    return given_values(given, SCHEMA, spec(*given))


@pytest.mark.parametrize(
    ("column", "given", "python", "name"),
    [
        ("day", "2026-11-01", date(2026, 11, 1), "day=2026-11-01"),
        ("day", date(2026, 11, 1), date(2026, 11, 1), "day=2026-11-01"),
        ("region", "eu", "eu", "region=eu"),
        ("region", "", "", "region="),
        ("n", "-5", -5, "n=-5"),
        ("n", 7, 7, "n=7"),
        ("price", "1.5", Decimal("1.50"), "price=1.50"),
        ("flag", "true", True, "flag=true"),
        ("token", str(TOKEN), TOKEN, f"token={TOKEN}"),
        ("hour", "12:30", time(12, 30), "hour=12:30:00"),
        ("region", None, None, "region"),
    ],
)
def test_a_value_is_python_s_or_the_text_of_hive_s_folders(column, given, python, name):
    found = values(**{column: given})
    assert found.python(SCHEMA) == {column: python}
    assert found.name(SCHEMA) == name


@pytest.mark.parametrize(
    ("column", "given"),
    [("n", "x"), ("n", 5.5), ("n", True), ("day", "tomorrow"), ("region", 5), ("ratio", 1.5), ("token", "x")],
)
def test_a_value_that_does_not_fit_its_column_is_refused(column, given):
    with pytest.raises(Invalid):
        values(**{column: given})


def test_there_is_one_value_for_each_column_that_the_table_is_partitioned_by_as_it_is():
    both = make_spec(SCHEMA, ["day", "bucket(4, id)", "region"], spec_id=1)
    assert [field.name for field in partition_columns(both, SCHEMA)] == ["day", "region"]
    assert given_values({"REGION": "eu", "day": "2026-11-01"}, SCHEMA, both).text(SCHEMA) == "day=2026-11-01/region=eu"
    for wrong in ({}, {"day": "2026-11-01"}, {"day": "2026-11-01", "region": "eu", "id": 1}, "day", None):
        with pytest.raises(Invalid):
            given_values(wrong, SCHEMA, both)
    with pytest.raises(Invalid, match="not partitioned by a column as it is"):
        given_values({"day": "2026-11-01"}, SCHEMA, spec("bucket(4, id)"))


@given(st.text(), st.text())
def test_two_values_have_two_names_without_case(first, second):
    names = [folded(normal_name(values(region=text).name(SCHEMA)), Casing.FOLDED) for text in (first, second)]
    assert (names[0] == names[1]) is (first == second)


@given(st.text())
def test_the_condition_of_values_parses_to_their_comparison(text):
    condition = values(region=text).condition(SCHEMA)
    found = parse_filter(str(condition), SCHEMA)
    assert isinstance(found, Comparison)
    assert found.value == text


def test_the_condition_holds_for_every_type():
    given = {"at": datetime(2026, 1, 2, 3), "raw": b"\xff", "price": "2", "hour": "01:02", "flag": False, "n": None}
    for column, value in given.items():
        parse_filter(str(values(**{column: value}).condition(SCHEMA)), SCHEMA)


def test_a_renamed_column_does_not_change_the_name():
    renamed = Schema([replace(one, name="dt") if one.name == "day" else one for one in SCHEMA.fields], 2)
    found = values(day="2026-11-01")
    assert found.name(renamed) == found.name(SCHEMA)
    assert found.text(renamed) == "dt=2026-11-01"


def test_a_file_of_no_partition_has_no_values():
    assert values_of_file(DataFileRef(path="x"), spec("day"), SCHEMA) == {}


def test_rows_without_the_columns_get_the_values():
    filled = with_values(SCHEMA, values(day="2026-11-01"))
    assert filled.field("day").write_default == 20758
    assert filled.field("region").write_default is None
    assert filled.id == SCHEMA.id

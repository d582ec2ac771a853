"""Partition specs: Iceberg's names and ids, kept while specs change, and what is refused."""

import pytest
from pyiceberg.partitioning import PartitionSpec as IcebergSpec
from pyiceberg.partitioning import _PartitionNameGenerator, _visit
from pyiceberg.schema import Schema as IcebergSchema

from lakebed.errors import Invalid
from lakebed.table.partition.json import spec_to_json
from lakebed.table.partition.spec import (
    UNPARTITIONED,
    PartitionField,
    PartitionSpec,
    bound_fields,
    check_field_names,
    make_spec,
    spec_texts,
)
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.json import schema_to_json
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

TYPES = {
    "id": "long",
    "ordered_at": "timestamptz",
    "name": "string",
    "region": "string",
    "home": "struct<city: string, moved: date>",
}
SCHEMA = with_ids(Schema(TYPES), 1, 1)


def spec(*texts, schema=SCHEMA, spec_id=1, **given):
    return make_spec(schema, texts, spec_id=spec_id, **given)


def test_fields_have_icebergs_names_and_ids():
    texts = ["region", "day(ordered_at)", "bucket(16, id)", "truncate(10, name)", "void(region)", "year(home.moved)"]
    made = spec(*texts)
    assert [(one.field_id, one.name) for one in made.fields] == [
        (1000, "region"),
        (1001, "ordered_at_day"),
        (1002, "id_bucket_16"),
        (1003, "name_trunc_10"),
        (1004, "region_null"),
        (1005, "home.moved_year"),
    ]
    assert spec_texts(made, SCHEMA) == texts


def test_pyiceberg_gives_the_same_names():
    made = spec(
        "region", "month(ordered_at)", "bucket(4, id)", "truncate(2, home.city)", "void(name)", "day(home.moved)"
    )
    theirs = IcebergSpec.model_validate_json(spec_to_json(made))
    schema = IcebergSchema.model_validate_json(schema_to_json(SCHEMA))
    assert _visit(theirs, schema, _PartitionNameGenerator()) == [one.name for one in made.fields]


def test_a_field_keeps_its_id_over_all_specs_and_no_id_is_used_twice():
    first = spec("day(ordered_at)", "region")
    second = spec("bucket(8, id)", spec_id=2, next_field_id=first.highest_field_id + 1, known=[first])
    third = spec("region", "hour(ordered_at)", "bucket(8, id)", spec_id=3, next_field_id=1003, known=[first, second])
    assert [one.field_id for one in second.fields] == [1002]
    assert [one.field_id for one in third.fields] == [1001, 1003, 1002]
    assert (third.highest_field_id, UNPARTITIONED.highest_field_id) == (1003, 999)


def test_a_renamed_column_keeps_its_field_under_its_new_name():
    renamed = Schema([Field("area", one.type, id=one.id) if one.name == "region" else one for one in SCHEMA.fields], 2)
    first = spec("region")
    second = spec("area", schema=renamed, spec_id=2, next_field_id=1001, known=[first])
    assert [(one.field_id, one.name) for one in second.fields] == [(1000, "area")]
    assert spec_texts(first, renamed) == ["area"]


def test_no_fields_are_no_partitions():
    assert spec(spec_id=0) == UNPARTITIONED
    assert spec(spec_id=2) == PartitionSpec((), 2)
    assert UNPARTITIONED.id == 0


def test_a_spec_says_which_columns_it_needs():
    assert spec("day(ordered_at)", "bucket(4, id)", "id").source_ids == {1, 2}


def test_a_dropped_column_leaves_its_field_unbound():
    made = spec("region", "day(ordered_at)")
    without = Schema([one for one in SCHEMA.fields if one.name != "region"], 2)
    assert [one.field.name for one in bound_fields(made, without)] == ["ordered_at_day"]
    assert str(bound_fields(made, without)[0].type) == "date"


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["nope"], "'nope': there is no such column"),
        (["day(id)"], r"day\(id\): day does not apply to this type"),
        (["home"], "home: a nested column can't be partitioned or sorted by"),
        (["region", "REGION"], "region: a partition field comes twice"),
        (["bucket(4, id)", "bucket[4](id)"], "id_bucket_4: a partition field comes twice"),
        (["day(ordered_at)", "hour(ordered_at)"], "ordered_at_hour: one column has two units of time"),
    ],
)
def test_what_makes_no_spec_is_named(texts, problem):
    with pytest.raises(Invalid, match=problem):
        spec(*texts)


def test_finer_and_coarser_buckets_of_one_column_are_fine():
    assert len(spec("bucket(4, id)", "bucket(16, id)", "id", "ordered_at", "day(ordered_at)").fields) == 5


def test_one_text_is_not_taken_for_a_list_of_letters():
    with pytest.raises(Invalid, match=r"given as a list .expected .'region'."):
        make_spec(SCHEMA, "region", spec_id=1)


def test_only_a_columns_own_value_may_have_its_name():
    taken = with_ids(Schema({**TYPES, "Ordered_At_Day": "date"}), 1, 1)
    with pytest.raises(
        Invalid, match=r"ordered_at_day: a partition field would have a column's name.*'Ordered_At_Day'"
    ):
        spec("day(ordered_at)", schema=taken)
    with pytest.raises(Invalid, match="column's name"):
        check_field_names(spec("day(ordered_at)"), taken)
    check_field_names(spec("region"), taken)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ([(1, 999, "a")], "wrong id .expected 1000 or more, found 999"),
        ([(1, 1000, "a"), (2, 1000, "b")], "the same name or id"),
        ([(1, 1000, "a"), (2, 1001, "A")], "the same name or id"),
    ],
)
def test_fields_that_could_be_mistaken_are_refused(fields, problem):
    with pytest.raises(Invalid, match=problem):
        PartitionSpec(tuple(PartitionField(*one, Transform("identity")) for one in fields), 1)


def test_a_field_has_the_name_that_is_chosen_for_it():
    made = spec("day(ordered_at) as date", "bucket(4, id) AS `a part`", "region As area")
    assert [one.name for one in made.fields] == ["date", "a part", "area"]
    assert spec_texts(made, SCHEMA) == ["day(ordered_at) as date", "bucket(4, id) as `a part`", "region as area"]
    assert spec(*spec_texts(made, SCHEMA)) == made
    assert spec("day(ordered_at) as ordered_at_day") == spec("day(ordered_at)")


def test_a_field_with_another_name_is_another_field():
    """As in Iceberg: BaseUpdatePartitionSpec."""
    first = spec("day(ordered_at) as date")
    second = spec("day(ordered_at) as day", spec_id=2, next_field_id=1001, known=[first])
    third = spec("day(ordered_at)", spec_id=3, next_field_id=1002, known=[first, second])
    again = spec("day(ordered_at) as date", spec_id=4, next_field_id=1003, known=[first, second, third])
    assert [one.fields[0].field_id for one in (first, second, third, again)] == [1000, 1001, 1002, 1000]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["day(ordered_at) as id"], "a column's name"),
        (["day(ordered_at) as REGION"], "a column's name"),
        (["region as id"], "a column's name"),
        (["day(ordered_at) as a", "bucket(4, id) as A"], "the same name or id"),
        (["day(ordered_at) as a", "day(ordered_at) as b"], "comes twice"),
        (["day(ordered_at) as"], "can't be read"),
        (["day(ordered_at) as a b"], "can't be read"),
        (["day(ordered_at) as a as b"], "can't be read"),
        (["as a"], "can't be read"),
        (["day(ordered_at) as `" + "n" * 256 + "`"], "too long"),
    ],
)
def test_a_name_that_another_has_or_nobody_can_read_is_refused(texts, problem):
    with pytest.raises(Invalid, match=problem):
        spec(*texts)


def test_a_column_whose_name_has_the_word_as_is_still_a_column():
    columns = with_ids(Schema({"x as y": "string", "as": "string"}), 1, 1)
    made = spec("`x as y`", "as as `p as q`", schema=columns)
    assert [one.name for one in made.fields] == ["x as y", "p as q"]
    assert spec(*spec_texts(made, columns), schema=columns) == made

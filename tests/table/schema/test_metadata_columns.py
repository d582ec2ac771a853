"""The names that Iceberg reserves: no new column of a table gets one, and what has one already stays as it is."""

from itertools import count

import pytest

from lakebed.errors import Invalid
from lakebed.table.schema.evolution import add_column, drop_column, rename_column
from lakebed.table.schema.metadata_columns import METADATA_COLUMNS, SPARK_POSITION, check_free_name
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field, Struct

NAMES = [one.name for one in METADATA_COLUMNS]
SCHEMA = with_ids(Schema([Field("id", "long"), Field("place", Struct((Field("town", "string"),)))]), 1, 1)


@pytest.mark.parametrize("name", [*NAMES, "_FILE", "_Pos", "_roW_Id"])
def test_a_reserved_name_is_refused_in_any_case(name: str) -> None:
    for change in (
        lambda: check_free_name(name),
        lambda: add_column(SCHEMA, name, "int", ids=count(9)),
        lambda: rename_column(SCHEMA, "id", name),
    ):
        with pytest.raises(Invalid, match="Iceberg reserves this name") as caught:
            change()
        assert caught.value.subject == name


@pytest.mark.parametrize("name", [SPARK_POSITION, SPARK_POSITION.upper()])
def test_a_name_under_which_spark_shows_other_values_is_refused(name: str) -> None:
    for change in (lambda: check_free_name(name), lambda: add_column(SCHEMA, name, "int", ids=count(9))):
        with pytest.raises(Invalid, match="Spark puts its own values") as caught:
            change()
        assert caught.value.subject == name


@pytest.mark.parametrize("name", ["file", "_files", "pos", "row_id", "_last_updated", "__file", "_file "])
def test_other_names_are_free(name: str) -> None:
    check_free_name(name)
    assert rename_column(SCHEMA, "id", name).names == (name, "place")


def test_a_field_of_a_struct_may_have_a_reserved_name() -> None:
    grown = add_column(SCHEMA, "place._pos", "int", ids=count(9))
    assert rename_column(grown, "place.town", "_file").path_of(9) == "place._pos"


def test_a_schema_that_has_such_a_column_already_can_be_evolved() -> None:
    old = with_ids(Schema({"_pos": "long", "id": "long"}), 1, 1)
    assert add_column(old, "name", "string", ids=count(9)).names == ("_pos", "id", "name")
    assert rename_column(old, "_pos", "position").names == ("position", "id")
    assert drop_column(old, "_pos").names == ("id",)

"""Which files of an older schema fit a later one."""

from collections.abc import Callable

import pytest

from lakebed.table.schema import evolution
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.schema.written import fits_later
from lakebed.table.types.types import LONG, Field, parse_type

OLD = with_ids(
    Schema(
        [
            Field("id", LONG, required=True),
            Field("n", parse_type("int")),
            Field("place", parse_type("struct<city: string, spot: struct<x: float>>")),
            Field("tags", parse_type("list<struct<name: string>>")),
            Field("marks", parse_type("map<string, decimal(9, 2)>")),
        ]
    ),
    1,
    1,
)
NEW_IDS = range(100, 200)

Change = Callable[[Schema], Schema]


def added(path: str, type: str = "int", **asked: object) -> Change:
    return lambda schema: evolution.add_column(schema, path, type, ids=iter(NEW_IDS), **asked)  # type: ignore[arg-type]


FIT: dict[str, Change] = {
    "nothing": lambda schema: schema,
    "a column": added("m"),
    "a required column": added("m", required=True, default=1),
    "inside a struct": added("place.zip", "string"),
    "inside a struct inside a struct": added("place.spot.y", "float"),
    "inside a list": added("tags.element.kind", "string"),
    "wider": lambda schema: evolution.widen_column(schema, "n", "long"),
    "wider inside": lambda schema: evolution.widen_column(schema, "place.spot.x", "double"),
    "more digits": lambda schema: evolution.widen_column(schema, "marks.value", "decimal(18, 2)"),
    "optional": lambda schema: evolution.make_optional(schema, "id"),
    "renamed": lambda schema: evolution.rename_column(schema, "place.city", "town"),
    "moved": lambda schema: evolution.move_column(schema, "n", evolution.FIRST),
    "a default": lambda schema: evolution.set_default(schema, "n", 3),
}

UNFIT: dict[str, Change] = {
    "dropped": lambda schema: evolution.drop_column(schema, "n"),
    "dropped inside": lambda schema: evolution.drop_column(schema, "place.city"),
    "dropped and added": lambda schema: added("n")(evolution.drop_column(schema, "n")),
    "a key": lambda schema: evolution.set_key(schema, ["id"]),
}


@pytest.mark.parametrize("case", FIT)
def test_rows_fit_a_schema_that_shows_all_of_them(case: str) -> None:
    assert fits_later(OLD, FIT[case](OLD))


@pytest.mark.parametrize("case", UNFIT)
def test_rows_do_not_fit_a_schema_that_hides_values_or_asks_for_more(case: str) -> None:
    assert not fits_later(OLD, UNFIT[case](OLD))


@pytest.mark.parametrize("case", ["a column", "wider", "optional", "inside a struct", "wider inside"])
def test_rows_of_a_later_schema_do_not_fit_one_that_was_restored(case: str) -> None:
    assert not fits_later(FIT[case](OLD), OLD)

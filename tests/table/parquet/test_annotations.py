"""The two annotations of a column agree, or the file is refused: a flipped bit would change a scale or a unit."""

import pytest

from lakebed.errors import Invalid
from lakebed.table.parquet.annotations import check_annotation

UTC = {"is_utc": True, "unit": {"micros": {}}}


@pytest.mark.parametrize(
    "element",
    [
        {},
        {"converted": 0},
        {"logical": {"string": {}}},
        {"converted": 0, "logical": {"string": {}}},
        {"logical": {"uuid": {}}},
        {"logical": {}},  # of a newer writer
        {"logical": {"timestamp": {"is_utc": True, "unit": {"nanos": {}}}}},
        {"converted": 10, "logical": {"timestamp": UTC}},
        {"converted": 17, "logical": {"integer": {"bits": b"\x20", "is_signed": True}}},
        {"converted": 5, "scale": 2, "precision": 9, "logical": {"decimal": {"scale": 2, "precision": 9}}},
        {"converted": 2, "logical": {"unknown": {}}},  # parquet-mr's
    ],
)
def test_annotations_that_agree_are_accepted(element):
    check_annotation("c", element)


@pytest.mark.parametrize(
    ("element", "found"),
    [
        ({"converted": 22}, "unknown type 22"),
        ({"converted": -1}, "unknown type -1"),
        ({"logical": {"string": {}, "date": {}}}, "string and date"),
        ({"converted": 6, "logical": {"string": {}}}, "string and the older type 6"),
        ({"converted": 9, "logical": {"timestamp": UTC}}, "timestamp micros and the older type 9"),
        ({"converted": 18, "logical": {"integer": {"bits": b"\x20", "is_signed": True}}}, "integer 32 True"),
        (
            {"converted": 5, "scale": 3, "precision": 9, "logical": {"decimal": {"scale": 2, "precision": 9}}},
            "two scales or precisions",
        ),
    ],
)
def test_annotations_that_contradict_each_other_are_refused(element, found):
    with pytest.raises(Invalid, match=found):
        check_annotation("c", element)

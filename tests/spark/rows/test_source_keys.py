"""Keys of bytes that are no text, in what Spark is given: matched, and shown in errors."""

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Invalid, when_matched_update, when_not_matched_insert

ODD = b"\xff\xfe"


@pytest.fixture
def table(tmp_path):
    """Its key may be anything: a hash, say."""
    with lakebed.connect(tmp_path / "lake") as lake:
        table = lake.catalog().create_table("t", {"key": "binary", "value": "long"}, primary_key=["key"])
        yield table


def frame(spark: SparkSession, *rows):
    return spark.createDataFrame(list(rows), "key binary, value long")


def test_a_merge_or_upsert_by_bytes_that_are_no_text_ended_with_a_codec_error(table, spark):
    table.upsert(frame(spark, (ODD, 1)))
    table.merge(frame(spark, (ODD, 2), (b"", 3)), "key", when_matched_update(), when_not_matched_insert())
    table.upsert(frame(spark, (ODD, 4)))
    assert {bytes(one["key"]): one["value"] for one in table.scan().to_arrow().to_pylist()} == {ODD: 4, b"": 3}


def test_a_key_of_bytes_that_comes_twice_is_shown_by_its_digits(table, spark):
    twice = frame(spark, (ODD, 1), (ODD, 2), (b"a", 3))
    with pytest.raises(Invalid, match="comes twice") as refused:
        table.upsert(twice)
    assert "key = X'fffe'" in str(refused.value)
    with pytest.raises(Invalid, match="comes twice") as refused:
        table.merge(twice, "key", when_not_matched_insert())
    assert "key = X'fffe'" in str(refused.value)

"""What the pipeline's machine found: each test is called after what it did to whoever met it."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow
import pytest

import lakebed


@pytest.fixture
def main(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


@pytest.mark.parametrize(
    ("digits", "default"),
    [(9, "0.01"), (10, "0.01"), (18, "-9999999999999999.99"), (19, "0.01"), (20, "999999999999999999.99")],
)
def test_a_long_decimal_with_a_default_could_not_be_read_by_spark(main, spark, digits, default):
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"id": [1]}))
    with table.evolve() as change:
        change.add_column("price", f"decimal({digits}, 2)", default=Decimal(default))
    assert table.read(spark, where=f"price = {default}").collect()[0].price == Decimal(default)
    assert table.read(spark, where=f"price <> {default}").count() == 0


def test_a_read_failed_where_no_inline_row_passed_and_a_column_is_nested(main, spark):
    table = main.create_table("t", {"id": "long", "tags": "list<long>"})
    table.append(pyarrow.table({"id": [1], "tags": [[1, 2]]}))
    assert table.read(spark, where="id = 2").collect() == []
    assert table.read(spark, where="id = 1").collect()[0].tags == [1, 2]


def test_rows_of_the_days_that_the_old_calendar_skipped_were_lost_by_filters(main, spark):
    table = main.create_table("t", {"day": "date", "at": "timestamptz"}, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"day": [date(1582, 10, 10)], "at": [datetime(1582, 10, 10, tzinfo=UTC)]}))
    assert table.read(spark, where="day = DATE '1582-10-10'").count() == 1
    assert table.read(spark).where("at >= TIMESTAMP '1582-10-10 00:00:00'").count() == 1

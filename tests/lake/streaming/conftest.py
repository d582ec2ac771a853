"""What the tests of streams share."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lakebed import Catalog, Table
from tests.support.streams import Taken, take

Take = Callable[..., list[Taken]]


@pytest.fixture
def orders(main: Catalog) -> Table[Any]:
    main.create_namespace("sales")
    return main.create_table("sales.orders", {"id": "long", "item": "string"}, primary_key=["id"])


@pytest.fixture(autouse=True)
def no_query_is_left(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


@pytest.fixture
def taken(tmp_path: Path) -> Take:
    """Take what a stream has, by the checkpoint of a name."""

    def all_there(frame: DataFrame, checkpoint: str = "one") -> list[Taken]:
        return take(frame, tmp_path / "checkpoints" / checkpoint)

    return all_there

"""A lake in a folder, with raw orders, and a pipeline over them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import pipelines as lp

ORDERS = {"id": "long", "item": "string", "qty": "int", "price": "double", "at": "timestamp"}


def order(number: int, item: str = "tea", price: float = 1.0, day: int = 1) -> dict[str, Any]:
    return {"id": number, "item": item, "qty": 1, "price": price, "at": f"2026-11-{day:02}T12:00:00"}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lakebed.Lake]:
    with lakebed.connect(tmp_path / "lake", author="ada") as opened:
        yield opened


@pytest.fixture
def main(lake: lakebed.Lake) -> lakebed.Catalog:
    return lake.catalog()


@pytest.fixture
def raw(main: lakebed.Catalog) -> lakebed.Table:
    main.create_namespace("raw")
    table = main.create_table("raw.orders", ORDERS, primary_key=["id"])
    table.append([order(1, "tea", 2.0), order(2, "jam", 3.0, 2), order(3, "tea", 4.0, 3)], cast=True)
    return table


@pytest.fixture
def rows(main: lakebed.Catalog) -> Callable[..., list[tuple[Any, ...]]]:
    """The rows of a table, sorted."""

    def read(name: str, *columns: str, ref: str = "main") -> list[tuple[Any, ...]]:
        found = main.branch(ref).table(name).scan(columns=list(columns) or None).to_arrow().to_pylist()
        return sorted((tuple(row.values()) for row in found), key=repr)

    return read


@pytest.fixture
def shop() -> lp.Pipeline:
    """Orders as they come, and their sums."""
    from pyspark.sql import functions as F

    shop = lp.Pipeline("shop", namespace="sales", params={"factor": 2})

    @shop.table(write="append", tags=["core"])
    def orders(factor: int, new: Any = lp.appended("raw.orders")) -> Any:
        """Orders, cleaned."""
        return new.select("id", "item", (F.col("price") * factor).alias("price"))

    @shop.table
    def sums(orders: Any) -> Any:
        return orders.groupBy("item").agg(F.sum("price").alias("total"))

    return shop

"""Rows about objects as DataFrames, with Spark's names for their columns."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

TEXT = pa.string()
FLAG = pa.bool_()
WHOLE = pa.int64()
TIME = pa.timestamp("us", "UTC")
LIST = pa.list_(pa.string())
TEXTS = pa.map_(pa.string(), pa.string())


def frame(spark: SparkSession, columns: Mapping[str, pa.DataType], rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    """Rows, each a tuple, as a DataFrame with these columns."""
    values = list(zip(*rows, strict=True)) or [() for _ in columns]
    arrays = [pa.array(value, type) for value, type in zip(values, columns.values(), strict=True)]
    return spark.createDataFrame(pa.table(arrays, names=list(columns)))

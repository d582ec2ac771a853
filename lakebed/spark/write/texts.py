"""Texts of a DataFrame: Spark's strings are bytes, and may be other than UTF-8, which no other reader expects.

`CAST(X'FF' AS STRING)` makes one, and so does `spark.read.text` of a file in another encoding.
"""

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from lakebed.spark.expressions import UNFIT
from lakebed.spark.fit import quoted
from lakebed.spark.types import children_of


def with_checked_texts(frame: DataFrame) -> DataFrame:
    """The rows: a job that writes them fails at a text that is not UTF-8, at any depth, with an error of `UNFIT`."""
    fields = frame.schema.fields
    names = {field.name.casefold() for field in fields}
    if len(names) < len(fields) or not any(_has_texts(field.dataType) for field in fields):
        return frame  # two columns of one name will be refused
    return frame.select(*(_checked(F.col(quoted(field.name)), field).alias(field.name) for field in fields))


def _has_texts(type_: spark.DataType) -> bool:
    return isinstance(type_, spark.StringType) or any(map(_has_texts, children_of(type_)))


def _checked(column: Column, field: spark.StructField) -> Column:
    if not _has_texts(field.dataType):
        return column
    stop = F.raise_error(F.lit(f"{UNFIT}«{field.name}»«{field.dataType.simpleString():.80}»«text that is not UTF-8»"))
    return F.when(_is_broken(column, field.dataType), stop.cast(field.dataType)).otherwise(column)


def _is_broken(column: Column, type_: spark.DataType) -> Column:
    """Whether a value of a type with texts has a broken one in it; null or false if not."""
    match type_:
        case spark.StructType():
            fields = [field for field in type_.fields if _has_texts(field.dataType)]
            return reduce(or_, (_is_broken(column.getField(field.name), field.dataType) for field in fields))
        case spark.ArrayType():
            return F.exists(column, lambda element: _is_broken(element, type_.elementType))
        case spark.MapType():
            parts = ((F.map_keys(column), type_.keyType), (F.map_values(column), type_.valueType))
            return reduce(or_, (_is_broken(part, spark.ArrayType(kind)) for part, kind in parts if _has_texts(kind)))
        case _:
            return ~F.is_valid_utf8(column)

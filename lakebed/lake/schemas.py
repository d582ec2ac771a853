"""What people give for a schema."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from lakebed.errors import Invalid
from lakebed.lake.engines import engine_of
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Field

SchemaLike = Schema | Mapping[str, str] | Iterable[Field] | Any


def schema_of(given: SchemaLike) -> Schema:
    """A schema from a `Schema`, fields, a mapping of names to type names, a pyarrow schema or a Spark `StructType`."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, Mapping) or _is_fields(given):
        return Schema(given)
    if not _is_schema_of_an_engine(given):
        raise Invalid(
            "this is not a schema",
            expected="a lakebed.Schema, a mapping of names to type names, a pyarrow schema or a Spark StructType",
            found=type(given).__name__,
            advice="Of rows, give their schema: rows.schema.",
        )
    return cast(Schema, engine_of(given).schema_of(given))


def _is_schema_of_an_engine(given: object) -> bool:
    # By name, since neither engine need be loaded, and neither has to be there.
    return (type(given).__module__.partition(".")[0], type(given).__name__) in _SCHEMAS


_SCHEMAS = {("pyarrow", "Schema"), ("pyspark", "StructType")}


def _is_fields(given: object) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(one, Field) for one in given)

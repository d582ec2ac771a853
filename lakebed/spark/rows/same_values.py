"""Whether two values are the same: in Spark as in the local engine.

Nulls are the same, and so are two NaNs. Zeros of both signs are the same, except inside lists, maps and structs. Maps
are compared entry by entry in their order; Spark itself compares no maps.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.table.types.types import DOUBLE, FLOAT, Field, List, Map, Struct, Type, children_of


def same_value(field: Field, one: Column, other: Column) -> Column:
    """Whether two values of a column are the same: true or false, never null."""
    if not isinstance(field.type, List | Map | Struct):
        return one.eqNullSafe(other)
    return _comparable(field.type, one).eqNullSafe(_comparable(field.type, other))


def _comparable(type: Type, value: Column) -> Column:
    """A nested value, or a part of one, in a form that Spark compares, and that equals only the same value's."""
    if not _needs_form(type):
        return value
    if isinstance(type, Struct):
        parts = [_comparable(part.type, value.getField(part.name)) for part in type.fields]
        return F.when(value.isNotNull(), F.struct(*(part.alias(f"f{place}") for place, part in enumerate(parts))))
    if isinstance(type, List):
        return F.transform(value, lambda element: _comparable(type.element, element))
    if isinstance(type, Map):
        return F.transform(F.map_entries(value), lambda entry: _comparable_entry(type, entry))
    return value.cast("string")  # a floating number, whose text has the sign of a zero


def _comparable_entry(type: Map, entry: Column) -> Column:
    key, value = _comparable(type.key, entry.getField("key")), _comparable(type.value, entry.getField("value"))
    return F.struct(key.alias("key"), value.alias("value"))


def _needs_form(type: Type) -> bool:
    is_floating = type in (FLOAT, DOUBLE)
    return is_floating or isinstance(type, Map) or any(_needs_form(child.type) for child in children_of(type))

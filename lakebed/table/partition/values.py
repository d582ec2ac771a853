"""The partition values of a data file: as its entry stores them, as plain values, and as text."""

import base64
from collections.abc import Sequence
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef, PartitionValue
from lakebed.table.partition.spec import PartitionSpec, bound_fields
from lakebed.table.partition.transforms import Transform
from lakebed.table.schema.schema import Schema
from lakebed.table.types.times import SECOND_NANOS, date_text, moment_text, time_text
from lakebed.table.types.types import BOOLEAN, DATE, TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS, Type
from lakebed.table.types.types import UUID as UUID_TYPE
from lakebed.table.types.values import decode_bound, encode_bound

PartitionKey = tuple[int, tuple[tuple[int, bytes | None], ...]]
"""The identity of a partition: its spec, and the value of each field."""


def set_partition(file: DataFileRef, spec: PartitionSpec, schema: Schema, values: Sequence[Value | None]) -> None:
    """Set the spec of a file's entry, and a value for each of the spec's fields."""
    fields = bound_fields(spec, schema)
    if not len(fields) == len(spec.fields) == len(values):
        found = f"{len(values)} values, and {len(fields)} of {len(spec.fields)} columns"
        raise Invalid(
            "values or columns of a partition are missing",
            subject=file.path,
            expected="one for each field",
            found=found,
        )
    file.spec_id = spec.id
    file.ClearField("partition")
    for bound, value in zip(fields, values, strict=True):
        stored = None if value is None else encode_bound(bound.type, value)
        file.partition.append(PartitionValue(field_id=bound.field.field_id, value=stored))


def partition_key(file: DataFileRef) -> PartitionKey:
    """The partition that a file is in."""
    return file.spec_id, tuple(
        (value.field_id, value.value if value.HasField("value") else None) for value in file.partition
    )


def partition_values(file: DataFileRef, spec: PartitionSpec, schema: Schema) -> dict[int, Value | None]:
    """A file's partition as plain values by field id; `Invalid` if the spec is not the file's.

    Fields of dropped columns are left out: their types are unknown.
    """
    if file.spec_id != spec.id:
        raise Invalid("a file was written with another spec", subject=file.path, expected=file.spec_id, found=spec.id)
    stored = {value.field_id: value for value in file.partition}
    values: dict[int, Value | None] = {}
    for bound in bound_fields(spec, schema):
        known = stored.get(bound.field.field_id)
        if known is not None:
            values[known.field_id] = decode_bound(bound.type, known.value) if known.HasField("value") else None
    return values


def partition_texts(file: DataFileRef, spec: PartitionSpec, schema: Schema) -> dict[str, str | None]:
    """A file's partition as text by field name, None for null: `{"ordered_at_day": "2024-03-15"}`."""
    values = partition_values(file, spec, schema)
    return {
        bound.field.name: None if value is None else value_text(bound.field.transform, bound.source.type, value)
        for bound in bound_fields(spec, schema)
        if bound.field.field_id in values
        for value in (values[bound.field.field_id],)
    }


def value_text(transform: Transform, type: Type, value: Value | None) -> str:
    """A partition value of such a column as Iceberg writes it: `2024-03`, `2024-03-15-07`, `us-east`, `null`."""
    if value is None or transform.name == "void":
        return "null"
    match transform.name, value:
        case "year", int():
            return f"{1970 + value:04}"
        case "month", int():
            return f"{1970 + value // 12:04}-{1 + value % 12:02}"
        case "hour", int():
            return f"{date_text(value // 24)}-{value % 24:02}"
        case _:
            return _plain_text(transform.result_type(type), value)


def _plain_text(type: Type, value: Value) -> str:
    match value:
        case bytes() if type == UUID_TYPE:
            return str(UUID(bytes=value))
        case bytes():
            return base64.b64encode(value).decode()
        case bool() if type == BOOLEAN:
            return str(value).lower()
        case int() if type == DATE:
            return date_text(value)
        case int() if type == TIME:
            return time_text(value * 1000, 0 if _is_whole(value * 1000) else 6)
        case int() if type in (TIMESTAMP, TIMESTAMPTZ):
            return _timestamp_text(value * 1000, 6) + ("+00:00" if type == TIMESTAMPTZ else "")
        case int() if type in (TIMESTAMP_NS, TIMESTAMPTZ_NS):
            return _timestamp_text(value, 9) + ("+00:00" if type == TIMESTAMPTZ_NS else "")
        case _:
            return str(value)


def _timestamp_text(nanos: int, digits: int) -> str:
    return moment_text(nanos, 0 if _is_whole(nanos) else digits)


def _is_whole(nanos: int) -> bool:
    return nanos % SECOND_NANOS == 0

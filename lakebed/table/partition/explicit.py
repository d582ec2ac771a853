"""The values of an explicit partition: one for each column that the table is partitioned by as it is.

They are what a file's partition is compared with, the name under which the partition is found, and a condition on rows.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

from lakebed.errors import Invalid
from lakebed.table.filter.bind import bind
from lakebed.table.filter.column import col
from lakebed.table.filter.condition import Condition, all_conditions
from lakebed.table.filter.filter import Comparison, Operator, Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.hive import value_of
from lakebed.table.partition.spec import BoundField, PartitionSpec, bound_fields
from lakebed.table.partition.transforms import IDENTITY
from lakebed.table.partition.values import partition_values, value_text
from lakebed.table.schema.schema import Schema
from lakebed.table.types import types
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Decimal, Field, Fixed, Type

_TYPES: Final = frozenset(
    {
        types.BOOLEAN,
        types.INT,
        types.LONG,
        types.DATE,
        types.TIME,
        types.TIMESTAMP,
        types.TIMESTAMPTZ,
        types.STRING,
        types.UUID,
        types.BINARY,
    }
)
"""The types of columns that explicit partitions can have values of: one value has one text, and equals itself."""

_LONGEST_TEXT: Final = 150
_PLAIN: Final = " !$&'()*+-.:;<>?[]^_{}"  # besides letters and digits; `%`, `=`, `,` and `~` have meanings here
_1970 = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ExplicitValues:
    """(field id) -> the value of all rows, None for null; in the order of the spec's fields"""

    by_id: tuple[tuple[int, Value | None], ...]

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(id for id, _ in self.by_id)

    def fields(self, schema: Schema) -> dict[Field, Value | None]:
        """The same by column."""
        return {schema.ways[id][-1]: value for id, value in self.by_id if id in schema.ways}

    def text(self, schema: Schema) -> str:
        """As Hive's folders have them, with the current names: `dt=2026-11-01/region=eu`."""
        return "/".join(f"{field.name}={_text(field, value)}" for field, value in self.fields(schema).items())

    def name(self, schema: Schema) -> str:
        """The name that no other values of the table have, whatever columns are called later: `dt=2026-11-01`.

        Names are compared without case. A text that is not lower case, or is long, ends in `~` and a digest.
        """
        parts = [_named(field, value) for field, value in self.fields(schema).items()]
        name = ",".join(parts)
        if name == name.casefold() and name.isascii() and len(name) <= _LONGEST_TEXT:
            return name
        digest = hashlib.sha1(repr(parts).encode(), usedforsecurity=False).hexdigest()[:20]
        return f"{name.encode()[:_LONGEST_TEXT].decode(errors='ignore')}~{digest}"

    def condition(self, schema: Schema) -> Condition:
        """What is true for the rows of the partition alone."""
        return all_conditions([column_equals(field, value) for field, value in self.fields(schema).items()])

    def python(self, schema: Schema) -> dict[str, Any]:
        """The values as Python has them, by the names of their columns."""
        return {field.name: python_value(field.type, value) for field, value in self.fields(schema).items()}


def given_values(given: Mapping[str, Any], schema: Schema, spec: PartitionSpec) -> ExplicitValues:
    """The values that a caller gives; `Invalid` unless they are one for each column that the table is partitioned by.

    A value is Python's, or its text as Hive's folders have it; None is null.
    """
    columns = partition_columns(spec, schema)
    known = {folded_column(str(name)): value for name, value in check_values(given).items()}
    names = [folded_column(field.name) for field in columns]
    if sorted(known) != sorted(names) or len(known) != len(given) or not names:
        raise _other_columns(given, [field.name for field in columns])
    return ExplicitValues(tuple((field.id, _value(field, known[folded_column(field.name)])) for field in columns))


def check_values(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values by column, as they were given; `Invalid` for anything but a mapping."""
    if isinstance(given, Mapping):
        return given
    expected = 'values by column, such as {"dt": "2026-11-01"}'
    raise Invalid("a partition is named by its values", expected=expected, found=repr(given)[:80])


def partition_columns(spec: PartitionSpec, schema: Schema) -> list[Field]:
    """The columns that the table is partitioned by as they are: those that explicit partitions have values of."""
    return [bound.source for bound in _identities(spec, schema)]


def values_of_file(file: DataFileRef, spec: PartitionSpec, schema: Schema) -> dict[int, Value | None]:
    """(field id) -> the value that all rows of a file have, of the columns that its spec has as they are"""
    if not file.partition:
        return {}
    values = partition_values(file, spec, schema)
    found = ((bound.source.id, bound.field.field_id) for bound in _identities(spec, schema))
    return {source: values[field] for source, field in found if field in values}


def with_values(schema: Schema, values: ExplicitValues) -> Schema:
    """The schema whose columns of the values have them as defaults: rows without these columns get them."""
    by_id = dict(values.by_id)
    fields = tuple(replace(one, write_default=by_id.get(one.id, one.write_default)) for one in schema.fields)
    return Schema(fields, schema.id, schema.identifier_ids, schema.unknown)


def python_value(type: Type, value: Value | None) -> Any:
    """A plain value as Python has it."""
    match value:
        case int() if type == types.DATE:
            return date(1970, 1, 1) + timedelta(days=value)
        case int() if type == types.TIMESTAMP:
            return _1970 + timedelta(microseconds=value)
        case int() if type == types.TIMESTAMPTZ:
            return (_1970 + timedelta(microseconds=value)).replace(tzinfo=UTC)
        case int() if type == types.TIME:
            return (_1970 + timedelta(microseconds=value)).time()
        case bytes() if type == types.UUID:
            return UUID(bytes=value)
        case _:
            return value


def _identities(spec: PartitionSpec, schema: Schema) -> list[BoundField]:
    return [bound for bound in bound_fields(spec, schema) if bound.field.transform == IDENTITY and len(bound.path) == 1]


def _value(field: Field, given: Any) -> Value | None:
    if field.type not in _TYPES and not isinstance(field.type, Decimal | Fixed):
        raise Invalid("explicit partitions can't have values of this type", subject=field.name, found=str(field.type))
    if given is None:
        if field.required:
            raise Invalid("the column requires a value", subject=field.name, found="None")
        return None
    if isinstance(given, str) and field.type != types.STRING and not isinstance(field.type, Fixed):
        return _text_value(field, given)
    if isinstance(given, str):
        _check_text(field, given)
    return _bound_value(field, given)


def _text_value(field: Field, text: str) -> Value:
    if field.type == types.TIME:
        if not _is_time(text):
            raise _unfit(field, text)
        return _bound_value(field, time.fromisoformat(text))
    try:
        return value_of(field, text)
    except Invalid as error:
        raise _unfit(field, text) from error


def _bound_value(field: Field, given: Any) -> Value:
    """The plain value that a filter would compare the column with."""
    alone = Schema((replace(field, required=False),), 0)
    try:
        found = bind(_column(field) == given, alone)
    except Invalid as error:
        raise _unfit(field, given) from error
    if isinstance(found, Comparison) and found.operator is Operator.EQUAL:
        return found.value
    raise _unfit(field, given)


def _column(field: Field) -> Any:
    return col("`" + field.name.replace("`", "``") + "`")


def _unfit(field: Field, given: Any) -> Invalid:
    return Invalid("a partition's value does not fit its column", subject=field.name, expected=field.type, found=given)


def _is_time(text: str) -> bool:
    try:
        return time.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def _check_text(field: Field, text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Invalid("a partition's value can't be stored", subject=field.name, found=ascii(text))


def has_exact_values(type: Type) -> bool:
    """Whether a value of the type has one text, and equals itself alone."""
    return type in _TYPES


def column_equals(field: Field, value: Value | None) -> Condition:
    """The condition that a column has a value, or none."""
    column = _column(field)
    found: Condition = column.is_null() if value is None else column == python_value(field.type, value)
    return found


def _text(field: Field, value: Value | None) -> str:
    return "null" if value is None else value_text(IDENTITY, field.type, value)


def _named(field: Field, value: Value | None) -> str:
    column = _quoted(field.physical_name)
    return column if value is None else f"{column}={_quoted(_text(field, value))}"


def _quoted(text: str) -> str:
    return quote(text, safe=_PLAIN).replace("~", "%7E")  # which `quote` leaves


def _other_columns(given: Mapping[str, Any], columns: list[str]) -> Invalid:
    if not columns:
        return Invalid(
            "the table is not partitioned by a column as it is, so that it can't have explicit partitions",
            advice='Partition it by columns first: with table.evolve() as change: change.partition_by(["dt"]).',
        )
    return Invalid(
        "a partition has one value for each column that the table is partitioned by as it is",
        expected=", ".join(columns),
        found=", ".join(map(str, given)) or "no value",
    )

"""Types of columns as Arrow's types, and back."""

from collections.abc import Callable
from functools import lru_cache

import pyarrow

from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.types.limits import LEVELS, too_deep
from lakebed.table.types.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    Decimal,
    Field,
    Fixed,
    List,
    Map,
    Primitive,
    Struct,
    Type,
    children_of,
)

FIELD_ID = b"PARQUET:field_id"  # where Arrow's Parquet writer and reader keep a field's id
COMMENT = b"comment"

_ARROW = {
    BOOLEAN: pyarrow.bool_(),
    INT: pyarrow.int32(),
    LONG: pyarrow.int64(),
    FLOAT: pyarrow.float32(),
    DOUBLE: pyarrow.float64(),
    DATE: pyarrow.date32(),
    TIME: pyarrow.time64("us"),
    TIMESTAMP: pyarrow.timestamp("us"),
    TIMESTAMPTZ: pyarrow.timestamp("us", tz="UTC"),
    TIMESTAMP_NS: pyarrow.timestamp("ns"),
    TIMESTAMPTZ_NS: pyarrow.timestamp("ns", tz="UTC"),
    STRING: pyarrow.string(),
    UUID: pyarrow.uuid(),
    BINARY: pyarrow.binary(),
}

UUID_BYTES = pyarrow.binary(16)

# By the id of Arrow's type: our type that has all of its values.
PRIMITIVES = {
    pyarrow.lib.Type_BOOL: BOOLEAN,
    pyarrow.lib.Type_INT8: INT,
    pyarrow.lib.Type_INT16: INT,
    pyarrow.lib.Type_INT32: INT,
    pyarrow.lib.Type_UINT8: INT,
    pyarrow.lib.Type_UINT16: INT,
    pyarrow.lib.Type_UINT32: LONG,
    pyarrow.lib.Type_INT64: LONG,
    pyarrow.lib.Type_HALF_FLOAT: FLOAT,
    pyarrow.lib.Type_FLOAT: FLOAT,
    pyarrow.lib.Type_DOUBLE: DOUBLE,
    pyarrow.lib.Type_DATE32: DATE,
    pyarrow.lib.Type_DATE64: DATE,
    pyarrow.lib.Type_TIME32: TIME,
    pyarrow.lib.Type_STRING: STRING,
    pyarrow.lib.Type_LARGE_STRING: STRING,
    pyarrow.lib.Type_STRING_VIEW: STRING,
    pyarrow.lib.Type_BINARY: BINARY,
    pyarrow.lib.Type_LARGE_BINARY: BINARY,
    pyarrow.lib.Type_BINARY_VIEW: BINARY,
}

_LISTS = {
    pyarrow.lib.Type_LIST,
    pyarrow.lib.Type_LARGE_LIST,
    pyarrow.lib.Type_FIXED_SIZE_LIST,
    pyarrow.lib.Type_LIST_VIEW,
    pyarrow.lib.Type_LARGE_LIST_VIEW,
}

_WITHOUT_VIEWS = {
    pyarrow.lib.Type_STRING_VIEW: pyarrow.string(),
    pyarrow.lib.Type_BINARY_VIEW: pyarrow.binary(),
}

_ADVICE = {
    pyarrow.lib.Type_UINT64: "Cast it to int64, or to decimal128(20, 0) for larger numbers.",
    pyarrow.lib.Type_TIME64: "Cast it to microseconds, time64('us').",
    pyarrow.lib.Type_DURATION: "Cast it to a number, such as its microseconds.",
    pyarrow.lib.Type_STRUCT: "Give it a field: Parquet has no structs without fields.",
    pyarrow.lib.Type_NA: "Give the column a type: it has only nulls.",
}


@lru_cache(maxsize=256)  # a scan asks for every batch
def arrow_schema(schema: Schema) -> pyarrow.Schema:
    """The schema of a scan's rows: the columns by their own names."""
    return pyarrow.schema([_field(field, _shown_field) for field in schema.fields])


@lru_cache(maxsize=256)  # an append of one row asks twice, at 60 µs each
def file_schema(schema: Schema) -> pyarrow.Schema:
    """The schema of a data file: the columns by their names in the files, with field ids on every level."""
    return pyarrow.schema([_field(field, _stored_field) for field in schema.fields])


# Makes Arrow's field from one of ours and its type in Arrow.
_Maker = Callable[[Field, pyarrow.DataType], pyarrow.Field]


def _shown_field(field: Field, type: pyarrow.DataType) -> pyarrow.Field:
    metadata = {COMMENT: field.comment.encode()} if field.comment else None
    return pyarrow.field(field.name, type, not field.required, metadata)


def _stored_field(field: Field, type: pyarrow.DataType) -> pyarrow.Field:
    return pyarrow.field(field.physical_name, type, not field.required, {FIELD_ID: b"%d" % field.id})


def _field(field: Field, make: _Maker) -> pyarrow.Field:
    return make(field, _arrow(field.type, make))


def _arrow(type: Type, make: _Maker) -> pyarrow.DataType:
    match type:
        case Primitive():
            return _ARROW[type]
        case Decimal(precision, scale):
            return pyarrow.decimal128(precision, scale)
        case Fixed(length):
            return pyarrow.binary(length)
        case List():
            return pyarrow.list_(*(_field(field, make) for field in children_of(type)))
        case Map():
            return pyarrow.map_(*(_field(field, make) for field in children_of(type)))
        case Struct(fields):
            return pyarrow.struct([_field(field, make) for field in fields])


def schema_of(arrow: pyarrow.Schema) -> Schema:
    """An Arrow schema as ours, still without ids; `Invalid` names a column whose type a table can't have."""
    check_columns(arrow)
    return Schema([_field_of(field, field.name) for field in arrow])


def check_columns(arrow: pyarrow.Schema) -> None:
    """Refuse names and nesting that no table can have, before anybody recurses into them."""
    check_names(arrow)
    for field in arrow:
        _check_nesting(field)


def check_names(arrow: pyarrow.Schema) -> None:
    """Refuse names that are not UTF-8: Arrow does not look at them, and whoever asks for one gets a raw error."""
    pending = [(f"{place}", field) for place, field in enumerate(arrow)]
    while pending:
        place, field = pending.pop()
        try:
            field.name  # noqa: B018
        except UnicodeDecodeError as error:
            raise Invalid(
                "a column's name is not UTF-8",
                subject=f"column {place}, counted from 0",
                found=f"{error.object!r:.80}",
                advice="Rename the column.",
            ) from error
        type = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
        pending += [(f"{place}.{inner}", type.field(inner)) for inner in range(type.num_fields)]


def _check_nesting(field: pyarrow.Field) -> None:
    """Refuse a column with more levels than `LEVELS`. Without recursion, since its type may be of any depth."""
    deepest, pending = 0, [(field.type, 0)]
    while pending:
        type, above = pending.pop()
        entries = pyarrow.types.is_map(type)  # its one field is the struct of a key and a value
        own = above + (2 if entries or is_list(type) else 1 if type.num_fields else 0)
        deepest = max(deepest, own)
        fields = type.field(0).type if entries else type
        pending += [(fields.field(place).type, own) for place in range(fields.num_fields)]
    if deepest > LEVELS:
        raise too_deep(field.name, deepest)


def _field_of(arrow: pyarrow.Field, path: str) -> Field:
    comment = (arrow.metadata or {}).get(COMMENT, b"").decode(errors="replace")
    return Field(arrow.name, _type_of(arrow.type, path), not arrow.nullable, comment)


def _type_of(arrow: pyarrow.DataType, path: str) -> Type:
    known = PRIMITIVES.get(arrow.id)
    if known is not None:
        return known
    if is_uuid(arrow):
        return UUID
    if is_list(arrow):
        element = arrow.value_field
        return List(_type_of(element.type, f"{path}.element"), not element.nullable)
    match arrow.id:
        case pyarrow.lib.Type_DICTIONARY:
            return _type_of(arrow.value_type, path)
        case pyarrow.lib.Type_TIMESTAMP if arrow.unit == "ns":
            return TIMESTAMP_NS if arrow.tz is None else TIMESTAMPTZ_NS
        case pyarrow.lib.Type_TIMESTAMP:
            return TIMESTAMP if arrow.tz is None else TIMESTAMPTZ
        case pyarrow.lib.Type_TIME64 if arrow.unit == "us":
            return TIME
        case pyarrow.lib.Type_FIXED_SIZE_BINARY if arrow.byte_width:
            return Fixed(arrow.byte_width)
        case pyarrow.lib.Type_STRUCT if arrow.num_fields:
            return Struct(tuple(_field_of(field, f"{path}.{field.name}") for field in arrow))
        case pyarrow.lib.Type_MAP:
            key, value = _type_of(arrow.key_type, f"{path}.key"), _type_of(arrow.item_type, f"{path}.value")
            return Map(key, value, not arrow.item_field.nullable)
    if is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:
        return Decimal(arrow.precision, arrow.scale)
    raise _refused(arrow, path)


def is_decimal(arrow: pyarrow.DataType) -> bool:
    """Whether it is a decimal of any width."""
    return bool(pyarrow.types.is_decimal(arrow))


def is_uuid(arrow: pyarrow.DataType) -> bool:
    """Whether it is Arrow's UUID: an extension type of 16 bytes, which few kernels take."""
    return isinstance(arrow, pyarrow.UuidType)


def kernel_type(type: Type) -> pyarrow.DataType:
    """The type to cast columns to before kernels sort, compare or look up their values: bytes for UUIDs."""
    return UUID_BYTES if type == UUID else _arrow(type, _shown_field)


def is_list(arrow: pyarrow.DataType) -> bool:
    """Whether it is a list in any of Arrow's layouts."""
    return arrow.id in _LISTS


def decoded(column: pyarrow.Array) -> pyarrow.Array:
    """The values of a column, also of one that is a dictionary and places in it."""
    if not pyarrow.types.is_dictionary(column.type):
        return column
    values, plain = column.dictionary, _WITHOUT_VIEWS.get(column.type.value_type.id)
    if plain is None:
        return column.dictionary_decode()
    # Polars has such categories; Arrow does not decode them (pyarrow 26).
    return pyarrow.DictionaryArray.from_arrays(column.indices, values.cast(plain)).dictionary_decode()


def shown_value(scalar: pyarrow.Scalar) -> str:
    """A value for an error message; Python values with nanoseconds need pandas, which may not be installed."""
    try:
        return repr(scalar.as_py())
    except (ValueError, OverflowError):  # nor has Python a value for years beyond 9999
        return f"{scalar.cast(pyarrow.string())}"


def _refused(arrow: pyarrow.DataType, path: str) -> Invalid:
    return Invalid(
        "a table can't have a column of this type",
        subject=path,
        expected="a type that both Iceberg and Arrow have",
        found=str(arrow),
        advice=_ADVICE.get(arrow.id, "Cast it to another type."),
    )

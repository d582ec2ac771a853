"""Decisions about conflicts as people write them: JSON, whose texts become what the columns of the table hold."""

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pyarrow

from lakebed.catalog.merge.progress import from_json
from lakebed.cli.column_types import Types
from lakebed.errors import Invalid

SIDES = ("ours", "theirs")


def parsed_decision(given: Any, types: Types) -> Any:
    """`ours`, `theirs`, or a row, as an object or its text, with the types of the table's columns."""
    if given in SIDES:
        return given
    row = from_json(given if isinstance(given, str) else json.dumps(given))
    if not isinstance(row, Mapping):
        raise Invalid("this is not a decision", expected='"ours", "theirs", or a row as JSON', found=f"{given!r:.80}")
    return {name: _typed(name, value, types.get(name)) for name, value in row.items()}


def _typed(name: str, value: Any, type: pyarrow.DataType | None) -> Any:
    """A value of JSON as a value of a column; `json_value` in `values` is the way back."""
    if type is None or value is None:
        return value
    if isinstance(value, str):
        return _of_text(name, value, type)
    if isinstance(value, Mapping) and pyarrow.types.is_struct(type):
        return {field.name: _typed(name, value.get(field.name), field.type) for field in type}
    if isinstance(value, list) and pyarrow.types.is_list(type):
        return [_typed(name, one, type.value_type) for one in value]
    if isinstance(value, list) and pyarrow.types.is_map(type):
        return [(_typed(name, key, type.key_type), _typed(name, one, type.item_type)) for key, one in value]
    return value


def _of_text(name: str, text: str, type: pyarrow.DataType) -> Any:
    try:
        if type == pyarrow.uuid():
            return UUID(text)
        if pyarrow.types.is_binary(type) or pyarrow.types.is_fixed_size_binary(type):
            return b64decode(text, validate=True)
        return pyarrow.scalar(text).cast(type).as_py()
    except (ValueError, pyarrow.ArrowNotImplementedError) as error:
        raise Invalid(
            "the value does not fit its column", subject=name, expected=str(type), found=repr(text)[:80]
        ) from error

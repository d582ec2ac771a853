"""The JSON documents of source document 001: the required keys of each, and how it is read and written.

A document is plain JSON as Python values. Keys that a form does not name are kept when it is read, and written again.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from lakebed.errors import Corrupt, Invalid

Json = Any
"""What `json` returns: dicts, lists, texts, numbers, booleans, None."""


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of values of one shape."""

    of: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with any keys, whose values all have one shape."""

    of: "Shape"


@dataclass(frozen=True, slots=True)
class Keys:
    """An object with the required keys; it may have the optional ones and any other."""

    required: Mapping[str, "Shape"]
    optional: Mapping[str, "Shape"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OrNull:
    """A value that may be null."""

    of: "Shape"


Shape = type[str] | type[int] | type[bool] | type[object] | Array | MapOf | Keys | OrNull
"""`int` has 64 bits; `object` is anything."""

_NAMES = {str: "text", int: "a whole number of 64 bits", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of document. A body of another shape is `Corrupt` when it is read, `Invalid` when it is written."""

    name: str
    shape: Shape

    def to_json(self, body: Json) -> bytes:
        """The document's bytes, in UTF-8, with its keys in their order."""
        for path, expected, found in _misfits(self.shape, body, ""):
            raise Invalid(
                "this is not such a document",
                subject=self.name,
                expected=f"{path or self.name} as {expected}",
                found=found,
            )
        try:
            return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise Invalid("this can't be written as JSON", subject=self.name, found=str(error)) from error

    def from_json(self, data: bytes | str) -> Json:
        """The document in the bytes; `Corrupt` names the first key that is missing or has another type."""
        body = self._parse(data)
        for path, expected, found in _misfits(self.shape, body, ""):
            raise self._damaged(f"{path or self.name} as {expected}", found)
        return body

    def _parse(self, data: bytes | str) -> Json:
        try:
            text = data if isinstance(data, str) else bytes(data).decode()
            body = json.loads(
                text, object_pairs_hook=_unique_keys, parse_constant=_refuse_number, parse_float=_finite_number
            )
            json.dumps(body, ensure_ascii=False).encode()  # half of a surrogate pair can't be encoded
        except (ValueError, TypeError, RecursionError) as error:
            raise self._damaged("JSON in UTF-8", str(error)) from error
        return body

    def _damaged(self, expected: str, found: str) -> Corrupt:
        return Corrupt("the document can't be read", subject=self.name, expected=expected, found=found)


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return keys


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number in JSON")


def _finite_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _misfits(shape: Shape, value: Json, path: str) -> Iterator[tuple[str, str, str]]:
    """Where a value has another shape: the path to it, what was expected, what was found."""
    match shape:
        case OrNull(of):
            if value is not None:
                yield from _misfits(of, value, path)
        case Array(of):
            if not isinstance(value, list):
                yield path, "an array", _found_text(value)
                return
            for index, element in enumerate(value):
                yield from _misfits(of, element, f"{path}[{index}]")
        case MapOf(of):
            if not isinstance(value, dict):
                yield path, "an object", _found_text(value)
                return
            for key, element in value.items():
                if not isinstance(key, str):
                    yield path, "an object whose keys are texts", _found_text(key)
                yield from _misfits(of, element, _joined(path, key))
        case Keys():
            yield from _key_misfits(shape, value, path)
        case _:
            if not _is_of(shape, value):
                yield path, _NAMES[shape], _found_text(value)


def _key_misfits(shape: Keys, value: Json, path: str) -> Iterator[tuple[str, str, str]]:
    if not isinstance(value, dict):
        yield path, "an object", _found_text(value)
        return
    for key, of in {**shape.required, **shape.optional}.items():
        if key in value:
            yield from _misfits(of, value[key], _joined(path, key))
        elif key in shape.required:
            yield _joined(path, key), _expected_text(of), "nothing"


def _expected_text(shape: Shape) -> str:
    match shape:
        case OrNull(of):
            return f"{_expected_text(of)} or null"
        case Array():
            return "an array"
        case MapOf() | Keys():
            return "an object"
        case _:
            return _NAMES.get(shape, "a value")


def _is_of(shape: type, value: Json) -> bool:
    if shape is object:
        return True
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
    return isinstance(value, shape)


def _found_text(value: Json) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "an array"
        case _:
            text = json.dumps(value) if value is None or isinstance(value, str | int | float) else type(value).__name__
            return text if len(text) <= 60 else text[:59] + "…"


def _joined(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


_TEXTS = MapOf(str)
_VALUES = MapOf(OrNull(str))

# The examples' documents.

_SPEC_FIELD = Keys({"source-id": int, "field-id": int, "name": str, "transform": str})
_SCHEMA_FIELD = Keys({"name": str, "type": object, "nullable": bool}, {"id": int})
_SUMMARY = Keys({"operation": str}, {"added-data-files": int, "added-records": int, "changed-partition-count": int})
_SNAPSHOT_ENTRY = Keys({"snapshot-id": int, "timestamp-ms": int, "summary": _SUMMARY, "manifest-list": str})

METADATA = Form(
    "table metadata",
    Keys(
        {
            "format-version": int,
            "table-uuid": str,
            "location": str,
            "last-sequence-number": int,
            "last-updated-ms": int,
            "current-snapshot-id": OrNull(int),
            "snapshots": Array(_SNAPSHOT_ENTRY),
            "partition-specs": Array(Keys({"spec-id": int, "fields": Array(_SPEC_FIELD)})),
            "schema": Keys({"type": str, "fields": Array(_SCHEMA_FIELD)}),
        }
    ),
)
SNAPSHOT = Form("snapshot", Keys({"snapshot-id": int, "timestamp-ms": int, "operation": str, "manifest-list": str}))
_SUMMARY_OF_PARTITIONS = Keys({"contains-null": bool, "lower-bound": _VALUES, "upper-bound": _VALUES})
MANIFEST_LIST = Form(
    "manifest list",
    Array(Keys({"manifest-path": str, "manifest-length": int, "partition-summaries": Array(_SUMMARY_OF_PARTITIONS)})),
)
_FILE = Keys(
    {"file-path": str, "file-format": str, "partition-values": _VALUES, "record-count": int, "file-size-in-bytes": int}
)
MANIFEST = Form(
    "manifest",
    Keys({"added-data-files": Array(_FILE), "existing-data-files": Array(_FILE), "deleted-data-files": Array(_FILE)}),
)

# KVCatalog's serialisations.

PROPERTIES = Form("properties", _TEXTS)
PARTITION_VALUES = Form("partition values", _VALUES)
PARTITION_SPECS = Form(
    "partition specs",
    Array(
        Keys(
            {
                "spec_id": int,
                "fields": Array(
                    Keys({"source_id": int, "field_id": int, "name": str, "transform": str}, {"transform_param": int})
                ),
            }
        )
    ),
)
SUMMARY = Form("snapshot summary", _TEXTS)
SNAPSHOTS = Form(
    "snapshots",
    Array(
        Keys(
            {"snapshot_id": int, "timestamp_ms": int, "operation": str, "manifest_list": str, "summary": _TEXTS},
            {"parent_snapshot_id": OrNull(int)},
        )
    ),
)
DATA_FILES = Form(
    "data files",
    Array(
        Keys(
            {"file_path": str, "format": str, "record_count": int, "file_size_bytes": int, "partition_values": _VALUES}
        )
    ),
)

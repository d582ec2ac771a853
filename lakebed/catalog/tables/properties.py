"""A table's properties as typed values: settings, options of writes, checks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, cast

from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.manifest.inline import DEFAULT_INLINE_BYTES, MOST_INLINE_BYTES
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom import FPP, unblocked_fpp
from lakebed.table.statistics.bloom_values import can_have_bloom
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, leaves


@dataclass(frozen=True, slots=True)
class Setting:
    """A property that is a whole number from `least` to `most`, and what it is unless the table has it."""

    name: str
    default: int
    least: int = 0
    most: int = 2**40


INLINE_BYTES: Final = Setting("write.inline-bytes", DEFAULT_INLINE_BYTES, most=MOST_INLINE_BYTES)
"""The most bytes that a write's rows have in the metastore; what is larger becomes files, with 0 everything."""

TARGET_FILE_BYTES: Final = Setting("write.target-file-bytes", 128 << 20, least=1)
ROW_GROUP_BYTES: Final = Setting("write.row-group-bytes", 64 << 20, least=1)
"""In memory, before they are compressed."""
ROW_GROUP_ROWS: Final = Setting("write.row-group-rows", 1 << 20, least=1, most=1 << 30)
KEYED_GROUP_ROWS: Final = replace(ROW_GROUP_ROWS, default=1 << 15)
"""Of a table with a primary key: a row by its key is found by decoding one row group."""

CHECKPOINT_DELTAS: Final = Setting("checkpoint.deltas", 128)
CHECKPOINT_BYTES: Final = Setting("checkpoint.bytes", 4_000_000)
"""How many deltas, and how many bytes of manifests, make a checkpoint due; 0 is never."""

DISTRIBUTION: Final = "write.distribution"
"""What Spark does with rows before it writes them: `partition` brings those of a partition together, `none` nothing."""

BLOOM_COLUMNS: Final = "write.bloom.columns"
"""The columns whose files get bloom filters, by name, with commas between them."""

PREFIX: Final = "check."
"""Before the name of a check, whose condition is the property's value."""

CHECK_KEYS: Final = "write.check-keys"
"""Whether an append checks that its primary keys are new."""

_FLAGS: Final = {"true": True, "false": False}

BLOOM_FPP: Final = "write.bloom.fpp"
"""How many of the values that are not there a bloom filter may let pass: 0.01 is one of a hundred."""


Properties = Mapping[str, str]
"""A table's properties as they are stored."""


def table_properties(work: Work, table: str) -> Properties:
    """The properties of a table. A concurrent change of them is not a conflict."""
    record = cast("pb.TableProperties | None", work.unread_attribute(table, Attribute.PROPERTIES))
    return {} if record is None else record.properties


def inline_bytes(properties: Properties) -> int:
    """The limit of a table's inline rows; `Invalid` if the property is not a number in its range."""
    return number(properties, INLINE_BYTES)


def number(properties: Properties, setting: Setting) -> int:
    """The value of a setting; `Invalid` if the property is not a number in its range."""
    found = properties.get(setting.name)
    if found is None:
        return setting.default
    if found.isascii() and found.isdigit() and len(found) <= len(str(setting.most)):
        value = int(found)
        if setting.least <= value <= setting.most:
            return value
    raise Invalid(
        "a property of the table is no number that it can be",
        subject=setting.name,
        expected=f"digits, {setting.least} to {setting.most}",
        found=repr(found),
        advice=f'Mend it with set_properties({{"{setting.name}": "{setting.default}"}}), or unset it.',
    )


_MOST_ROWS: Final = 1 << 30  # of a row group: a chunk's pages are counted in 32 bits


class Distribution(Enum):
    """Whether a job with many tasks first brings the rows of each partition together."""

    NONE = "none"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Sizes at which a file or a row group is full, and the ids of the fields that have bloom filters.

    `group_bytes` are counted in memory, `file_bytes` as they are in the file. One process needs no distribution.
    """

    file_bytes: int = 128 << 20
    group_bytes: int = 64 << 20
    group_rows: int = 1 << 20  # with an eighth of it Spark writes a quarter longer: each group tries dictionaries again
    blooms: frozenset[int] = frozenset()
    bloom_fpp: float = FPP
    distribution: Distribution = Distribution.PARTITION

    def __post_init__(self) -> None:
        for name in ("file_bytes", "group_bytes", "group_rows"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise Invalid("a size to write is no number above 0", subject=name, found=repr(value))
        if self.group_rows > _MOST_ROWS:
            raise Invalid("a row group has too many rows", expected=f"at most {_MOST_ROWS}", found=self.group_rows)
        unblocked_fpp(self.bloom_fpp)  # refuses what is no rate


DEFAULTS: Final = WriteOptions()


def write_options(properties: Properties, schema: Schema) -> WriteOptions:
    """How a table's files are written; `Invalid` names a property with an impossible value."""
    return WriteOptions(
        file_bytes=number(properties, TARGET_FILE_BYTES),
        group_bytes=number(properties, ROW_GROUP_BYTES),
        group_rows=number(properties, KEYED_GROUP_ROWS if schema.key else ROW_GROUP_ROWS),
        blooms=_bloom_ids(properties.get(BLOOM_COLUMNS), schema),
        bloom_fpp=_bloom_fpp(properties.get(BLOOM_FPP)),
        distribution=_distribution(properties.get(DISTRIBUTION)),
    )


def bloom_ways(options: WriteOptions, schema: Schema) -> list[tuple[Field, ...]]:
    """The ways to the columns that get bloom filters; `Invalid` for one that can't. One that is gone has none."""
    paths = {way[-1].id: way for way in leaves(schema.fields) if can_have_bloom(way[-1].type)}
    for id in sorted(options.blooms):
        if id in schema.ways and id not in paths:
            expected = "a column, not in a list or map, of any type but boolean, list, map and struct"
            raise Invalid("a column can't have a bloom filter", subject=schema.path_of(id), expected=expected)
    return [paths[id] for id in sorted(options.blooms) if id in paths]


def _bloom_ids(columns: str | None, schema: Schema) -> frozenset[int]:
    # A column that was dropped or renamed since has none: no append should fail for it.
    names = {folded_column(one.strip()) for one in (columns or "").split(",") if one.strip()}
    return frozenset(id for id, way in schema.ways.items() if folded_column(schema.path_of(id)) in names and way)


def _bloom_fpp(found: str | None) -> float:
    try:
        return FPP if found is None else float(found)
    except ValueError as error:
        raise Invalid(
            "a property of the table is no rate", subject=BLOOM_FPP, expected="such as 0.01", found=repr(found)
        ) from error


def _distribution(found: str | None) -> Distribution:
    try:
        return Distribution.PARTITION if found is None else Distribution(found.strip().lower())
    except ValueError as error:
        expected = " or ".join(one.value for one in Distribution)
        raise Invalid(
            "a property of the table names no distribution", subject=DISTRIBUTION, expected=expected, found=repr(found)
        ) from error


@dataclass(frozen=True, slots=True)
class Check:
    """A condition by its name. A row for which it is false breaks it; one for which it is null does not."""

    name: str
    condition: str

    @property
    def key(self) -> str:
        """The property that it is."""
        return f"{PREFIX}{self.name}"

    def broken(self, rows: str, example: str) -> Invalid:
        """The error for rows that break it; `rows` says how many, `example` is one of them."""
        return Invalid(
            "rows break a check of the table",
            subject=self.key,
            expected=self.condition,
            found=f"{rows}, such as {example}",
            advice="Mend or leave out these rows, or unset the property. Nothing was written.",
        )

    def unreadable(self, reason: object) -> Invalid:
        """The error for a condition that no row could be looked at by."""
        return Invalid(
            "a check of the table can't be looked at",
            subject=self.key,
            expected="a condition over the table's columns",
            found=f"{self.condition}: {reason}",
            advice="Mend the property, or unset it.",
        )


def checks_of(properties: Properties) -> tuple[Check, ...]:
    """A table's checks, sorted by name."""
    keys = [key for key in sorted(properties) if key.startswith(PREFIX)]
    return tuple(Check(key.removeprefix(PREFIX), properties[key]) for key in keys)


def looks_at_keys(properties: Properties) -> bool:
    """Whether an append checks that its keys are new; `Invalid` if the property is neither true nor false."""
    found = properties.get(CHECK_KEYS)
    if found is None:
        return False
    if found.lower() not in _FLAGS:
        raise Invalid(
            "a property of the table is neither true nor false",
            subject=CHECK_KEYS,
            expected="true or false",
            found=repr(found),
        )
    return _FLAGS[found.lower()]

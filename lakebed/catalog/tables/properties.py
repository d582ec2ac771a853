"""A table's properties as typed values: numeric settings, write options, checks of rows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, cast

from lakebed.catalog.tables.iceberg_properties import DISTRIBUTION_MODE, MODES
from lakebed.catalog.transaction.holders import holder_of, unread_holder
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Forbidden, Invalid
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.table.manifest.inline import DEFAULT_INLINE_BYTES, MOST_INLINE_BYTES
from lakebed.table.schema.schema import Schema
from lakebed.table.sql.kept import check_kept_condition
from lakebed.table.statistics.bloom import FPP, unblocked_fpp
from lakebed.table.statistics.bloom_values import can_have_bloom
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, leaves

Properties = Mapping[str, str]
"""A table's properties as they are stored."""

# The properties: numbers first, then texts.


@dataclass(frozen=True, slots=True)
class Setting:
    """A property that is a whole number from `least` to `most`, with the default for tables that don't set it.

    `iceberg` is Iceberg's name for it, which is obeyed where Lakebed's own is not set.
    """

    name: str
    default: int
    least: int = 0
    most: int = 2**40
    is_size: bool = False
    iceberg: str = ""

    @property
    def expected(self) -> str:
        """What a value has to be."""
        return f"{self.least} to {self.most}{', or a size such as 128MB' if self.is_size else ''}"


INLINE_BYTES: Final = Setting("write.inline-bytes", DEFAULT_INLINE_BYTES, most=MOST_INLINE_BYTES, is_size=True)
"""Rows of a write stay in the metastore up to this many bytes, and become files above it; 0 always writes files."""

TARGET_FILE_BYTES: Final = Setting(
    "write.target-file-bytes", 128 << 20, least=1, is_size=True, iceberg="write.target-file-size-bytes"
)
ROW_GROUP_BYTES: Final = Setting(
    "write.row-group-bytes", 64 << 20, least=1, is_size=True, iceberg="write.parquet.row-group-size-bytes"
)
"""In memory, before compression."""
ROW_GROUP_ROWS: Final = Setting("write.row-group-rows", 1 << 20, least=1, most=1 << 30)
KEYED_GROUP_ROWS: Final = replace(ROW_GROUP_ROWS, default=1 << 15)
"""For a table with a primary key: reading a row by its key decodes one row group."""

PAGE_BYTES: Final = Setting("write.parquet.page-size-bytes", 1 << 20, least=1 << 10, most=1 << 30, is_size=True)
DICTIONARY_BYTES: Final = Setting("write.parquet.dict-size-bytes", 1 << 17, least=1, most=1 << 30, is_size=True)
"""Up to this size a column chunk has a dictionary. Unset, each engine has its own default."""
LEVEL: Final = Setting("write.parquet.compression-level", 3, least=1, most=22)
"""Of zstd. Unset, each engine has its own default."""

CODEC: Final = "write.parquet.compression-codec"
"""How column chunks are compressed, by Iceberg's words."""

CHECKPOINT_DELTAS: Final = Setting("checkpoint.deltas", 128)
CHECKPOINT_BYTES: Final = Setting("checkpoint.bytes", 4_000_000, is_size=True)
"""How many deltas, or bytes of manifests, make a checkpoint due; 0 means never."""

CHECKPOINT_LAYOUT: Final = "checkpoint.layout"
"""Whether the entries of many files are in one object of a checkpoint (`shared`), or each in its own."""

DISTRIBUTION: Final = "write.distribution"
"""What Spark does with rows before it writes them: `partition` groups them by partition, `none` does nothing."""

BLOOM_COLUMNS: Final = "write.bloom.columns"
"""The names of the columns that get bloom filters, separated by commas."""

BLOOM_FPP: Final = "write.bloom.fpp"
"""The false positive rate of a bloom filter: 0.01 lets one absent value of a hundred pass."""

ROW_CHANGES: Final = "write.row-changes"
"""How rows are deleted from files: `merge-on-read` by vectors, `copy-on-write` by writing the rest again."""

CHECK_KEYS: Final = "write.check-keys"
"""`true` makes appends refuse keys that the table already has."""

CHECK_PREFIX: Final = "check."
"""`check.<name>` holds a condition that every row written has to meet."""

_BOOLEANS: Final = {"true": True, "false": False}
_DIGITS: Final = re.compile(r"(?P<digits>[0-9]+)")
_SIZE: Final = re.compile(r"(?P<digits>[0-9]+)\s*(?P<unit>[kmgt]?(i?b)?)", re.IGNORECASE)
_POWERS: Final = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}  # as in Spark's settings, MB is MiB
_MOST_GROUP_ROWS: Final = 1 << 30  # the pages of a column chunk are counted in 32 bits


# Values that writers are given.


class Layout(Enum):
    """How a checkpoint keeps the entries of files, by the words of source document 004."""

    SHARED = "shared"
    NON_SHARED = "non-shared"

    @property
    def part_files(self) -> int | None:
        """How many files an object has at most; None leaves it to Lakebed."""
        return 1 if self is Layout.NON_SHARED else None


class RowChanges(Enum):
    """How rows are deleted from files."""

    MERGE_ON_READ = "merge-on-read"  # by vectors, which readers apply
    COPY_ON_WRITE = "copy-on-write"


class Codec(Enum):
    """How column chunks are compressed: what both engines write, and every reader reads."""

    ZSTD = "zstd"
    SNAPPY = "snappy"
    GZIP = "gzip"
    NONE = "uncompressed"


class Distribution(Enum):
    """Whether a job with many tasks first groups the rows by partition."""

    NONE = "none"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The sizes at which a file or a row group is full, and the ids of the fields that get bloom filters.

    `group_bytes` are counted in memory, `file_bytes` in the file. `distribution` matters only to Spark. A `level` is of
    zstd; where it or `dictionary_bytes` is None, the engine decides.
    """

    file_bytes: int = 128 << 20
    group_bytes: int = 64 << 20
    group_rows: int = 1 << 20  # with an eighth of it Spark writes a quarter longer: each group tries dictionaries again
    blooms: frozenset[int] = frozenset()
    bloom_fpp: float = FPP
    distribution: Distribution = Distribution.PARTITION
    codec: Codec = Codec.ZSTD
    level: int | None = None
    page_bytes: int = 1 << 20
    dictionary_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("file_bytes", "group_bytes", "group_rows"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise Invalid("a write option is not a positive number", subject=name, found=repr(value))
        if self.group_rows > _MOST_GROUP_ROWS:
            expected = f"at most {_MOST_GROUP_ROWS}"
            raise Invalid("a row group has too many rows", expected=expected, found=self.group_rows)
        unblocked_fpp(self.bloom_fpp)  # refuses a number that is not a rate


DEFAULTS: Final = WriteOptions()


@dataclass(frozen=True, slots=True)
class Check:
    """A named condition. A row violates it if it is false; null does not violate it."""

    name: str
    condition: str

    @property
    def key(self) -> str:
        """The name of the property that defines it."""
        return f"{CHECK_PREFIX}{self.name}"

    def require_harmless(self) -> None:
        """`Forbidden` if it does more than compute: it runs with the rights of whoever writes."""
        try:
            check_kept_condition(self.condition, "a check")
        except Forbidden as error:
            error.subject, error.advice = self.key, "Fix the property, or unset it."
            raise

    def broken(self, rows: str, example: str) -> Invalid:
        """The error for rows that violate it; `rows` says how many, `example` is one of them."""
        return Invalid(
            "rows violate a check of the table",
            subject=self.key,
            expected=self.condition,
            found=f"{rows}, such as {example}",
            advice="Nothing was written. Fix or leave out these rows, or unset the property.",
        )

    def unreadable(self, reason: object) -> Invalid:
        """The error for a condition that can't be evaluated."""
        return Invalid(
            "a check of the table can't be evaluated",
            subject=self.key,
            expected="a condition over the table's columns",
            found=f"{self.condition if len(self.condition) <= 200 else f'{self.condition[:199]}…'}: {reason}",
            advice="Fix the property, or unset it.",
        )


# Readers of a table's properties.


def table_properties(work: Work, table: str) -> Properties:
    """The properties of a table. A concurrent change of them is not a conflict."""
    holder = unread_holder(work, table)
    record = cast("pb.TableProperties | None", work.unread_attribute(holder, Attribute.PROPERTIES))
    return {} if record is None else record.properties


def number(properties: Properties, setting: Setting) -> int:
    """The value of a setting; `Invalid` if the property is not a number in its range."""
    name = setting.iceberg if setting.iceberg in properties and setting.name not in properties else setting.name
    found = properties.get(name)
    if found is None:
        return setting.default
    match = (_SIZE if setting.is_size else _DIGITS).fullmatch(found.strip())
    if match is not None and len(match["digits"]) <= len(str(setting.most)):
        value = int(match["digits"]) << _POWERS[match.groupdict().get("unit", "")[:1].lower()]
        if setting.least <= value <= setting.most:
            return value
    raise Invalid(
        "a property of the table is not a number in its range",
        subject=name,
        expected=setting.expected,
        found=repr(found),
        advice=f'Fix it with set_properties({{"{name}": "{setting.default}"}}), or unset it.',
    )


def inline_bytes(properties: Properties) -> int:
    """The limit of a table's inline rows; `Invalid` if the property is not a number in its range."""
    return number(properties, INLINE_BYTES)


def write_options(properties: Properties, schema: Schema) -> WriteOptions:
    """How to write a table's files; `Invalid` names a property with an impossible value."""
    return WriteOptions(
        file_bytes=number(properties, TARGET_FILE_BYTES),
        group_bytes=number(properties, ROW_GROUP_BYTES),
        group_rows=number(properties, KEYED_GROUP_ROWS if schema.key else ROW_GROUP_ROWS),
        blooms=_bloom_ids(properties.get(BLOOM_COLUMNS), schema),
        bloom_fpp=_bloom_fpp(properties.get(BLOOM_FPP)),
        distribution=_distribution(properties),
        codec=(codec := _codec(properties.get(CODEC))),
        level=_given(properties, LEVEL) if codec is Codec.ZSTD else None,
        page_bytes=number(properties, PAGE_BYTES),
        dictionary_bytes=_given(properties, DICTIONARY_BYTES),
    )


def bloom_ways(options: WriteOptions, schema: Schema) -> list[tuple[Field, ...]]:
    """The ways to the columns that get bloom filters, without dropped ones; `Invalid` for a column that can't."""
    paths = {way[-1].id: way for way in leaves(schema.fields) if can_have_bloom(way[-1].type)}
    for id in sorted(options.blooms):
        if id in schema.ways and id not in paths:
            expected = "a column, not in a list or map, of any type but boolean, list, map and struct"
            raise Invalid("a column can't have a bloom filter", subject=schema.path_of(id), expected=expected)
    return [paths[id] for id in sorted(options.blooms) if id in paths]


def checks_of(properties: Properties) -> tuple[Check, ...]:
    """A table's checks, sorted by name."""
    keys = [key for key in sorted(properties) if key.startswith(CHECK_PREFIX)]
    return tuple(Check(key.removeprefix(CHECK_PREFIX), properties[key]) for key in keys)


def unwatched_checks(work: Work, table: str) -> tuple[Check, ...]:
    """A table's checks; a concurrent change of them is not a conflict."""
    return checks_of(table_properties(work, table))


def watched_checks(work: Work, table: str) -> tuple[Check, ...]:
    """A table's checks; a concurrent change of its properties is a conflict."""
    record = cast("pb.TableProperties | None", work.attribute(holder_of(work, table), Attribute.PROPERTIES))
    return () if record is None else checks_of(record.properties)


def looks_at_keys(properties: Properties) -> bool:
    """Whether an append checks that its keys are new; `Invalid` if the property is neither true nor false."""
    found = properties.get(CHECK_KEYS)
    if found is None:
        return False
    if found.lower() not in _BOOLEANS:
        raise Invalid(
            "a property of the table is neither true nor false",
            subject=CHECK_KEYS,
            expected="true or false",
            found=repr(found),
        )
    return _BOOLEANS[found.lower()]


def checkpoint_layout(properties: Properties) -> Layout:
    """How a table's checkpoints keep the entries of its files; `Invalid` if the property says neither."""
    found = properties.get(CHECKPOINT_LAYOUT)
    try:
        return Layout.SHARED if found is None else Layout(found.strip().lower())
    except ValueError:
        raise Invalid(
            "a property of the table is not a layout of checkpoints",
            subject=CHECKPOINT_LAYOUT,
            expected=" or ".join(layout.value for layout in Layout),
            found=repr(found),
        ) from None


def row_changes(properties: Properties, operation: str = "") -> RowChanges:
    """How a table's rows are deleted from files; `Invalid` if the property says neither.

    Where Lakebed's own property is not set, Iceberg's for the operation is obeyed: `delete`, `update` or `merge`.
    """
    name = ROW_CHANGES if ROW_CHANGES in properties else MODES.get(operation, ROW_CHANGES)
    found = properties.get(name)
    try:
        return RowChanges.MERGE_ON_READ if found is None else RowChanges(found.strip().lower())
    except ValueError:
        raise Invalid(
            "a property of the table is not a way to change rows",
            subject=name,
            expected=" or ".join(way.value for way in RowChanges),
            found=repr(found),
        ) from None


def _bloom_ids(columns: str | None, schema: Schema) -> frozenset[int]:
    # A column that was dropped or renamed since is ignored: no append should fail because of it.
    names = {folded_column(name.strip()) for name in (columns or "").split(",") if name.strip()}
    return frozenset(id for id, way in schema.ways.items() if folded_column(schema.path_of(id)) in names and way)


def _bloom_fpp(found: str | None) -> float:
    try:
        return FPP if found is None else float(found)
    except ValueError as error:
        raise Invalid(
            "a property of the table is not a rate", subject=BLOOM_FPP, expected="such as 0.01", found=repr(found)
        ) from error


def _given(properties: Properties, setting: Setting) -> int | None:
    return number(properties, setting) if setting.name in properties else None


def _codec(found: str | None) -> Codec:
    try:
        return Codec.ZSTD if found is None else Codec(found.strip().lower())
    except ValueError as error:
        raise Invalid(
            "Lakebed does not write this compression",
            subject=CODEC,
            expected=" or ".join(codec.value for codec in Codec),
            found=repr(found),
        ) from error


def _distribution(properties: Properties) -> Distribution:
    theirs = DISTRIBUTION_MODE in properties and DISTRIBUTION not in properties
    name, words = (DISTRIBUTION_MODE, _MODES) if theirs else (DISTRIBUTION, _DISTRIBUTIONS)
    found = properties.get(name, Distribution.PARTITION.value)
    if found.strip().lower() not in words:
        raise Invalid(
            "a property of the table is not a distribution",
            subject=name,
            expected=" or ".join(words),
            found=repr(found),
        )
    return words[found.strip().lower()]


_DISTRIBUTIONS: Final = {distribution.value: distribution for distribution in Distribution}
_MODES: Final = {"none": Distribution.NONE, "hash": Distribution.PARTITION}  # `range` would sort all rows

"""How a table's files are written: how large they and their row groups get, and which columns have bloom filters."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from lakebed.catalog.tables.settings import (
    BLOOM_COLUMNS,
    BLOOM_FPP,
    DISTRIBUTION,
    KEYED_GROUP_ROWS,
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    TARGET_FILE_BYTES,
    number,
    text,
)
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bloom import FPP, unblocked_fpp
from lakebed.table.statistics.bloom_values import can_have_bloom
from lakebed.table.types.names import folded_column
from lakebed.table.types.types import Field, leaves

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


def write_options(work: Work, state: TableState) -> WriteOptions:
    """How the table's properties say that its files are written; `Invalid` names a property that can't be."""
    return WriteOptions(
        file_bytes=number(work, state.id, TARGET_FILE_BYTES),
        group_bytes=number(work, state.id, ROW_GROUP_BYTES),
        group_rows=number(work, state.id, ROW_GROUP_ROWS if not state.schema.key else KEYED_GROUP_ROWS),
        blooms=_bloom_ids(text(work, state.id, BLOOM_COLUMNS), state.schema),
        bloom_fpp=_bloom_fpp(text(work, state.id, BLOOM_FPP)),
        distribution=_distribution(text(work, state.id, DISTRIBUTION)),
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

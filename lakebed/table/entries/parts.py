"""The parts of a checkpoint: which parts of the last checkpoint are kept, and the files of the new ones.

Files of one partition are put together, so that a filter leaves most parts unread. Only parts that lost or changed a
file are written again, and small parts once there are too many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from lakebed.deferred import pyarrow
from lakebed.errors import Corrupt
from lakebed.table.entries.columns import FileColumns
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, Part
from lakebed.table.manifest.snapshot import LiveFile, Overlay
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type, leaves
from lakebed.table.types.values import decode_bound, encode_bound

PART_FILES: Final = 16_384
"""Files per part: with fewer, less is rewritten for a change, but there are more parts to look at."""

SMALL_PARTS: Final = 8
"""If more parts than this are less than half full, they are joined."""

Load: TypeAlias = "Callable[[Part], FileColumns]"


@dataclass(frozen=True, slots=True)
class Recast:
    """The content of a checkpoint: parts of the last checkpoint as they are, and the files of each new part."""

    kept: tuple[Part, ...]
    new: tuple[tuple[LiveFile, ...], ...]


def recast(parts: Sequence[Part], overlay: Overlay, load: Load, part_files: int | None = None) -> Recast:
    """The parts of the next checkpoint; `Corrupt` if a removed or changed file was not in the last one.

    `part_files` is how many files a part may have: larger parts, of an earlier layout, are cut up.
    """
    most = PART_FILES if part_files is None else part_files
    altered = {**overlay.removed, **overlay.changed}
    kept: list[Part] = []
    loose: list[LiveFile] = list(overlay.added.values())
    missing = set(altered)
    for part in parts:
        paths = _paths_in(part, altered, load) if any(_may_hold(part, file) for file in altered.values()) else set()
        if paths or part.files > most:
            missing -= paths
            loose += _live_files(load(part), overlay)
        else:
            kept.append(part)
    if missing:
        raise Corrupt("a delta changes a file that is missing from its checkpoint", subject=min(missing))
    small = [part for part in kept if 2 * part.files < most]
    if len(small) + bool(loose) > SMALL_PARTS:
        kept = [part for part in kept if part not in small]
        loose += [file for part in small for file in _all_files(load(part))]
    return Recast(tuple(kept), tuple(_clusters(loose, most)))


def files_in(parts: Sequence[Part], wanted: Mapping[str, DataFileRef], load: Load) -> dict[str, LiveFile]:
    """The wanted files that are in the parts, as stored there, by path. Few parts are loaded."""
    files: dict[str, LiveFile] = {}
    for part in parts:
        if any(_may_hold(part, file) for file in wanted.values()):
            columns = load(part)
            rows = pyarrow.compute.indices_nonzero(_is_among(columns, wanted)).to_pylist()
            files |= {live.file.path: live for live in columns.files(rows)}
    return files


def part_of(columns: FileColumns, schema: Schema) -> Part:
    """The checkpoint's summary of a part with these files; the caller adds its location."""
    row_ids = pyarrow.compute.min_max(columns.column("first_row_id"))
    return Part(
        files=columns.num_rows,
        rows=pyarrow.compute.sum(columns.column("num_rows")).as_py(),
        bytes=pyarrow.compute.sum(columns.column("file_size")).as_py(),
        first_row_id=row_ids["min"].as_py(),
        last_row_id=row_ids["max"].as_py(),
        ranges=_ranges(columns, schema),
    )


def as_file(part: Part) -> DataFileRef:
    """A part as if it were one file, for pruning: if it can have no matching row, none of its files can."""
    return DataFileRef(path=part.entries.key, num_rows=part.rows, statistics=part.ranges)


def _all_files(columns: FileColumns) -> list[LiveFile]:
    return columns.files(range(columns.num_rows))


def _live_files(columns: FileColumns, overlay: Overlay) -> Iterator[LiveFile]:
    """The files that were not removed, as they are now."""
    for live in _all_files(columns):
        path = live.file.path
        if path not in overlay.removed:
            yield LiveFile(overlay.changed.get(path, live.file), live.snapshot_id, live.schema_id)


def _paths_in(part: Part, altered: Mapping[str, DataFileRef], load: Load) -> set[str]:
    """The altered paths that are in the part."""
    columns = load(part)
    return set(columns.column("path").filter(_is_among(columns, altered)).to_pylist())


def _is_among(columns: FileColumns, wanted: Mapping[str, DataFileRef]) -> pyarrow.Array:
    paths = columns.column("path")
    return pyarrow.compute.is_in(paths, value_set=pyarrow.array(list(wanted), paths.type))


def _may_hold(part: Part, file: DataFileRef) -> bool:
    """Whether a file can be in a part, by the ids of its rows; the part is not loaded."""
    return not file.HasField("first_row_id") or part.first_row_id <= file.first_row_id <= part.last_row_id


def _clusters(files: Iterable[LiveFile], most: int) -> Iterator[tuple[LiveFile, ...]]:
    ordered = sorted(files, key=lambda live: _place(live.file))
    for start in range(0, len(ordered), most):
        yield tuple(ordered[start : start + most])


def _place(file: DataFileRef) -> tuple[Any, ...]:
    values = [(value.HasField("value"), _ordered(value.value)) for value in file.partition]
    return file.spec_id, values, file.first_row_id, file.path


def _ordered(value: bytes) -> bytes:
    # Iceberg's numbers have their lowest byte first. Text of these lengths gets another order, which is as good: equal
    # values only have to be together.
    return value[::-1] if len(value) in (4, 8) else value


def _ranges(columns: FileColumns, schema: Schema) -> Iterator[ColumnStatistics]:
    for path in leaves(schema.fields):
        field = path[-1]
        if columns.has_statistics(field.id).all():
            yield _joined(field.id, field.type, columns)


def _joined(field_id: int, type: Type, columns: FileColumns) -> ColumnStatistics:
    joined = ColumnStatistics(field_id=field_id)
    for name, kind in (("value_count", "values"), ("null_count", "nulls"), ("nan_count", "nans")):
        counts = columns.column(f"{kind}.{field_id}")
        if not counts.null_count:
            setattr(joined, name, pyarrow.compute.sum(counts).as_py())
    # A file where the column is always null has no bounds, and adds none.
    valued = _has_values(field_id, columns)
    lowest = _extreme(type, columns.column(f"lower.{field_id}").filter(valued), min)
    highest = _extreme(type, columns.column(f"upper.{field_id}").filter(valued), max)
    if lowest is not None:
        joined.lower = lowest
    if highest is not None:
        joined.upper = highest
    return joined


def _has_values(field_id: int, columns: FileColumns) -> pyarrow.Array:
    """For each file whether a row may be other than null."""
    values, nulls = columns.column(f"values.{field_id}"), columns.column(f"nulls.{field_id}")
    return pyarrow.compute.fill_null(pyarrow.compute.not_equal(values, nulls), True)


def _extreme(type: Type, bounds: pyarrow.Array, choose: Callable[[Iterable[Any]], Any]) -> bytes | None:
    """The outermost of some bounds; None if one is unknown."""
    if not len(bounds) or bounds.null_count:
        return None
    # Each distinct bound is decoded once: files that are put together often share them.
    return encode_bound(type, choose(decode_bound(type, data) for data in pyarrow.compute.unique(bounds).to_pylist()))

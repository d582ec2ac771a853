"""The parts of a checkpoint: which of the last one's are kept, and what the new ones hold.

Files of one partition lie together, so that a filter leaves most parts unread. Only parts that lost or changed a file
are written again, with those that have become too many and too small.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow
import pyarrow.compute

from lakebed.errors import Corrupt
from lakebed.table.entries.columns import FileColumns
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, Part
from lakebed.table.manifest.snapshot import LiveFile, Overlay
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type, leaves
from lakebed.table.types.values import decode_bound, encode_bound

PART_FILES: Final = 16_384
"""Files of a part: the fewer, the less is written again for a change and the more parts there are to look at."""

SMALL_PARTS: Final = 8
"""More parts than this that are less than half full are made into full ones."""

Load = Callable[[Part], FileColumns]


@dataclass(frozen=True, slots=True)
class Recast:
    """What a checkpoint is made of: parts of the last one, as they are, and the files of each new one."""

    kept: tuple[Part, ...]
    new: tuple[tuple[LiveFile, ...], ...]


def recast(parts: Sequence[Part], overlay: Overlay, load: Load) -> Recast:
    """The parts of the next checkpoint; `Corrupt` if a file that was removed or changed was in none of the last."""
    altered = {**overlay.removed, **overlay.changed}
    kept: list[Part] = []
    loose: list[LiveFile] = list(overlay.added.values())
    missing = set(altered)
    for part in parts:
        found = _held(part, altered, load) if any(_may_hold(part, file) for file in altered.values()) else set()
        if found:
            missing -= found
            loose += _altered(load(part), overlay)
        else:
            kept.append(part)
    if missing:
        raise Corrupt("a delta changes a file that its checkpoint lacks", subject=min(missing))
    small = [one for one in kept if one.files < PART_FILES // 2]
    if len(small) + bool(loose) > SMALL_PARTS:
        kept = [one for one in kept if one not in small]
        loose += [file for part in small for file in _every(load(part))]
    return Recast(tuple(kept), tuple(_clusters(loose)))


def files_in(parts: Sequence[Part], wanted: Mapping[str, DataFileRef], load: Load) -> dict[str, LiveFile]:
    """Those of some files that are in the parts, as they are there, by path. Few parts are looked at."""
    found: dict[str, LiveFile] = {}
    for part in parts:
        if any(_may_hold(part, file) for file in wanted.values()):
            columns = load(part)
            rows = pyarrow.compute.indices_nonzero(_is_among(columns, wanted)).to_pylist()
            found |= {one.file.path: one for one in columns.files(rows)}
    return found


def part_of(columns: FileColumns, schema: Schema) -> Part:
    """What the top list says of a part with these files; where it is, is the caller's to fill in."""
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
    """A part as pruning looks at a file: if no row of it can pass, none of its files' can."""
    return DataFileRef(path=part.entries.key, num_rows=part.rows, statistics=part.ranges)


def _every(columns: FileColumns) -> list[LiveFile]:
    return columns.files(range(columns.num_rows))


def _altered(columns: FileColumns, overlay: Overlay) -> Iterator[LiveFile]:
    for one in _every(columns):
        path = one.file.path
        if path not in overlay.removed:
            yield LiveFile(overlay.changed.get(path, one.file), one.snapshot_id, one.schema_id)


def _held(part: Part, altered: Mapping[str, DataFileRef], load: Load) -> set[str]:
    """Which of these paths the part has."""
    columns = load(part)
    return set(columns.column("path").filter(_is_among(columns, altered)).to_pylist())


def _is_among(columns: FileColumns, wanted: Mapping[str, DataFileRef]) -> pyarrow.Array:
    paths = columns.column("path")
    return pyarrow.compute.is_in(paths, value_set=pyarrow.array(list(wanted), paths.type))


def _may_hold(part: Part, file: DataFileRef) -> bool:
    """Whether a file can be in a part, by the ids of its rows, without a look at the part."""
    return not file.HasField("first_row_id") or part.first_row_id <= file.first_row_id <= part.last_row_id


def _clusters(files: Iterable[LiveFile]) -> Iterator[tuple[LiveFile, ...]]:
    ordered = sorted(files, key=lambda one: _place(one.file))
    for start in range(0, len(ordered), PART_FILES):
        yield tuple(ordered[start : start + PART_FILES])


def _place(file: DataFileRef) -> tuple[Any, ...]:
    values = [(one.HasField("value"), _ordered(one.value)) for one in file.partition]
    return file.spec_id, values, file.first_row_id, file.path


def _ordered(value: bytes) -> bytes:
    # Iceberg's numbers have their lowest byte first. Text of these lengths is put in another order, which is as good:
    # all that counts is that equal values lie together.
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
    # A column of nulls alone has no bounds, and adds none.
    valued = _has_values(field_id, columns)
    lowest = _extreme(type, columns.column(f"lower.{field_id}").filter(valued), min)
    highest = _extreme(type, columns.column(f"upper.{field_id}").filter(valued), max)
    if lowest is not None:
        joined.lower = lowest
    if highest is not None:
        joined.upper = highest
    return joined


def _has_values(field_id: int, columns: FileColumns) -> pyarrow.Array:
    """For each file whether not every row is known to be null."""
    values, nulls = columns.column(f"values.{field_id}"), columns.column(f"nulls.{field_id}")
    return pyarrow.compute.fill_null(pyarrow.compute.not_equal(values, nulls), True)


def _extreme(type: Type, bounds: pyarrow.Array, choose: Callable[[Iterable[Any]], Any]) -> bytes | None:
    """The outermost of some bounds, None if one is unknown."""
    if not len(bounds) or bounds.null_count:
        return None
    # Each distinct one is decoded once: bounds of files that lie together are often the same.
    return encode_bound(type, choose(decode_bound(type, one) for one in pyarrow.compute.unique(bounds).to_pylist()))

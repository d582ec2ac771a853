"""The check of a file's entry: what it says of the file is what it says of the row groups together."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

from lakebed.errors import Corrupt
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type
from lakebed.table.types.values import decode_bound

Sum = Literal["value_count", "null_count", "nan_count", "size", "raw_size"]
Side = Literal["lower", "upper"]
Outermost = Callable[[Iterable[Any]], Any]
Blocks = Sequence[ColumnStatistics]

_SUMS: Final[tuple[Sum, ...]] = ("value_count", "null_count", "nan_count", "size", "raw_size")
_SIDES: Final[tuple[tuple[Side, Outermost], ...]] = (("lower", min), ("upper", max))


def check_blocks(file: DataFileRef, schema: Schema) -> None:
    """`Corrupt` names the column and the figure that is not the union, or the sum, of those of the row groups.

    What is unset is unknown, and unknown is never wrong. Columns that the schema lacks are not looked at.
    """
    if not file.blocks:
        return
    _check(file, "number of rows", sum(one.num_rows for one in file.blocks), file.num_rows)
    for known in file.statistics:
        way = schema.ways.get(known.field_id)
        blocks = [one for block in file.blocks for one in block.columns if one.field_id == known.field_id]
        if way is not None and len(blocks) == len(file.blocks):
            _check_sums(file, known, blocks)
            _check_bounds(file, way[-1].type, known, blocks)


def _check_sums(file: DataFileRef, known: ColumnStatistics, blocks: Blocks) -> None:
    for name in _SUMS:
        if all(one.HasField(name) for one in (known, *blocks)):
            _check(
                file,
                f"{name} of column {known.field_id}",
                sum(getattr(one, name) for one in blocks),
                getattr(known, name),
            )


def _check_bounds(file: DataFileRef, type: Type, known: ColumnStatistics, blocks: Blocks) -> None:
    for side, outermost in _SIDES:
        found = _bound(known, type, side)
        bounds = [_bound(one, type, side) for one in blocks if not _has_no_values(one)]
        several = [one for one in bounds if one is not None]
        if found is None or not several:
            continue
        # If a row group has none, the file's may lie further out, never further in.
        expected = outermost(several) if len(several) == len(bounds) else outermost([found, *several])
        _check(file, f"{side} bound of column {known.field_id}", expected, found)


def _bound(known: ColumnStatistics, type: Type, side: Side) -> Any:
    return decode_bound(type, getattr(known, side)) if known.HasField(side) else None


def _has_no_values(known: ColumnStatistics) -> bool:
    """Whether there are only nulls and NaNs, which have no bounds."""
    return known.HasField("value_count") and known.value_count == known.null_count + known.nan_count


def _check(file: DataFileRef, what: str, expected: object, found: object) -> None:
    if found != expected:
        raise Corrupt(
            f"the {what} is another than that of the row groups", subject=file.path, expected=expected, found=found
        )

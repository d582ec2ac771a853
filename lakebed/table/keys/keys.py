"""Primary keys in files: whether two sets of files may have one in common, by what is known of their columns."""

from collections.abc import Sequence

from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.schema.schema import Schema
from lakebed.table.types.types import Type
from lakebed.table.types.values import decode_bound


def may_share_keys(schema: Schema, ours: Sequence[DataFileRef], theirs: Sequence[DataFileRef]) -> bool:
    """Whether a key of the one may be in the other; only bounds are looked at, and where there are none it may."""
    return any(_may_share(schema, one, other) for one in ours for other in theirs)


def _may_share(schema: Schema, one: DataFileRef, other: DataFileRef) -> bool:
    return all(
        _overlap(schema.field_by_id(field).type, _statistics(one, field), _statistics(other, field))
        for field in schema.identifier_ids
    )


def _overlap(type: Type, one: ColumnStatistics | None, other: ColumnStatistics | None) -> bool:
    if one is None or other is None:
        return True
    return not (_is_below(type, one, other) or _is_below(type, other, one))


def _is_below(type: Type, one: ColumnStatistics, other: ColumnStatistics) -> bool:
    if not one.HasField("upper") or not other.HasField("lower"):
        return False
    return bool(decode_bound(type, one.upper) < decode_bound(type, other.lower))


def _statistics(file: DataFileRef, field: int) -> ColumnStatistics | None:
    return next((one for one in file.statistics if one.field_id == field), None)

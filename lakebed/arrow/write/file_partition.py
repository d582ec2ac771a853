"""The partition that a file is in which somebody else wrote: by its statistics if they say, else by its rows."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow
import pyarrow.compute

from lakebed.arrow.transforms import column_at, plain_value, transformed
from lakebed.table.filter.filter import Value
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef
from lakebed.table.partition.spec import BoundField
from lakebed.table.types.types import DOUBLE, FLOAT
from lakebed.table.types.values import decode_bound

Known = tuple[Value | None]
"""One value that all rows have."""


def known_value(field: BoundField, file: DataFileRef, held: Iterable[int]) -> Known | None:
    """The partition value of all rows of a file, if that is sure without a look at them."""
    if field.field.transform.name == "void":
        return (None,)
    if field.path[0].id not in held:
        default = field.path[0].initial_default if len(field.path) == 1 else None
        return (field.field.transform.apply(field.source.type, default),)
    known = next((one for one in file.statistics if one.field_id == field.source.id), ColumnStatistics())
    if known.HasField("null_count") and known.null_count == known.value_count:
        return (None,)
    # A NaN is in no bounds.
    if known.null_count or not known.HasField("null_count") or field.source.type in (FLOAT, DOUBLE):
        return None
    return _between(field, known) if known.HasField("lower") and known.HasField("upper") else None


def _between(field: BoundField, known: ColumnStatistics) -> Known | None:
    """What a transform makes of all that lies between the bounds, if that is one value; they may lie too far out."""
    type, transform = field.source.type, field.field.transform
    lower, upper = decode_bound(type, known.lower), decode_bound(type, known.upper)
    if lower != upper and not transform.keeps_order:
        return None
    first, last = transform.apply(type, lower), transform.apply(type, upper)
    return (first,) if first == last else None


class PartitionValues:
    """The partition values that rows have, as they go by: a table in the form of files after the other."""

    def __init__(self, fields: Sequence[BoundField]) -> None:
        self._fields = fields
        self._seen: dict[int, pyarrow.Array] = {}

    def add(self, rows: pyarrow.Table) -> None:
        for one in self._fields:
            column = transformed(column_at(rows, one.path), one.field.transform, one.source.type)
            before = self._seen.get(one.field.field_id)
            found = [pyarrow.compute.unique(column), *([] if before is None else [before])]
            self._seen[one.field.field_id] = pyarrow.compute.unique(pyarrow.concat_arrays(found))

    def values(self) -> Iterator[tuple[BoundField, list[Value | None]]]:
        """Each field with its values, two of them at most, which say that there are several."""
        for one in self._fields:
            yield one, [plain_value(value, one.type) for value in self._seen[one.field.field_id][:2]]

"""Pruning of all files of a snapshot at once: what `may_match_partition` and `may_match` answer for each, by columns.

Only the columns that the filter names are looked at, and the cheap ones first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy

from lakebed.table.entries.columns import FileColumns
from lakebed.table.filter.filter import And, Filter, IsNan, IsNull, Leaf, NotNan, NotNull, Or
from lakebed.table.partition.spec import PartitionSpec
from lakebed.table.plan.file_rows import FileRows
from lakebed.table.plan.leaf_columns import leaf_may_match
from lakebed.table.plan.partition_columns import prune_partitions
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.schema import Schema
from lakebed.table.statistics.bound_arrays import Mask
from lakebed.table.types.types import BINARY, STRING, UUID, Primitive

_SPARSE: Final = 4  # files are set apart once there are so many times fewer: before, the copy of a column costs more
_TEXTS: Final = (STRING, BINARY, UUID)
_NONE: Final[Mapping[int, Schema]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pruned:
    """For each file, whether it is left after pruning by its partition, and then by its statistics.

    `reason` says what could only be looked at file by file, "" if there was no such thing.
    """

    by_partition: Mask
    kept: Mask
    reason: str = ""


def prune(
    filter: Filter,
    columns: FileColumns,
    schema: Schema,
    specs: Mapping[int, PartitionSpec],
    written: Mapping[int, Schema] = _NONE,
) -> Pruned:
    """Which files can have a row that the filter keeps. `specs` and `written` are the table's specs and schemas by id.

    A file of a spec or schema that is not among them is judged without. `Corrupt` if a bound of one of the filter's
    columns is no value of its type.
    """
    by_partition = prune_partitions(filter, columns, schema, specs)
    judge = _Judge(written, set())
    kept = judge.folded(numpy.logical_and, (by_partition, filter), FileRows(columns))
    return Pruned(by_partition, kept, "; ".join(sorted(judge.slow)))


@dataclass(frozen=True, slots=True)
class _Judge:
    """Looks at statistics, and notes what was slow."""

    written: Mapping[int, Schema]
    slow: set[str]

    def may_match(self, filter: Filter | Mask, files: FileRows) -> Mask:
        """Where the filter may match; a mask is what is known already of a part of it."""
        if isinstance(filter, numpy.ndarray):
            return filter
        match filter:
            case And(parts):
                return self.folded(numpy.logical_and, _cheap_first(parts), files)
            case Or(parts):
                return self.folded(numpy.logical_or, _cheap_first(parts), files)
            case leaf:
                return self.leaf(leaf, files)

    def folded(self, combine: Any, parts: Iterable[Filter | Mask], files: FileRows) -> Mask:
        """What all parts say together. Once few files are undecided, the other parts look at these alone."""
        answer, undecided = numpy.full(len(files), bool(combine.identity)), bool(combine.identity)
        asked = files
        places: Any = slice(None)
        for part in parts:
            answer[places] = combine(answer[places], self.may_match(part, asked))
            left = answer == undecided
            if numpy.count_nonzero(left) * _SPARSE < len(asked):
                places = numpy.flatnonzero(left)
                asked = files.at(places)
        return answer

    def leaf(self, leaf: Leaf, files: FileRows) -> Mask:
        """Where the leaf may match; files that are older than its column have its default in every row."""
        found = leaf_may_match(leaf, files)
        if found is None:
            self.slow.add(f"{leaf.field.name} ({leaf.field.type}) is looked at file by file")
            return self.one_by_one(leaf, files)
        lacking = [id for id, schema in self.written.items() if any(one.id not in schema.ways for one in leaf.way)]
        if lacking:
            for older in files.without_statistics(leaf.field.id, lacking):
                found[older] = self.one_by_one(leaf, files.at(older[:1]))
        return found

    def one_by_one(self, leaf: Leaf, files: FileRows) -> Mask:
        return numpy.array([may_match(leaf, one.file, self.written.get(one.schema_id)) for one in files.files()], bool)


def _cheap_first(parts: Iterable[Filter]) -> list[Filter]:
    return sorted(parts, key=_cost)


def _cost(filter: Filter) -> int:
    """How late among its neighbours a part is looked at: numbers are ten times faster than text."""
    match filter:
        case And(parts) | Or(parts):
            return max(map(_cost, parts), default=0)
        case IsNull() | NotNull() | IsNan() | NotNan():
            return 0
        case leaf:
            return 1 if isinstance(leaf.field.type, Primitive) and leaf.field.type not in _TEXTS else 2

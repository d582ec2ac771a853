"""What a work has read of a table's rows, and whether later deltas may have changed it."""

from collections.abc import Callable, Iterable, Sequence

from lakebed.catalog.data.deltas import stored_manifest
from lakebed.catalog.transaction.context import Context
from lakebed.metastore import State
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.values import PartitionKey, partition_key
from lakebed.table.plan.pruning import may_match

Objection = Callable[[Sequence[State]], str | None]
"""Says of the deltas since a base, oldest first, why one can't stand."""


def rows_read(context: Context, filter: Filter | None) -> Objection:
    """What says whether later deltas may have changed the rows that a filter was asked for."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed(context, deltas):
            if filter is None or may_match(filter, file):
                return f"{file.path} may have rows that were read"
        return None

    return judge


def files_touched(context: Context, paths: frozenset[str]) -> Objection:
    """What says whether later deltas took away or changed some files."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed(context, deltas):
            if file.path in paths:
                return f"{file.path} was changed too"
        return None

    return judge


def partitions_read(context: Context, keys: frozenset[PartitionKey]) -> Objection:
    """What says whether later deltas changed files of some partitions."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed(context, deltas):
            if partition_key(file) in keys:
                return f"{file.path} is in a partition that was read"
        return None

    return judge


def _changed(context: Context, deltas: Iterable[State]) -> Iterable[DataFileRef]:
    for delta in deltas:
        yield from stored_manifest(context, delta).data_files

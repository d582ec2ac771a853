"""The rows that a work has read of a table, and whether later deltas may have changed them."""

from collections.abc import Callable, Iterable, Sequence

from lakebed.catalog.data.deltas import stored_manifest
from lakebed.catalog.transaction.context import Context
from lakebed.metastore import State
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.values import PartitionKey, partition_key
from lakebed.table.plan.pruning import may_match

Objection = Callable[[Sequence[State]], str | None]
"""Takes the deltas since a base, oldest first; answers why one of them is a conflict, or None."""


def rows_read(context: Context, filter: Filter | None) -> Objection:
    """Objects if a later delta may have changed rows that pass the filter."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed_files(context, deltas):
            if filter is None or may_match(filter, file):
                return f"{file.path} may have rows that were read"
        return None

    return judge


def files_touched(context: Context, paths: frozenset[str]) -> Objection:
    """Objects if a later delta removed or changed one of these files."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed_files(context, deltas):
            if file.path in paths:
                return f"{file.path} was changed too"
        return None

    return judge


def partitions_read(context: Context, keys: frozenset[PartitionKey]) -> Objection:
    """Objects if a later delta changed files of one of these partitions."""

    def judge(deltas: Sequence[State]) -> str | None:
        for file in _changed_files(context, deltas):
            if partition_key(file) in keys:
                return f"{file.path} is in a partition that was read"
        return None

    return judge


def _changed_files(context: Context, deltas: Iterable[State]) -> Iterable[DataFileRef]:
    for delta in deltas:
        yield from stored_manifest(context, delta).data_files

"""The whole manifests of a table's commits."""

from lakebed.catalog.data.deltas import history, whole_manifest
from lakebed.catalog.tables.tables import table_state
from lakebed.lake.table import Table
from lakebed.table.manifest.manifest_pb2 import Manifest


def manifests(table: Table) -> list[Manifest]:
    """Those of every commit to the table, oldest first."""
    work = table._scope.read()
    states = history(work, table_state(work, table.id).partition)[::-1]
    times = work.context.metastore.times([delta.version for delta in states])
    return [whole_manifest(work.context, delta, time // 1000) for delta, time in zip(states, times, strict=True)]

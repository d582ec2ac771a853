"""Rows that take the place of all others in the same partitions: told by the files' entries, whoever wrote the rows."""

from collections.abc import Iterable

from lakebed.catalog.data.planning import plan_unread
from lakebed.catalog.data.reads import partitions_read
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.metastore import DataRead
from lakebed.table.partition.values import PartitionKey, partition_key


def overwrite_partitions(work: Work, state: TableState, written: Written) -> RowChange:
    """Take away the files of the partitions that the written rows are in; files of another spec are `Invalid`."""
    keys = frozenset(partition_key(one) for one in written.files)
    work.read_rows(DataRead(state.partition, partitions_read(work.home, keys)))
    live = [one.file for one in plan_unread(work, state).files]
    _check_one_spec(state, (one.spec_id for one in live))
    return RowChange([one for one in live if partition_key(one) in keys], (), written, overwritten=_nothing_told(keys))


def _nothing_told(keys: frozenset[PartitionKey]) -> str | None:
    """Which rows that were can't be said as a condition on columns: a merge takes it for all of them."""
    return None if keys else "false"


def _check_one_spec(state: TableState, specs: Iterable[int]) -> None:
    other = set(specs) - {state.spec.id}
    if other:
        raise Invalid(
            "the table has files of older partition specs, whose rows may belong to any partition of the newest",
            expected=f"files of spec {state.spec.id} alone",
            found=f"files of spec {', '.join(map(str, sorted(other)))}",
            advice="compact() writes them again by the newest spec; or overwrite with a condition.",
        )

"""Rows that Spark takes away: of files that are not wholly gone by their statistics, one narrow scan finds them."""

from collections.abc import Sequence

from lakebed.catalog.data.row_changes import Deletion, RowChange, Written, rows_deleted
from lakebed.catalog.data.target import Target
from lakebed.spark.expressions import value_errors
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import PLACE, POSITION, deletion, placed_rows
from lakebed.spark.rows.where import Where, passing
from lakebed.spark.types import readable_schema
from lakebed.table.filter.filter import ALWAYS, Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.covers import covers
from lakebed.table.plan.plan import PlannedFile


def delete_rows(target: Target, source: Source, where: Where | None) -> RowChange:
    """Take away the rows that pass, all without a condition. Only the condition's columns are read."""
    planned = target.plan(None if where is None else planning(where)).files
    if where is None:
        return RowChange([one.file for one in planned])
    whole = [] if where.rest else [one.file for one in planned if _is_covered(one, where.filter)]
    gone = {one.path for one in whole}
    rest = [one.file for one in planned if one.file.path not in gone]
    some = _found(target, source, rest, where).some if rest else ()
    return rows_deleted(target, Deletion(whole, some))


def overwrite_rows(target: Target, source: Source, written: Written, where: Where | None) -> RowChange:
    """Take away the rows that pass, all without a condition, for the sake of those that are written."""
    gone = delete_rows(target, source, where)
    return RowChange(gone.removed, gone.changed, written, overwritten=None if where is None else where.said)


def planning(where: Where) -> Filter | None:
    """What files are planned by, None for all of them."""
    return None if where.filter == ALWAYS else where.filter


def _is_covered(one: PlannedFile, filter: Filter) -> bool:
    return covers(one.residual or filter, one.file)


def _found(target: Target, source: Source, files: Sequence[DataFileRef], where: Where) -> Deletion:
    columns = readable_schema(target.schema).names if where.rest else ()
    rows = placed_rows(source, target.schema, files, planning(where), columns, with_ids=False)
    with value_errors(target.name):
        return deletion(
            passing(rows, where, target.name).select(PLACE, POSITION), files, sum(one.num_rows for one in files)
        )

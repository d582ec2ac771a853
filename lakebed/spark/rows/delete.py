"""Deleting rows by Spark: statistics find files whose rows all pass, one narrow scan the rows of the rest."""

from collections.abc import Sequence

from lakebed.catalog.data.row_changes import Deletion, RowChange, Written, rows_deleted
from lakebed.catalog.data.target import Target
from lakebed.spark.expressions import value_errors
from lakebed.spark.read.source import Source
from lakebed.spark.rows.addresses import FILE_ORDINAL, POSITION, deletion, placed_rows
from lakebed.spark.rows.where import OUTER, Where, passing_rows
from lakebed.spark.types import readable_schema
from lakebed.table.filter.filter import ALWAYS, Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.covers import covers
from lakebed.table.plan.plan import PlannedFile


def delete_rows(target: Target, source: Source, where: Where | None) -> RowChange:
    """Delete the rows that pass, all without a condition. Only the condition's columns are read."""
    planned_files = target.plan(None if where is None else planning_filter(where)).files
    if where is None:
        return RowChange([planned.file for planned in planned_files])
    whole = [] if where.rest else [planned.file for planned in planned_files if _is_covered(planned, where.filter)]
    whole_paths = {file.path for file in whole}
    rest = [planned.file for planned in planned_files if planned.file.path not in whole_paths]
    some = _passing_rows(target, source, rest, where).some if rest else ()
    return rows_deleted(target, Deletion(whole, some))


def overwrite_rows(target: Target, source: Source, written: Written, where: Where | None) -> RowChange:
    """Delete the rows that pass, all without a condition, in the same change that adds the written ones."""
    deleted = delete_rows(target, source, where)
    overwritten = None if where is None else where.filter_text
    return RowChange(deleted.removed, deleted.changed, written, overwritten=overwritten)


def planning_filter(where: Where) -> Filter | None:
    """The filter that files are planned by, None for all files."""
    return None if where.filter == ALWAYS else where.filter


def _is_covered(planned: PlannedFile, filter: Filter) -> bool:
    return covers(planned.residual or filter, planned.file)


def _passing_rows(target: Target, source: Source, files: Sequence[DataFileRef], where: Where) -> Deletion:
    columns = readable_schema(target.schema).names if where.rest else ()
    rows = placed_rows(
        source,
        target.schema,
        files,
        planning_filter(where),
        columns,
        with_ids=False,
        metadata=where.metadata_names,
    ).alias(OUTER)
    with value_errors(target.name):
        found = passing_rows(rows, where, target.name).select(FILE_ORDINAL, POSITION)
        return deletion(found, files, sum(file.num_rows for file in files))

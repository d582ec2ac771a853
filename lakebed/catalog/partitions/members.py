"""The files of an explicit partition: those whose partition has its values."""

from collections.abc import Iterable

from lakebed.catalog.data.planning import plan, plan_unread
from lakebed.catalog.tables.tables import TableState, spec_of
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.table.filter.bind import bind
from lakebed.table.filter.filter import Filter, Value
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import ExplicitValues, values_of_file


def members(work: Work, state: TableState, values: ExplicitValues) -> list[DataFileRef]:
    """The live files with these values; a concurrent change of a row with these values is a conflict.

    `Invalid` if rows with these values may be in files that have other rows too: they have an older spec.
    """
    planned = [planned.file for planned in plan(work, state, rows_of(state, values)).files]
    found = [file for file in planned if has_values(work, state, file, values)]
    mixed = [file for file in planned if _is_undecided(work, state, file, values)]
    if mixed:
        raise Invalid(
            "rows with these values may be in files of an older partition spec, which have other rows too",
            subject=f"{spelled(name_of(work, state.id))}: {values.text(state.schema)}",
            found=mixed[0].path if len(mixed) == 1 else f"{len(mixed)} such files",
            advice="Rewrite them by the newest spec with compact().",
        )
    return found


def members_unread(work: Work, state: TableState, values: ExplicitValues) -> list[DataFileRef]:
    """The same files, without a conflict, and without a look at files of older specs."""
    planned = plan_unread(work, state, rows_of(state, values)).files
    return [one.file for one in planned if has_values(work, state, one.file, values)]


def rows_of(state: TableState, values: ExplicitValues) -> Filter:
    """What the rows of a partition pass."""
    return bind(values.condition(state.schema), state.schema)


def has_values(work: Work, state: TableState, file: DataFileRef, values: ExplicitValues) -> bool:
    """Whether all rows of a file have these values."""
    found = values_of(work, state, file)
    return all(id in found and found[id] == value for id, value in values.by_id)


def with_values_of(
    work: Work, state: TableState, files: Iterable[DataFileRef], values: ExplicitValues
) -> list[DataFileRef]:
    """Of these files, those of a partition."""
    return [file for file in files if has_values(work, state, file, values)]


def _is_undecided(work: Work, state: TableState, file: DataFileRef, values: ExplicitValues) -> bool:
    return not values.ids <= values_of(work, state, file).keys()


def values_of(work: Work, state: TableState, file: DataFileRef) -> dict[int, Value | None]:
    """(field id) -> the value that all rows of a file have, of the columns that its spec has as they are"""
    return values_of_file(file, spec_of(work, state.id, file.spec_id), state.schema)

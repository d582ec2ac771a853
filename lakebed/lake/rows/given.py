"""Writes of rows as handles are asked for them: arguments are checked, and noted in a request, before all else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from lakebed.catalog.data.engine import Fill
from lakebed.catalog.transaction.bound import asked_id
from lakebed.catalog.transaction.commits import Argument, Commit, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.lake.arguments import check_flag
from lakebed.lake.rows import appends, writes
from lakebed.lake.rows.casting import casting
from lakebed.lake.rows.grow import Write, asked_evolution, grow
from lakebed.table.filter.condition import Condition
from lakebed.table.manifest.summary import given_summary


@dataclass(frozen=True, slots=True)
class By:
    """What a call says of its commit."""

    message: str | None
    author: str | None
    event_id: str | UUID | None
    summary: Mapping[str, str] | None

    def request(self, operation: str, *arguments: Argument) -> Request:
        """The call with its arguments."""
        return Request(operation, arguments, self.message, self.author, self.event_id, given_summary(self.summary))


def append(
    scope: Scope, table: str, data: object, by: By, *, evolve: str | None = None, cast: bool = False
) -> Commit | None:
    """Add rows."""
    asked = asked_evolution(evolve, table)
    later = writes.later_words(cast=check_flag("cast", cast))
    request = by.request("append", asked_id(table), *asked, *later)
    return _written(scope, table, data, request, appends.append, grows=bool(asked), cast=cast)


def upsert(
    scope: Scope, table: str, data: object, on: str | Sequence[str] | None, fill: str, by: By, *, cast: bool
) -> Commit | None:
    """Replace the rows with the same key, and insert the rest."""
    names, filled = writes.given_names(on), writes.given_fill(fill)
    writes.check_alike(data, filled)
    is_filled = filled is Fill.DEFAULT
    later = writes.later_words(fill="default" if is_filled else None, cast=check_flag("cast", cast))
    request = by.request("upsert", asked_id(table), *names, *later)
    return _written(scope, table, data, request, writes.upserting(names, filled), cast=cast)


def overwrite(
    scope: Scope, table: str, data: object, where: str | Condition | None, by: By, *, evolve: str | None, cast: bool
) -> Commit | None:
    """Replace the rows that pass, or all."""
    asked = asked_evolution(evolve, table)
    condition, later = "" if where is None else str(where), writes.later_words(cast=check_flag("cast", cast))
    request = by.request("overwrite", asked_id(table), condition, *asked, *later)
    return _written(scope, table, data, request, writes.overwriting(where), grows=bool(asked), cast=cast)


def overwrite_partitions(scope: Scope, table: str, data: object, by: By, *, cast: bool) -> Commit | None:
    """Replace the rows of the partitions that the new rows are in."""
    later = writes.later_words(cast=check_flag("cast", cast))
    request = by.request("overwrite_partitions", asked_id(table), *later)
    return _written(scope, table, data, request, writes.overwrite_partitions, cast=cast)


def _written(
    scope: Scope, table: str, data: object, request: Request, write: Write, *, cast: bool, grows: bool = False
) -> Commit | None:
    chosen = casting(write) if cast else write
    return grow(scope, table, data, request, chosen) if grows else chosen(scope, table, data, request)

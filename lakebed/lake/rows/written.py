"""Rows that are written before the commit that shows them, once for however many attempts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lakebed.catalog.data.changes import check_fits, fits
from lakebed.catalog.data.engine import can_be_read_again
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.checks import are_tested
from lakebed.catalog.tables.properties import Check, unwatched_checks, watched_checks
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Conflict, Invalid, LakebedError
from lakebed.files import Files
from lakebed.lake.engines import engine_for
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.explicit import ExplicitValues, values_of_file, with_values


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files that were written for a table in `state`, and `checks`: `append` and `overwrite` take them as data."""

    state: TableState
    checks: tuple[Check, ...]
    files: Sequence[DataFileRef]

    def written(self, work: Work) -> Written:
        """The files, if they fit the table as the work sees it; else `Conflict`."""
        state = check_fits(work, self.state)
        check_tested(self.checks, self.state, unwatched_checks(work, self.state.id), state)
        return Written(self.files)


ChecksOf = Callable[[Work, str], tuple[Check, ...]]
"""The checks that a table has in a work."""


def checks_in(scope: Scope) -> ChecksOf:
    """How writes see a table's checks: a check that another commit adds meanwhile is a conflict.

    Not in a transaction, whose rows are tested by the checks that it sees: otherwise it would lose all its work to any
    change of a property.
    """
    return unwatched_checks if scope.is_transaction else watched_checks


def check_tested(tested: tuple[Check, ...], written: TableState, checks: tuple[Check, ...], state: TableState) -> None:
    """`Conflict` if the table in `state` has checks that rows were not tested by when they were `written`."""
    if not are_tested(tested, written.schema, checks, state.schema):
        raise Conflict(
            "the table's checks changed while its rows were written",
            expected=", ".join(check.key for check in tested) or "no checks",
            found=", ".join(check.key for check in checks) or "no checks",
            advice="Write them again.",
        )


def write_rows(
    work: Work, state: TableState, data: object, purpose: str = "append to", into: ExplicitValues | None = None
) -> Written:
    """Write rows for a table: a few inline, if the commit has room for them, others to files.

    `into` are the values of the explicit partition that all rows are for: rows without these columns get them, and
    rows with other values are `Invalid`.
    """
    if isinstance(data, Prepared):
        return data.written(work)
    target = replace(target_of(work, state), purpose=purpose)
    if into is None:
        return engine_for(data).write(target, data)
    filled = replace(state, schema=with_values(state.schema, into))
    written = engine_for(data).write(replace(target, state=filled), data)
    _check_values(work, state, written, into)
    return written


def check_same_values(written: ExplicitValues | None, now: ExplicitValues | None) -> None:
    """`Conflict` if a partition got other values while rows were written for it."""
    if written != now:
        raise Conflict("the partition was renamed while rows were written for it", advice="Write them again.")


def _check_values(work: Work, state: TableState, written: Written, into: ExplicitValues) -> None:
    for file in written.files:
        found = values_of_file(file, state.spec, state.schema)
        if any(found.get(id) != value for id, value in into.by_id):
            RowChange(written=written).discard(work.context.files)
            other = ExplicitValues(tuple((id, found.get(id)) for id, _ in into.by_id))
            raise Invalid(
                "a row has other values than the partition",
                expected=into.text(state.schema),
                found=other.text(state.schema),
                advice="Append it to the table, or leave out the columns of the partition.",
            )


class WrittenOnce:
    """Rows that are written when they are first needed, and again only for a schema, spec or checks they don't fit."""

    def __init__(
        self, data: object, checks_of: ChecksOf, purpose: str = "append to", into: ExplicitValues | None = None
    ) -> None:
        self._data = data
        self._into = into
        self._purpose = purpose
        self._checks_of = checks_of
        self._written: Written | None = None
        self._state: TableState | None = None
        self._checks: tuple[Check, ...] = ()

    def written_for(self, work: Work, state: TableState) -> Written:
        """The rows as files for a table in this state."""
        checks = self._checks_of(work, state.id)
        if self._written is None or not self._fit(state, checks):
            if self._written is not None and not can_be_read_again(self._data):
                raise Invalid(
                    "the table's schema, spec or checks changed while rows were written that can't be read again",
                    advice="Give the rows again.",
                )
            self.discard(work.context.files)
            self._written = write_rows(work, state, self._data, self._purpose, self._into)
            self._state, self._checks = state, checks
        return self._written

    def _fit(self, state: TableState, checks: tuple[Check, ...]) -> bool:
        before = self._state
        return (
            before is not None and fits(state, before) and are_tested(self._checks, before.schema, checks, state.schema)
        )

    @contextmanager
    def in_use(self, files: Files) -> Iterator[None]:
        """Around what is done with them before the commit: Ctrl-C there, or an error of Spark's, discards them."""
        try:
            yield
        except LakebedError:
            raise  # the next attempt may use the same rows
        except BaseException:
            self.discard(files)
            raise

    def discard(self, files: Files) -> None:
        """Delete what was written."""
        if self._written is not None:
            gone, self._written = self._written, None  # no later attempt may commit them
            RowChange(written=gone).discard(files)

"""An object that differs between two states of a catalog, with the rows in which a table does."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from lakebed.catalog.data.engine import Where
from lakebed.catalog.feed.compare import compared, end_of
from lakebed.catalog.merge.diff import ObjectDifference
from lakebed.catalog.objects.naming import about
from lakebed.catalog.tables.editions import first_edition
from lakebed.catalog.transaction.bound import Bound
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.lake.diff.rows import RowDifferences, RowSummary

_ADVICE = {
    "view": "Compare the tables that it reads.",
    "namespace": "Each of its tables has a difference of its own: ask that one for its rows.",
    "catalog": "Each of its tables has a difference of its own: ask that one for its rows.",
    "partition": "Ask for the rows of its table, with where= for this partition.",
    "stream": "Its rows are staged: stream(…).scan() shows them. Commit it, and compare again.",
}


@dataclass(frozen=True, slots=True)
class States:
    """The two states that were compared, as scopes that never change."""

    first: Scope
    second: Scope


@dataclass(frozen=True, slots=True)
class Difference(ObjectDifference):
    """One object that differs. `kind` is created, dropped, renamed or changed; a renamed object may be changed too.

    `name` is the name in the second state; for a dropped object, in the first. `changes` are its parts that differ, the
    counts are of its files: rows that were only moved count too. `rows()` has the rows that differ.
    """

    _states: States | None = field(default=None, compare=False, repr=False)

    def rows(
        self, limit: int | None = None, where: Where = None, columns: Iterable[str] | None = None
    ) -> RowDifferences:
        """The rows of a table or edition that differ: by row id, then by primary key, with before and after.

        `where` is tested on a row as it was and as it is: either may pass. `columns` are those to compare and show: a
        row that differs in others only is left out. Only files that differ are read; with a limit, no more of them than
        it needs. `Invalid` for objects that have no rows.
        """
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
            raise Invalid("a limit is a whole number", expected="0 or more", found=repr(limit))
        if self.type not in ("table", "edition"):
            self._refuse(f"rows of a {self.type} can't be compared", _ADVICE.get(self.type, ""))
        if self._states is None:
            self._refuse("this difference was not made by diff()", "Call catalog.diff(other).")
        first, second = self._states.first, self._states.second
        table, was_there, is_there = self._presence(first.read(), second.read())
        with about((second if is_there else first).read(), table):
            ends = end_of(first, table, is_there=was_there), end_of(second, table, is_there=is_there)
            return RowDifferences(self.name, compared(*ends, columns), where, limit)

    def summary(self) -> RowSummary:
        """How many rows were inserted, deleted and updated, and how many cells of each column differ."""
        return self.rows().summary()

    def _presence(self, first: Work, second: Work) -> tuple[str, bool, bool]:
        """The id that holds the rows, and whether each state has it. A first edition's rows are its table's."""
        if self.type == "table":
            return self.object_id, first.is_alive(self.object_id), second.is_alive(self.object_id)
        life = second.life(self.object_id) or first.life(self.object_id)
        assert life is not None
        table = life.container_id
        if first_edition(second if second.life(table) else first, table) == self.object_id:
            return Bound(table, object_id=self.object_id), first.is_alive(table), second.is_alive(table)
        return Bound(self.object_id), first.is_alive(self.object_id), second.is_alive(self.object_id)

    def _refuse(self, problem: str, advice: str) -> NoReturn:
        raise Invalid(problem, subject=str(self), advice=advice)

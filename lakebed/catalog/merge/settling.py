"""How the conflicts of a merge are settled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lakebed.catalog.merge.rows import Choice, RowChecker, RowMerger
from lakebed.catalog.transaction.conflicts import MergeConflict, RowConflict
from lakebed.table.merge.strategy import Settle

AnyConflict = MergeConflict | RowConflict

IN_PROGRESS: Final = "lakebed.merge"
"""The property of a line that has a merge in progress."""

Resolve = Callable[[AnyConflict], Choice]
"""How a caller settles conflicts: `ours`, `theirs`, for a row also another row; None leaves it to the strategy."""


@dataclass(frozen=True, slots=True)
class Settling:
    """How conflicts are settled: by a caller's decision, else by the strategy. An engine reads the rows in dispute.

    Without an engine, rows that both sides changed are one conflict for their table.
    """

    strategy: Settle = Settle.FAIL
    merger: RowMerger | None = None
    resolve: Resolve | None = None
    checker: RowChecker | None = None

    def choice(self, conflict: AnyConflict) -> Choice:
        decided = None if self.resolve is None else self.resolve(conflict)
        return self.by_strategy if decided is None else decided

    @property
    def by_strategy(self) -> str | None:
        return None if self.strategy is Settle.FAIL else self.strategy.value
